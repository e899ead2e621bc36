// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

@Suite struct CredentialSourceTests {
    private let world = World()

    private func claims(_ token: String?) throws -> (header: JSONObject, claims: JSONObject) {
        let parts = (token ?? "").split(separator: ".").map { Base64URL.decode($0.utf8) ?? [] }
        try #require(parts.count == 3)
        return (try JSONValue(parsing: parts[0]).object ?? [:], try JSONValue(parsing: parts[1]).object ?? [:])
    }

    @Test func `a service account's key is exchanged where a scope is needed`() async throws {
        let credential = try await self.world.load(Files.serviceAccount())
        #expect(try await credential.accessToken(scopes: ["a", "b"]).value == "MARKED-access")
        let request = try #require(self.world.network.requests.first)
        #expect(request.url == "https://oauth2.googleapis.com/token")
        #expect(request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        let (header, claims) = try self.claims(request.form["assertion"])
        #expect(header["kid"]?.string == (try Google.key.get().keyID))
        #expect(claims["aud"] == "https://oauth2.googleapis.com/token")
        #expect(claims["scope"] == "a b")
        #expect(claims["iss"] == .string(Google.account))
        #expect((claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0) == 3600)
        await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: []) }
    }

    @Test func `in another universe the key signs the token itself, for an hour, and asks nobody`() async throws {
        var file = try Files.serviceAccount()
        file["universe_domain"] = "other.example"
        let claims = try self.claims(try await self.world.load(file).accessToken(scopes: ["a"]).value).claims
        #expect(claims["scope"] == "a")
        #expect(claims["aud"] == nil)
        #expect(claims["sub"] == claims["iss"])
        #expect((claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0) == 3600)
        #expect(self.world.network.requests.isEmpty)
    }

    @Test func `a person's refresh token is exchanged`() async throws {
        _ = try await self.world.load(Files.user).accessToken(scopes: ["a"])
        let request = try #require(self.world.network.requests.first)
        #expect(
            request.form == [
                "grant_type": "refresh_token", "client_id": "client", "client_secret": "MARKED-client-secret",
                "refresh_token": "MARKED-refresh", "scope": "a",
            ])
        #expect(request.url == "https://oauth2.googleapis.com/token")
    }

    @Test func `a person's refresh token never goes where the file says`() async throws {
        var file = Files.user
        file["token_uri"] = "https://evil.example/token"
        _ = try await self.world.load(file).accessToken(scopes: [])
        #expect(self.world.network.requests.map(\.url) == ["https://oauth2.googleapis.com/token"])
    }

    @Test func `a person's refresh token of another universe goes nowhere`() async throws {
        var (file, impersonated) = (Files.user, Files.impersonated)
        file["universe_domain"] = "other.example"
        impersonated["source_credentials"] = .object(file)
        for file in [file, impersonated] {
            let error = await #expect(throws: CredentialError.self) { try await self.world.load(file) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("the universe \"other.example\"") == true)
        }
        #expect(self.world.network.requests.isEmpty)
        file["universe_domain"] = "googleapis.com"
        await #expect(throws: Never.self) { try await self.world.load(file) }
    }

    @Test func `impersonation goes through the delegates with the source's token`() async throws {
        let credential = try await self.world.load(Files.impersonated)
        #expect(try await credential.account() == Google.account)
        #expect(try await credential.accessToken(scopes: ["a"]).value == "MARKED-impersonated")
        let requests = self.world.network.requests
        #expect(requests.count == 2)
        #expect(requests[1].url == Files.impersonationURL)
        // A person's login has its scopes already.
        #expect(requests[0].form["scope"] == nil)
        #expect(requests[1].header("authorization") == "Bearer MARKED-access")
        #expect(requests[1].header("x-goog-user-project") == "billed")
        #expect(
            requests[1].json == [
                "delegates": .array(["projects/-/serviceAccounts/between@acme-fleet.iam.gserviceaccount.com"]),
                "lifetime": "3600s", "scope": .array(["a"]),
            ])
    }

    @Test func `an account is impersonated at the endpoint that the file names, unless that is overridden`()
        async throws
    {
        var world = self.world
        world.files = ["/text": Array("MARKED-subject".utf8)]
        world.network.answer { request, index in
            var request = request
            request.url = request.url.replacing("iamcredentials-corp.p.", with: "iamcredentials.")
            return try await Google.answer(request, index)
        }
        let url = Files.impersonationURL.replacing("iamcredentials.", with: "iamcredentials-corp.p.")
        let member: JSONObject = ["service_account_impersonation_url": .string(url)]
        var impersonated = Files.impersonated
        impersonated["service_account_impersonation_url"] = .string(url)
        for file in [Files.external(["file": "/text"], member), impersonated] {
            let credential = try await world.load(file)
            #expect(try await credential.accessToken(scopes: ["a"]).value == "MARKED-impersonated")
            #expect(world.network.requests.last?.url == url)
            _ = try await credential.signer().sign(payload: Array("{}".utf8))
            #expect(world.network.requests(to: ":signJwt").last?.url.contains("iamcredentials-corp.p.") == true)
        }

        var context = world.context
        context.hostOverrides = ["iamcredentials.googleapis.com": "https://iamcredentials.googleapis.com"]
        let overridden = try await ApplicationDefaultCredentials(
            context: context, explicit: .json(JSONValue.object(impersonated).serialized)
        ).load()
        _ = try await overridden.accessToken(scopes: ["a"])
        #expect(world.network.requests.last?.url == Files.impersonationURL)
    }

    @Test func `a subject token comes from a file, as text or from a field`() async throws {
        var world = self.world
        world.files = ["/text": Array("MARKED-subject".utf8), "/json": Array(#"{"id":"MARKED-subject"}"#.utf8)]
        for source: JSONObject in [
            ["file": "/text"],
            ["file": "/json", "format": ["type": "json", "subject_token_field_name": "id"]],
        ] {
            let credential = try await world.load(Files.external(source))
            #expect(try await credential.accessToken(scopes: [Files.scope]).value == "MARKED-sts")
            let request = try #require(world.network.requests.last)
            #expect(request.url == "https://sts.googleapis.com/v1/token")
            #expect(
                request.form == [
                    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "audience": Files.audience,
                    "scope": Files.scope, "subject_token": "MARKED-subject",
                    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                ])
        }
    }

    @Test func `a subject token comes from a server, with the headers of the file`() async throws {
        self.world.network.answer { request, index in
            guard request.url == "http://localhost:5000/token" else { return try await Google.answer(request, index) }
            #expect(request.header("X-Identity") == "yes")
            return .json(["token": "MARKED-subject"])
        }
        let source: JSONObject = [
            "url": "http://localhost:5000/token", "headers": ["X-Identity": "yes"],
            "format": ["type": "json", "subject_token_field_name": "token"],
        ]
        _ = try await self.world.load(Files.external(source)).accessToken(scopes: ["a"])
        #expect(self.world.network.requests.last?.form["subject_token"] == "MARKED-subject")
    }

    @Test func `an external account may impersonate, for the life that the file names`() async throws {
        var world = self.world
        world.files = ["/text": Array("MARKED-subject".utf8)]
        let file = Files.external(
            ["file": "/text"],
            [
                "service_account_impersonation_url": .string(Files.impersonationURL),
                "service_account_impersonation": ["token_lifetime_seconds": .integer(2800)],
                "client_id": "c", "client_secret": "s", "workforce_pool_user_project": "p",
                "audience": "//iam.googleapis.com/locations/global/workforcePools/pool/providers/p",
            ])
        let credential = try await world.load(file)
        #expect(try await credential.accessToken(scopes: ["a"]).value == "MARKED-impersonated")
        let requests = world.network.requests
        #expect(requests[0].form["scope"] == "https://www.googleapis.com/auth/iam")
        #expect(requests[0].header("Authorization") == "Basic Yzpz")
        #expect(requests[0].form["options"] == nil)
        #expect(requests[1].json["lifetime"] == "2800s")
        #expect(requests[1].header("authorization") == "Bearer MARKED-sts")
    }

    @Test func `a person of a workforce pool is billed to the project of the file`() async throws {
        var world = self.world
        world.files = ["/text": Array("MARKED-subject".utf8)]
        let pool: JSONValue = "//iam.googleapis.com/locations/global/workforcePools/pool/providers/p"
        let more: JSONObject = ["workforce_pool_user_project": "p", "audience": pool]
        _ = try await world.load(Files.external(["file": "/text"], more)).accessToken(scopes: ["a"])
        #expect(world.network.requests[0].form["options"]?.removingPercentEncoding == #"{"userProject":"p"}"#)
        let error = await #expect(throws: CredentialError.self) {
            try await world.load(Files.external(["file": "/text"], ["workforce_pool_user_project": "p"]))
        }
        #expect(error?.message.contains("not a workforce pool") == true)
    }

    @Test func `AWS's metadata service gives region and keys, and the request is signed for the audience`() async throws
    {
        self.world.network.answer { request, index in
            guard request.url.contains("/latest/") else { return try await Google.answer(request, index) }
            if request.method == "PUT" {
                #expect(request.header("X-aws-ec2-metadata-token-ttl-seconds") == "300")
                return UpstreamResponse(status: 200, body: Array("session".utf8))
            }
            #expect(request.header("X-aws-ec2-metadata-token") == "session")
            if request.url.hasSuffix("availability-zone") {
                return UpstreamResponse(status: 200, body: Array("us-east-2b".utf8))
            }
            if request.url.hasSuffix("security-credentials") {
                return UpstreamResponse(status: 200, body: Array("fleet-role".utf8))
            }
            #expect(request.url.hasSuffix("security-credentials/fleet-role"))
            return .json([
                "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "MARKED-aws-secret", "Token": "MARKED-aws-session",
            ])
        }
        _ = try await self.world.load(Files.aws).accessToken(scopes: ["a"])
        let form = try #require(self.world.network.requests.last).form
        let subject = try JSONValue(parsing: Array((form["subject_token"]?.removingPercentEncoding ?? "").utf8))
        #expect(
            subject.object?["url"]
                == "https://sts.us-east-2.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15")
        let headers = (subject.object?["headers"]?.array ?? []).reduce(into: [String: String]()) { headers, entry in
            headers[entry.object?["key"]?.string ?? ""] = entry.object?["value"]?.string
        }
        #expect(headers["host"] == "sts.us-east-2.amazonaws.com")
        #expect(headers["x-amz-date"] == "20260101T000000Z")
        #expect(headers["x-amz-security-token"] == "MARKED-aws-session")
        #expect(headers["x-goog-cloud-target-resource"] == Files.audience)
        // Computed with google-auth 2.62.2 for the same keys, region and time.
        #expect(
            headers["Authorization"] == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-2/sts/aws4_request,"
                + " SignedHeaders=host;x-amz-date;x-amz-security-token;x-goog-cloud-target-resource,"
                + " Signature=146e13913c6fe245f0f634a99c9d8bd9b8c522c222165792dda1ba2843bd037e")
    }

    @Test func `endpoints with FIPS modules are signed for as their service`() throws {
        let signer = AWSRequestSigner(
            region: "us-east-2", keys: AWSKeys(id: "AKIDEXAMPLE", secret: "MARKED-aws-secret", sessionToken: nil))
        let signed = try signer.sign(
            method: "POST",
            url: "https://sts-fips.us-east-2.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
            headers: ["x-goog-cloud-target-resource": Files.audience], at: Google.now)
        // Computed with google-auth 2.62.2.
        #expect(
            signed.headers["Authorization"]
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-2/sts/aws4_request,"
                + " SignedHeaders=host;x-amz-date;x-goog-cloud-target-resource,"
                + " Signature=053a651bca14159c67579a2152b1f1f8c08ef813eb1a8bb2b664ca947b0b4add")
    }

    @Test func `AWS's variables come before its metadata service`() async throws {
        var world = self.world
        world.variables = [
            "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "MARKED-aws-secret",
        ]
        _ = try await world.load(Files.aws).accessToken(scopes: ["a"])
        #expect(world.network.requests.map(\.url) == ["https://sts.googleapis.com/v1/token"])
    }

    @Test func `a workforce person's new refresh token replaces the old one`() async throws {
        self.world.network.answer { _, index in
            .json([
                "access_token": .string("MARKED-\(index)"), "expires_in": .integer(100),
                "refresh_token": .string("MARKED-refresh-\(index)"),
            ])
        }
        let credential = try await self.world.load(Files.externalUser)
        _ = try await credential.accessToken(scopes: [])
        self.world.clock.advance(by: .seconds(100))
        #expect(try await credential.accessToken(scopes: []).value == "MARKED-1")
        let requests = self.world.network.requests
        #expect(requests.map { $0.form["refresh_token"] } == ["MARKED-refresh", "MARKED-refresh-0"])
        #expect(requests[0].header("Authorization")?.hasPrefix("Basic ") == true)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a workforce person's exchanges follow each other, as each may replace the refresh token`() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        self.world.network.answer { _, index in
            if index == 0 { for await _ in gate {} }
            return .json([
                "access_token": .string("MARKED-\(index)"), "expires_in": .integer(100),
                "refresh_token": .string("MARKED-refresh-\(index)"),
            ])
        }
        let (network, credential) = (self.world.network, try await self.world.load(Files.externalUser))
        let tokens = ["a", "b"].map { scope in Task { try await credential.accessToken(scopes: [scope]).value } }
        while network.requests.isEmpty { await Task.yield() }
        for _ in 1...100 { await Task.yield() }
        #expect(network.requests.count == 1)
        opener.finish()
        let values = [try await tokens[0].value, try await tokens[1].value]
        #expect(values.sorted() == ["MARKED-0", "MARKED-1"])
        #expect(network.requests.map { $0.form["refresh_token"] } == ["MARKED-refresh", "MARKED-refresh-0"])
    }

    @Test func `a workforce person's exchange that fails keeps no later one`() async throws {
        self.world.network.answer { request, index in
            guard index > 0 else { return UpstreamResponse(status: 400) }
            return try await Google.answer(request, index)
        }
        let credential = try await self.world.load(Files.externalUser)
        await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["a"]) }
        #expect(try await credential.accessToken(scopes: ["b"]).value == "MARKED-sts")
    }

    @Test func `the metadata server is asked for scopes, and must name itself`() async throws {
        let credential = try await self.world.metadata()
        _ = try await credential.accessToken(scopes: ["https://a/b", "c"])
        let request = try #require(self.world.network.requests.last)
        #expect(
            request.url == "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
                + "?scopes=https%3A%2F%2Fa%2Fb%2Cc")
        #expect(request.header("Metadata-Flavor") == "Google")
        self.world.network.answer { _, _ in .json(["access_token": "x", "expires_in": .integer(10)]) }
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["other"]) }
        #expect(error?.code == .invalidAnswer)
    }

    @Test(arguments: [
        ("token_url", "https://sts.googleapis.com.evil.example/v1/token"), ("token_url", "http://sts.googleapis.com/"),
        ("token_url", "https://evil.example/sts.googleapis.com"),
        ("token_url", "https://sts.googleapis.com@evil.example/"),
        ("token_url", "https://sts.googleapis.com:444/"), ("token_url", "https://evilsts.googleapis.com/"),
        ("token_url", "https://sts.us-central1.rep.evil.example/v1/token"),
        ("token_url", "https://sts.us-central1.other.googleapis.com/"),
        ("token_url", "https://us-central1.sts.rep.googleapis.com/"),
        ("token_url", "https://sts.1.rep.googleapis.com/"), ("token_url", "https://sts..rep.googleapis.com/"),
        ("token_url", "https://sts.a.us.rep.googleapis.com/"),
        ("token_url", "https://sts.us-.rep.googleapis.com/"), ("token_url", "https://sts.rep.rep.googleapis.com/"),
        ("token_url", "https://sts-private.q.googleapis.com/"), ("token_url", "https://sts.evilgoogleapis.com/"),
        ("token_url", "https://evil%2f.sts.googleapis.com/"), ("token_url", "https://evil_.sts.googleapis.com/"),
        ("token_url", #"https://sts.googleapis.com\.evil.example/"#), ("token_url", "https://sts.googleapis.com/a b"),
        ("service_account_impersonation_url", "https://evil.example/v1/a@b:generateAccessToken"),
    ])
    func `hosts that are not Google's get no credential`(field: String, url: String) async {
        let error = await #expect(throws: CredentialError.self) {
            try await self.world.load(Files.external(["file": "/text"], JSONObject([field: .string(url)])))
        }
        #expect(error?.code == .untrustedHost)
    }

    @Test(arguments: [
        "https://sts.googleapis.com/v1/token", "https://us-east1-sts.googleapis.com/",
        "https://us-east1.sts.googleapis.com/",
        "https://sts.us-east1.googleapis.com", "https://sts-private.p.googleapis.com/v1/token",
        "https://sts.mtls.googleapis.com/v1/token", "https://sts.us-central1.rep.googleapis.com/v1/token",
        "https://sts.eu.rep.googleapis.com/v1/token",
    ])
    func `every form of Google's own endpoints is taken`(url: String) {
        #expect(HostRules.isGoogle(url, service: "sts", universe: "googleapis.com"))
        let elsewhere = url.replacing("googleapis.com", with: "other.example")
        #expect(HostRules.isGoogle(elsewhere, service: "sts", universe: "other.example"))
        #expect(!HostRules.isGoogle(url, service: "sts", universe: "other.example"))
    }

    @Test func `null stands for a member that is not there`() async throws {
        var world = self.world
        world.files = ["/text": Array("MARKED-subject".utf8)]
        let source: JSONObject = ["file": "/text", "url": .null, "environment_id": .null, "format": .null]
        let more: JSONObject = ["service_account_impersonation_url": .null, "workforce_pool_user_project": .null]
        let credential = try await world.load(Files.external(source, more))
        #expect(try await credential.accessToken(scopes: ["a"]).value == "MARKED-sts")
        #expect(try await credential.account() == nil)
    }

    @Test func `AWS addresses other than the metadata service's are refused`() async {
        for field in ["url", "region_url", "imdsv2_session_token_url"] {
            var file = Files.aws
            var source = file["credential_source"]?.object ?? [:]
            source[field] = "http://169.254.169.254.evil.example/latest"
            file["credential_source"] = .object(source)
            let changed = file
            let error = await #expect(throws: CredentialError.self) { try await self.world.load(changed) }
            #expect(error?.code == .untrustedHost)
        }
    }
}
