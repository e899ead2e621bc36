// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Keeps the privacy manifest and the sources that apps link in step.
@Suite struct PrivacyManifestTests {
    /// What Apple's stores refuse without a word in the manifest, by the category that the word has to name.
    private static let required = [
        "FileTimestamp": [
            "modificationDate", "creationDate", "contentModificationDateKey", "fstat(", "lstat(", " stat(", "fstatat(",
            "getattrlist",
        ],
        "SystemBootTime": ["systemUptime", "mach_absolute_time"],
        "DiskSpace": ["systemFreeSize", "systemSize", "volumeAvailable", "volumeTotalCapacity", "statfs(", "statvfs("],
        "UserDefaults": ["UserDefaults"],
        "ActiveKeyboards": ["activeInputModes"],
    ]

    @Test func `the privacy manifest names what the app's libraries use and nothing else`() throws {
        let sources = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources")
        let targets = [
            "FleetTokens", "FleetTokenClient", "FleetTokenClientC", "FleetTokenClientObjC", "CFleetTokenClient",
            "FleetDriver", "FleetConsumer",
        ]
        let texts = try targets.flatMap { target in
            let folder = sources.appendingPathComponent(target)
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            return try files.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".m") || $0.hasSuffix(".h") }
                .map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }
        }
        let used = Self.required.filter { _, names in texts.contains { text in names.contains { text.contains($0) } } }

        let manifest = sources.appendingPathComponent("FleetTokenClient/PrivacyInfo.xcprivacy")
        let list = try PropertyListDecoder().decode(Manifest.self, from: Data(contentsOf: manifest))
        #expect(
            Set(list.NSPrivacyAccessedAPITypes.map(\.NSPrivacyAccessedAPIType))
                == Set(used.keys.map { "NSPrivacyAccessedAPICategory\($0)" }))
        #expect(!list.NSPrivacyTracking)
    }

    private struct Manifest: Decodable {
        let NSPrivacyTracking: Bool
        let NSPrivacyAccessedAPITypes: [Use]

        struct Use: Decodable {
            let NSPrivacyAccessedAPIType: String
            let NSPrivacyAccessedAPITypeReasons: [String]
        }
    }
}
