// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Foundation
import Testing

@Suite struct GPXRouteTests {
    private static func gpx(_ body: String) -> Data {
        Data("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gpx version=\"1.1\">\n\(body)\n</gpx>".utf8)
    }

    private static let timed = """
        <trk><name>Round</name><trkseg>
        <trkpt lat="37.5" lon="-122.25"><ele>12.5</ele><time>2025-02-05T17:00:00Z</time></trkpt>
        <trkpt lat="37.6" lon="-122.35"><time>2025-02-05T18:00:02.500+01:00</time></trkpt>
        </trkseg><trkseg>
        <trkpt lon="-122.45" lat="37.7"><time>2025-02-05T17:01:00Z</time></trkpt>
        </trkseg></trk>
        """

    @Test func `all segments of a track make one drive with its times`() throws {
        let route = try GPXRoute.read(Self.gpx(Self.timed))
        #expect(route.name == "Round")
        #expect(route.fixes.map(\.latitude) == [37.5, 37.6, 37.7])
        #expect(route.fixes.map(\.longitude) == [-122.25, -122.35, -122.45])
        #expect(route.fixes.map(\.altitude) == [12.5, nil, nil])
        let start = Date(timeIntervalSince1970: 1_738_774_800)
        #expect(route.fixes.map { $0.time.timeIntervalSince(start) } == [0, 2.5, 60])
        #expect(route.duration == .seconds(60))
    }

    @Test func `a track without times gets one point per second`() throws {
        let route = try GPXRoute.read(
            Self.gpx(
                "<trk><trkseg><trkpt lat='1' lon='2'/><trkpt lat='1' lon='3'/><trkpt lat='1' lon='4'/></trkseg></trk>")
        )
        #expect(route.fixes.map(\.time.timeIntervalSince1970) == [0, 1, 2])
    }

    @Test func `tracks go before routes, and routes before waypoints`() throws {
        let waypoint = "<wpt lat='1' lon='1'/>"
        let course = "<rte><name>Plan</name><rtept lat='2' lon='2'/></rte>"
        let track = "<trk><trkseg><trkpt lat='3' lon='3'/></trkseg></trk>"
        #expect(try GPXRoute.read(Self.gpx(waypoint)).fixes.map(\.latitude) == [1])
        #expect(try GPXRoute.read(Self.gpx(waypoint + course)).fixes.map(\.latitude) == [2])
        #expect(try GPXRoute.read(Self.gpx(waypoint + course + track)).fixes.map(\.latitude) == [3])
    }

    @Test func `texts may stand in CDATA`() throws {
        let track = """
            <trk><name><![CDATA[To & fro]]></name><trkseg>
            <trkpt lat='1' lon='2'><time><![CDATA[2025-01-01T00:00:00Z]]></time></trkpt></trkseg></trk>
            """
        let route = try GPXRoute.read(Self.gpx(track))
        #expect(route.name == "To & fro")
        #expect(route.fixes.first?.time == Date(timeIntervalSince1970: 1_735_689_600))
    }

    @Test func `a namespace prefix changes nothing`() throws {
        let text = """
            <g:gpx xmlns:g="http://www.topografix.com/GPX/1/1"><g:trk><g:trkseg>
            <g:trkpt lat="1" lon="2"><g:time>2025-01-01T00:00:00Z</g:time></g:trkpt></g:trkseg></g:trk></g:gpx>
            """
        #expect(try GPXRoute.read(Data(text.utf8)).fixes.first?.time == Date(timeIntervalSince1970: 1_735_689_600))
    }

    @Test(
        arguments: [
            ("<trk><trkseg>\n<trkpt lat='1' lon='2'>", "Line 5", "not well-formed"),
            ("<trk><trkseg>\n<trkpt lat='1' lon='2'/>\n</trk></trkseg>", "Line 5", "not well-formed"),
            ("<wpt lat='1' lon='1'/>\n<wpt lat='1' lat='1'/>", "Line 4", "not well-formed"),
            ("<wpt lat='1' lon='1'/></gpx>\n<wpt lat='1' lon='1'/>", "Line 4", "not well-formed"),
            ("<wpt lat='1' lon='1'/>\n&unknown;", "Line 4", "not well-formed"),
            ("\n<trk><trkseg>\n<trkpt lon='2'/></trkseg></trk>", "Line 5", "lat or lon"),
            ("<trk><trkseg><trkpt lat='one' lon='2'/></trkseg></trk>", "Line 3", "lat or lon"),
            ("<trk><trkseg>\n<trkpt lat='90.1' lon='2'/></trkseg></trk>", "Line 4", "not on Earth"),
            ("<trk><trkseg>\n<trkpt lat='1' lon='-180.5'/></trkseg></trk>", "Line 4", "not on Earth"),
            ("<trk><trkseg>\n<trkpt lat='nan' lon='1'/></trkseg></trk>", "Line 4", "not on Earth"),
            ("<wpt lat='1' lon='1'><time>yesterday</time></wpt>", "Line 3", "\"yesterday\""),
            ("<wpt lat='1' lon='1'><ele>high</ele></wpt>", "Line 3", "\"high\""),
            (
                "<wpt lat='1' lon='1'><time>2025-01-01T00:00:01Z</time></wpt>\n"
                    + "<wpt lat='1' lon='1'><time>2025-01-01T00:00:00Z</time></wpt>", "Line 4", "before that"
            ),
            (
                "<wpt lat='1' lon='1'><time>2025-01-01T00:00:01Z</time></wpt>\n<wpt lat='1' lon='1'/>", "Line 4",
                "no time"
            ),
            (
                "<wpt lat='1' lon='1'/>\n<wpt lat='1' lon='1'><time>2025-01-01T00:00:01Z</time></wpt>", "Line 4",
                "a time"
            ),
            ("<trk><trkseg></trkseg></trk>", "Line 4", "without any track"),
        ]
    )
    func `a broken file is refused with its line`(body: String, line: String, problem: String) throws {
        let error = try #require(throws: DriverError.self) { try GPXRoute.read(Self.gpx(body)) }
        #expect(error.code == .invalidRoute)
        #expect(error.message.contains(line + " "))
        #expect(error.message.contains(problem))
    }

    @Test func `entities are not expanded`() throws {
        let bomb = """
            <?xml version="1.0"?>
            <!DOCTYPE gpx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>
            <gpx><trk><name>&b;</name><trkseg><trkpt lat="1" lon="1"/></trkseg></trk></gpx>
            """
        let error = try #require(throws: DriverError.self) { try GPXRoute.read(Data(bomb.utf8)) }
        #expect(error.message.contains("Line 2 "))
        #expect(error.message.contains("document type"))
    }

    @Test(arguments: ["UTF-16", "utf-7", "UCS-4"])
    func `an encoding that could hide a declaration is refused`(name: String) throws {
        let text = "<?xml version=\"1.0\" encoding='\(name)'?><gpx><wpt lat='1' lon='1'/></gpx>"
        let error = try #require(throws: DriverError.self) { try GPXRoute.read(Data(text.utf8)) }
        #expect(error.message.contains("encoding"))
        let wide = try #require(text.data(using: .utf16LittleEndian))
        #expect(throws: DriverError.self) { try GPXRoute.read(wide) }
    }

    @Test(
        arguments: [
            (" \n\tencoding = \"UTF-7\"", "\"utf-7\""), (" encoding\r\n=\r\n'UTF-7'", "\"utf-7\""),
            (" encoding='UTF-8' encoding='UTF-7'", "\"utf-7\""),
            (String(repeating: " ", count: 200) + "encoding='UTF-7'", "within 200 bytes"),
        ]
    )
    func `an encoding is found however the declaration is written`(rest: String, problem: String) throws {
        let text = "<?xml version='1.0'\(rest)?><gpx><wpt lat='1' lon='1'/></gpx>"
        let error = try #require(throws: DriverError.self) { try GPXRoute.read(Data(text.utf8)) }
        #expect(error.message.contains(problem))
    }

    @Test func `white space in a declaration hurts nobody`() throws {
        let text = "<?xml version = '1.0' encoding = \"utf-8\" ?>\n<gpx><wpt lat='1' lon='1'/></gpx>"
        #expect(try GPXRoute.read(Data(text.utf8)).fixes.count == 1)
        let styled = "<?xml-stylesheet href='\(String(repeating: "x", count: 200))'?><gpx><wpt lat='1' lon='1'/></gpx>"
        #expect(try GPXRoute.read(Data(styled.utf8)).fixes.count == 1)
    }

    @Test func `another kind of XML is refused`() throws {
        let error = try #require(throws: DriverError.self) {
            try GPXRoute.read(Data("<kml><trkpt lat='1' lon='1'/></kml>".utf8))
        }
        #expect(error.message.contains("\"kml\""))
    }

    @Test func `more than 50 MB are not read`() throws {
        let error = try #require(throws: DriverError.self) {
            try GPXRoute.read(Data(count: Route.maximumFileSize + 1))
        }
        #expect(error.code == .fileTooLarge)
    }

    @Test func `an empty file is refused`() throws {
        #expect(throws: DriverError.self) { try GPXRoute.read(Data()) }
    }
}
