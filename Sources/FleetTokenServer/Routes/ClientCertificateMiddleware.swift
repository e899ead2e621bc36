// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import Hummingbird
import NIOCore
import NIOSSL

/// Tells the routes which certificate the client opened its connection with, which TLS has verified.
///
/// A connection whose certificate is not valid any more ends after the answer, so that the client opens another with the
/// one that has taken its place.
public struct ClientCertificateMiddleware: RouterMiddleware {
    private let now: @Sendable () -> Date

    /// Makes the middleware.
    ///
    /// - Parameter now: The clock that certificates are judged by.
    public init(now: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
    }

    /// Notes the certificate, and goes on.
    @concurrent public func handle(
        _ request: Request, context: CallerRequestContext,
        next: @concurrent (Request, CallerRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if let (certificate, connection) = await Self.certificate(of: context.channel) {
            context.clientCertificate = certificate
            if self.now() > certificate.notAfter {
                connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
        }
        return try await next(request, context)
    }

    /// The certificate of a connection, or of the connection that a stream belongs to, and that connection.
    @concurrent private static func certificate(
        of channel: any Channel
    ) async -> (certificate: ClientCertificate, connection: any Channel)? {
        for channel in [channel, channel.parent].compactMap(\.self) {
            // One that cannot be read names nobody, and who has no other credential is refused.
            if let certificate = try? await channel.nioSSL_peerCertificate().get(),
                let der = try? certificate.toDERBytes()
            {
                return (try? ClientCertificate(der: der)).map { ($0, channel) }
            }
        }
        return nil
    }
}
