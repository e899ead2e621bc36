// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient
import Foundation

/// The last update of a shift did not reach the engine.
private struct UnfinishedShift: Error, CustomStringConvertible {
    var description: String { "the last update failed; the vehicle may still be online" }
}

/// The driver app without a screen: the same session, tokens and shift, along a recorded drive.
@main struct DriverAppCommand {
    @MainActor static func main() async {
        let secret = ProcessInfo.processInfo.environment["FLEETPASS_SECRET"] ?? ""
        guard let options = DriverOptions(arguments: Array(CommandLine.arguments.dropFirst()), secret: secret) else {
            Self.write(DriverOptions.usage, to: .standardError)
            exit(2)
        }
        do {
            try await Self.run(options)
        } catch {
            Self.write("driver-app-cli: \(error)", to: .standardError)
            exit(1)
        }
    }

    @MainActor private static func run(_ options: DriverOptions) async throws {
        let session = options.session
        let tokens = try DriverTokens(session: session)
        let route = try RouteLocationSource(route: Route.read(contentsOf: options.route), speed: options.speed)
        let api = try GMTDRidesharingDriverAPI(
            checking: GMTDDriverContext(
                accessTokenProvider: tokens.authorization, providerID: session.provider, vehicleID: session.vehicle,
                engine: EngineConnection(url: session.engine), locations: route))
        let shift = Shift(api: api, tokens: tokens, vehicle: session.vehicle)
        let (states, sink) = AsyncStream.makeStream(of: ShiftState.self)
        shift.onChange = { sink.yield($0) }
        shift.start(reportingEvery: options.interval)

        var last = ShiftState()
        for await state in states {
            if let event = state.lastTokenEvent, event != last.lastTokenEvent { Self.write("token \(event)") }
            if let update = state.lastUpdate, state.lastUpdateAt != last.lastUpdateAt {
                switch update {
                case .succeeded(let vehicle): Self.write("update \(state.succeeded) succeeded: \(vehicle)")
                case .failed(_, let reason): Self.write("update failed: \(reason)")
                }
            }
            if !state.isTracking, !state.isEnding { break }
            last = state
            if state.isTracking, let reports = options.reports, state.succeeded >= reports { shift.stop() }
        }
        if await shift.signOut() { throw UnfinishedShift() }
    }

    private static func write(_ line: String, to file: FileHandle = .standardOutput) {
        file.write(Data("\(line)\n".utf8))
    }
}
