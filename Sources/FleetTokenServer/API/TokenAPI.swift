// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import HTTPTypes
import Hummingbird
import NIOCore

/// `POST /v1/tokens`, its description in `/openapi.json`, and the page `/problems` that its errors refer to.
struct TokenAPI {
    let desk: TokenDesk

    func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.resource("/v1/tokens", [.post: { try await self.issue($0, $1) }])
        router.readResource("/openapi.json") { _, _ in Self.description }
        router.readResource("/problems") { _, _ in Self.problems }
    }

    private func issue(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let type = try TokenRequest.tokenType(of: try await APIBody.object(of: request))
        do {
            let issued = try await self.desk.issue(type, for: CallerRequest(request, context))
            return .uncachedJSON(Self.answer(issued, role: type.role))
        } catch let refusal as TokenDeskRefusal {
            throw Problem(refusal)
        }
    }

    private static func answer(_ issued: IssuedToken, role: Role) -> JSONValue {
        var object: JSONObject = [
            "token": .string(issued.token.compactSerialization),
            "role": .string(role.rawValue),
            "expires_at": .string(APITime.text(issued.expiresAt)),
            "expires_in": .integer(issued.expiresIn.components.seconds),
            "refresh_after": .integer(issued.refreshAfter.components.seconds),
            "fingerprint": .string(issued.token.fingerprint),
        ]
        object["key_id"] = issued.keyID.map(JSONValue.string)
        return .object(object)
    }

    /// The whole server in the words of OpenAPI 3.1.
    private static var description: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "application/json", .cacheControl: "public, max-age=300",
                .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_json)))
    }

    /// What each kind of problem means, where its `type` leads.
    private static var problems: Response {
        let entries = ProblemKind.allCases.map { kind in
            "<h2 id=\"\(kind.rawValue)\">\(kind.status.code) \(kind.rawValue)</h2><p>\(kind.title). \(kind.remedy)</p>\n"
        }
        let page =
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Problems</title>\n"
            + "<h1>What the answers of this server mean</h1>\n" + entries.joined() + "</html>\n"
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "public, max-age=300",
                .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
                .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }
}
