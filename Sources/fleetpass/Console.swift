// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Talk on stderr, results on stdout.
enum Console {
    /// Writes a line of talk to stderr.
    static func say(_ message: String) {
        FileHandle.standardError.write(Data((message + "\n").utf8))
    }

    /// Whether somebody watches stderr.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Replaces the last line of a terminal's stderr.
    static func replace(_ line: String) {
        FileHandle.standardError.write(Data("\r\u{1B}[K\(line)".utf8))
    }

    /// Writes a result to stdout at once, also into a pipe.
    static func give(_ result: String) {
        FileHandle.standardOutput.write(Data((result + "\n").utf8))
    }

    /// Writes a result as JSON with sorted keys, over several lines.
    static func give(json result: some Encodable) throws {
        Self.give(try Self.text(of: result, [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]))
    }

    /// Writes a result as JSON with sorted keys, on one line.
    static func give(jsonLine result: some Encodable) throws {
        Self.give(try Self.text(of: result, [.sortedKeys, .withoutEscapingSlashes]))
    }

    private static func text(of result: some Encodable, _ format: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = format
        return String(decoding: try encoder.encode(result), as: UTF8.self)
    }
}

/// How a result is written.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}
