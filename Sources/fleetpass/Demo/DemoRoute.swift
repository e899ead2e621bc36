// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetOperation
import Foundation

/// A drive for the demo, as a file that `fleetpass drive` can be given too.
struct DemoRoute {
    let file: String
    let route: Route

    /// Whether a delivery vehicle drives it, which the file's name tells.
    var isDelivery: Bool { URL(filePath: self.file).lastPathComponent.hasPrefix("delivery") }

    /// Reads every GPX file of a folder, in the order of their names.
    ///
    /// - Throws: ``CommandFailure`` with `configuration`.
    static func all(in folder: String) throws -> [DemoRoute] {
        if let problem = PathProblem.reading(folder: folder) {
            throw CommandFailure(
                status: .configuration,
                message: "the drives cannot be read: \(problem); name a folder of GPX files with --routes.")
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        do throws(DriverError) {
            let routes = try names.filter { $0.hasSuffix(".gpx") }.sorted().map { name throws(DriverError) in
                let file = URL(filePath: folder).appending(path: name)
                return DemoRoute(
                    file: file.path(percentEncoded: false), route: try Route.read(contentsOf: file))
            }
            guard !routes.isEmpty else {
                throw DriverError(code: .unreadableFile, message: "there are no GPX files in the folder \(folder).")
            }
            return routes
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }

    /// Puts the drives that come with the program into a folder.
    ///
    /// - Throws: ``CommandFailure`` with `configuration` when the folder cannot be written.
    static func unpack(into folder: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (name, bytes) in BundledRoutes.files {
                try Data(bytes).write(to: URL(filePath: folder).appending(path: name), options: .atomic)
            }
        } catch {
            throw CommandFailure(
                status: .configuration,
                message: "the drives cannot be put into \(folder): \(error.localizedDescription); pass another --data."
            )
        }
    }
}
