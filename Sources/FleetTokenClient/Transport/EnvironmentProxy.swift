// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
    import FleetTokens
    package import Foundation

    /// The proxy through which libcurl, on which FoundationNetworking is built, sends plain HTTP, even to this machine.
    ///
    /// No configuration of a session turns it off.
    package struct EnvironmentProxy: Sendable {
        /// The variable that names the proxy.
        private let variable: String?
        private let exceptionsVariable: String
        private let exceptions: String

        /// Reads the variables that libcurl does, which count where they are not empty; of the list of exceptions, what all
        /// of its versions understand.
        package init(environment: [String: String]) {
            func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
            // Not HTTP_PROXY, which a request's header could set in a CGI program.
            self.variable = ["http_proxy", "all_proxy", "ALL_PROXY"].first(where: isSet)
            self.exceptionsVariable = ["no_proxy", "NO_PROXY"].first(where: isSet) ?? "no_proxy"
            self.exceptions = environment[self.exceptionsVariable] ?? ""
        }

        /// Refuses to send in the clear to a proxy what is meant for this machine.
        ///
        /// - Parameter url: Where a request goes.
        /// - Throws: ``TokenClientError`` with `insecureURL`.
        package func check(_ url: URL) throws(TokenClientError) {
            guard let variable, url.scheme?.lowercased() == "http", let host = url.host, LoopbackHost.isLoopback(host),
                !self.excepts(host)
            else { return }
            throw TokenClientError(
                code: .insecureURL,
                message: "\(variable) names a proxy, to which all that is meant for \(host) would travel in the clear; "
                    + "add \(host) to \(self.exceptionsVariable), whose hosts are separated by commas.")
        }

        /// Whether every version leaves the proxy out for a host.
        ///
        /// Older ones separate the list's members at spaces, too, and take a tab for a part of one; newer ones read
        /// nothing behind a blank that no comma follows.
        private func excepts(_ host: String) -> Bool {
            guard self.exceptions != "*" else { return true }
            let members = self.exceptions.split(separator: ",").map { $0.split(separator: " ") }
            return members.prefix { words in words.count < 2 && !words.contains { $0.contains("\t") } }
                .contains { $0.first?.lowercased() == host.lowercased() }
        }
    }
#endif
