// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetSigning
import FleetTokens
import Foundation

/// `fleetpass explain`: every check of a token against a call, the first refusal marked.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say what becomes of a call with a token, check by check.",
        discussion: """
            Example:  fleetpass explain - --method UpdateVehicle --resource providers/demo-fleet/vehicles/veh-3 \
            --update-mask lastLocation --keys data < token
            """
    )

    @OptionGroup var token: TokenArgument

    @Option(
        help: ArgumentHelp("The RPC, such as UpdateVehicle.", valueName: "rpc"),
        completion: .list(FleetMethod.allCases.map(\.name)))
    var method: String

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp(
            "The resource that the call addresses or creates; repeat it for each task of a batch.", valueName: "name"))
    var resources: [String]

    @Option(
        help: ArgumentHelp(
            "The update mask as the call has it: paths with commas between, and no blanks.", valueName: "paths"))
    var updateMask: String = ""

    @Option(help: "For a trip: the vehicle that it is assigned to.", transform: checkedID)
    var tripVehicle: VehicleID?

    @Option(
        help: ArgumentHelp(
            "Where the trusted keys are; without, only the claims are judged.",
            valueName: "file|folder|url"),
        completion: .file())
    var keys: String?

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func run() async throws {
        guard let method = FleetMethod(named: self.method) else {
            throw CommandFailure(
                status: .usage,
                message:
                    "there is no RPC \(self.method); use \(FleetMethod.allCases.map(\.name).joined(separator: ", "))."
            )
        }
        let request = try self.request(for: method)
        let token = try self.token.read()
        let explanation =
            if let location = self.keys {
                try await KeysArgument(location: location).verifier().explain(token, request: request, at: Date())
            } else {
                TokenExaminer().explain(token, request: request, keys: nil, now: Date())
            }
        try ExplanationReport(explanation, fixes: self.fixes(for: request, in: explanation)).give(as: self.output)
    }

    /// What to do where the role is not refused anyway, it depends on the trip's vehicle whether the claims are enough,
    /// and no vehicle was named.
    func fixes(for request: AccessRequest, in explanation: TokenExplanation) -> [TokenRule: String] {
        // A claim that is spelt otherwise is the likelier fault, which the refusal's own fix names.
        guard self.tripVehicle == nil, !explanation.refuses(anyOf: [.role, .provider, .permission]),
            let claims = explanation.claims?.authorization, claims.spellingFix == nil
        else { return [:] }
        if let unordered = request.withoutOrder, (try? unordered.checkCoverage(of: claims, role: nil)) != nil {
            return [
                .coverage: "The claims are enough while the trip has no vehicle and is given none, as its "
                    + "vehicle_waypoints are ignored then. Where it has one, pass --trip-vehicle with that vehicle."
            ]
        }
        guard case .only(let vehicle) = claims.vehicle else { return [:] }
        var assigned = request
        assigned.vehicleOfTrip = vehicle
        guard (try? assigned.checkCoverage(of: claims, role: nil)) != nil else { return [:] }
        return [
            .coverage: "Pass --trip-vehicle with the vehicle that the trip is assigned to; the token reaches the trips "
                + "of its own vehicle."
        ]
    }

    /// The call of the method that is asked about.
    ///
    /// - Throws: ``CommandFailure`` with `usage` for names that no such call addresses.
    func request(for method: FleetMethod) throws(CommandFailure) -> AccessRequest {
        guard self.updateMask.isEmpty || method.hasMask else {
            throw CommandFailure(
                status: .usage, message: "--update-mask decides nothing about a call of \(method.name).")
        }
        guard self.tripVehicle == nil || method.asksForVehicleOfTrip else {
            throw CommandFailure(
                status: .usage, message: "--trip-vehicle decides nothing about a call of \(method.name).")
        }
        var requests: [AccessRequest] = []
        for name in self.resources {
            requests.append(
                AccessRequest(
                    method: method, resource: try self.resourceName(name, for: method),
                    maskedFields: FieldName.paths(ofMask: self.updateMask)))
        }
        guard var request = requests.first, requests.count == 1 || method == .batchCreateTasks else {
            throw CommandFailure(
                status: .usage,
                message: "\(method.name) addresses one resource; --resource is repeated for BatchCreateTasks alone.")
        }
        guard requests.allSatisfy({ $0.provider == request.provider }) else {
            throw CommandFailure(status: .usage, message: "the tasks of a batch are of one provider; name such tasks.")
        }
        request.tasks = requests.flatMap(\.tasks)
        request.vehicleOfTrip = self.tripVehicle
        return request
    }

    /// Reads the name of what a call of the method addresses.
    private func resourceName(_ name: String, for method: FleetMethod) throws(CommandFailure) -> ResourceName {
        let resource: ResourceName
        do throws(TokenError) {
            resource = try ResourceName(checking: name)
        } catch {
            throw CommandFailure(status: .usage, message: error.message)
        }
        guard method.addressedForms.contains(resource.form) else {
            throw CommandFailure(
                status: .usage, message: "\(method.name) addresses \(method.addressedForms.joined(separator: " or ")).")
        }
        return resource
    }
}

extension TokenExplanation {
    fileprivate func refuses(anyOf rules: Set<TokenRule>) -> Bool {
        self.checks.contains { if case .refused = $0.outcome { rules.contains($0.rule) } else { false } }
    }
}

extension FleetMethod {
    /// Whether it has an update mask, or fields that decide which row of the matrix a call must meet.
    fileprivate var hasMask: Bool {
        self == .updateTask || AccessRule.matrix.contains { $0.method == self && $0.fields != .all }
    }

    /// Whether claims may be enough or not by the vehicle that the trip has.
    fileprivate var asksForVehicleOfTrip: Bool {
        AccessRule.matrix.contains {
            $0.method == self && [.tripOrItsVehicle, .vehicleOfTrip].contains($0.claim)
        }
    }

    /// The forms of the names of what a call addresses or creates, and of what a search can be by.
    fileprivate var addressedForms: [String] {
        let provider = "providers/PROVIDER"
        return switch self {
        case .listVehicles, .listDeliveryVehicles, .listTasks: [provider]
        case .searchVehicles: [provider, "\(provider)/trips/ID"]
        case .searchTrips: [provider, "\(provider)/vehicles/ID"]
        default: ["\(provider)/\(self.httpForm.collection)/ID"]
        }
    }
}

extension ResourceName {
    /// The form of the name, with words in place of the ids.
    fileprivate var form: String {
        let segments = self.segments
        return segments.count == 4 ? "providers/PROVIDER/\(segments[2])/ID" : "providers/PROVIDER"
    }
}
