// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import HTTPTypes

/// What can go wrong with a request to the API; the raw value is the `code` of an answer and never changes.
enum ProblemKind: String, CaseIterable {
    case malformedBody = "malformed_body"
    case invalidRequest = "invalid_request"
    case unauthenticated
    case permissionDenied = "permission_denied"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case bodyTooLarge = "body_too_large"
    case unsupportedMediaType = "unsupported_media_type"
    case rateLimited = "rate_limited"
    case roleNotServed = "role_not_served"
    case unavailable
    case outcomeUnknown = "outcome_unknown"

    /// What a failure by script is called.
    init(_ status: HTTPResponse.Status) {
        // The body was read by then.
        self = Self.allCases.first { $0.status == status && $0 != .malformedBody } ?? .unavailable
    }

    var status: HTTPResponse.Status {
        switch self {
        case .invalidRequest, .malformedBody: .badRequest
        case .unauthenticated: .unauthorized
        case .permissionDenied: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .bodyTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .rateLimited: .tooManyRequests
        case .roleNotServed: .notImplemented
        case .unavailable, .outcomeUnknown: .serviceUnavailable
        }
    }

    var title: String {
        switch self {
        case .invalidRequest: "Parts of the request are not valid"
        case .malformedBody: "The body is not a JSON object"
        case .unauthenticated: "The caller is not known"
        case .permissionDenied: "The caller may not have this"
        case .notFound: "There is no such thing"
        case .methodNotAllowed: MethodNotAllowed.title
        case .bodyTooLarge: "The body is too large"
        case .unsupportedMediaType: "The body is of another type"
        case .rateLimited: "Too many requests"
        case .roleNotServed: "Nothing signs tokens of this role"
        case .unavailable: "It cannot be answered now"
        case .outcomeUnknown: "It is not known whether the change was made"
        }
    }

    /// What a client is to do.
    var remedy: String {
        switch self {
        case .invalidRequest: "Mend each place that errors names; the same request fails again."
        case .malformedBody: "Send one JSON object in UTF-8, without repeated members."
        case .unauthenticated: "Send Authorization: Bearer with a credential that is valid now; sign in again."
        case .permissionDenied: "No rule grants it; ask the operator for a role or an assignment."
        case .notFound: "Check the path."
        case .methodNotAllowed: "Use a method that the header Allow names."
        case .bodyTooLarge: "Send at most \(APIBody.maximumBytes) bytes."
        case .unsupportedMediaType: "Send Content-Type: application/json, without Content-Encoding."
        case .roleNotServed: "Ask the operator for a key or an account of the role; the same request fails until then."
        case .outcomeUnknown: "Look whether it was made, and send the request again only if it was not."
        case .rateLimited, .unavailable: "Come again after the seconds that the header Retry-After names."
        }
    }
}
