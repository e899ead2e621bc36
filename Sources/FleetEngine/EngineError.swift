// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// The answer to a call that failed, in the status model of the public API.
///
/// gRPC and REST adapters map it with one table; its texts are safe to send to any caller.
public struct EngineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The canonical status codes that the engine answers with.
    public enum Code: String, CaseIterable, Sendable {
        /// A malformed name, id, mask or field.
        case invalidArgument = "INVALID_ARGUMENT"
        /// A conflict with the state of the resource.
        case failedPrecondition = "FAILED_PRECONDITION"
        /// No valid token.
        case unauthenticated = "UNAUTHENTICATED"
        /// A valid token that does not reach this.
        case permissionDenied = "PERMISSION_DENIED"
        /// No such resource.
        case notFound = "NOT_FOUND"
        /// A resource of that id exists.
        case alreadyExists = "ALREADY_EXISTS"
        /// A quota or limit is used up.
        case resourceExhausted = "RESOURCE_EXHAUSTED"
        /// The engine failed; the log says why.
        case internalError = "INTERNAL"
        /// The engine cannot serve now; a retry may succeed.
        case unavailable = "UNAVAILABLE"
        /// The call took longer than its caller waits; answered by script only.
        case deadlineExceeded = "DEADLINE_EXCEEDED"
        /// A race was lost; answered by script only.
        case aborted = "ABORTED"
        /// The engine does not do this; answered by script only.
        case unimplemented = "UNIMPLEMENTED"
        /// The call was given up; answered by script only.
        case cancelled = "CANCELLED"
        /// A failure without a name; answered by script only.
        case unknown = "UNKNOWN"
    }

    /// The status code.
    public var code: Code
    /// `ErrorInfo.reason`: a bounded name in upper snake case.
    public var reason: String
    /// What failed and how to fix it.
    public var message: String
    /// `ErrorInfo.metadata`.
    public var metadata: [String: String]
    /// Code, reason and message on one line.
    public var description: String { "\(self.code.rawValue) \(self.reason): \(self.message)" }

    /// The most bytes of a text; gRPC takes 8 KiB of metadata, in which the message stands twice, and encoded.
    private static let maximumBytes = 1000

    /// Makes an error; a message or value of metadata of more than 1,000 bytes, such as one that repeats a part of a
    /// request, is cut.
    public init(code: Code, reason: String, message: String, metadata: [String: String] = [:]) {
        self.code = code
        self.reason = reason
        self.message = Self.cut(message)
        self.metadata = metadata.mapValues(Self.cut)
    }

    /// The answer to a refused token.
    public init(_ refusal: TokenRefusal) {
        let code: Code =
            switch refusal.status {
            case .unauthenticated: .unauthenticated
            case .permissionDenied: .permissionDenied
            case .unavailable: .unavailable
            }
        self.init(
            code: code,
            reason: refusal.reason.rawValue,
            message: "\(refusal.message) \(refusal.fix)"
        )
    }

    /// The answer to a malformed argument.
    public static func invalidArgument(_ message: String, field: String? = nil) -> Self {
        Self(
            code: .invalidArgument,
            reason: "INVALID_ARGUMENT",
            message: message,
            metadata: field.map { ["field": $0] } ?? [:]
        )
    }

    /// Whether nobody can tell who called, as with no token, with one that is not good, or with one that may not be.
    var isOfStranger: Bool {
        self.code == .unauthenticated || self.reason == TokenRefusal.Reason.keysUnavailable.rawValue
    }

    /// As many of a text's scalars as there is room for; a character has no limit of length.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > self.maximumBytes else { return text }
        let mark = "…"
        var end = text.utf8.index(text.startIndex, offsetBy: self.maximumBytes - mark.utf8.count)
        while text.utf8[end] & 0xC0 == 0x80 { text.utf8.formIndex(before: &end) }
        return String(text[..<end]) + mark
    }
}

extension EngineError: CustomNSError {
    /// The message, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: self.message] }
}
