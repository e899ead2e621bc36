// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A fetcher in the form of the public guide for driver apps, defects included: one slot without a lock, an absolute
// expiry in seconds, no id in the request. Only its import line differs from what stands next to the closed SDK.
import FleetDriver

class SingleSlotVehicleFetcher: NSObject, GMTDAuthorization {
    private struct Slot {
        let token: String
        let expiration: TimeInterval
        let vehicleID: String
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
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    ) {
        guard let authorizationContext = authorizationContext else {
            completion(nil, FetchError.noContext)
            return
        }
        let vehicleID = authorizationContext.vehicleID

        if let slot = slot, slot.expiration > Date().timeIntervalSince1970 && slot.vehicleID == vehicleID {
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
                let token = object["VEHICLE_TOKEN_KEY"] as? String,
                let expiration = object["TOKEN_EXPIRATION"] as? Double
            else {
                completion(nil, FetchError.noData)
                return
            }
            strongSelf.slot = Slot(token: token, expiration: expiration, vehicleID: vehicleID)
            completion(token, nil)
        }
        task.resume()
    }
}
