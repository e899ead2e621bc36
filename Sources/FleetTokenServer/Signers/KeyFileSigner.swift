// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import Foundation

/// Signs with the key of one file, which is read again when it changes.
///
/// A new key signs at once. The one before stays published until no token of it can be alive.
final class KeyFileSigner: LocalKeySigner {
    private struct State {
        var signer: LocalSigner
        /// The file as it was when the key in force was read.
        var seen: FileVersions
        /// What was wrong with the file when it was looked at last.
        var problem: String?
        var former = FormerKeys()
        /// Since when the keys sign that were not there at the start.
        var starts: [String: Date] = [:]
    }

    let account: String
    private let path: String
    private let role: Role
    private let state: Locked<State>

    /// Reads the file.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` that names it.
    init(file path: String, role: Role) throws(TokenServerError) {
        // Looked at first: what is written after it is read again.
        let seen = FileVersions(of: [path])
        let signer = try Self.signer(ofFile: path, role: role)
        self.account = signer.account
        self.path = path
        self.role = role
        self.state = Locked(State(signer: signer, seen: seen))
    }

    func sign(payload: [UInt8]) async throws -> SignedToken {
        try await self.state.withLock(\.signer).sign(payload: payload)
    }

    func hasGivenUp(_ keyID: String) -> Bool {
        self.state.withLock { $0.former.contains(keyID) }
    }

    /// The keys that verifiers are to trust at a time.
    func published(at time: Date) -> [RSAPublicKey] {
        self.state.withLock { [$0.signer.publicKey].compactMap(\.self) + $0.former.published(at: time) }
    }

    /// What each key that is published at a time is good for, oldest first.
    func statuses(at time: Date) -> [KeyStatus] {
        self.state.withLock { state in
            func status(_ keyID: String, _ key: KeySchedule.State, until end: Date? = nil) -> KeyStatus {
                KeyStatus(
                    role: self.role.rawValue, keyID: keyID, state: key.rawValue, signsFrom: state.starts[keyID],
                    retiredFrom: end)
            }
            return state.former.alive(at: time).map { status($0.key.id, .retiring, until: $0.until) }
                + [state.signer.keyID].compactMap(\.self).map { status($0, .signing) }
        }
    }

    /// Whether the file could not be used when it was looked at last, so that the key before is in force.
    var isStale: Bool { self.state.withLock { $0.problem != nil } }

    /// Reads the file again if it changed; the key in force stays when it cannot be used.
    ///
    /// One that cannot be used is read each time, as mended permissions change neither its size nor its date.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether another key is in force.
    /// - Throws: ``TokenServerError`` that says what is wrong, once until it passes or is another.
    func refresh(at now: Date) throws(TokenServerError) -> Bool {
        do throws(TokenServerError) {
            let isAnother = try self.readChanges(at: now)
            self.state.withLock { $0.problem = nil }
            return isAnother
        } catch {
            let problem = error.message
            let isNews = self.state.withLock { state in
                defer { state.problem = problem }
                return state.problem != problem
            }
            guard isNews else { return false }
            throw error
        }
    }

    private func readChanges(at now: Date) throws(TokenServerError) -> Bool {
        let seen = FileVersions(of: [self.path])
        guard seen != self.state.withLock({ $0.seen }) else { return false }
        let signer = try Self.signer(ofFile: self.path, role: self.role)
        guard signer.account == self.account else {
            throw Self.invalid(
                "\(self.path) holds a key of \(signer.account) now, and the role \(self.role) is signed for "
                    + "\(self.account); put a key of that account there, or change signers.\(self.role) and start again."
            )
        }
        return self.state.withLock { state in
            state.seen = seen
            guard signer.keyID != state.signer.keyID else { return false }
            state.former.add(
                [state.signer.publicKey].compactMap(\.self), besides: Set([signer.keyID].compactMap(\.self)), at: now)
            state.signer = signer
            if let keyID = signer.keyID { state.starts[keyID] = now }
            return true
        }
    }

    private static func signer(ofFile path: String, role: Role) throws(TokenServerError) -> LocalSigner {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
            throw self.invalid(
                "The key file \(path) of signers.\(role).key cannot be read; create it, let this user read it, or take "
                    + "the way key out of signers.\(role).ways.")
        }
        do throws(SigningError) {
            return try LocalSigner(ServiceAccountKey(json: bytes))
        } catch {
            throw self.invalid("\(path): \(error.message)")
        }
    }

    private static func invalid(_ message: String) -> TokenServerError {
        TokenServerError(code: .invalidConfiguration, message: message)
    }
}
