// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Changes that the engine has not taken yet, in the order in which they were made.
struct PendingChanges<Change: Sendable>: Sendable {
    private struct Entry: Sendable {
        let number: Int
        let change: Change
        /// Whether a caller still waits for what becomes of it.
        var isAwaited = true
        /// Whether a request may have carried it.
        var isSent = false
    }

    private var entries: [Entry] = []
    private var refusals: [Int: any Error] = [:]
    private var made = 0

    var count: Int { self.entries.count }
    var all: [Change] { self.entries.map(\.change) }

    /// Adds a change that a caller waits for, and gives its number.
    mutating func add(_ change: Change) -> Int {
        self.made += 1
        self.entries.append(Entry(number: self.made, change: change))
        return self.made
    }

    func isPending(_ number: Int) -> Bool { self.entries.contains { $0.number == number } }

    /// The changes up to a number, oldest first, with their numbers.
    func changes(upTo number: Int) -> [(number: Int, change: Change)] {
        self.entries.prefix { $0.number <= number }.map { ($0.number, $0.change) }
    }

    func change(_ number: Int) -> Change? { self.entries.first { $0.number == number }?.change }

    /// Takes note that a request with these changes goes out.
    mutating func noteSending(_ isCarried: (Int) -> Bool) {
        for index in self.entries.indices where isCarried(self.entries[index].number) {
            self.entries[index].isSent = true
        }
    }

    /// The numbers of those that nobody waits for any more, which are to be repeated.
    var abandoned: [Int] { self.entries.filter { !$0.isAwaited }.map(\.number) }

    /// Takes changes off the list: the engine took them, or refused them for good.
    ///
    /// - Returns: Whether nobody waits for the refusal of one.
    @discardableResult mutating func remove(_ isDone: (Int) -> Bool, refusal: (any Error)? = nil) -> Bool {
        var isUnheard = false
        for entry in self.entries where isDone(entry.number) {
            if entry.isAwaited { self.refusals[entry.number] = refusal } else { isUnheard = refusal != nil }
        }
        self.entries.removeAll { isDone($0.number) }
        return isUnheard
    }

    /// Ends a caller's wait, and tells the refusal that came meanwhile, or else why the wait failed.
    ///
    /// The change of a caller who was cancelled is kept only where it was sent: nobody knows what became of it.
    mutating func endWait(_ number: Int, _ failure: (any Error)?) -> (any Error)? {
        if let index = self.entries.firstIndex(where: { $0.number == number }) {
            self.entries[index].isAwaited = false
            if failure is CancellationError, !self.entries[index].isSent { self.entries.remove(at: index) }
        }
        return self.refusals.removeValue(forKey: number) ?? failure
    }
}
