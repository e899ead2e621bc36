// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient
import FleetTokens

/// An error on its way to C.
struct CFailure: Error {
    private let code: fp_error_code
    let message: String
    private let httpStatus: Int32
    private let retryAfter: Duration?

    /// An error for C to own.
    func given() -> UnsafeMutablePointer<fp_error> {
        COwned.make { self.value(in: $0) }
    }

    /// The error, with its message in the memory.
    func value(in memory: CMemory) -> fp_error {
        fp_error(
            code: self.code, http_status: self.httpStatus,
            retry_after_ms: self.retryAfter?.wholeMilliseconds ?? -1, message: memory.text(self.message))
    }
}

extension CFailure {
    /// A mistake in the arguments of a call.
    static func invalidArgument(_ message: String) -> Self {
        Self(code: fp_error_code(FP_ERROR_INVALID_ARGUMENT), message: message, httpStatus: 0, retryAfter: nil)
    }

    /// Translates an error of the Swift side.
    init(_ error: any Error) {
        switch error {
        case let error as CFailure:
            self = error
        case let error as TokenClientError:
            self.init(
                code: Self.code(of: error), message: error.message,
                httpStatus: error.httpStatus.flatMap { Int32(exactly: $0) } ?? 0, retryAfter: error.retryAfter)
        case let error as TokenError:
            self = .invalidArgument(error.message)
        case let error as SDKAuthorizationError:
            self.init(
                code: fp_error_code(error.code.rawValue), message: error.message, httpStatus: 0, retryAfter: nil)
        case is CancellationError:
            self.init(
                code: fp_error_code(FP_ERROR_CANCELLED), message: "The call was cancelled.", httpStatus: 0,
                retryAfter: nil)
        default:
            self.init(
                code: fp_error_code(FP_ERROR_UNKNOWN), message: "The fetch failed in an unforeseen way.",
                httpStatus: 0, retryAfter: nil)
        }
    }

    /// The number of an error; a malformed argument travels through the provider as the cause of its error.
    private static func code(of error: TokenClientError) -> fp_error_code {
        if let cause = error.cause as? CFailure { return cause.code }
        return ErrorNumber.allCases.first { $0.code == error.code }?.rawValue ?? fp_error_code(FP_ERROR_UNKNOWN)
    }
}

/// The name of a code, for metrics.
@c @implementation
public func fp_error_name(_ code: fp_error_code) -> UnsafePointer<CChar> {
    (ErrorNumber(rawValue: code)?.name ?? "unknown").cString
}

/// Frees an error.
@c @implementation
public func fp_error_release(_ error: UnsafeMutablePointer<fp_error>?) {
    COwned.release(error)
}
