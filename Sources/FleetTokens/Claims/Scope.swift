// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What one claim reaches: a single resource, or every one of its kind.
///
/// The wildcard is a case of its own, so no text that comes from outside can turn into it by accident: an id refuses
/// `*`, and only code that spells ``any`` makes a token for everything.
public enum Scope<ID: Hashable & Sendable>: Hashable, Sendable {
    /// The one resource with this id.
    case only(ID)
    /// Every resource of the provider; for server-side tokens, never for a phone's.
    case any

    /// Whether the scope reaches the resource.
    public func covers(_ id: ID) -> Bool {
        switch self {
        case .only(let own): own == id
        case .any: true
        }
    }
}

/// The tasks a batch creation may name, the `taskids` claim.
public enum TaskListScope: Hashable, Sendable {
    /// Exactly these tasks; never empty.
    case only([TaskID])
    /// Any tasks.
    case any

    /// Whether every task of a request is in the list.
    public func covers(_ ids: [TaskID]) -> Bool {
        switch self {
        case .only(let own): Set(own).isSuperset(of: ids)
        case .any: true
        }
    }
}
