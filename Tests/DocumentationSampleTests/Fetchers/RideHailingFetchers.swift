// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Fetchers in the form of the public ride-hailing sample apps: a route per kind of token, `jwt`, and an absolute expiry in
// milliseconds. Only the import lines differ from what stands next to the closed SDKs.
import FleetConsumer
import FleetDriver

/// The answer of the sample token server.
private struct SampleAnswer: Codable {
    let jwt: String
    let expirationTimestamp: Int

    var expiration: Date { Date(timeIntervalSince1970: Double(expirationTimestamp) / 1000) }
}

class RideHailingDriverFetcher: NSObject, GMTDAuthorization {
    private let baseURL: URL
    private var cached: (answer: SampleAnswer, vehicleID: String)?

    init(baseURL: URL) {
        self.baseURL = baseURL
    }

    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping (String?, Error?) -> Void
    ) {
        guard let vehicleID = authorizationContext?.vehicleID else {
            completion(nil, URLError(.badURL))
            return
        }
        if let cached = cached, cached.vehicleID == vehicleID, cached.answer.expiration > Date() {
            DispatchQueue.global().async { completion(cached.answer.jwt, nil) }
            return
        }
        guard let url = URL(string: "token/driver/\(vehicleID)", relativeTo: baseURL) else {
            completion(nil, URLError(.badURL))
            return
        }
        URLSession.shared.dataTask(with: url) { data, _, error in
            guard let data = data, let answer = try? JSONDecoder().decode(SampleAnswer.self, from: data) else {
                completion(nil, error ?? URLError(.cannotParseResponse))
                return
            }
            self.cached = (answer, vehicleID)
            completion(answer.jwt, nil)
        }.resume()
    }
}

class RideHailingConsumerFetcher: NSObject, GMTCAuthorization {
    private let baseURL: URL
    private var cached: (answer: SampleAnswer, tripID: String)?

    init(baseURL: URL) {
        self.baseURL = baseURL
    }

    func fetchToken(
        with authorizationContext: GMTCAuthorizationContext?,
        completion: @escaping GMTCAuthTokenFetchCompletionHandler
    ) {
        guard let tripID = authorizationContext?.tripID else {
            completion(nil, URLError(.badURL))
            return
        }
        if let cached = cached, cached.tripID == tripID, cached.answer.expiration > Date() {
            completion(cached.answer.jwt, nil)
            return
        }
        guard let url = URL(string: "token/consumer/\(tripID)", relativeTo: baseURL) else {
            completion(nil, URLError(.badURL))
            return
        }
        URLSession.shared.dataTask(with: url) { data, _, error in
            guard let data = data, let answer = try? JSONDecoder().decode(SampleAnswer.self, from: data) else {
                completion(nil, error ?? URLError(.cannotParseResponse))
                return
            }
            self.cached = (answer, tripID)
            completion(answer.jwt, nil)
        }.resume()
    }
}
