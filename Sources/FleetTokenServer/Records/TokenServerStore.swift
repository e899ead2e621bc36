// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetSQLite
import FleetTokens
import Foundation
public import Logging

/// Where the token server keeps the audit, the revocations and the assignments: a SQLite file, or PostgreSQL for many nodes.
///
/// Commits are durable when they return. Several processes may have it open at once, such as running servers and a
/// command that reads their audit.
public struct TokenServerStore: Sendable {
    let database: any TokenServerDatabase
    private let refusedLast = Locked(false)

    /// The file's path, or the address of the database without its password.
    public var path: String { self.database.place }

    init(_ database: any TokenServerDatabase) {
        self.database = database
    }

    /// The store's file in a token server's data folder.
    package static func file(inFolder folder: String) -> String {
        URL(filePath: folder).appending(path: "token-server.sqlite").path(percentEncoded: false)
    }

    /// Opens a file for a server, and makes the store where the file is missing or empty.
    ///
    /// - Parameter path: The file; its folder must exist. One that holds something else is refused, and left as it is.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` or
    ///   ``TokenServerError/Code/storeUnreachable`` that says what to mend.
    public init(creatingAt path: String) throws(TokenServerError) {
        if !FileManager.default.fileExists(atPath: path) {
            if let problem = PathProblem.making(file: path) {
                throw TokenServerError(
                    code: .storeUnavailable,
                    message: "The token server's store \(path) cannot be made: \(problem). Name a file in a folder "
                        + "that exists and is writable.")
            }
            // It tells who may see whom; SQLite's side files follow its mode.
            try? PrivateFile.make(at: path)
        }
        self.init(try SQLiteTokenDatabase(path, for: .making))
    }

    /// Opens a store that exists, and is no archive.
    ///
    /// - Parameter path: The file; one that holds no store is refused, and left as it is.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` or
    ///   ``TokenServerError/Code/storeUnreachable`` that says what to mend.
    public init(openingAt path: String) throws(TokenServerError) {
        self.init(try SQLiteTokenDatabase(path, for: .changing))
    }

    /// Opens a file that holds a store or an archive of this version, to read it; it is left as it is, as any other is.
    ///
    /// - Parameter path: The file; a server may be writing it.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` or
    ///   ``TokenServerError/Code/storeUnreachable`` that says what to mend.
    package init(readingAt path: String) throws(TokenServerError) {
        self.init(try SQLiteTokenDatabase(path, for: .reading))
    }

    /// Opens a store of this version that exists, and is no archive, to list its assignments or what it withdraws; it is
    /// left as it is, as any other file is.
    ///
    /// - Parameter path: The file; a server may be writing it.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` or
    ///   ``TokenServerError/Code/storeUnreachable`` that says what to mend.
    package init(listingAt path: String) throws(TokenServerError) {
        self.init(try SQLiteTokenDatabase(path, for: .listing))
    }

    /// Prepares the use of a PostgreSQL database; see ``check()`` for whether it can be used.
    ///
    /// - Parameters:
    ///   - address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///   - logger: Hears when the server is lost and found again.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` for a malformed address.
    public init(postgreSQL address: String, logger: Logger) throws(TokenServerError) {
        try self.init(postgreSQL: address, connections: 4, makesTables: true, logger: logger)
    }

    /// Prepares following a PostgreSQL database by one connection, for who has one question at a time; its tables are left
    /// as they are.
    ///
    /// - Parameters:
    ///   - address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///   - logger: Hears when the server is lost and found again.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` for a malformed address.
    package init(followingPostgreSQL address: String, logger: Logger) throws(TokenServerError) {
        try self.init(postgreSQL: address, connections: 1, makesTables: false, logger: logger)
    }

    /// Prepares reading a PostgreSQL database for a person, who waits longer than a caller does: ten minutes for a look
    /// through all records.
    ///
    /// Its tables are left as they are.
    ///
    /// - Parameters:
    ///   - address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///   - logger: Hears when the server is lost and found again.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` for a malformed address.
    package init(readingPostgreSQL address: String, logger: Logger) throws(TokenServerError) {
        try self.init(
            postgreSQL: address, connections: 4, limits: PostgreSQLLimits(statement: .seconds(600)), makesTables: false,
            logger: logger)
    }

    private init(
        postgreSQL address: String, connections: Int, limits: PostgreSQLLimits = PostgreSQLLimits(), makesTables: Bool,
        logger: Logger
    ) throws(TokenServerError) {
        do throws(PostgreSQLError) {
            self.database = PostgreSQLTokenDatabase(
                try PostgreSQLAddress(address), connections: connections, limits: limits,
                tablesMadeBy: makesTables ? .firstConnection : .another, logger: logger)
        } catch {
            throw TokenServerError(code: .invalidConfiguration, message: error.message)
        }
    }

    /// Whether a text is the address of a database rather than a file's path.
    public static func isAddress(_ text: String) -> Bool { PostgreSQLAddress.isAddress(text) }

    /// Looks whether the store can be used, and makes or updates its tables.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend, or with
    ///   ``TokenServerError/Code/storeUnreachable`` or ``TokenServerError/Code/storeReplaced``.
    public func check() async throws(TokenServerError) {
        do {
            try await self.database.look()
            _ = try await self.database.read { try $0.keptHead() }
        } catch {
            throw self.unreadable(error)
        }
    }

    /// Tells a failure to read in words.
    func unreadable(_ error: any Error) -> TokenServerError {
        if let known = error as? TokenServerError { return known }
        guard let fault = error as? PostgreSQLError else {
            return TokenServerError(
                code: .storeUnavailable, message: "The token server's store \(self.path) cannot be read: \(error)")
        }
        return TokenServerError(
            code: fault.isOutage ? .storeUnreachable : .storeUnavailable,
            message: "The token server's store: \(fault.message)")
    }

    /// Whether the last record of the audit was refused, and since then neither was one kept nor could one be.
    var refusesRecords: Bool { self.refusedLast.withLock { $0 } }

    /// Takes note of whether a record of the audit was kept.
    func note(isKept: Bool) { self.refusedLast.withLock { $0 = !isKept } }

    /// Why no record could be kept.
    struct Problem: Sendable {
        /// What anybody may know, in a few fixed words.
        let words: String
        /// What the log tells besides, where there is more to tell.
        var cause: (any Error)?
    }

    /// Looks whether a record could be kept now.
    ///
    /// - Returns: Why not; `nil` where it could.
    func problem() async -> Problem? {
        do throws(TokenServerError) {
            try await self.check()
        } catch {
            return Problem("the store cannot be read", for: error)
        }
        let isDoubted = self.refusesRecords
        do {
            try await self.database.probe(commits: isDoubted)
        } catch {
            return Problem("the store takes no changes", for: error)
        }
        if isDoubted { self.note(isKept: true) }
        return nil
    }

    /// Lets go of the store.
    ///
    /// - Throws: An error of SQLite.
    public func close() throws { try self.database.close() }
}

extension TokenServerStore.Problem {
    /// What the store does not do, with the reason as far as anybody may know it.
    fileprivate init(_ words: String, for error: any Error) {
        let known = error as? TokenServerError
        if known?.code == .storeReplaced {
            let event = DurableDatabase.FileMoved.event()
            self.init(words: "the store's file \(event); put that very file back, or restart the server")
        } else {
            self.init(words: known?.trouble?.told(after: words) ?? words, cause: error)
        }
    }
}
