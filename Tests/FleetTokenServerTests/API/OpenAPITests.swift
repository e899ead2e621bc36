// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import FleetTokenServer

/// What `/openapi.json` says is what is served.
@Suite struct OpenAPITests {
    private static let document = Result {
        try #require(try JSONValue(parsing: PackageResources.openapi_json).object)
    }

    /// The key of an account of the name that stands for every parameter.
    private static let key = Result { try ServiceAccountKey(generatingFor: "example", projectID: "acme").publicKey() }

    private static func makeRouter(over store: TokenServerStore) throws -> Router<BasicRequestContext> {
        let router = Router()
        let logger = Logger(label: "test")
        let issuer = TokenIssuer(minters: [:])
        let metrics = TokenServerMetrics()
        let key = try Self.key.get()
        TokenRoutes(
            desk: TokenDesk(issuer: issuer, authenticator: OpenAuthenticator(), logger: logger),
            publishedKeys: { [key] }
        ).add(to: router)
        OperationRoutes(
            readiness: Readiness(issuer: issuer, servedRoles: { [] }, store: store, metrics: metrics, logger: logger),
            metrics: metrics
        ).add(to: router)
        try AdminRoutesTests.routes(over: store).add(to: router)
        RevocationRoutes(RevocationPublisher(key: RevocationKey()) { _ in [] }).add(to: router)
        router.add(middleware: UnknownPathMiddleware())
        return router
    }

    /// The documented methods of each documented path, with an example in place of each parameter.
    private static func documented() throws -> [String: Set<String>] {
        let paths = try #require(try self.document.get()["paths"]?.object)
        return Dictionary(
            uniqueKeysWithValues: paths.map { path, item in
                (path, Set((item.object?.keys ?? []).map { $0.uppercased() }))
            })
    }

    @Test func `served and documented paths are the same`() throws {
        let temporary = try TemporaryStore()
        let served = Set(
            try Self.makeRouter(over: temporary.store).routes.map { "/\($0.path)".replacing("//", with: "/") })
        let samples = Set(try Self.documented().keys.filter { $0.hasPrefix("/token/") })
        let kinds = Set(samples.compactMap { $0.split(separator: "/").dropFirst().first.map(String.init) })
        #expect(kinds == Set(TokenRoute.allCases.map(\.rawValue)))
        #expect(served.subtracting(["/token", "/token/**"]) == Set(try Self.documented().keys).subtracting(samples))
    }

    @Test func `exactly the documented methods are taken`() async throws {
        let temporary = try TemporaryStore()
        try await Application(router: try Self.makeRouter(over: temporary.store)).test(.router) { client in
            for (path, methods) in try Self.documented() {
                let path = path.replacing(#/{[a-z_]+}/#, with: "example")
                for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete, .head, .options] {
                    let status = try await client.execute(uri: path, method: method).status
                    #expect((status == .methodNotAllowed) != methods.contains(method.rawValue), "\(method) \(path)")
                    #expect(status != .notFound, "\(method) \(path)")
                }
            }
        }
    }

    @Test func `who asks for the head alone gets what belongs to the answer, without its body`() async throws {
        let temporary = try TemporaryStore()
        try await Application(router: try Self.makeRouter(over: temporary.store)).test(.router) { client in
            let paths = try Self.documented().filter { $0.value.contains("HEAD") }.keys
                .map { $0.replacing(#/{[a-z_]+}/#, with: "example") }
            #expect(paths.count == 13)
            for path in paths + ["/.well-known/jwks/nobody"] {
                let whole = try await client.execute(uri: path, method: .get)
                let head = try await client.execute(uri: path, method: .head)
                #expect(head.status == whole.status, "\(path)")
                #expect(head.headers[.contentType] == whole.headers[.contentType], "\(path)")
                #expect(head.headers[.contentLength] != nil && head.body.readableBytes == 0, "\(path)")
            }
        }
    }

    @Test(arguments: [
        ("/admin/api/assignments", ["holder", "kind", "id", "at", "ending_after", "limit"]),
        ("/admin/api/decisions", ["decision", "subject", "fingerprint", "limit"]),
        ("/admin/api/keys", []), ("/admin/api/revocations", []),
    ])
    func `the parameters of lists are those that are taken`(path: String, names: [String]) async throws {
        let operation = try #require(try Self.document.get()["paths"]?.object?[path]?.object?["get"]?.object)
        #expect((operation["parameters"]?.array ?? []).compactMap { $0.object?["name"]?.string } == names)
        let temporary = try TemporaryStore()
        try await Application(router: try Self.makeRouter(over: temporary.store)).test(.router) { client in
            // No value of one character is good for all of them; one that is not known is told as such.
            let query = (names + ["nonsense"]).map { "\($0)=!" }.joined(separator: "&")
            let answer = try await client.execute(
                uri: "\(path)?\(query)", method: .get, headers: AdminRoutesTests.credential)
            let faults = try JSONValue(parsing: Array(answer.body.readableBytesView)).object?["errors"]?.array ?? []
            let unknown = faults.compactMap(\.object).filter { $0["detail"]?.string?.hasPrefix("There is no ") == true }
            #expect(unknown.map { $0["parameter"] } == [.string("nonsense")])
        }
    }

    @Test(arguments: [
        "/v1/token", "/", "/.well-known/revocation", "/admin/api", "/token", "/token/nope", "/token/driver/a/b%2Fc/",
    ])
    func `what no route takes is a problem, or the sample routes' refusal`(path: String) async throws {
        let temporary = try TemporaryStore()
        try await Application(router: try Self.makeRouter(over: temporary.store)).test(.router) { client in
            let answer = try await client.execute(uri: path, method: .get)
            let body = try JSONValue(parsing: Array(answer.body.readableBytesView)).object
            guard !path.hasPrefix("/token") else {
                #expect(body?["error"] != nil)
                return
            }
            #expect(answer.status == .notFound)
            #expect(answer.headers[.contentType] == "application/problem+json")
            #expect(body?["code"] == .string("not_found"))
            let head = try await client.execute(uri: path, method: .head)
            #expect(head.status == .notFound && head.body.readableBytes == 0)
        }
    }

    @Test func `a list of what is withdrawn that cannot be read is unavailable, and said so`() async throws {
        struct Away: Error {}
        let router = Router()
        RevocationRoutes(RevocationPublisher(key: RevocationKey()) { _ in throw Away() }).add(to: router)
        try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(uri: "/.well-known/revocations", method: .get)
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.headers[.retryAfter] == "2")
            let body = try JSONValue(parsing: Array(answer.body.readableBytesView)).object
            #expect(body?["code"] == .string("unavailable"))
            #expect(body?["detail"]?.string == "What is withdrawn cannot be read or signed now; try again.")
        }
    }

    @Test func `the document names every kind of problem, role and resource`() throws {
        let schemas = try #require(try Self.document.get()["components"]?.object?["schemas"]?.object)
        func words(_ schema: JSONObject?, _ property: String) -> Set<String> {
            Set((schema?["properties"]?.object?[property]?.object?["enum"]?.array ?? []).compactMap(\.string))
        }
        #expect(words(schemas["Problem"]?.object, "code") == Set(ProblemKind.allCases.map(\.rawValue)))
        #expect(
            Set((schemas["ResourceKind"]?.object?["enum"]?.array ?? []).compactMap(\.string))
                == Set(AssignedResource.kinds))
        #expect(words(schemas["IssuedToken"]?.object, "role") == Set(PolicyTarget.roles.map(\.rawValue)))
        let requests = try #require(schemas["TokenRequest"]?.object?["oneOf"]?.array).compactMap(\.object)
        let roles = requests.compactMap { $0["properties"]?.object?["role"]?.object?["const"]?.string }
        #expect(roles.sorted() == PolicyTarget.roles.map(\.rawValue).sorted())
        let members = requests.flatMap { $0["properties"]?.object?.keys ?? [] }
        #expect(Set(members) == TokenRequest.members)
    }

    /// One without a body is whole with its head.
    @Test func `what takes a body may be answered that it came too slowly`() throws {
        let paths = try #require(try Self.document.get()["paths"]?.object)
        var count = 0
        for (path, item) in paths {
            for (method, operation) in item.object ?? [:] where operation.object?["requestBody"] != nil {
                #expect(operation.object?["responses"]?.object?["408"] != nil, "\(method) \(path)")
                count += 1
            }
        }
        #expect(count > 0)
    }

    @Test func `an open server gives every token that can be asked for`() async throws {
        let schemas = try #require(try Self.document.get()["components"]?.object?["schemas"]?.object)
        let requests = try #require(schemas["TokenRequest"]?.object?["oneOf"]?.array).compactMap(\.object)
        let signer = try LocalSigner(try #require(try TokenRoutesTests.keys.get()[.driver]))
        let minters = Dictionary(
            uniqueKeysWithValues: PolicyTarget.roles.map { ($0, TokenMinter(signer: signer)) })
        let router = Router()
        TokenRoutes(
            desk: TokenDesk(
                issuer: TokenIssuer(minters: minters), authenticator: OpenAuthenticator(),
                logger: Logger(label: "test")),
            publishedKeys: { [] }
        ).add(to: router)
        try await Application(router: router).test(.router) { client in
            for request in requests {
                var body = JSONObject()
                for (name, schema) in try #require(request["properties"]?.object) {
                    body[name] = schema.object?["const"] ?? .string("example")
                }
                let answer = try await client.execute(
                    uri: "/v1/tokens", method: .post, headers: [.contentType: "application/json"],
                    body: ByteBuffer(bytes: JSONValue.object(body).serialized))
                #expect(answer.status == .ok, "\(body["role"]?.string ?? "no role")")
            }
        }
    }

    @Test func `callers are known by what they send, by certificates and by proxies`() throws {
        let document = try Self.document.get()
        let schemes = try #require(document["components"]?.object?["securitySchemes"]?.object)
        #expect(schemes["certificate"]?.object?["type"] == .string("mutualTLS"))
        #expect(schemes["caller"]?.object?["type"] == .string("http"))
        #expect(schemes["caller"]?.object?["description"]?.string?.contains("callers.proxy") == true)
        let alternatives: [JSONValue] = [.object(["caller": .array([])]), .object(["certificate": .array([])])]
        #expect(document["security"] == .array(alternatives))
    }

    @Test func `it is served as it is kept`() async throws {
        let temporary = try TemporaryStore()
        try await Application(router: try Self.makeRouter(over: temporary.store)).test(.router) { client in
            let answer = try await client.execute(uri: "/openapi.json", method: .get)
            #expect(answer.status == .ok)
            #expect(Array(answer.body.readableBytesView) == PackageResources.openapi_json)
        }
    }
}
