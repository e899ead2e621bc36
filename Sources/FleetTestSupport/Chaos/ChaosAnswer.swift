// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// The making of one answer.
struct ChaosAnswer {
    private static let hour = Duration.seconds(3600)

    let subject: TokenSubject
    /// Makes this token differ from the others.
    let serial: Int
    /// The server's date in Unix seconds.
    let now: Int64

    func answer(for step: ChaosStep) -> LoopbackServer.Answer {
        switch step {
        case .good, .slow: self.response(self.good)
        case .shortLived(let life): self.response(self.answer(with: self.token(life: life), life: life))
        case .clockOff(let offset):
            ChaosAnswer(subject: self.subject, serial: self.serial, now: self.now + offset.components.seconds)
                .answer(for: .good)
        case .stringExpiry: self.response(self.good.mapValues(\.asString))
        case .overstatedLife(let life): self.response(self.answer(with: self.token(), life: life))

        case .wrongToken: self.response(self.answer(with: self.token(for: self.subject.ofAnotherKind)))
        case .otherVehiclesToken: self.response(self.answer(with: self.token(for: self.subject.withAnotherID)))
        case .wildcardToken: self.response(self.answer(with: self.token(for: .fleetReader)))
        case .alreadyExpired:
            self.response(
                self.answer(
                    with: TestTokens.token(for: self.subject, issuedAt: self.now - 3660, serial: self.serial),
                    life: .seconds(-60)))
        case .unsigned: self.response(self.answer(with: self.unsignedToken))

        case .status(let status, let retryAfter):
            self.response(
                ["error": .string("scripted")], status: status,
                headers: retryAfter.map { [("Retry-After", String($0.components.seconds))] } ?? [])
        case .redirect: self.plain(302, [("Location", "https://elsewhere.example.com/token")], "")
        case .emptyBody: self.plain(200, [("Content-Type", "application/json")], "")
        case .jsonArray: self.json(.array([.object(JSONObject(self.good))]))
        case .html: self.plain(200, [("Content-Type", "text/html")], "<!doctype html><title>Welcome</title>")
        case .missingToken: self.response(self.good.filter { $0.value.string == nil })
        case .numericToken: self.response(self.good.mapValues { $0.string == nil ? $0 : .integer(42) })
        case .missingExpiry: self.response(self.good.filter { $0.value.string != nil })
        case .oversized:
            self.response(self.good.merging(["filling": .string(String(repeating: "x", count: 1 << 20))]) { $1 })

        case .tornBody: if case .response(let response) = self.response(self.good) { .torn(response) } else { .hangUp }
        case .drip: .drip
        case .dropConnection: .hangUp
        case .hang: .silence
        }
    }
}

// MARK: - Parts

extension ChaosAnswer {
    private var good: [String: JSONValue] { self.answer(with: self.token()) }

    private func token(for subject: TokenSubject? = nil, life: Duration = Self.hour) -> FleetToken {
        TestTokens.token(for: subject ?? self.subject, issuedAt: self.now, lifetime: life, serial: self.serial)
    }

    private var unsignedToken: FleetToken {
        let parts = self.token().compactSerialization.split(separator: ".")
        let header = String(decoding: Base64URL.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8)), as: UTF8.self)
        return FleetToken("\(header).\(parts.dropFirst().first ?? "").")
    }

    /// All three contracts at once, as they have no key in common.
    private func answer(with token: FleetToken, life: Duration = Self.hour) -> [String: JSONValue] {
        let tokenText = JSONValue.string(token.compactSerialization)
        let createdAt = JSONValue.integer(self.now * 1000)
        let expiresAt = JSONValue.integer((self.now + life.components.seconds) * 1000)
        let life = JSONValue.integer(max(life.components.seconds, 0))
        return switch self.subject {
        case .driver, .consumer:
            ["jwt": tokenText, "creationTimestamp": createdAt, "expirationTimestamp": expiresAt, "expires_in": life]
        case .deliveryDriver, .deliveryConsumer, .fleetReader:
            [
                "token": tokenText, "creation_timestamp_ms": createdAt, "expiration_timestamp_ms": expiresAt,
                "expires_in": life,
            ]
        }
    }

    private func response(
        _ body: [String: JSONValue], status: Int = 200, headers: [(name: String, value: String)] = []
    ) -> LoopbackServer.Answer {
        self.json(.object(JSONObject(body)), status: status, headers: headers)
    }

    private func json(
        _ body: JSONValue, status: Int = 200, headers: [(name: String, value: String)] = []
    ) -> LoopbackServer.Answer {
        let standard = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        return self.plain(status, standard + headers, String(decoding: body.serialized, as: UTF8.self))
    }

    private func plain(
        _ status: Int, _ headers: [(name: String, value: String)], _ body: String
    ) -> LoopbackServer.Answer {
        .response(
            HTTPTransportResponse(
                status: status, headers: [("Date", HTTPDate.text(unixSeconds: self.now))] + headers,
                body: Data(body.utf8)))
    }
}

extension JSONValue {
    fileprivate var asString: JSONValue {
        self.integer.map { .string(String($0)) } ?? self
    }
}

extension TokenSubject {
    /// A subject whose token has other claims.
    fileprivate var ofAnotherKind: Self {
        switch self {
        case .driver, .deliveryDriver, .fleetReader:
            (try? .consumer(TripID(checking: self.id ?? "trip"))) ?? .fleetReader
        case .consumer, .deliveryConsumer: (try? .driver(VehicleID(checking: self.id ?? "vehicle"))) ?? .fleetReader
        }
    }

    /// A subject of the same kind; a reader has only one.
    fileprivate var withAnotherID: Self {
        let text = self.id == "another" ? "yet-another" : "another"
        let other: Self? =
            switch self {
            case .driver: try? .driver(VehicleID(checking: text))
            case .consumer: try? .consumer(TripID(checking: text))
            case .deliveryDriver(_, let task): try? .deliveryDriver(DeliveryVehicleID(checking: text), task: task)
            case .deliveryConsumer: try? .deliveryConsumer(TrackingID(checking: text))
            case .fleetReader: nil
            }
        return other ?? .fleetReader
    }
}
