// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
import FleetTokens
import Foundation
package import Logging
import ServiceLifecycle

/// Where another token server's list of revocations is, as options name it.
package struct RevocationSource: Sendable {
    private let url: String
    private let keys: String?
    private let settings: (url: String, keys: String)

    /// Names a list.
    ///
    /// - Parameters:
    ///   - url: Its address.
    ///   - keys: The file or address of the keys that sign it; `nil` for the set beside the list.
    ///   - settings: What the operator gave the two by, for messages.
    package init(url: String, keys: String?, givenBy settings: (url: String, keys: String)) {
        self.url = url
        self.keys = keys
        self.settings = settings
    }

    /// What polls the list.
    ///
    /// - Parameters:
    ///   - list: Gets what is withdrawn there.
    ///   - transport: Asks for the list and its keys.
    /// - Returns: It, for a ``RevocationFollowing``.
    /// - Throws: ``ConfigurationError`` that names the setting.
    package func follower(
        of list: RevocationList, transport: any UpstreamTransport
    ) throws(ConfigurationError) -> RevocationFollower {
        let keys = try self.followerKeys()
        do throws(SigningError) {
            return try RevocationFollower(url: self.url, keys: keys, transport: transport, list: list)
        } catch {
            throw ConfigurationError("\(self.settings.url): \(UpstreamAddress.shown(self.url)): \(error.message)")
        }
    }

    private func followerKeys() throws(ConfigurationError) -> RevocationFollower.Keys? {
        guard let keys else { return nil }
        guard !keys.contains("://") else {
            guard UpstreamAddress.isAcceptable(keys) else {
                throw ConfigurationError(
                    "\(self.settings.keys): \(UpstreamAddress.shown(keys)) must be \(UpstreamAddress.rule).")
            }
            return .address(keys)
        }
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(filePath: keys))
        } catch {
            let reason = PathProblem.reading(keys) ?? error.localizedDescription
            throw ConfigurationError("\(self.settings.keys): the file \(keys) cannot be read: \(reason).")
        }
        do throws(SigningError) {
            return .pinned(try RevocationKeySet(jwks: bytes))
        } catch {
            throw ConfigurationError("\(self.settings.keys): \(keys): \(error.message)")
        }
    }
}

/// Polls a list of revocations until shutdown.
package struct RevocationFollowing: Service {
    /// What polls.
    package let follower: RevocationFollower
    private let observe: @Sendable (RevocationFollower.Outcome, Duration?) -> Void
    private let logger: Logger
    private let last = Locked<RevocationFollower.Outcome?>(nil)

    /// Follows a list; `observe` hears what became of each look, and how long ago the list in force was made.
    package init(
        _ follower: RevocationFollower, logger: Logger,
        observe: @escaping @Sendable (RevocationFollower.Outcome, Duration?) -> Void
    ) {
        self.follower = follower
        self.observe = observe
        self.logger = logger
    }

    /// Looks at the list every two seconds, until shutdown.
    package func run() async throws {
        await untilShutdown { await self.look() }
    }

    /// Looks at the list once; before anything is served, so that what was withdrawn is refused from the first call on.
    package func look() async {
        let outcome = await self.follower.poll()
        guard !Task.isCancelled else { return }
        self.observe(outcome, self.follower.age)
        let isNews = self.last.withLock { last in
            defer { last = outcome }
            return last != outcome
        }
        if isNews { self.log(outcome) }
    }

    private func log(_ outcome: RevocationFollower.Outcome) {
        let url: Logger.Metadata = ["url": "\(UpstreamAddress.shown(self.follower.url))"]
        switch outcome {
        case .applied(let count):
            self.logger.info("list of revocations in force", metadata: url.merging(["entries": "\(count)"]) { $1 })
        case .unchanged: break
        case .failed(let why):
            self.logger.error(
                "the list of revocations stays as it is", metadata: url.merging(["error": "\(why)"]) { $1 })
        }
    }
}
