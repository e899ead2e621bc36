// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A point as a GPX text writes it.
struct GPXPoint {
    var line: Int
    var latitude: Double
    var longitude: Double
    var elevation: Double?
    var time: Date?
}

/// Collects the points of one GPX text; used once.
final class GPXReader: NSObject, XMLParserDelegate {
    /// The name of the first track, route or of the whole text that has one.
    private(set) var name: String?

    private static let longestText = 256
    private static let pointElements: Set<String> = ["trkpt", "rtept", "wpt"]

    private var points: [String: [GPXPoint]] = [:]
    private var open: [String] = []
    private var point: GPXPoint?
    private var text = ""
    private var problem: DriverError?

    /// The points of the tracks, else of the routes, else the waypoints.
    func points(in data: Data) throws(DriverError) -> [GPXPoint] {
        let parser = XMLParser(data: data)
        parser.shouldProcessNamespaces = true
        parser.shouldResolveExternalEntities = false
        parser.delegate = self
        let isWellFormed = parser.parse()
        if let problem { throw problem }
        guard isWellFormed, parser.parserError == nil else {
            throw self.notWellFormed(line: parser.lineNumber, parser.parserError)
        }
        guard let found = ["trkpt", "rtept", "wpt"].lazy.compactMap({ self.points[$0] }).first else {
            throw GPXRoute.error("the text ends without any track, route or waypoint.", line: parser.lineNumber)
        }
        return found
    }

    // MARK: - Elements

    func parser(
        _ parser: XMLParser,
        didStartElement element: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard self.problem == nil else { return }
        if self.open.isEmpty, element != "gpx" {
            return self.stop(parser, "the text is not GPX; its first element is \"\(element.prefix(32))\".")
        }
        self.open.append(element)
        self.text = ""
        guard Self.pointElements.contains(element) else { return }
        guard let latitude = attributes["lat"].flatMap(Double.init),
            let longitude = attributes["lon"].flatMap(Double.init)
        else { return self.stop(parser, "the \(element) has no number as lat or lon.") }
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
            return self.stop(parser, "the \(element) at \(latitude), \(longitude) is not on Earth.")
        }
        self.point = GPXPoint(line: parser.lineNumber, latitude: latitude, longitude: longitude)
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        guard self.text.utf8.count <= Self.longestText else { return }
        self.text += string
    }

    func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
        self.parser(parser, foundCharacters: String(decoding: CDATABlock, as: UTF8.self))
    }

    func parser(
        _ parser: XMLParser,
        didEndElement element: String,
        namespaceURI: String?,
        qualifiedName: String?
    ) {
        guard self.problem == nil, self.open.popLast() != nil else { return }
        let parent = self.open.last ?? ""
        let value = self.text.trimmingCharacters(in: .whitespacesAndNewlines)
        self.text = ""
        switch element {
        case "name" where ["trk", "rte", "metadata"].contains(parent) && self.name == nil && !value.isEmpty:
            self.name = value
        case "time" where Self.pointElements.contains(parent):
            guard let time = RFC3339.date(value) else {
                return self.stop(parser, "the time \"\(value.prefix(40))\" is not of the form 2025-02-05T17:02:32Z.")
            }
            self.point?.time = time
        case "ele" where Self.pointElements.contains(parent):
            guard let elevation = Double(value), elevation.isFinite else {
                return self.stop(parser, "the elevation \"\(value.prefix(40))\" is not a number.")
            }
            self.point?.elevation = elevation
        case _ where Self.pointElements.contains(element):
            if let point { self.points[element, default: []].append(point) }
            self.point = nil
        default: break
        }
    }

    // MARK: - Failures

    // The only word about some errors on Linux, where parsing a cut text is said to have succeeded.
    func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
        guard self.problem == nil else { return }
        self.problem = self.notWellFormed(line: parser.lineNumber, parseError)
        parser.abortParsing()
    }

    private func notWellFormed(line: Int, _ cause: (any Error)?) -> DriverError {
        var error = GPXRoute.error("it is not well-formed XML.", line: line)
        error.cause = cause
        return error
    }

    private func stop(_ parser: XMLParser, _ problem: String) {
        guard self.problem == nil else { return }
        self.problem = GPXRoute.error(problem, line: parser.lineNumber)
        parser.abortParsing()
    }
}
