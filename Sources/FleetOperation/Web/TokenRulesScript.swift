// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The checks of a token that a page makes in the browser, as one JavaScript module.
package enum TokenRulesScript {
    /// The module's file name, by which a page's scripts beside it import it.
    package static let name = "token-rules.js"

    /// The module.
    package static var bytes: [UInt8] { PackageResources.token_rules_js }
}
