// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@Suite struct RevocationRoutesTests {
    /// `TAG` stands for the list's entity tag.
    @Test(arguments: [
        (nil, 200), ("TAG", 304), ("W/TAG", 304), (#""x", TAG"#, 304), (#"W/"x,y" ,\#tW/TAG,"z""#, 304), ("*", 304),
        (#""x""#, 200), (#""*""#, 200), (#""x,y", W/"z""#, 200), ("w/TAG", 200), ("", 200),
    ])
    func `a list that the client has is not sent again`(field: String?, status: Int) async throws {
        let now = Date(timeIntervalSince1970: 1_767_225_600)
        let router = Router()
        RevocationRoutes(RevocationPublisher(key: RevocationKey(), now: { now }) { _ in [] }).add(to: router)
        try await Application(router: router).test(.router) { client in
            let first = try await client.execute(uri: "/.well-known/revocations", method: .get)
            let tag = try #require(first.headers[.eTag])
            var headers = HTTPFields()
            headers[.ifNoneMatch] = field?.replacing("TAG", with: tag)
            let answer = try await client.execute(uri: "/.well-known/revocations", method: .get, headers: headers)
            #expect(answer.status.code == status)
            #expect(answer.headers[.eTag] == tag)
            #expect((answer.body.readableBytes == 0) == (status == 304))
        }
    }
}
