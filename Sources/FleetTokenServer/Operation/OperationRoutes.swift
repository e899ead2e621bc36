// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import HTTPTypes
public import Hummingbird
import NIOCore

/// The routes that a supervisor and Prometheus ask: `/healthz`, `/readyz`, `/metrics`.
public struct OperationRoutes: Sendable {
    private let problems: @Sendable () async -> [String: String]
    private let metrics: @Sendable () -> String

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - problems: What keeps the service from its work now, by check; `/readyz` answers from it.
    ///   - metrics: What `/metrics` shows beside the version, in the Prometheus text format.
    public init(
        problems: @escaping @Sendable () async -> [String: String], metrics: @escaping @Sendable () -> String
    ) {
        self.problems = problems
        self.metrics = metrics
    }

    /// Makes the routes of a token server.
    ///
    /// - Parameters:
    ///   - readiness: What `/readyz` answers from.
    ///   - metrics: What `/metrics` shows.
    ///   - others: What `/metrics` shows besides, in the Prometheus text format.
    public init(
        readiness: Readiness, metrics: TokenServerMetrics, others: @escaping @Sendable () -> String = { "" }
    ) {
        self.init(
            problems: {
                Dictionary(uniqueKeysWithValues: readiness.problems.map { ($0.key.rawValue, $0.value) })
            },
            metrics: { metrics.text + others() })
    }

    /// Adds the routes to a router.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        func answer(_ path: RouterPath, _ response: @escaping @Sendable () async -> Response) {
            router.readResource(path) { _, _ in await response() }
        }
        answer("/healthz") { Self.text("ok\n") }
        answer("/readyz") {
            let problems = await self.problems().map { "\($0.key): \($0.value)\n" }.sorted()
            return problems.isEmpty ? Self.text("ok\n") : Self.text(problems.joined(), status: .serviceUnavailable)
        }
        answer("/metrics") {
            Self.text(FleetpassVersion.metric + self.metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
