// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient

extension TokenEvent {
    /// The event for C to own.
    func given() -> UnsafeMutablePointer<fp_event> {
        COwned.make { memory in
            let (kind, subject, fingerprint, life, failure) = self.parts
            return fp_event(
                kind: fp_event_kind(kind), subject: subject.value(in: memory),
                fingerprint: fingerprint.flatMap { memory.text($0) }, life_ms: life?.wholeMilliseconds ?? -1,
                error: failure.flatMap { UnsafePointer(memory.array(CollectionOfOne($0.value(in: memory)))) })
        }
    }

    private var parts: (kind: Int, TokenSubject, fingerprint: String?, life: Duration?, CFailure?) {
        switch self {
        case .fetched(let subject, let fingerprint, let life): (FP_EVENT_FETCHED, subject, fingerprint, life, nil)
        case .servedStale(let subject, let fingerprint, let life):
            (FP_EVENT_SERVED_STALE, subject, fingerprint, life, nil)
        case .failed(let subject, let error): (FP_EVENT_FAILED, subject, nil, nil, CFailure(error))
        case .invalidated(let subject, let fingerprint): (FP_EVENT_INVALIDATED, subject, fingerprint, nil, nil)
        }
    }
}

/// Frees an event.
@c @implementation
public func fp_event_release(_ event: UnsafeMutablePointer<fp_event>?) {
    COwned.release(event)
}
