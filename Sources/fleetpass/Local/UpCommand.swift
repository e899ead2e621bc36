// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `fleetpass up`: everything on this machine, for development and tests.
struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Run the token server and the engine on this machine.",
        discussion: """
            Example:  fleetpass up --data ./data

            Prints one line when everything listens: ready http=URL grpc=HOST:PORT provider=ID data=DIR. \
            The folder gets one service account's key file for each role, which the engine trusts with that role.
            """
    )

    @OptionGroup var options: LocalServiceOptions

    func run() async throws {
        let service = try LocalService(self.options, logger: self.options.logger)
        try await service.run { _ in }
    }
}
