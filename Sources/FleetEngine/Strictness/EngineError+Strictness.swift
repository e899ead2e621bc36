// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension EngineError {
    /// The answer to a call with deviations that the strict profile refuses; `nil` where it refuses none.
    init?(refusing deviations: DeviationSet) {
        guard let rule = deviations.map(\.rule).first(where: { $0.inStrict == .refused }) else { return nil }
        self.init(
            code: .invalidArgument, reason: "STRICT_PROFILE",
            message: "\(rule.what) \(rule.fix) (\(rule.id), refused in the strict profile)",
            metadata: ["rule": rule.id])
    }
}
