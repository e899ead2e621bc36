// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the command line says.
struct ConsumerOptions {
    static let usage = """
        usage: consumer-app-cli --trip ID [--token-server URL] [--engine URL] [--provider ID]
        The secret for the token server, if it asks for one, is taken from FLEETPASS_SECRET.
        """

    var session: ConsumerSession
    var trip: String

    /// Reads the arguments, or is `nil` when they make no sense.
    init?(arguments: [String], secret: String) {
        var values: [String: String] = [
            "--token-server": "http://127.0.0.1:8080", "--engine": "http://127.0.0.1:8080",
            "--provider": "demo-fleet",
        ]
        let known = Set(values.keys).union(["--trip"])
        guard arguments.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: arguments.count, by: 2) {
            guard known.contains(arguments[index]) else { return nil }
            values[arguments[index]] = arguments[index + 1]
        }
        guard let trip = values["--trip"], let provider = values["--provider"],
            let tokenServer = values["--token-server"].flatMap({ URL(string: $0) }),
            let engine = values["--engine"].flatMap({ URL(string: $0) })
        else { return nil }
        self.session = ConsumerSession(
            provider: provider, tokenServer: tokenServer, engine: engine, idToken: { secret })
        self.trip = trip
    }
}
