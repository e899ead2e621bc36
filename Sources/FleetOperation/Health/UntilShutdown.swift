// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
import ServiceLifecycle

/// Does something again and again, until graceful shutdown or until it is cancelled.
///
/// - Parameters:
///   - pause: How long is waited after each time.
///   - waitsFirst: Whether as long is waited before the first time.
///   - time: What is waited by.
///   - body: What is done; it is cancelled with the rest.
package func untilShutdown(
    every pause: Duration = .seconds(2), waitingFirst waitsFirst: Bool = false,
    time: TimeSource = TimeSource(clock: ContinuousClock()), _ body: @escaping @Sendable () async -> Void
) async {
    await cancelWhenGracefulShutdown {
        if waitsFirst { try? await time.sleep(for: pause) }
        while !Task.isCancelled {
            await body()
            try? await time.sleep(for: pause)
        }
    }
}
