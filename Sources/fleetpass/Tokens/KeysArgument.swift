// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokenClient
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials

/// Reads trusted keys from where `--keys` points: a file, a folder, or a URL.
struct KeysArgument {
    let location: String

    /// The keys found there whose certificates, if any, are good at a time, without those that were rotated out long
    /// enough ago; those of no account in particular are tried with tokens that name no key.
    func read(at now: Date = Date()) async throws -> TrustedKeySet {
        let keys: [RSAPublicKey]
        do {
            if self.location.contains("://") {
                keys = try TrustedKeySet.read(try await self.download(), named: self.location, validAt: now)
            } else {
                keys = try ListedFiles.read(
                    { try self.files(at: now) }, at: { $0.map { $0.path(percentEncoded: false) } }
                ) { files in try files.flatMap { try Self.keys(ofFile: $0, validAt: now) } }
            }
        } catch let error as SigningError {
            throw CommandFailure(status: .configuration, message: "\(self.location): \(error.message)")
        }
        guard !keys.isEmpty else {
            throw CommandFailure(
                status: .configuration,
                message: "\(self.location) holds no key for RS256 signatures that is valid now.")
        }
        return TrustedKeySet(keys, triesKeysOfNoAccount: true)
    }

    /// A verifier with these keys, and with what a token server's store in the folder withdraws.
    func verifier() async throws -> TokenVerifier {
        TokenVerifier(keys: try await self.read(), revocations: try await self.withdrawals(), cacheCapacity: 0)
    }

    /// What is withdrawn now, where the location is a data folder with a store.
    private func withdrawals() async throws -> RevocationList? {
        guard !self.location.contains("://") else { return nil }
        let file = TokenServerStore.file(inFolder: self.location)
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let list = RevocationList()
        do {
            let store = try TokenServerStore(listingAt: file)
            list.replace(try await RevocationStore(store: store).current(at: Date()))
            try store.close()
        } catch {
            let known = (error as? TokenServerError).map { CommandFailure(store: $0) }
            throw CommandFailure(
                status: known?.status ?? .configuration,
                message: "what is withdrawn cannot be read: \(known?.message ?? "\(error)")")
        }
        return list
    }

    private func files(at now: Date) throws -> [URL] {
        let location = URL(filePath: self.location)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: location.path(percentEncoded: false), isDirectory: &isFolder)
        else {
            let reason = PathProblem.reading(self.location) ?? "\(self.location) is missing"
            throw CommandFailure(status: .configuration, message: "there are no keys to read: \(reason).")
        }
        guard isFolder.boolValue else { return [location] }
        // The data folder of `up` holds its accounts one level down.
        let accounts = location.appending(path: "service-accounts")
        let folder = FileManager.default.fileExists(atPath: accounts.path(percentEncoded: false)) ? accounts : location
        let files: [URL]
        do {
            files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        } catch {
            let reason =
                PathProblem.reading(folder: folder.path(percentEncoded: false)) ?? error.localizedDescription
            throw CommandFailure(
                status: .configuration, message: "the keys in \(self.location) cannot be read: \(reason).")
        }
        let states: [String: KeySchedule.State]
        do throws(TokenServerError) {
            states = try KeyFolder(path: folder.path(percentEncoded: false)).states(at: now)
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        return
            files.filter {
                let name = $0.lastPathComponent
                // Systems and editors keep hidden files of their own beside others, under names like theirs.
                guard !name.hasPrefix(".") else { return false }
                // What a token server signs its list of revocations with lies in its data folder, which may hold its keys.
                return ["json", "pem"].contains($0.pathExtension) && name != RevocationKeyFile.name
                    && states[name] != .retired
            }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    /// The keys of one file; a service account's key file that is named after a role gives its account that role.
    ///
    /// The other forms name no account that a role could be given to.
    private static func keys(ofFile file: URL, validAt now: Date) throws -> [RSAPublicKey] {
        let bytes = try InputFile(path: file.path(percentEncoded: false)).bytes()
        // A PEM text has no other id.
        let name = file.deletingPathExtension().lastPathComponent
        return try TrustedKeySet.read(
            bytes, named: name, role: KeyFolder.role(ofFile: file.lastPathComponent), validAt: now)
    }

    private func download() async throws -> Data {
        let url = try URL(given: self.location, as: "--keys", like: "https://tokens.example/.well-known/jwks.json")
        do {
            let request = UpstreamRequest(url: url.absoluteString, maximumBytes: 4 << 20)
            let answer = try await AsyncHTTPClientTransport().send(request)
            guard answer.status == 200 else {
                throw CommandFailure(
                    status: .unreachable, message: "\(self.location) answered with status \(answer.status).")
            }
            return Data(answer.body)
        } catch let error as UpstreamError {
            throw CommandFailure(status: .unreachable, message: "\(self.location) \(error).")
        }
    }
}
