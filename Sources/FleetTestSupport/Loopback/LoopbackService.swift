// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a ``LoopbackServer`` does with its connections, and what came over them.
struct LoopbackService: Sendable {
    let keepsConnections: Bool
    let answer: @Sendable (LoopbackServer.Request) async -> LoopbackServer.Answer
    let requests = ArrivalLog<LoopbackServer.Request>()
    let opened = ArrivalLog<Void>()
    let ended = ArrivalLog<Void>()

    /// Serves a new connection, on a thread that may block.
    func take(_ connection: LoopbackConnection) {
        self.opened.append(())
        self.serve(connection)
    }

    private func serve(_ connection: LoopbackConnection) {
        // A client that only opens a connection has not asked for anything.
        guard let request = connection.readRequest() else {
            self.ended.append(())
            return
        }
        self.requests.append(request)
        Task {
            let answer = await self.answer(request)
            // Writing may block, which the threads of tasks must not.
            Thread {
                if connection.perform(answer, keepingConnection: self.keepsConnections) {
                    self.serve(connection)
                } else {
                    self.ended.append(())
                }
            }.start()
        }
    }
}
