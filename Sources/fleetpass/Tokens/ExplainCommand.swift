// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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

    @Option(help: ArgumentHelp("The RPC, such as UpdateVehicle.", valueName: "rpc"))
    var method: String

    @Option(help: ArgumentHelp("The resource that the call addresses or creates.", valueName: "name"))
    var resource: String

    @Option(help: ArgumentHelp("The paths of the update mask, with commas between.", valueName: "paths"))
    var updateMask: String = ""

    @Option(help: "For a trip: the vehicle that it is assigned to.", transform: checkedID)
    var tripVehicle: VehicleID?

    @Option(
        help: ArgumentHelp(
            "Where the trusted keys are; without, only the claims are judged.",
            valueName: "file|folder|url"))
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
        var request: AccessRequest
        do throws(TokenError) {
            request = AccessRequest(
                method: method,
                resource: try ResourceName(checking: self.resource),
                maskedFields: self.updateMask.split(separator: ",").map(String.init)
            )
        } catch {
            throw CommandFailure(status: .usage, message: error.message)
        }
        request.vehicleOfTrip = self.tripVehicle
        let token = try self.token.read()
        let keys: (any TokenKeys)?
        if let location = self.keys { keys = try await KeysArgument(location: location).read() } else { keys = nil }
        try ExplanationReport(TokenExaminer().explain(token, request: request, keys: keys, now: Date()))
            .give(as: self.output)
    }
}
