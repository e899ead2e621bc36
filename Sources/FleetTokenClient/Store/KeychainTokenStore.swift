// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Security)
    import Foundation
    import Security

    /// Keeps tokens in the keychain of Apple's systems.
    ///
    /// An item can be read once the device was unlocked after its start, so that a driver app in the background can; it never
    /// leaves the device, neither by a backup nor by iCloud. The system keeps items when an app is removed, so a later
    /// installation may find old ones: they are judged by their age like any other.
    ///
    /// An app and its extension share a store by giving the same service and an access group that both are entitled to.
    ///
    /// Without a group, the system puts an item into the first of the app's groups, and looks for it in all of them. Where
    /// the app has the entitlement `keychain-access-groups` (Keychain Sharing), the first is one that other apps of the team
    /// may have too: nothing but the service keeps their items apart, and each could read those of the others. So name the
    /// group there; the app's own is `TEAMID.` and its bundle identifier.
    public struct KeychainTokenStore: TokenStore {
        private let service: String
        private let accessGroup: String?
        private let capacity: Int

        /// Names the items; nothing is read yet.
        ///
        /// - Parameters:
        ///   - service: What tells this store's items from others in the same groups; by default, the bundle's identifier
        ///     and `.fleetpass.tokens`, so that an extension has another one than its app.
        ///   - accessGroup: The keychain access group or app group that holds the items, such as `TEAMID.com.example.shared`.
        ///   - capacity: How many tokens are kept, at least one; those saved longest ago go first.
        public init(service: String? = nil, accessGroup: String? = nil, capacity: Int = 32) {
            self.service = service ?? Self.defaultService
            self.accessGroup = accessGroup
            self.capacity = max(capacity, 1)
        }

        private static var defaultService: String {
            (Bundle.main.bundleIdentifier.map { "\($0)." } ?? "") + "fleetpass.tokens"
        }

        /// Reads a subject's item.
        public func load(_ subject: TokenSubject) throws(TokenClientError) -> StoredToken? {
            var query = self.query(for: subject)
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw Self.failure("read", status) }
            guard let bytes = found as? Data else { throw Self.failure("read", errSecDecode) }
            return try StoredToken(serialized: bytes)
        }

        /// Replaces a subject's item.
        public func save(_ token: StoredToken, for subject: TokenSubject) throws(TokenClientError) {
            let query = self.query(for: subject)
            let values: [String: Any] = [
                kSecValueData as String: token.serialized,
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemAdd(query.merging(values) { _, value in value } as CFDictionary, nil)
            if status == errSecDuplicateItem {
                status = SecItemUpdate(query as CFDictionary, values as CFDictionary)
            }
            guard status == errSecSuccess else { throw Self.failure("written", status) }
            try self.removeOldest()
        }

        /// Removes a subject's item.
        public func remove(_ subject: TokenSubject) throws(TokenClientError) {
            try Self.delete(self.query(for: subject))
        }

        /// Removes every item of the store.
        public func removeAll() throws(TokenClientError) {
            // One by one, because macOS deletes only the first match of a query.
            for account in try self.accounts() { try Self.delete(self.query(account: account)) }
        }
    }

    // MARK: - Items

    extension KeychainTokenStore {
        private var query: [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: self.service,
                kSecAttrSynchronizable as String: false,
                // Without this, macOS would use the old keychain, which knows neither groups nor accessibility.
                kSecUseDataProtectionKeychain as String: true,
            ]
            query[kSecAttrAccessGroup as String] = self.accessGroup
            return query
        }

        private func query(for subject: TokenSubject) -> [String: Any] {
            self.query(account: subject.storeKey)
        }

        private func query(account: String) -> [String: Any] {
            self.query.merging([kSecAttrAccount as String: account]) { _, account in account }
        }

        /// The items' accounts, the one saved longest ago first.
        private func accounts() throws(TokenClientError) -> [String] {
            var query = self.query
            query[kSecReturnAttributes as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return [] }
            guard status == errSecSuccess else { throw Self.failure("listed", status) }
            let items = (found as? [[String: Any]] ?? []).compactMap { item -> (account: String, date: Date)? in
                guard let account = item[kSecAttrAccount as String] as? String else { return nil }
                return (account, item[kSecAttrModificationDate as String] as? Date ?? .distantPast)
            }
            return items.sorted { $0.date < $1.date }.map(\.account)
        }

        private func removeOldest() throws(TokenClientError) {
            for account in try self.accounts().dropLast(self.capacity) {
                try Self.delete(self.query(account: account))
            }
        }

        private static func delete(_ query: [String: Any]) throws(TokenClientError) {
            let status = SecItemDelete(query as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw self.failure("removed", status) }
        }

        private static func failure(_ done: String, _ status: OSStatus) -> TokenClientError {
            let reason = SecCopyErrorMessageString(status, nil).map { " \($0)" } ?? ""
            return TokenClientError(
                code: .storeFailed, message: "The keychain item could not be \(done): OSStatus \(status).\(reason)")
        }
    }
#endif
