// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import Foundation
import Testing

@Suite struct RevocationSourceTests {
    /// Answers nobody.
    private struct Nobody: UpstreamTransport {
        func send(_ request: UpstreamRequest) async throws -> UpstreamResponse { throw UpstreamError(.unreachable) }
    }

    private func problem(url: String = "https://tokens.example/list", keys: String?) -> String? {
        let source = RevocationSource(url: url, keys: keys, givenBy: ("the.url", "the.keys"))
        do throws(ConfigurationError) {
            _ = try source.follower(of: RevocationList(), transport: Nobody())
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `a mistake is told with its setting and its reason`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (path, file) = (folder.path(percentEncoded: false), folder.appending(path: "keys.json"))
        try Data("{}".utf8).write(to: file)
        let set = file.path(percentEncoded: false)
        #expect(self.problem(keys: nil) == nil)
        #expect(self.problem(keys: "https://keys.example/set") == nil)
        #expect(
            self.problem(keys: "\(path)/none")
                == "the.keys: the file \(path)/none cannot be read: \(path)/none is missing.")
        #expect(
            self.problem(keys: path) == "the.keys: the file \(path) cannot be read: \(path) is a folder, not a file.")
        #expect(self.problem(keys: set)?.hasPrefix("the.keys: \(set): The key set has no Ed25519 key") == true)
        let address = "http://keys.example/set"
        #expect(self.problem(keys: address + "?x")?.hasPrefix("the.keys: \(address) must be https") == true)
        #expect(self.problem(url: address, keys: nil)?.hasPrefix("the.url: \(address): ") == true)
    }
}
