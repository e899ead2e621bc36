// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

@testable import FleetEngine

/// One call of a recording of the real service, with the time at which the service did its work.
struct RecordedExchange {
    let call: LoggedCall
    /// When the service did its work, as far as the response tells, or else when it had answered.
    let time: Date

    /// The folder of the recordings; outside the package, and not everywhere.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../../shared/data/recordings")

    /// Whether a recording is at hand.
    static func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: Self.folder.appending(path: name).path)
    }

    /// The differences that are understood, by kind, from a table in docs/recordings.md.
    static func understood(in section: String) throws -> [String: Int] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/recordings.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let part = text.components(separatedBy: "\n## ").first { $0.hasPrefix(section) } ?? ""
        let rows = part.split(separator: "\n").compactMap { row -> (String, Int)? in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, let count = Int(cells[3]) else { return nil }
            return ("\(cells[0]): \(cells[1]) \(cells[2].trimmingCharacters(in: ["`"]))", count)
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// Reads the exchanges of a recording in the order in which they took effect.
    static func read(_ name: String) throws -> [Self] {
        try CallRecording(parsing: Data(contentsOf: Self.folder.appending(path: name))).work
            .map { Self(call: $0.call, time: $0.time) }
    }

    /// The request as a message of the API; fields that it does not have are an error.
    func request<Request: Message>() throws -> Request {
        try Request(jsonUTF8Bytes: JSONValue.object(self.call.request).serialized)
    }

    /// The response, likewise.
    func response<Response: Message>() throws -> Response {
        try Response(jsonUTF8Bytes: JSONValue.object(self.call.response ?? JSONObject()).serialized)
    }
}
