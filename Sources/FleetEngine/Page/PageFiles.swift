// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The files of the page: those that are part of the program, and the map library's from the system.
struct PageFiles: Sendable {
    /// One file as it is answered.
    private struct File {
        let path: RouterPath
        let type: String
        let bytes: [UInt8]

        static func script(_ name: String, _ bytes: [UInt8]) -> File {
            File(path: "/page/\(name)", type: "text/javascript; charset=utf-8", bytes: bytes)
        }
    }

    private static let html = "text/html; charset=utf-8"
    private static let css = "text/css; charset=utf-8"
    private static var own: [File] {
        [
            File(path: "/", type: html, bytes: PackageResources.page_html),
            File(path: "/share/trips/:id", type: html, bytes: PackageResources.share_html),
            File(path: "/share/shipments/:id", type: html, bytes: PackageResources.share_html),
            File(path: "/page/page.css", type: css, bytes: PackageResources.page_css),
            File(path: "/page/share.css", type: css, bytes: PackageResources.share_css),
            File(path: "/page/icon.svg", type: "image/svg+xml", bytes: PackageResources.icon_svg),
            .script("page.js", PackageResources.page_js),
            .script("live.js", PackageResources.live_js),
            .script("dom.js", PackageResources.dom_js),
            .script("words.js", PackageResources.words_js),
            .script("map.js", PackageResources.map_js),
            .script("lists.js", PackageResources.lists_js),
            .script("timeline.js", PackageResources.timeline_js),
            .script("refusals.js", PackageResources.refusals_js),
            .script("deviations.js", PackageResources.deviations_js),
            .script("matrix.js", PackageResources.matrix_js),
            .script("inspector.js", PackageResources.inspector_js),
            .script(TokenRulesScript.name, TokenRulesScript.bytes),
            .script("theme.js", PackageResources.theme_js),
            .script("share.js", PackageResources.share_js),
            .script("share-asker.js", PackageResources.share_asker_js),
            .script("share-map.js", PackageResources.share_map_js),
            .script("share-views.js", PackageResources.share_views_js),
            .script("fleet-token.js", PackageResources.fleet_token_js),
        ]
    }

    /// What is taken from the map library's folder, and nothing else in it.
    private static let leaflet: [(name: String, type: String)] = [
        ("leaflet.js", "text/javascript; charset=utf-8"),
        ("leaflet.css", css),
        ("images/layers.png", "image/png"),
        ("images/layers-2x.png", "image/png"),
    ]

    let options: PageOptions

    /// Whether the map library is there.
    var hasLeaflet: Bool {
        ["leaflet.js", "leaflet.css"].allSatisfy {
            FileManager.default.isReadableFile(atPath: "\(self.options.leafletFolder)/\($0)")
        }
    }

    /// Adds a route for each file.
    func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        for file in Self.own {
            router.getAndHead(file.path) { _, _ in self.answer(file.bytes, type: file.type) }
        }
        for file in Self.leaflet {
            router.getAndHead("/page/leaflet/\(file.name)") { _, _ in
                let path = "\(self.options.leafletFolder)/\(file.name)"
                guard let bytes = FileManager.default.contents(atPath: path) else { throw HTTPError(.notFound) }
                return self.answer([UInt8](bytes), type: file.type)
            }
        }
    }

    /// An answer that only this server's own pages can use, and that may load nothing from elsewhere but tiles.
    func answer(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: self.headers(type: type), body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The headers of every answer.
    func headers(type: String) -> HTTPFields {
        let images = ["'self'", self.options.tiles?.origin].compactMap(\.self).joined(separator: " ")
        var headers: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy:
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src \(images); "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ]
        // Tile servers want to know the origin; paths hold ids and stay here.
        headers[Self.referrerPolicy] = self.options.tiles == nil ? "no-referrer" : "strict-origin-when-cross-origin"
        headers[Self.resourcePolicy] = "same-origin"
        return headers
    }

    // The names are literals of the token characters, so the fallback is never taken.
    private static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .contentSecurityPolicy
    private static let resourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy") ?? .contentSecurityPolicy
}
