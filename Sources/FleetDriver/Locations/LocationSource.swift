// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Where a reporter's locations come from: any asynchronous sequence of fixes, in the order in which they happened.
///
/// A source is iterated anew for each run: whenever tracking is turned on, or a reporter is told to report from it. The end
/// of a run cancels the iteration, which is when the source stops using the location service. A bare
/// `AsyncStream<LocationFix>` ends for good then and serves one run; an app bridges its location service with a
/// ``StreamLocationSource``, which serves any number.
public protocol LocationSource: AsyncSequence, Sendable where Element == LocationFix {}

extension AsyncStream: LocationSource where Element == LocationFix {}
