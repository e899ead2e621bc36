// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

@Suite struct SecretTests {
    private func expectNoSecret(_ value: Any, _ location: SourceLocation = #_sourceLocation) throws {
        var text = "\(value) \(String(reflecting: value))"
        dump(value, to: &text)
        for secret in Google.secrets + ["PRIVATE KEY"] {
            #expect(!text.contains(secret), sourceLocation: location)
            let bytes = secret.utf8.map { "\($0)" }.joined(separator: ", ")
            #expect(!text.contains(bytes), sourceLocation: location)
        }
    }

    @Test func `nothing that can be printed shows a secret`() async throws {
        var world = World()
        world.files = ["/text": Array("MARKED-subject".utf8)]
        world.variables = [
            "AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "MARKED-aws-secret",
            "AWS_SESSION_TOKEN": "MARKED-aws-session",
        ]
        for file in [
            Files.user, Files.impersonated, Files.externalUser, Files.aws, Files.external(["file": "/text"]),
            try Files.serviceAccount(),
        ] {
            let credential = try await world.load(file)
            try self.expectNoSecret(credential)
            try self.expectNoSecret(try await credential.accessToken(scopes: ["a"]))
        }
        for request in world.network.requests {
            try self.expectNoSecret(request)
            try self.expectNoSecret(try await Google.answer(request, 0))
        }
        try self.expectNoSecret(world.context)
        let given = ApplicationDefaultCredentials.Explicit.json(JSONValue.object(Files.user).serialized)
        try self.expectNoSecret(given)
        try self.expectNoSecret(ApplicationDefaultCredentials(context: world.context, explicit: given))
        try self.expectNoSecret(ExecutableResult(output: Array("MARKED-subject".utf8)))
        try self.expectNoSecret(AWSKeys(id: "id", secret: "MARKED-aws-secret", sessionToken: "MARKED-aws-session"))
    }

    @Test func `an upstream that sends secrets back in its errors does not get them into ours`() async throws {
        let world = World(
            StandIn { request, _ in
                .json(
                    ["error": "MARKED-refresh is bad", "error_description": "MARKED-client-secret"], status: 400,
                    headers: [("x-echo", String(decoding: request.body ?? [], as: UTF8.self))])
            })
        let credential = try await world.load(Files.user)
        do {
            _ = try await credential.accessToken(scopes: [])
            Issue.record("The stand-in refuses.")
        } catch {
            try self.expectNoSecret(error)
        }
        let torn = #"{"type":"authorized_user","refresh_token":"MARKED-refresh""#
        do {
            _ = try await ApplicationDefaultCredentials(
                context: world.context, explicit: .json(Array(torn.utf8))
            ).load()
            Issue.record("The file is torn.")
        } catch {
            try self.expectNoSecret(error)
        }
    }
}
