// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Logging

extension Logger {
    /// Tells of a database on another machine that is used without a check of who it is; `doctor` does so too.
    ///
    /// - Parameter address: Its address; one that is a file's path, or where nobody answers, is no matter of this.
    package func warn(ofDatabase address: String) async {
        guard let exposure = await PostgreSQLExposure.found(at: address) else { return }
        self.warning(
            "the way to the database is open to others",
            metadata: ["found": "\(exposure.problem)", "next": "\(exposure.next)"])
    }
}
