// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the page may show beyond what the engine holds.
public struct PageOptions: Sendable {
    /// Where Debian's package `libjs-leaflet` puts the map library.
    public static let systemLeafletFolder = "/usr/share/javascript/leaflet"

    /// The folder that holds `leaflet.js` and `leaflet.css`; without them the page shows no map, and says so.
    public var leafletFolder: String
    /// Where the map's background comes from; `nil` for a plain background and no request to anybody else.
    public var tiles: TileSource?

    /// Makes options; leave out what should keep its default.
    public init(leafletFolder: String = Self.systemLeafletFolder, tiles: TileSource? = nil) {
        self.leafletFolder = leafletFolder
        self.tiles = tiles
    }
}

/// A server of map tiles.
public struct TileSource: Hashable, Sendable {
    /// The URL of a tile, with `{z}`, `{x}` and `{y}` in it.
    public let template: String
    /// Who is to be named on the map, as plain text.
    public let attribution: String
    /// The scheme, host and port that the browser has to be allowed to ask.
    let origin: String

    /// Reads a template; `nil` unless it is an HTTP(S) URL with `{z}`, `{x}` and `{y}` behind a fixed host.
    ///
    /// - Parameters:
    ///   - template: The URL of a tile, with placeholders.
    ///   - attribution: Who is to be named on the map.
    public init?(template: String, attribution: String = "") {
        guard ["{z}", "{x}", "{y}"].allSatisfy(template.contains) else { return nil }
        let sample = ["{z}", "{x}", "{y}", "{r}"].reduce(template) { $0.replacing($1, with: "0") }
        // Whatever stands here is put into a header.
        let isPlain = sample.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"'`<>;,{}|\\^".utf8.contains($0) }
        guard isPlain, let parts = URLComponents(string: sample), let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = parts.host, !host.isEmpty, parts.user == nil,
            parts.password == nil, template.hasPrefix("\(parts.scheme ?? "")://\(host)")
        else { return nil }
        self.template = template
        self.attribution = attribution
        self.origin = "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }
}
