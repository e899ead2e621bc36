// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `fleetpass serve`: a part of Fleetpass as a service of its own.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a part of Fleetpass as a service.",
        subcommands: [ServeTokensCommand.self, ServeEngineCommand.self]
    )
}
