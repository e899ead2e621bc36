// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Subprocess

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A driver's or customer's app of the demo: `fleetpass drive` or `fleetpass watch` in a process of its own, which
/// knows nothing but two addresses.
struct FleetApp {
    private let program: String
    private let addresses: [String]

    init(addresses: LocalService.Addresses) throws {
        guard let program = Bundle.main.executablePath else {
            throw CommandFailure(status: .failed, message: "the program does not know its own path.")
        }
        let http = addresses.http.absoluteString
        self.program = program
        self.addresses = ["--token-server", http, "--engine", http, "--provider", addresses.provider.value]
    }

    /// Runs a command until it ends; a cancelled task ends it.
    ///
    /// - Parameters:
    ///   - command: The command and its own arguments.
    ///   - onLine: Gets each line of its results.
    /// - Throws: `SubprocessError` when it cannot be started, ``CommandFailure`` when it failed, or `CancellationError`
    ///   when it was told to end.
    func run(_ command: [String], onLine: (String) -> Void) async throws {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))]
        let result = try await Subprocess.run(
            .path(FilePath(self.program)), arguments: Arguments(command + self.addresses), platformOptions: options,
            input: .none, output: .sequence, error: .currentStandardError
        ) { execution in
            for try await line in execution.standardOutput.strings() { onLine(line) }
        }
        switch result.terminationStatus {
        case .exited(0): return
        // Somebody ended it, such as Ctrl-C, which every process of the terminal gets.
        case .signaled(SIGTERM), .signaled(SIGINT): throw CancellationError()
        case let status:
            let name = command.prefix(3).joined(separator: " ")
            throw CommandFailure(status: .failed, message: "fleetpass \(name) ended: \(status).")
        }
    }
}
