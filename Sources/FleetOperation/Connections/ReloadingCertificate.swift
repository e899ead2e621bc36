// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
package import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle

/// A server's certificate and key, and the authorities of its clients' certificates, read again when their files change.
///
/// Connections that are open keep theirs.
package final class ReloadingCertificate: Service {
    private struct State {
        /// What new connections open with.
        var current: (version: Int, configuration: TLSConfiguration)
        /// The files as they were when that was read.
        var seen: FileVersions
    }

    private let files: ListenerTLS
    private let logger: Logger
    private let watching: WatchLog
    private let state: Locked<State>

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - files: Where they are.
    ///   - logger: Hears when they were read again, and when they cannot be used.
    /// - Throws: ``ConfigurationError``.
    package init(_ files: ListenerTLS, logger: Logger) throws(ConfigurationError) {
        self.files = files
        self.logger = logger
        self.watching = WatchLog(logger: logger)
        // Looked at first: what is written after it is read again.
        let seen = Self.versions(files)
        self.state = Locked(State(current: (0, try Self.read(files)), seen: seen))
    }

    /// TLS 1.2 or later with what is in force now, and a number that is another when that is.
    private var current: (version: Int, configuration: TLSConfiguration) { self.state.withLock(\.current) }

    /// What connections over HTTP and gRPC open with.
    package var tls: ServerTLS { ServerTLS { self.current } }

    /// Looks at the files every two seconds, until shutdown.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                await self.watching.perform("the certificate") { try self.refresh() }
            }
        }
    }

    /// Reads the files again if they changed since what is in force was read.
    ///
    /// Ones that cannot be used are read each time, as mended permissions change neither their size nor their date.
    private func refresh() throws(ConfigurationError) {
        let seen = Self.versions(self.files)
        guard seen != self.state.withLock({ $0.seen }) else { return }
        // One file may be written before the other; what is in force stays until all fit.
        let configuration = try Self.read(self.files)
        self.state.withLock { state in
            state = State(current: (state.current.version + 1, configuration), seen: seen)
        }
        self.logger.notice("certificate read again")
    }

    private static func versions(_ files: ListenerTLS) -> FileVersions {
        FileVersions(of: [files.certificate, files.key] + [files.clients.authorities].compactMap(\.self))
    }

    private static func read(_ files: ListenerTLS) throws(ConfigurationError) -> TLSConfiguration {
        for (setting, path) in [("certificate", files.certificate), ("key", files.key)]
        where !FileManager.default.isReadableFile(atPath: path) {
            throw ConfigurationError(
                "listen.tls.\(setting): \(path) is missing or cannot be read; name a PEM file that this user "
                    + "may read.")
        }
        var configuration: TLSConfiguration
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = NIOSSLPrivateKeySource.privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
            configuration = .makeServerConfiguration(certificateChain: chain, privateKey: key)
            configuration.minimumTLSVersion = .tlsv12
            // How long a client that was told of the end may take to say so too.
            configuration.shutdownTimeout = .seconds(1)
            // Tells whether the two belong together.
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw ConfigurationError(
                "the certificate \(files.certificate) and the key \(files.key) cannot be used together: "
                    + "\(error); both must be PEM files of one pair."
            )
        }
        guard let path = files.clients.authorities else { return configuration }
        guard let authorities = try? NIOSSLCertificate.fromPEMFile(path), !authorities.isEmpty else {
            throw ConfigurationError(
                "listen.tls.client_ca: \(path) holds no certificate in PEM form; name the file of the "
                    + "authorities that sign clients' certificates.")
        }
        configuration.trustRoots = .certificates(authorities)
        if case .required = files.clients {
            configuration.certificateVerification = .noHostnameVerification
        } else {
            configuration.certificateVerification = .optionalVerification
        }
        return configuration
    }
}
