// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore

/// `GET /deviations`: what an engine's watch noted, for `fleetpass lint --engine`.
///
/// It names vehicles and trips to whoever asks, so it belongs on a developer's own machine, or behind what guards the page.
public struct DeviationRoutes: Sendable {
    private let watch: DeviationWatch

    /// Makes the route of an engine.
    public init(engine: Engine) {
        self.watch = engine.watch
    }

    /// Adds the route.
    ///
    /// - Parameter router: The router to add to; it must stand at the root.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.getAndHead("/deviations") { _, _ in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let report = try encoder.encode(DeviationReport(self.watch, profile: self.watch.profile))
            return Response(
                status: .ok,
                headers: [
                    .contentType: "application/json", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: report)))
        }
    }
}
