// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct LookupReaderTests {
    @Test func `a look for the tasks of a tracking id is short until it finds many`() async throws {
        let store = MemoryStore()
        func look() async throws -> Int {
            try await store.read { reader in
                try LookupReader.run(
                    { reader in
                        var count = 0
                        try reader.scan(StoreScan(tracking: "shp-1"), of: TestID.acme) { (_, _: DeliveryTask) in
                            count += 1
                            return true
                        }
                        return count
                    }, over: reader)
            }
        }
        func put(_ ids: Range<Int>) async throws {
            try await store.write { transaction in
                for id in ids {
                    let task = DeliveryTask.with { $0.trackingID = "shp-1" }
                    try transaction.put(task, TestID.id("t-\(id)"), of: TestID.acme, at: .init())
                }
            }
        }
        try await put(0..<LookupReader.shortLimit)
        #expect(try await look() == LookupReader.shortLimit)
        try await put(LookupReader.shortLimit..<LookupReader.shortLimit + 1)
        await #expect(throws: LookupReader.Scans.self) { try await look() }
    }

    @Test func `a body that looks up many resources ends once nobody waits`() async throws {
        let isWanted = Locked(true)
        let finds = try await MemoryStore().read { reader in
            let wanted = WantedReader(reader) { isWanted.withLock { $0 } }
            for _ in 0..<1000 { _ = try wanted.vehicle(TestID.id("veh-1"), of: TestID.acme) }
            isWanted.withLock { $0 = false }
            var finds = 0
            #expect(throws: CancellationError.self) {
                while finds < 1000 {
                    _ = try wanted.vehicle(TestID.id("veh-1"), of: TestID.acme)
                    finds += 1
                }
            }
            return finds
        }
        #expect(finds < 256)
    }
}
