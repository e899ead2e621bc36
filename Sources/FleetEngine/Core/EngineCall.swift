// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf

/// One RPC as the engine runs it; a type for each, shared by gRPC and REST.
///
/// A call conforms to ``ReadingCall``, ``WritingCall`` or ``UpdatingCall``, never to this protocol alone.
protocol EngineCall: Sendable {
    associatedtype Request: Message & DocumentedRequest
    associatedtype Response: Message & Sendable
    /// What the call finds; the response itself, unless an adapter can do more with its parts.
    associatedtype Answer: Sendable = Response

    /// The RPC.
    static var method: FleetMethod { get }

    /// What the request addresses, from the request alone.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a malformed name, parent or id.
    static func access(_ request: Request) throws(EngineError) -> AccessRequest

    /// What the request addresses, without the ids that stand in fields of their own beside its parent.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a malformed name or parent.
    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest

    /// Answers the call after its token and address were checked.
    ///
    /// - Throws: ``EngineError``, or what the store throws.
    static func run(_ request: Request, _ admission: Admission, on engine: Engine) async throws -> Answer

    /// What the caller gets of an answer.
    static func response(of answer: Answer) -> Response
}

extension EngineCall where Answer == Response {
    static func response(of answer: Response) -> Response { answer }
}

extension EngineCall {
    /// Everything, for a call that has no ids beside its name or parent.
    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest { try self.access(request) }

    /// What the request of a caller addresses.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - token: The caller's token, which was verified.
    /// - Returns: What it addresses, which the token need not open.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a malformed name, parent or id; ``TokenRefusal`` in place of
    ///   the last where the call would be refused with any id.
    static func access(_ request: Request, for token: ExaminedToken) throws -> AccessRequest {
        do throws(EngineError) {
            return try self.access(request)
        } catch let fault {
            let access = try self.accessWithoutIDs(request)
            do throws(TokenRefusal) {
                try access.authorize(token)
            } catch {
                // Whether the claims reach what is addressed, only a good id would tell.
                guard error.reason == .claimMismatch else { throw error }
            }
            throw fault
        }
    }
}

/// What a call may know beside its request and the store.
struct CallContext: Sendable {
    /// The time of the call, which the server stamps on what it stores.
    var now: Date
    /// Estimates ways that no driver reported.
    var routes: any RouteEstimator
    /// Whether the caller may see every vehicle whole; others are shown in a search what a customer may know.
    var seesEveryVehicle: Bool
    /// Whether the caller may read a vehicle, for calls that show more of it to who may.
    var mayRead: @Sendable (VehicleID) -> Bool = { _ in false }
    /// Whether the caller takes no longer answers than ``Paging/maximumBytes``, as clients of gRPC may not.
    var takesPagesOnly = false
    /// Trips as they were shown last; `nil` where the store gives no two readers the same message.
    var views: TripViews?

    /// The same, with ways estimated by another.
    func estimating(by routes: any RouteEstimator) -> CallContext {
        var context = self
        context.routes = routes
        return context
    }
}

/// An RPC that only looks.
protocol ReadingCall: EngineCall {
    /// Answers the call after it was authorized.
    ///
    /// - Throws: ``EngineError``.
    static func run(
        _ request: Request, access: AccessRequest, in store: any EngineReader, context: CallContext
    ) throws -> Answer
}

/// An RPC that changes something.
protocol WritingCall: EngineCall where Answer == Response {
    /// Applies the call after it was authorized.
    ///
    /// - Throws: ``EngineError``, before anything was put.
    static func run(
        _ request: Request, access: AccessRequest, in store: any EngineTransaction, context: CallContext
    ) throws -> Response
}

/// An RPC that changes the fields of a resource that its mask names.
protocol UpdatingCall: EngineCall {
    associatedtype Resource: Message & Sendable

    /// The fields that a mask may name.
    static var fields: FieldTable<Resource> { get }

    /// The mask of a request.
    static func mask(of request: Request) -> Google_Protobuf_FieldMask

    /// Applies the call after it was authorized.
    ///
    /// - Throws: ``EngineError``, before anything was put.
    static func run(
        _ request: Request, _ selection: FieldSelection<Resource>, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Answer
}

extension ReadingCall {
    static func run(_ request: Request, _ admission: Admission, on engine: Engine) async throws -> Answer {
        try await engine.look(admission) { store, context in
            try self.run(request, access: admission.access, in: store, context: context)
        }
    }
}

extension WritingCall {
    static func run(_ request: Request, _ admission: Admission, on engine: Engine) async throws -> Response {
        try await engine.change(admission) { store, context in
            try self.run(request, access: admission.access, in: store, context: context)
        }
    }
}

extension UpdatingCall {
    static func run(_ request: Request, _ admission: Admission, on engine: Engine) async throws -> Answer {
        // A mask may have many paths, and while a transaction reads them nobody else can write.
        let selection = Result { () throws(EngineError) in try self.fields.select(self.mask(of: request)) }
        if !admission.dependsOnTrip { _ = try selection.get() }
        return try await engine.change(admission) { store, context in
            try self.run(request, selection.get(), access: admission.access, in: store, context: context)
        }
    }

    /// The fields that a request names whole: all that can be checked without the resource; `nil` where there is none.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func wholeFields(of request: Request) throws(EngineError) -> FieldSelection<Resource>? {
        let paths = self.mask(of: request).paths.filter { !$0.utf8.contains(UInt8(ascii: ".")) }
        return paths.isEmpty ? nil : try self.fields.select(.with { $0.paths = paths })
    }
}
