// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetPostgreSQL
import FleetTokenServer
import Foundation

/// Where changes of keys are recorded.
struct KeyRecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The token server's store, whose audit records the change; a file, or postgresql://…. The data folder's "
                + "without.",
            valueName: "file-or-url"),
        completion: .file())
    var store: String?

    func validate() throws {
        try OptionRules.check(path: self.store, of: "--store", "name the token server's store, or leave it out")
    }

    /// What records a change, opened before it is made.
    ///
    /// - Parameter data: The data folder.
    /// - Returns: The store's administration; `nil`, which is said, for a folder that holds nothing but key files.
    /// - Throws: ``CommandFailure`` when the store cannot be opened, or this machine's clock is not its database's.
    func administration(data: String) async throws -> Administration? {
        var options = TokenStoreOptions()
        options.data = self.store == nil ? data : nil
        options.store = self.store
        guard self.store != nil || FileManager.default.fileExists(atPath: options.path) else {
            Console.say("fleetpass: \(data) holds no store, so no audit records this; name one with --store.")
            return nil
        }
        return Administration(store: try await options.openToChange().store)
    }

    /// Records a change that was made.
    func record(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as PostgreSQLError where error.leavesOutcomeOpen {
            throw CommandFailure(
                status: .failed,
                message: "the keys were changed, and it is not known whether the audit tells: \(error.message) Look "
                    + "with audit search.")
        } catch {
            throw CommandFailure(
                status: .failed,
                message: "the keys were changed, and the audit does not tell, as its store refused the record: "
                    + ((error as? TokenServerError)?.message ?? "\(error)"))
        }
    }
}
