// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
public import FleetSigning
import FleetTokens
public import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends a server's own requests with AsyncHTTPClient over a connection pool of its own.
///
/// Redirects are not followed, proxy variables are not read, and TLS is of version 1.2 at least. An idempotent request is
/// sent once more, within its time, where the server closed a kept connection before the answer began (RFC 9112, section
/// 9.3.1).
public final class AsyncHTTPClientTransport: UpstreamTransport {
    /// How long a connection may take to come about.
    private static let connectLimit = Duration.seconds(5)

    private let client: HTTPClient
    private let authorities: String?

    /// Makes a transport; its connections close when it is no longer used.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The most connections to one host over HTTP/1.1 that are kept open for further requests,
    ///     which wait for one of them where all are busy; at least 1. `nil` leaves it to AsyncHTTPClient.
    ///   - authorities: A file of certificates in PEM that are trusted in place of the system's authorities; by default
    ///     the one that `SSL_CERT_FILE` names, as with OpenSSL. `nil` and an empty path leave the system's.
    public init(
        connectionsPerHost: Int? = nil,
        authorities: String? = ProcessInfo.processInfo.environment["SSL_CERT_FILE"]
    ) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(Self.connectLimit)
        // A refused connection is an answer; whoever sends decides whether to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        if let connectionsPerHost {
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
        }
        configuration.tlsConfiguration = Self.tls(trusting: authorities)
        self.authorities = authorities
        self.client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    deinit {
        // A client that is let go without this stops the process; the call keeps it alive until it is closed.
        self.client.shutdown { _ in }
    }

    /// Why the authorities in a file cannot be trusted, as no server is over TLS then; `nil` where they can, or without a file.
    package static func problem(ofAuthorities file: String?) -> String? {
        guard let file, !file.isEmpty else { return nil }
        do {
            _ = try NIOSSLContext(configuration: self.tls(trusting: file))
            return nil
        } catch {
            return "\(file), which SSL_CERT_FILE names, is not there, may not be read or has no certificate in PEM"
        }
    }

    private static func tls(trusting authorities: String?) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // Earlier versions must not be used any more (RFC 8996).
        configuration.minimumTLSVersion = .tlsv12
        configuration.verifySignatureAlgorithms = TLSSignatures.accepted.map(SignatureAlgorithm.init(rawValue:))
        // BoringSSL's own, and P-521: with TLS 1.2 they are also the curves that a server's certificate may be of.
        configuration.curves = [.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1, .secp521r1]
        if let authorities, !authorities.isEmpty { configuration.trustRoots = .file(authorities) }
        return configuration
    }

    /// Sends a request and waits for the whole answer.
    ///
    /// - Parameter request: What to send.
    /// - Returns: The answer; one outside of 2xx whose body is too long, or does not come in full, with an empty one.
    /// - Throws: `UpstreamError`; `CancellationError`.
    public func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let refusal = Locked<UpstreamResponse?>(nil)
        do {
            return try await self.answer(to: request) { head in refusal.withLock { $0 = head } }
        } catch {
            guard !(error is CancellationError), let head = refusal.withLock({ $0 }) else { throw error }
            return head
        }
    }

    /// Sends a request and waits for the whole answer; `onRefusal` gets the head of one outside of 2xx before.
    private func answer(
        to request: UpstreamRequest, onRefusal: @escaping @Sendable (UpstreamResponse) -> Void
    ) async throws -> UpstreamResponse {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        // Servers that turn away whoever does not say what it is are not rare.
        if !outgoing.headers.contains(name: "User-Agent") {
            outgoing.headers.add(name: "User-Agent", value: "fleetpass")
        }
        if let body = request.body { outgoing.body = .bytes(body) }
        do {
            // The client's own limit ends with the answer's head.
            return try await TimeSource(clock: ContinuousClock()).withLimit(
                request.timeout, orThrow: UpstreamError(.timedOut)
            ) {
                [outgoing] in
                let response = try await self.begin(outgoing, of: request)
                var answer = UpstreamResponse(
                    status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) })
                if !(200..<300).contains(answer.status) { onRefusal(answer) }
                let body = try await response.body.collect(upTo: request.maximumBytes)
                answer.body = Array(body.readableBytesView)
                return answer
            }
        } catch let error as UpstreamError {
            throw error
        } catch let error as HTTPClientError where error == .connectTimeout {
            throw UpstreamError(
                .timedOut, detail: "no connection within \(min(request.timeout, Self.connectLimit))")
        } catch let error as HTTPClientError where [.deadlineExceeded, .readTimeout].contains(error) {
            throw UpstreamError(.timedOut)
        } catch is NIOTooManyBytesError {
            throw UpstreamError(.answerTooLong, detail: "more than \(request.maximumBytes) bytes")
        } catch {
            if Task.isCancelled { throw CancellationError() }
            let isSecure = request.url.lowercased().hasPrefix("https:")
            let detail = Self.detail(of: error, overTLS: isSecure)
            // What TLS begins with failed, which has many forms.
            guard detail == nil || detail == Self.failedTLS, isSecure else {
                throw UpstreamError(.unreachable, detail: detail)
            }
            throw UpstreamError(
                .unreachable, detail: Self.problem(ofAuthorities: self.authorities) ?? detail)
        }
    }

    /// Sends a request, and waits for the head of its answer.
    private func begin(_ outgoing: HTTPClientRequest, of request: UpstreamRequest) async throws -> HTTPClientResponse {
        let limit = TimeAmount(request.timeout.waitable)
        do {
            return try await self.client.execute(outgoing, timeout: limit)
        } catch let error where request.isIdempotent && Self.isClosing(error) {
            return try await self.client.execute(outgoing, timeout: limit)
        }
    }

    /// Whether an error says that the server closed the connection, as it may at any time while nothing is under way.
    private static func isClosing(_ error: any Error) -> Bool {
        if let error = error as? HTTPClientError { return error == .remoteConnectionClosed }
        return [ECONNRESET, EPIPE].contains((error as? IOError)?.errnoCode)
    }

    private static let failedTLS = "TLS failed"

    /// What is known of a connection that failed.
    private static func detail(of error: any Error, overTLS isSecure: Bool) -> String? {
        let attempts = (error as? NIOConnectionError)?.connectionErrors.map(\.error)
        if (attempts ?? [error]).contains(where: { ($0 as? IOError)?.errnoCode == ECONNREFUSED }) {
            return "the connection was refused"
        }
        if attempts?.isEmpty == true { return "the name of its host is not known here" }
        switch error {
        case NIOSSLError.handshakeFailed(let error) where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            return "its certificate is not trusted here, as where it has ended, the system's authorities are not "
                + "installed, or SSL_CERT_FILE does not have the one that signed it"
        case NIOSSLError.handshakeFailed(let error) where "\(error)".contains("WRONG_VERSION_NUMBER"):
            return "it does not speak TLS, as on a port for plain HTTP"
        case NIOSSLError.handshakeFailed(let error) where "\(error)".contains("PROTOCOL_VERSION"):
            return "it speaks no TLS of version 1.2 or later"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return "its certificate is not for this name or address"
        case is NIOSSLError, is NIOSSLExtraError: return self.failedTLS
        // The server's refusal comes after the handshake; over HTTP/2 no more is heard of it than that it closed.
        case let error as BoringSSLError where "\(error)".contains("ALERT_CERTIFICATE_REQUIRED"):
            return "it wants a certificate of its client, which shows none"
        case _ where isSecure && self.isClosing(error):
            return "it closed the connection before it had answered, as where it wants a certificate of its client"
        default: return nil
        }
    }
}
