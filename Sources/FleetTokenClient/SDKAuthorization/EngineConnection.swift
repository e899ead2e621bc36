// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// How to reach the engine, which Google's SDKs know by themselves and types of the same shape have to be told.
public struct EngineConnection: Sendable {
    /// Where the engine is; `nil` is Google's Fleet Engine.
    public var url: URL?
    /// What carries the requests.
    public var transport: any HTTPTransport
    /// What intervals and time limits are measured with.
    public var clock: any Clock<Duration>

    /// Describes a connection.
    ///
    /// - Parameters:
    ///   - url: Where the engine is: `https`, or `http` on this machine; `nil` is Google's Fleet Engine.
    ///   - transport: What carries the requests.
    ///   - clock: What intervals and time limits are measured with.
    public init(
        url: URL? = nil,
        transport: any HTTPTransport = URLSessionTransport(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.url = url
        self.transport = transport
        self.clock = clock
    }

    /// The URL to use.
    package var engine: URL {
        get throws(TokenClientError) {
            guard let url = self.url ?? URL(string: "https://fleetengine.googleapis.com") else {
                throw TokenClientError(code: .invalidConfiguration, message: "No URL of an engine is known; give one.")
            }
            return url
        }
    }
}
