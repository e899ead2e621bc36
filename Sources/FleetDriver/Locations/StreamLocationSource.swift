// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Fixes from a location service that is started anew for each run.
///
/// ```swift
/// let locations = StreamLocationSource {
///     AsyncStream(bufferingPolicy: .bufferingNewest(360)) { fixes in
///         let service = LocationService { fixes.yield($0) }
///         fixes.onTermination = { _ in service.stop() }
///         service.start()
///     }
/// }
/// ```
///
/// A location service may hand over several places at once. A stream that buffers fewer drops some before the reporter,
/// which keeps 360 of its own by default, could count them.
public struct StreamLocationSource: LocationSource {
    /// What the source yields.
    public typealias Element = LocationFix

    private let makeStream: @Sendable () -> AsyncStream<LocationFix>

    /// Makes a source.
    ///
    /// - Parameter makeStream: Starts the location service and returns what comes from it, a new stream at each call. Its
    ///   `onTermination` stops the service: that is called when the run ends or is cancelled, and has to be set before the
    ///   stream is returned, as a run may end at once.
    public init(_ makeStream: @escaping @Sendable () -> AsyncStream<LocationFix>) {
        self.makeStream = makeStream
    }

    /// Starts the location service for one run.
    public func makeAsyncIterator() -> AsyncStream<LocationFix>.Iterator {
        self.makeStream().makeAsyncIterator()
    }
}
