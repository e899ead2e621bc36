// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

extension TokenEvent {
    /// The event as a line for people.
    var text: String {
        switch self {
        case .fetched(let subject, let fingerprint, let life):
            "fetched \(fingerprint) for \(subject), good for \(life.components.seconds) s"
        case .refreshed(let subject, let fingerprint, let life):
            "renewed \(fingerprint) for \(subject), good for \(life.components.seconds) s"
        case .restored(let subject, let fingerprint, let life):
            "restored \(fingerprint) for \(subject), good for \(life.components.seconds) s"
        case .servedStale(let subject, let fingerprint, let life):
            "used \(fingerprint) for \(subject) while a newer one comes; good for \(life.components.seconds) s"
        case .refused(let subject, let fingerprint): "dropped \(fingerprint) for \(subject): the engine refused it"
        case .failed(let subject, let error): "none for \(subject): \(error.message)"
        case .clockError: "this device's date is wrong; tokens do not depend on it"
        case .storeFailed(let subject, let error): "not stored for \(subject): \(error.message)"
        }
    }
}
