// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// How one task ended, as it is sent.
struct TaskOutcomeReport: Sendable {
    let task: TaskID
    let outcome: TaskOutcome
    /// When it ended; said, because the report may arrive much later.
    let time: Date
    /// Where it ended, if that is known.
    let place: LocationFix?

    func request(provider: ProviderID) -> EngineRequest {
        var mask = ["task_outcome", "task_outcome_time"]
        var body: JSONObject = [
            "taskOutcome": .string(self.outcome.rawValue),
            "taskOutcomeTime": .string(RFC3339.text(self.time)),
        ]
        if let place {
            mask.append("task_outcome_location")
            body["taskOutcomeLocation"] = .object(["point": place.pointJSON])
        }
        return EngineRequest(
            method: "PATCH",
            segments: ["v1", "providers", provider.value, "tasks", self.task.value],
            query: [("updateMask", mask.joined(separator: ","))],
            body: Data(JSONValue.object(body).serialized)
        )
    }
}
