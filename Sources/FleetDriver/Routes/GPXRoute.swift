// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Reads drives from GPX 1.1 (topografix.com/GPX/1/1).
///
/// The points of all tracks make the drive; a file without tracks gives its routes, and one without those its
/// waypoints. Times are honoured; points without any get one second each. Files with a document type declaration are
/// refused, so there are no entities to expand.
public enum GPXRoute {
    /// Reads a drive.
    ///
    /// - Parameter data: The whole file.
    /// - Returns: The drive.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidRoute``, whose message names the line, or
    ///   ``DriverError/Code/fileTooLarge``.
    public static func read(_ data: Data) throws(DriverError) -> Route {
        try Route.checkSize(data)
        try self.checkEncoding(data)
        let reader = GPXReader()
        let points = try reader.points(in: data)
        return try Route(name: reader.name, fixes: self.fixes(points))
    }

    static func error(_ problem: String, line: Int) -> DriverError {
        DriverError(code: .invalidRoute, message: "Line \(max(1, line)) of the GPX text: \(problem)")
    }

    private static func fixes(_ points: [GPXPoint]) throws(DriverError) -> [LocationFix] {
        let timed = points.first?.time != nil
        var fixes: [LocationFix] = []
        fixes.reserveCapacity(points.count)
        for (index, point) in points.enumerated() {
            guard (point.time != nil) == timed else {
                throw self.error(
                    "the point has \(timed ? "no time" : "a time"), unlike those before it; give all points times, or none.",
                    line: point.line
                )
            }
            let time = point.time ?? Date(timeIntervalSince1970: Double(index))
            if let last = fixes.last, time < last.time {
                throw self.error("the time of the point is before that of the last one.", line: point.line)
            }
            do {
                fixes.append(
                    try LocationFix(
                        latitude: point.latitude, longitude: point.longitude, altitude: point.elevation, time: time)
                )
            } catch {
                throw self.error(error.message, line: point.line)
            }
        }
        return fixes
    }

    // A text in UTF-16, UTF-7 or the like could hide a document type declaration from the search for one.
    private static func checkEncoding(_ data: Data) throws(DriverError) {
        guard !data.contains(0) else {
            throw self.error("the text holds a NUL byte; save it as UTF-8.", line: 1)
        }
        try self.checkDeclaration(String(decoding: data.prefix(200), as: UTF8.self))
        if let found = data.range(of: Data("<!DOCTYPE".utf8)) {
            let line = data[..<found.lowerBound].count { $0 == UInt8(ascii: "\n") } + 1
            throw self.error("document type declarations are not read; remove it.", line: line)
        }
    }

    private static func checkDeclaration(_ prologue: String) throws(DriverError) {
        guard let start = prologue.range(of: "<?xml")?.upperBound, prologue[start...].first?.isWhitespace == true else {
            return
        }
        guard let end = prologue.range(of: "?>") else {
            throw self.error("the XML declaration does not end within 200 bytes; shorten it.", line: 1)
        }
        for rest in prologue[..<end.lowerBound].components(separatedBy: "encoding").dropFirst() {
            let value = rest.drop { $0.isWhitespace || $0 == "=" }
            let name = value.dropFirst().prefix { $0 != "\"" && $0 != "'" }.lowercased()
            guard ["utf-8", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "windows-1252"].contains(name) else {
                throw self.error("the encoding \"\(name.prefix(32))\" is not read; save the text as UTF-8.", line: 1)
            }
        }
    }
}
