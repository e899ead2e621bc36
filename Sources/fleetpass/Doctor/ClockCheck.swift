// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import Foundation
import GoogleCredentials

/// Whether this machine's clock agrees with the date that servers send.
struct ClockCheck {
    /// The difference that the token server itself stands before it calls itself unready.
    private static let tolerance: Double = 60
    private static let host = "iamcredentials.googleapis.com"

    let google: GoogleSettings
    /// Addresses of further servers, asked where Google's does not answer.
    let others: [String]

    func finding() async -> DoctorFinding {
        let addresses = [self.google.hostOverrides[Self.host] ?? "https://\(Self.host)"] + self.others
        for address in addresses {
            guard let ahead = await Self.lead(over: address) else { continue }
            guard abs(ahead) > Self.tolerance else {
                return .ok("clock", "agrees with \(address) to within \(max(1, Int(abs(ahead).rounded(.up)))) s")
            }
            return .fault(
                "clock", "is \(Int(abs(ahead))) s \(ahead > 0 ? "ahead of" : "behind") \(address).",
                next: "Set it by NTP, for example timedatectl set-ntp true.", status: .failed)
        }
        return .skipped(
            "clock", "offline: no server to compare with answered.",
            next: "Compare date -u with a clock that you trust; tokens stand 5 minutes of difference.")
    }

    /// How many seconds this clock is ahead of a server's; `nil` where the server does not answer.
    private static func lead(over address: String) async -> Double? {
        let clocks = UpstreamClocks()
        _ = try? await DatedTransport(clocks: clocks).send(UpstreamRequest(url: address, timeout: .seconds(5)))
        return clocks.readings(at: Date()).first?.ahead
    }
}
