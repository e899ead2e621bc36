// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import GRPCCore

/// Attaches a token to every call of a gRPC client, as metadata `authorization: Bearer TOKEN`.
///
/// The token is asked for before each call, so keep it where that is cheap; ``MintedTokenSource`` does. When the engine
/// does not accept it, the source hears of it and the call is sent once more, if there is another token by then. A call
/// that carries an authorization of its own goes out unchanged. Use it on connections with TLS, or to this machine:
/// whoever reads the connection can use the token.
///
/// ```swift
/// let tokens = FleetTokenInterceptor(MintedTokenSource(signers))
/// try await withGRPCClient(transport: transport, interceptors: [tokens]) { client in
///     let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: client)
/// }
/// ```
public struct FleetTokenInterceptor: ClientInterceptor {
    private struct Closure: FleetTokenSource {
        let token: @Sendable (FleetMethod) async throws -> FleetToken

        func token(for method: FleetMethod, on resource: ResourceName?) async throws -> FleetToken {
            try await self.token(method)
        }

        func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?) {}
    }

    private let tokens: any FleetTokenSource

    /// Makes an interceptor.
    ///
    /// - Parameter tokens: Where tokens come from; what it throws ends the call as `UNAUTHENTICATED`.
    public init(_ tokens: some FleetTokenSource) {
        self.tokens = tokens
    }

    /// Makes an interceptor.
    ///
    /// - Parameter token: Gives the token for a call of this method; what it throws ends the call as `UNAUTHENTICATED`.
    public init(token: @escaping @Sendable (FleetMethod) async throws -> FleetToken) {
        self.init(Closure(token: token))
    }

    /// Attaches the token and passes the call on; calls to other services go out unchanged.
    ///
    /// - Parameters:
    ///   - request: The call.
    ///   - context: What is called.
    ///   - next: What comes after.
    /// - Returns: The answer.
    /// - Throws: `RPCError` with `unauthenticated` when there is no token, `CancellationError`, or what follows throws.
    @concurrent
    public func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingClientRequest<Input>,
        context: ClientContext,
        next: @concurrent (StreamingClientRequest<Input>, ClientContext) async throws -> StreamingClientResponse<Output>
    ) async throws -> StreamingClientResponse<Output> {
        guard let method = FleetMethod(rawValue: context.descriptor.fullyQualifiedMethod),
            !request.metadata.contains(where: { $0.key.lowercased() == "authorization" })
        else { return try await next(request, context) }
        let token = try await self.token(for: method)
        var first = request
        first.metadata.addString(token.authorizationHeader, forKey: "authorization")
        let response = try await next(first, context)
        guard case .failure(let error) = response.accepted, error.code == .unauthenticated else { return response }
        self.tokens.discard(token, for: method, on: nil)
        let other = try? await self.token(for: method)
        try Task.checkCancellation()
        // Without another token, the engine's refusal says more than the lack of one.
        guard let other, other != token else { return response }
        var second = request
        second.metadata.addString(other.authorizationHeader, forKey: "authorization")
        return try await next(second, context)
    }

    private func token(for method: FleetMethod) async throws -> FleetToken {
        do {
            return try await self.tokens.token(for: method, on: nil)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RPCError(
                code: .unauthenticated,
                message: "There is no token for \(method.name), so the call was not sent; the cause says why.",
                cause: error
            )
        }
    }
}
