// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Hummingbird
import NIOCore

/// The routes that a supervisor and Prometheus ask: `/healthz`, `/readyz`, `/metrics`.
public struct OperationRoutes: Sendable {
    private let readiness: Readiness
    private let metrics: TokenServerMetrics

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - readiness: What `/readyz` answers from.
    ///   - metrics: What `/metrics` shows.
    public init(readiness: Readiness, metrics: TokenServerMetrics) {
        self.readiness = readiness
        self.metrics = metrics
    }

    /// Adds the routes to a router.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.resource("/healthz", [.get: { _, _ in Self.text("ok\n") }])
        router.resource(
            "/readyz",
            [
                .get: { _, _ in
                    let problems = self.readiness.problems.map { "\($0.key.rawValue): \($0.value)\n" }.sorted()
                    return problems.isEmpty
                        ? Self.text("ok\n") : Self.text(problems.joined(), status: .serviceUnavailable)
                }
            ])
        router.resource(
            "/metrics",
            [
                .get: { _, _ in
                    Self.text(self.metrics.text, type: "text/plain; version=0.0.4; charset=utf-8")
                }
            ])
    }

    private static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
