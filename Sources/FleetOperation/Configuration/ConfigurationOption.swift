// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One setting of a service's configuration file.
package struct ConfigurationOption: Sendable {
    /// What a value must be.
    package enum Kind: Sendable {
        /// Any text.
        case text
        /// A path; a relative one starts at the configuration file's folder.
        case path
        /// Paths with commas between.
        case paths
        /// A whole number within bounds.
        case number(ClosedRange<Int>)
        /// A time in seconds, such as `75s`, or minutes, such as `5m`; a day at most.
        case duration
        /// How long something is kept, in hours or days, such as `12h` or `7d`, 3650 days at most, or `never` to keep it
        /// for ever.
        case age
        /// One of a few words.
        case choice([String])
        /// So many in a time, such as `60/1m`.
        case rate
        /// So many in a time, such as `60/1m`, or `off`.
        case optionalRate
    }

    /// The keys that lead to it, with dots between; `*` is a name that the operator chooses.
    package let path: String
    /// What a value must be.
    package let kind: Kind
    /// What holds where it is not given; `nil` where there is no such thing.
    package let standard: String?
    /// What it is for, in Markdown.
    package let help: String

    /// Describes a setting.
    package init(path: String, kind: Kind, standard: String?, help: String) {
        self.path = path
        self.kind = kind
        self.standard = standard
        self.help = help
    }

    /// The environment variable that overrides a setting.
    package static func variable(_ path: String) -> String {
        "FLEETPASS_" + path.uppercased().replacing(".", with: "_").replacing("-", with: "_")
    }

    /// Whether a variable of this name is for the setting, whatever the operator calls its section.
    func isNamed(by variable: String) -> Bool {
        let parts = Self.variable(self.path).split(separator: "*", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return parts[0] == variable }
        return variable.hasPrefix(parts[0]) && variable.hasSuffix(parts[1])
            && variable.utf8.count > parts[0].utf8.count + parts[1].utf8.count
    }

    /// How many keys lead to it.
    var depth: Int { self.keys.count }

    private var keys: [Substring] { self.path.split(separator: ".") }

    /// Whether a path leads to this setting, or some way towards it.
    func begins(with path: some Collection<String>) -> Bool {
        path.count <= self.keys.count && zip(self.keys, path).allSatisfy { $0 == "*" || $0 == $1 }
    }

    /// Whether a path leads to a section of this setting whose name the operator chooses.
    func isInNamedSection(_ path: some Collection<String>) -> Bool {
        self.key(after: path) != nil && !path.isEmpty && self.keys[path.count - 1] == "*"
    }

    /// The key that follows a path towards this setting.
    func key(after path: some Collection<String>) -> String? {
        self.begins(with: path) && path.count < self.keys.count ? String(self.keys[path.count]) : nil
    }

    /// Checks a value.
    ///
    /// - Returns: What is wrong with it, or `nil`.
    func problem(of value: String) -> String? {
        switch self.kind {
        case .text, .path, .paths: value.isEmpty ? "must not be empty" : nil
        case .number(let range):
            Int(value).map(range.contains) == true
                ? nil : "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .duration: Self.duration(value) == nil ? "must be a time up to a day, like 75s, 5m or 2h" : nil
        case .age:
            value == "never" || Self.age(value) != nil
                ? nil : "must be a time up to 3650d, like 12h or 7d, or never"
        case .rate: Self.rate(value) == nil ? "must be a number and a time up to a day, like 60/1m or 500/1h" : nil
        case .optionalRate:
            value == "off" || Self.rate(value) != nil
                ? nil : "must be a number and a time up to a day, like 60/1m or 500/1h, or off"
        case .choice(let words): words.contains(value) ? nil : "must be \(words.joined(separator: " or "))"
        }
    }

    /// The number and the period of a rate such as `60/1m`; `nil` for what is none, or beyond 1,000,000 or a day.
    package static func rate(_ text: String) -> (count: Int, period: Duration)? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000).contains(count),
            let period = self.duration(String(parts[1]))
        else { return nil }
        return (count, period)
    }

    /// A time such as `75s`, `5m` or `2h`, a day at most; `nil` for what is none.
    package static func duration(_ text: String) -> Duration? {
        self.duration(text, in: [.seconds, .minutes, .hours], days: 1)
    }

    /// A time such as `12h` or `7d`, 3650 days at most; `nil` for what is none, `never` included.
    package static func age(_ text: String) -> Duration? {
        self.duration(text, in: [.hours, .days], days: 3650)
    }

    private static func duration(_ text: String, in units: Set<WrittenTime.Unit>, days: Int) -> Duration? {
        guard let time = WrittenTime.read(text, in: units), time > .zero, time <= .seconds(days * 86_400) else {
            return nil
        }
        return time
    }
}
