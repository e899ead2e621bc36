// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

// Requests carry credentials, answers carry tokens: neither shows header values or bodies when printed or dumped.

extension HTTPTransportRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Verb, address without query, and the names of the header fields.
    public var description: String {
        let address = self.url.absoluteString.prefix { $0 != "?" }
        return "\(self.method) \(address) [\(self.headers.map(\.name).joined(separator: ", "))]"
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": self.description]) }
}

extension HTTPTransportResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, size, and the names of the header fields.
    public var description: String {
        "\(self.status), \(self.body.count) bytes [\(self.headers.map(\.name).joined(separator: ", "))]"
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["response": self.description]) }
}
