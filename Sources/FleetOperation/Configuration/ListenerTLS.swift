// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A server's certificate, and what its clients must show of themselves.
public struct ListenerTLS: Hashable, Sendable {
    /// What clients must show of themselves when they open a TLS connection.
    public enum ClientCertificates: Hashable, Sendable {
        /// Nothing.
        case none
        /// A certificate that one of a file's authorities signed, where they have one.
        case optional(authorities: String)
        /// A certificate that one of a file's authorities signed; others get no connection.
        case required(authorities: String)

        /// The file of the authorities, if any.
        public var authorities: String? {
            switch self {
            case .none: nil
            case .optional(let file), .required(let file): file
            }
        }
    }

    /// The certificate chain's file, in PEM form.
    public var certificate: String
    /// The private key's file, in PEM form.
    public var key: String
    /// What clients must show.
    public var clients: ClientCertificates

    /// Names the files.
    public init(certificate: String, key: String, clients: ClientCertificates = .none) {
        self.certificate = certificate
        self.key = key
        self.clients = clients
    }

    /// Reads the section `listen.tls`, which has the options of ``ConfigurationOption/tls(use:)``.
    ///
    /// - Parameters:
    ///   - values: The configuration.
    ///   - folder: The folder that relative paths start at.
    ///   - host: The address that is listened on.
    ///   - purpose: What must not travel in the clear, for the message.
    /// - Returns: The files; `nil` without TLS.
    /// - Throws: ``ConfigurationError``, also where other machines would reach the host without TLS.
    package static func read(
        in values: ConfigurationValues, folder: URL, host: String, protecting purpose: String
    ) throws(ConfigurationError) -> ListenerTLS? {
        let authorities = values.file("listen.tls.client_ca", in: folder)
        let isRequired = values["listen.tls.client_certificate"] == "required"
        guard authorities != nil || !isRequired else {
            throw ConfigurationError(
                "listen.tls.client_certificate is required, but listen.tls.client_ca, which tells whose, is missing; set "
                    + "it to the file of the authorities that sign them, or leave client_certificate out.")
        }
        switch (values.file("listen.tls.certificate", in: folder), values.file("listen.tls.key", in: folder)) {
        case (let certificate?, let key?):
            guard let authorities else { return ListenerTLS(certificate: certificate, key: key) }
            let clients: ClientCertificates =
                isRequired ? .required(authorities: authorities) : .optional(authorities: authorities)
            return ListenerTLS(certificate: certificate, key: key, clients: clients)
        case (nil, nil):
            guard authorities == nil else {
                throw ConfigurationError(
                    "listen.tls.client_ca needs a server with TLS; set listen.tls.certificate and listen.tls.key.")
            }
            guard AddressRange.isAddress(host) else {
                throw ConfigurationError(
                    "listen.host is \(host.prefix(64)), which may be any machine's address, and \(purpose) would travel "
                        + "in the clear; set listen.tls, or write 127.0.0.1 or ::1 for this machine alone.")
            }
            guard LoopbackAddress.isLoopback(host) else {
                throw ConfigurationError(
                    "\(host) can be reached by other machines, and \(purpose) would travel in the clear; "
                        + "set listen.tls, or listen on 127.0.0.1 behind a proxy that ends TLS.")
            }
            return nil
        default:
            throw ConfigurationError("listen.tls takes both certificate and key, or neither.")
        }
    }
}
