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

/// Where C wants the outcome of a call.
///
/// Unchecked because C's pointers are not `Sendable`: nothing here changes after `init`, so no lock is needed, and the
/// header asks for a completion and a context that any thread may use.
private struct Completion<Callback>: @unchecked Sendable {
    let callback: Callback?
    let context: UnsafeMutableRawPointer?
}

extension Completion<fp_token_callback> {
    func callAsFunction(_ outcome: Result<FleetToken, any Error>) {
        switch outcome {
        case .success(let token): self.callback?(self.context, token.given(), nil)
        case .failure(let error): self.callback?(self.context, nil, CFailure(error).given())
        }
    }
}

extension Completion<fp_life_callback> {
    func callAsFunction(_ outcome: Result<Duration, any Error>) {
        switch outcome {
        case .success(let life): self.callback?(self.context, life.wholeMilliseconds, nil)
        case .failure(let error): self.callback?(self.context, -1, CFailure(error).given())
        }
    }
}

extension Completion<fp_closed_callback> {
    func callAsFunction() {
        self.callback?(self.context)
    }
}

extension FetchHandle {
    /// Starts a call, whose outcome is never told on this stack; arguments that make no sense are one, too.
    fileprivate static func start(
        _ provider: OpaquePointer?, _ subject: @autoclosure () throws -> TokenSubject, timeout: Int64,
        failed: @escaping @Sendable (any Error) -> Void,
        _ call: (FleetTokenProvider, TokenSubject, Duration) throws -> Task<Void, Never>
    ) -> FetchHandle {
        do {
            guard let provider = ProviderHandle.borrowed(provider) else {
                throw CFailure.invalidArgument("provider is NULL.")
            }
            guard (1...Int64(FP_MAXIMUM_TIMEOUT_MS)).contains(timeout) else {
                throw CFailure.invalidArgument("timeout_ms is \(timeout); it must lie between 1 and an hour.")
            }
            return FetchHandle(try call(provider.tokens, try subject(), .milliseconds(timeout)))
        } catch {
            return FetchHandle(Task { failed(error) })
        }
    }
}

/// Asks for a token.
@c @implementation
public func fp_provider_fetch_token(
    _ provider: OpaquePointer?, _ subject: UnsafePointer<fp_subject>?, _ timeout: Int64,
    _ completion: fp_token_callback?, _ context: UnsafeMutableRawPointer?,
    _ fetch: UnsafeMutablePointer<OpaquePointer?>?
) {
    let completion = Completion(callback: completion, context: context)
    let handle = FetchHandle.start(
        provider, try TokenSubject(subject), timeout: timeout, failed: { completion(.failure($0)) }
    ) {
        $0.fetchToken(for: $1, within: $2) { completion($0) }
    }
    fetch?.pointee = handle.given()
}

/// Asks for the token that an SDK wants, and remembers it.
@c @implementation
public func fp_provider_fetch_sdk_token(
    _ provider: OpaquePointer?, _ subject: UnsafePointer<fp_subject>?, _ timeout: Int64,
    _ completion: fp_token_callback?, _ context: UnsafeMutableRawPointer?,
    _ fetch: UnsafeMutablePointer<OpaquePointer?>?
) {
    let completion = Completion(callback: completion, context: context)
    let handedOut = ProviderHandle.borrowed(provider)?.handedOut
    let handle = FetchHandle.start(
        provider, try TokenSubject(ofSDK: subject), timeout: timeout, failed: { completion(.failure($0)) }
    ) { tokens, asked, limit in
        tokens.fetchToken(for: asked, within: limit) { result in
            if case .success(let token) = result { handedOut?.withLock { $0.note(token, for: asked) } }
            completion(result)
        }
    }
    fetch?.pointee = handle.given()
}

/// Makes sure that the token in hand lives so long.
@c @implementation
public func fp_provider_ensure(
    _ provider: OpaquePointer?, _ subject: UnsafePointer<fp_subject>?, _ life: Int64, _ timeout: Int64,
    _ completion: fp_life_callback?, _ context: UnsafeMutableRawPointer?,
    _ fetch: UnsafeMutablePointer<OpaquePointer?>?
) {
    let completion = Completion(callback: completion, context: context)
    let handle = FetchHandle.start(
        provider, try TokenSubject(subject), timeout: timeout, failed: { completion(.failure($0)) }
    ) {
        guard life >= 0 else { throw CFailure.invalidArgument("life_ms is \(life); it cannot be less than 0.") }
        return $0.ensure(valid: .milliseconds(life), for: $1, within: $2) { completion($0) }
    }
    fetch?.pointee = handle.given()
}

/// Closes a provider for good.
@c @implementation
public func fp_provider_close(
    _ provider: OpaquePointer?, _ completion: fp_closed_callback?, _ context: UnsafeMutableRawPointer?
) {
    let completion = Completion(callback: completion, context: context)
    let tokens = ProviderHandle.borrowed(provider)?.tokens
    // Not in the task: a call that comes right after this one would overtake it.
    tokens?.endCalls()
    Task {
        await tokens?.close()
        completion()
    }
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
