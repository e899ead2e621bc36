// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the command line says.
struct DriverOptions {
    static let usage = """
        usage: driver-app-cli --vehicle ID --route FILE.gpx [--speed FACTOR] [--interval SECONDS] [--reports COUNT]
                              [--token-server URL] [--engine URL] [--provider ID]
        The secret for the token server, if it asks for one, is taken from FLEETPASS_SECRET.
        The exit code is 1 when the update that sets the vehicle offline after COUNT others fails.
        """

    var session: DriverSession
    var route: URL
    var speed: Double
    var interval: Double
    /// Ends the shift after so many updates; without it, at the end of the process.
    var reports: Int?

    /// Reads the arguments, or is `nil` when they make no sense.
    init?(arguments: [String], secret: String) {
        var values: [String: String] = [
            "--speed": "1", "--interval": "10", "--token-server": "http://127.0.0.1:8080",
            "--engine": "http://127.0.0.1:8080", "--provider": "demo-fleet",
        ]
        let known = Set(values.keys).union(["--vehicle", "--route", "--reports"])
        guard arguments.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: arguments.count, by: 2) {
            guard known.contains(arguments[index]) else { return nil }
            values[arguments[index]] = arguments[index + 1]
        }
        guard let vehicle = values["--vehicle"], let route = values["--route"], let provider = values["--provider"],
            let tokenServer = values["--token-server"].flatMap({ URL(string: $0) }),
            let engine = values["--engine"].flatMap({ URL(string: $0) }),
            let speed = values["--speed"].flatMap(Double.init), let interval = values["--interval"].flatMap(Double.init)
        else { return nil }
        self.session = DriverSession(
            provider: provider, vehicle: vehicle, tokenServer: tokenServer, engine: engine, idToken: { secret })
        self.route = URL(fileURLWithPath: route)
        self.speed = speed
        self.interval = interval
        if let reports = values["--reports"] {
            guard let count = Int(reports), count > 0 else { return nil }
            self.reports = count
        }
    }
}
