// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folder that `up` keeps everything in: one service account for each role, and the engine's store.
///
/// What is made in it is its owner's only (folders 0700, files 0600); the folder is held by one process at a time.
struct DataFolder {
    /// The folder's absolute path, without a slash at the end.
    let path: String
    /// The key of each role's service account.
    let accounts: [Role: ServiceAccountKey]
    private let lock: FileLock

    /// The folder of the key files.
    var keyFolder: String { "\(self.path)/service-accounts" }
    /// The engine's store.
    var storeFile: String { "\(self.path)/fleetpass.sqlite" }

    /// Opens the folder, and makes what is missing.
    ///
    /// - Throws: ``CommandFailure`` with `configuration` that says what cannot be used, or `usage` for an empty path.
    static func open(_ path: String, provider: ProviderID) throws -> DataFolder {
        guard !path.isEmpty else {
            throw CommandFailure(status: .usage, message: "--data is empty; name the folder for keys and data.")
        }
        let url = URL(filePath: path, directoryHint: .isDirectory)
        ServerProcess.begin()
        let accountsFolder = url.appending(path: "service-accounts", directoryHint: .isDirectory)
        do {
            try FileManager.default.createDirectory(at: accountsFolder, withIntermediateDirectories: true)
        } catch {
            let problem = PathProblem.making(folder: path) ?? error.localizedDescription
            throw CommandFailure(
                status: .configuration,
                message: "the data folder \(path) cannot be made: \(problem); pass another with --data.")
        }
        let lock = try Self.lock(url.appending(path: "lock").path(percentEncoded: false), of: path)
        var accounts: [Role: ServiceAccountKey] = [:]
        for role in Role.known {
            accounts[role] = try Self.account(role, in: accountsFolder, provider: provider)
        }
        let absolute = url.absoluteURL.path(percentEncoded: false)
        return DataFolder(
            path: absolute.hasSuffix("/") ? String(absolute.dropLast()) : absolute, accounts: accounts, lock: lock)
    }

    private static func account(
        _ role: Role, in folder: URL, provider: ProviderID
    ) throws -> ServiceAccountKey {
        let file = folder.appending(path: "\(role).json")
        let path = file.path(percentEncoded: false)
        let email = "\(role)@\(provider).iam.gserviceaccount.com"
        do {
            guard FileManager.default.fileExists(atPath: path) else {
                let key = try ServiceAccountKey(generatingFor: email, projectID: provider.value)
                // Written beside it first, so that it appears whole; one there is of a run that was killed.
                let draft = folder.appending(path: ".\(role).json.new").path(percentEncoded: false)
                unlink(draft)
                try PrivateFile.make(at: draft, holding: key.keyFile)
                guard rename(draft, path) == 0 else { throw SystemRefusal() }
                try PrivateFile.settle(folder.path(percentEncoded: false))
                return key
            }
            let key = try ServiceAccountKey(json: Data(contentsOf: file))
            guard key.account == email else {
                throw CommandFailure(
                    status: .configuration,
                    message: "\(path) belongs to \(key.account), not to \(email); start with the provider that the "
                        + "folder was made for, or with another folder."
                )
            }
            return key
        } catch let error as SigningError {
            throw CommandFailure(
                status: .configuration,
                message: "\(path): \(error.message) Mend the file, or remove it to have a new key made."
            )
        } catch let error as CommandFailure {
            throw error
        } catch {
            let reason = (error as? SystemRefusal)?.description ?? error.localizedDescription
            throw CommandFailure(status: .configuration, message: "\(path) cannot be read or written: \(reason)")
        }
    }

    private static func lock(_ file: String, of folder: String) throws(CommandFailure) -> FileLock {
        do throws(SystemRefusal) {
            return try FileLock(file)
        } catch {
            let problem =
                error.number == EWOULDBLOCK
                ? "is in use by another fleetpass; end that one, or pass another folder"
                : "cannot be written to (\(error))"
            throw CommandFailure(status: .configuration, message: "the data folder \(folder) \(problem).")
        }
    }
}
