// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Loads an HTTP server over kept-alive connections from one thread, and prints one line of counts and latencies.
//
// Each request asks for another id. Without a rate, each connection asks again when it is answered; with one, requests
// are due at even times, and one that no connection is free for is counted as missed and not sent.

guard let options = Options(CommandLine.arguments) else {
    print(
        "usage: http-load PORT PATH-PREFIX BEARER CONNECTIONS SECONDS [REQUESTS-PER-SECOND]\n"
            + "  Asks http://127.0.0.1:PORT/PATH-PREFIXnnn.")
    exit(2)
}
var load = Load(options)
load.run()
print(load.summary)

/// What the command line says.
struct Options {
    let port: UInt16
    let prefix: String
    let bearer: String
    let connections: Int
    let seconds: Double
    let rate: Double?

    init?(_ arguments: [String]) {
        guard (6...7).contains(arguments.count), let port = UInt16(arguments[1]), let connections = Int(arguments[4]),
            let seconds = Double(arguments[5]), connections > 0
        else { return nil }
        self.port = port
        self.prefix = arguments[2]
        self.bearer = arguments[3]
        self.connections = connections
        self.seconds = seconds
        self.rate = arguments.count == 7 ? Double(arguments[6]) : nil
    }
}
