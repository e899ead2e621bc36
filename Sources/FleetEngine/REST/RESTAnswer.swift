// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The answers of the REST adapter.
enum RESTAnswer {
    /// A message as JSON, compressed where its reader takes that.
    static func message(_ json: [UInt8], accepting codings: String?) -> Response {
        var headers = self.headers
        let body = ContentCoding.encode(json, &headers, for: codings)
        return self.json(body, status: .ok, headers: headers)
    }

    /// The description of the interface.
    static var description: Response { self.json(EngineOpenAPI.served, status: .ok, headers: self.headers) }

    /// An error in the envelope of the public API.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - status: The HTTP status, where it is finer than that of the error's code.
    /// - Returns: The response.
    static func error(_ error: EngineError, status: HTTPResponse.Status? = nil) -> Response {
        let status = status ?? HTTPResponse.Status(code: error.code.status.http)
        let info: JSONObject = [
            "@type": .string("type.googleapis.com/google.rpc.ErrorInfo"),
            "reason": .string(error.reason),
            "domain": .string(EngineError.domain),
            "metadata": .object(JSONObject(error.metadata.mapValues(JSONValue.string))),
        ]
        let envelope = JSONValue.object([
            "error": .object([
                "code": .integer(Int64(status.code)),
                "message": .string(error.message),
                "status": .string(error.code.rawValue),
                "details": .array([.object(info)]),
            ])
        ])
        var headers = self.headers
        if error.code == .unauthenticated { headers[.wwwAuthenticate] = "Bearer" }
        return self.json(envelope.serialized, status: status, headers: headers)
    }

    /// The fields of every answer.
    private static let headers: HTTPFields = [
        .contentType: "application/json; charset=UTF-8", .cacheControl: "no-store",
    ]

    private static func json(_ json: [UInt8], status: HTTPResponse.Status, headers: HTTPFields) -> Response {
        Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }
}
