// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

/// Writes down the requests that credential files lead to, so that another library's can be compared with them.
///
/// `IntegrationTests/python/test_credentials.py` puts the files into a folder and runs this.
@Suite struct CredentialTraceTests {
    private static let folder = ProcessInfo.processInfo.environment["FLEETPASS_CREDENTIAL_CASES"]

    @Test(.enabled(if: Self.folder != nil, "FLEETPASS_CREDENTIAL_CASES names no folder of credential files."))
    func `the requests of each credential file are written down`() async throws {
        let folder = URL(fileURLWithPath: try #require(Self.folder))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix(".case.json")
        }
        #expect(!names.isEmpty)
        for name in names {
            let data = try Data(contentsOf: folder.appendingPathComponent(name))
            let input = try #require(try JSONValue(parsing: data).object)
            let trace = try await self.trace(of: input).serialized
            let output = name.replacing(".case.json", with: ".trace.json")
            try Data(trace).write(to: folder.appendingPathComponent(output))
        }
    }

    private func trace(of input: JSONObject) async throws -> JSONValue {
        let answers = input["answers"]?.object ?? [:]
        var world = World(
            StandIn { request, index in
                guard let text = answers["\(request.method) \(request.url)"]?.string else {
                    return try await Google.answer(request, index)
                }
                return .metadata(text)
            })
        world.executables = ProcessRunner()
        for variable in input["variables"]?.object ?? [:] { world.variables[variable.key] = variable.value.string }
        let credential =
            if let file = input["file"]?.object { try await world.load(file) } else { try await world.metadata() }
        _ = try await credential.accessToken(scopes: input["scopes"]?.array?.compactMap(\.string) ?? [])
        return .array(world.network.requests.map(Self.json))
    }

    private static func json(of request: UpstreamRequest) -> JSONValue {
        let headers = request.headers.map { ($0.name.lowercased(), JSONValue.string($0.value)) }
        return .object([
            "method": .string(request.method), "url": .string(request.url),
            "headers": .object(JSONObject(Dictionary(headers) { $1 })),
            "body": .string(String(decoding: request.body ?? [], as: UTF8.self)),
        ])
    }
}
