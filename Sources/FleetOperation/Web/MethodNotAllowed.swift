// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import HTTPTypes
package import Hummingbird
import NIOCore

/// The answer to a method that a path does not take: which ones it does (RFC 9110 §15.5.6), as
/// `application/problem+json` (RFC 9457).
package struct MethodNotAllowed: HTTPResponseError {
    /// What programs know it by.
    package static let code = "method_not_allowed"
    /// What it is, in words.
    package static let title = "The path takes other methods"

    private let allowed: String
    /// 405.
    package var status: HTTPResponse.Status { .methodNotAllowed }

    /// Makes the answer.
    ///
    /// - Parameter allowed: What the path takes.
    init(_ allowed: [HTTPRequest.Method]) {
        self.allowed = allowed.map(\.rawValue).joined(separator: ", ")
    }

    /// The whole answer, or its head alone.
    package func response(from request: Request, context: some RequestContext) throws -> Response {
        let problem = JSONValue.object([
            "type": .string("/problems#\(Self.code)"),
            "title": .string(Self.title),
            "status": .integer(Int64(self.status.code)),
            "detail": .string("This path takes \(self.allowed)."),
            "code": .string(Self.code),
        ])
        let response = Response(
            status: self.status,
            headers: [.contentType: "application/problem+json", .cacheControl: "no-store", .allow: self.allowed],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: problem.serialized)))
        return request.method == .head ? response.createHeadResponse() : response
    }
}
