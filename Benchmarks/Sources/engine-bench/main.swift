// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Foundation
import NIOCore

// Durable location updates and unchanged trips over REST and gRPC, beside the same servers answering a constant.
// Servers and clients share this process and machine; the ratio in each row is what counts.
//
//   engine-bench [SECONDS [ADDRESS [PROCESS]]]   for each row; ADDRESS of a PostgreSQL database to use instead of a file,
//                                                PROCESS the id of its server, whose processor time is told then
//   engine-bench serve [ADDRESS]                 the engine and the constant, for clients in another process
//   engine-bench messages updates|polls          what a client in another process sends over gRPC
//   engine-bench vehicles [COUNT]                a store with so many vehicles: memory, start, searches, updates

NIOSingletons.groupLoopCountSuggestion = Processors.count

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "vehicles" {
    try await VehiclesBench(count: arguments.dropFirst().first.flatMap(Int.init) ?? 1_000_000).run()
} else if arguments.first == "messages" {
    let kind = arguments.dropFirst().first ?? ""
    guard let messages = try WireMessages(of: kind, clients: ServingBench.clients) else {
        FileHandle.standardError.write(Data("usage: engine-bench messages updates|polls\n".utf8))
        exit(2)
    }
    try FileHandle.standardOutput.write(contentsOf: Data(messages.bytes))
} else if arguments.first == "serve" {
    try await ServingBench(seconds: 0, database: arguments.dropFirst().first, databaseProcess: nil).serve()
} else {
    let seconds = arguments.first.flatMap(Double.init) ?? 4
    let rest = Array(arguments.dropFirst())
    try await ServingBench(
        seconds: seconds, database: rest.first,
        databaseProcess: rest.dropFirst().first.flatMap(Int.init).map(DatabaseProcess.init)
    ).run()
}
