// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation

/// What OSRM's service `route` answers, as far as it is read.
struct OSRMAnswer {
    /// The longest answer that is read: the way across a continent with every bend.
    static let maximumBytes = 2 * 1024 * 1024

    /// The way; `nil` where the server has none between the points.
    let way: RouteEstimate?

    /// What OSRM says of an address that is not its own; of whatever else it refuses, the points are the reason.
    private static let codesOfAddress: Set<String> = ["", "InvalidUrl", "InvalidService", "InvalidVersion"]

    private struct Document: Decodable {
        struct Route: Decodable {
            let distance: Double
            let duration: Double
            let geometry: String
        }

        let code: String
        let routes: [Route]?
    }

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - json: The body.
    ///   - status: The HTTP status: 200, or 400 for what the server refuses.
    /// - Throws: ``EngineError`` for what is none.
    init(json: [UInt8], status: Int) throws(EngineError) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(json)) else {
            throw Self.malformed("no answer of OSRM")
        }
        switch document.code {
        case "Ok":
            guard let route = document.routes?.first, route.distance.isFinite, route.duration.isFinite,
                (0...1e8).contains(route.distance), (0...1e8).contains(route.duration)
            else { throw Self.malformed("an answer without a way") }
            let path = try Self.points(polyline: route.geometry)
            self.way = RouteEstimate(meters: route.distance, duration: .seconds(route.duration), path: path)
        case "NoRoute", "NoSegment": self.way = nil
        case let code where status == 400 && !Self.codesOfAddress.contains(code): self.way = nil
        default: throw Self.malformed("the code \(document.code.prefix(32))")
        }
    }

    /// The points of a polyline of Google's format with five decimals: each a difference to the one before.
    ///
    /// - Throws: ``EngineError`` for what is none, or has less than two points.
    static func points(polyline: String) throws(EngineError) -> [LatLng] {
        var points: [LatLng] = []
        var bytes = polyline.utf8.makeIterator()
        var latitude: Int32 = 0
        var longitude: Int32 = 0
        while let first = try Self.difference(&bytes, isFirst: true) {
            guard let second = try Self.difference(&bytes, isFirst: false) else { break }
            latitude &+= first
            longitude &+= second
            var point = LatLng()
            point.latitude = Double(latitude) / 1e5
            point.longitude = Double(longitude) / 1e5
            try point.check("geometry")
            points.append(point)
        }
        guard points.count >= 2 else { throw Self.malformed("a way of less than two points") }
        return points
    }

    /// The next number, in groups of five bits with the lowest first; `nil` at the end of the text.
    private static func difference(
        _ bytes: inout String.UTF8View.Iterator, isFirst: Bool
    ) throws(EngineError) -> Int32? {
        var bits: UInt32 = 0
        var shift: UInt32 = 0
        while let byte = bytes.next() {
            guard (63...126).contains(byte), shift <= 25 else { throw Self.malformed("a broken polyline") }
            let group = UInt32(byte) - 63
            bits |= (group & 0x1F) << shift
            shift += 5
            guard group & 0x20 == 0 else { continue }
            let half = Int32(bitPattern: bits >> 1)
            return bits & 1 == 0 ? half : ~half
        }
        guard isFirst, shift == 0 else { throw Self.malformed("a polyline that ends too early") }
        return nil
    }

    private static func malformed(_ what: String) -> EngineError {
        .invalidArgument("The router sent \(what).")
    }
}
