// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The name and password of an OAuth client, sent with the Basic scheme.
///
/// They are sent as they are, as Google's own libraries do; RFC 6749 §2.3.1 would encode both as a form does first.
struct ClientAuthentication: Sendable {
    let id: String
    let secret: String

    var header: (name: String, value: String) {
        ("Authorization", "Basic " + Data("\(self.id):\(self.secret)".utf8).base64EncodedString())
    }
}
