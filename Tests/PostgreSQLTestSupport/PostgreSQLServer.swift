// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetTokens
public import Foundation
public import Logging

/// A PostgreSQL server to throw away, started by `Scripts/postgresql.sh`; it ends with the test process.
public final class PostgreSQLServer: Sendable {
    /// The server's folder.
    public let folder: URL
    private let address: String

    /// Why tests of PostgreSQL are skipped where they are.
    public static let absence = "PostgreSQL is not installed; on Debian: apt-get install postgresql."

    /// Whether this machine has PostgreSQL's server.
    public static let isInstalled: Bool = {
        let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/initdb" }
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return (paths + versions.map { "/usr/lib/postgresql/\($0)/bin/initdb" })
            .contains { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private static let held = Locked<PostgreSQLServer?>(nil)

    /// The server that the tests of this process share, for databases of their own; nobody restarts it.
    public static func shared() throws -> PostgreSQLServer {
        try self.held.withLock { held in
            if let held { return held }
            let server = try PostgreSQLServer()
            held = server
            return server
        }
    }

    /// Starts a server of its own.
    public init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "fp-\(UUID().uuidString.prefix(13))")
        self.address = try Self.script(["start", self.folder.path, "max_connections=300", "fsync=off"])
    }

    /// Ends the server as a crash would, and starts it again.
    public func restart() throws { _ = try Self.script(["restart", self.folder.path]) }

    /// Ends the server and removes its folder.
    public func stop() throws { _ = try Self.script(["stop", self.folder.path]) }

    /// Makes an empty database.
    ///
    /// - Parameter options: What follows the name in `CREATE DATABASE`.
    /// - Returns: Its address.
    /// - Throws: An error of PostgreSQL.
    public func makeDatabase(_ options: String = "") async throws -> String {
        let name = "t_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(self.address), connections: 1, logger: .silent)
        _ = try await pool.run { try $0.query(.once("CREATE DATABASE \(name) \(options)")).changed }
        await pool.close()
        return self.address.replacing("@/fleetpass?", with: "@/\(name)?")
    }

    /// Takes all tables out of a database, and ends the connections to it.
    ///
    /// - Parameter address: The database's address.
    /// - Throws: An error of PostgreSQL.
    public static func empty(_ address: String) async throws {
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        try await pool.run { session in
            try session.query(.once("DROP SCHEMA fleetpass CASCADE"))
            try session.query(
                .once(
                    """
                    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                    """))
        }
        await pool.close()
    }

    /// Looks whether a database has no tables.
    ///
    /// - Parameter address: The database's address.
    /// - Returns: Whether it has none.
    /// - Throws: An error of PostgreSQL.
    public static func isEmpty(_ address: String) async throws -> Bool {
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        let answer = try await pool.run { session in
            try session.query(.once("SELECT to_regnamespace('fleetpass') IS NULL")).first?.bool(0)
        }
        await pool.close()
        return answer == true
    }

    private static func script(_ arguments: [String]) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let process = Process()
        process.executableURL = root.appending(path: "Scripts/postgresql.sh")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["FLEETPASS_OWNER": "\(ProcessInfo.processInfo.processIdentifier)"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ScriptFailed(arguments: arguments) }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private struct ScriptFailed: Error {
        let arguments: [String]
    }
}

extension Logger {
    /// Tells nobody.
    public static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}
