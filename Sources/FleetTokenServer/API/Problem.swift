// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes
import Hummingbird
import NIOCore

/// An answer that says what went wrong, as `application/problem+json` (RFC 9457).
struct Problem: Error, HTTPResponseError {
    /// One place of the request that is wrong.
    struct Fault: Hashable {
        /// Where in a request something can be.
        enum Place: Hashable {
            /// A JSON pointer into the body as a URI fragment (RFC 6901 §6).
            case pointer(String)
            /// A parameter of the query.
            case parameter(String)
        }

        let place: Place
        let detail: String

        /// The fault as a problem's answer shows it.
        var json: JSONValue {
            switch self.place {
            case .pointer(let pointer): .object(["pointer": .string(pointer), "detail": .string(self.detail)])
            case .parameter(let name): .object(["parameter": .string(name), "detail": .string(self.detail)])
            }
        }
    }

    let kind: ProblemKind
    private(set) var status: HTTPResponse.Status
    private(set) var detail: String
    var faults: [Fault] = []
    /// When to come again, where the answer says.
    let retryAfter: Duration?

    init(_ kind: ProblemKind, _ detail: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.status = kind.status
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// Words what the desk refused.
    init(_ refusal: TokenDeskRefusal) {
        let kind: ProblemKind =
            switch refusal.code.wrapped {
            case .unauthenticated: .unauthenticated
            case .refused: .permissionDenied
            case .limited: .rateLimited
            case .notServed: .roleNotServed
            case .unavailable: .unavailable
            }
        self.init(kind, refusal.message, retryAfter: refusal.retryAfter)
    }

    /// Words what comes too soon.
    init(_ excess: RateLimitExceeded) {
        self.init(.rateLimited, excess.message, retryAfter: excess.retryAfter)
    }

    /// Words a failure by script, whose status need not be that of any kind.
    init(scripted error: RouteError) {
        self.init(ProblemKind(error.status), error.message, retryAfter: error.retryAfter)
        self.status = error.status
    }

    /// A body or a query of which members are wrong; the detail tells the first.
    ///
    /// - Parameters:
    ///   - faults: What is wrong.
    ///   - untold: How many more faults there are.
    init(faults: [Fault], untold: Int) {
        var detail = faults.first?.detail ?? ""
        if faults.count > 1 { detail += " errors tells \(faults.count - 1) more." }
        if untold > 0 { detail += " Another \(untold) are not told." }
        self.init(.invalidRequest, detail)
        self.faults = faults
    }

    /// A sender who is not known.
    static let unauthenticated = Problem(TokenDeskRefusal.unauthenticated)
    /// Something that fails for now.
    static let unavailable = Problem(TokenDeskRefusal.unavailable)

    func response(from request: Request, context: some RequestContext) throws -> Response {
        request.method == .head ? self.response.createHeadResponse() : self.response
    }

    /// The whole answer.
    var response: Response {
        var headers: HTTPFields = [.contentType: "application/problem+json", .cacheControl: "no-store"]
        if self.kind == .unauthenticated { headers[.wwwAuthenticate] = "Bearer" }
        headers[.retryAfter] = self.retryAfter.map(RouteError.retryAfterValue)
        return Response(
            status: self.status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.json.serialized)))
    }

    /// The same problem in other words.
    func saying(_ detail: String) -> Self {
        var problem = self
        problem.detail = detail
        return problem
    }

    /// What the answer says of the problem.
    var json: JSONValue {
        var object: JSONObject = [
            "type": .string("/problems#\(self.kind.rawValue)"),
            "title": .string(self.kind.title),
            "status": .integer(Int64(self.status.code)),
            "detail": .string(self.detail),
            "code": .string(self.kind.rawValue),
        ]
        if !self.faults.isEmpty {
            object["errors"] = .array(self.faults.map(\.json))
        }
        return .object(object)
    }
}
