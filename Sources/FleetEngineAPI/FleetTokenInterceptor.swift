// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import GRPCCore

/// Attaches a token to every call of a gRPC client, as metadata `authorization: Bearer TOKEN`.
///
/// The token is asked for before each call, so keep it where that is cheap; `RoleSigners` does. A call that carries an
/// authorization of its own goes out unchanged. Use it on connections with TLS, or to this machine: whoever reads the
/// connection can use the token.
///
/// ```swift
/// let tokens = FleetTokenInterceptor { method in
///     try await signers.mint(method.isDelivery ? .deliveryServer : .server).token
/// }
/// try await withGRPCClient(transport: transport, interceptors: [tokens]) { client in
///     let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: client)
/// }
/// ```
public struct FleetTokenInterceptor: ClientInterceptor {
    private let token: @Sendable (FleetMethod) async throws -> FleetToken

    /// Makes an interceptor.
    ///
    /// - Parameter token: Gives the token for a call of this method; what it throws ends the call as `UNAUTHENTICATED`.
    public init(token: @escaping @Sendable (FleetMethod) async throws -> FleetToken) {
        self.token = token
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
        var request = request
        do {
            request.metadata.addString(try await self.token(method).authorizationHeader, forKey: "authorization")
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RPCError(
                code: .unauthenticated,
                message: "There is no token for \(method.name), so the call was not sent; the cause says why.",
                cause: error
            )
        }
        return try await next(request, context)
    }
}
