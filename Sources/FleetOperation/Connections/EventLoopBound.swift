// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import HummingbirdCore
import Logging
import NIOCore

extension HTTPServerBuilder {
    /// A server of HTTP/1.1 that works on a connection's requests on the event loop that reads them.
    ///
    /// It suits services of which nothing blocks, such as the token server's routes and the engine's.
    ///
    /// - Parameter configuration: The limits of connections.
    /// - Returns: What Hummingbird's `Application` takes as its server.
    public static func http1OnEventLoops(configuration: HTTP1Channel.Configuration = .init()) -> HTTPServerBuilder {
        HTTPServerBuilder { EventLoopBound(HTTP1Channel(responder: $0, configuration: configuration)) }
    }
}

/// Works on a connection's requests on the event loop that reads them.
///
/// A request then changes threads only where it waits, as for the disk: on one processor, a change of threads for each
/// read and each answer costs as much as parsing the request.
struct EventLoopBound<Connection: ServerChildChannel>: ServerChildChannel {
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection.Value> {
        self.connection.setup(channel: channel, logger: logger)
    }

    @concurrent func handle(value: Connection.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopTaskExecutor(value.channel.eventLoop)) {
            await self.connection.handle(value: value, logger: logger)
        }
    }
}

/// Runs tasks on an event loop, between its reads and writes.
private final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
