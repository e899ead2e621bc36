// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
package import Foundation
package import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle

/// A server's certificate and key, and the authorities of its clients' certificates, read again when their files change.
///
/// Connections that are open keep theirs. One that is not valid, or not for long, is used, and told.
package final class ReloadingCertificate: Service {
    private struct State {
        /// What new connections open with.
        var current: (version: Int, configuration: TLSConfiguration)
        /// How long that is valid.
        var validity: CertificateValidity
        /// The files as they were when that was read.
        var seen: FileVersions
        /// What was wrong with it when it was looked at last.
        var told: CertificateValidity.Fault?
    }

    private let files: ListenerTLS
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let watching: WatchLog
    private let state: Locked<State>

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - files: Where they are.
    ///   - now: The clock.
    ///   - logger: Hears when they were read again, when they cannot be used, and when the certificate is not valid.
    /// - Throws: ``ConfigurationError``.
    package init(
        _ files: ListenerTLS, now: @escaping @Sendable () -> Date = { Date() }, logger: Logger
    ) throws(ConfigurationError) {
        self.files = files
        self.now = now
        self.logger = logger
        self.watching = WatchLog(logger: logger)
        // Looked at first: what is written after it is read again.
        let seen = Self.versions(files)
        let (configuration, validity) = try Self.read(files)
        self.state = Locked(State(current: (0, configuration), validity: validity, seen: seen))
        self.tell()
    }

    /// How long a server's certificate is valid.
    ///
    /// - Parameter files: The files, which must be of use to a server.
    /// - Returns: Since when and how long, by the files as they are now.
    /// - Throws: ``ConfigurationError``.
    package static func validity(of files: ListenerTLS) throws(ConfigurationError) -> CertificateValidity {
        try self.read(files).validity
    }

    /// TLS 1.2 or later with what is in force now, and a number that is another when that is.
    private var current: (version: Int, configuration: TLSConfiguration) { self.state.withLock(\.current) }

    /// What connections over HTTP and gRPC open with.
    package var tls: ServerTLS { ServerTLS { self.current } }

    private static let reading = "reading the certificate"

    /// When what is in force ends, and whether it is still the one before, in the Prometheus text format.
    package var metrics: String {
        var family = MetricFamily(
            "fleetpass_certificate_expiry_timestamp_seconds", .gauge,
            help: "When the first certificate of the chain in force ends, in Unix seconds.")
        family.set(self.state.withLock(\.validity.end).timeIntervalSince1970)
        var failing = MetricFamily(
            "fleetpass_certificate_reload_failing", .gauge,
            help: "Whether the certificate's files changed and could not be used; the one before stays in force then.")
        failing.set(self.watching.problem(of: Self.reading) == nil ? 0 : 1)
        return family.text + failing.text
    }

    /// Looks at the files every two seconds, until shutdown.
    package func run() async throws {
        await untilShutdown(waitingFirst: true) {
            await self.watching.perform(Self.reading) { try self.refresh() }
        }
    }

    /// Reads the files again if they changed since what is in force was read.
    ///
    /// Ones that cannot be used are read each time, as mended permissions change neither their size nor their date.
    func refresh() throws(ConfigurationError) {
        defer { self.tell() }
        let seen = Self.versions(self.files)
        guard seen != self.state.withLock({ $0.seen }) else { return }
        // One file may be written before the other; what is in force stays until all fit.
        let (configuration, validity) = try Self.read(self.files)
        self.state.withLock { state in
            state = State(current: (state.current.version + 1, configuration), validity: validity, seen: seen)
        }
        self.logger.notice("certificate read again")
    }

    /// Tells what is wrong with how long the certificate in force is valid, each thing once.
    private func tell() {
        let now = self.now()
        let fault = self.state.withLock { state -> CertificateValidity.Fault? in
            let fault = state.validity.fault(at: now)
            defer { state.told = fault }
            return fault == state.told ? nil : fault
        }
        guard let fault else { return }
        self.logger.warning(
            "clients may not take the certificate", metadata: ["problem": "\(fault.problem)", "next": "\(fault.next)"])
    }

    private static func versions(_ files: ListenerTLS) -> FileVersions {
        FileVersions(of: [files.certificate, files.key] + [files.clients.authorities].compactMap(\.self))
    }

    private static func read(
        _ files: ListenerTLS
    ) throws(ConfigurationError) -> (configuration: TLSConfiguration, validity: CertificateValidity) {
        for (setting, path) in [("certificate", files.certificate), ("key", files.key)]
        where !FileManager.default.isReadableFile(atPath: path) {
            throw ConfigurationError(
                "listen.tls.\(setting): \(path) is missing or cannot be read; name a PEM file that this user "
                    + "may read.")
        }
        var configuration: TLSConfiguration
        let validity: CertificateValidity
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            validity = CertificateValidity(of: chain, in: files.certificate)
            let key = NIOSSLPrivateKeySource.privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
            configuration = .makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: key)
            configuration.minimumTLSVersion = .tlsv12
            // How long a client that was told of the end may take to say so too.
            configuration.shutdownTimeout = .seconds(1)
            // Tells whether the two belong together.
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw self.fault(of: files, error)
        }
        guard let path = files.clients.authorities else { return (configuration, validity) }
        configuration.trustRoots = .certificates(try ClientAuthorities.read(from: path))
        configuration.verifySignatureAlgorithms = TLSSignatures.accepted.map(SignatureAlgorithm.init(rawValue:))
        if case .required = files.clients {
            configuration.certificateVerification = .noHostnameVerification
        } else {
            configuration.certificateVerification = .optionalVerification
        }
        return (configuration, validity)
    }

    /// Why a certificate and a key cannot be used together.
    private static func fault(of files: ListenerTLS, _ error: any Error) -> ConfigurationError {
        if let text = try? String(contentsOfFile: files.key, encoding: .utf8), text.contains("ENCRYPTED") {
            return ConfigurationError(
                "listen.tls.key: \(files.key) is encrypted, and nobody is asked for a passphrase; write it without one, "
                    + "openssl pkey -in \(files.key) -out FILE, and name that file.")
        }
        if let own = self.ownCertificate(of: files), own > 0 {
            return ConfigurationError(
                "listen.tls.certificate: in \(files.certificate), the server's own certificate must stand first, and those "
                    + "that signed it behind; the key \(files.key) fits the one at place \(own + 1).")
        }
        return ConfigurationError(
            "the certificate \(files.certificate) and the key \(files.key) cannot be used together: "
                + "\(error); both must be PEM files of one pair.")
    }

    /// Where in the chain, from 0 on, the certificate of the key is.
    private static func ownCertificate(of files: ListenerTLS) -> Int? {
        guard let key = try? NIOSSLPrivateKey(file: files.key, format: .pem) else { return nil }
        return try? NIOSSLCertificate.fromPEMFile(files.certificate).firstIndex { certificate in
            let configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
            return (try? NIOSSLContext(configuration: configuration)) != nil
        }
    }
}
