// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

extension URL {
    /// Host and port for messages, which the path and the query stay out of.
    package var server: String {
        guard let host = self.host, !host.isEmpty else { return "The server" }
        // Not every platform keeps the brackets of an IPv6 address.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return self.port.map { "\(name):\($0)" } ?? name
    }
}
