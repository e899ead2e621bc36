// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Loads a server over kept-alive connections from one thread, and prints one line of counts and latencies: over HTTP/1.1,
// or over gRPC where there are messages.
//
// Each request is for another id: `{}` in path and body is its number, which begins anew after IDS. Without a rate, each
// connection asks again when it is answered; with one, requests are due at even times, and one that no connection is free
// for is counted as missed and not sent.

guard let options = Options(CommandLine.arguments) else {
    print(
        "usage: http-load PORT PATH BEARER CONNECTIONS SECONDS [REQUESTS-PER-SECOND]\n"
            + "  Asks http://127.0.0.1:PORT/PATH; the environment may set BODY, in JSON, to be sent with PUT, and IDS.\n"
            + "  With MESSAGES, a file of gRPC messages with their lengths before them, they are sent by turns over gRPC."
    )
    exit(2)
}
var load = Load(options)
load.run()
print(load.summary)

/// What the command line says.
struct Options {
    let port: UInt16
    let path: Pattern
    let body: Pattern?
    let ids: Int
    /// What is sent over gRPC.
    let messages: [[UInt8]]?
    let bearer: String
    let connections: Int
    let seconds: Double
    let rate: Double?

    init?(_ arguments: [String]) {
        guard (6...7).contains(arguments.count), let port = UInt16(arguments[1]), let connections = Int(arguments[4]),
            let seconds = Double(arguments[5]), connections > 0
        else { return nil }
        self.port = port
        self.path = Pattern(arguments[2])
        self.body = getenv("BODY").map { Pattern(String(cString: $0)) }
        self.ids = getenv("IDS").flatMap { Int(String(cString: $0)) } ?? .max
        self.messages = getenv("MESSAGES").map { Self.messages(inFile: String(cString: $0)) }
        self.bearer = arguments[3]
        self.connections = connections
        self.seconds = seconds
        self.rate = arguments.count == 7 ? Double(arguments[6]) : nil
    }

    /// The request of some number.
    func request(_ number: Int) -> Request {
        let id = number % self.ids
        let body = self.messages.map { $0[number % $0.count] } ?? self.body.map { Array($0.text(id).utf8) }
        return Request(path: self.path.text(id), bearer: self.bearer, body: body)
    }

    /// The messages of a file, each with the five bytes before it.
    private static func messages(inFile path: String) -> [[UInt8]] {
        guard let file = fopen(path, "r") else { fatalError("No file \(path).") }
        defer { fclose(file) }
        var messages: [[UInt8]] = []
        var prefix = [UInt8](repeating: 0, count: 5)
        while fread(&prefix, 1, 5, file) == 5 {
            let length = prefix[1...].reduce(0) { $0 << 8 | Int($1) }
            var message = [UInt8](repeating: 0, count: length)
            guard fread(&message, 1, length, file) == length else { fatalError("\(path) ends within a message.") }
            messages.append(prefix + message)
        }
        guard !messages.isEmpty else { fatalError("\(path) holds no message.") }
        return messages
    }
}

/// A text with a place for a number.
struct Pattern {
    private let before: Substring
    private let after: Substring?

    init(_ text: String) {
        let parts = text.split(separator: "{}", maxSplits: 1, omittingEmptySubsequences: false)
        self.before = parts[0]
        self.after = parts.count == 2 ? parts[1] : nil
    }

    func text(_ number: Int) -> String { self.after.map { "\(self.before)\(number)\($0)" } ?? String(self.before) }
}
