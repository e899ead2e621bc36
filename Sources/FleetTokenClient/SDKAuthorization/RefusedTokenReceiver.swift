// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// An authorization that wants to know which token Fleet Engine refused.
///
/// Google's SDKs have no such message. The types of the same names in `FleetDriver` and `FleetConsumer` send it to an
/// authorization that conforms, and then ask it for another token. The sources in `Integrations/` do; a token fetcher of
/// your own may.
public protocol RefusedTokenReceiver: AnyObject, Sendable {
    /// Takes note that a token was refused; may come on any thread.
    ///
    /// - Parameter token: The token, as it was handed out.
    func tokenWasRefused(_ token: String)
}
