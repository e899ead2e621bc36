// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The consumer app without a screen: the same session, tokens and follower, until the trip is over.
@main struct ConsumerAppCommand {
    @MainActor static func main() async {
        let secret = ProcessInfo.processInfo.environment["FLEETPASS_SECRET"] ?? ""
        guard let options = ConsumerOptions(arguments: Array(CommandLine.arguments.dropFirst()), secret: secret) else {
            Self.write(ConsumerOptions.usage, to: .standardError)
            exit(2)
        }
        do {
            try await Self.run(options)
        } catch {
            Self.write("consumer-app-cli: \(error)", to: .standardError)
            exit(1)
        }
    }

    @MainActor private static func run(_ options: ConsumerOptions) async throws {
        let session = options.session
        let tokens = try ConsumerTokens(session: session)
        tokens.adopt(for: session)
        let name = "providers/\(session.provider)/trips/\(options.trip)"
        guard let follower = TripFollower(tripName: name, tokens: tokens) else {
            Self.write("consumer-app-cli: \(name) is no trip's name.", to: .standardError)
            exit(2)
        }
        let (states, sink) = AsyncStream.makeStream(of: TripState.self)
        follower.onChange = { sink.yield($0) }
        follower.start()

        var last = TripState()
        for await state in states {
            if let event = state.lastTokenEvent, event != last.lastTokenEvent { Self.write("token \(event)") }
            if let status = state.status, status != last.status { Self.write("trip \(status)") }
            if let problem = state.problem, problem != last.problem { Self.write("trip unknown: \(problem)") }
            if last.isFollowing, !state.isFollowing { return }
            last = state
        }
    }

    private static func write(_ line: String, to file: FileHandle = .standardOutput) {
        file.write(Data("\(line)\n".utf8))
    }
}
