// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// What a user's token must say, whatever it is signed with.
struct UserTokenRules: Sendable {
    /// The authenticator's name in logs, rules and assignments.
    let label: String
    /// The value that `iss` must have.
    let issuer: ExactText
    /// The values of which `aud` must have one.
    let audiences: Set<ExactText>
    /// The clock difference that is forgiven.
    let leeway: Duration
    /// The claim that names the user in logs.
    let nameClaim: String
    let algorithms: Set<UserTokenAlgorithm>

    init(
        label: String, issuer: String, audiences: Set<String>, leeway: Duration, nameClaim: String,
        algorithms: Set<UserTokenAlgorithm>
    ) throws(TokenServerError) {
        func invalid(_ message: String) -> TokenServerError {
            TokenServerError(code: .invalidConfiguration, message: message)
        }
        guard !label.isEmpty, !issuer.isEmpty else {
            throw invalid("An issuer of users' tokens needs a name and an iss.")
        }
        guard !audiences.isEmpty, !audiences.contains("") else {
            throw invalid("The issuer \"\(label)\" has no audience; name the client id that its tokens are made for.")
        }
        guard !audiences.contains(where: UserToken.isFleetEngine(audience:)) else {
            throw invalid("The issuer \"\(label)\" has Fleet Engine's audience; a user's token is never made for it.")
        }
        guard (.zero ... .seconds(300)).contains(leeway) else {
            throw invalid("The leeway of the issuer \"\(label)\" must be between 0 and 300 seconds.")
        }
        self.label = label
        self.issuer = ExactText(issuer)
        self.audiences = Set(audiences.map(ExactText.init))
        self.leeway = leeway
        self.nameClaim = nameClaim
        self.algorithms = algorithms
    }

    /// Reads a request's token if it claims to be of this issuer.
    ///
    /// - Parameter request: What the request says.
    /// - Returns: The token with its algorithm, or `nil` when it is not of this issuer.
    /// - Throws: ``CallerRefusal`` when its header is not one that is accepted.
    func token(of request: CallerRequest) throws(CallerRefusal) -> (token: UserToken, algorithm: UserTokenAlgorithm)? {
        guard let token = request.bearer.flatMap(UserToken.init) else { return nil }
        guard !token.isFleetEngineToken else {
            throw CallerRefusal(.wrongKind, "A Fleet Engine token was sent where a user's token belongs.")
        }
        guard token.issuer.map(ExactText.init) == self.issuer else { return nil }
        guard let algorithm = token.algorithm.flatMap(UserTokenAlgorithm.init), self.algorithms.contains(algorithm)
        else {
            throw CallerRefusal(.algorithm, "The user's token is not signed with an algorithm that is accepted.")
        }
        guard token.type.map({ $0.uppercased() == "JWT" }) ?? true else {
            throw CallerRefusal(.wrongKind, "The user's token has a typ other than JWT.")
        }
        guard !token.hasCriticalParameters else {
            throw CallerRefusal(.malformed, "The user's token names critical header parameters; none is supported.")
        }
        return (token, algorithm)
    }

    /// Judges the claims of a token whose signature holds.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - time: The time now.
    /// - Returns: The caller.
    /// - Throws: ``CallerRefusal`` for the first claim that does not hold.
    func caller(of token: UserToken, at time: Date) throws(CallerRefusal) -> Caller {
        try self.checkAudience(of: token)
        try self.checkTimes(of: token, now: time.timeIntervalSince1970)
        guard let subject = token.claims["sub"]?.string, CallerID.isUsable(subject: subject) else {
            throw CallerRefusal(.incomplete, "The user's token has no sub of 1 to 255 printable ASCII characters.")
        }
        let claims = UserTokenClaims.lists(in: token.claims)
        // A name goes to the log, where a line break would be another line.
        let name = claims[self.nameClaim]?.first { !$0.isEmpty && $0.unicodeScalars.allSatisfy(UserToken.isVisible) }
        return Caller(name: name ?? subject, subject: subject, issuer: self.label, claims: claims)
    }

    private func checkAudience(of token: UserToken) throws(CallerRefusal) {
        let audiences = token.claims["aud"].map { $0.array ?? [$0] } ?? []
        guard audiences.contains(where: self.isOurs) else {
            throw CallerRefusal(.audience, "The user's token is meant for another audience.")
        }
        // What is meant for us alone is ours whoever it was given to: an app asks for its backend's tokens under an
        // id of its own. With several audiences, the one that it was given to must be ours.
        guard audiences.count > 1 else { return }
        guard let party = token.claims["azp"] else {
            throw CallerRefusal(.audience, "The user's token has several audiences and no azp.")
        }
        guard self.isOurs(party) else {
            throw CallerRefusal(.audience, "The user's token was given to another party (azp).")
        }
    }

    /// Whether a value is the text of one of our audiences.
    private func isOurs(_ audience: JSONValue) -> Bool {
        audience.string.map { self.audiences.contains(ExactText($0)) } ?? false
    }

    private func checkTimes(of token: UserToken, now: TimeInterval) throws(CallerRefusal) {
        let leeway = TimeInterval(self.leeway.components.seconds)
        guard let end = try Self.time("exp", of: token) else {
            throw CallerRefusal(.expired, "The user's token has no exp.")
        }
        guard now < end + leeway else { throw CallerRefusal(.expired, "The user's token has expired.") }
        guard let issued = try Self.time("iat", of: token) else {
            throw CallerRefusal(.incomplete, "The user's token has no iat.")
        }
        guard issued <= now + leeway, issued <= end else {
            throw CallerRefusal(.notYetValid, "The user's token is from the future (iat).")
        }
        if let start = try Self.time("nbf", of: token), start > now + leeway {
            throw CallerRefusal(.notYetValid, "The user's token is not valid yet (nbf).")
        }
    }

    private static func time(_ name: String, of token: UserToken) throws(CallerRefusal) -> TimeInterval? {
        switch token.claims[name] {
        case nil: return nil
        case .integer(let seconds): return TimeInterval(seconds)
        case .double(let seconds) where seconds.isFinite: return seconds
        default: throw CallerRefusal(.malformed, "The user's token has a \(name) that is no time.")
        }
    }
}
