// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes
import Testing

@testable import FleetEngine

@Suite struct HTTPMatchTests {
    @Test(arguments: [
        ("GET", "/v1/providers/p/vehicles/v", FleetMethod.getVehicle, "providers/p/vehicles/v"),
        ("PUT", "/v1/providers/p/vehicles/v", .updateVehicle, "providers/p/vehicles/v"),
        ("POST", "/v1/providers/p/vehicles", .createVehicle, "providers/p"),
        ("GET", "/v1/providers/p/vehicles", .listVehicles, "providers/p"),
        ("POST", "/v1/providers/p/vehicles:search", .searchVehicles, "providers/p"),
        ("POST", "/v1/providers/p/vehicles/v:updateAttributes", .updateVehicleAttributes, "providers/p/vehicles/v"),
        ("POST", "/v1/providers/p/trips:search", .searchTrips, "providers/p"),
        ("POST", "/v1/providers/p/billableTrips/t:report", .reportBillableTrip, "providers/p/billableTrips/t"),
        ("PATCH", "/v1/providers/p/tasks/t", .updateTask, "providers/p/tasks/t"),
        ("POST", "/v1/providers/p/tasks:batchCreate", .batchCreateTasks, "providers/p"),
        // Decoded after splitting, once.
        ("GET", "/v1/providers/p/vehicles/a%20b", .getVehicle, "providers/p/vehicles/a b"),
        ("GET", "/v1/providers/p/vehicles/%E2%82%AC", .getVehicle, "providers/p/vehicles/€"),
        ("GET", "/v1/providers/p/vehicles/a%2520b", .getVehicle, "providers/p/vehicles/a%20b"),
        ("GET", "/v1/providers/p/vehicles/a+b", .getVehicle, "providers/p/vehicles/a+b"),
        // Not a verb of the table, or encoded: part of an id, which the engine refuses.
        ("GET", "/v1/providers/p/vehicles/a:b", .getVehicle, "providers/p/vehicles/a:b"),
        ("GET", "/v1/providers/p/vehicles/a%3Asearch", .getVehicle, "providers/p/vehicles/a:search"),
    ])
    func `a path is read by its rule`(verb: String, path: String, method: FleetMethod, name: String) throws {
        let match = try HTTPMatch(verb: #require(HTTPRequest.Method(verb)), path: path)
        #expect(match.rule.method == method)
        #expect(match.name == name)
    }

    @Test(arguments: [
        ("GET", "/v1/providers/p", EngineError.Code.notFound),
        ("GET", "/v1/providers/p/cars/v", .notFound),
        ("GET", "/v2/providers/p/vehicles/v", .notFound),
        ("GET", "/v1/suppliers/p/vehicles/v", .notFound),
        ("GET", "/v1/providers/p/vehicles/v/", .notFound),
        ("GET", "/v1/providers/p/vehicles/", .notFound),
        ("GET", "/v1/providers//vehicles/v", .notFound),
        ("GET", "/v1/providers/p/vehicles/v/w", .notFound),
        ("GET", "//v1/providers/p/vehicles/v", .notFound),
        ("PATCH", "/v1/providers/p/vehicles/v", .notFound),
        ("GET", "/v1/providers/p/vehicles:search", .notFound),
        ("POST", "/v1/providers/p/vehicles:list", .notFound),
        ("POST", "/v1/providers/p/:search", .notFound),
        ("POST", "/v1/providers/p/vehicles/:updateAttributes", .notFound),
        ("GET", "/v1/providers/p/%76ehicles/v", .notFound),
    ])
    func `a path without a rule is refused`(
        verb: String, path: String, code: EngineError.Code
    ) throws {
        let verb = try #require(HTTPRequest.Method(verb))
        let error = #expect(throws: EngineError.self) { try HTTPMatch(verb: verb, path: path) }
        #expect(error?.code == code)
    }

    @Test(arguments: ["p/vehicles/a%2Fb", "a%2fb/vehicles/v", "p/vehicles/%zz", "p/vehicles/%2", "p/vehicles/%FF"])
    func `an impossible id is a fault that waits until the caller is known`(path: String) throws {
        let match = try HTTPMatch(verb: .get, path: "/v1/providers/\(path)")
        #expect(match.rule.method == .getVehicle)
        #expect(match.fault?.code == .invalidArgument)
    }

    @Test func `a wrong verb is told the right ones`() throws {
        let error = #expect(throws: EngineError.self) {
            try HTTPMatch(verb: .patch, path: "/v1/providers/p/vehicles/v")
        }
        #expect(error?.message.contains("use GET or PUT or DELETE") == true)
    }
}
