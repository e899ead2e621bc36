// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// The error body of Google's REST services.
private struct ErrorBody: Decodable {
    struct Status: Decodable {
        var message: String?
        var status: String?
        var details: [Detail]?
    }
    struct Detail: Decodable {
        var reason: String?
    }
    var error: Status
}

extension EngineFailure {
    private static let longestBody = 64 * 1024
    private static let longestText = 500

    /// Reads an answer whose status is not a success.
    package init(refusal response: HTTPTransportResponse) {
        let body =
            response.body.count <= Self.longestBody
            ? try? JSONDecoder().decode(ErrorBody.self, from: response.body) : nil
        let message = body?.error.message.map { String($0.prefix(Self.longestText)) }
        let code = body?.error.status.flatMap(RPCCode.init(rawValue:))
        self.init(
            stage: .engine,
            code: code ?? RPCCode(httpStatus: response.status),
            reason: body?.error.details?.lazy.compactMap(\.reason).first.map { String($0.prefix(Self.longestText)) },
            message: message ?? "The engine answered with HTTP status \(response.status) and no error text.",
            httpStatus: response.status,
            retryAfter: HTTPSeconds.retryAfter(in: response.headers).map(Self.bounded)
        )
        self.isEnginesOwn = code != nil
    }
}
