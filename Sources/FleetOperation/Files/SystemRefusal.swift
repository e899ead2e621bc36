// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the system said to a call that it refused.
package struct SystemRefusal: Error, CustomStringConvertible {
    /// The error's number, such as `EACCES`.
    package let number: CInt

    /// Takes what was said to the call before.
    package init() {
        self.number = errno
    }

    /// Takes what Foundation was told, where it says that.
    init(behind error: any Error) {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        self.number = cause.flatMap { $0.domain == NSPOSIXErrorDomain ? CInt($0.code) : nil } ?? EIO
    }

    /// The system's words for it.
    package var description: String { String(cString: strerror(self.number)) }
}
