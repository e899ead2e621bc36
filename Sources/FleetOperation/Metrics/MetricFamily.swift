// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Numbers of one name in the Prometheus text format, told apart by labels whose values are few and known.
package struct MetricFamily: Sendable {
    /// What kind of number it is.
    package enum Kind: String {
        /// Only grows.
        case counter
        /// Goes up and down.
        case gauge
    }

    package let name: String
    package let help: String
    package let kind: Kind
    package let labels: [String]
    private var values: [[String]: Double] = [:]

    package init(_ name: String, _ kind: Kind, labels: [String] = [], help: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
    }

    package mutating func add(_ amount: Double = 1, _ labelValues: String...) {
        self.add(amount, to: labelValues)
    }

    package mutating func add(_ amount: Double, to labelValues: [String]) {
        self.values[labelValues, default: 0] += amount
    }

    package mutating func set(_ value: Double, _ labelValues: String...) {
        self.values[labelValues] = value
    }

    package var text: String {
        PrometheusText.head(self.name, "\(self.kind)", self.help)
            + self.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { values, number in
                PrometheusText.line(self.name, Array(zip(self.labels, values)), number)
            }.joined()
    }
}

/// How long something took, counted in buckets.
package struct LatencyHistogram: Sendable {
    /// The upper bounds in seconds: from a signature with a key at hand to a remote signer that hardly answers.
    package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    package let name: String
    package let help: String
    package let label: String
    private var series: [String: Series] = [:]

    private struct Series {
        var counts = [UInt64](repeating: 0, count: LatencyHistogram.bounds.count + 1)
        var sum = 0.0
    }

    package init(_ name: String, label: String, help: String) {
        self.name = name
        self.label = label
        self.help = help
    }

    package mutating func observe(_ duration: Duration, _ labelValue: String) {
        let seconds = duration / .seconds(1)
        let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        self.series[labelValue, default: Series()].counts[bucket] += 1
        self.series[labelValue, default: Series()].sum += seconds
    }

    package var text: String {
        var text = PrometheusText.head(self.name, "histogram", self.help)
        for (value, series) in self.series.sorted(by: { $0.key < $1.key }) {
            var total: UInt64 = 0
            for (count, bound) in zip(series.counts, Self.bounds.map { "\($0)" } + ["+Inf"]) {
                total += count
                text += PrometheusText.line(
                    "\(self.name)_bucket", [(self.label, value), ("le", bound)], Double(total))
            }
            text += PrometheusText.line("\(self.name)_sum", [(self.label, value)], series.sum)
            text += PrometheusText.line("\(self.name)_count", [(self.label, value)], Double(total))
        }
        return text
    }
}

/// Writes lines of the Prometheus text format.
package enum PrometheusText {
    package static func head(_ name: String, _ kind: String, _ help: String) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    package static func line(_ name: String, _ labels: [(String, String)], _ number: Double) -> String {
        let pairs = labels.map { #"\#($0)="\#(self.escaped($1))""# }
        let value = number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
        return "\(name)\(pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") \(value)\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
