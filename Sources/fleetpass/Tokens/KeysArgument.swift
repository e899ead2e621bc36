// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenClient
import FleetTokenServer
import FleetTokens
import Foundation

/// Reads trusted keys from where `--keys` points: a file, a folder, or a URL.
struct KeysArgument {
    let location: String

    /// The keys found there.
    func read() async throws -> TrustedKeySet {
        let keys: [RSAPublicKey]
        do {
            if self.location.contains("://") {
                keys = try TrustedKeySet.read(try await self.download(), named: self.location)
            } else {
                keys = try self.files().flatMap(Self.keys(ofFile:))
            }
        } catch let error as SigningError {
            throw CommandFailure(status: .configuration, message: "\(self.location): \(error.message)")
        }
        guard !keys.isEmpty else {
            throw CommandFailure(status: .configuration, message: "\(self.location) holds no key for RS256 signatures.")
        }
        return TrustedKeySet(keys)
    }

    private func files() throws -> [URL] {
        let location = URL(filePath: self.location)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: location.path(percentEncoded: false), isDirectory: &isFolder)
        else {
            throw CommandFailure(status: .configuration, message: "there is no file or folder \(self.location).")
        }
        guard isFolder.boolValue else { return [location] }
        // The data folder of `up` holds its accounts one level down.
        let accounts = location.appending(path: "service-accounts")
        let folder = FileManager.default.fileExists(atPath: accounts.path(percentEncoded: false)) ? accounts : location
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { ["json", "pem"].contains($0.pathExtension) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    /// The keys of one file; a file that is named after a role gives its account that role.
    static func keys(ofFile file: URL) throws -> [RSAPublicKey] {
        guard let bytes = try? Data(contentsOf: file) else {
            throw CommandFailure(status: .configuration, message: "\(file.path(percentEncoded: false)) cannot be read.")
        }
        let name = file.deletingPathExtension().lastPathComponent
        return try TrustedKeySet.read(bytes, named: name, role: KeyFolder.role(ofFile: file.lastPathComponent))
    }

    private func download() async throws -> Data {
        guard let url = URL(string: self.location), (try? SecureURL(checking: url)) != nil else {
            throw CommandFailure(
                status: .usage, message: "\(self.location) is neither https nor http on this machine.")
        }
        do {
            let answer = try await URLSessionTransport().send(HTTPTransportRequest(url: url))
            guard answer.status == 200 else {
                throw CommandFailure(
                    status: .unreachable, message: "\(self.location) answered with status \(answer.status).")
            }
            return answer.body
        } catch let error as TokenClientError {
            throw CommandFailure(status: .unreachable, message: "\(self.location): \(error.message)")
        }
    }
}
