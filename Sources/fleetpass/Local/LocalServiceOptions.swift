// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens

/// The options that `up` and `demo` share.
struct LocalServiceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The folder for keys and data; it is made where it is missing.", valueName: "dir"))
    var data: String = "fleetpass-data"

    @Option(
        help: ArgumentHelp(
            "The PostgreSQL database for what is stored, shared by many nodes; files in the data folder without.",
            valueName: "postgresql-url"))
    var store: String?

    @Option(help: ArgumentHelp("The address to listen on; this machine's own only.", valueName: "address"))
    var host: String = "127.0.0.1"

    @Option(help: "The port of HTTP: token server, engine REST and page; 0 picks a free one.")
    var port: Int = 8080

    @Option(help: "The port of the engine's gRPC; 0 picks a free one.")
    var grpcPort: Int = 8081

    @Option(help: "The provider id.", transform: checkedID)
    var provider: ProviderID?

    @Flag(name: .customLong("open"), help: "Give tokens to anyone on this machine; the default without --callers.")
    var isOpen = false

    @Option(help: ArgumentHelp("Give tokens only to the callers in this file, by bearer secret.", valueName: "file"))
    var callers: String?

    /// The provider of the options.
    var effectiveProvider: ProviderID {
        get throws {
            if let provider { return provider }
            return try ProviderID(checking: "demo-fleet")
        }
    }

    func validate() throws {
        guard (0...65535).contains(self.port), (0...65535).contains(self.grpcPort) else {
            throw ValidationError("A port is a number from 0 to 65535.")
        }
        guard !(self.isOpen && self.callers != nil) else {
            throw ValidationError("--open and --callers exclude each other.")
        }
    }

    /// Refuses any address that other machines could reach, as tokens go to anyone over plain HTTP.
    func checkHost() throws {
        let numbers = self.host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        let isLoopback = numbers.count == 4 && numbers.allSatisfy { $0 != nil } && numbers[0] == 127
        guard isLoopback || self.host == "::1" else {
            throw CommandFailure(
                status: .configuration,
                message:
                    "\(self.host) is not an address of this machine alone; up and demo serve plain HTTP and listen "
                    + "on 127.0.0.1 or ::1 only."
            )
        }
    }
}
