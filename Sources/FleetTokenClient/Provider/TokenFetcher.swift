// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// One request to the token server and the reading of its answer.
struct TokenFetcher: Sendable {
    let endpoint: TokenEndpoint
    let transport: any HTTPTransport
    let credentials: FleetTokenProvider.Credentials
    let timeout: Duration

    func grant(for subject: TokenSubject) async throws(TokenClientError) -> TokenGrant {
        var request = HTTPTransportRequest(url: try self.endpoint.url(for: subject), timeout: self.timeout)
        request.headers = [("Accept", "application/json"), ("Cache-Control", "no-store")]
        do {
            request.headers += try await self.credentials()
        } catch let error as TokenClientError {
            throw error
        } catch {
            throw TokenClientError(
                code: .refused,
                message: "The app's credentials closure failed, so the token server was not asked; sign in again.",
                cause: error
            )
        }
        let response: HTTPTransportResponse
        do {
            response = try await self.transport.send(request)
        } catch let error as TokenClientError {
            throw error
        } catch {
            throw TokenClientError(
                code: .unreachable, message: "The token server could not be reached.", cause: error)
        }
        return try self.endpoint.grant(from: response, for: subject)
    }
}
