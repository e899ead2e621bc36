// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import ServiceLifecycle

/// Takes over what a token server withdraws, into the list that an engine goes by, until shutdown.
public protocol RevocationKeeping: Service {
    /// Why it is not known now what is withdrawn, in words without secrets; `nil` where it is.
    var problem: String? { get }

    /// Takes over what is withdrawn, before the first call is answered.
    ///
    /// - Throws: What somebody must mend; what passes by itself is waited for.
    func prepare() async throws
}
