// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import Foundation

/// Knows callers by the bearer secrets of a file, which may change: who is taken out of it is not known any more.
///
/// It knows what the file held when it was last looked at, which a ``TokenService`` does every two seconds.
package final class CallersFile: CallerAuthenticator {
    /// Whom a file names.
    enum Contents {
        /// Callers, with their roles.
        case callers
        /// Administrators, who have none.
        case administrators
    }

    private struct State {
        var known: StaticBearerAuthenticator
        /// The file as it was when they were read.
        var seen: FileVersions
    }

    let path: String
    private let contents: Contents
    private let state: Locked<State>

    /// Those who are known now, in the order of the file.
    var knownCallers: [Caller] { self.state.withLock { $0.known.knownCallers } }

    /// Reads a file of callers.
    ///
    /// - Parameter path: The file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    package convenience init(_ path: String) throws(TokenServerError) { try self.init(path, of: .callers) }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - contents: Whom it names.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    init(_ path: String, of contents: Contents) throws(TokenServerError) {
        self.path = path
        self.contents = contents
        // Looked at first: what is written after it is read again.
        let seen = FileVersions(of: [path])
        self.state = Locked(State(known: try Self.read(path, contents), seen: seen))
    }

    /// The caller with the bearer secret; see ``StaticBearerAuthenticator/caller(of:)``.
    package func caller(of request: CallerRequest) async throws -> Caller? {
        try await self.state.withLock(\.known).caller(of: request)
    }

    /// Reads the file again if it changed since those who are known were read.
    ///
    /// One that cannot be used is read each time, as mended permissions change neither its size nor its date.
    ///
    /// - Returns: Whether it was.
    /// - Throws: ``TokenServerError`` where it cannot be used; who was known stays so.
    func refresh() throws(TokenServerError) -> Bool {
        let seen = FileVersions(of: [self.path])
        guard seen != self.state.withLock(\.seen) else { return false }
        let known = try Self.read(self.path, self.contents)
        self.state.withLock { $0 = State(known: known, seen: seen) }
        return true
    }

    private static func read(_ path: String, _ contents: Contents) throws(TokenServerError) -> StaticBearerAuthenticator
    {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message: "The callers' file \(path) cannot be read; create it, as docs/token-server.md shows, let this "
                    + "user read it, or mend its path.")
        }
        do throws(TokenServerError) {
            return switch contents {
            case .callers: try StaticBearerAuthenticator(json: bytes)
            case .administrators: try StaticBearerAuthenticator(administrators: bytes)
            }
        } catch {
            throw TokenServerError(code: error.code, message: "\(path): \(error.message)")
        }
    }
}
