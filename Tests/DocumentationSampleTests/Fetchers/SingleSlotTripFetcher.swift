// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A fetcher in the form of the public guide for consumer apps, defects included: one slot without a lock, an absolute
// expiry in seconds, no id in the request. Only its import line differs from what stands next to the closed SDK.
import FleetConsumer

class SingleSlotTripFetcher: NSObject, GMTCAuthorization {
    private struct Slot {
        let token: String
        let expiration: TimeInterval
        let tripID: String
    }

    enum FetchError: Error {
        case noContext
        case noData
    }

    private let tokenServer: String
    private var slot: Slot?

    init(tokenServer: String) {
        self.tokenServer = tokenServer
    }

    func fetchToken(
        with authorizationContext: GMTCAuthorizationContext?,
        completion: @escaping GMTCAuthTokenFetchCompletionHandler
    ) {
        guard let authorizationContext = authorizationContext else {
            completion(nil, FetchError.noContext)
            return
        }
        let tripID = authorizationContext.tripID

        if let slot = slot, slot.expiration > Date().timeIntervalSince1970 && slot.tripID == tripID {
            completion(slot.token, nil)
            return
        }

        guard let url = URL(string: tokenServer) else {
            completion(nil, FetchError.noData)
            return
        }
        let request = URLRequest(url: url)
        let task = URLSession.shared.dataTask(with: request) { [weak self] data, _, error in
            guard let strongSelf = self else { return }
            guard error == nil else {
                completion(nil, error)
                return
            }
            guard let data = data,
                let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
                let token = object["TRIP_TOKEN_KEY"] as? String,
                let expiration = object["TOKEN_EXPIRATION"] as? Double
            else {
                completion(nil, FetchError.noData)
                return
            }
            strongSelf.slot = Slot(token: token, expiration: expiration, tripID: tripID)
            completion(token, nil)
        }
        task.resume()
    }
}
