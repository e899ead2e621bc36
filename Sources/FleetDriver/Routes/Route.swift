// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// A drive: fixes in the order of their times, at least one.
public struct Route: Hashable, Sendable {
    /// The largest file that is read, in bytes.
    public static let maximumFileSize = 50 * 1024 * 1024

    /// What the file calls the drive, if anything.
    public let name: String?
    /// The fixes; never empty, and no time is before the one in front of it.
    public let fixes: [LocationFix]

    /// From the first fix to the last.
    public var duration: Duration {
        guard let first = self.fixes.first, let last = self.fixes.last else { return .zero }
        return .seconds(last.time.timeIntervalSince(first.time))
    }

    /// Checks a drive.
    ///
    /// - Parameters:
    ///   - name: What to call it.
    ///   - fixes: At least one fix, in the order of their times.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidRoute``.
    public init(name: String? = nil, fixes: [LocationFix]) throws(DriverError) {
        guard !fixes.isEmpty else {
            throw DriverError(code: .invalidRoute, message: "The route has no points.")
        }
        for (index, pair) in zip(fixes, fixes.dropFirst()).enumerated() where pair.1.time < pair.0.time {
            throw DriverError(
                code: .invalidRoute, message: "The time of point \(index + 2) of the route is before that of the last.")
        }
        self.name = name
        self.fixes = fixes
    }

    /// Reads a route from a GPX file or a recording, told apart by content, else by the file's extension.
    ///
    /// - Parameters:
    ///   - url: A local file.
    ///   - vehicle: The id of the vehicle whose drive is wanted, for recordings of several.
    /// - Returns: The route.
    /// - Throws: ``DriverError``; the message names the file.
    public static func read(contentsOf url: URL, vehicle: String? = nil) throws(DriverError) -> Route {
        try self.naming(url) { () throws(DriverError) in
            try self.route(in: self.data(contentsOf: url), of: url, vehicle: vehicle)
        }
    }

    /// Reads a route as ``read(contentsOf:vehicle:)`` does, and from a recording of one vehicle whatever its id is.
    ///
    /// - Parameters:
    ///   - url: A local file, or a pipe.
    ///   - vehicle: The id of the vehicle whose drive is wanted from recordings of several.
    /// - Returns: The route.
    /// - Throws: ``DriverError``; the message names the file.
    package static func read(contentsOf url: URL, ifSeveral vehicle: String?) throws(DriverError) -> Route {
        try self.naming(url) { () throws(DriverError) in
            // Once, as a pipe tells its contents but once.
            let data = try self.data(contentsOf: url)
            do throws(DriverError) {
                return try self.route(in: data, of: url, vehicle: nil)
            } catch {
                guard error.code == .unknownVehicle, let vehicle,
                    let own = try? self.route(in: data, of: url, vehicle: vehicle)
                else { throw error }
                return own
            }
        }
    }

    private static func naming(
        _ url: URL, _ read: () throws(DriverError) -> Route
    ) throws(DriverError) -> Route {
        do throws(DriverError) {
            return try read()
        } catch {
            throw DriverError(
                code: error.code, message: "\(url.lastPathComponent): \(error.message)", cause: error.cause)
        }
    }

    private static func route(in data: Data, of url: URL, vehicle: String?) throws(DriverError) -> Route {
        switch self.firstCharacter(of: data) {
        case UInt8(ascii: "<"): return try GPXRoute.read(data)
        case UInt8(ascii: "["), UInt8(ascii: "{"): return try RecordingRoute.read(data, vehicle: vehicle)
        default: break
        }
        // What the content does not tell, the reader for the extension explains.
        switch url.pathExtension.lowercased() {
        case "gpx": return try GPXRoute.read(data)
        case "json": return try RecordingRoute.read(data, vehicle: vehicle)
        default:
            throw DriverError(
                code: .invalidRoute, message: "It is neither GPX nor a recording in JSON; use one of these.")
        }
    }

    private static func data(contentsOf url: URL) throws(DriverError) -> Data {
        let data: Data
        do {
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }
            // One byte more than allowed tells a file that is too large, whatever its size is said to be.
            data = try file.read(upToCount: self.maximumFileSize + 1) ?? Data()
        } catch {
            throw DriverError(
                code: .unreadableFile,
                message: "The file cannot be read; check its path, and that this user may read it.",
                cause: error)
        }
        try self.checkSize(data)
        return data
    }

    static func checkSize(_ data: Data) throws(DriverError) {
        guard data.count <= self.maximumFileSize else {
            throw DriverError(
                code: .fileTooLarge, message: "The route is larger than 50 MB; cut it into parts.")
        }
    }

    private static func firstCharacter(of data: Data) -> UInt8? {
        data.withoutByteOrderMark.first { !Array(" \t\r\n".utf8).contains($0) }
    }
}
