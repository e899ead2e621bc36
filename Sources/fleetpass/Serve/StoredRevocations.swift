// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import Foundation
import Logging
import ServiceLifecycle

/// Withdraws from an engine what a token server's store withdraws, until shutdown.
struct StoredRevocations: Service {
    private static let part = "withdrawn tokens"

    private let store: TokenServerStore
    private let list: RevocationList
    private let log: WatchLog

    /// Opens the store.
    ///
    /// - Parameters:
    ///   - place: The store's file, or the address of its database.
    ///   - list: Gets what is withdrawn.
    ///   - logger: Hears when the store cannot be read, and when it can be again.
    /// - Throws: ``CommandFailure`` with `configuration`.
    init(in place: String, for list: RevocationList, logger: Logger) throws {
        do throws(TokenServerError) {
            self.store =
                TokenServerStore.isAddress(place)
                ? try TokenServerStore(postgreSQL: place, logger: logger) : try TokenServerStore(openingAt: place)
        } catch {
            throw CommandFailure(status: .configuration, message: "revocations.store: \(error.message)")
        }
        self.list = list
        self.log = WatchLog(logger: logger)
    }

    /// Why the store cannot be read now, if it cannot.
    var problem: String? {
        self.log.problem(of: Self.part).map { _ in "the store of withdrawn tokens cannot be read" }
    }

    /// Takes over what is withdrawn now.
    func refresh() async {
        await self.log.perform(Self.part) {
            self.list.replace(try await RevocationStore(store: self.store).current(at: Date()))
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.refresh()
                try? await Task.sleep(for: .seconds(2))
            }
        }
        try self.store.close()
    }
}
