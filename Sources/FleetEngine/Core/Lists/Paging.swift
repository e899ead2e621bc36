// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// A request for one page of a list.
protocol PagedRequest: Message {
    var pageSize: Int32 { get set }
    var pageToken: String { get set }
    mutating func clearHeader()
}

extension Maps_Fleetengine_V1_ListVehiclesRequest: PagedRequest {}
extension Maps_Fleetengine_V1_SearchTripsRequest: PagedRequest {}
extension Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesRequest: PagedRequest {}
extension Maps_Fleetengine_Delivery_V1_ListTasksRequest: PagedRequest {}

/// Where a page begins and how long it is.
///
/// A page begins after an id, so that what is created or deleted meanwhile moves nothing else between pages. Its token
/// names the query by a digest and is refused with another one.
struct Paging: Sendable {
    /// How many bytes of resources a page has at most, unless one alone has more; clients of gRPC take 4 MiB unless told
    /// otherwise.
    static let maximumBytes = 3 * 1024 * 1024

    /// The first of some messages, as many as an answer holds; at least one.
    static func whatFits<Content: Message>(_ messages: [Content]) -> [Content] {
        Array(messages.prefix(max(1, self.count(thatFit: messages))))
    }

    /// How many of some messages, from the first on, have no more than ``maximumBytes`` together.
    static func count(thatFit messages: [some Message]) -> Int {
        var bytes = 0
        let end = messages.firstIndex { message in
            let written: [UInt8]? = try? message.serializedBytes()
            bytes += written?.count ?? 0
            return bytes > Self.maximumBytes
        }
        return end ?? messages.count
    }

    private static let defaultSize = 100
    private static let maximumSize = 1000
    private static let digestLength = 8
    private static let headLength = digestLength + 8

    /// The most that the page holds.
    let limit: Int
    /// The id that the page begins after.
    let after: String
    /// How many there are over all pages, counted for the first one; `nil` on that.
    let total: Int?

    private let digest: [UInt8]

    /// Reads which page a request is for.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a negative size, or a token of another query.
    init(_ request: some PagedRequest, of method: FleetMethod) throws(EngineError) {
        guard request.pageSize >= 0 else {
            throw .invalidArgument("page_size is \(request.pageSize); it cannot be negative.", field: "page_size")
        }
        self.limit = request.pageSize == 0 ? Self.defaultSize : min(Int(request.pageSize), Self.maximumSize)
        self.digest = Self.digest(request, method)
        guard !request.pageToken.isEmpty else {
            self.after = ""
            self.total = nil
            return
        }
        guard let bytes = Base64URL.decode(request.pageToken.utf8), bytes.count > Self.headLength,
            bytes.prefix(Self.digestLength).elementsEqual(self.digest),
            let after = String(validating: bytes.dropFirst(Self.headLength), as: UTF8.self), !after.utf8.contains(0)
        else {
            throw .invalidArgument(
                "page_token belongs to another query; repeat the first page's parameters, or start without a token.",
                field: "page_token"
            )
        }
        self.after = after
        self.total = bytes[Self.digestLength..<Self.headLength].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The token of the page that begins after an id.
    func token(after id: String, total: Int) -> String {
        let bytes = self.digest + Self.bytes(UInt64(max(0, total))) + Array(id.utf8)
        return String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// A digest of everything that a request asks but the page itself, FNV-1a.
    ///
    /// It tells mistakes, not forgeries: who forges a token skips in a list that it may read whole.
    private static func digest(_ request: some PagedRequest, _ method: FleetMethod) -> [UInt8] {
        var query = request
        query.pageSize = 0
        query.pageToken = ""
        query.clearHeader()
        // A message that came in can be written.
        let bytes: [UInt8] = (try? query.serializedBytes()) ?? []
        let hash = (Array(method.rawValue.utf8) + [0] + bytes).reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return Self.bytes(hash)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
