// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Hummingbird

extension RouterMethods {
    /// Answers the methods that a path takes, and says so to requests with any other (RFC 9110 §15.5.6).
    package func resource(
        _ path: RouterPath,
        _ handlers: [HTTPRequest.Method: @Sendable (Request, Context) async throws -> Response]
    ) {
        let allowed = handlers.keys.sorted { $0.rawValue < $1.rawValue }
        let others: [HTTPRequest.Method?] = [
            .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, HTTPRequest.Method("QUERY"),
        ]
        for (method, handler) in handlers { self.on(path, method: method, use: handler) }
        for case let method? in others where handlers[method] == nil {
            self.on(path, method: method) { _, _ -> Response in throw MethodNotAllowed(allowed) }
        }
    }

    /// Answers GET, and HEAD with the same head and no body (RFC 9110 §9.1); for what only reads.
    package func readResource(
        _ path: RouterPath, _ handler: @escaping @Sendable (Request, Context) async throws -> Response
    ) {
        self.resource(path, [.get: handler, .head: { try await handler($0, $1).createHeadResponse() }])
    }
}
