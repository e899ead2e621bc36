// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Why another service gave no answer.
public struct UpstreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public enum Code: Sendable {
        /// There was no connection, or it broke.
        case unreachable
        /// There was no whole answer in the request's time.
        case timedOut
        /// The answer has more than the request's bytes; the service itself is well.
        case answerTooLong
    }

    /// The kind of failure.
    public var code: Code
    /// What is known of it beyond the code, in a few fixed words such as "its name is not known"; no secret, and nothing
    /// that the other side chose.
    public var detail: String?

    /// The failure in words, to go behind a service's name.
    public var description: String {
        let what =
            switch self.code {
            case .unreachable: "could not be reached"
            case .timedOut: "did not answer in time"
            case .answerTooLong: "sent too long an answer"
            }
        return self.detail.map { "\(what): \($0)" } ?? what
    }

    /// Makes an error.
    public init(_ code: Code, detail: String? = nil) {
        self.code = code
        self.detail = detail
    }
}

extension UpstreamError: CustomNSError {
    /// The failure in words, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: "The other service \(self)."] }
}
