// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
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
    public func add(to router: some RouterMethods) {
        router.get("/.well-known/revocations") { request, _ in
            let document = try await self.publisher.document()
            let headers: HTTPFields = [
                .contentType: "application/jwt", .cacheControl: "public, max-age=1", .eTag: document.entityTag,
            ]
            guard request.headers[.ifNoneMatch] != document.entityTag else {
                return Response(status: .notModified, headers: headers)
            }
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: document.text)))
        }
        router.get("/.well-known/revocations/jwks.json") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.publisher.key.published)))
        }
    }
}
