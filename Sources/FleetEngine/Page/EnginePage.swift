// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
public import FleetTokens
import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore

/// A page that shows the engine at work: vehicles moving, tokens in use, refusals with their reasons.
///
/// It shows every vehicle to whoever opens it, so it belongs on a developer's own machine only. It asks no other host
/// for anything, and shows fingerprints, never tokens.
public struct EnginePage: Sendable {
    private let engine: Engine
    private let provider: ProviderID

    /// Makes the page of one provider.
    public init(engine: Engine, provider: ProviderID) {
        self.engine = engine
        self.provider = provider
    }

    /// Adds `/`, its style and script, and `/page/state`, which the script reads.
    ///
    /// - Parameter router: The router to add to; it must stand at the root.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        let files: [(path: RouterPath, type: String, bytes: [UInt8])] = [
            ("/", "text/html; charset=utf-8", PackageResources.page_html),
            ("/page/page.css", "text/css; charset=utf-8", PackageResources.page_css),
            ("/page/page.js", "text/javascript; charset=utf-8", PackageResources.page_js),
        ]
        for file in files {
            router.get(file.path) { _, _ in Self.answer(file.bytes, type: file.type) }
        }
        router.get("/page/state") { _, _ in
            let state = PageState(
                provider: self.provider,
                vehicles: try await self.engine.onlineVehicles(of: self.provider),
                activity: self.engine.activity.snapshot(),
                now: Date()
            )
            return Self.answer([UInt8](try JSONEncoder().encode(state)), type: "application/json")
        }
    }

    private static func answer(_ bytes: [UInt8], type: String) -> Response {
        let headers: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy:
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
