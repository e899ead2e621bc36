// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Hummingbird

extension RouterMethods {
    /// Answers GET, and HEAD with the same head and no body (RFC 9110 §9.1); for what only reads, and comes to an end.
    package func getAndHead(
        _ path: RouterPath, _ handler: @escaping @Sendable (Request, Context) async throws -> Response
    ) {
        self.get(path, use: handler)
        self.head(path) { try await handler($0, $1).createHeadResponse() }
    }
}
