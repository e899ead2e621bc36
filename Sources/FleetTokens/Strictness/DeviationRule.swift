// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What is known of a ``Deviation``: what it is, why it matters, how to mend it, and who says so.
public struct DeviationRule: Hashable, Sendable {
    /// What the strict profile does beyond noting it.
    public enum Consequence: String, Codable, Sendable {
        /// The call goes on, and its caller is told.
        case warned
        /// The call is refused, as the contract has it.
        case refused
    }

    /// The name in reports and warnings; stable.
    public let id: String
    /// What was seen, as a sentence.
    public let what: String
    /// Why it matters.
    public let why: String
    /// How to mend it.
    public let fix: String
    /// The public document that says so.
    public let source: String
    /// What the strict profile does.
    public let inStrict: Consequence

    fileprivate init(
        _ id: String, _ what: String, why: String, fix: String, source: String, inStrict: Consequence = .warned
    ) {
        self.id = id
        self.what = what
        self.why = why
        self.fix = fix
        self.source = source
        self.inStrict = inStrict
    }
}

extension Deviation {
    /// The entry of the table: every rule beside its source.
    public var rule: DeviationRule {
        switch self {
        case .tokenWithoutKeyID:
            DeviationRule(
                "token-without-kid", "The token's header has no kid.",
                why: "Without it a verifier has to try the issuer's keys one after the other, and some refuse.",
                fix: "Write the service account's private_key_id into the header; sign with IAM signJwt, which does.",
                source: "JSON Web Tokens guide, header")
        case .tokenWithoutType:
            DeviationRule(
                "token-without-typ", "The token's header has no typ, or another than JWT.",
                why: "The guide names it as part of the header.",
                fix: "Write \"typ\": \"JWT\" into the header, in capitals.",
                source: "JSON Web Tokens guide, header")
        case .tokenWithScope:
            DeviationRule(
                "token-with-scope", "The token carries a scope beside its aud.",
                why: "A self-signed token has either; other services refuse both at once.",
                fix: "Leave scope out.",
                source: "AIP-4111, self-signed JWT")
        case .tokenWithUnknownClaim:
            DeviationRule(
                "token-with-unknown-claim", "The authorization object has a claim that Fleet Engine does not define.",
                why: "It is ignored; a claim in another spelling, such as vehicleId, does not reach the vehicle.",
                fix: "Use vehicleid, tripid, deliveryvehicleid, taskid, taskids and trackingid, in lower case.",
                source: "JSON Web Tokens guide, private claims")
        case .lifetimeNotOneHour:
            DeviationRule(
                "lifetime-not-3600", "The token's exp is not its iat plus 3600 s.",
                why: "The guide recommends exactly an hour, and the rule for self-signed tokens asks for it.",
                fix: "Set exp to iat + 3600.",
                source: "JSON Web Tokens guide, exp; AIP-4111, self-signed JWT")
        case .wildcardInDeviceToken:
            DeviationRule(
                "wildcard-in-device-token", "A token of a device's role carries a wildcard.",
                why: "Whoever takes it from one phone reads or moves every vehicle, trip or shipment.",
                fix: "Mint a token for the one id that the app needs.",
                source: "Issue JSON Web Tokens guide; Last Mile Fleet sample token server, which refuses it")
        case .claimThatOpensNothing:
            DeviationRule(
                "claim-that-opens-nothing", "The token carries a claim that its role cannot use.",
                why: "It opens no method, and tells its holder more than needed.",
                fix: "Mint the token with the claims of its role only; admin roles need none.",
                source: "IAM setup and service account roles guide; Fleet Engine roles and permissions")
        case .tokenNotBackdated:
            DeviationRule(
                "iat-not-backdated", "The token was used less than 60 s after its iat.",
                why: "If the verifier's clock is that much behind, the token's exp is more than an hour ahead, and the "
                    + "call fails.",
                fix: "Set iat a few minutes back, such as now - 300, and exp to iat + 3600.",
                source: "JSON Web Tokens guide, iat and exp; Fleet Debugger, which sets iat 300 s back")
        case .tokenNearExpiry:
            DeviationRule(
                "token-near-expiry", "The token was used with less than 5 minutes left.",
                why: "It may end on its way, or by the clock of the verifier.",
                fix: "Refresh while 5 minutes are left; FleetTokenClient does.",
                source: "GMTDAuthorization and GMTCAuthorization references; Fleet Engine Auth Library")
        case .backendTokenInSDK:
            DeviationRule(
                "backend-token-in-sdk", "A driver or consumer SDK used a token of another role than its own.",
                why: "A phone with a stronger token can read or change what it should not.",
                fix: "Sign tokens for the SDK with the Driver or Consumer SDK User role.",
                source: "Issue JSON Web Tokens guide")
        case .deviceLocationFromBackend:
            DeviationRule(
                "device-location-from-backend", "A backend's token reported a device's own location.",
                why: "Either a backend's token is in an app, or a server fills the field of the driver SDK.",
                fix: "Give the app a driver's token; report other sources as supplemental_location.",
                source: "Issue JSON Web Tokens guide; VehicleLocation.supplemental_location in the API's contract")
        case .reportTooOften:
            DeviationRule(
                "report-too-often", "The vehicle's locations came less than 5 s apart.",
                why: "The service expects at most one update in five seconds for each vehicle.",
                fix: "Set locationReportingInterval to 5 s or more, and let one device report each vehicle.",
                source: "Vehicle guides, location updates; GMTDVehicleReporter reference")
        case .reportTooSeldom:
            DeviationRule(
                "report-too-seldom", "More than 60 s passed between the vehicle's locations.",
                why: "The service expects an update each minute; searches and estimates use old places otherwise.",
                fix: "Set locationReportingInterval to 60 s or less; set the vehicle OFFLINE when it stops reporting.",
                source: "Vehicle guides, location updates; GMTDVehicleReporter reference")
        case .headerWithoutRegion:
            DeviationRule(
                "header-without-region", "The request's header has no region_code.",
                why: "The contract marks it as required where there is a header.",
                fix: "Set region_code, such as US, or leave the header out.",
                source: "RequestHeader and DeliveryRequestHeader in the API's contract")
        case .onlineWithoutLocation:
            DeviationRule(
                "online-without-location", "A vehicle was created ONLINE without a location.",
                why: "No search finds it until it reports one.",
                fix: "Set last_location, or create the vehicle OFFLINE.",
                source: "Vehicle guides, create a vehicle")
        case .outputOnlyField:
            DeviationRule(
                "output-only-field", "The request sets a field that only the service sets.",
                why: "It is ignored; the guide calls it an error.",
                fix: "Leave output-only fields unset.",
                source: "Vehicle and trip guides, create; field behaviour in the API's contract")
        case .deprecatedField:
            DeviationRule(
                "deprecated-field", "The request sets a deprecated field.",
                why: "It may go away; its successor holds the same.",
                fix:
                    "Use latlng_accuracy, heading_accuracy, altitude_accuracy, speed, is_road_snapped; string_value of "
                    + "attributes; timestamp of stops; of terminal locations the point alone. Leave num_stale_updates "
                    + "unset.",
                source: "Deprecated fields in the API's contract")
        case .listWithoutVehicleTypes:
            DeviationRule(
                "list-without-vehicle-types", "ListVehicles names no vehicle_type_categories.",
                why: "The contract marks the field as required.",
                fix: "Name each category that is wanted.",
                source: "ListVehiclesRequest in the API's contract",
                inStrict: .refused)
        }
    }
}
