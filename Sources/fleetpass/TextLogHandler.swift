// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging

/// Writes each log line to stderr as text.
///
/// Metadata is put into words when a line is written, not whenever it is set: every request has metadata, and few have
/// a line. A value that could pass for more than one, or for another line, is put in quotation marks.
struct TextLogHandler: LogHandler {
    /// The printable ASCII characters that no word holds.
    private static let marks = Set("=\"'".utf8)

    private let stream: StreamLogHandler
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String) {
        self.stream = .standardError(label: label)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var stream = self.stream
        var event = event
        stream.metadata = Self.quoted(self.metadata)
        event.metadata = event.metadata.map { Self.quoted($0) }
        stream.log(event: event)
    }

    private static func quoted(_ metadata: Logger.Metadata) -> Logger.Metadata {
        metadata.mapValues { .string(Self.word("\($0)")) }
    }

    /// A value as it stands in a line: a single word as it is, and anything else in quotation marks, in plain ASCII.
    static func word(_ value: String) -> String {
        let isWord = value.utf8.allSatisfy { (0x21...0x7E).contains($0) && !Self.marks.contains($0) }
        guard !isWord else { return value }
        let escaped = value.unicodeScalars.map { $0 == "'" ? String($0) : $0.escaped(asASCII: true) }
        return "\"" + escaped.joined() + "\""
    }
}
