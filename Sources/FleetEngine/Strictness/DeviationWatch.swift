// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
import Foundation
public import Logging

/// Notes where calls depart from the documentation though the service lets them pass.
///
/// The rules are those of `Deviation`. What is kept is bounded and holds no token. A token's own deviations were found
/// when it was verified and are remembered with it; a report costs one look at when its vehicle reported last.
public final class DeviationWatch: Sendable {
    private struct State {
        var log: DeviationLog
        var intervals: ReportIntervals
    }

    /// What is done beyond noting.
    public let profile: StrictnessProfile
    private let logger: Logger?
    private let state: Locked<State>

    /// Begins with nothing noted.
    ///
    /// - Parameters:
    ///   - profile: What is done beyond noting.
    ///   - maximumFindings: How many findings are kept; those not seen for longest are dropped.
    ///   - maximumVehicles: Of how many vehicles the time of the last report is kept, about 100 bytes each.
    ///   - logger: Is told of each new finding in the strict profile.
    public init(
        profile: StrictnessProfile = .real, maximumFindings: Int = 1000, maximumVehicles: Int = 100_000,
        logger: Logger? = nil
    ) {
        self.profile = profile
        self.logger = logger
        self.state = Locked(
            State(
                log: DeviationLog(maximumFindings: maximumFindings),
                intervals: ReportIntervals(maximumVehicles: maximumVehicles)))
    }

    /// What was noted and how often, at one time.
    var noted: DeviationLog {
        // The lock is held for a copy only; sorting happens outside.
        self.state.withLock { $0.log }
    }

    /// What was noted, the last seen first.
    public var findings: [DeviationFinding] { self.noted.all }

    /// How often each rule was broken, findings included that were dropped since.
    public var totals: [Deviation: Int] { self.noted.totals }

    /// Notes what departs from the documentation in a call that is let in.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - access: What it addresses.
    ///   - token: Its token, and the token's text for the fingerprint; `nil` for a call of a recording.
    ///   - now: The time of the call.
    /// - Returns: The deviations.
    func observe(
        _ request: some DocumentedRequest, _ access: AccessRequest, token: (examined: ExaminedToken, text: String)?,
        at now: Date
    ) -> DeviationSet {
        let ofToken = token?.examined.deviations(at: now) ?? []
        let account = token?.examined.account
        let role = account?.role
        let report = request.report
        var ofCall = request.deviations
        if let sender = request.sender { ofCall.formUnion(sender.deviations(under: account)) }
        if report?.isOfDevice == true, let account, role != nil, !account.isForDevices {
            ofCall.insert(.deviceLocationFromBackend)
        }
        guard report != nil || !ofCall.isEmpty || !ofToken.isEmpty else { return [] }
        let (found, new) = self.state.withLock { state -> (DeviationSet, DeviationSet) in
            if let deviation = report.flatMap({ state.intervals.deviation(of: $0, of: access, at: now) }) {
                ofCall.insert(deviation)
            }
            var new: DeviationSet = []
            func note(_ deviations: DeviationSet, of subject: @autoclosure () -> EngineActivity.Subject) {
                guard !deviations.isEmpty else { return }
                let subject = subject()
                for deviation in deviations {
                    let isNew = state.log.note(deviation, of: subject, in: access.provider, at: now) {
                        .init(
                            method: access.method, role: role,
                            fingerprint: token.map { FleetToken($0.text).fingerprint })
                    }
                    if isNew { new.insert(deviation) }
                }
            }
            note(ofToken, of: .init(token?.examined.claims.authorization))
            note(ofCall, of: .init(addressedBy: access))
            return (ofCall, new)
        }
        if self.profile == .strict, !new.isEmpty { self.log(new, of: access) }
        var all = found
        all.formUnion(ofToken)
        return all
    }

    /// Keeps the time of a vehicle's report, for the next one; only a call that succeeded is a report.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - access: What it addresses.
    ///   - now: The time of the call.
    func keepReport(of request: some DocumentedRequest, _ access: AccessRequest, at now: Date) {
        guard let report = request.report else { return }
        self.state.withLock { $0.intervals.note(report, of: access, at: now) }
    }

    private func log(_ deviations: DeviationSet, of access: AccessRequest) {
        for deviation in deviations {
            self.logger?.warning(
                "A call departs from the documentation",
                metadata: [
                    "rule": "\(deviation.id)", "method": "\(access.method.name)", "what": "\(deviation.rule.what)",
                    "fix": "\(deviation.rule.fix)",
                ])
        }
    }
}
