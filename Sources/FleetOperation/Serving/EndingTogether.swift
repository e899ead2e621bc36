// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import ServiceLifecycle

/// Servers that are told to end at the same moment, so that none takes new connections while another waits for its own.
package struct EndingTogether: Service {
    private let servers: [any Service]

    /// Takes the servers.
    package init(_ servers: [any Service]) {
        self.servers = servers
    }

    /// Runs all, until the last has ended.
    ///
    /// - Throws: The first error of any, which ends the others.
    package func run() async throws {
        try await withThrowingTaskGroup { group in
            for server in self.servers { group.addTask { try await server.run() } }
            try await group.waitForAll()
        }
    }
}
