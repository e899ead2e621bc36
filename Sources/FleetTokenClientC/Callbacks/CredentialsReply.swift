// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient

/// One question for the app's credentials.
final class CredentialsReply: CHandle, Sendable {
    /// The header fields to come.
    let answer = PendingAnswer<[(name: String, value: String)]>()
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

/// Answers that there are no credentials.
@c @implementation
public func fp_credentials_reply_fail(_ reply: OpaquePointer?) {
    guard let reply = CredentialsReply.taken(reply) else { return }
    let message = "The app has no credentials, so the token server was not asked; sign in again."
    reply.answer.end(with: .failure(TokenClientError(code: .refused, message: message)))
}
