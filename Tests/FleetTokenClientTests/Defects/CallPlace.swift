// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Where code is called, as far as an app may notice.
enum CallPlace: Sendable {
    /// The main queue, where blocking stops what the user sees; in a task of the main actor, too.
    case mainQueue
    /// A task that belongs to no queue.
    case task
    /// A queue or a thread, such as a session's own, which a completion that blocks holds up.
    case elsewhere

    private static let mainQueueMark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    static var current: Self {
        if DispatchQueue.getSpecific(key: self.mainQueueMark) != nil { return .mainQueue }
        return withUnsafeCurrentTask { $0 == nil ? .elsewhere : .task }
    }
}
