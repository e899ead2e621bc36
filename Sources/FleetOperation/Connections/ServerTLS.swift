// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import NIOSSL

/// What the connections of a port open with; it may change while the port is open.
public struct ServerTLS: Sendable {
    /// What new connections open with, and a number that is another when that is.
    package let current: @Sendable () -> (version: Int, configuration: TLSConfiguration)

    /// TLS that stays as it is.
    public init(_ configuration: TLSConfiguration) {
        self.current = { (0, configuration) }
    }

    /// TLS that may change.
    package init(current: @escaping @Sendable () -> (version: Int, configuration: TLSConfiguration)) {
        self.current = current
    }
}
