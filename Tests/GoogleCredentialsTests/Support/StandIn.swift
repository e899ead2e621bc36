// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

@testable import GoogleCredentials

/// Identity services without a network: answers by URL, and remembers what was asked.
final class StandIn: UpstreamTransport {
    typealias Handler = @Sendable (UpstreamRequest, Int) async throws -> UpstreamResponse

    private let seen = Locked<[UpstreamRequest]>([])
    private let handler: Locked<Handler>

    init(_ handler: @escaping Handler = Google.answer) {
        self.handler = Locked(handler)
    }

    var requests: [UpstreamRequest] { self.seen.withLock { $0 } }

    /// The requests whose URL holds a text.
    func requests(to part: String) -> [UpstreamRequest] { self.requests.filter { $0.url.contains(part) } }

    func answer(_ handler: @escaping Handler) { self.handler.withLock { $0 = handler } }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let index = self.seen.withLock { seen in
            seen.append(request)
            return seen.count - 1
        }
        return try await self.handler.withLock { $0 }(request, index)
    }
}

extension UpstreamRequest {
    /// The body as a form.
    var form: [String: String] {
        var form: [String: String] = [:]
        for pair in String(decoding: self.body ?? [], as: UTF8.self).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            form[String(parts[0])] = String(parts[1]).removingPercentEncoding
        }
        return form
    }

    /// The body as a JSON object.
    var json: JSONObject { (try? JSONValue(parsing: self.body ?? []))?.object ?? [:] }

    func header(_ name: String) -> String? { self.headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

extension UpstreamResponse {
    static func json(
        _ object: JSONObject, status: Int = 200, headers: [(name: String, value: String)] = []
    ) -> Self {
        Self(status: status, headers: headers, body: JSONValue.object(object).serialized)
    }

    static func metadata(_ text: String, status: Int = 200) -> Self {
        Self(status: status, headers: [("metadata-flavor", "Google")], body: Array(text.utf8))
    }
}
