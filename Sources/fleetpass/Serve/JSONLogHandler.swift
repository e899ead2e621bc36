// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Foundation
import Logging

/// Writes each log line to stderr as one JSON object: `time`, `level`, `message`, and the metadata.
struct JSONLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = self.metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        line["time"] = Date().formatted(.iso8601)
        line["level"] = event.level.rawValue
        line["message"] = "\(event.message)"
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let text = try? encoder.encode(line) else { return }
        // A log that is full or closed ends no server.
        try? FileHandle.standardError.write(contentsOf: text + Data("\n".utf8))
    }
}

extension Logger {
    /// The logger of a service: to stderr, as its configuration says.
    init(_ settings: LogSettings) {
        self.init(label: "fleetpass") { label -> any LogHandler in
            if settings.isJSON { JSONLogHandler() } else { TextLogHandler(label: label) }
        }
        self.logLevel = settings.level
    }
}
