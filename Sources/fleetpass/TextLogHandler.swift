// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging

/// Writes each log line to stderr as text.
///
/// Metadata is put into words when a line is written, not whenever it is set: every request has metadata, and few have
/// a line.
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
        stream.metadata = self.metadata
        stream.log(event: event)
    }
}
