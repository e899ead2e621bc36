// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

/// Opens each connection with the certificate that is in force at the time; the client chooses HTTP/2 or HTTP/1.1.
struct TLSServerChannel: ServerChildChannel {
    typealias Value = HTTP2UpgradeChannel.Value

    private let certificate: ReloadingCertificate
    private let configuration: HTTP2UpgradeChannel.Configuration
    private let responder: HTTPChannelHandler.Responder
    private let drainLimit: Duration
    private let latest: Locked<(version: Int, channel: HTTP2UpgradeChannel)>

    /// Prepares connections.
    ///
    /// - Parameters:
    ///   - certificate: The certificate, as it is at each moment.
    ///   - configuration: The limits of connections and streams.
    ///   - drainLimit: How long streams that are open may take when the server ends.
    ///   - responder: Answers requests.
    /// - Throws: An error of TLS.
    init(
        certificate: ReloadingCertificate, configuration: HTTP2UpgradeChannel.Configuration, drainLimit: Duration,
        responder: @escaping HTTPChannelHandler.Responder
    ) throws {
        var configuration = configuration
        configuration.streamConfiguration.additionalChannelHandlers = { [HTTP2StreamReporter()] }
        let current = certificate.current
        self.certificate = certificate
        self.configuration = configuration
        self.responder = responder
        self.drainLimit = drainLimit
        self.latest = Locked(
            (
                current.version,
                try HTTP2UpgradeChannel(
                    tlsConfiguration: current.configuration, configuration: configuration, responder: responder)
            ))
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let limit = TimeAmount(self.drainLimit)
        return self.current.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            // Between TLS, which tells the protocol, and that protocol.
            let tls = try pipeline.handler(type: NIOSSLServerHandler.self)
            try pipeline.addHandler(HTTP2Drain(limit: limit), position: .after(tls))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        await self.current.handle(value: value, logger: logger)
    }

    private var current: HTTP2UpgradeChannel {
        let certificate = self.certificate.current
        return self.latest.withLock { latest in
            guard certificate.version != latest.version else { return latest.channel }
            // It was tried when it was read; should it fail all the same, the one before stays.
            let channel = try? HTTP2UpgradeChannel(
                tlsConfiguration: certificate.configuration, configuration: self.configuration,
                responder: self.responder)
            latest = (certificate.version, channel ?? latest.channel)
            return latest.channel
        }
    }
}
