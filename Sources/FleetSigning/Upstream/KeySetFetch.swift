// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Fetches what a key set's address answers.
package enum KeySetFetch {
    /// Fetches a document.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - transport: Sends the request.
    /// - Returns: The document, and how long it may still be used: the answer's `max-age` less its `Age`, the time that it
    ///   lay in a cache on the way (RFC 9111 §4.2.3). `nil` where it has no `max-age`.
    /// - Throws: ``KeySetError``, or the transport's error.
    package static func document(
        at url: String, over transport: any UpstreamTransport
    ) async throws -> (body: [UInt8], maximumAge: Duration?) {
        let request = UpstreamRequest(
            url: url, headers: [("Accept", "application/json")], maximumBytes: 256 * 1024)
        let answer = try await transport.send(request)
        guard answer.status == 200, answer.body.count <= request.maximumBytes else {
            throw KeySetError(message: "\(request) was answered with \(answer.status), \(answer.body.count) bytes.")
        }
        // A field that comes more than once is one list (RFC 9110 §5.3).
        let control = answer.headers.filter { $0.name.lowercased() == "cache-control" }.map(\.value)
        let maximumAge = Self.maximumAge(ofCacheControl: control.joined(separator: ","))
        return (answer.body, maximumAge.map { max(.zero, $0 - HTTPSeconds.age(in: answer.headers)) })
    }

    /// The `max-age` of a header, of several the first (RFC 9111 §4.2.1); zero where nothing may be kept, `nil` where nothing
    /// is said.
    package static func maximumAge(ofCacheControl header: String?) -> Duration? {
        guard let header else { return nil }
        var age: Duration?
        for directive in header.lowercased().split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { !" \t\"".contains($0) } }
            switch parts.first {
            case "no-store", "no-cache": return .zero
            case "max-age" where parts.count == 2:
                // One that is too long to read is a long time.
                age = age ?? HTTPSeconds.number(parts[1]).map { .seconds(min($0, 1 << 32)) }
            default: break
            }
        }
        return age
    }
}

/// Why published keys cannot be had; nobody is refused for it, they are asked to come again.
package struct KeySetError: Error, CustomStringConvertible {
    /// What is wrong.
    package let message: String
    /// Whether what was answered is good, and not what is configured: to come again helps nobody until that is mended.
    package let isConfiguration: Bool
    /// The same as ``message``.
    package var description: String { self.message }

    /// Makes an error.
    package init(message: String, isConfiguration: Bool = false) {
        self.message = message
        self.isConfiguration = isConfiguration
    }
}
