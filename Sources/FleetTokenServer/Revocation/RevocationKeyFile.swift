// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetSigning
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file of the key that signs lists of revocations.
public struct RevocationKeyFile: Sendable {
    /// What the file is called in a data folder.
    public static let name = "revocation-key.json"

    private let path: String

    /// Uses a file.
    ///
    /// - Parameter path: The file; its folder must exist.
    public init(path: String) {
        self.path = path
    }

    /// Reads the key, and makes one where there is none.
    ///
    /// Of several processes that start at once, one makes the key and all read that one.
    ///
    /// - Returns: The key.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` that names the file.
    public func key() throws(TokenServerError) -> RevocationKey {
        let url = URL(filePath: self.path)
        do {
            if !FileManager.default.fileExists(atPath: self.path) { try self.create(RevocationKey()) }
            return try RevocationKey(file: Data(contentsOf: url))
        } catch let error as SigningError {
            throw TokenServerError(code: .invalidConfiguration, message: "\(self.path): \(error.message)")
        } catch let refusal as SystemRefusal {
            throw self.unusable(PathProblem.making(file: self.path) ?? "\(refusal)")
        } catch {
            throw self.unusable(PathProblem.reading(self.path) ?? error.localizedDescription)
        }
    }

    private func unusable(_ reason: String) -> TokenServerError {
        TokenServerError(
            code: .invalidConfiguration,
            message: "The revocation key \(self.path) cannot be read or written: \(reason).")
    }

    private func create(_ key: RevocationKey) throws(SystemRefusal) {
        let draft = "\(self.path).\(UInt64.random(in: 0 ... .max))"
        try PrivateFile.make(at: draft, holding: key.file)
        defer { unlink(draft) }
        // A link appears whole or not at all, and never in another's place.
        guard link(draft, self.path) == 0 || errno == EEXIST else { throw SystemRefusal() }
    }
}
