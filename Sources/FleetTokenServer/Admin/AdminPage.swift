// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import HTTPTypes
import Hummingbird
import NIOCore

/// The admin page's files; none of them holds anything secret.
enum AdminPage {
    static func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        let files: [(path: RouterPath, type: String, bytes: [UInt8])] = [
            ("/admin", "text/html; charset=utf-8", PackageResources.admin_html),
            ("/admin/admin.css", "text/css; charset=utf-8", PackageResources.admin_css),
            ("/admin/admin.js", "text/javascript; charset=utf-8", PackageResources.admin_js),
            ("/admin/\(TokenRulesScript.name)", "text/javascript; charset=utf-8", TokenRulesScript.bytes),
        ]
        for file in files {
            router.readResource(file.path) { _, _ in Self.answer(file.bytes, type: file.type) }
        }
    }

    private static func answer(_ bytes: [UInt8], type: String) -> Response {
        let headers: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy:
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
