// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Testing

@Suite struct ProcessorsTests {
    @Test(arguments: [
        ("Cpus_allowed:\t1\n", 1), ("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n", 8),
        ("Cpus_allowed:\t3,00000000,80000001\n", 4),
    ])
    func `the processors that a process may use are counted`(status: String, count: Int) {
        #expect(Processors.allowed(inStatus: status) == count)
    }

    @Test(arguments: ["", "Name:\tx\n", "Cpus_allowed:\t\n", "Cpus_allowed_list:\t0-7\n"])
    func `without a mask there is no count`(status: String) {
        #expect(Processors.allowed(inStatus: status) == nil)
    }

    @Test func `there is at least one`() {
        #expect(Processors.count >= 1)
    }
}
