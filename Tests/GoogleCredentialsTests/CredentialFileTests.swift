// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@testable import GoogleCredentials

/// What a credential file may say, and where it may lead a credential.
@Suite struct CredentialFileTests {
    private static func file(_ file: JSONObject, _ changes: JSONObject) -> JSONObject {
        var file = file
        for (name, value) in changes { file[name] = value }
        return file
    }

    private func expectRefusal(of file: JSONObject, _ code: CredentialError.Code) async {
        let world = World()
        let error = await #expect(throws: CredentialError.self) { try await world.load(file) }
        #expect(error?.code == code)
        #expect(world.network.requests.isEmpty)
    }

    @Test(arguments: [
        "http://oauth2.googleapis.com/token", "https:///token", "https://oauth2.googleapis.com@evil.example/token",
    ])
    func `a key's assertion goes over TLS to a host that is named`(address: String) async throws {
        await self.expectRefusal(
            of: Self.file(try Files.serviceAccount(), ["token_uri": .string(address)]), .untrustedHost)
    }

    @Test(
        arguments: [
            ("/..:generateAccessToken", .invalidConfiguration), ("/:generateAccessToken", .invalidConfiguration),
            ("/\(Google.account):signBlob", .invalidConfiguration), ("/a@b :generateAccessToken", .untrustedHost),
        ] as [(String, CredentialError.Code)])
    func `what is impersonated is an account's access token`(end: String, code: CredentialError.Code) async {
        let url = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts\(end)"
        await self.expectRefusal(
            of: Self.file(Files.impersonated, ["service_account_impersonation_url": .string(url)]), code)
    }

    @Test(
        arguments: [
            (["source_credentials": .object(Files.impersonated)], .invalidConfiguration),
            (["delegates": .array([.string("a/b")])], .invalidConfiguration),
            (["delegates": .array([.integer(1)])], .invalidConfiguration),
            // The source's universe counts, and its endpoints are elsewhere.
            (
                [
                    "source_credentials": .object(
                        file(
                            Files.external(
                                ["file": "/text"],
                                [
                                    "token_url": .string(
                                        "https://sts.other.example/v1/token")
                                ]), ["universe_domain": "other.example"]))
                ], .untrustedHost
            ),
        ] as [(JSONObject, CredentialError.Code)])
    func `an account is impersonated by one of another kind, in its universe`(
        changes: JSONObject, code: CredentialError.Code
    ) async {
        await self.expectRefusal(of: Self.file(Files.impersonated, changes), code)
    }

    @Test(arguments: [599, 43_201])
    func `an impersonated account's token lasts ten minutes to twelve hours`(seconds: Int64) async {
        let more: JSONObject = [
            "service_account_impersonation_url": .string(Files.impersonationURL),
            "service_account_impersonation": ["token_lifetime_seconds": .integer(seconds)],
        ]
        await self.expectRefusal(of: Files.external(["file": "/text"], more), .invalidConfiguration)
    }

    @Test(arguments: [
        "//iam.googleapis.com/locations/global/workforcePools",
        "//iam.googleapis.com/locations/global/workloadIdentityPools/pool",
        "//iam.googleapis.com/projects/global/workforcePools/pool",
        "//evil.example/locations/global/workforcePools/pool",
    ])
    func `a project is billed for persons of a workforce pool alone`(audience: String) async {
        let more: JSONObject = ["workforce_pool_user_project": "p", "audience": .string(audience)]
        await self.expectRefusal(of: Files.external(["file": "/text"], more), .invalidConfiguration)
    }

    @Test(
        arguments: [
            ["file": "/text", "url": "https://login.example/"], ["url": "https:///token"],
            ["url": "ftp://login.example/"],
            ["environment_id": "aws2"], [:],
        ] as [JSONObject])
    func `a subject token has one source, of a kind that is known`(source: JSONObject) async {
        let isAWS = source["environment_id"] != nil
        let whole = isAWS ? Self.file(Files.aws["credential_source"]?.object ?? [:], source) : source
        await self.expectRefusal(of: Files.external(whole), .invalidConfiguration)
    }

    @Test(arguments: [
        ("regional_cred_verification_url", "http://sts.eu-west-1.amazonaws.com/"),
        ("regional_cred_verification_url", "https://sts.evilamazonaws.com/"),
        ("regional_cred_verification_url", "https://sts.amazonaws.com.evil.example/"),
        ("regional_cred_verification_url", "https://sts.amazonaws.com@evil.example/"),
        ("url", "http://169.254.169.254:8080/latest"), ("region_url", "https://169.254.169.254/latest"),
    ])
    func `a request that AWS's keys sign is for AWS, and its keys come from its machine`(
        field: String, url: String
    ) async {
        let source = Self.file(Files.aws["credential_source"]?.object ?? [:], [field: .string(url)])
        await self.expectRefusal(of: Self.file(Files.aws, ["credential_source": .object(source)]), .untrustedHost)
    }

    @Test(arguments: [
        ("", 10, false), ("a b", 10, false), ("a\n", 10, false), ("a", 0, false), ("a", -1, false), ("a", 1, true),
        (String(repeating: "a", count: 16_384), 10, true), (String(repeating: "a", count: 16_385), 10, false),
    ])
    func `an access token is one printable word that lasts`(text: String, seconds: Int, isOne: Bool) {
        let token = try? FetchedToken(text, life: .seconds(seconds), from: "The service")
        #expect((token != nil) == isOne)
    }

    @Test(
        arguments: [
            (.integer(3599), 3599), (.string("3599"), 3599), (nil, 300), (.integer(86_401), 86_400),
        ] as [(JSONValue?, Int)])
    func `an access token is used for the time that is told, and for a day at most`(end: JSONValue?, life: Int) throws {
        var body: JSONObject = ["access_token": "MARKED-access"]
        body["expires_in"] = end
        let token = try FetchedToken(oauthAnswer: .json(body), from: "The service")
        #expect(token.life == .seconds(life))
    }
}
