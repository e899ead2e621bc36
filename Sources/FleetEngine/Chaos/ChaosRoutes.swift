// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore

/// `GET`, `PUT` and `DELETE /chaos`: what goes wrong on purpose, for `fleetpass chaos`.
///
/// Whoever reaches it can break the engine, so it belongs on a developer's own machine only; web pages cannot use it.
public struct ChaosRoutes: Sendable {
    private static let maximumBodyBytes = 256 * 1024
    private let injector: FaultInjector

    /// Makes the routes.
    public init(injector: FaultInjector) {
        self.injector = injector
    }

    /// Adds the routes.
    ///
    /// - Parameter router: The router to add to; it must stand at the root.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.get("/chaos") { request, _ in try self.checked(request) { self.status() } }
        router.delete("/chaos") { request, _ in
            try self.checked(request) {
                self.injector.set(nil)
                return self.status()
            }
        }
        router.put("/chaos") { request, _ in
            let body: ByteBuffer
            do {
                body = try await request.body.collect(upTo: Self.maximumBodyBytes)
            } catch is NIOTooManyBytesError {
                throw HTTPError(.contentTooLarge, message: "A script has at most \(Self.maximumBodyBytes) bytes.")
            }
            return try self.checked(request) {
                do throws(FaultScriptError) {
                    self.injector.set(try FaultScript(parsing: body.readableBytesView))
                } catch {
                    throw HTTPError(.badRequest, message: error.message)
                }
                return self.status()
            }
        }
    }

    /// Refuses web pages: browsers name the origin of every request that could change something.
    private func checked(_ request: Request, _ body: () throws -> Response) throws -> Response {
        guard request.headers[.origin] == nil else {
            throw HTTPError(.forbidden, message: "Web pages may not use /chaos; use fleetpass chaos.")
        }
        return try body()
    }

    private func status() -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = (try? encoder.encode(self.injector.status)) ?? Data("{}".utf8)
        return Response(
            status: .ok,
            headers: [.contentType: "application/json", .cacheControl: "no-store", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
