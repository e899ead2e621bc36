// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension ConfigurationOption {
    /// The settings of TLS.
    ///
    /// - Parameter use: What clients' certificates are for, in the words of the reference.
    /// - Returns: The settings below `listen.tls`.
    package static func tls(use: String) -> [Self] {
        [
            .init(
                path: "listen.tls.certificate", kind: .path, standard: nil,
                help: "The certificate chain in PEM form, the server's own first. Without TLS, only an address of this "
                    + "machine is listened on. The files are read again when they change."),
            .init(
                path: "listen.tls.key", kind: .path, standard: nil,
                help: "The private key of the certificate in PEM form, not encrypted."),
            .init(
                path: "listen.tls.client_ca", kind: .path, standard: nil,
                help: "The authorities that sign clients' certificates, up to the root, in PEM form. \(use) Read again "
                    + "when it changes."),
            .init(
                path: "listen.tls.client_certificate", kind: .choice(["optional", "required"]), standard: "optional",
                help: "Whether a client without a certificate gets a connection; used with `listen.tls.client_ca`."),
        ]
    }

    /// The settings of what a client may use up.
    package static let connectionLimits: [Self] = [
        .init(
            path: "limits.connections", kind: .number(1...1_000_000), standard: "10000",
            help:
                "Connections at once, for each port; more wait until one ends. Fewer where the system lets the process "
                + "open fewer files, which the log tells at the start."),
        .init(
            path: "limits.header_bytes", kind: .number(1024...1_048_576), standard: "32768",
            help:
                "All header fields of a request over HTTP/1.1 together, in bytes; over HTTP/2, gRPC too, always 16384."),
        .init(
            path: "limits.header_fields", kind: .number(8...1000), standard: "100",
            help: "Header fields of a request over HTTP/1.1; over HTTP/2 their bytes are limited alone."),
        .init(
            path: "limits.idle", kind: .duration, standard: "75s",
            help: "A connection over HTTP that has had no whole request for so long is closed."),
        .init(
            path: "limits.drain", kind: .duration, standard: "25s",
            help:
                "When the server is told to end, requests that are under way may take so long and are then cut off; connections "
                + "without any are closed within a second or so."),
        .init(
            path: "limits.request", kind: .duration, standard: "30s",
            help:
                "How long a client may take for the TLS handshake, for the head of its first request, and then for each "
                + "request up to its end. A client that reads nothing of its answer for so long is cut off."),
    ]

    /// The settings of the log.
    package static let log: [Self] = [
        .init(
            path: "log.level", kind: .choice(["debug", "info", "warning", "error"]), standard: "info",
            help: "What is logged to stderr."),
        .init(
            path: "log.format", kind: .choice(["text", "json"]), standard: "text",
            help: "`json` gives one object on each line, once the configuration was read."),
    ]
}
