// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetTokens
import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
import NIOCore
public import ServiceLifecycle

/// A page that shows the engine at work: vehicles moving, the life of their tokens, refusals check by check.
///
/// It shows every vehicle to whoever opens it, so it belongs on a developer's own machine only. It asks no other host
/// for anything unless tiles are configured, and shows fingerprints, never tokens. It moves while ``run()`` runs.
public struct EnginePage: Service {
    private let engine: Engine
    private let provider: ProviderID
    private let files: PageFiles
    private let feed: PageFeed
    private let logger: Logger

    /// Makes the page of one provider.
    ///
    /// - Parameters:
    ///   - engine: The engine to show.
    ///   - provider: Whose resources and callers are shown.
    ///   - options: What it may show beyond that.
    ///   - logger: Hears when the page can no longer be kept up to date.
    public init(
        engine: Engine, provider: ProviderID, options: PageOptions = PageOptions(),
        logger: Logger = Logger(label: "fleetpass.page") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.engine = engine
        self.provider = provider
        self.files = PageFiles(options: options)
        self.feed = PageFeed(run: String(UInt64.random(in: .min ... .max), radix: 36))
        self.logger = logger
    }

    /// Reads the engine's state each second and sends what changed, until shutdown.
    public func run() async {
        let isFailing = Locked(false)
        await untilShutdown(every: .seconds(1)) {
            let fails = await self.update(afterFailure: isFailing.withLock { $0 })
            isFailing.withLock { $0 = fails }
        }
        self.feed.close()
    }

    /// Reads the engine's state once and sends what changed.
    ///
    /// Where that fails, readers keep what they have and get a sign of life, which tells those that went from the others.
    ///
    /// - Parameter isFailing: Whether the time before failed, too, so that it need not be told again.
    /// - Returns: Whether it failed.
    func update(afterFailure isFailing: Bool) async -> Bool {
        do {
            let state = try await PageState(of: self.engine, provider: self.provider)
            try self.feed.publish(state, at: self.engine.now())
            return false
        } catch {
            self.feed.beat(at: self.engine.now())
            if !isFailing, !Task.isCancelled {
                self.logger.error("The page cannot be kept up to date", metadata: ["error": "\(error)"])
            }
            return true
        }
    }

    /// Adds `/`, `/share/…` and everything below `/page/`.
    ///
    /// The body of a request for events must arrive as it came: middleware that replaces it hides that its sender left.
    ///
    /// - Parameter router: The router to add to; it must stand at the root.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        self.files.add(to: router)
        router.getAndHead("/page/settings") { _, _ in
            try self.json(
                Settings(
                    provider: self.provider.value, profile: self.engine.watch.profile.rawValue,
                    hasLeaflet: self.files.hasLeaflet,
                    leafletFolder: self.files.options.leafletFolder,
                    tiles: self.files.options.tiles.map(Settings.Tiles.init)))
        }
        router.getAndHead("/page/matrix") { _, _ in try self.json(PageMatrix()) }
        router.getAndHead("/page/state") { _, _ in
            try self.json(await PageState(of: self.engine, provider: self.provider))
        }
        router.get("/page/events") { request, _ in self.events(for: request) }
    }

    private struct Settings: Encodable {
        struct Tiles: Encodable {
            let template: String
            let attribution: String

            init(_ source: TileSource) {
                self.template = source.template
                self.attribution = source.attribution
            }
        }

        let provider: String
        let profile: String
        let hasLeaflet: Bool
        let leafletFolder: String
        let tiles: Tiles?
    }

    private func json(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return self.files.answer([UInt8](try encoder.encode(value)), type: "application/json")
    }

    private func events(for request: Request) -> Response {
        guard !self.feed.isFull else {
            return Response(
                status: .serviceUnavailable, headers: [.retryAfter: "5", .contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(
                    byteBuffer: ByteBuffer(
                        string: "\(PageFeed.maximumReaders) pages are open already; close one and try again.\n")))
        }
        let lastEventID = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
        let body = ResponseBody { writer in
            if let reader = try self.feed.join(after: lastEventID, at: self.engine.now()) {
                defer { self.feed.leave(reader) }
                // Who closed its end has gone; a write would tell so only at the next event, or at the one after.
                try await request.body.consumeWithInboundCloseHandler { _ in
                    try await self.write(reader, to: &writer)
                } onInboundClosed: {
                    self.feed.leave(reader)
                }
            }
            try await writer.finish(nil)
        }
        var headers = self.files.headers(type: "text/event-stream")
        // nginx would keep events until it has some kilobytes of them.
        if let buffering = HTTPField.Name("X-Accel-Buffering") { headers[buffering] = "no" }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// Hands a writer to the one task that writes; it needs no lock, as the task that gave it waits meanwhile.
    private struct Handover: @unchecked Sendable {
        let writer: any ResponseBodyWriter
    }

    /// Writes a reader's events until they end, or until the reader is let go in the middle of a write.
    private func write(_ reader: PageFeed.Reader, to writer: inout any ResponseBodyWriter) async throws {
        let handover = Handover(writer: writer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var writer = handover.writer
                try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
                for await part in reader.opening {
                    try await writer.write(ByteBuffer(string: part))
                    self.feed.noteProgress(of: reader)
                }
                try self.feed.follow(reader, at: self.engine.now())
                for await event in reader.events { try await writer.write(ByteBuffer(string: event)) }
            }
            group.addTask { for await _ in reader.end {} }
            try await group.next()
            group.cancelAll()
        }
    }
}
