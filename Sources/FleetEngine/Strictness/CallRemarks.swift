// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes

/// What a caller is told beside the answer to a call: in header fields over REST, in trailing metadata over gRPC.
final class CallRemarks: Sendable {
    /// The name under which deviations are told, in lower case for either adapter.
    static let warningName = "x-fleetpass-warning"

    /// The name under which faults by script are told.
    static let chaosName = "x-fleetpass-chaos"

    private let remarks = Locked<[(name: String, value: String)]>([])

    /// Names and values, in ASCII without line feeds.
    var fields: [(name: String, value: String)] { self.remarks.withLock { $0 } }

    /// Adds a warning for each deviation.
    func warn(of deviations: DeviationSet) {
        let values = deviations.map { "\($0.id): \($0.rule.what) \($0.rule.fix)" }
        self.remarks.withLock { remarks in
            for value in values { remarks.append((Self.warningName, value)) }
        }
    }

    /// Adds what a script did to the call.
    func mark(chaos marks: [String]) {
        self.remarks.withLock { remarks in
            for mark in marks { remarks.append((Self.chaosName, mark)) }
        }
    }

    /// Adds the remarks to the header of an answer over REST.
    func add(to headers: inout HTTPFields) {
        for (name, value) in self.fields {
            guard let name = HTTPField.Name(name) else { continue }
            headers.append(HTTPField(name: name, value: value))
        }
    }
}
