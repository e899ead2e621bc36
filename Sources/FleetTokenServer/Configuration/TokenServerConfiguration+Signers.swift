// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import GoogleCredentials

extension SignerSettings {
    /// Reads how each role named below `signers` is signed.
    static func all(
        in values: ConfigurationValues, file: (String) -> String?
    ) throws(ConfigurationError) -> [Self] {
        var all: [Self] = []
        for name in values.names(in: "signers") {
            let role = Role(rawValue: name)
            guard Role.known.contains(role) else {
                throw ConfigurationError(
                    "signers.\(name.prefix(64)): there is no such role; there are "
                        + "\(Role.known.map(\.rawValue).joined(separator: ", ")).")
            }
            all.append(try Self(role, in: values, at: "signers.\(name)", keyFile: file("signers.\(name).key")))
        }
        return all
    }

    private init(
        _ role: Role, in values: ConfigurationValues, at path: String, keyFile: String?
    ) throws(ConfigurationError) {
        let words = values.list("\(path).ways")
        let ways = words.compactMap { word in Way.all.first { $0.word == word } }
        guard ways.count == words.count, Set(ways).count == ways.count, !ways.isEmpty else {
            throw ConfigurationError(
                "\(path).ways must be some of \(Way.all.map(\.word).joined(separator: ", ")), each once, in the order in "
                    + "which they are tried.")
        }
        let email = values["\(path).account"] ?? "self"
        let delegates = values.list("\(path).delegates")
        guard email == "self" || email.contains("@") else {
            throw ConfigurationError(
                "\(path).account must be self or a service account's e-mail, NAME@PROJECT.iam.gserviceaccount.com.")
        }
        guard email != "self" || delegates.isEmpty else {
            throw ConfigurationError("\(path).delegates lead to an account; name it in \(path).account.")
        }
        guard keyFile == nil || ways.contains(.key) else {
            throw ConfigurationError(
                "\(path).key is set, and \(path).ways does not use it; add key to the ways, or remove the setting.")
        }
        self.init(
            role: role, account: email == "self" ? .own : .email(email), ways: ways, delegates: delegates,
            keyFile: keyFile)
    }
}

extension GoogleSettings {
    /// Reads the section `google`.
    init(in values: ConfigurationValues, credentialFile: String?) throws(ConfigurationError) {
        var overrides: [String: String] = [:]
        for (name, host) in [
            ("iam", "iamcredentials.googleapis.com"), ("keys", "www.googleapis.com"), ("sts", "sts.googleapis.com"),
            ("oauth", "oauth2.googleapis.com"),
        ] {
            guard let address = values["google.endpoints.\(name)"] else { continue }
            guard UpstreamAddress.isAcceptable(address) else {
                throw ConfigurationError(
                    "google.endpoints.\(name) must be an https address, such as https://HOST; http is taken for this "
                        + "machine alone.")
            }
            overrides[host] = address.hasSuffix("/") ? String(address.dropLast()) : address
        }
        self.init(
            credentialFile: credentialFile, hostOverrides: overrides,
            callsPerMinute: values["google.signing_calls_per_minute"].flatMap { Int($0) }
                ?? SigningBudget.defaultCallsPerMinute)
    }
}
