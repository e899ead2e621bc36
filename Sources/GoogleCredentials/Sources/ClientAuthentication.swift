// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The name and password of an OAuth client, sent as RFC 6749 §2.3.1 says.
struct ClientAuthentication: Sendable {
    let id: String
    let secret: String

    var header: (name: String, value: String) {
        ("Authorization", "Basic " + Data("\(self.id):\(self.secret)".utf8).base64EncodedString())
    }
}
