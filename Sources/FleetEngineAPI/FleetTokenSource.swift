// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import FleetTokens

/// Gives tokens to whatever calls Fleet Engine from a backend, over gRPC and over REST.
///
/// ``FleetTokenInterceptor`` and ``FleetEngineHTTPClient`` ask before each call and remember nothing, so one source with
/// one cache serves both.
public protocol FleetTokenSource: Sendable {
    /// A token for a call.
    ///
    /// - Parameters:
    ///   - method: What is called.
    ///   - resource: What the call addresses; `nil` over gRPC, where an interceptor does not see it.
    /// - Returns: A token that has not ended.
    /// - Throws: Why there is none; the call is not sent then.
    func token(for method: FleetMethod, on resource: ResourceName?) async throws -> FleetToken

    /// Hears that the engine did not accept a token (401, `UNAUTHENTICATED`), so that it is not given again.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - method: What was called.
    ///   - resource: What the call addressed, as ``token(for:on:)`` was told.
    func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?)
}

/// Tokens that this process mints, with the signer of the role that each call needs.
///
/// Tokens for everything of a kind are signed once and renewed before they end; tokens for one resource are signed for
/// each call.
///
/// ```swift
/// let tokens = MintedTokenSource(RoleSigners([.server: serverSigner, .deliveryServer: deliverySigner]))
/// let engine = try FleetEngineHTTPClient(tokens: tokens)
/// ```
public struct MintedTokenSource: FleetTokenSource {
    private let signers: RoleSigners
    private let type: @Sendable (FleetMethod, ResourceName?) -> TokenType

    /// Mints tokens with a map of signers.
    ///
    /// - Parameters:
    ///   - signers: The signer of each role that is asked for.
    ///   - type: What token a call takes; without it, the server's token of the service that the method belongs to.
    public init(
        _ signers: RoleSigners,
        type: @escaping @Sendable (FleetMethod, ResourceName?) -> TokenType = { method, _ in .server(for: method) }
    ) {
        self.signers = signers
        self.type = type
    }

    /// Mints a token for a call, or gives the shared one.
    ///
    /// - Parameters:
    ///   - method: What is called.
    ///   - resource: What the call addresses.
    /// - Returns: The token.
    /// - Throws: `SigningError`, as for a role without a signer; `TokenError`; `CancellationError`.
    public func token(for method: FleetMethod, on resource: ResourceName?) async throws -> FleetToken {
        try await self.signers.mint(self.type(method, resource)).token
    }

    /// Forgets a shared token that was not signed just now.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - method: What was called.
    ///   - resource: What the call addressed.
    public func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?) {
        self.signers.discard(token, of: self.type(method, resource))
    }
}

extension TokenType {
    /// The token with which a backend may call a method for any resource.
    ///
    /// - Parameter method: The method.
    /// - Returns: The server's token of its service, or the one for batches of tasks.
    public static func server(for method: FleetMethod) -> Self {
        switch method {
        case .batchCreateTasks: .batchTaskCreation(.any)
        case let method where method.isDelivery: .deliveryServer
        default: .server
        }
    }
}
