// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation
public import HTTPTypes

/// What a request says of the one who sent it.
public struct CallerRequest: Sendable {
    /// The header fields.
    public var headers: HTTPFields
    /// The IP address that the connection comes from, or `nil` where it is not known; never taken from a header.
    public var peerAddress: String?
    /// The IP address for which a listed proxy opened the connection; `nil` where none did.
    public var forwardedAddress: String?
    /// The client's certificate, where the server asked for one and TLS verified it.
    public var clientCertificate: ClientCertificate?

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - headers: The header fields.
    ///   - peerAddress: The IP address that the connection comes from.
    ///   - forwardedAddress: The IP address for which a listed proxy opened the connection.
    ///   - clientCertificate: The client's certificate, if TLS verified one.
    public init(
        headers: HTTPFields, peerAddress: String? = nil, forwardedAddress: String? = nil,
        clientCertificate: ClientCertificate? = nil
    ) {
        self.headers = headers
        self.peerAddress = peerAddress
        self.forwardedAddress = forwardedAddress
        self.clientCertificate = clientCertificate
    }

    /// The IP address that the request comes from, as far as it is known.
    public var clientAddress: String? { self.forwardedAddress ?? self.peerAddress }

    /// The bearer credential, a secret, or `nil` where there is none.
    public var bearer: String? {
        guard let credential = self.headers[.authorization].flatMap(BearerScheme.credential),
            !BearerScheme.isDivided(credential)
        else { return nil }
        return String(credential)
    }
}

/// What a verified client certificate says of its holder.
public struct ClientCertificate: Hashable, Sendable {
    /// The URIs among its alternative names, such as a SPIFFE id.
    public var uris: [String]
    /// The DNS names among its alternative names.
    public var dnsNames: [String]
    /// Its whole subject as RFC 4514 writes it, such as `CN=dispatch,O=Acme`; `nil` where it is empty.
    public var subject: String?
    /// SHA-256 of its DER form, in lower-case hexadecimal digits.
    public var fingerprint: String
    /// When it becomes valid.
    public var notBefore: Date
    /// Until when it is valid.
    public var notAfter: Date

    /// Describes a certificate.
    ///
    /// - Parameters:
    ///   - uris: The URIs among its alternative names.
    ///   - dnsNames: The DNS names among its alternative names.
    ///   - subject: Its whole subject as RFC 4514 writes it.
    ///   - fingerprint: SHA-256 of its DER form, in lower-case hexadecimal digits.
    ///   - notBefore: When it becomes valid.
    ///   - notAfter: Until when it is valid.
    public init(
        uris: [String] = [], dnsNames: [String] = [], subject: String? = nil, fingerprint: String,
        notBefore: Date = .distantPast, notAfter: Date = .distantFuture
    ) {
        self.uris = uris
        self.dnsNames = dnsNames
        self.subject = subject
        self.fingerprint = fingerprint
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// What it may be known by, to be told to who configures callers.
    var shown: String {
        func list(_ name: String, _ values: [String]) -> [String] {
            values.prefix(4).map { "\(name) \(UserToken.shown($0))" }
        }
        return
            (list("subject", [self.subject].compactMap(\.self)) + list("uri", self.uris)
            + list("dns_name", self.dnsNames) + ["fingerprint \(self.fingerprint)"]).joined(separator: ", ")
    }
}
