// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Reads the bodies of the API.
enum APIBody {
    /// The longest body that is read; the longest valid one is a fraction of it.
    static let maximumBytes = 16 * 1024

    /// The JSON object in a request's body.
    ///
    /// - Parameter request: The request.
    /// - Returns: The object.
    /// - Throws: ``Problem``, or what ended the connection.
    static func object(of request: Request) async throws -> JSONObject {
        let type = request.headers[.contentType]?.split(separator: ";").first?
            .trimmingCharacters(in: .whitespaces).lowercased()
        guard type == "application/json", request.headers[.contentEncoding] ?? "identity" == "identity" else {
            throw Problem(.unsupportedMediaType, "The body must be application/json, not encoded any further.")
        }
        let bytes: ByteBuffer
        do {
            bytes = try await request.body.collect(upTo: Self.maximumBytes)
        } catch is NIOTooManyBytesError {
            throw Problem(.bodyTooLarge, "The body is longer than \(Self.maximumBytes) bytes.")
        }
        do throws(TokenError) {
            guard let object = try JSONValue(parsing: bytes.readableBytesView).object else {
                throw TokenError(code: .invalidJSON, message: "The text is no object.")
            }
            return object
        } catch {
            throw Problem(.malformedBody, "The body is not a JSON object: \(error.message)")
        }
    }
}
