// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver

/// A fetcher with everything that the guide "Migrate from the sample fetcher" takes out of it.
///
/// Nobody runs it; it is here so that the guide's code compiles.
final class FetcherBeforeMigration: NSObject, GMTDAuthorization {
    private let server = "http://tokens.example.com/token/"
    private var token: String?
    private var expiry = Date.distantPast

    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    ) {
        guard let vehicleID = authorizationContext?.vehicleID else {
            assertionFailure("There is no vehicle.")  // 13, 14: and nobody is answered
            return
        }
        if let token = self.token, self.expiry > Date() {  // 6, 7, 22, 25
            completion(token, nil)  // 10: inside the call
            return
        }
        guard let request = self.request(for: vehicleID) else { return }
        self.send(request, completion)
    }

    private func request(for vehicleID: String) -> URLRequest? {
        // 26: no TLS, no credentials. 15 and sample app 7: any id, as it is. 27: the task is not asked for.
        guard let url = URL(string: self.server + vehicleID) else { return nil }  // 3, 4
        return URLRequest(url: url)  // 23: a minute is allowed
    }

    private func send(_ request: URLRequest, _ completion: @escaping GMTDAuthTokenFetchCompletionHandler) {
        let session = URLSession(configuration: .default)  // 21: never invalidated
        session.dataTask(with: request) { [weak self] data, _, _ in  // 5 and sample app 6: status and error are dropped
            guard let self, let data else { return }  // 11, 12: the caller waits for ever
            self.read(data, completion)
        }.resume()  // 9: one request for each call. 24: also right after a failure
    }

    private func read(_ data: Data, _ completion: GMTDAuthTokenFetchCompletionHandler) {
        let answer = try? JSONSerialization.jsonObject(with: data) as? [String: Any]  // 16
        if let life = answer?["expires"] as? Double {  // 28: a number only. 18: or the old one stays
            self.expiry = Date().addingTimeInterval(life)  // 1, 2: a date? seconds? milliseconds?
        }
        self.token = answer?["token"] as? String  // 8, 19, 20: whichever vehicle it is for, on whichever queue
        completion(self.token, nil)  // 17: perhaps neither token nor error
    }
}
