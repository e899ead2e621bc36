// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

/// Makes worlds for one check, and cleans up after it.
final class FetcherLab: Sendable {
    private let kind: FetcherKind
    private let worlds = Locked<[FetcherWorld]>([])

    init(_ kind: FetcherKind) {
        self.kind = kind
    }

    func world(
        _ script: ChaosScript = [], service: FetcherService = .driver, contract: ServerContract = .fleetpass
    ) -> FetcherWorld {
        let world = FetcherWorld(self.kind, script, service: service, contract: contract)
        self.worlds.withLock { $0.append(world) }
        return world
    }

    /// Whatever would have ended the app in any of the worlds.
    var accident: String? { self.worlds.withLock { $0 }.flatMap(\.accidents).first }

    func end() {
        for world in self.worlds.withLock({ $0 }) { world.end() }
    }
}

/// A defect of the published samples: how to notice it, and the flaws that show that one would.
struct Defect: Sendable {
    /// Each set of flaws alone brings the defect in.
    let flaws: [Set<Flaw>]
    /// What is wrong with a fetcher, or `nil`.
    let check: @Sendable (FetcherLab) async throws -> String?

    init(_ flaws: [Set<Flaw>], check: @escaping @Sendable (FetcherLab) async throws -> String?) {
        self.flaws = flaws
        self.check = check
    }

    init(_ flaw: Flaw, check: @escaping @Sendable (FetcherLab) async throws -> String?) {
        self.init([[flaw]], check: check)
    }

    func finding(in kind: FetcherKind) async throws -> String? {
        let lab = FetcherLab(kind)
        defer { lab.end() }
        let finding = try await self.check(lab)
        return lab.accident ?? finding
    }

    /// Proves that ours has not got the defect, and that the check would see it in a fetcher that has.
    func prove() async throws {
        let ours = try await self.finding(in: .fleetpass)
        #expect(ours == nil)
        // Flaws prove something only if the fetcher around them is right.
        let withoutFlaws = try await self.finding(in: .sample([]))
        #expect(withoutFlaws == nil)
        for flaws in self.flaws {
            let finding = try await self.finding(in: .sample(flaws))
            #expect(finding != nil, "the check does not see \(flaws)")
        }
    }
}
