// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging

/// Writes each log line to stderr as text.
///
/// Metadata is put into words when a line is written, not whenever it is set: every request has metadata, and few have
/// a line. A value that could pass for more than one, or for another line, is put in quotation marks.
struct TextLogHandler: LogHandler {
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
        metadata.mapValues { .string("\($0)".lineWord) }
    }
}
