// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

#if canImport(GoogleRidesharingConsumer)
    import GoogleRidesharingConsumer
#else
    import FleetConsumer
#endif

extension ConsumerTokens {
    /// Tells the Consumer SDK where tokens come from; once for each session.
    @MainActor func adopt(for session: ConsumerSession) {
        #if canImport(GoogleRidesharingConsumer)
            GMTCServices.setAccessTokenProvider(self.authorization, providerID: session.provider)
        #else
            GMTCServices.setAccessTokenProvider(
                self.authorization, providerID: session.provider, engine: EngineConnection(url: session.engine))
        #endif
    }
}
