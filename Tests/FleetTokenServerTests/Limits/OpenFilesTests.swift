// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import ServiceLifecycle
import Testing

@Suite struct OpenFilesTests {
    @Test(arguments: [
        (20_512, 2, 10_128), (20_512, 1, 20_256), (1024, 2, 384), (512, 2, 128), (256, 2, 64), (260, 1, 130),
        (8, 2, 2), (1, 2, 1), (0, 1, 1),
    ])
    func `a part of the files is kept, and the rest is for connections`(files: Int, ports: Int, connections: Int) {
        #expect(OpenFiles.connections(ofFiles: files, ports: ports) == connections)
    }

    /// Knows nobody.
    private struct Nobody: CallerAuthenticator {
        func caller(of request: CallerRequest) async throws -> Caller? { nil }
    }

    /// Keeps the connections that warnings tell of.
    private struct Warnings: LogHandler {
        let connections: Locked<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard let metadata = event.metadata, let taken = metadata["connections"] else { return }
            self.connections.withLock { $0.append("\(taken) of \(metadata["wanted"] ?? "?")") }
        }
    }

    /// The limit is that of a whole process, so it is one of its own.
    @Test func `a token server of any program takes the connections that there are files for, and tells so`() async {
        await #expect(processExitsWith: .success) {
            #if canImport(Glibc)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            #else
                let resource = RLIMIT_NOFILE
            #endif
            var limit = rlimit()
            try #require(getrlimit(resource, &limit) == 0)
            limit.rlim_cur = 1024
            try #require(setrlimit(resource, &limit) == 0)

            let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let keys = folder.appending(path: "keys")
            try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
            try ServiceAccountKey(generatingFor: "driver@acme.example", projectID: "acme").keyFile
                .write(to: keys.appending(path: "driver.json"))
            let told = Locked<[String]>([])
            let logger = Logger(label: "test") { _ in Warnings(connections: told) }
            let (ports, announce) = AsyncStream.makeStream(of: Int.self)
            let server = try TokenServer(
                TokenServerConfiguration(
                    yaml: "provider: acme\ndata: .\nkeys: keys\nlisten: {port: 0}\n", folder: folder, environment: [:]),
                authenticators: [Nobody()], environment: [:], logger: logger
            ) { announce.yield($0) }
            let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
            let running = Task { try await group.run() }
            for await _ in ports { break }
            await group.triggerGracefulShutdown()
            try await running.value
            try #require(told.withLock { $0 } == ["768 of 10000"])
        }
    }
}
