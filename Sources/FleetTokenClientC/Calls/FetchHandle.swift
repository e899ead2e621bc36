// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient
import FleetTokens

/// A call that waits, for C to cancel.
final class FetchHandle: CHandle, Sendable {
    private let wait: Task<Void, Never>

    /// Keeps a wait.
    init(_ wait: Task<Void, Never>) {
        self.wait = wait
    }

    /// Ends the wait.
    func cancel() {
        self.wait.cancel()
    }
}

/// Who is told the outcome of a call.
///
/// Unchecked because C's pointers are not `Sendable`: nothing here changes after `init`, so no lock is needed, and the
/// header asks for a completion and a context that any thread may use.
private struct Completion: @unchecked Sendable {
    let callback: fp_token_callback?
    let context: UnsafeMutableRawPointer?

    func callAsFunction(_ outcome: Result<FleetToken, any Error>) {
        guard let callback = self.callback else { return }
        switch outcome {
        case .success(let token): callback(self.context, token.given(), nil)
        case .failure(let error): callback(self.context, nil, CFailure(error).given())
        }
    }
}

/// Starts a call, whose outcome is never told on this stack.
private func startFetch(
    _ provider: ProviderHandle?, _ subject: UnsafePointer<fp_subject>?, _ timeout: Int64, _ completion: Completion
) -> Task<Void, Never> {
    do {
        guard let provider else { throw CFailure.invalidArgument("provider is NULL.") }
        guard (1...Int64(FP_MAXIMUM_TIMEOUT_MS)).contains(timeout) else {
            throw CFailure.invalidArgument("timeout_ms is \(timeout); it must lie between 1 and an hour.")
        }
        return provider.tokens.fetchToken(for: try TokenSubject(subject), within: .milliseconds(timeout)) {
            completion($0)
        }
    } catch {
        return Task { completion(.failure(error)) }
    }
}

/// Asks for a token.
@c @implementation
public func fp_provider_fetch_token(
    _ provider: OpaquePointer?, _ subject: UnsafePointer<fp_subject>?, _ timeout: Int64,
    _ completion: fp_token_callback?, _ context: UnsafeMutableRawPointer?,
    _ fetch: UnsafeMutablePointer<OpaquePointer?>?
) {
    let wait = startFetch(
        .borrowed(provider), subject, timeout, Completion(callback: completion, context: context))
    fetch?.pointee = FetchHandle(wait).given()
}

/// Ends a wait.
@c @implementation
public func fp_fetch_cancel(_ fetch: OpaquePointer?) {
    FetchHandle.borrowed(fetch)?.cancel()
}

/// Frees the handle of a wait.
@c @implementation
public func fp_fetch_release(_ fetch: OpaquePointer?) {
    _ = FetchHandle.taken(fetch)
}
