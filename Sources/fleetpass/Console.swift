// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens
import Foundation

/// Talk on stderr, results on stdout.
enum Console {
    /// Fills the places of standard streams that are closed, which files opened later would get.
    ///
    /// Reading and writing there fails, but for stderr, whose lines are lost.
    static func holdClosedStreams() {
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
            // What is opened gets the lowest free place, which is this one.
            _ = open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY)
        }
    }

    /// Makes what is folded to the width of a terminal 40 columns wide or more: a narrower help has no room for its words.
    static func widenNarrowTerminal() {
        var terminal = winsize()
        let isTold = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &terminal) == 0 && terminal.ws_col > 0
        let asked = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
        guard let columns = asked ?? (isTold ? Int(terminal.ws_col) : nil), columns < 40 else { return }
        setenv("COLUMNS", "40", 1)
    }

    /// Reads standard input to its end, or until it is longer than a limit.
    ///
    /// - Parameter limit: How many bytes are wanted at most; some more tell that there are more.
    /// - Returns: What was read.
    /// - Throws: ``CommandFailure`` with `configuration` when it cannot be read, such as a folder.
    static func input(atMost limit: Int = .max) throws(CommandFailure) -> Data {
        var input = Data()
        do {
            while input.count <= limit,
                let chunk = try FileHandle.standardInput.read(upToCount: 1 << 16), !chunk.isEmpty
            { input += chunk }
        } catch {
            throw CommandFailure(
                status: .configuration, message: "standard input cannot be read: \(Self.reason(error)).")
        }
        return input
    }

    /// Writes talk to stderr: a line, or several, without what could steer a terminal.
    ///
    /// What others wrote is made one line by `shown()` before, so that it cannot pass for a line of ours.
    static func say(_ message: String) {
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false).map { $0.shown() + "\n" }
        try? FileHandle.standardError.write(contentsOf: Data(lines.joined().utf8))
    }

    /// Whether somebody watches stderr.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Replaces the last line of a terminal's stderr.
    static func replace(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(line)".utf8))
    }

    /// Writes a result to stdout at once, also into a pipe; ends the program where it cannot be written.
    static func give(_ result: String) {
        Self.give(Data(result.utf8))
    }

    /// Writes a result to stdout at once, also into a pipe; ends the program where it cannot be written.
    static func give(_ result: Data) {
        do throws(CommandFailure) {
            try Self.write(result)
        } catch {
            error.end()
        }
    }

    /// Writes a result to stdout at once, also into a pipe, for a command that has something to bring to its end.
    ///
    /// - Parameter result: The result, without the end of its line.
    /// - Throws: ``CommandFailure`` with `failed`; into a pipe that nobody reads, where `SIGPIPE` is ignored.
    static func write(_ result: String) throws(CommandFailure) {
        try Self.write(Data(result.utf8))
    }

    private static func write(_ result: Data) throws(CommandFailure) {
        do {
            try FileHandle.standardOutput.write(contentsOf: result + Data("\n".utf8))
        } catch {
            throw CommandFailure(status: .failed, message: "the output cannot be written: \(Self.reason(error)).")
        }
    }

    /// Writes a result as JSON with sorted keys, over several lines.
    static func give(json result: some Encodable) throws {
        Self.give(try Self.text(of: result, [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]))
    }

    /// Writes a result as JSON with sorted keys, on one line.
    static func give(jsonLine result: some Encodable) throws {
        Self.give(try Self.jsonLine(of: result))
    }

    /// A result as JSON with sorted keys, on one line.
    static func jsonLine(of result: some Encodable) throws -> String {
        try Self.text(of: result, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func text(of result: some Encodable, _ format: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = format
        return String(decoding: try encoder.encode(result), as: UTF8.self)
    }

    /// What the system said to a read or a write.
    private static func reason(_ error: any Error) -> String {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        return cause.map { String(cString: strerror(Int32($0.code))) } ?? error.localizedDescription
    }
}

/// How a result is written.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}
