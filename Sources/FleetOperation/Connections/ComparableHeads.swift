// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Makes the heads of requests fit to be compared with other texts.
///
/// A text with endless marks would keep whoever compares it busy (see `String.hasEndlessMarks`). In a field each of its
/// characters that is not ASCII becomes a question mark, so that it is nobody's name, and what a proxy put behind it stays;
/// in the path it is percent-encoded, as it should have been, and refused by whoever decodes it.
///
/// A path without a slash before it, which only HTTP/2 lets through and nobody may send (RFC 9113 §8.3.1), gets one. Whoever
/// takes a scheme and a host off such a path would otherwise read another one than those who do not, as limits do.
final class ComparableHeads: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data), Self.mend(&head) else {
            return context.fireChannelRead(data)
        }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }

    /// Changes what cannot be compared; says whether anything was.
    static func mend(_ head: inout HTTPRequest) -> Bool {
        var isChanged = false
        if let path = head.path, path.utf8.first != UInt8(ascii: "/") {
            head.path = "/" + path
            isChanged = true
        }
        if let path = head.path, path.hasEndlessMarks {
            head.path = Self.percentEncoded(path)
            isChanged = true
        }
        if head.authority?.hasEndlessMarks == true {
            head.authority = head.authority.map(Self.masked)
            isChanged = true
        }
        for index in head.headerFields.indices where head.headerFields[index].value.hasEndlessMarks {
            head.headerFields[index].value = Self.masked(head.headerFields[index].value)
            isChanged = true
        }
        return isChanged
    }

    private static func masked(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isASCII ? $0 : "?" }))
    }

    private static func percentEncoded(_ path: String) -> String {
        var encoded = ""
        for byte in path.utf8 {
            guard byte >= 0x80 else {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
                continue
            }
            encoded += "%" + String(byte, radix: 16, uppercase: true)
        }
        return encoded
    }
}
