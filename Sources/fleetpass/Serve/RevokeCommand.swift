// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation

/// `fleetpass revoke`: withdraws tokens before their end.
struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Withdraw tokens; the engine refuses them within 5 seconds.",
        discussion: """
            Example:  fleetpass revoke --data data --subject driver-7

            Withdraws the tokens that are alive now, as the audit knows them. A vehicle or trip stands for the tokens that \
            name it, not for those of every vehicle. New tokens are given as before: end the account or the assignment \
            first. --key withdraws every token of a key for an hour; retire the key within it. A key that a trust \
            file has as PEM goes by its account's e-mail. Prints what is refused; without a target, prints what is \
            withdrawn now.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    @Option(help: "A token's fingerprint.")
    var fingerprint: String?

    @Option(help: "A subject, such as the sub of an ID token.")
    var subject: String?

    @Option(help: "A caller's name.")
    var caller: String?

    @Option(help: ArgumentHelp("A key's id.", valueName: "id"))
    var key: String?

    @OptionGroup var resources: ResourceOptions

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let kind: String
        let value: String
        let endsAt: String

        init(_ revocation: Revocation) {
            self.kind = revocation.kind.rawValue
            self.value = revocation.value
            self.endsAt = APITime.text(revocation.endsAt)
        }
    }

    private var targets: [RevocationTarget] {
        [
            self.fingerprint.map(RevocationTarget.fingerprint), self.subject.map(RevocationTarget.subject),
            self.caller.map(RevocationTarget.caller), self.key.map(RevocationTarget.key),
        ].compactMap(\.self) + self.resources.all.map(RevocationTarget.resource)
    }

    func validate() throws {
        guard self.targets.count <= 1 else { throw ValidationError("Name one target.") }
        let named: [(option: String, value: String?, target: (String) -> RevocationTarget)] = [
            ("--subject", self.subject, RevocationTarget.subject), ("--caller", self.caller, RevocationTarget.caller),
            ("--key", self.key, RevocationTarget.key),
            ("--fingerprint", self.fingerprint, RevocationTarget.fingerprint),
        ]
        for (option, value, target) in named {
            if let fault = value.flatMap({ target($0).fault }) { throw ValidationError("\(option) \(fault).") }
        }
    }

    func run() async throws {
        guard let target = self.targets.first else {
            let store = RevocationStore(store: try await self.store.open(to: .list))
            return try self.give(try await store.current(at: Date()))
        }
        let (store, now) = try await self.store.openToChange()
        let revocations = try await CommandFailure.changing(seenBy: "revoke without a target, or audit search,") {
            try await Administration(store: store).revoke(target, by: .localUser, at: now)
        }
        try self.give(revocations)
        Console.say("fleetpass: withdrew \(revocations.count).")
        let list = RevocationStore(store: store)
        let isNamed = (self.fingerprint ?? self.key) != nil
        let remarks = await Self.remarks(
            isKnown: { isNamed ? try await list.knows(target, at: now) : true },
            leftOut: { try await list.countLeftOut(at: now) })
        for remark in remarks { Console.say("fleetpass: \(remark)") }
    }

    /// What is to be said of a withdrawal that was made, beyond what it withdrew.
    ///
    /// Nothing that fails here is an error of the command, which would be given again then.
    ///
    /// - Parameters:
    ///   - isKnown: Whether the audit knows a token of it.
    ///   - leftOut: How much of what is withdrawn the signed list has no room for.
    /// - Returns: The sentences.
    static func remarks(isKnown: () async throws -> Bool, leftOut: () async throws -> Int) async -> [String] {
        var remarks: [String] = []
        do {
            if try await !isKnown() {
                remarks.append("the audit knows no living token of it; it is withdrawn all the same.")
            }
            let leftOut = try await leftOut()
            if leftOut > 0 {
                remarks.append(
                    "the signed list has no room for \(leftOut) of what is withdrawn, which engines that follow it do not "
                        + "hear of; withdraw the key that signed these tokens, with --key.")
            }
        } catch {
            remarks.append(
                "it is withdrawn; what the signed list has no room for could not be told, as the store failed "
                    + "afterwards.")
        }
        return remarks
    }

    private func give(_ revocations: [Revocation]) throws {
        switch self.output {
        case .text:
            for revocation in revocations {
                Console.give(
                    "\(revocation.kind)=\(revocation.value.lineWord) until=\(APITime.text(revocation.endsAt))")
            }
        case .json: try Console.give(json: revocations.map(Report.init))
        }
    }
}
