// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CFleetTokenClient
import FleetTokenClient

/// The numbers that errors have in C; they never change.
struct ErrorNumber {
    /// The number.
    let rawValue: fp_error_code
    /// The code in Swift, or `nil` where only C has the error.
    let code: TokenClientError.Code?
    /// The name, which lives as long as the program.
    let name: StaticString

    private init(_ number: Int, _ code: TokenClientError.Code?, _ name: StaticString) {
        self.rawValue = fp_error_code(number)
        self.code = code
        self.name = name
    }

    /// The entry of a number.
    init?(rawValue: fp_error_code) {
        guard let entry = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = entry
    }

    /// Every number.
    static let allCases = [
        Self(FP_ERROR_INVALID_CONFIGURATION, .invalidConfiguration, "invalidConfiguration"),
        Self(FP_ERROR_INSECURE_URL, .insecureURL, "insecureURL"),
        Self(FP_ERROR_UNREACHABLE, .unreachable, "unreachable"),
        Self(FP_ERROR_TIMED_OUT, .timedOut, "timedOut"),
        Self(FP_ERROR_REFUSED, .refused, "refused"),
        Self(FP_ERROR_RATE_LIMITED, .rateLimited, "rateLimited"),
        Self(FP_ERROR_INVALID_ANSWER, .invalidAnswer, "invalidAnswer"),
        Self(FP_ERROR_WRONG_TOKEN, .wrongToken, "wrongToken"),
        Self(FP_ERROR_EXPIRED, .expired, "expired"),
        Self(FP_ERROR_EXCESSIVE_REFRESH, .excessiveRefresh, "excessiveRefresh"),
        Self(FP_ERROR_LIFE_UNAVAILABLE, .lifeUnavailable, "lifeUnavailable"),
        Self(FP_ERROR_STORE_FAILED, .storeFailed, "storeFailed"),
        Self(FP_ERROR_CANCELLED, nil, "cancelled"),
        Self(FP_ERROR_INVALID_ARGUMENT, nil, "invalidArgument"),
        Self(FP_ERROR_UNKNOWN, nil, "unknown"),
        Self(FP_ERROR_MISSING_CONTEXT, nil, "missingContext"),
        Self(FP_ERROR_MISSING_ID, nil, "missingID"),
        Self(FP_ERROR_INVALID_ID, nil, "invalidID"),
        Self(FP_ERROR_UNEXPECTED_TASK, nil, "unexpectedTask"),
    ]
}

extension StaticString {
    /// The text as a C string; the literals that make static strings end with a zero byte.
    var cString: UnsafePointer<CChar> {
        UnsafeRawPointer(self.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
