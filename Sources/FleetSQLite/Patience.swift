// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
package import GRDB

extension Configuration {
    /// How long another process that writes is waited for, in milliseconds.
    fileprivate static let patience = 5000

    /// What waits for another process that writes, for 5 seconds at most.
    package static var patient: Self {
        var configuration = Self()
        configuration.busyMode = .timeout(TimeInterval(self.patience) / 1000)
        return configuration
    }
}

extension Database {
    /// Sets how long others that are in the way are waited for.
    ///
    /// - Parameter milliseconds: How long; `nil` for as long as is usual.
    /// - Throws: An error of SQLite.
    package func setPatience(milliseconds: Int? = nil) throws {
        try self.execute(sql: "PRAGMA busy_timeout = \(milliseconds ?? Configuration.patience)")
    }
}
