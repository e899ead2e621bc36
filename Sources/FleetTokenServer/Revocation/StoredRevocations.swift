// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
public import FleetSigning
import FleetTokens
import Foundation
public import Logging
import ServiceLifecycle

/// Withdraws from an engine what a token server's store withdraws, until shutdown.
public struct StoredRevocations: RevocationKeeping {
    private static let part = "withdrawn tokens"

    private let store: TokenServerStore
    /// The database's address until it was seen to hold a token server's store.
    private let unseen: Locked<String?>
    private let list: RevocationList
    private let log: WatchLog

    /// Opens the store.
    ///
    /// - Parameters:
    ///   - place: The store's file, or the address of its database.
    ///   - list: Gets what is withdrawn.
    ///   - logger: Hears when the store cannot be read, and when it can be again.
    /// - Throws: ``TokenServerError``, with ``TokenServerError/Code/storeUnreachable`` for a file that does not serve now.
    public init(in place: String, for list: RevocationList, logger: Logger) throws(TokenServerError) {
        let isAddress = TokenServerStore.isAddress(place)
        // Opening it would update the tables of a server of an older version.
        if !isAddress, FileManager.default.fileExists(atPath: place) {
            try Self.check(TokenServerStore.inspect(file: place))
        }
        do throws(TokenServerError) {
            self.store =
                isAddress
                ? try TokenServerStore(followingPostgreSQL: place, logger: logger)
                : try TokenServerStore(openingAt: place)
        } catch {
            throw TokenServerError(code: error.code, message: "revocations.store: \(error.message)")
        }
        self.unseen = Locked(isAddress ? place : nil)
        self.list = list
        self.log = WatchLog(logger: logger)
    }

    /// Why the store cannot be read now, if it cannot.
    public var problem: String? {
        self.log.problem(of: Self.part).map { _ in "the store of withdrawn tokens cannot be read" }
    }

    /// Takes over what is withdrawn now; a database that does not answer is waited for.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` where a database that answers
    ///   holds no token server's store.
    public func prepare() async throws {
        do throws(TokenServerError) {
            try await self.check()
        } catch {
            guard error.code == .storeUnreachable else { throw error }
        }
        await self.refresh()
    }

    /// Looks whether a database that answers holds a token server's store.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` where it does not, or with
    ///   ``TokenServerError/Code/storeUnreachable`` where it does not answer.
    private func check() async throws(TokenServerError) {
        guard let address = self.unseen.withLock({ $0 }) else { return }
        try Self.check(await TokenServerStore.inspect(postgreSQL: address))
        self.unseen.withLock { $0 = nil }
    }

    private static func check(_ inspection: TokenServerStore.Inspection) throws(TokenServerError) {
        func fail(_ code: TokenServerError.Code, _ problem: String) -> TokenServerError {
            TokenServerError(code: code, message: "revocations.store: \(problem)")
        }
        switch inspection {
        case .usable(.current): return
        case .usable(.missing), .usable(.older):
            throw fail(
                .invalidConfiguration,
                "no token server of this version has used that store; name the store of `serve tokens`, and start that "
                    + "server first.")
        case .unusable(let problem, next: let next): throw fail(.invalidConfiguration, "\(problem) \(next)")
        case .unreachable(let problem, next: _): throw fail(.storeUnreachable, problem)
        }
    }

    /// Takes over what is withdrawn now.
    private func refresh() async {
        await self.log.perform(Self.part) {
            try await self.check()
            self.list.replace(try await RevocationStore(store: self.store).current(at: Date()))
        }
    }

    /// Takes over what is withdrawn every two seconds, until shutdown; closes the store then.
    public func run() async throws {
        await untilShutdown { await self.refresh() }
        try self.store.close()
    }
}
