// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Foundation
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization

/// A certificate and its key, read again when their files change; connections that are open keep theirs.
final class ReloadingCertificate: Service {
    private struct State {
        var override: NIOSSLContextConfigurationOverride
        var written: [Date?]
    }

    private let files: TokenServerConfiguration.TLSFiles
    private let logger: Logger
    private let state: Mutex<State>

    init(_ files: TokenServerConfiguration.TLSFiles, logger: Logger) throws {
        self.files = files
        self.logger = logger
        self.state = Mutex(State(override: try Self.read(files), written: Self.written(files)))
    }

    /// TLS 1.2 or later, with the certificate as it is when a connection opens.
    var configuration: TLSConfiguration {
        let current = self.state.withLock(\.override)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: current.certificateChain ?? [],
            privateKey: current.privateKey ?? .file(self.files.key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.sslContextCallback = { _, promise in
            promise.succeed(self.state.withLock(\.override))
        }
        return configuration
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                self.refresh()
            }
        }
    }

    private func refresh() {
        let written = Self.written(self.files)
        guard written != self.state.withLock(\.written) else { return }
        do {
            let override = try Self.read(self.files)
            self.state.withLock { $0 = State(override: override, written: written) }
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

    private static func read(_ files: TokenServerConfiguration.TLSFiles) throws -> NIOSSLContextConfigurationOverride {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            // Tells whether the two belong together.
            _ = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = chain.map { .certificate($0) }
            override.privateKey = .privateKey(key)
            return override
        } catch {
            throw CommandFailure(
                status: .configuration,
                message: "the certificate \(files.certificate) and the key \(files.key) cannot be used together: "
                    + "\(error); both must be PEM files of one pair."
            )
        }
    }
}
