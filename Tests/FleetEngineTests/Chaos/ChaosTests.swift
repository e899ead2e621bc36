// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTestSupport
import Foundation
import GRPCCore
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import SwiftProtobuf
import Testing

@testable import FleetEngine
@testable import FleetTokens

@Suite(.timeLimit(.minutes(10))) struct ChaosTests {
    private static let driverToken = "driver|vehicleid=veh-1"
    private static let path = "/v1/providers/acme/vehicles/veh-1"

    /// The time of a ``TestClock``, on which nobody waits: how long they would have is noted.
    private struct HastyClock: Clock {
        let origin = ContinuousClock.now
        let clock: TestClock
        let waits: Locked<[Duration]>

        var now: ContinuousClock.Instant { self.origin + .seconds(self.clock.now.timeIntervalSince(TestClock.start)) }
        var minimumResolution: Duration { .nanoseconds(1) }

        func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) {
            self.waits.withLock { $0.append(self.now.duration(to: deadline)) }
        }
    }

    /// An engine that holds the vehicle `veh-1`; its faults run on a clock that the test moves, and wait for nothing.
    private final class World: Sendable {
        let clock: TestClock
        let waits = Locked<[Duration]>([])
        let faults: FaultInjector
        let engine: Engine

        init(
            _ steps: String, verifier: any TokenVerifying = TextVerifier(), recorder: CallRecorder? = nil
        ) async throws {
            let clock = TestClock(TestClock.start + 1000)
            self.clock = clock
            self.faults = FaultInjector(
                time: TimeSource(clock: HastyClock(clock: clock, waits: self.waits), now: { clock.now }))
            self.engine = Engine(
                store: MemoryStore(), verifier: verifier, recorder: recorder, faults: self.faults, now: { clock.now })
            let request = CreateVehicle.Request.with {
                $0.parent = "providers/acme"
                $0.vehicleID = "veh-1"
                $0.vehicle = .sample
            }
            _ = try await self.engine.perform(CreateVehicle.self, request, token: serverToken)
            self.faults.set(try FaultScript(parsing: Array("{\"steps\":[\(steps)]}".utf8)))
        }

        func get(
            _ id: String = "veh-1", token: String? = ChaosTests.driverToken, remarks: CallRemarks? = nil
        ) async -> EngineError? {
            let request = GetVehicle.Request.with { $0.name = "providers/acme/vehicles/\(id)" }
            do throws(EngineError) {
                _ = try await self.engine.perform(GetVehicle.self, request, token: token, remarks: remarks)
                return nil
            } catch {
                return error
            }
        }

        func overREST(_ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void) async throws {
            let router = Router()
            EngineRoutes(engine: self.engine).add(to: router)
            ChaosRoutes(injector: self.faults).add(to: router)
            try await Application(router: router).test(.router, body)
        }
    }

    @Test func `a status strikes its resource only, for its calls only, and says that it is chaos`() async throws {
        let world = try await World(#"{"status":"UNAVAILABLE","vehicle":"veh-1","calls":1}"#)
        #expect(await world.get("veh-2", token: serverToken)?.code == .notFound)
        let error = await world.get()
        #expect(error?.code == .unavailable)
        #expect(error?.reason == "CHAOS")
        #expect(error?.message.contains("steps[0] status UNAVAILABLE") == true)
        #expect(await world.get() == nil)
        #expect(world.faults.status.steps.map(\.strikes) == [1])
        #expect(world.faults.status.steps.map(\.state) == ["over"])
    }

    @Test func `methods limit a step`() async throws {
        let world = try await World(#"{"status":"INTERNAL","methods":["UpdateVehicle"]}"#)
        #expect(await world.get() == nil)
    }

    @Test func `slowness waits, and then the call goes on`() async throws {
        let world = try await World(#"{"slow":"2s"}"#)
        #expect(await world.get() == nil)
        #expect(world.waits.withLock { $0 } == [.seconds(2)])
    }

    @Test(.timeLimit(.minutes(5)))
    func `a call that is slow waits no longer than its script plays, nor than its caller`() async throws {
        let clock = ManualClock()
        let faults = FaultInjector(time: TimeSource(clock: clock, now: { TestClock.start }))
        var step = FaultStep(.slow(.seconds(300)))
        step.target = .tokens
        for next in [FaultScript(steps: [step]), nil] {
            faults.set(FaultScript(steps: [step]))
            let call = Task { try await faults.strikeTokenRequest(for: nil)?.marks }
            await clock.waitForSleepers(1)
            faults.set(next)
            #expect(try await call.value == ["steps[0] slow 5m"])
        }
        faults.set(FaultScript(steps: [step]))
        let call = Task { try await faults.strikeTokenRequest(for: nil)?.marks }
        await clock.waitForSleepers(1)
        call.cancel()
        await #expect(throws: EngineError.self) { try await call.value }
    }

    @Test func `a refusal by rule is on the page as chaos`() async throws {
        let world = try await World(#"{"refuse":"CLAIM_MISMATCH","calls":1},{"refuse":"SIGNATURE_INVALID"}"#)
        #expect(await world.get()?.code == .permissionDenied)
        let error = await world.get()
        #expect(error?.code == .unauthenticated)
        #expect(error?.reason == "SIGNATURE_INVALID")
        let refusals = world.engine.activity.snapshot().refusals
        #expect(refusals.count == 2)
        #expect(refusals.allSatisfy { $0.message.hasPrefix("Chaos by script (steps[") })
    }

    @Test func `keys that expired are unknown to the verifier, of their role only`() async throws {
        let world = try await World(#"{"keyExpired":"driver"}"#, verifier: RealVerifier())
        let error = await world.get(token: RealVerifier.token(role: .driver, at: world.clock.now))
        #expect(error?.code == .unauthenticated)
        #expect(error?.reason == "KEY_UNKNOWN")
        #expect(error?.message.contains("kid names no trusted key") == true)
        #expect(await world.get(token: RealVerifier.token(role: .server, at: world.clock.now)) == nil)
    }

    @Test func `a step for keys counts and marks the calls that it refuses, and no others`() async throws {
        let world = try await World(#"{"keyExpired":"driver","calls":2}"#, verifier: RealVerifier())
        let driver = RealVerifier.token(role: .driver, at: world.clock.now)
        let server = RealVerifier.token(role: .server, at: world.clock.now)
        var answers: [String] = []
        for token in [server, server, driver, server, driver, driver] {
            let remarks = CallRemarks()
            let reason = await world.get(token: token, remarks: remarks)?.reason ?? "OK"
            answers.append(([reason] + remarks.fields.map { $0.value }).joined(separator: " "))
        }
        let struck = "KEY_UNKNOWN steps[0] keyExpired driver"
        #expect(answers == ["OK", "OK", struck, "OK", struck, "OK"])
        #expect(world.faults.status.steps.map(\.strikes) == [2])
    }

    @Test func `a step for keys leaves alone what another step answers`() async throws {
        let world = try await World(#"{"keyExpired":"all"},{"status":"ABORTED","calls":1}"#, verifier: RealVerifier())
        let token = RealVerifier.token(role: .driver, at: world.clock.now)
        let remarks = CallRemarks()
        #expect(await world.get(token: token, remarks: remarks)?.code == .aborted)
        #expect(remarks.fields.map { $0.value } == ["steps[1] status ABORTED"])
        #expect(world.faults.status.steps.map(\.strikes) == [0, 1])
        #expect(await world.get(token: token)?.reason == "KEY_UNKNOWN")
        #expect(world.faults.status.steps.map(\.strikes) == [1, 1])
    }

    @Test func `the keys of a role are those of every account that has it`() async throws {
        let world = try await World(#"{"keyExpired":"driver"}"#, verifier: RealVerifier())
        let driver = Role(rawValue: "driver+delivery_untrusted_driver")
        #expect(await world.get(token: RealVerifier.token(role: driver, at: world.clock.now))?.reason == "KEY_UNKNOWN")
        let other = Role(rawValue: "server+delivery_server")
        #expect(await world.get(token: RealVerifier.token(role: other, at: world.clock.now)) == nil)
    }

    @Test func `a key that was rotated refuses the tokens from before, and takes those from after`() async throws {
        let world = try await World(#"{"keyRotated":"all"}"#, verifier: RealVerifier())
        let old = RealVerifier.token(role: .driver, at: world.clock.now - 1)
        #expect(await world.get(token: old)?.reason == "KEY_UNKNOWN")
        world.clock.advance(by: 5)
        #expect(await world.get(token: RealVerifier.token(role: .driver, at: world.clock.now)) == nil)
        #expect(await world.get(token: old)?.reason == "KEY_UNKNOWN")
    }

    @Test func `a clock that is off refuses by the real rules, and says so`() async throws {
        let world = try await World(#"{"clockOff":"1h"}"#, verifier: RealVerifier())
        let token = RealVerifier.token(role: .driver, at: world.clock.now)
        let late = await world.get(token: token)
        #expect(late?.reason == "TOKEN_EXPIRED")
        #expect(late?.message.hasPrefix("Chaos by script (steps[0] clockOff 1h)") == true)
        world.faults.set(FaultScript(steps: [FaultStep(.clockOff(.seconds(-1200)))]))
        let early = await world.get(token: token)
        #expect(early?.reason == "TOKEN_NOT_YET_VALID")
        let explanation = world.engine.activity.snapshot().refusals.first?.explanation
        #expect(explanation?.refusal?.reason == .tokenNotYetValid)
    }

    @Test func `a refusal by a clock that several steps put off names them all`() async throws {
        let world = try await World(#"{"clockOff":"20m"},{"clockOff":"40m"}"#, verifier: RealVerifier())
        let refusal = await world.get(token: RealVerifier.token(role: .driver, at: world.clock.now))
        #expect(refusal?.reason == "TOKEN_EXPIRED")
        let mark = "Chaos by script (steps[0] clockOff 20m, steps[1] clockOff 40m)"
        #expect(refusal?.message.hasPrefix(mark) == true, "\(refusal?.message ?? "")")
    }

    @Test func `over REST a fault is told in the error and in a header, once for each call`() async throws {
        let world = try await World(#"{"status":"UNAVAILABLE","calls":1},{"slow":"1s"}"#)
        let name = try #require(HTTPField.Name(CallRemarks.chaosName))
        try await world.overREST { client in
            let headers: HTTPFields = [.authorization: "Bearer \(Self.driverToken)"]
            let first = try await client.execute(uri: Self.path, method: .get, headers: headers)
            #expect(first.status.code == 503)
            #expect(first.headers[values: name] == ["steps[0] status UNAVAILABLE"])
            let second = try await client.execute(uri: Self.path, method: .get, headers: headers)
            #expect(second.status == .ok)
            #expect(second.headers[values: name] == ["steps[1] slow 1s"])
        }
        #expect(world.faults.status.steps.map(\.strikes) == [1, 1])
    }

    @Test func `over gRPC a fault is told in the status and in trailing metadata`() async throws {
        let world = try await World(#"{"status":"RESOURCE_EXHAUSTED","calls":1}"#)
        try await GRPCWire.withClient(of: world.engine) { wire in
            let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: wire.client)
            let request = GetVehicle.Request.with { $0.name = "providers/acme/vehicles/veh-1" }
            let metadata: Metadata = ["authorization": .string("Bearer \(Self.driverToken)")]
            let error = await #expect(throws: RPCError.self) {
                _ = try await vehicles.getVehicle(request, metadata: metadata)
            }
            #expect(error?.code == .resourceExhausted)
            #expect(
                error.map { Array($0.metadata[stringValues: CallRemarks.chaosName]) } == [
                    "steps[0] status RESOURCE_EXHAUSTED"
                ])
            _ = try await vehicles.getVehicle(request, metadata: metadata)
        }
    }

    @Test func `a token that is not good is still refused while a script plays`() async throws {
        let world = try await World(#"{"slow":"1s"}"#)
        try await world.overREST { client in
            let response = try await client.execute(
                uri: Self.path, method: .get, headers: [.authorization: "Bearer bad"])
            #expect(response.status.code == 401)
        }
    }

    @Test(arguments: [nil, "Bearer bad"] as [String?])
    func `over gRPC a call that is not read is refused for its token while a script plays`(
        authorization: String?
    ) async throws {
        let world = try await World(#"{"status":"UNAVAILABLE","vehicle":"veh-2"}"#)
        let metadata: Metadata = authorization.map { ["authorization": .string($0)] } ?? [:]
        try await GRPCWire.withClient(of: world.engine) { wire in
            let reason = authorization == nil ? "TOKEN_MISSING" : "TOKEN_MALFORMED"
            let batch = await #expect(throws: WireFailure.self) {
                _ = try await wire.send(.batchCreateTasks(.with { $0.parent = "providers/acme" }), metadata: metadata)
            }
            #expect(batch?.status == "UNAUTHENTICATED")
            #expect(batch?.reason == reason)
            let unreadable = await #expect(throws: WireFailure.self) {
                try await wire.sendUnreadable(metadata)
            }
            #expect(unreadable?.status == "UNAUTHENTICATED")
            #expect(unreadable?.reason == reason)
        }
        #expect(world.faults.status.steps.map(\.strikes) == [0])
    }

    @Test func `over gRPC a step strikes a call without a good token, too`() async throws {
        let world = try await World(#"{"status":"ABORTED","vehicle":"veh-1"}"#)
        try await GRPCWire.withClient(of: world.engine) { wire in
            let call = WireCall.getVehicle(.with { $0.name = "providers/acme/vehicles/veh-1" })
            let failure = await #expect(throws: WireFailure.self) {
                _ = try await wire.send(call, authorization: nil)
            }
            #expect(failure?.status == "ABORTED")
            #expect(failure?.reason == "CHAOS")
        }
    }

    @Test func `over REST a call that cannot be read is refused for its token while a script plays`() async throws {
        let world = try await World(#"{"status":"UNAVAILABLE","vehicle":"veh-2"}"#)
        let answers = Locked<[String]>([])
        try await world.overREST { client in
            for token in [nil, "bad", "consumer|tripid=t", serverToken] {
                let headers: HTTPFields = token.map { [.authorization: "Bearer \($0)"] } ?? [:]
                for body in ["{", String(repeating: "x", count: EngineRoutes.maximumBodyBytes + 1)] {
                    let response = try await client.execute(
                        uri: "\(Self.path)?updateMask=vehicleState", method: .put, headers: headers,
                        body: ByteBuffer(string: body))
                    answers.withLock { $0.append("\(response.status.code)") }
                }
            }
        }
        #expect(answers.withLock { $0 } == ["401", "401", "401", "401", "403", "413", "400", "413"])
        #expect(world.faults.status.steps.map(\.strikes) == [0])
        // Each is told once.
        #expect(world.engine.activity.snapshot().refusals.count == 5)
    }

    @Test func `the script is shown, set and ended over HTTP, and not by web pages`() async throws {
        let world = try await World(#"{"slow":"1s"}"#)
        try await world.overREST { client in
            func ask(
                _ verb: HTTPRequest.Method, _ body: String? = nil, _ headers: HTTPFields = [:]
            ) async throws -> String {
                let response = try await client.execute(
                    uri: "/chaos", method: verb, headers: headers, body: body.map(ByteBuffer.init(string:)))
                let status = try? JSONDecoder().decode(FaultStatus.self, from: Data(response.body.readableBytesView))
                return "\(response.status.code)" + (status?.steps.map { " \($0.step)" }.joined() ?? "")
            }
            let other = #"{"steps":[{"status":"ABORTED"}]}"#
            let answers = [
                try await ask(.get),
                try await ask(.put, other, [.origin: "http://127.0.0.1:8080"]),
                try await ask(.delete, nil, [.origin: "https://example.com"]),
                try await ask(.put, "{}"),
                try await ask(.get),
                try await ask(.put, other),
                try await ask(.delete),
            ]
            let (slow, aborted) = (#"200 {"slow":"1s"}"#, #"200 {"status":"ABORTED"}"#)
            #expect(answers == [slow, "403", "403", "400", slow, aborted, "200"])
        }
        #expect(!world.faults.isActive)
    }

    @Test func `a recording keeps what a script answered, 401 too, and still no calls of strangers`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try CallRecorder(appendingTo: path, logger: Logger(label: "test"))
        let world = try await World(#"{"refuse":"TOKEN_EXPIRED","calls":1}"#, recorder: recorder)
        #expect(await world.get(remarks: CallRemarks())?.code == .unauthenticated)
        #expect(await world.get(token: nil, remarks: CallRemarks())?.code == .unauthenticated)
        #expect(await world.get(remarks: CallRemarks()) == nil)
        recorder.finish()
        try await recorder.run()
        let calls = try CallRecording(parsing: Data(contentsOf: URL(filePath: path))).calls
        #expect(calls.map(\.status) == ["OK", "UNAUTHENTICATED", "OK"])
    }

    @Test func `requests for tokens are struck by their own steps only`() async throws {
        let world = try await World(#"{"status":"UNAVAILABLE","target":"tokens","vehicle":"veh-1","calls":1}"#)
        #expect(await world.get() == nil)
        #expect(try await world.faults.strikeTokenRequest(for: .init(kind: .vehicle, id: "veh-2")) == nil)
        let strike = try await world.faults.strikeTokenRequest(for: .init(kind: .vehicle, id: "veh-1"))
        #expect(strike?.status?.code == .unavailable)
    }
}

/// Verifies tokens of the real form under one key, whose signature is always good; its id is the account's role, or
/// several with `+` between them.
private struct RealVerifier: TokenVerifying {
    private struct Key: TokenKey, TokenKeys {
        let id: String
        let account: TrustedAccount?

        func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool { true }
        func keys(withID id: String) -> [any TokenKey] { id == self.id ? [self] : [] }
        func keys(ofAccount email: String) -> [any TokenKey] { [self] }
    }

    private struct Keys: TokenKeys {
        func keys(withID id: String) -> [any TokenKey] {
            let roles = Set(id.split(separator: "+").map { Role(rawValue: String($0)) })
            let account = TrustedAccount(
                email: "\(id)@acme.iam.gserviceaccount.com", role: Role(rawValue: id), provider: ProviderID("acme"),
                granted: Set(roles.flatMap(\.permissions)), roles: roles)
            return [Key(id: id, account: account)]
        }
        func keys(ofAccount email: String) -> [any TokenKey] { [] }
    }

    /// A token of a role as Fleetpass mints it: `iat` 300 s back.
    static func token(role: Role, at date: Date) -> String {
        let issuedAt = Int64(date.timeIntervalSince1970) - 300
        let claims = TokenClaims(
            account: "\(role)@acme.iam.gserviceaccount.com", issuedAt: issuedAt, expiresAt: issuedAt + 3600,
            authorization: try? AuthorizationClaims(vehicle: .any, trip: role == .server ? .any : nil))
        func part(_ bytes: [UInt8]) -> String { String(decoding: Base64URL.encode(bytes), as: UTF8.self) }
        let header = Array(#"{"alg":"RS256","kid":"\#(role)","typ":"JWT"}"#.utf8)
        return "\(part(header)).\(part(claims.payload)).\(part([1]))"
    }

    func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        if token == serverToken { return try TextVerifier().verify(token, at: now) }
        return try TokenExaminer().examine(token, keys: Keys(), now: now)
    }

    func explain(_ token: String, request: AccessRequest?, at now: Date) -> TokenExplanation {
        TokenExaminer().explain(token, request: request, keys: Keys(), now: now)
    }
}
