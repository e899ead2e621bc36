// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// Fetches tokens from a token server, keeps them, and hands out one that is good for a call made now.
///
/// Make one per app session and share it: callers for the same subject share one fetch, and a token in the cache
/// costs less than a microsecond. Expiry is counted on a clock that no change of the phone's date can move.
///
/// ```swift
/// let tokens = try FleetTokenProvider(endpoint: .fleetpass(serverURL)) {
///     [(name: "Authorization", value: "Bearer \(await session.idToken)")]
/// }
/// let token = try await tokens.token(for: .driver(vehicle))
/// ```
///
/// ## Suspend and resume
///
/// While the system suspends the app nothing runs, and nothing needs to be told to the provider: the clock counts the
/// sleep. At the first call afterwards
/// - a token that ended meanwhile is not handed out, and one whose last five minutes have begun is replaced
///   first if the server answers in time;
/// - a fetch that was under way beyond its time limit is given up: where somebody asks before its timer wakes, those who
///   wait get the new one too, and otherwise `timedOut`;
/// - an answer that comes late is used for what is left of its token, counted from the start of its request.
///
/// An app that wants the token ready before the first report calls ``ensure(valid:for:)`` when it goes to the background
/// and when it comes back.
public final class FleetTokenProvider: TokenProvider {
    /// What the app sends along to say who its user is, as header fields; asked for before each fetch.
    ///
    /// A ``TokenClientError`` that it throws is the callers' error too. A `URLError` becomes `unreachable` or `timedOut`,
    /// also where another error holds it: under `NSUnderlyingErrorKey`, in a property or as a value of its case; and a
    /// `CancellationError` becomes `unreachable`. But `userAuthenticationRequired`, `userCancelledAuthentication` and
    /// anything else become `refused`: the user has to sign in again. Where an app's own error says that the network
    /// failed and holds no `URLError`, throw a ``TokenClientError`` with `unreachable` in its place.
    public typealias Credentials = @Sendable () async throws -> [(name: String, value: String)]
    /// What the app sends along to prove that it is itself, as header fields; asked for after the credentials.
    ///
    /// Its errors are told as those of ``Credentials``.
    public typealias Proof = @Sendable (TokenRequestChallenge) async throws -> [(name: String, value: String)]

    let state: Locked<State>
    let time: MonotonicTime
    let fetcher: TokenFetcher
    let archive: TokenArchive?
    let broadcast = Broadcast<TokenEvent>()

    /// Makes a provider with nothing cached; nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - endpoint: Where tokens come from.
    ///   - transport: What sends the requests; by default, a `URLSession` without cache, cookies and redirects.
    ///   - configuration: How tokens are kept and refreshed.
    ///   - clock: What expiry is counted on; it must count sleep, as `SuspendingClock` does not, and never go back.
    ///   - store: Where tokens outlive the process, if anywhere; they are kept in memory only by default.
    ///   - deviceClock: The phone's date, which is compared with the server's and never decides about expiry in memory.
    ///   - credentials: The app's own session as header fields, asked for before each fetch.
    ///   - proof: A proof of the app's integrity as header fields, such as an App Attest assertion; see
    ///     ``TokenRequestChallenge``.
    /// - Throws: ``TokenClientError`` with `invalidConfiguration`.
    public init<C: Clock>(
        endpoint: TokenEndpoint,
        transport: any HTTPTransport = URLSessionTransport(maximumBodyBytes: TokenEndpoint.maximumAnswerBytes),
        configuration: TokenCacheConfiguration = TokenCacheConfiguration(),
        clock: C = ContinuousClock(),
        store: (any TokenStore)? = nil,
        deviceClock: DeviceClock = DeviceClock(),
        credentials: @escaping Credentials = { [] },
        proof: Proof? = nil
    ) throws(TokenClientError) where C.Duration == Duration {
        try configuration.validate()
        guard !(clock is SuspendingClock) else {
            throw TokenClientError(
                code: .invalidConfiguration,
                message: "SuspendingClock stands still while the device sleeps, so ended tokens would be handed out; "
                    + "use ContinuousClock."
            )
        }
        // Seeded by the system, so that phones do not refresh in step.
        var generator = SystemRandomNumberGenerator()
        let machine = TokenCacheMachine(configuration: configuration, seed: generator.next())
        self.state = Locked(State(machine: machine))
        self.time = MonotonicTime(clock)
        self.fetcher = TokenFetcher(
            endpoint: endpoint, transport: transport, credentials: credentials, proof: proof,
            time: self.time, deviceClock: deviceClock)
        self.archive = store.map { [broadcast] in
            TokenArchive(store: $0, deviceClock: deviceClock, broadcast: broadcast)
        }
    }

    deinit {
        self.broadcast.finish()
    }

    /// A token for the subject, with at least the configured minimum life while the server answers in time.
    ///
    /// In a token's last minutes (``TokenCacheConfiguration/minimumLife``) a caller waits for a newer one, but no longer than
    /// ``TokenCacheConfiguration/patience``: a server that hangs delays nobody who can have a valid token by more. A caller that is cancelled leaves at once; the fetch goes on for the others and for the cache.
    ///
    /// - Parameter subject: Whose token is needed.
    /// - Returns: The token, from the cache or newly fetched.
    /// - Throws: ``TokenClientError``, or `CancellationError` when the calling task was cancelled.
    public func token(for subject: TokenSubject) async throws -> FleetToken {
        if let cached = self.cachedToken(for: subject) { return cached }
        return try await self.call(for: subject, measured: true) { .requested(subject, $0) }.token
    }

    /// The token that a call gets at once, or `nil` where it would have to wait or a refresh is due.
    func cachedToken(for subject: TokenSubject) -> FleetToken? {
        self.state.withLock { state in
            let token = state.machine.freshToken(for: subject, at: self.time.now)
            if token != nil { state.metrics.hits += 1 }
            return token
        }
    }

    /// Makes sure that the token in hand lives so long, before a tunnel or a time in the background.
    ///
    /// Nothing is fetched when it does; otherwise a new one is fetched now, or the fetch under way is awaited. Other
    /// callers are not disturbed: they get the token in hand meanwhile, and nothing that goes wrong here takes it away. A
    /// pause after a failure, or one that the server asked for, holds here too.
    ///
    /// In its last minutes (``TokenCacheConfiguration/minimumLife``) callers wait a little to have a token replaced before
    /// they get it. For answers at once during the whole gap, add those minutes: 45 for a gap of 40.
    ///
    /// ```swift
    /// try await tokens.ensure(valid: .seconds(45 * 60), for: .driver(vehicle))
    /// ```
    ///
    /// - Parameters:
    ///   - life: How long the token must live from now. The engine takes no token that ends more than an hour ahead, and
    ///     servers mint somewhat shorter ones.
    ///   - subject: Whose token it is.
    /// - Returns: How long the token in hand lives from now, which is no less than asked for.
    /// - Throws: ``TokenClientError``, with `lifeUnavailable` when tokens do not live that long; or `CancellationError`
    ///   when the calling task was cancelled.
    @discardableResult
    public func ensure(valid life: Duration, for subject: TokenSubject) async throws -> Duration {
        try await self.call(for: subject, measured: false) { .ensured(subject, $0, life: life) }.life
    }

    /// Says that the service refused a token; it is dropped if it is still the current one and its life is not over.
    ///
    /// - Parameters:
    ///   - token: The token that was refused; a newer one is kept.
    ///   - subject: Whose token it was.
    public func invalidate(_ token: FleetToken, for subject: TokenSubject) {
        self.apply(.invalidated(subject, token))
    }

    /// Ends the pauses after failures, so that the next call fetches at once.
    ///
    /// Call it for what the provider cannot know: that the user has signed in again, or that the network is back, as
    /// `NWPathMonitor` tells. Otherwise a pause lasts up to a minute (``TokenCacheConfiguration/backOffCap``), or as long
    /// as the server asked for (``TokenCacheConfiguration/retryAfterLimit``), which ends too: so do not call it after each
    /// error. Tokens in hand are kept, a fetch under way goes on, and nothing is fetched before somebody asks. When the
    /// next fetch fails, the pauses go on growing; when one under way does, they begin anew. The pause with
    /// `excessiveRefresh` holds.
    public func retryNow() {
        self.apply(.pausesLifted)
    }

    /// Ends the provider at sign-out, so that ``TokenStore/removeAll()`` leaves nothing behind.
    ///
    /// The tokens in hand are forgotten. Calls that wait end with `refused`, as do those that come later. Fetches are
    /// stopped, and what they still bring is thrown away. When this returns, nothing is written to the store any more.
    ///
    /// ```swift
    /// await tokens.close()
    /// try await store.removeAll()
    /// ```
    public func close() async {
        self.endCalls()
        await self.archive?.finishWrites()
    }

    /// The half of ``close()`` that waits for nothing: from its return on no call gets a token.
    package func endCalls() {
        self.apply(.closed)
    }

    /// What happens to the tokens from now on, for logs and metrics.
    ///
    /// - Parameter newest: How many events wait for a slow reader; older ones are dropped.
    /// - Returns: A stream of its own, which ends with the provider.
    public func events(bufferingNewest newest: Int = 64) -> AsyncStream<TokenEvent> {
        self.broadcast.stream(bufferingNewest: newest)
    }

    /// What was done so far.
    public var metrics: TokenMetrics { self.state.withLock(\.metrics) }

    /// How far the phone's date is off, as the last answer of the token server showed it; `nil` before the first.
    public var deviceClockError: DeviceClockError? { self.state.withLock(\.clockWatch.latest) }
}
