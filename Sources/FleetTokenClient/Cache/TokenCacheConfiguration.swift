// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How tokens are kept and refreshed; every default is the safe choice.
public struct TokenCacheConfiguration: Sendable {
    /// How many subjects are remembered; the least recently used is dropped first.
    public var capacity: Int
    /// The life that every token handed out has while the server answers; the SDKs ask for 5 minutes.
    public var minimumLife: Duration
    /// The remaining life at which a refresh in the background may begin, unless the server names a moment.
    public var refreshBefore: Duration
    /// How long one fetch may take, from reading the store or asking for the app's credentials to the last byte.
    ///
    /// The request to the server gets what is left of it then, less a tenth or 200 ms, whichever is shorter: so a refusal
    /// counts, with its `Retry-After`, whose text does not come in time.
    ///
    /// The default of 8 s is below the drivers' reporting interval of 10 s, so a stuck fetch never delays two reports.
    public var fetchTimeout: Duration
    /// How long a caller who could have a valid token waits for a newer one, counted from the start of the fetch.
    ///
    /// In the last minutes of a token (``minimumLife``) a newer one is worth a short wait, not the caller's whole time
    /// limit. Once it is over, callers get the token in hand while the fetch goes on; with zero they never wait. Callers
    /// for whom there is no valid token wait until the fetch ends; nobody waits longer than ``fetchTimeout``.
    public var patience: Duration
    /// The longest wait after the first failure; it doubles with each further one, and the wait is random below it.
    public var backOffBase: Duration
    /// What the longest wait grows to.
    public var backOffCap: Duration
    /// The longest wait that a server may ask for with `Retry-After`.
    public var retryAfterLimit: Duration
    /// How many refused tokens of one subject may be replaced within a minute.
    public var refusalsPerMinute: Int

    /// Makes a configuration; leave out what should keep its default.
    public init(
        capacity: Int = 1000,
        minimumLife: Duration = .seconds(300),
        refreshBefore: Duration = .seconds(600),
        fetchTimeout: Duration = .seconds(8),
        patience: Duration = .seconds(2),
        backOffBase: Duration = .seconds(1),
        backOffCap: Duration = .seconds(60),
        retryAfterLimit: Duration = .seconds(600),
        refusalsPerMinute: Int = 5
    ) {
        self.capacity = capacity
        self.minimumLife = minimumLife
        self.refreshBefore = refreshBefore
        self.fetchTimeout = fetchTimeout
        self.patience = patience
        self.backOffBase = backOffBase
        self.backOffCap = backOffCap
        self.retryAfterLimit = retryAfterLimit
        self.refusalsPerMinute = refusalsPerMinute
    }

    /// Checks that the settings fit each other.
    func validate() throws(TokenClientError) {
        func require(_ holds: Bool, _ message: String) throws(TokenClientError) {
            guard holds else { throw TokenClientError(code: .invalidConfiguration, message: message) }
        }
        try require(self.capacity >= 1, "capacity is \(self.capacity); it must be at least 1.")
        try require(
            self.minimumLife >= .zero && self.minimumLife <= .seconds(1800),
            "minimumLife is \(self.minimumLife); tokens live an hour, so it must lie between 0 and 1800 seconds."
        )
        try require(
            self.refreshBefore >= self.minimumLife && self.refreshBefore <= .seconds(3600),
            "refreshBefore is \(self.refreshBefore); it must lie between minimumLife and 3600 seconds."
        )
        try require(
            self.fetchTimeout > .zero && self.fetchTimeout <= .seconds(3600),
            "fetchTimeout is \(self.fetchTimeout); it must lie above 0 and up to 3600 seconds."
        )
        try require(
            self.patience >= .zero && self.patience <= .seconds(3600),
            "patience is \(self.patience); it must lie between 0 and 3600 seconds."
        )
        try require(
            self.backOffBase > .zero && self.backOffCap >= self.backOffBase && self.backOffCap <= .seconds(3600),
            "backOffBase is \(self.backOffBase) and backOffCap \(self.backOffCap); "
                + "0 < base <= cap <= 3600 seconds must hold."
        )
        try require(
            self.retryAfterLimit >= .zero && self.retryAfterLimit <= .seconds(86_400),
            "retryAfterLimit is \(self.retryAfterLimit); it must lie between 0 and a day."
        )
        try require(
            (1...1000).contains(self.refusalsPerMinute),
            "refusalsPerMinute is \(self.refusalsPerMinute); it must lie between 1 and 1000."
        )
    }
}
