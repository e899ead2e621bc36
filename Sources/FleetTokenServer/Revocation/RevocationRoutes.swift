// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore

/// `/.well-known/revocations`, a signed list for engines elsewhere, and `/.well-known/revocations/jwks.json`, its key.
///
/// Neither is secret: a fingerprint opens nothing.
public struct RevocationRoutes: Sendable {
    private let publisher: RevocationPublisher

    /// Makes the routes.
    ///
    /// - Parameter publisher: Signs the list.
    public init(_ publisher: RevocationPublisher) {
        self.publisher = publisher
    }

    /// Adds the routes to a router.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.readResource("/.well-known/revocations") { request, _ in try await self.list(for: request) }
        router.readResource("/.well-known/revocations/jwks.json") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.publisher.key.published)))
        }
    }

    private func list(for request: Request) async throws -> Response {
        let document: RevocationPublisher.Document
        do {
            document = try await self.publisher.document()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw Problem(
                .unavailable, "What is withdrawn cannot be read or signed now; try again.",
                retryAfter: Problem.unavailable.retryAfter)
        }
        let headers: HTTPFields = [
            .contentType: "application/jwt", .cacheControl: "public, max-age=1", .eTag: document.entityTag,
        ]
        guard !Self.isKnown(document.entityTag, to: request) else {
            return Response(status: .notModified, headers: headers)
        }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: document.text)))
    }

    /// Whether `If-None-Match` names what has this strong entity tag (RFC 9110 §13.1.2): by `*`, or by a list of entity tags,
    /// of which weak ones count too.
    private static func isKnown(_ entityTag: String, to request: Request) -> Bool {
        guard let field = request.headers[.ifNoneMatch] else { return false }
        // A tag may hold commas, but no quotation marks, so no piece of another one passes for this.
        let tags = field.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        return tags == ["*"] || tags.contains { $0 == entityTag || $0 == "W/\(entityTag)" }
    }
}
