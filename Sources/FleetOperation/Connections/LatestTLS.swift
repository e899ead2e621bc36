// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import NIOSSL

/// What connections open with, made of the certificate that is in force.
package final class LatestTLS<Made: Sendable>: Sendable {
    private let tls: ServerTLS
    private let make: @Sendable (TLSConfiguration) throws -> Made
    private let latest: Locked<(version: Int, made: Made)>

    /// Takes what is in force.
    ///
    /// - Parameters:
    ///   - tls: The certificate, as it is at each moment.
    ///   - make: Makes what connections open with.
    /// - Throws: What `make` throws.
    package init(_ tls: ServerTLS, make: @escaping @Sendable (TLSConfiguration) throws -> Made) throws {
        let current = tls.current()
        self.tls = tls
        self.make = make
        self.latest = Locked((current.version, try make(current.configuration)))
    }

    /// What a connection that begins now opens with.
    package var value: Made {
        let current = self.tls.current()
        return self.latest.withLock { latest in
            guard current.version != latest.version else { return latest.made }
            // It was tried when it was read; should it fail all the same, the one before stays.
            latest = (current.version, (try? self.make(current.configuration)) ?? latest.made)
            return latest.made
        }
    }
}
