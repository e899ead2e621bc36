// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import FleetTokens
public import GoogleCredentials

/// How one role's tokens are signed: for which account, and in which ways, the preferred one first.
public struct SignerSettings: Hashable, Sendable {
    /// The account whose tokens the role's are.
    public enum Account: Hashable, Sendable {
        /// The one that the process runs as, as Application Default Credentials find it.
        case own
        /// One that the process acts as, by its e-mail.
        case email(String)
    }

    /// A way to sign.
    public enum Way: Hashable, Sendable {
        /// With a private key of the account, which this machine has.
        case key
        /// By IAM.
        case iam(IAMMethod)

        /// The word in the configuration and in metrics.
        public var word: String {
            switch self {
            case .key: "key"
            case .iam(let method): method.rawValue
            }
        }

        /// Every way.
        static let all: [Self] = [.key] + IAMMethod.allCases.map(Self.iam)
    }

    /// The role.
    public var role: Role
    /// The account.
    public var account: Account
    /// The ways to sign, the preferred one first; a later one signs where those before it cannot.
    public var ways: [Way]
    /// The accounts between the process's identity and the one that signs, in order.
    public var delegates: [String]
    /// The account's key file; `nil` takes the role's key in the key folder.
    public var keyFile: String?

    /// Describes how a role's tokens are signed.
    ///
    /// - Parameters:
    ///   - role: The role.
    ///   - account: The account whose tokens the role's are.
    ///   - ways: The ways to sign, the preferred one first.
    ///   - delegates: The accounts between the process's identity and the one that signs, in order.
    ///   - keyFile: The account's key file; `nil` takes the role's key in the key folder.
    public init(
        role: Role, account: Account = .own, ways: [Way] = [.iam(.signJwt)], delegates: [String] = [],
        keyFile: String? = nil
    ) {
        self.role = role
        self.account = account
        self.ways = ways
        self.delegates = delegates
        self.keyFile = keyFile
    }
}

/// How Google's services are reached.
public struct GoogleSettings: Hashable, Sendable {
    /// The credential file; `nil` searches as every Google library does.
    public var credentialFile: String?
    /// Where requests to a host really go, as origins by host.
    public var hostOverrides: [String: String]
    /// The signing calls that this process may make in a minute.
    public var callsPerMinute: Int

    /// Describes how Google's services are reached.
    public init(
        credentialFile: String? = nil, hostOverrides: [String: String] = [:],
        callsPerMinute: Int = SigningBudget.defaultCallsPerMinute
    ) {
        self.credentialFile = credentialFile
        self.hostOverrides = hostOverrides
        self.callsPerMinute = callsPerMinute
    }

    /// The signers of these settings.
    ///
    /// - Parameters:
    ///   - variables: The environment, which the search for credentials reads.
    ///   - transport: What sends the requests; by default AsyncHTTPClient, which follows no redirects.
    /// - Returns: The signers, which have asked nothing yet.
    public func signers(
        variables: [String: String], transport: any UpstreamTransport = AsyncHTTPClientTransport()
    ) -> GoogleSigners {
        let context = CredentialContext(
            variables: variables, transport: transport, hostOverrides: self.hostOverrides)
        return GoogleSigners(
            ApplicationDefaultCredentials(
                context: context, explicit: self.credentialFile.map(ApplicationDefaultCredentials.Explicit.file)),
            settings: IAMSigning(budget: SigningBudget(callsPerMinute: self.callsPerMinute)))
    }
}
