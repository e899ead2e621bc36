// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials

/// A metadata server, and an IAM that signs for the account whose key it holds, while it is up.
final class StandInIAM: UpstreamTransport {
    static let account = "driver@acme.iam.gserviceaccount.com"
    static let key = Result { try ServiceAccountKey(generatingFor: StandInIAM.account, projectID: "acme") }

    /// How long IAM may take for a signature.
    static let limit: Duration = .seconds(15)

    private let calls = Locked(0)
    private let status = Locked(200)
    private let isSilent = Locked(false)

    /// How often a signature was asked for.
    var signatures: Int { self.calls.withLock { $0 } }

    /// Makes every signature fail with a status from now on, or work with 200.
    func answer(_ status: Int) { self.status.withLock { $0 = status } }

    /// Takes every call for a signature from now on and answers none, or answers again.
    func hang(_ isSilent: Bool) { self.isSilent.withLock { $0 = isSilent } }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        if request.url.contains("computeMetadata") || request.url.hasPrefix("http://metadata") {
            let body =
                request.url.hasSuffix("/email")
                ? Self.account
                : request.url.contains("/token")
                    ? #"{"access_token":"machine-token","expires_in":3600}"# : "googleapis.com"
            return UpstreamResponse(status: 200, headers: [("Metadata-Flavor", "Google")], body: Array(body.utf8))
        }
        guard request.url.hasSuffix(":signJwt") else { return UpstreamResponse(status: 404) }
        self.calls.withLock { $0 += 1 }
        if self.isSilent.withLock({ $0 }) {
            let (silence, end) = AsyncStream.makeStream(of: Void.self)
            for await _ in silence {}
            withExtendedLifetime(end) {}
            throw CancellationError()
        }
        let status = self.status.withLock { $0 }
        guard status == 200, let body = try JSONValue(parsing: request.body ?? []).object else {
            return UpstreamResponse(status: status)
        }
        let key = try Self.key.get()
        let signed = try await LocalSigner(key).sign(payload: Array((body["payload"]?.string ?? "").utf8))
        let answer: JSONObject = [
            "keyId": .string(key.keyID), "signedJwt": .string(signed.token.compactSerialization),
        ]
        return UpstreamResponse(status: 200, body: JSONValue.object(answer).serialized)
    }

    func signers(
        callsPerMinute: Int = 60_000, clock: some Clock<Duration> = ContinuousClock(),
        limitedBy limits: some Clock<Duration> = ContinuousClock()
    ) -> GoogleSigners {
        let context = CredentialContext(
            variables: ["GCE_METADATA_HOST": "metadata"], transport: self, readFile: { _ in nil },
            retries: RetryPolicy(attempts: 1), clock: limits)
        return GoogleSigners(
            ApplicationDefaultCredentials(context: context),
            settings: IAMSigning(
                budget: SigningBudget(callsPerMinute: callsPerMinute, clock: clock),
                retries: RetryPolicy(attempts: 1, limit: Self.limit),
                hedges: false))
    }
}

/// A clock that goes when it is told to.
final class SteppedClock: Clock {
    struct Instant: InstantProtocol {
        var time: Duration
        func advanced(by duration: Duration) -> Self { Self(time: self.time + duration) }
        func duration(to other: Self) -> Duration { other.time - self.time }
        static func < (left: Self, right: Self) -> Bool { left.time < right.time }
    }

    private let time = Locked(Duration.zero)
    var now: Instant { Instant(time: self.time.withLock { $0 }) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func advance(by duration: Duration) { self.time.withLock { $0 += duration } }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}
