// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetTokenServer
import Foundation

/// Whether the store can be used: the data folder, and the file in it or the PostgreSQL database in its place.
struct StoreCheck {
    let folder: String
    /// The database's address, a secret, where the store is not a file.
    let postgreSQL: String?

    func finding() async -> DoctorFinding {
        let next = "Make it with install -d -m 700 \(self.folder), as the user that the server runs as."
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: self.folder, isDirectory: &isFolder), isFolder.boolValue else {
            return .fault("store", "there is no folder \(self.folder).", next: next)
        }
        guard FileManager.default.isWritableFile(atPath: self.folder) else {
            return .fault("store", "\(self.folder) cannot be written by this user.", next: next)
        }
        guard !FileMode.isWritableByOthers(self.folder) else {
            let isForEverybody = FileMode.isForEverybody(self.folder)
            return .fault(
                "store", "\(self.folder) can be written by other users.",
                next: isForEverybody ? "Name a folder of the server's own as data." : "Run chmod 700 \(self.folder).")
        }
        if let postgreSQL { return await Self.database(postgreSQL) }
        let path = TokenServerStore.file(inFolder: self.folder)
        guard FileManager.default.fileExists(atPath: path) else { return .ok("store", "\(path) will be made") }
        guard FileManager.default.isWritableFile(atPath: path) else {
            return .fault("store", "\(path) cannot be written by this user.", next: "Run doctor as the server's user.")
        }
        switch TokenServerStore.inspect(file: path) {
        case .usable(.current): return .ok("store", path)
        case .usable(.older): return .ok("store", "\(path), whose tables will be updated at the start")
        case .usable(.missing): return .ok("store", "\(path), whose tables will be made at the start")
        case .unusable(let problem, next: let next), .unreachable(let problem, next: let next):
            return .fault("store", problem, next: next)
        }
    }

    private static let setting = "The address is store.postgresql, or FLEETPASS_STORE_POSTGRESQL."

    private static func database(_ address: String) async -> DoctorFinding {
        let inspection = await TokenServerStore.inspect(postgreSQL: address, triesChanges: true)
        if case .usable = inspection, let exposure = await PostgreSQLExposure.found(at: address) {
            return .fault("store", exposure.problem, next: "\(exposure.next) \(Self.setting)")
        }
        return switch inspection {
        case .usable(.current): .ok("store", "PostgreSQL answers, and its tables are of this version")
        case .usable(.older): .ok("store", "PostgreSQL answers, and the tables will be updated at the start")
        case .usable(.missing): .ok("store", "PostgreSQL answers, and the tables will be made at the start")
        case .unreachable(let problem, next: let next):
            .fault("store", problem, next: "\(next) \(Self.setting)", status: .unreachable)
        case .unusable(let problem, next: let next): .fault("store", problem, next: "\(next) \(Self.setting)")
        }
    }
}
