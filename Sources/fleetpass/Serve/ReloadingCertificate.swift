// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle

/// A certificate and its key, read again when their files change; connections that are open keep theirs.
final class ReloadingCertificate: Service {
    private struct State {
        var chain: [NIOSSLCertificateSource]
        var key: NIOSSLPrivateKeySource
        var written: [Date?]
    }

    private let files: TokenServerConfiguration.TLSFiles
    private let clients: TokenServerConfiguration.ClientCertificates
    private let logger: Logger
    private let state: Locked<State>

    init(
        _ files: TokenServerConfiguration.TLSFiles, clients: TokenServerConfiguration.ClientCertificates = .none,
        logger: Logger
    ) throws {
        if let authorities = clients.authorities {
            guard let known = try? NIOSSLCertificate.fromPEMFile(authorities), !known.isEmpty else {
                throw CommandFailure(
                    status: .configuration,
                    message:
                        "listen.tls.client_ca: \(authorities) holds no certificate in PEM form; name the file of the "
                        + "authorities that sign clients' certificates.")
            }
        }
        self.files = files
        self.clients = clients
        self.logger = logger
        self.state = Locked(try Self.read(files))
    }

    /// TLS 1.2 or later, with the certificate as it is when a connection opens.
    var configuration: TLSConfiguration {
        let current = self.state.withLock { $0 }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: current.chain, privateKey: current.key)
        configuration.minimumTLSVersion = .tlsv12
        switch self.clients {
        case .none: break
        case .optional(let authorities):
            configuration.certificateVerification = .optionalVerification
            configuration.trustRoots = .file(authorities)
        case .required(let authorities):
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .file(authorities)
        }
        configuration.sslContextCallback = { _, promise in
            let current = self.state.withLock { $0 }
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = current.chain
            override.privateKey = current.key
            promise.succeed(override)
        }
        return configuration
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                self.refresh()
            }
        }
    }

    private func refresh() {
        guard Self.written(self.files) != self.state.withLock(\.written) else { return }
        do {
            let state = try Self.read(self.files)
            self.state.withLock { $0 = state }
            self.logger.notice("certificate read again")
        } catch {
            // One file may be written before the other; the pair in force stays until both fit.
            self.logger.error("the certificate in force stays", metadata: ["error": "\(error)"])
        }
    }

    private static func written(_ files: TokenServerConfiguration.TLSFiles) -> [Date?] {
        [files.certificate, files.key].map { path in
            try? URL(filePath: path).resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
        }
    }

    private static func read(_ files: TokenServerConfiguration.TLSFiles) throws -> State {
        do {
            // Looked at first: what is written after it is read again.
            let written = Self.written(files)
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = NIOSSLPrivateKeySource.privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
            // Tells whether the two belong together.
            _ = try NIOSSLContext(configuration: .makeServerConfiguration(certificateChain: chain, privateKey: key))
            return State(chain: chain, key: key, written: written)
        } catch {
            throw CommandFailure(
                status: .configuration,
                message: "the certificate \(files.certificate) and the key \(files.key) cannot be used together: "
                    + "\(error); both must be PEM files of one pair."
            )
        }
    }
}
