// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import Foundation
import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where the token server's store is.
struct TokenStoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The data folder of the token server.", valueName: "dir"), completion: .directory)
    var data: String?

    @Option(
        help: ArgumentHelp(
            "The token server's store, where it is not in a data folder; a file, or postgresql://….",
            valueName: "file-or-url"),
        completion: .file())
    var store: String?

    func validate() throws {
        try OptionRules.need((self.data == nil) != (self.store == nil), "Pass either --data or --store.")
        try OptionRules.check(path: self.data, of: "--data", "name the data folder of the token server")
        try OptionRules.check(path: self.store, of: "--store", "name the token server's store")
    }

    /// The store's file.
    var path: String {
        self.store ?? TokenServerStore.file(inFolder: self.data ?? "")
    }

    /// Whether it is one that a server writes, in a data folder or a database, and so no archive.
    var isOfServer: Bool { self.store.map { TokenServerStore.isAddress($0) } ?? true }

    /// What a store is opened for.
    enum Use {
        /// Reading the audit, which an archive is good for too; nothing is changed.
        case readAudit
        /// Listing what it says of now, which an archive is not good for; nothing is changed.
        case list
        /// Changing something.
        case change
    }

    /// Opens the store, which must exist: only a server makes one.
    ///
    /// - Parameter use: What for; a store of an older version is brought up to date by a change alone.
    /// - Returns: The store.
    /// - Throws: ``CommandFailure`` with `configuration`, or with `unreachable` where no database answers or a file does not
    ///   serve now.
    func open(to use: Use) async throws -> TokenServerStore {
        let isAddress = TokenServerStore.isAddress(self.path)
        if isAddress { try await Self.check(self.path, for: use) }
        do throws(TokenServerError) {
            guard isAddress else {
                switch use {
                case .readAudit: return try TokenServerStore(readingAt: self.path)
                case .list: return try TokenServerStore(listingAt: self.path)
                case .change: return try TokenServerStore(openingAt: self.path)
                }
            }
            // What goes wrong is told once, by the command.
            let logger = Logger(label: "fleetpass") { _ in SwiftLogNoOpLogHandler() }
            let store =
                use == .change
                ? try TokenServerStore(postgreSQL: self.path, logger: logger)
                : try TokenServerStore(readingPostgreSQL: self.path, logger: logger)
            try await store.check()
            return store
        } catch {
            throw CommandFailure(store: error)
        }
    }

    /// Fails where a database does not answer, where no token server has made its tables there yet, or where only reading
    /// would bring those of an older version up to date.
    private static func check(_ address: String, for use: Use) async throws {
        switch await TokenServerStore.inspect(postgreSQL: address) {
        case .unreachable(let problem, next: _):
            throw CommandFailure(status: .unreachable, message: "the store: \(problem)")
        case .usable(.missing):
            throw CommandFailure(
                status: .configuration,
                message: "the database holds no store of a token server; name that of `serve tokens`, and start that "
                    + "server first.")
        case .usable(.older) where use != .change:
            throw CommandFailure(
                status: .configuration,
                message: "the database's tables were made by an older version, and are not changed by being read; "
                    + "start a server of this version, which brings them up to date, or read them with that version.")
        case .usable, .unusable: return
        }
    }

    /// Opens the store, which must exist, to change something.
    ///
    /// - Returns: The store, and the time that the change is made by.
    /// - Throws: ``CommandFailure`` as ``open(to:)`` does, and with `failed` where this machine's clock is not the
    ///   database's.
    func openToChange() async throws -> (store: TokenServerStore, now: Date) {
        let store = try await self.open(to: .change)
        do throws(TokenServerError) {
            return (store, try await store.time())
        } catch {
            throw CommandFailure(store: error)
        }
    }
}

extension AuditChange.Actor {
    /// The user of this machine who runs the command, by the name that the system knows; nobody's environment counts.
    static var localUser: Self {
        let user = geteuid()
        guard let name = getpwuid(user)?.pointee.pw_name else { return Self(localUser: "uid \(user)") }
        return Self(localUser: String(cString: name))
    }
}

/// Reads a time of day with its zone from the command line.
func checkedTime(_ text: String) throws -> Date {
    guard let time = APITime.date(text) else {
        throw ValidationError(
            "\(text) is no time; write a day that there is, a time and its zone, like 2026-01-31T14:05:00Z.")
    }
    return time
}
