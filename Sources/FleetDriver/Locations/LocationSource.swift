// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Where a reporter's locations come from: any asynchronous sequence of fixes, in the order in which they happened.
///
/// An app bridges its location service with an `AsyncStream<LocationFix>`, which is a source.
public protocol LocationSource: AsyncSequence, Sendable where Element == LocationFix {}

extension AsyncStream: LocationSource where Element == LocationFix {}
