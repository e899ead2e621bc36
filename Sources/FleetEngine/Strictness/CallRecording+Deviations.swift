// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

extension CallRecording {
    /// Looks for what departs from the documentation in the calls that were let in; recordings hold no tokens.
    ///
    /// - Returns: The report, and how many of those calls could not be read as requests of the API.
    public func examineDeviations() -> (report: DeviationReport, unread: Int) {
        let watch = DeviationWatch()
        var unread = 0
        for call in self.calls where !call.isRefused {
            guard let (request, access) = RESTBinding.binding(for: call.method).read(call.request) else {
                unread += 1
                continue
            }
            _ = watch.observe(request, access, token: nil, at: call.time)
            watch.keepReport(of: request, access, at: call.time)
        }
        return (DeviationReport(watch, profile: nil), unread)
    }
}
