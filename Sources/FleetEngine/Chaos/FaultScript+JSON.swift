// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// A script that cannot be read.
public struct FaultScriptError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where it is wrong, why, and what to write.
    public let message: String
    /// The message.
    public var description: String { self.message }
}

extension FaultScript {
    /// The most steps of a script.
    public static let maximumSteps = 100

    /// Reads a script.
    ///
    /// - Parameter json: The UTF-8 JSON.
    /// - Throws: ``FaultScriptError`` for the first thing that is wrong.
    public init(parsing json: some Collection<UInt8>) throws(FaultScriptError) {
        let value: JSONValue
        do throws(TokenError) {
            value = try JSONValue(parsing: json)
        } catch {
            throw FaultScriptError(message: "The script is not JSON. \(error.message)")
        }
        try self.init(value)
    }

    /// Reads a script that was parsed already.
    package init(_ value: JSONValue) throws(FaultScriptError) {
        guard let members = value.object else {
            throw FaultScriptError(message: "The script is not an object; write {\"steps\": [{\"slow\": \"2s\"}]}.")
        }
        for (key, _) in members where !["seed", "steps"].contains(key) {
            throw FaultScriptError(message: "The script has a member \(key.prefix(64)); it has seed and steps.")
        }
        guard let seed = members["seed"].map({ $0.integer }) ?? 0, seed >= 0 else {
            throw FaultScriptError(message: "seed is no whole number from 0.")
        }
        guard let list = members["steps"]?.array, (1...Self.maximumSteps).contains(list.count) else {
            throw FaultScriptError(message: "steps is no list of 1 to \(Self.maximumSteps) steps.")
        }
        var steps: [FaultStep] = []
        for (number, step) in list.enumerated() {
            do throws(FaultScriptError) {
                steps.append(try FaultStep(step))
            } catch {
                throw FaultScriptError(message: "steps[\(number)]: \(error.message)")
            }
        }
        self.init(seed: UInt64(seed), steps: steps)
    }

    /// The script as it is read.
    package var json: JSONValue {
        .object(["seed": .integer(Int64(clamping: self.seed)), "steps": .array(self.steps.map { .object($0.json) })])
    }
}

extension FaultStep {
    private static let faults = ["slow", "status", "refuse", "clockOff", "keyExpired", "keyRotated"]
    private typealias IDCheck = @Sendable (String) throws(TokenError) -> String
    private static let subjects: [(key: String, kind: EngineActivity.Subject.Kind, id: IDCheck)] = [
        ("vehicle", .vehicle, { text throws(TokenError) in try VehicleID(checking: text).value }),
        ("trip", .trip, { text throws(TokenError) in try TripID(checking: text).value }),
        (
            "deliveryVehicle", .deliveryVehicle,
            { text throws(TokenError) in try DeliveryVehicleID(checking: text).value }
        ),
        ("task", .task, { text throws(TokenError) in try TaskID(checking: text).value }),
        ("tracking", .shipment, { text throws(TokenError) in try TrackingID(checking: text).value }),
    ]
    private static let limits = ["target", "methods", "share", "calls", "after", "for"]

    /// The members of a step whose values are ids.
    package static var idMembers: [String] { Self.subjects.map(\.key) }

    init(_ value: JSONValue) throws(FaultScriptError) {
        guard let members = value.object else { throw .init(message: "it is not an object.") }
        let known = Self.faults + Self.subjects.map(\.key) + Self.limits
        for (key, _) in members where !known.contains(key) {
            throw .init(message: "there is no \(key.prefix(64)); use \(known.joined(separator: ", ")).")
        }
        let named = Self.faults.filter { members[$0] != nil }
        guard named.count == 1, let name = named.first, let argument = members[name] else {
            throw .init(message: "it has \(named.count) faults; write one of \(Self.faults.joined(separator: ", ")).")
        }
        self.init(try Fault(name, argument))
        let subjects = Self.subjects.filter { members[$0.key] != nil }
        guard subjects.count <= 1 else {
            throw .init(message: "it names \(subjects.map(\.key).joined(separator: " and ")); write a step for each.")
        }
        if let (key, kind, check) = subjects.first {
            guard let text = members[key]?.string else {
                throw .init(message: "\(key) is no id; write one, in quotes.")
            }
            do throws(TokenError) {
                self.subject = EngineActivity.Subject(kind: kind, id: try check(text))
            } catch {
                throw FaultScriptError(message: "\(key): \(error.message)")
            }
        }
        try self.readLimits(members)
        guard self.target == .engine || self.subject?.kind != .task else {
            throw .init(message: "no request for a token is known by its task; name the deliveryVehicle.")
        }
        guard self.target == .engine || self.isForTokens else {
            throw .init(message: "the token server takes slow and status only, and no methods.")
        }
    }

    private var isForTokens: Bool {
        switch self.fault {
        case .slow, .status: self.methods.isEmpty
        case .refuse, .clockOff, .keyExpired, .keyRotated: false
        }
    }

    private mutating func readLimits(_ members: JSONObject) throws(FaultScriptError) {
        if let value = members["target"] {
            guard let target = value.string.flatMap(Target.init) else {
                throw .init(message: "target is engine or tokens.")
            }
            self.target = target
        }
        if let value = members["methods"] {
            guard let names = value.array?.map(\.string), !names.isEmpty else {
                throw .init(message: "methods is no list of RPCs.")
            }
            for name in names {
                guard let method = name.flatMap({ FleetMethod(named: $0) }) else {
                    throw .init(message: "there is no RPC \((name ?? "").prefix(64)); write it like UpdateVehicle.")
                }
                self.methods.insert(method)
            }
        }
        if let value = members["share"] {
            guard let share = value.number, share > 0, share <= 1 else {
                throw .init(message: "share is above 0 and at most 1.")
            }
            self.share = share
        }
        if let value = members["calls"] {
            guard let calls = value.integer, (1...1_000_000).contains(calls) else {
                throw .init(message: "calls is a whole number from 1 to 1000000.")
            }
            self.calls = Int(calls)
        }
        self.after =
            try members["after"].map { value throws(FaultScriptError) in
                try value.time("after", isSigned: false)
            } ?? .zero
        self.lasting = try members["for"].map { value throws(FaultScriptError) in
            try value.time("for", isSigned: false)
        }
    }

    var json: JSONObject {
        var object = self.fault.json
        if let subject, let key = Self.subjects.first(where: { $0.kind == subject.kind })?.key {
            object[key] = .string(subject.id)
        }
        if self.target != .engine { object["target"] = .string(self.target.rawValue) }
        if !self.methods.isEmpty { object["methods"] = .array(self.methods.map(\.name).sorted().map(JSONValue.string)) }
        if self.share != 1 { object["share"] = .double(self.share) }
        if let calls { object["calls"] = .integer(Int64(calls)) }
        if self.after != .zero { object["after"] = .string(FaultTime.text(self.after)) }
        if let lasting { object["for"] = .string(FaultTime.text(lasting)) }
        return object
    }
}

extension FaultStep: Codable, CustomStringConvertible {
    /// Reads a step as a script has it.
    ///
    /// - Throws: ``FaultScriptError`` for the first thing that is wrong, or what the decoder throws.
    public init(from decoder: any Decoder) throws {
        try self.init(JSONValue(from: decoder))
    }

    /// Writes the step as a script has it.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue.object(self.json).encode(to: encoder)
    }

    /// The step as a script in JSON has it.
    public var description: String {
        String(decoding: JSONValue.object(self.json).serialized, as: UTF8.self)
    }
}

extension Fault {
    fileprivate init(_ name: String, _ value: JSONValue) throws(FaultScriptError) {
        switch name {
        case "slow":
            let delay = try value.time(name, isSigned: false)
            guard delay <= .seconds(300) else { throw .init(message: "slow is more than 5 minutes.") }
            self = .slow(delay)
        case "clockOff": self = .clockOff(try value.time(name, isSigned: true))
        case "status":
            guard let code = value.string.flatMap(EngineError.Code.init) else {
                let codes = EngineError.Code.allCases.map(\.rawValue).joined(separator: ", ")
                throw .init(message: "status is none of \(codes).")
            }
            self = .status(code)
        case "refuse":
            guard let reason = value.string.map(TokenRefusal.Reason.init),
                TokenRefusal.Reason.simulated.contains(reason)
            else {
                let reasons = TokenRefusal.Reason.simulated.map(\.rawValue).joined(separator: ", ")
                throw .init(message: "refuse is none of \(reasons).")
            }
            self = .refuse(reason)
        default:
            guard let text = value.string, let role = Self.role(text) else {
                let roles = Role.known.map(\.rawValue).joined(separator: ", ")
                throw .init(message: "\(name) is all or a role: \(roles).")
            }
            self = name == "keyExpired" ? .keyExpired(role) : .keyRotated(role)
        }
    }

    /// The role of a text, in one more optional; `nil` for no role, and its inside for all.
    private static func role(_ text: String) -> Role?? {
        if text == "all" { return .some(nil) }
        let role = Role(rawValue: text)
        return Role.known.contains(role) ? .some(role) : nil
    }

    fileprivate var json: JSONObject {
        switch self {
        case .slow(let delay): ["slow": .string(FaultTime.text(delay))]
        case .status(let code): ["status": .string(code.rawValue)]
        case .refuse(let reason): ["refuse": .string(reason.rawValue)]
        case .clockOff(let offset): ["clockOff": .string(FaultTime.text(offset))]
        case .keyExpired(let role): ["keyExpired": .string(role?.rawValue ?? "all")]
        case .keyRotated(let role): ["keyRotated": .string(role?.rawValue ?? "all")]
        }
    }
}

extension TokenRefusal.Reason {
    /// The reasons that a script may give, as the engine would.
    static let simulated: [Self] = [
        .tokenMissing, .tokenTooLarge, .tokenMalformed, .algorithmNotAllowed, .criticalHeader, .keyUnknown,
        .signatureInvalid, .issuerMismatch, .audienceMismatch, .tokenNotYetValid, .tokenTooOld, .tokenExpired,
        .tokenExpiresTooLate, .tokenRevoked, .claimsMissing, .claimsInvalid, .roleUnknown, .providerMismatch,
        .roleLacksPermission, .claimMismatch,
    ]
}

extension JSONValue {
    fileprivate func time(_ name: String, isSigned: Bool) throws(FaultScriptError) -> Duration {
        let text = self.string ?? self.integer.map { "\($0)s" } ?? ""
        guard let time = FaultTime.read(text), isSigned || time >= .zero else {
            let forms = isSigned ? "500ms, 2s, -10m or 1h" : "500ms, 2s, 10m or 1h"
            throw .init(message: "\(name) is no time such as \(forms), up to a day.")
        }
        return time
    }
}
