// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The canonical code of a failed call, as gRPC numbers it and REST error bodies spell it.
public enum RPCCode: String, CaseIterable, Sendable {
    /// The caller gave up.
    case cancelled = "CANCELLED"
    /// Something that fits no other code.
    case unknown = "UNKNOWN"
    /// The request is malformed; sending it again cannot help.
    case invalidArgument = "INVALID_ARGUMENT"
    /// No answer came in time.
    case deadlineExceeded = "DEADLINE_EXCEEDED"
    /// The resource does not exist.
    case notFound = "NOT_FOUND"
    /// The resource exists already.
    case alreadyExists = "ALREADY_EXISTS"
    /// The token does not reach this resource or method.
    case permissionDenied = "PERMISSION_DENIED"
    /// A quota is used up.
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    /// The state of the resource does not allow the call.
    case failedPrecondition = "FAILED_PRECONDITION"
    /// A race was lost.
    case aborted = "ABORTED"
    /// A value is past the valid range.
    case outOfRange = "OUT_OF_RANGE"
    /// The server does not have the method.
    case unimplemented = "UNIMPLEMENTED"
    /// The server broke.
    case internalError = "INTERNAL"
    /// The server cannot be reached or is overloaded; a later call may succeed.
    case unavailable = "UNAVAILABLE"
    /// Data was lost for good.
    case dataLoss = "DATA_LOSS"
    /// No valid token came with the call.
    case unauthenticated = "UNAUTHENTICATED"

    /// The number that gRPC gives the code.
    public var number: Int {
        switch self {
        case .cancelled: 1
        case .unknown: 2
        case .invalidArgument: 3
        case .deadlineExceeded: 4
        case .notFound: 5
        case .alreadyExists: 6
        case .permissionDenied: 7
        case .resourceExhausted: 8
        case .failedPrecondition: 9
        case .aborted: 10
        case .outOfRange: 11
        case .unimplemented: 12
        case .internalError: 13
        case .unavailable: 14
        case .dataLoss: 15
        case .unauthenticated: 16
        }
    }

    /// The code that an HTTP status stands for when the body names none.
    package init(httpStatus: Int) {
        self =
            switch httpStatus {
            case 400: .invalidArgument
            case 401: .unauthenticated
            case 403: .permissionDenied
            case 404: .notFound
            case 408, 504: .deadlineExceeded
            case 409: .aborted
            case 429: .resourceExhausted
            case 499: .cancelled
            case 500: .internalError
            case 501: .unimplemented
            case 502, 503: .unavailable
            default: .unknown
            }
    }
}
