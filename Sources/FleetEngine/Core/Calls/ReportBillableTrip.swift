// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// Acknowledges the report of a trip to be billed; nothing reads it back, so nothing of it is kept.
enum ReportBillableTrip: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_ReportBillableTripRequest
    typealias Response = Google_Protobuf_Empty

    static let method = FleetMethod.reportBillableTrip
    private static let maximumRelatedIDs = 50

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(request.name)
        guard case .billableTrip = resource else {
            throw Self.misnamed(resource, "a billable trip", "billableTrips/T")
        }
        return AccessRequest(method: Self.method, resource: resource)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        func require(_ holds: Bool, _ field: String, _ problem: String) throws {
            guard holds else { throw EngineError.invalidArgument("\(field) \(problem).", field: field) }
        }
        try require(
            request.countryCode.utf8.count == 2 && request.countryCode.allSatisfy { $0.isASCII && $0.isLetter },
            "country_code", "must be the two letters of a country"
        )
        try require(
            Maps_Fleetengine_V1_BillingPlatformIdentifier.allCases.contains(request.platform), "platform",
            "is not a known platform"
        )
        try require(
            request.relatedIds.count <= Self.maximumRelatedIDs, "related_ids",
            "holds \(request.relatedIds.count); at most \(Self.maximumRelatedIDs) are taken"
        )
        try require(
            Request.SolutionType.allCases.contains(request.solutionType), "solution_type", "is not a known solution"
        )
        return Response()
    }
}
