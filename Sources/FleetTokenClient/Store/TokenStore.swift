// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A place where tokens outlive the process, so that the first call after a start need not wait; off unless an app asks.
///
/// A token is a secret: whoever reads it acts as the user until it ends. Use ``KeychainTokenStore`` on Apple's systems
/// and ``FileTokenStore`` elsewhere. When the user signs out, call ``FleetTokenProvider/close()`` and then
/// ``removeAll()``.
///
/// An app and its extensions may share a store. Each process has its own provider and its own fetches; what one has fetched,
/// another finds when it has no valid token itself, and the last one written stays.
///
/// A store of your own files each subject's token under its ``TokenSubject/storeKey``.
///
/// A store that fails never fails a call: the failure is a ``TokenEvent/storeFailed(_:_:)``, and the token is fetched. Reading
/// counts towards the fetch's time limit. Methods may be called from any task, also at the same time.
public protocol TokenStore: Sendable {
    /// The stored token of a subject, or `nil` when there is none.
    ///
    /// - Parameter subject: Whose token.
    /// - Returns: The token as it was saved; how much life it has left is worked out by the provider.
    /// - Throws: When the store cannot be read, or holds something else than a token.
    func load(_ subject: TokenSubject) async throws -> StoredToken?

    /// Keeps a token in place of the subject's last one.
    ///
    /// - Parameters:
    ///   - token: The token and when it came.
    ///   - subject: Whose token it is.
    /// - Throws: When it cannot be kept.
    func save(_ token: StoredToken, for subject: TokenSubject) async throws

    /// Forgets a subject's token; nothing happens when there is none.
    ///
    /// - Parameter subject: Whose token.
    /// - Throws: When it cannot be removed.
    func remove(_ subject: TokenSubject) async throws

    /// Forgets every token, at the end of the app's session.
    ///
    /// Call it once ``FleetTokenProvider/close()`` has returned: a fetch that ends later would save its token.
    ///
    /// - Throws: When one cannot be removed.
    func removeAll() async throws
}

extension TokenSubject {
    /// The text that a store files the subject's token under, such as `driver/veh-3` or `delivery_driver/van-1?task=t-7`.
    ///
    /// Each subject has a text of its own, as ids hold neither `/` nor `?`, and later versions give the same one, so that
    /// they find what was stored before. It tells the ids and may hold any characters but control characters: take a hash
    /// of it where a name must tell nothing, or has to be that of a file.
    public var storeKey: String {
        self.kind + (self.id.map { "/" + $0 } ?? "") + (self.task.map { "?task=" + $0.value } ?? "")
    }
}
