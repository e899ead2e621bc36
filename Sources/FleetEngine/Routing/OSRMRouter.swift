// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
public import FleetSigning
import FleetTokens
import Foundation
public import Logging

/// Asks a server that speaks OSRM's HTTP API for ways along the roads, and remembers the answers.
///
/// While the server does not answer, ways are straight lines: after three failures in a row nobody waits for it, and one
/// request at a time looks whether it is back. A leg that it takes too long for counts once, and not at all where another
/// was answered meanwhile.
public final class OSRMRouter: Sendable {
    /// How a router is asked.
    public struct Settings: Hashable, Sendable {
        /// The server's address, without path.
        public var url: String
        /// How long an answer is waited for.
        public var timeLimit: Duration
        /// How many legs are remembered: of 200 points on average, which are about 6 kB, and fewer where there are more.
        public var cachedLegs: Int

        /// Sets the address; leave out what should keep its default.
        public init(url: String, timeLimit: Duration = .milliseconds(500), cachedLegs: Int = 20_000) {
            self.url = url
            self.timeLimit = timeLimit
            self.cachedLegs = cachedLegs
        }

        /// Whether the address is one: http or https, with neither a user, a query nor a fragment.
        var isUsable: Bool {
            guard self.url.utf8.count <= 2048, let parts = URLComponents(string: self.url),
                let host = parts.host, !host.isEmpty, ["http", "https"].contains(parts.scheme?.lowercased())
            else { return false }
            return parts.user == nil && parts.password == nil && parts.query == nil && parts.fragment == nil
        }
    }

    /// The most requests under way; legs beyond are straight lines until the next time they are asked for.
    ///
    /// The transport should have a connection for each, as a request's time limit counts the wait for one.
    static let maximumRequests = 256
    /// The longest leg that is asked for, as the crow flies; nobody's next stop is further, and its way takes long to find.
    static let maximumMeters = 1_000_000.0
    /// How long a leg that took too long is not asked for again.
    static let pause = Duration.seconds(30)

    /// What became of a request.
    private enum Answer {
        case known(KnownRoad)
        case failure(String)
        /// No answer within the time limit.
        case late
    }

    private struct State {
        var cache: RecentRoads<GridLeg>
        var requests: [GridLeg: Task<Bool, Never>] = [:]
        /// The legs that took too long, and when they may be asked for again.
        var late: RecentEntries<GridLeg, Duration>
        var breaker = CircuitBreaker()
        /// How many requests were answered.
        var answers = 0
    }

    private let settings: Settings
    private let transport: any UpstreamTransport
    private let logger: Logger
    private let time: TimeSource
    private let state: Locked<State>

    /// Prepares a router.
    ///
    /// - Parameters:
    ///   - settings: How it is asked.
    ///   - transport: Sends the requests.
    ///   - logger: Hears when the server does not answer any more, and when it does again.
    ///   - clock: What pauses are counted on.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` where the address is none.
    public init(
        _ settings: Settings, transport: any UpstreamTransport, logger: Logger,
        clock: some Clock<Duration> = ContinuousClock()
    ) throws(EngineError) {
        guard settings.isUsable else {
            throw .invalidArgument(
                "The router's address must be written like http://osrm.internal:5000, without user or query.")
        }
        self.settings = settings
        self.transport = transport
        self.logger = logger
        self.time = TimeSource(clock: clock)
        // A router that keeps nothing would ask for the same leg for ever.
        let capacity = max(2, settings.cachedLegs)
        self.state = Locked(State(cache: RecentRoads(capacity: capacity), late: RecentEntries(capacity: capacity)))
    }
}

extension OSRMRouter: RoadRouter {
    /// The way of a leg as the server told it; none where the server knows no road, or the leg is too long.
    public func known(_ leg: RouteLeg) -> KnownRoad? {
        guard leg.start.meters(to: leg.end) <= Self.maximumMeters else { return .noRoad }
        return self.state.withLock { $0.cache[GridLeg(leg)] }
    }

    /// Asks the server, and waits up to the time limit of the settings; a task that is cancelled waits no longer.
    public func learn(_ legs: [RouteLeg]) async -> Bool {
        let (requests, isAnyKnown) = self.requests(for: legs)
        guard !requests.isEmpty else { return isAnyKnown }
        // Each request has its own time limit, so no alarm is needed.
        let outcome: Result<Bool, any Error> = await firstOutcome {
            var hasLearned = isAnyKnown
            for request in requests where await request.value { hasLearned = true }
            return hasLearned
        } orAfter: {
            nil
        }
        return (try? outcome.get()) ?? false
    }

    /// Asks the server and does not wait.
    public func prepare(_ legs: [RouteLeg]) {
        _ = self.requests(for: legs)
    }

    /// The requests for legs, those of others included; what may not be asked now has none.
    ///
    /// Of a leg that was answered since it was found unknown, it tells that it is known.
    private func requests(for legs: [RouteLeg]) -> (requests: [Task<Bool, Never>], isAnyKnown: Bool) {
        let now = self.time.uptime
        var seen: Set<GridLeg> = []
        let wanted = legs.map(GridLeg.init).filter { seen.insert($0).inserted }
        return self.state.withLock { state in
            var isAnyKnown = false
            let requests: [Task<Bool, Never>] = wanted.compactMap { leg in
                guard state.cache[leg] == nil else {
                    isAnyKnown = true
                    return nil
                }
                if let request = state.requests[leg] { return request }
                if let again = state.late[leg], now < again { return nil }
                guard state.requests.count < Self.maximumRequests, let pass = state.breaker.admit(at: now) else {
                    return nil
                }
                // Unstructured on purpose: the answer serves every caller, and writes do not wait for it.
                let request = Task { [answers = state.answers] in await self.ask(leg, pass, after: answers) }
                state.requests[leg] = request
                return request
            }
            return (requests, isAnyKnown)
        }
    }

    /// Asks for a leg, after so many requests were answered; says whether it is known now.
    private func ask(_ leg: GridLeg, _ pass: CircuitBreaker.Pass, after answers: Int) async -> Bool {
        let answer = await self.answer(for: leg)
        let now = self.time.uptime
        let (before, after) = self.state.withLock { state in
            let wasOpen = state.breaker.isOpen
            state.requests[leg] = nil
            switch answer {
            case .known(let road):
                state.cache[leg] = road
                state.answers += 1
                state.breaker.succeed()
            case .failure: state.breaker.fail(pass, at: now)
            case .late:
                // It may be the leg alone, or there is much to do; who looks whether the server is back has to know.
                let isWell = state.answers > answers || state.late[leg] != nil && !wasOpen
                state.late[leg] = now + Self.pause
                if isWell { state.breaker.abandon(pass) } else { state.breaker.fail(pass, at: now) }
            }
            return (wasOpen, state.breaker.isOpen)
        }
        let why: String
        switch answer {
        case .failure(let problem): why = problem
        case .late: why = "no answer within \(self.settings.timeLimit)"
        case .known:
            if before, !after {
                self.logger.notice("the router answers again", metadata: ["url": "\(self.settings.url)"])
            }
            return true
        }
        self.logger.log(
            level: before == after ? .debug : .error, "the router does not answer; ways are straight lines",
            metadata: ["url": "\(self.settings.url)", "error": "\(why)"])
        return false
    }

    private func answer(for leg: GridLeg) async -> Answer {
        let base = self.settings.url.hasSuffix("/") ? String(self.settings.url.dropLast()) : self.settings.url
        let request = UpstreamRequest(
            url: "\(base)/route/v1/driving/\(leg.path)?overview=full&geometries=polyline&annotations=false&steps=false",
            timeout: self.settings.timeLimit, maximumBytes: OSRMAnswer.maximumBytes)
        let start = self.time.uptime
        do {
            let response = try await self.transport.send(request)
            // A point that is on no road is answered with 400 and a word; the server is well.
            guard response.status == 200 || response.status == 400 else {
                return .failure("status \(response.status)")
            }
            let way = try OSRMAnswer(json: response.body, status: response.status).way
            return .known(way.map(KnownRoad.way) ?? .noRoad)
        } catch let error as EngineError {
            return .failure(error.message)
        } catch let error as UpstreamError where error.code == .answerTooLong {
            // The server is well, and the way longer than anybody wants to see.
            return .known(.noRoad)
        } catch {
            let failure = error as? UpstreamError ?? UpstreamError(.unreachable)
            return failure.code == .timedOut || self.time.uptime - start >= self.settings.timeLimit
                ? .late : .failure("it \(failure)")
        }
    }
}

/// A leg between points of a grid of 1e-4 degrees, about 11 m, so that a vehicle that hardly moves asks nothing new.
private struct GridLeg: Hashable, Sendable {
    private let coordinates: [Int32]

    init(_ leg: RouteLeg) {
        self.coordinates = [leg.start.longitude, leg.start.latitude, leg.end.longitude, leg.end.latitude].map {
            Int32(($0 * 1e4).rounded())
        }
    }

    /// The leg as OSRM reads it: longitude, latitude, and the same of the end.
    var path: String {
        let degrees = self.coordinates.map { coordinate in
            let size = coordinate.magnitude
            let fraction = String(size % 10_000)
            return (coordinate < 0 ? "-" : "") + "\(size / 10_000)."
                + String(repeating: "0", count: 4 - fraction.count) + fraction
        }
        return "\(degrees[0]),\(degrees[1]);\(degrees[2]),\(degrees[3])"
    }
}
