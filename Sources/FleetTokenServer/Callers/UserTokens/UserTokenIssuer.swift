// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Knows users by tokens of one issuer.
protocol UserTokenAuthenticator: CallerAuthenticator {
    /// What its tokens must say.
    var rules: UserTokenRules { get }
}

/// The authenticators of one issuer's tokens, such as those of a provider's apps with an audience each.
///
/// A token is refused when none of them takes it; whom no single one knows, they do not know together.
struct UserTokenIssuer: CallerAuthenticator {
    private let members: [any UserTokenAuthenticator]

    /// Joins those of one issuer, at the place of the first.
    static func joining(_ members: [any CallerAuthenticator]) -> [any CallerAuthenticator] {
        let users = members.compactMap { $0 as? any UserTokenAuthenticator }
        var joined: [any CallerAuthenticator] = []
        var issuers: Set<ExactText> = []
        for member in members {
            guard let issuer = (member as? any UserTokenAuthenticator)?.rules.issuer else {
                joined.append(member)
                continue
            }
            guard issuers.insert(issuer).inserted else { continue }
            joined.append(Self(members: users.filter { $0.rules.issuer == issuer }))
        }
        return joined
    }

    /// The user as the first knows it that takes the token, whichever of the others cannot be asked.
    func caller(of request: CallerRequest) async throws -> Caller? {
        var nearest: CallerRefusal?
        var failure: (any Error)?
        for member in self.members {
            do {
                if let caller = try await member.caller(of: request) { return caller }
            } catch let refusal as CallerRefusal {
                let isNearer = nearest.map { Self.nearness(of: $0) < Self.nearness(of: refusal) } ?? true
                if isNearer { nearest = refusal }
            } catch let error as CancellationError {
                throw error
            } catch {
                failure = failure ?? error
            }
        }
        // While one cannot be asked, nobody can say that the token is no good.
        if let failure { throw failure }
        if let nearest { throw nearest }
        return nil
    }

    /// How near a refused token is to what is taken; a token of another audience says little to whoever sent it here.
    private static func nearness(of refusal: CallerRefusal) -> Int {
        switch refusal.reason {
        case .algorithm: 0
        case .audience: 1
        case .signature: 2
        default: 3
        }
    }
}
