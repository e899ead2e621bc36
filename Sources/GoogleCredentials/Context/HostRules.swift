// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Which hosts a credential file may name.
///
/// A file can come from anywhere, and what it names is sent credentials. AIP-4117 therefore allows only Google's own
/// endpoints, and for AWS only the link-local metadata addresses.
enum HostRules {
    /// The host of an absolute URL, in lower case and without port; `nil` where the URL holds a user or no host.
    static func host(of url: String) -> String? {
        guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
        let authority = url[start...].prefix { !"/?#\\".contains($0) }
        guard !authority.contains("@"), !authority.isEmpty else { return nil }
        if authority.hasPrefix("[") {
            return authority.firstIndex(of: "]").map { authority[...$0].lowercased() }
        }
        return authority.prefix { $0 != ":" }.lowercased()
    }

    /// Whether a URL is an endpoint of one of Google's services, over `https`.
    ///
    /// - Parameters:
    ///   - url: What the file names.
    ///   - service: The service's name in host names, such as `sts`.
    ///   - universe: The universe's domain.
    /// - Returns: Whether it may be sent a credential.
    static func isGoogle(_ url: String, service: String, universe: String) -> Bool {
        guard url.hasPrefix("https://"), !url.unicodeScalars.contains(where: { $0.value <= 0x20 || $0 == "\\" }),
            let host = self.host(of: url), host.hasSuffix("." + universe), self.port(of: url) == nil
        else { return false }
        var labels = host.dropLast(universe.count + 1).split(separator: ".", omittingEmptySubsequences: false)
        let isName = { (label: Substring) in
            !label.isEmpty
                && label.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        }
        guard labels.allSatisfy(isName) else { return false }
        if labels.count > 1 { labels.removeAll { $0 == "mtls" } }
        switch labels.count {
        case 1: return labels[0] == service || labels[0].hasSuffix("-" + service)
        case 2:
            return labels[0] == service || labels[1] == service
                || (labels[0].hasPrefix(service + "-") && labels[1] == "p")
        case 3: return labels[0] == service && Self.isRegion(labels[1]) && labels[2] == "rep"
        default: return false
        }
    }

    /// Whether a label that is a name can be a region's, such as `us-central1`, or that of several, such as `eu`.
    private static func isRegion(_ label: Substring) -> Bool {
        label.first?.isLetter == true && label.last != "-" && label != "rep"
    }

    /// Whether a URL is AWS's metadata service.
    static func isAWSMetadata(_ url: String) -> Bool {
        guard url.hasPrefix("http://"), self.port(of: url) == nil, let host = self.host(of: url) else { return false }
        return host == "169.254.169.254" || host == "[fd00:ec2::254]"
    }

    private static func port(of url: String) -> Substring? {
        guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
        let authority = url[start...].prefix { !"/?#\\".contains($0) }
        let afterHost =
            authority.hasPrefix("[") ? authority.drop { $0 != "]" }.dropFirst() : authority.drop { $0 != ":" }
        return afterHost.isEmpty ? nil : afterHost
    }
}
