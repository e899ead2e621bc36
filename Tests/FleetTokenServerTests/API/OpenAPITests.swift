// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

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
            readiness: Readiness(issuer: issuer, roles: [], store: store, metrics: metrics, logger: logger),
            metrics: metrics
        ).add(to: router)
        try AdminRoutesTests.routes(over: store).add(to: router)
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

    @Test func `it is served as it is kept`() async throws {
        let temporary = try TemporaryStore()
        try await Application(router: try Self.makeRouter(over: temporary.store)).test(.router) { client in
            let answer = try await client.execute(uri: "/openapi.json", method: .get)
            #expect(answer.status == .ok)
            #expect(Array(answer.body.readableBytesView) == PackageResources.openapi_json)
        }
    }
}
