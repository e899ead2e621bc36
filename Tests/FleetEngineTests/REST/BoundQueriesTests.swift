// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct BoundQueriesTests {
    private typealias Queries = BoundQueries<Maps_Fleetengine_V1_UpdateVehicleRequest>

    private static let allowed: [String: QueryField] = ["updateMask": .mask, "header": .header]

    private static func queries() -> Queries { Queries(mask: { $0.updateMask.paths = $1 }) }

    @Test func `a query that came before fills the same request`() throws {
        let queries = Self.queries()
        for _ in 0..<2 {
            let bound = try queries.bind(
                "updateMask=vehicleState,last_location&header.regionCode=US", allowed: Self.allowed)
            #expect(bound.request.updateMask.paths == ["vehicleState", "last_location"])
            #expect(bound.request.header.regionCode == "US")
            #expect(!bound.wantsEnumNumbers)
        }
        #expect(queries.count == 1)
        let other = try queries.bind("updateMask=attributes&$alt=json;enum-encoding=int", allowed: Self.allowed)
        #expect(other.request.updateMask.paths == ["attributes"])
        #expect(!other.request.hasHeader)
        #expect(other.wantsEnumNumbers)
        #expect(queries.count == 2)
    }

    @Test func `a mask of any paths is taken, for the engine to refuse once it knows who asks`() throws {
        let queries = Self.queries()
        for _ in 0..<2 {
            let bound = try queries.bind("updateMask=a,,*", allowed: Self.allowed)
            #expect(bound.request.updateMask.paths == ["a", "", "*"])
        }
    }

    @Test(arguments: ["nonsense=1", "header.androidApiLevel=many", "header.sdkType=NONE", "updateMask=%zz"])
    func `what is refused is refused again`(query: String) {
        let queries = Self.queries()
        for _ in 0..<2 {
            let error = #expect(throws: EngineError.self) { try queries.bind(query, allowed: Self.allowed) }
            #expect(error?.code == .invalidArgument)
        }
        #expect(queries.count == 0)
    }

    @Test func `no more is remembered than has its place`() throws {
        let queries = Queries()
        for number in 0..<Queries.capacity * 2 + 10 {
            _ = try queries.bind("header.regionCode=\(number)", allowed: Self.allowed)
            #expect(queries.count <= Queries.capacity)
        }
        let known = queries.count
        let long = String(repeating: "x", count: Queries.maximumBytes)
        #expect(try queries.bind("header.regionCode=\(long)", allowed: Self.allowed).request.header.regionCode == long)
        #expect(queries.count == known)
    }

    @Test func `texts that are equal but for their bytes fill different requests`() throws {
        let queries = Queries()
        // The sign of the unit kelvin equals the letter, the composed letter the one with an accent behind it.
        for code in ["K", "\u{212A}", "\u{E9}", "e\u{301}"] {
            let bound = try queries.bind("header.regionCode=\(code)", allowed: Self.allowed)
            #expect(Array(bound.request.header.regionCode.utf8) == Array(code.utf8))
        }
        #expect(queries.count == 1)
    }
}
