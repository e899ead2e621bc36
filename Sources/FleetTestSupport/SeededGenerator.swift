// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// A random generator whose whole future follows from its seed, so that a failure can be played again.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// Starts from a seed; equal seeds give equal sequences.
    public init(seed: UInt64) {
        self.generator = SplitMix64(seed: seed)
    }

    /// The next random bits.
    public mutating func next() -> UInt64 {
        self.generator.next()
    }

    /// Whether something happens that has a probability.
    ///
    /// - Parameter probability: Between 0, never, and 1, always.
    /// - Returns: Whether it happens this time.
    public mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }

    /// A duration from a range, each as likely as another.
    ///
    /// - Parameter range: The shortest and the longest.
    /// - Returns: A duration within it.
    public mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        range.lowerBound + (range.upperBound - range.lowerBound) * Double.random(in: 0...1, using: &self)
    }
}
