// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Hummingbird
import NIOCore
import NIOSSL

/// Tells the routes which certificate the client opened its connection with, which TLS has verified.
public struct ClientCertificateMiddleware: RouterMiddleware {
    /// Makes the middleware.
    public init() {}

    /// Notes the certificate, and goes on.
    @concurrent public func handle(
        _ request: Request, context: CallerRequestContext,
        next: @concurrent (Request, CallerRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.clientCertificate = await Self.certificate(of: context.channel)
        return try await next(request, context)
    }

    /// The certificate of a connection, or of the connection that a stream belongs to.
    @concurrent private static func certificate(of channel: any Channel) async -> ClientCertificate? {
        for channel in [channel, channel.parent].compactMap(\.self) {
            // One that cannot be read names nobody, and who has no other credential is refused.
            if let certificate = try? await channel.nioSSL_peerCertificate().get(),
                let der = try? certificate.toDERBytes()
            {
                return try? ClientCertificate(der: der)
            }
        }
        return nil
    }
}
