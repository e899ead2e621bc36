// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

extension EngineAnswer {
    /// The answer of a call that returns a resource; a success without the name that every resource has is a failure.
    ///
    /// What stands before the engine, such as a network's sign-in page, may answer with 200 too, and took nothing.
    ///
    /// - Parameter resource: What the engine returns, for the error.
    /// - Returns: The same answer, or one that failed.
    func checked(as resource: String) -> Self {
        guard case .success(let body) = self.result else { return self }
        struct Resource: Decodable {
            let name: String
        }
        var answer = self
        do {
            _ = try JSONDecoder().decode(Resource.self, from: body)
        } catch {
            answer.result = .failure(
                EngineFailure(
                    stage: .engine, code: .internalError, message: "The engine's answer is not \(resource).",
                    cause: error))
        }
        return answer
    }
}
