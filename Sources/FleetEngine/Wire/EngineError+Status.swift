// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore

extension EngineError.Code {
    /// The HTTP and gRPC forms of a status code: the one table that both adapters use.
    var status: (http: Int, grpc: RPCError.Code) {
        switch self {
        case .invalidArgument: (400, .invalidArgument)
        case .failedPrecondition: (400, .failedPrecondition)
        case .unauthenticated: (401, .unauthenticated)
        case .permissionDenied: (403, .permissionDenied)
        case .notFound: (404, .notFound)
        case .alreadyExists: (409, .alreadyExists)
        case .resourceExhausted: (429, .resourceExhausted)
        case .internalError: (500, .internalError)
        case .unavailable: (503, .unavailable)
        case .deadlineExceeded: (504, .deadlineExceeded)
        case .aborted: (409, .aborted)
        case .unimplemented: (501, .unimplemented)
        case .cancelled: (499, .cancelled)
        case .unknown: (500, .unknown)
        }
    }

    /// The HTTP status of the code.
    package var httpStatus: Int { self.status.http }
}
