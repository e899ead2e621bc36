// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct AttributeCriteriaTests {
    private static func attribute(_ key: String, _ value: String) -> VehicleAttribute {
        .with {
            $0.key = key
            $0.stringValue = value
        }
    }

    /// The field that a search is refused for; `nil` where it is taken.
    private static func refused(_ change: (inout SearchVehicles.Request) -> Void) -> String? {
        do throws(EngineError) {
            _ = try AttributeCriteria(VehicleSearchTests.request(change))
            return nil
        } catch {
            return error.code == .invalidArgument ? error.metadata["field"] : error.description
        }
    }

    @Test(arguments: [(257, 0, true), (1, 257, true), (100, 156, true), (100, 155, false)])
    func `an attribute longer than any that a vehicle has is refused`(key: Int, value: Int, isRefused: Bool) {
        let attribute = Self.attribute(String(repeating: "k", count: key), String(repeating: "v", count: value))
        #expect(Self.refused { $0.requiredAttributes = [attribute] } == (isRefused ? "required_attributes" : nil))
        #expect(
            Self.refused { $0.requiredOneOfAttributes = [.with { $0.attributes = [attribute] }] }
                == (isRefused ? "required_one_of_attributes" : nil))
        #expect(
            Self.refused { $0.requiredOneOfAttributeSets = [.with { $0.attributes = [attribute] }] }
                == (isRefused ? "required_one_of_attribute_sets" : nil))
        let list = ListVehicles.Request.with {
            $0.requiredAttributes = ["\(attribute.key):\(attribute.stringValue)"]
        }
        let isTaken = (try? AttributeCriteria(list)) != nil
        #expect(isTaken != isRefused)
    }

    @Test func `a text is no longer where its accents are spelled apart`() throws {
        let criteria = try AttributeCriteria(
            ListVehicles.Request.with { $0.requiredAttributes = ["k:" + String(repeating: "e\u{301}", count: 200)] })
        #expect(criteria.match([Self.attribute("k", String(repeating: "\u{e9}", count: 200))]))
    }

    @Test func `a filter of what no vehicle can have is refused`() {
        let long = String(repeating: "x", count: 257)
        #expect(Self.refused { $0.filter = "attributes.a = \"*\(long)*\"" } == "filter")
        #expect(Self.refused { $0.filter = "attributes.\(long) = 1" } == "filter")
    }

    @Test func `an empty list is refused, and an absent one asks nothing`() {
        #expect(Self.refused { _ in } == nil)
        #expect(Self.refused { $0.requiredOneOfAttributes = [.init()] } == "required_one_of_attributes")
        #expect(Self.refused { $0.requiredOneOfAttributeSets = [.init()] } == "required_one_of_attribute_sets")
    }

    @Test(arguments: ["\u{301}", "\u{200D}", "\u{1F3FD}"])
    func `a key or text may begin with what joins the character before it`(mark: String) throws {
        let vehicle = [Self.attribute("k", mark + "x"), Self.attribute(mark + "j", "y")]
        let criteria = [
            ListVehicles.Request.with { $0.requiredAttributes = ["k:\(mark)x", "\(mark)j:y"] },
            .with { $0.requiredOneOfAttributes = ["z:z|\(mark)j:y", "k:\(mark)x"] },
            .with { $0.requiredOneOfAttributeSets = ["k:\(mark)x|\(mark)j:y"] },
            .with { $0.filter = "attributes.\(mark)j = y AND attributes.k = \(mark)x" },
            .with { $0.filter = "attributes.\"\(mark)j\" = *y AND attributes.k = \"*\(mark)x\"" },
        ]
        for request in criteria {
            let read = try AttributeCriteria(request)
            #expect(read.match(vehicle))
            #expect(!read.match([Self.attribute("k", "x"), Self.attribute("j", "y")]))
        }
    }

    @Test func `an attribute that is required is no pattern`() throws {
        let criteria = try AttributeCriteria(ListVehicles.Request.with { $0.requiredAttributes = ["class:*"] })
        #expect(criteria.match([Self.attribute("class", "*")]))
        #expect(!criteria.match([Self.attribute("class", "van")]))
    }

    @Test func `lists and sets that name one key ask for each of its values`() throws {
        let criteria = try AttributeCriteria(
            ListVehicles.Request.with {
                $0.requiredOneOfAttributes = ["class:van|class:car", "seats:4|class:car"]
                $0.requiredOneOfAttributeSets = ["class:van|seats:7", "seats:4"]
            })
        let vehicles = [("van", "4", true), ("car", "4", true), ("van", "7", false), ("car", "7", false)]
        for (kind, seats, isMet) in vehicles {
            let attributes = [Self.attribute("class", kind), Self.attribute("seats", seats)]
            #expect(criteria.match(attributes) == isMet, "\(kind) with \(seats) seats")
        }
        #expect(!criteria.match([]))
    }
}
