// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A fetcher in the form of the public last-mile sample app: snake case, a lock, and one flight that all callers share.
// Only its import line differs from what stands next to the closed SDK.
import FleetDriver

class DeliveryFetcher: NSObject, GMTDAuthorization {
    private struct Answer: Decodable {
        let token: String
        let creationTimestampMs: Date
        let expirationTimestampMs: Date
    }

    private let baseURL: URL
    private let lock = NSLock()
    private var answer: Answer?
    private var vehicleID: String?
    private var waiting: [GMTDAuthTokenFetchCompletionHandler] = []

    init(baseURL: URL) {
        self.baseURL = baseURL
    }

    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    ) {
        guard let vehicleID = authorizationContext?.vehicleID,
            var components = URLComponents(url: baseURL, resolvingAgainstBaseURL: false)
        else {
            completion(nil, URLError(.badURL))
            return
        }
        lock.lock()
        defer { lock.unlock() }
        if let answer = answer, self.vehicleID == vehicleID, answer.expirationTimestampMs >= Date() {
            DispatchQueue.global().async { completion(answer.token, nil) }
            return
        }
        self.vehicleID = vehicleID
        waiting.append(completion)
        guard waiting.count == 1 else { return }

        components.path = "/token/delivery_driver/\(vehicleID)"
        guard let url = components.url else { return }
        URLSession.shared.dataTask(with: url) { data, _, error in
            self.finish(data, error)
        }.resume()
    }

    private func finish(_ data: Data?, _ error: Error?) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .millisecondsSince1970
        let answer = data.flatMap { try? decoder.decode(Answer.self, from: $0) }
        lock.lock()
        self.answer = answer
        let callers = waiting
        waiting = []
        lock.unlock()
        for completion in callers {
            completion(answer?.token, answer == nil ? error ?? URLError(.cannotParseResponse) : nil)
        }
    }
}
