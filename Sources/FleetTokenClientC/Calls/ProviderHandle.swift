// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient
import FleetTokens

/// A provider that C owns.
final class ProviderHandle: CHandle, Sendable {
    /// The provider.
    let tokens: FleetTokenProvider
    /// What SDKs got last.
    let handedOut = Locked(HandedOutTokens())

    /// Makes a provider as C describes it.
    init(_ options: fp_options) throws {
        // First, so that the context is released whatever comes.
        let callbacks = Callbacks(options)
        let endpoint = try options.makeEndpoint()
        let configuration = options.cacheConfiguration
        let store = try options.makeStore()
        self.tokens =
            if let transport = callbacks.transport {
                try FleetTokenProvider(
                    endpoint: endpoint, transport: transport, configuration: configuration, store: store,
                    credentials: { try await callbacks.credentials() })
            } else {
                try FleetTokenProvider(
                    endpoint: endpoint, configuration: configuration, store: store,
                    credentials: { try await callbacks.credentials() })
            }
        callbacks.report(self.tokens.events())
    }
}

/// Makes a provider.
@c @implementation
public func fp_provider_create(
    _ options: UnsafePointer<fp_options>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<fp_error>?>?
) -> OpaquePointer? {
    error?.pointee = nil
    do {
        return try ProviderHandle(try fp_options(options)).given()
    } catch let failure {
        error?.pointee = CFailure(failure).given()
        return nil
    }
}

/// Gives a provider back.
@c @implementation
public func fp_provider_destroy(_ provider: OpaquePointer?) {
    _ = ProviderHandle.taken(provider)
}

/// Says that a token was refused.
@c @implementation
public func fp_provider_invalidate(
    _ provider: OpaquePointer?, _ subject: UnsafePointer<fp_subject>?, _ token: UnsafePointer<CChar>?
) -> Bool {
    guard let provider = ProviderHandle.borrowed(provider), let subject = try? TokenSubject(subject),
        let token = try? CArgument.text(token, "token")
    else { return false }
    provider.tokens.invalidate(FleetToken(token), for: subject)
    return true
}

/// Says that the token that an SDK got last was refused.
@c @implementation
public func fp_provider_invalidate_last(_ provider: OpaquePointer?, _ subject: UnsafePointer<fp_subject>?) -> Bool {
    guard let provider = ProviderHandle.borrowed(provider), let subject = try? TokenSubject(ofSDK: subject),
        let refused = provider.handedOut.withLock({ $0.takeNewest { other, _ in other.hasResource(of: subject) } })
    else { return false }
    provider.tokens.invalidate(refused.token, for: refused.subject)
    return true
}

/// Ends the pauses after failures.
@c @implementation
public func fp_provider_retry_now(_ provider: OpaquePointer?) {
    ProviderHandle.borrowed(provider)?.tokens.retryNow()
}

/// Writes what a provider did so far.
@c @implementation
public func fp_provider_metrics(
    _ provider: OpaquePointer?, _ metrics: UnsafeMutablePointer<fp_metrics>?, _ size: Int
) -> Bool {
    guard let provider = ProviderHandle.borrowed(provider), let metrics, size >= MemoryLayout<fp_metrics>.size else {
        return false
    }
    let memory = UnsafeMutableRawBufferPointer(start: metrics, count: size)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    metrics.pointee = fp_metrics(provider.tokens.metrics)
    return true
}

/// The library's version of the interface.
@c @implementation
public func fp_api_version() -> UInt32 {
    UInt32(FP_API_VERSION)
}
