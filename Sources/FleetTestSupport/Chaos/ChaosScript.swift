// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a ``ChaosTokenServer`` does, request by request.
///
/// ```swift
/// let script: ChaosScript = [.good, .status(500), .tornBody]  // good again from the fourth request on
/// ```
public struct ChaosScript: Sendable, ExpressibleByArrayLiteral {
    private struct Dice: Sendable {
        var random: SeededGenerator
        let calm: Double
        let steps: [ChaosStep]
    }

    private var coming: ArraySlice<ChaosStep>
    private let ending: ChaosStep
    private var dice: Dice?

    /// Plays steps in order, and then one for ever.
    ///
    /// - Parameters:
    ///   - steps: The steps, one for each request.
    ///   - ending: What follows them.
    public init(_ steps: [ChaosStep], then ending: ChaosStep = .good) {
        self.coming = steps[...]
        self.ending = ending
    }

    /// Plays the steps in order and is good from then on.
    public init(arrayLiteral steps: ChaosStep...) {
        self.init(steps)
    }

    /// Does the same for every request.
    ///
    /// - Parameter step: What it does.
    /// - Returns: The script.
    public static func always(_ step: ChaosStep) -> Self {
        Self([], then: step)
    }

    /// Leaves every request to chance; equal seeds give equal sequences.
    ///
    /// - Parameters:
    ///   - seed: What the sequence follows from; print it with a failure.
    ///   - calm: How likely a request is answered well, between 0 and 1.
    ///   - steps: What happens to the others, each as likely as another.
    /// - Returns: The script.
    public static func chaos(seed: UInt64, calm: Double = 0.5, from steps: [ChaosStep] = ChaosStep.allCases) -> Self {
        var script = Self([])
        script.dice = Dice(random: SeededGenerator(seed: seed), calm: calm, steps: steps)
        return script
    }

    package mutating func next() -> ChaosStep {
        if let step = self.coming.popFirst() { return step }
        guard var dice = self.dice else { return self.ending }
        let isCalm = dice.random.chance(dice.calm)
        let step = isCalm ? nil : dice.steps.randomElement(using: &dice.random)
        self.dice = dice
        return step ?? self.ending
    }
}
