// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

@Suite struct ApplicationDefaultCredentialsTests {
    private static let variable = "GOOGLE_APPLICATION_CREDENTIALS"
    private let user = JSONValue.object(Files.user).serialized

    private func failure(
        _ world: World, explicit: ApplicationDefaultCredentials.Explicit? = nil
    ) async -> CredentialError? {
        await #expect(throws: CredentialError.self) {
            try await ApplicationDefaultCredentials(context: world.context, explicit: explicit).load()
        }
    }

    @Test func `the first place that holds credentials wins`() async throws {
        var world = World()
        world.variables = [Self.variable: "/named.json", "HOME": "/home/me"]
        let key = JSONValue.object(try Files.serviceAccount()).serialized
        world.files = ["/named.json": key, "/home/me/.config/gcloud/application_default_credentials.json": self.user]
        var places: [SearchStep.Place?] = []
        let explicit = try await ApplicationDefaultCredentials(context: world.context, explicit: .json(self.user))
            .load()
        places.append(explicit.search.last?.place)
        let named = try await world.metadata()
        places.append(named.search.last?.place)
        #expect(named.kind == .serviceAccount)
        #expect(named.projectID == "acme-fleet")
        world.variables[Self.variable] = nil
        let gcloud = try await world.metadata()
        places.append(gcloud.search.last?.place)
        #expect(gcloud.kind == .authorizedUser)
        #expect(world.network.requests.isEmpty)
        world.files = [:]
        let machine = try await world.metadata()
        places.append(machine.search.last?.place)
        #expect(machine.kind == .metadataServer)
        #expect(places == [.explicit, .variable, .gcloudFile, .metadataServer])
        #expect(
            machine.search.map(\.description) == [
                "explicit option: nothing given", "GOOGLE_APPLICATION_CREDENTIALS: not set",
                "gcloud's file: no file /home/me/.config/gcloud/application_default_credentials.json",
                "metadata server: answered at 169.254.169.254",
            ])
    }

    @Test func `gcloud's configuration folder can be moved`() async throws {
        var world = World()
        world.variables = ["CLOUDSDK_CONFIG": "/moved", "HOME": "/home/me"]
        world.files = ["/moved/application_default_credentials.json": self.user]
        #expect(try await world.metadata().kind == .authorizedUser)
    }

    private func loadFromDisk(_ variables: [String: String]) async throws -> GoogleCredential {
        var context = World().context
        context.readFile = CredentialContext.readFromDisk
        context.variables = variables
        return try await ApplicationDefaultCredentials(context: context).load()
    }

    @Test func `gcloud's file counts as absent where the way to it is barred, and nothing else does`() async throws {
        // Something is there, and it is no folder: many services have such a home.
        let credential = try await self.loadFromDisk(["HOME": "/dev/null"])
        #expect(credential.kind == .metadataServer)
        #expect(
            credential.search.map(\.description).contains(
                "gcloud's file: not reachable: /dev/null/.config/gcloud/application_default_credentials.json"
                    + " (a part of the path is no folder)"))
        let named = await #expect(throws: CredentialError.self) {
            try await self.loadFromDisk([Self.variable: "/dev/null/key.json"])
        }
        #expect(named?.code == .invalidConfiguration)

        // It can be reached and not be read.
        let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "application_default_credentials.json"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let unreadable = await #expect(throws: CredentialError.self) {
            try await self.loadFromDisk(["CLOUDSDK_CONFIG": folder.path(percentEncoded: false)])
        }
        #expect(unreadable?.message.contains("cannot be read") == true)
        #expect(unreadable?.search.last?.place == .gcloudFile)
    }

    @Test(arguments: [
        (["GOOGLE_APPLICATION_CREDENTIALS": ""], "GOOGLE_APPLICATION_CREDENTIALS is set and empty"),
        (["CLOUDSDK_CONFIG": ""], "CLOUDSDK_CONFIG is set and empty"),
        (["GOOGLE_APPLICATION_CREDENTIALS": "/missing"], "There is no credential file /missing"),
        (["GOOGLE_APPLICATION_CREDENTIALS": "/unknown"], "unknown type \"gdch_service_account\""),
        (["GOOGLE_APPLICATION_CREDENTIALS": "/torn"], "are not a JSON object"),
        (["GOOGLE_APPLICATION_CREDENTIALS": "/typeless"], "have no \"type\""),
    ])
    func `a place that holds something unusable ends the search`(variables: [String: String], words: String) async {
        var world = World()
        world.variables = variables
        world.files = [
            "/unknown": Array(#"{"type":"gdch_service_account"}"#.utf8), "/torn": Array("{\"type\":".utf8),
            "/typeless": Array("{}".utf8),
        ]
        let error = await self.failure(world)
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains(words) == true)
        #expect(error?.search.last?.finding == error?.message)
        #expect(world.network.requests.isEmpty, "nobody meant the machine's identity")
    }

    @Test func `a search without result lists every step`() async {
        var world = World(StandIn { _, _ in throw CredentialError(code: .unavailable, message: "down") })
        world.variables = ["HOME": "/home/me"]
        let error = await self.failure(world)
        #expect(error?.code == .notFound)
        #expect(error?.search.map(\.place) == [.explicit, .variable, .gcloudFile, .metadataServer])
        #expect(error?.description.contains("no answer of a metadata server at 169.254.169.254") == true)
        world.variables = ["NO_GCE_CHECK": "true"]
        #expect(await self.failure(world)?.search.last?.finding == "NO_GCE_CHECK forbids asking")
    }

    @Test func `what answers without naming itself a metadata server is none`() async {
        let world = World(StandIn { _, _ in UpstreamResponse(status: 200, body: Array("portal".utf8)) })
        #expect(await self.failure(world)?.code == .notFound)
    }

    @Test func `the quota project is the caller's, then the variable's, then the file's`() async throws {
        var world = World()
        func project(_ given: String?) async throws -> String? {
            try await world.load(Files.user, quotaProject: given).headers(scopes: []).first {
                $0.name == "x-goog-user-project"
            }?.value
        }
        #expect(try await project(nil) == "billed")
        world.variables["GOOGLE_CLOUD_QUOTA_PROJECT"] = "variable"
        #expect(try await project(nil) == "variable")
        #expect(try await project("given") == "given")
    }

    @Test func `credentials of another universe are refused`() async throws {
        var world = World()
        var file = try Files.serviceAccount()
        file["universe_domain"] = "other.example"
        let credential = try await world.load(file)
        #expect(try await credential.universeDomain() == "other.example")
        world.variables["GOOGLE_CLOUD_UNIVERSE_DOMAIN"] = "googleapis.com"
        let error = await self.failure(world, explicit: .json(JSONValue.object(file).serialized))
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("other.example") == true)
        world.variables["GOOGLE_CLOUD_UNIVERSE_DOMAIN"] = "other.example"
        await #expect(throws: Never.self) { try await world.load(file) }
    }

    @Test func `the metadata host can be named, and then it is not looked for`() async throws {
        var world = World(
            StandIn { request, _ in
                #expect(request.url.hasPrefix("http://metadata.test:81/computeMetadata/v1/"))
                #expect(request.header("Metadata-Flavor") == "Google")
                return .metadata(request.url.hasSuffix("email") ? Google.machine : "other.example")
            })
        world.variables["GCE_METADATA_HOST"] = "metadata.test:81"
        let credential = try await world.metadata()
        #expect(try await credential.account() == Google.machine)
        #expect(try await credential.universeDomain() == "other.example")
    }
}
