// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetDriver
import FleetTokenClient
import FleetTokens
import Foundation

/// `fleetpass simulate`: many vehicles on real routes, to size a deployment.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Drive a simulated fleet on real routes for a time, and measure it.",
        discussion: """
            Example:  fleetpass simulate --vehicles 200 --trips 30 --for 60s \
            --create-with data/service-accounts/server.json

            Every vehicle fetches its own tokens and reports over REST, as a driver's app does, in one process and over a \
            few connections; each trip has a customer who watches it. Gives a summary at the end; ends with 1 when the \
            engine took no update, or with 69 when nothing was reached. Once the vehicles are there, SIGINT and SIGTERM \
            begin the end at once, with vehicles offline, trips over and the summary; a second one waits for nothing.
            """
    )

    @Option(help: "How many vehicles drive; they are called sim-1 and so on.")
    var vehicles: Int = 10

    @Option(help: ArgumentHelp("Trips a minute, over the whole fleet: 0, or 0.001 to 6000.", valueName: "rate"))
    var trips: Double = 0

    @Option(name: .customLong("for"), help: ArgumentHelp("How long, such as 60s, 10m or 1h.", valueName: "time"))
    var time: DurationArgument = DurationArgument(.seconds(60))

    @Option(help: "Seconds between a vehicle's reports, 5 to 60.")
    var interval: Int = 5

    @Option(help: "How many times faster than recorded the vehicles drive, 0.001 to 1000.")
    var speed: Double = 1

    @Option(help: ArgumentHelp("The most updates a second that the fleet may send.", valueName: "rate"))
    var maxRate: Double = 200

    @Option(
        help: ArgumentHelp(
            "Create the vehicles and the trips with this service account's key file of the role server; without it the "
                + "vehicles must exist.", valueName: "file"),
        completion: .file())
    var createWith: String?

    @Option(help: "text for people; json for programs.")
    var output: OutputFormat = .text

    @OptionGroup var addresses: FleetAddressOptions

    func validate() throws {
        guard (1...100_000).contains(self.vehicles) else { throw ValidationError("--vehicles must be 1 to 100000.") }
        // The time between rarer ones would be more than can be counted.
        guard self.trips == 0 || (0.001...6_000).contains(self.trips) else {
            throw ValidationError("--trips must be 0, or 0.001 to 6000 a minute.")
        }
        guard (5...60).contains(self.interval) else { throw ValidationError("--interval must be 5 to 60.") }
        // Faster, a fleet would be busy with fixes that are never sent.
        guard (0.001...1_000).contains(self.speed) else { throw ValidationError("--speed must be 0.001 to 1000.") }
        try OptionRules.need(
            self.trips == 0 || self.createWith != nil, "--trips needs --create-with: trips are made by a backend.")
        let rate = Double(self.vehicles) / Double(self.interval)
        try OptionRules.need(
            rate <= self.maxRate,
            """
            \(self.vehicles) vehicles every \(self.interval) s are \(rate.formatted()) updates a second, and \
            --max-rate is \(self.maxRate.formatted()); raise it, or take fewer vehicles.
            """)
    }

    func run() async throws {
        let meter = FleetMeter()
        let transport = MeteredTransport(transport: ClientTransport(), meter: meter)
        let provider = try self.addresses.effectiveProvider
        let engine = try self.addresses.engineURL
        let fleet = try SimulatedFleet(
            size: self.vehicles,
            speed: self.speed,
            interval: .seconds(self.interval),
            maxRate: self.maxRate,
            provider: provider,
            engine: engine,
            tokens: self.addresses.tokens(
                transport: transport, configuration: .init(capacity: self.vehicles + 10_000)),
            transport: transport,
            backend: self.createWith.map {
                try FleetBackend(
                    keyFile: $0, type: .server, provider: provider, engine: engine, transport: transport)
            },
            meter: meter
        )
        do {
            try await Self.create(fleet)
        } catch {
            try self.give(SimulationSummary(meter.counts, vehicles: 0, time: .zero))
            throw error
        }

        let time = await RunningTime(self.time.duration)
        let start = ContinuousClock.now
        let progress = Task { await self.showProgress(meter, since: start) }
        await fleet.drive(for: time, tripsPerMinute: self.trips)
        progress.cancel()
        await progress.value
        let counts = meter.counts
        try self.give(SimulationSummary(counts, vehicles: self.vehicles, time: ContinuousClock.now - start))
        time.endProcessIfInterrupted()
        try Self.check(counts)
    }

    private static func create(_ fleet: SimulatedFleet) async throws {
        do {
            try await fleet.create()
        } catch let error as EngineFailure {
            throw CommandFailure(status: .failed, message: "the vehicles were not created: \(error)".shown())
        } catch let error as TokenClientError {
            throw CommandFailure(status: .unreachable, message: "the engine is not reached: \(error.message)")
        }
    }

    private func give(_ summary: SimulationSummary) throws {
        switch self.output {
        case .text: Console.give(summary.text)
        case .json: try Console.give(json: summary)
        }
    }

    /// Refuses a drive of which the engine took nothing.
    private static func check(_ counts: FleetMeter.Counts) throws(CommandFailure) {
        guard counts.taken == 0 else { return }
        let cause = counts.firstFailure.map { " The first to fail: \($0.told)" } ?? ""
        let status = counts.firstFailure.map { CommandFailure.Status($0) } ?? .unreachable
        throw CommandFailure(
            status: counts.refused > 0 ? .failed : status, message: "the engine took no update.\(cause)".shown())
    }

    private func showProgress(_ meter: FleetMeter, since start: ContinuousClock.Instant) async {
        guard Console.isTerminal else { return }
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let counts = meter.counts
            let seconds = Int((ContinuousClock.now - start) / .seconds(1))
            Console.replace(
                "\(seconds) of \(Int(self.time.duration / .seconds(1))) s: \(counts.taken) updates taken, "
                    + "\(counts.refused + counts.lost + counts.withoutToken) not, \(counts.tokensFetched) tokens, "
                    + "\(counts.tripsCompleted) of \(counts.tripsCreated) trips done")
        }
        Console.replace("")
    }
}

/// A length of time on the command line: a whole number with `s`, `m` or `h`.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600]
        guard let unit = argument.last.flatMap({ units[$0] }), let count = Int(argument.dropLast()),
            (1...(86_400 / unit)).contains(count)
        else { return nil }
        self.duration = .seconds(count * unit)
    }

    var defaultValueDescription: String { "\(Int(self.duration / .seconds(1)))s" }
}
