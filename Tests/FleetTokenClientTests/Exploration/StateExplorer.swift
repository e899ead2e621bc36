// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Goes through all states that a cache can reach, nearest first, and stops at the first broken promise.
struct StateExplorer {
    /// What was found.
    struct Report {
        var states = 1
        var transitions = 0
        /// Up to how many steps every order was tried.
        var depth = 0
        /// Whether there are no further states, however many steps are taken.
        var isClosed = false
        /// The first broken promise, with the steps that lead to it.
        var failure: String?
    }

    private let steps: [ExploredStep]
    private var seen: Set<UInt64>
    private var probed: Set<UInt64> = []
    private var frontier: [(cache: ExploredCache, node: Int32)]
    /// For each state the one it was reached from, and by which step.
    private var origins: [(parent: Int32, step: ExploredStep?)] = [(-1, nil)]
    private var report = Report()

    init(_ settings: ExploredSettings) {
        let start = ExploredCache(settings)
        self.steps = ExploredStep.all(subjects: settings.subjects.count)
        self.seen = [start.key]
        self.frontier = [(start, 0)]
    }

    /// Explores whole depths until so many states are known or there are no more.
    mutating func run(states: Int = .max) async -> Report {
        while !self.frontier.isEmpty, self.report.states < states {
            var next: [(cache: ExploredCache, node: Int32)] = []
            for (index, (cache, node)) in self.frontier.enumerated() {
                // Hundreds of other tests share the few threads.
                if index.isMultiple(of: 1000) { await Task.yield() }
                if let failure = cache.probe(except: &self.probed) { return self.failed(failure, at: node) }
                for step in self.steps {
                    var other = cache
                    guard other.take(step) else { continue }
                    self.report.transitions += 1
                    if let failure = other.violation { return self.failed(failure, at: node, step) }
                    guard self.seen.insert(other.key).inserted else { continue }
                    self.origins.append((node, step))
                    next.append((other, Int32(self.origins.count - 1)))
                }
            }
            self.frontier = next
            self.report.states = self.seen.count
            self.report.depth += 1
        }
        self.report.isClosed = self.frontier.isEmpty
        return self.report
    }

    private mutating func failed(_ failure: String, at node: Int32, _ last: ExploredStep? = nil) -> Report {
        var path = last.map { [$0] } ?? []
        var node = Int(node)
        while let step = self.origins[node].step {
            path.append(step)
            node = Int(self.origins[node].parent)
        }
        let names = path.reversed().map(\.description).joined(separator: ", ")
        self.report.states = self.seen.count
        self.report.failure = "\(failure), after: \(names)"
        return self.report
    }
}
