// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Who may use the admin API: holders of an administrator's secret, and users of an identity provider with a claim.
public struct Administrators: Sendable {
    /// Which users of an identity provider are administrators.
    public struct Rule: Sendable {
        /// Verifies their ID tokens.
        public var provider: any CallerAuthenticator
        /// The claim that tells administrators.
        public var claim: String
        /// The values of which the claim must have one.
        public var values: Set<String>

        /// Describes the users.
        public init(provider: any CallerAuthenticator, claim: String, values: Set<String>) {
            self.provider = provider
            self.claim = claim
            self.values = values
        }
    }

    private let secrets: (any CallerAuthenticator)?
    private let rule: Rule?

    /// Names the administrators.
    ///
    /// - Parameters:
    ///   - secrets: Knows them by bearer secrets; everybody it knows is one.
    ///   - rule: Knows them among the users of an identity provider.
    public init(secrets: StaticBearerAuthenticator?, rule: Rule? = nil) {
        self.secrets = secrets
        self.rule = rule
    }

    /// Names the administrators.
    ///
    /// - Parameters:
    ///   - file: Knows them by bearer secrets, and may change.
    ///   - rule: Knows them among the users of an identity provider.
    init(file: CallersFile?, rule: Rule?) {
        self.secrets = file
        self.rule = rule
    }

    /// The administrator who sent a request.
    ///
    /// - Parameter request: What the request says of its sender.
    /// - Returns: The administrator.
    /// - Throws: ``Problem``, or `CancellationError`.
    func administrator(of request: CallerRequest) async throws -> Caller {
        do {
            if let caller = try await self.secrets?.caller(of: request) { return caller }
            guard let rule, let caller = try await rule.provider.caller(of: request) else {
                throw Problem.unauthenticated
            }
            let values = Set(rule.values.map(ExactText.init))
            let isNamed = caller.values(ofClaim: rule.claim)?.contains { values.contains(ExactText($0)) }
            guard isNamed == true else {
                throw Problem(.permissionDenied, "The claim \(rule.claim) does not make this user an administrator.")
            }
            return caller
        } catch is CallerRefusal {
            throw Problem.unauthenticated
        } catch let error as Problem {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw Problem.unavailable.saying("Who sends this cannot be found out now; try again.")
        }
    }
}
