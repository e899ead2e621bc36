// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Hummingbird
import NIOCore

/// The routes that a supervisor and Prometheus ask: `/healthz`, `/readyz`, `/metrics`.
public struct OperationRoutes: Sendable {
    private let problems: @Sendable () async -> [String: String]
    private let remarks: @Sendable () -> [String: String]
    private let metrics: @Sendable () -> String

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - problems: What keeps the service from its work now, by check; `/readyz` answers from it.
    ///   - remarks: What somebody should mend that keeps the service from nothing, by check; `/readyz` tells it where
    ///     there are no problems.
    ///   - metrics: What `/metrics` shows beside the version, in the Prometheus text format.
    public init(
        problems: @escaping @Sendable () async -> [String: String],
        remarks: @escaping @Sendable () -> [String: String] = { [:] }, metrics: @escaping @Sendable () -> String
    ) {
        self.problems = problems
        self.remarks = remarks
        self.metrics = metrics
    }

    /// Adds the routes to a router.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        func answer(_ path: RouterPath, _ response: @escaping @Sendable () async -> Response) {
            router.readResource(path) { _, _ in await response() }
        }
        answer("/healthz") { Self.text("ok\n") }
        answer("/readyz") {
            let problems = Self.lines(await self.problems())
            return problems.isEmpty
                ? Self.text("ok\n" + Self.lines(self.remarks())) : Self.text(problems, status: .serviceUnavailable)
        }
        answer("/metrics") {
            Self.text(FleetpassVersion.metric + self.metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private static func lines(_ findings: [String: String]) -> String {
        findings.map { "\($0.key): \($0.value)\n" }.sorted().joined()
    }

    private static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
