// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import FleetTokens
import Foundation
public import Logging
public import ServiceLifecycle
import SwiftProtobuf

/// Writes every call of an engine to a file, one log entry on each line, in the format of Cloud Logging exports.
///
/// Tokens are not part of it. Others may add to the file, or cut it short, meanwhile. A call never waits for the file: when
/// the disk is slower than the callers, calls are left out and counted.
public final class CallRecorder: Service {
    private let file: FileHandle
    private let path: String
    private let lines: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private let maximumWaiting: Int
    private let waiting = Locked(0)
    /// How many calls are missing since that was last over, and when the latest of them was.
    private let missing = Locked((calls: 0, latest: Date.distantPast))
    private let failures: RecurringLog
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let append: @Sendable (_ line: [UInt8], _ file: FileHandle) throws -> Void

    /// How many bytes wait to be written.
    var bytesWaiting: Int { self.waiting.withLock { $0 } }

    /// Opens the file, and makes it where it is missing; what is in it stays.
    ///
    /// - Parameters:
    ///   - path: The file. It tells who went where, so it is made for this user alone; one that is there keeps its mode.
    ///   - logger: Hears of a file that is open to other users, of calls that are left out, every ten seconds at most, and
    ///     when there are none any more.
    ///   - maximumWaiting: How many bytes may wait for the disk; calls beyond that are left out.
    /// - Throws: ``CallRecordingError`` when it cannot be written.
    public convenience init(
        appendingTo path: String, logger: Logger, maximumWaiting: Int = 64 << 20
    ) throws(CallRecordingError) {
        try self.init(appendingTo: path, logger: logger, maximumWaiting: maximumWaiting, now: { Date() })
    }

    init(
        appendingTo path: String, logger: Logger, maximumWaiting: Int, now: @escaping @Sendable () -> Date,
        append: @escaping @Sendable ([UInt8], FileHandle) throws -> Void = { try CallRecorder.append($0, to: $1) }
    ) throws(CallRecordingError) {
        self.file = try Self.file(appendingTo: path)
        self.path = path
        self.failures = RecurringLog("a call is missing in the recording", level: .error, logger: logger, now: now)
        self.logger = logger
        self.now = now
        self.append = append
        self.maximumWaiting = maximumWaiting
        (self.lines, self.continuation) = AsyncStream.makeStream()
        if FileMode.isOpen(path), FileMode.isRegular(path) {
            logger.warning(
                "the recording is open to other users", metadata: ["file": "\(path)", "next": "chmod 600 \(path)"])
        }
    }

    /// Opens the file so that all that is written goes to its end, wherever that is by then.
    static func file(appendingTo path: String) throws(CallRecordingError) -> FileHandle {
        let descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        let error = CallRecordingError("cannot be written; name a file in a folder that exists and is writable")
        guard descriptor >= 0 else { throw error }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard (try? file.seekToEnd()) != nil else { throw error }
        return file
    }

    /// Adds a line, in one write; it begins anew after one that was left torn, by a full disk or a recorder that was
    /// killed.
    static func append(_ line: [UInt8], to file: FileHandle) throws {
        let newline = Data([UInt8(ascii: "\n")])
        let end = try file.seekToEnd()
        if end > 0 { try file.seek(toOffset: end - 1) }
        let isTorn = try end > 0 && file.read(upToCount: 1) != newline
        try file.write(contentsOf: (isTorn ? newline : Data()) + line + newline)
    }

    /// Writes until graceful shutdown, and then what is left.
    public func run() async throws {
        await withGracefulShutdownHandler {
            for await line in self.lines {
                self.waiting.withLock { $0 -= line.count }
                do {
                    try self.append(line, self.file)
                    self.tellIfNoneIsMissing()
                } catch {
                    self.miss(because: "\(error)")
                }
            }
        } onGracefulShutdown: {
            self.finish()
        }
        try self.file.close()
    }

    /// Takes no more calls; ``run()`` returns once those taken are written.
    func finish() {
        self.continuation.finish()
    }

    /// Keeps one call.
    func record(
        _ method: FleetMethod, _ request: some Message, _ answer: Result<some Message, EngineError>, at time: Date
    ) {
        let response = try? answer.get()
        let failure: LoggedCall.Failure? =
            if case .failure(let error) = answer { .init(status: error.code.rawValue, message: error.message) } else {
                nil
            }
        // Calls that are alike in everything, even in their time, are several calls.
        let call = LoggedCall(
            method: method, time: time, request: Self.object(request: request),
            response: response.map { Self.object($0) }, failure: failure, insertID: UUID().uuidString)
        let line = WrittenTokens.replaced(in: JSONValue.object(call.entry).serialized)
        let isTaken = self.waiting.withLock { waiting in
            guard waiting + line.count <= self.maximumWaiting else { return false }
            waiting += line.count
            return true
        }
        if isTaken {
            self.continuation.yield(line)
        } else {
            self.miss(because: "more calls wait for the disk than may")
        }
    }

    private func miss(because error: String) {
        let now = self.now()
        self.missing.withLock { $0 = ($0.calls + 1, now) }
        self.failures.note(error, ["file": "\(self.path)", "error": "\(error)"])
    }

    /// Tells that calls are kept again, once none has been missing for so long that it is not told with each other one.
    private func tellIfNoneIsMissing() {
        let now = self.now()
        let missing = self.missing.withLock { missing in
            let time = now.timeIntervalSince(missing.latest)
            guard missing.calls > 0, !(0..<RecurringLog.interval).contains(time) else { return 0 }
            defer { missing.calls = 0 }
            return missing.calls
        }
        guard missing > 0 else { return }
        self.logger.notice("calls are recorded again", metadata: ["file": "\(self.path)", "missing": "\(missing)"])
    }

    /// The request with its mask as it came: the engine reads paths that messages cannot spell in JSON, and refuses others.
    private static func object(request: some Message) -> JSONObject {
        guard var masked = request as? any MaskedRequest, masked.hasUpdateMask else { return self.object(request) }
        // A comma parts two paths: a path that holds one cannot be told from them.
        let paths = masked.updateMask.paths.filter { !$0.utf8.contains(UInt8(ascii: ",")) }
        masked.clearUpdateMask()
        var object = self.object(masked)
        let spelt = paths.map { FieldName.camelCase(FieldName.snakeCase($0)) }
        object["updateMask"] = .string(spelt.joined(separator: ","))
        return object
    }

    private static func object(_ message: some Message) -> JSONObject {
        let json: [UInt8]? = try? message.jsonUTF8Bytes()
        return json.flatMap { try? JSONValue(parsing: $0).object } ?? JSONObject()
    }
}

/// A request that updates the fields that its mask names.
private protocol MaskedRequest: Message {
    var updateMask: Google_Protobuf_FieldMask { get }
    var hasUpdateMask: Bool { get }
    mutating func clearUpdateMask()
}

extension Maps_Fleetengine_V1_UpdateVehicleRequest: MaskedRequest {}
extension Maps_Fleetengine_V1_UpdateTripRequest: MaskedRequest {}
extension Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest: MaskedRequest {}
extension Maps_Fleetengine_Delivery_V1_UpdateTaskRequest: MaskedRequest {}
