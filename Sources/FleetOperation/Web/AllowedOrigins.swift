// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
package import HTTPTypes
package import Hummingbird

/// The origins of the web pages that may read a server's answers (CORS); pages of any other origin get no permission.
///
/// Callers send bearer credentials, not cookies, so credentials mode is never permitted, and no wildcard is either.
package struct AllowedOrigins: Sendable {
    /// What pages may send, and read.
    package struct Permission: Sendable {
        /// The methods, with commas between.
        package var methods: String
        /// The fields of a request; `nil` for whichever a page asks for.
        package var fields: String?
        /// The fields of an answer that a page may read, beside those that it always may.
        package var exposed: String

        /// Describes a permission.
        package init(methods: String, fields: String?, exposed: String) {
            self.methods = methods
            self.fields = fields
            self.exposed = exposed
        }
    }

    private let origins: Set<String>
    private let permission: Permission

    /// Lists origins.
    ///
    /// - Parameters:
    ///   - origins: The origins, such as `https://tracking.example`; never `*` or `null`.
    ///   - permission: What their pages may do.
    /// - Throws: ``ConfigurationError`` for what is no origin, in the words of the setting `cors.origins`.
    package init(_ origins: Set<String>, permission: Permission) throws(ConfigurationError) {
        for origin in origins {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, UpstreamAddress.isAcceptable(origin), origin == origin.lowercased(),
                !origin.contains(where: { "*?".contains($0) }), !Self.namesDefaultPort(origin)
            else {
                throw ConfigurationError(
                    "cors.origins: \"\(origin.prefix(128))\" is no origin that can be allowed; write it as browsers do, "
                        + "like https://tracking.example, in lower case, without path, wildcard or a port that is the "
                        + "scheme's own.")
            }
        }
        self.origins = origins
        self.permission = permission
    }

    /// Whether an origin names the port that its scheme has anyway, which browsers leave out.
    private static func namesDefaultPort(_ origin: String) -> Bool {
        origin.hasPrefix("https://") ? origin.hasSuffix(":443") : origin.hasSuffix(":80")
    }

    /// The answer to a browser's question whether a page may send a request; `nil` for any other request.
    package func preflight(_ request: Request) -> Response? {
        guard let origin = request.headers[.origin], request.method == .options,
            request.headers[.accessControlRequestMethod] != nil
        else { return nil }
        var answer = Response(status: self.origins.contains(origin) ? .noContent : .forbidden)
        self.mark(&answer.headers, for: origin)
        guard answer.status == .noContent else { return answer }
        answer.headers[.accessControlAllowMethods] = self.permission.methods
        answer.headers[.accessControlAllowHeaders] =
            self.permission.fields ?? request.headers[.accessControlRequestHeaders]
        answer.headers[.accessControlMaxAge] = "600"
        return answer
    }

    /// Makes an answer readable for pages of an allowed origin, and has caches keep it apart from those for others.
    package func mark(_ headers: inout HTTPFields, for origin: String?) {
        headers[values: .vary].append("Origin")
        guard let origin, self.origins.contains(origin) else { return }
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlExposeHeaders] = self.permission.exposed
    }
}
