// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Everything that credentials touch outside of themselves: variables, files, programs, network, clocks and chance.
///
/// Nothing below reads any of these in another way, so a test that fills a context owns the world. Variables may hold
/// secrets: printing a context shows how many there are only.
public struct CredentialContext: Sendable {
    /// The environment variables.
    public var variables: [String: String]
    /// Reads a file; `nil` where there is none.
    public var readFile: @Sendable (String) throws -> [UInt8]?
    /// Runs the programs that some external accounts need.
    public var executables: any ExecutableRunner
    /// Sends the requests.
    public var transport: any UpstreamTransport
    /// Where requests to a host really go, as origins by host, such as `["oauth2.googleapis.com":
    /// "http://127.0.0.1:8080"]`; for tests and private endpoints.
    public var hostOverrides: [String: String]
    /// How requests are tried again.
    public var retries: RetryPolicy

    let time: TimeSource
    let random: @Sendable () -> Double

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - variables: The environment variables, which the caller reads.
    ///   - transport: Sends the requests.
    ///   - readFile: Reads a file; from the disk unless told otherwise.
    ///   - executables: Runs programs.
    ///   - hostOverrides: Where requests to a host really go.
    ///   - retries: How requests are tried again.
    ///   - clock: Measures lives and pauses.
    ///   - now: The date.
    ///   - random: Gives numbers from 0 to below 1, for jitter.
    public init(
        variables: [String: String],
        transport: any UpstreamTransport = AsyncHTTPClientTransport(),
        readFile: @escaping @Sendable (String) throws -> [UInt8]? = Self.readFromDisk,
        executables: any ExecutableRunner = ProcessRunner(),
        hostOverrides: [String: String] = [:],
        retries: RetryPolicy = RetryPolicy(),
        clock: some Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { .now },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.variables = variables
        self.transport = transport
        self.readFile = readFile
        self.executables = executables
        self.hostOverrides = hostOverrides
        self.retries = retries
        self.time = TimeSource(clock: clock, now: now)
        self.random = random
    }

    /// Reads a file from the disk.
    ///
    /// - Parameter path: The file's path.
    /// - Returns: Its bytes, or `nil` where there is no file.
    /// - Throws: When there is a file and it cannot be read, or the way to it is barred.
    @Sendable public static func readFromDisk(_ path: String) throws -> [UInt8]? {
        do {
            return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch let error as CocoaError where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code) {
            return nil
        } catch {
            guard access(path, F_OK) != 0 else { throw error }
            switch errno {
            case ENOTDIR: throw UnreachableFile(reason: "a part of the path is no folder")
            case EACCES: throw UnreachableFile(reason: "a folder of the path may not be entered")
            default: throw error
            }
        }
    }

    /// A variable that is set to something.
    func variable(_ name: String) -> String? {
        self.variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The way to a file is barred, so that nobody can tell whether there is one.
struct UnreachableFile: Error {
    let reason: String
}

extension CredentialContext: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// How many variables there are, never their values.
    public var description: String { "CredentialContext(\(self.variables.count) variables)" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["context": self.description]) }
}
