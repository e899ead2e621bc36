// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
import Logging
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

@Suite struct CallersFileTests {
    /// A file of callers in a folder that is removed with the value.
    private final class World {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        var url: URL { self.folder.appending(path: "callers.json") }
        var path: String { self.url.path(percentEncoded: false) }

        init() throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func write(_ text: String) throws {
            try Data(text.utf8).write(to: self.url, options: .atomic)
        }

        /// Names callers.
        ///
        /// - Returns: Their secrets.
        func name(_ names: [String], roles: String = #", "roles": ["driver"]"#) throws -> [String] {
            let made = names.map { ($0, StaticBearerAuthenticator.makeSecret()) }
            let entries = made.map { name, made in
                #"{"name": "\#(name)", "salt": "\#(made.salt)", "secret_sha256": "\#(made.digest)"\#(roles)}"#
            }
            try self.write(#"{"callers": [\#(entries.joined(separator: ","))]}"#)
            return made.map(\.1.secret)
        }
    }

    private static func request(_ secret: String) -> CallerRequest {
        CallerRequest(headers: [.authorization: "Bearer \(secret)"])
    }

    @Test func `who is taken out of the file is not known from the next look on`() async throws {
        let world = try World()
        let secrets = try world.name(["app", "dispatch"])
        let file = try CallersFile(world.path)
        #expect(try !file.refresh())
        #expect(try await file.caller(of: Self.request(secrets[0]))?.name == "app")
        let later = try world.name(["dispatch"])
        #expect(try await file.caller(of: Self.request(secrets[0]))?.name == "app")
        #expect(try file.refresh())
        #expect(try !file.refresh())
        for secret in secrets {
            await #expect(throws: CallerRefusal.self) { try await file.caller(of: Self.request(secret)) }
        }
        #expect(try await file.caller(of: Self.request(later[0]))?.name == "dispatch")
        #expect(file.knownCallers.map(\.name) == ["dispatch"])
    }

    @Test func `a file that cannot be used leaves who is known, and is tried until it can be`() async throws {
        let world = try World()
        let secrets = try world.name(["app"])
        let file = try CallersFile(world.path)
        try world.write("{")
        for _ in 0..<2 {
            let error = #expect(throws: TokenServerError.self) { try file.refresh() }
            #expect(error?.message.hasPrefix("\(world.path): The callers' file is not of the form") == true)
        }
        try FileManager.default.removeItem(at: world.url)
        let gone = #expect(throws: TokenServerError.self) { try file.refresh() }
        #expect(gone?.message.hasPrefix("The callers' file \(world.path) cannot be read; create it") == true)
        #expect(try await file.caller(of: Self.request(secrets[0]))?.name == "app")
        let later = try world.name(["app"])
        #expect(try file.refresh())
        await #expect(throws: CallerRefusal.self) { try await file.caller(of: Self.request(secrets[0])) }
        #expect(try await file.caller(of: Self.request(later[0]))?.name == "app")
    }

    @Test func `a file of administrators stays one`() async throws {
        let world = try World()
        _ = try world.name(["admin"], roles: "")
        let file = try CallersFile(world.path, of: .administrators)
        _ = try world.name(["app"])
        let error = #expect(throws: TokenServerError.self) { try file.refresh() }
        #expect(error?.message.contains("The administrator \"app\" has roles") == true)
        let secrets = try world.name(["other"], roles: "")
        #expect(try file.refresh())
        #expect(try await file.caller(of: Self.request(secrets[0]))?.name == "other")
    }

    @Test func `a service looks at the file with the rest, and tells once why it cannot be used`() async throws {
        let (world, log) = (try World(), LeakTests.Log())
        let secrets = try world.name(["app"])
        let keys = world.folder.appending(path: "keys")
        try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
        try ServiceAccountKey(generatingFor: "driver@acme.example", projectID: "acme").keyFile
            .write(to: keys.appending(path: "driver.json"))
        let file = try CallersFile(world.path)
        let service = try TokenService(
            data: world.folder.path(percentEncoded: false), keys: keys.path(percentEncoded: false),
            provider: try ProviderID(checking: "acme"), callers: [file],
            following: try FollowedServers(logger: .silent),
            logger: Logger(label: "test") { _ in LeakTests.Handler(log: log) })
        func isFailing(_ number: Int) -> Bool {
            service.metrics.text.contains("fleetpass_reload_failing{part=\"callers\"} \(number)\n")
        }
        await service.refresh()
        #expect(isFailing(0))
        try world.write("{")
        for _ in 0..<3 { await service.refresh() }
        #expect(isFailing(1))
        #expect(service.metrics.text.contains("fleetpass_reload_failing{part=\"key_folder\"} 0\n"))
        #expect(log.contents.split(separator: "\n").count { $0.contains("what was read last stays in force") } == 1)
        #expect(try await file.caller(of: Self.request(secrets[0]))?.name == "app")
        _ = try world.name(["other"])
        await service.refresh()
        #expect(isFailing(0))
        await #expect(throws: CallerRefusal.self) { try await file.caller(of: Self.request(secrets[0])) }
        #expect(log.contents.split(separator: "\n").count { $0.contains("callers read again") } == 1)
        #expect(!log.contents.contains(secrets[0]))
        try service.store.close()
    }
}
