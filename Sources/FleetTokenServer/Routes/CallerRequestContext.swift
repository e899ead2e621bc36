// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Hummingbird
public import NIOCore

/// A request's context that knows the connection's other end, as authenticators and limits need it.
public struct CallerRequestContext: RequestContext, RemoteAddressRequestContext, ForwardedAddressRequestContext,
    ClientCertificateRequestContext
{
    /// What every context holds.
    public var coreContext: CoreRequestContextStorage
    /// The connection's other end.
    public let remoteAddress: SocketAddress?
    /// The channel of the connection, or of one stream of it.
    public let channel: any Channel
    /// The address for which a listed proxy opened the connection, which ``ForwardedAddressMiddleware`` fills in.
    public var forwardedAddress: String?
    /// The client's certificate, which whoever adds middleware that knows the server's TLS fills in.
    public var clientCertificate: ClientCertificate?

    /// Makes the context of a request.
    public init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.remoteAddress = source.channel.remoteAddress
        self.channel = source.channel
    }
}

/// A request's context that knows for whom a proxy asks.
public protocol ForwardedAddressRequestContext {
    /// The IP address for which a listed proxy opened the connection, or `nil` where none did.
    var forwardedAddress: String? { get }
}

/// A request's context that holds the client's certificate, which TLS verified.
public protocol ClientCertificateRequestContext {
    /// The certificate, or `nil` where the client showed none.
    var clientCertificate: ClientCertificate? { get }
}

extension CallerRequest {
    /// What a request to a server says of its sender.
    init(_ request: Request, _ context: some RequestContext) {
        self.init(
            headers: request.headers,
            peerAddress: (context as? any RemoteAddressRequestContext)?.remoteAddress?.ipAddress,
            forwardedAddress: (context as? any ForwardedAddressRequestContext)?.forwardedAddress,
            clientCertificate: (context as? any ClientCertificateRequestContext)?.clientCertificate
        )
    }
}
