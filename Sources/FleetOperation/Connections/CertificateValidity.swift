// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation
import NIOSSL

/// How long a server's certificate is valid: as long as all of its chain, as clients want that to be.
package struct CertificateValidity: Sendable {
    /// What is wrong with it at some time.
    package struct Fault: Hashable, Sendable {
        /// What it is.
        package let problem: String
        /// How to mend it.
        package let next: String
    }

    /// How to mend a certificate.
    private static let remedy = "Get a new certificate for the server's name, and put both PEM files in place."
    /// In seconds, how long a certificate still lives where it is renewed in time.
    private static let leastTimeLeft: TimeInterval = 3 * 86_400

    /// When the first certificate of the chain ends.
    package let end: Date
    private let start: Date
    /// In seconds, how long the one that ends first lives.
    private let lifetime: TimeInterval
    private let file: String

    /// Looks at a chain.
    ///
    /// - Parameters:
    ///   - chain: The certificates.
    ///   - file: Where they were read.
    init(of chain: [NIOSSLCertificate], in file: String) {
        let spans = chain.map { certificate in
            (
                start: Date(timeIntervalSince1970: TimeInterval(certificate.notValidBefore)),
                end: Date(timeIntervalSince1970: TimeInterval(certificate.notValidAfter))
            )
        }
        let first = spans.min { $0.end < $1.end }
        self.start = spans.map(\.start).max() ?? .distantPast
        self.end = first?.end ?? .distantPast
        self.lifetime = first.map { $0.end.timeIntervalSince($0.start) } ?? 0
        self.file = file
    }

    /// What is wrong at a time; `nil` where it is valid, and will be for a while.
    package func fault(at now: Date) -> Fault? {
        if self.start > now {
            return Fault(
                problem: "the certificate \(self.file) is not valid before \(self.start.formatted(.iso8601)).",
                next: "Set the clock where that is wrong; else put the former certificate back until then.")
        }
        guard self.end > now else {
            return Fault(problem: "the certificate \(self.file) has ended.", next: Self.remedy)
        }
        // A certificate that lives for days only is renewed late in its life, too.
        guard self.end.timeIntervalSince(now) > min(Self.leastTimeLeft, self.lifetime / 4) else {
            return Fault(
                problem: "the certificate \(self.file) ends soon, \(self.end.formatted(.iso8601)).",
                next: Self.remedy + " Have something renew it in time.")
        }
        return nil
    }
}
