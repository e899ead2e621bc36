// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

/// Checks signatures by a rule that tests can bend: the signature is the key's own byte.
struct FakeKey: TokenKey {
    let id: String
    let account: TrustedAccount?
    let byte: UInt8

    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool { signature == [self.byte] }
}

struct FakeKeys: TokenKeys {
    var list: [FakeKey]
    var maximumCandidates = TokenExaminer.maximumCandidates
    var unnamed: [FakeKey] = []

    func keys(withID id: String) -> [any TokenKey] { self.list.filter { $0.id == id } }
    func keys(ofAccount email: String) -> [any TokenKey] { self.list.filter { $0.account?.email == email } }
    func unnamedKeys(ofAccount email: String) -> [any TokenKey] { self.unnamed.filter { $0.account?.email == email } }
}

@Suite struct TokenExaminerTests {
    static let now = Date(timeIntervalSince1970: 1_767_225_600)
    static let driver = TrustedAccount(
        email: "driver@acme.iam.gserviceaccount.com", role: .driver, provider: ProviderID("acme"))
    static let keys = FakeKeys(list: [FakeKey(id: "k1", account: driver, byte: 1)])

    static func token(
        header: String = #"{"alg":"RS256","kid":"k1","typ":"JWT"}"#, signedBy byte: UInt8 = 1,
        _ change: (inout JSONObject) -> Void = { _ in }
    ) -> String {
        var payload: JSONObject = [
            "iss": .string(driver.email), "sub": .string(driver.email), "aud": .string(TokenClaims.audience),
            "iat": .integer(1_767_225_300), "exp": .integer(1_767_228_900),
            "authorization": .object(["vehicleid": .string("veh-3")]),
        ]
        change(&payload)
        func part(_ bytes: some Collection<UInt8>) -> String {
            String(decoding: Base64URL.encode(bytes), as: UTF8.self)
        }
        return "\(part(header.utf8)).\(part(JSONValue.object(payload).serialized)).\(part([byte]))"
    }

    static func refusal(
        of token: String, keys: FakeKeys = keys, at now: Date = now
    ) -> TokenRefusal? {
        do throws(TokenRefusal) {
            _ = try TokenExaminer().examine(token, keys: keys, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a good token tells claims, account and key`() throws {
        let examined = try TokenExaminer().examine(Self.token(), keys: Self.keys, now: Self.now)
        #expect(examined.account == Self.driver)
        #expect(examined.keyID == "k1" && examined.trustedKeyID == "k1")
        #expect(examined.claims.authorization?.vehicle == VehicleID("veh-3").map { .only($0) })
    }

    static let changes: [(String, TokenRefusal.Reason, @Sendable (inout JSONObject) -> Void)] = [
        ("no iss", .tokenMalformed, { $0["iss"] = nil }),
        ("iss not text", .tokenMalformed, { $0["iss"] = .integer(1) }),
        ("sub empty", .tokenMalformed, { $0["sub"] = .string("") }),
        ("other sub", .issuerMismatch, { $0["sub"] = .string("other@acme") }),
        (
            "another account's iss", .issuerMismatch,
            {
                $0["iss"] = .string("other@acme")
                $0["sub"] = .string("other@acme")
            }
        ),
        ("aud without slash", .audienceMismatch, { $0["aud"] = .string("https://fleetengine.googleapis.com") }),
        ("aud empty array", .tokenMalformed, { $0["aud"] = .array([]) }),
        ("aud array", .tokenMalformed, { $0["aud"] = .array([.string(TokenClaims.audience)]) }),
        ("iat missing", .tokenMalformed, { $0["iat"] = nil }),
        ("iat huge", .tokenMalformed, { $0["iat"] = .double(1e300) }),
        ("iat fraction", .tokenMalformed, { $0["iat"] = .double(1_767_225_300.5) }),
        ("exp beyond the calendar", .tokenMalformed, { $0["exp"] = .integer(.max) }),
        ("iat before 1970", .tokenMalformed, { $0["iat"] = .integer(.min) }),
        ("iat 601 s ahead", .tokenNotYetValid, { $0["iat"] = .integer(1_767_226_201) }),
        ("nbf 601 s ahead", .tokenNotYetValid, { $0["nbf"] = .integer(1_767_226_201) }),
        ("nbf text", .tokenMalformed, { $0["nbf"] = .string("1767225300") }),
        ("iat too old", .tokenTooOld, { $0["iat"] = .integer(1_767_225_600 - 4201) }),
        ("exp now", .tokenExpired, { $0["exp"] = .integer(1_767_225_600) }),
        (
            "exp at iat, both ahead", .tokenMalformed,
            {
                $0["iat"] = .integer(1_767_225_900)
                $0["exp"] = .integer(1_767_225_900)
            }
        ),
        ("exp over an hour ahead", .tokenExpiresTooLate, { $0["exp"] = .integer(1_767_229_201) }),
        ("authorization not an object", .claimsInvalid, { $0["authorization"] = .string("vehicleid") }),
        (
            "taskids with another", .claimsInvalid,
            { $0["authorization"] = .object(["taskids": .array([.string("a")]), "taskid": .string("a")]) }
        ),
    ]

    @Test func `each broken claim is refused with its own reason`() {
        for (name, reason, change) in Self.changes {
            let refusal = Self.refusal(of: Self.token(change))
            #expect(refusal?.reason == reason, "\(name)")
            #expect(refusal?.status == .unauthenticated, "\(name)")
        }
    }

    @Test func `it is told whether a claim is missing, in milliseconds or of another type`() {
        let wanted: [(String, JSONValue?, String)] = [
            ("iat", nil, " is missing."), ("aud", nil, " is missing."), ("sub", nil, " is missing."),
            ("iat", .integer(1_795_434_251_000), ", 1795434251000, looks like milliseconds; write seconds."),
            ("exp", .integer(253_402_300_800), ", 253402300800, looks like milliseconds; write seconds."),
            ("exp", .integer(253_402_300_800_000), " is not a whole number of Unix seconds."),
            ("iat", .string("1"), " is not a whole number of Unix seconds."),
            ("iat", .integer(-1), " is not a whole number of Unix seconds."),
            ("iat", .null, " is not a whole number of Unix seconds."), ("aud", .array([]), " is not a string."),
        ]
        for (name, value, told) in wanted {
            let refusal = Self.refusal(of: Self.token { $0[name] = value })
            #expect(refusal?.reason == .tokenMalformed)
            #expect(refusal?.message == "The token's \(name)\(told)")
        }
    }

    @Test func `a token that lives too long is told by what makes it so`() {
        let ahead = Self.refusal(of: Self.token { $0["exp"] = .integer(1_767_229_300) })
        #expect(ahead?.message == "The token's exp lies 3700 s ahead; at most 3600 s are allowed.")
        let long = Self.refusal(
            of: Self.token {
                $0["iat"] = .integer(1_767_225_600 - 4000)
                $0["exp"] = .integer(1_767_225_600 + 3000)
            })
        #expect(long?.reason == .tokenExpiresTooLate)
        #expect(long?.message == "The token's exp lies 7000 s after its iat; at most 4200 s are allowed.")
    }

    @Test func `a token that ends before it begins is told so, and as expired once that is past`() {
        let token = Self.token {
            $0["iat"] = .integer(1_767_225_900)
            $0["exp"] = .integer(1_767_225_700)
        }
        #expect(Self.refusal(of: token)?.message == "The token's exp is not after its iat, so that it never holds.")
        #expect(Self.refusal(of: token, at: Self.now + 100)?.reason == .tokenExpired)
    }

    @Test func `times at the edges are accepted`() {
        #expect(Self.refusal(of: Self.token { $0["iat"] = .integer(1_767_226_200) }) == nil)
        #expect(Self.refusal(of: Self.token { $0["nbf"] = .integer(1_767_226_200) }) == nil)
        #expect(Self.refusal(of: Self.token { $0["exp"] = .integer(1_767_229_200) }) == nil)
        #expect(Self.refusal(of: Self.token { $0["exp"] = .integer(1_767_225_601) }) == nil)
        // The verifier's second is not over yet.
        #expect(Self.refusal(of: Self.token { $0["exp"] = .integer(1_767_225_601) }, at: Self.now + 0.9) == nil)
        let longest = Self.token {
            $0["iat"] = .integer(1_767_225_600 - 4000)
            $0["exp"] = .integer(1_767_225_600 + 200)
        }
        #expect(Self.refusal(of: longest) == nil)
        // No older than a token can be, and over.
        let oldest = Self.token {
            $0["iat"] = .integer(1_767_225_600 - 4200)
            $0["exp"] = .integer(1_767_225_600)
        }
        #expect(Self.refusal(of: oldest)?.reason == .tokenExpired)
    }

    @Test func `slack is given on both sides of the end, and no more`() {
        let examiner = TokenExaminer(timeRules: TokenTimeRules(leeway: .seconds(30)))
        func reason(_ end: Int64) -> TokenRefusal.Reason? {
            do throws(TokenRefusal) {
                let token = Self.token { $0["exp"] = .integer(1_767_225_600 + end) }
                _ = try examiner.examine(token, keys: Self.keys, now: Self.now)
                return nil
            } catch {
                return error.reason
            }
        }
        #expect([-30, -29, 3630, 3631].map(reason) == [.tokenExpired, nil, nil, .tokenExpiresTooLate])
    }

    @Test func `the longest durations there are mean no limit`() throws {
        let rules = TokenTimeRules(
            issuedAtTolerance: .seconds(Int64.max), maximumLifetime: .seconds(Int64.max), leeway: .seconds(Int64.max))
        let token = Self.token { $0["exp"] = .integer(1_767_225_301) }
        let examined = try TokenExaminer(timeRules: rules).examine(token, keys: Self.keys, now: Self.now)
        #expect(examined.claims.expiresAt == 1_767_225_301)
    }

    @Test func `a key checks its own account's tokens only`() {
        let other = TrustedAccount(email: "server@acme", role: .server, provider: ProviderID("acme"))
        let keys = FakeKeys(list: Self.keys.list + [FakeKey(id: "k2", account: other, byte: 2)])
        let header = #"{"alg":"RS256","kid":"k2"}"#
        #expect(Self.refusal(of: Self.token(header: header, signedBy: 2), keys: keys)?.reason == .issuerMismatch)
        #expect(Self.refusal(of: Self.token(signedBy: 2), keys: keys)?.reason == .signatureInvalid)
        // The issuer may have a key of that id that is not known yet.
        let neither = Self.refusal(of: Self.token(header: header, signedBy: 9), keys: keys)
        #expect(neither?.reason == .keyUnknown)
        #expect(neither?.message == #"The token's kid names no trusted key of its iss: "k2"."#)
    }

    @Test func `another account's key of the id is tried only after the issuer's own, those without an id too`() {
        let other = TrustedAccount(email: "server@acme")
        for byte: UInt8 in [1, 2] {
            let keys = FakeKeys(
                list: [FakeKey(id: "k1", account: other, byte: byte)],
                unnamed: [FakeKey(id: Self.driver.email, account: Self.driver, byte: 1)])
            #expect(Self.refusal(of: Self.token(), keys: keys) == nil)
            let reason: TokenRefusal.Reason = byte == 2 ? .issuerMismatch : .signatureInvalid
            #expect(Self.refusal(of: Self.token(signedBy: 2), keys: keys)?.reason == reason)
        }
    }

    @Test func `a key without an id of its own is told by the token's name for it and by the one it is trusted under`()
        throws
    {
        let keys = FakeKeys(list: [], unnamed: [FakeKey(id: "pem", account: Self.driver, byte: 1)])
        let token = try TokenExaminer().examine(Self.token(), keys: keys, now: Self.now)
        #expect(token.keyID == "k1" && token.trustedKeyID == "pem")
        func revocation(_ isWithdrawn: @escaping (String?, String?) -> Bool) -> TokenRefusal? {
            TokenExaminer().explain(
                Self.token(), request: nil, keys: keys, now: Self.now, isWithdrawn: isWithdrawn
            ).refusal
        }
        #expect(revocation { named, trusted in named == "k1" && trusted == "pem" } == .revoked)
        // Under the same name, it is another key's.
        #expect(try token != TokenExaminer().examine(Self.token(), keys: Self.keys, now: Self.now))
    }

    @Test func `tokens are one where the same key and account vouch for the same claims`() throws {
        let token = try TokenExaminer().examine(Self.token(), keys: Self.keys, now: Self.now)
        #expect(try token == TokenExaminer().examine(Self.token(), keys: Self.keys, now: Self.now))
        #expect(token == ExaminedToken(claims: token.claims, account: Self.driver, keyID: "k1"))
        #expect(token != ExaminedToken(claims: token.claims, account: Self.driver, keyID: "k2"))
        var account = Self.driver
        account.role = .server
        #expect(token != ExaminedToken(claims: token.claims, account: account, keyID: "k1"))
        var claims = token.claims
        claims.expiresAt += 1
        #expect(token != ExaminedToken(claims: claims, account: Self.driver, keyID: "k1"))
    }

    @Test func `a token that names no issuer is refused for that once its signature holds`() {
        let (nameless, forged) = (Self.token { $0["iss"] = nil }, Self.token(signedBy: 2) { $0["iss"] = nil })
        #expect(Self.refusal(of: nameless)?.message == "The token's iss is missing.")
        #expect(Self.refusal(of: forged)?.reason == .signatureInvalid)
    }

    @Test func `an unknown kid is refused, without trying other keys`() {
        let header = #"{"alg":"RS256","kid":"nobody"}"#
        let refusal = Self.refusal(of: Self.token(header: header))
        #expect(refusal?.reason == .keyUnknown)
        #expect(refusal?.message == #"The token's kid names no trusted key: "nobody"."#)
    }

    @Test func `what a refusal tells of a header steers no terminal and is short`() {
        let hostile = Self.token(header: #"{"alg":"RS256","kid":"a\r\u001b[2K\u009b\u2028\u202eb"}"#)
        #expect(
            Self.refusal(of: hostile)?.message
                == #"The token's kid names no trusted key: "a\u000d\u001b[2K\u009b\u2028\u202eb"."#)
        let long = Self.token(header: #"{"alg":"RS256","kid":"\#(String(repeating: "k", count: 256))"}"#)
        #expect(
            Self.refusal(of: long)?.message
                == #"The token's kid names no trusted key: "\#(String(repeating: "k", count: 64))…"."#)
    }

    @Test func `without kid only the issuer's keys are tried, as many as an account can have`() {
        let header = #"{"alg":"RS256"}"#
        #expect(Self.refusal(of: Self.token(header: header)) == nil)
        let stranger = FakeKeys(list: [
            FakeKey(id: "x", account: TrustedAccount(email: "stranger@evil"), byte: 1)
        ])
        #expect(Self.refusal(of: Self.token(header: header), keys: stranger)?.reason == .keyUnknown)
        func rotated(at position: Int) -> FakeKeys {
            FakeKeys(list: (0..<20).map { FakeKey(id: "r\($0)", account: Self.driver, byte: $0 == position ? 1 : 9) })
        }
        #expect(Self.refusal(of: Self.token(header: header), keys: rotated(at: 15)) == nil)
        // The seventeenth may be the one: that the signature is bad is not known.
        let cutOff = Self.refusal(of: Self.token(header: header), keys: rotated(at: 16))
        #expect(cutOff?.reason == .keyUnknown)
        #expect(
            cutOff?.message
                == "The token's signature fits none of 16 keys, and no more of the 20 that may have made it are tried.")
        var patient = rotated(at: 16)
        patient.maximumCandidates = 20
        #expect(Self.refusal(of: Self.token(header: header), keys: patient) == nil)
        patient.list.removeLast(4)
        #expect(Self.refusal(of: Self.token(header: header), keys: patient)?.reason == .signatureInvalid)
    }

    @Test func `two accounts with one kid do not displace each other`() {
        let other = TrustedAccount(email: "server@acme")
        let keys = FakeKeys(list: [FakeKey(id: "k1", account: other, byte: 2)] + Self.keys.list)
        #expect(Self.refusal(of: Self.token(), keys: keys) == nil)
        // Another's copies of the very key, and many more under its id, before it.
        let copies = FakeKeys(list: (0..<5).map { FakeKey(id: "k1", account: other, byte: $0) } + Self.keys.list)
        #expect(Self.refusal(of: Self.token(), keys: copies) == nil)
        let others = FakeKeys(list: [1, 2].map { FakeKey(id: "k1", account: other, byte: $0) })
        #expect(Self.refusal(of: Self.token(), keys: others)?.reason == .issuerMismatch)
    }

    @Test func `no refusal repeats any part of the token`() {
        for (_, _, change) in Self.changes {
            let token = Self.token(change)
            let text = Self.refusal(of: token).map { "\($0)" } ?? ""
            #expect(!text.isEmpty)
            for part in token.split(separator: ".").dropLast() { #expect(!text.contains(part)) }
        }
    }

    @Test func `what did not hold and how to mend it is the localized description`() {
        let error: any Error = TokenRefusal.missing
        #expect(
            error.localizedDescription
                == "The call carries no token. Send the header Authorization: Bearer TOKEN.")
    }
}

@Suite struct TokenExplanationTests {
    private func explain(_ token: String, method: FleetMethod, resource: String) throws -> TokenExplanation {
        TokenExaminer().explain(
            token,
            request: AccessRequest(method: method, resource: try ResourceName(checking: resource)),
            keys: TokenExaminerTests.keys,
            now: TokenExaminerTests.now
        )
    }

    @Test func `an allowed call passes every check, each once and in order`() throws {
        let explanation = try self.explain(
            TokenExaminerTests.token(), method: .getVehicle, resource: "providers/acme/vehicles/veh-3")
        #expect(explanation.refusal == nil)
        #expect(explanation.isAllowed)
        #expect(explanation.checks.map(\.rule) == TokenRule.allCases)
        for check in explanation.checks where check.rule != .revocation {
            guard case .passed = check.outcome else {
                Issue.record("\(check)")
                continue
            }
        }
    }

    @Test func `all faults show at once, and the first is the one a verifier answers with`() throws {
        let token = TokenExaminerTests.token(signedBy: 9) {
            $0["aud"] = .string("https://example.com/")
            $0["exp"] = .integer(1_767_225_000)
        }
        let explanation = try self.explain(token, method: .createTrip, resource: "providers/other/trips/t")
        #expect(explanation.refusal == TokenExaminerTests.refusal(of: token))
        let refused = explanation.checks.compactMap { check -> TokenRule? in
            if case .refused = check.outcome { check.rule } else { nil }
        }
        #expect(refused.contains([.signature]))
        #expect(refused.contains([.audience]) && refused.contains([.expiry]) && refused.contains([.coverage]))
    }

    @Test func `a verifier and an explanation agree on every broken token`() throws {
        for (name, reason, change) in TokenExaminerTests.changes {
            let explanation = try self.explain(
                TokenExaminerTests.token(change), method: .getVehicle, resource: "providers/acme/vehicles/veh-3")
            #expect(explanation.refusal?.reason == reason, "\(name)")
        }
        for (token, reason) in CompactJWSTests.refused {
            let explanation = try self.explain(token, method: .getVehicle, resource: "providers/acme/vehicles/veh-3")
            #expect(explanation.refusal?.reason == reason)
        }
    }

    @Test func `a call that the token does not reach names the check`() throws {
        let token = TokenExaminerTests.token()
        let wanted: [(FleetMethod, String, TokenRefusal.Reason, TokenRule)] = [
            (.getVehicle, "providers/acme/vehicles/other", .claimMismatch, .coverage),
            (.getVehicle, "providers/rival/vehicles/veh-3", .providerMismatch, .provider),
            (.createVehicle, "providers/acme/vehicles/veh-3", .roleLacksPermission, .permission),
        ]
        for (method, resource, reason, rule) in wanted {
            let explanation = try self.explain(token, method: method, resource: resource)
            #expect(explanation.refusal?.reason == reason)
            let check = explanation.checks.first { $0.outcome == explanation.refusal.map { .refused($0) } }
            #expect(check?.rule == rule)
        }
    }

    @Test func `what was withdrawn is refused after everything else that is wrong with the token itself`() throws {
        func explain(_ token: String, isWithdrawn: @escaping (String?, String?) -> Bool) -> TokenExplanation {
            TokenExaminer().explain(
                token, request: nil, keys: TokenExaminerTests.keys, now: TokenExaminerTests.now,
                isWithdrawn: isWithdrawn)
        }
        let token = TokenExaminerTests.token()
        #expect(explain(token) { _, _ in true }.refusal?.reason == .tokenRevoked)
        #expect(explain(token) { named, trusted in named == "k1" && trusted == "k1" }.refusal == .revoked)
        let outcome = explain(token) { _, _ in false }.checks.first { $0.rule == .revocation }?.outcome
        #expect(outcome == .passed("not withdrawn"))
        let expired = TokenExaminerTests.token { $0["exp"] = .integer(1_767_225_000) }
        #expect(explain(expired) { _, _ in true }.refusal?.reason == .tokenExpired)
    }

    @Test func `nothing is allowed by checks that were not reached`() throws {
        let request = AccessRequest(
            method: .getVehicle, resource: try ResourceName(checking: "providers/acme/vehicles/veh-3"))
        let forged = TokenExaminerTests.token(signedBy: 9)
        func explain(_ keys: FakeKeys?, _ request: AccessRequest?) -> TokenExplanation {
            TokenExaminer().explain(forged, request: request, keys: keys, now: TokenExaminerTests.now)
        }
        #expect(explain(nil, request).refusal == nil && !explain(nil, request).isAllowed)
        #expect(!explain(TokenExaminerTests.keys, request).isAllowed)
        let account = FakeKeys(list: [FakeKey(id: "k1", account: nil, byte: 9)])
        #expect(explain(account, request).refusal == nil && !explain(account, request).isAllowed)
    }

    @Test func `whether claims are missing is not told where the role is unknown`() throws {
        let request = AccessRequest(
            method: .getVehicle, resource: try ResourceName(checking: "providers/acme/vehicles/veh-3"))
        func explain(_ claims: JSONValue?, _ keys: FakeKeys?) -> TokenExplanation {
            let token = TokenExaminerTests.token { $0["authorization"] = claims }
            return TokenExaminer().explain(token, request: request, keys: keys, now: TokenExaminerTests.now)
        }
        let lacking: [JSONValue?] = [nil, .object([:]), .object(["own": .string("x")])]
        for claims in lacking {
            let explanation = explain(claims, nil)
            #expect(explanation.refusal == nil)
            #expect(
                explanation.checks.last?.outcome
                    == .notReached("there are no claims, and the keys do not say whether the account needs any"))
        }
        #expect(
            explain(.object(["vehicleId": .string("veh-3")]), nil).checks.last?.outcome
                == .notReached(
                    "there are no claims, and the keys do not say whether the account needs any. Write the claim "
                        + "vehicleId as vehicleid; in any other spelling it is ignored."))
        #expect(explain(nil, TokenExaminerTests.keys).refusal?.reason == .claimsMissing)
        #expect(explain(.object(["vehicleid": .string("other")]), nil).refusal?.reason == .claimMismatch)
    }

    @Test func `claims that are ignored are named, whatever their values are`() throws {
        let token = TokenExaminerTests.token {
            $0["authorization"] = .object([
                "vehicleid": .string("veh-3"), "taskIds": .array([.string("a")]), "depot\u{202E}": .integer(1),
                "vehicleId": .string("veh-4"),
            ])
        }
        let explanation = try self.explain(token, method: .getVehicle, resource: "providers/acme/vehicles/veh-3")
        #expect(
            explanation.checks.first { $0.rule == .claims }?.outcome
                == .passed(#"{"vehicleid":"veh-3"}; ignored: depot\u202e, taskIds, vehicleId"#))
    }

    @Test func `a claim in another spelling is named in what to mend, where the call asks for it`() throws {
        func fix(_ claims: JSONObject) throws -> String? {
            let token = TokenExaminerTests.token { $0["authorization"] = .object(claims) }
            return try self.explain(token, method: .getVehicle, resource: "providers/acme/vehicles/veh-3").refusal?.fix
        }
        let spelling = "Write the claim vehicleId as vehicleid; in any other spelling it is ignored."
        #expect(try fix(["vehicleId": .string("veh-3")]) == spelling)
        #expect(try fix(["vehicleid": .string("other"), "vehicleId": .string("veh-3")]) == spelling)
        #expect(try fix(["vehicleId": .integer(3)]) == spelling)
        let another = "Mint a token for that very id."
        #expect(try fix(["vehicleid": .string("other"), "tripId": .string("t")]) == another)
        let claim = "Mint the token with the claim that names the resource, or sign with an admin account."
        #expect(try fix(["vehicle": .string("veh-3")]) == claim)
    }

    @Test func `claims that are ignored are as good as none to every call, a search too`() throws {
        let account = TrustedAccount(
            email: TokenExaminerTests.driver.email, role: .consumer, provider: ProviderID("acme"))
        let keys = FakeKeys(list: [FakeKey(id: "k1", account: account, byte: 1)])
        let request = AccessRequest(method: .searchVehicles, resource: try ResourceName(checking: "providers/acme"))
        let ignored: [JSONObject] = [
            ["tripId": .string("t")], ["tripId": .integer(1)], ["x": .string("y")], ["x": .integer(1)],
        ]
        for claims in ignored {
            let token = TokenExaminerTests.token { $0["authorization"] = .object(claims) }
            let now = TokenExaminerTests.now
            let refusal = TokenExaminer().explain(token, request: request, keys: keys, now: now).refusal
            #expect(refusal?.reason == .claimsMissing)
            #expect(refusal?.message.hasPrefix("The token has no authorization claims that count, ") == true)
            #expect(refusal?.fix.hasPrefix("Write the claim tripId as tripid") == (claims["tripId"] != nil))
            let examined = try TokenExaminer().examine(token, keys: keys, now: now)
            #expect(throws: TokenRefusal.self) { try request.authorize(examined) }
        }
    }

    @Test func `without a call a token is refused that has no claims, where its account needs some for every call`() {
        func refusal(_ claims: JSONValue?, _ role: Role?) -> TokenRefusal? {
            let account = TrustedAccount(email: TokenExaminerTests.driver.email, role: role)
            let keys = FakeKeys(list: [FakeKey(id: "k1", account: account, byte: 1)])
            let token = TokenExaminerTests.token { $0["authorization"] = claims }
            return TokenExaminer().explain(token, request: nil, keys: keys, now: TokenExaminerTests.now).refusal
        }
        let lacking: [JSONValue?] = [
            nil, .object([:]), .object(["taskIds": .array([.string("a")])]), .object(["vehicleId": .string("veh-3")]),
        ]
        for claims in lacking {
            for role in Role.known {
                let isAdmin = role == .onDemandAdmin || role == .deliveryAdmin
                let reason: TokenRefusal.Reason? = isAdmin ? nil : .claimsMissing
                let refused = refusal(claims, role)
                #expect(refused?.reason == reason, "\(role)")
                // Only of a token without the object are the service's words known.
                let isPublished = refused?.message.hasPrefix("JWT does not contain any scopes. The token has") == true
                #expect(isPublished == (!isAdmin && claims == nil), "\(role)")
            }
            #expect(refusal(claims, nil) == nil)
        }
        #expect(refusal(.object(["vehicleid": .string("veh-3")]), .driver) == nil)
    }

    @Test func `rules can be left out of an explanation afterwards`() throws {
        let explanation = try self.explain(
            TokenExaminerTests.token(), method: .getVehicle, resource: "providers/acme/vehicles/other")
        let part = explanation.leavingOut([.permission, .coverage], why: "not read")
        #expect(part.refusal == nil && !part.isAllowed)
        #expect(part.checks.filter { $0.outcome == .notReached("not read") }.map(\.rule) == [.permission, .coverage])
        #expect(part.checks.map(\.rule) == TokenRule.allCases)
    }

    @Test func `without keys the rest is still explained`() {
        let explanation = TokenExaminer().explain(
            TokenExaminerTests.token(), request: nil, keys: nil, now: TokenExaminerTests.now)
        #expect(explanation.refusal == nil)
        #expect(explanation.claims?.issuer == TokenExaminerTests.driver.email)
        #expect(explanation.checks.first { $0.rule == .signature }?.outcome == .notReached("no keys were given"))
    }
}
