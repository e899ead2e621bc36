// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import GRPCCore

/// Attaches a token to every call of a gRPC client, as metadata `authorization: Bearer TOKEN`.
///
/// The token is asked for before each attempt, so keep it where that is cheap; ``MintedTokenSource`` does. When the
/// engine does not accept it, the source hears of it. An interceptor cannot send a call again, so it is gRPC that does,
/// with another token, when the transport has ``sendingOnceMore`` as its service configuration. A call that carries an
/// authorization of its own goes out unchanged. Use it on connections with TLS, or to this machine: whoever reads the
/// connection can use the token.
///
/// ```swift
/// let transport = try HTTP2ClientTransport.Posix(
///     target: .dns(host: "fleetengine.googleapis.com"), transportSecurity: .tls,
///     serviceConfig: FleetTokenInterceptor.sendingOnceMore)
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

    /// Lets gRPC send a call once more, 10 ms to 0.1 s later, after `UNAUTHENTICATED`.
    ///
    /// The engine refuses a token before it looks at the call, so that no call happens twice. To have other errors
    /// tried again too, add their codes to a retry policy of your own.
    public static let sendingOnceMore = ServiceConfig(methodConfig: [
        MethodConfig(
            names: [MethodConfig.Name(service: "")],
            executionPolicy: .retry(
                RetryPolicy(
                    maxAttempts: 2, initialBackoff: .milliseconds(10), maxBackoff: .milliseconds(100),
                    backoffMultiplier: 1, retryableStatusCodes: [.unauthenticated])))
    ])

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
        var request = request
        request.metadata.addString(token.authorizationHeader, forKey: "authorization")
        let response = try await next(request, context)
        if case .failure(let error) = response.accepted, error.code == .unauthenticated {
            self.tokens.discard(token, for: method, on: nil)
        }
        return response
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
