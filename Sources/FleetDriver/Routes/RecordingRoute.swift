// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
public import Foundation

/// Reads drives from recordings of the service: exported log entries of `UpdateVehicle` and `UpdateDeliveryVehicle`.
///
/// A recording is an array of entries, an object with such an array as `rawLogs` or `entries`, or one of these or an entry
/// on each line, of which lines that are not JSON are passed over. Keys are compared without regard to case and underscores, since exports
/// spell them in several ways. Entries are put into the order of the locations' times, and repeated ones are left out.
public enum RecordingRoute {
    /// Reads the drive of one vehicle.
    ///
    /// - Parameters:
    ///   - data: The whole recording.
    ///   - vehicle: The vehicle's id; may be left out when the recording holds one vehicle only.
    /// - Returns: The drive.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidRoute``, ``DriverError/Code/fileTooLarge`` or
    ///   ``DriverError/Code/unknownVehicle``.
    public static func read(_ data: Data, vehicle: String? = nil) throws(DriverError) -> Route {
        try Route.checkSize(data)
        var drives: [String: [LocationFix]] = [:]
        for (index, entry) in try self.entries(data).enumerated() {
            guard let update = VehicleLogEntry(entry) else { continue }
            do {
                if let fix = try update.fix() { drives[update.vehicle, default: []].append(fix) }
            } catch {
                throw DriverError(code: .invalidRoute, message: "Entry \(index + 1) of the recording: \(error.message)")
            }
        }
        let name = try self.choose(vehicle, from: drives.keys.sorted())
        return try Route(name: name, fixes: self.ordered(drives[name, default: []]))
    }

    private static func entries(_ data: Data) throws(DriverError) -> [Any] {
        let document: Any
        do {
            document = try JSONSerialization.jsonObject(with: data)
        } catch {
            // One value after another is no JSON text, but may be lines of them.
            let lines = data.split(separator: UInt8(ascii: "\n"))
            let entries = lines.compactMap { try? JSONSerialization.jsonObject(with: $0) }
                .flatMap { self.entries(of: $0) ?? [$0] }
            guard !entries.isEmpty else {
                throw DriverError(code: .invalidRoute, message: "The recording is not valid JSON.", cause: error)
            }
            return entries
        }
        if let entries = self.entries(of: document) { return entries }
        // The only line.
        if LogObject(document)?.value("jsonpayload") != nil { return [document] }
        throw DriverError(
            code: .invalidRoute,
            message: "The recording is neither log entries, in an array or on lines, nor an object with rawLogs or "
                + "entries.")
    }

    private static func entries(of document: Any) -> [Any]? {
        if let entries = document as? [Any] { return entries }
        let object = LogObject(document)
        return (object?.value("rawlogs") ?? object?.value("entries")) as? [Any]
    }

    private static func choose(_ wanted: String?, from ids: [String]) throws(DriverError) -> String {
        let list = ids.prefix(20).joined(separator: ", ") + (ids.count > 20 ? " and \(ids.count - 20) more" : "")
        switch (wanted, ids.count) {
        case (_, 0):
            throw DriverError(code: .invalidRoute, message: "The recording holds no vehicle update with a location.")
        case (let wanted?, _):
            guard ids.contains(wanted) else {
                throw DriverError(
                    code: .unknownVehicle,
                    message: "The recording does not hold the vehicle \"\(wanted.prefix(64))\"; it holds \(list)."
                )
            }
            return wanted
        case (nil, 1): return ids[0]
        case (nil, _):
            throw DriverError(
                code: .unknownVehicle, message: "The recording holds several vehicles; name one of \(list).")
        }
    }

    private static func ordered(_ fixes: [LocationFix]) -> [LocationFix] {
        var ordered: [LocationFix] = []
        for fix in fixes.sorted(by: { $0.time < $1.time }) where ordered.last?.time != fix.time { ordered.append(fix) }
        return ordered
    }
}
