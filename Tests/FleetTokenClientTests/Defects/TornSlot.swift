// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// One cached token whose parts are written one after the other, as variables without a common lock are.
///
/// Each part has a lock of its own, so the result is torn but not undefined; and the interruption that is rare on a phone
/// comes every time.
final class TornSlot: Sendable {
    private let context = Locked<FetcherContext?>(nil)
    private let content = Locked<(token: String, endsAt: Double)?>(nil)

    func token(for context: FetcherContext, at now: Double) -> String? {
        guard self.context.withLock({ $0 }) == context, let content = self.content.withLock({ $0 }),
            now < content.endsAt
        else { return nil }
        return content.token
    }

    func write(
        _ token: String, for context: FetcherContext, endsAt: Double, interruption: @Sendable () async -> Void
    ) async {
        self.context.withLock { $0 = context }
        await interruption()
        self.content.withLock { $0 = (token, endsAt) }
    }
}
