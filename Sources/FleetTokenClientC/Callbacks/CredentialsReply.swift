// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient

/// One question for the app's credentials.
final class CredentialsReply: CHandle, Sendable {
    /// The header fields to come.
    let answer = PendingAnswer<[(name: String, value: String)]>()

    /// Ends the question without credentials.
    func fail(_ code: TokenClientError.Code) {
        let message: String
        switch code {
        case .refused: message = "The app has no credentials, so the token server was not asked; sign in again."
        case .timedOut: message = "The app's credentials did not come in time, so the token server was not asked."
        default: message = "The app got no credentials over the network, so the token server was not asked."
        }
        self.answer.end(with: .failure(TokenClientError(code: code, message: message)))
    }
}

/// Answers with header fields.
@c @implementation
public func fp_credentials_reply_send(_ reply: OpaquePointer?, _ headers: UnsafePointer<fp_header>?, _ count: Int) {
    guard let reply = CredentialsReply.taken(reply) else { return }
    do {
        reply.answer.end(with: .success(try CArgument.headers(headers, count)))
    } catch {
        // Wrapped, because the provider takes any other error for a refusal by the app.
        let message = "The app's credentials cannot be sent. \(error.message)"
        reply.answer.end(
            with: .failure(TokenClientError(code: .invalidConfiguration, message: message, cause: error)))
    }
}

/// Answers that nobody is signed in.
@c @implementation
public func fp_credentials_reply_fail(_ reply: OpaquePointer?) {
    CredentialsReply.taken(reply)?.fail(.refused)
}

/// Answers why there are no credentials.
@c @implementation
public func fp_credentials_reply_fail_with(_ reply: OpaquePointer?, _ code: fp_error_code) {
    guard let reply = CredentialsReply.taken(reply) else { return }
    switch Int(code) {
    case FP_ERROR_REFUSED: reply.fail(.refused)
    case FP_ERROR_TIMED_OUT: reply.fail(.timedOut)
    default: reply.fail(.unreachable)
    }
}
