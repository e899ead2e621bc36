// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient

extension TokenEvent {
    /// The event for C to own.
    func given() -> UnsafeMutablePointer<fp_event> {
        COwned.make { memory in
            switch self {
            case .fetched(let subject, let fingerprint, let life):
                fp_event(FP_EVENT_FETCHED, subject, token: (fingerprint, life), in: memory)
            case .refreshed(let subject, let fingerprint, let life):
                fp_event(FP_EVENT_REFRESHED, subject, token: (fingerprint, life), in: memory)
            case .restored(let subject, let fingerprint, let life):
                fp_event(FP_EVENT_RESTORED, subject, token: (fingerprint, life), in: memory)
            case .servedStale(let subject, let fingerprint, let life):
                fp_event(FP_EVENT_SERVED_STALE, subject, token: (fingerprint, life), in: memory)
            case .failed(let subject, let error): fp_event(FP_EVENT_FAILED, subject, error, in: memory)
            case .storeFailed(let subject, let error): fp_event(FP_EVENT_STORE_FAILED, subject, error, in: memory)
            case .refused(let subject, let fingerprint):
                fp_event(FP_EVENT_REFUSED, subject, token: (fingerprint, nil), in: memory)
            case .clockError(let error): fp_event(clockOffset: error.offset)
            }
        }
    }
}

extension fp_event {
    fileprivate init(
        _ kind: Int, _ subject: TokenSubject, token: (fingerprint: String, life: Duration?), in memory: CMemory
    ) {
        self.init(
            kind: fp_event_kind(kind), subject: subject.value(in: memory), fingerprint: memory.text(token.fingerprint),
            life_ms: token.life?.wholeMilliseconds ?? -1, error: nil, clock_offset_ms: 0)
    }

    fileprivate init(_ kind: Int, _ subject: TokenSubject, _ error: TokenClientError, in memory: CMemory) {
        let failure = memory.array(CollectionOfOne(CFailure(error).value(in: memory)))
        self.init(
            kind: fp_event_kind(kind), subject: subject.value(in: memory), fingerprint: nil, life_ms: -1,
            error: UnsafePointer(failure), clock_offset_ms: 0)
    }

    fileprivate init(clockOffset: Duration) {
        self.init(
            kind: fp_event_kind(FP_EVENT_CLOCK_ERROR), subject: fp_subject(), fingerprint: nil, life_ms: -1, error: nil,
            clock_offset_ms: clockOffset.wholeMilliseconds)
    }
}

/// Frees an event.
@c @implementation
public func fp_event_release(_ event: UnsafeMutablePointer<fp_event>?) {
    COwned.release(event)
}
