// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension ConfigurationSchema {
    /// The reference page of the configuration in Markdown, made from the settings themselves.
    package var reference: String {
        """
        # Configuration of `fleetpass \(self.command)`

        <!-- Made from the settings by `fleetpass \(self.command) --reference`; a test compares. -->

        One YAML file, passed with `--config`. A setting `listen.host` is written as `host:` below `listen:`. Each can be
        overridden by the environment variable beside it. A setting that does not exist is an error that names its line; a
        variable that begins as those of a section do and is for no setting is only logged. The file has at most
        \(YAMLFile.maximumBytes / 1024) KiB, and no YAML aliases (`*name`).
        \(self.namedSections)
        | setting | value | default | variable |
        | --- | --- | --- | --- |

        """
            + self.options.map { option in
                "| `\(option.path.replacing("*", with: "NAME"))` | \(option.kind.words) | \(option.standard.map { "`\($0)`" } ?? "") | "
                    + "`\(ConfigurationOption.variable(option.path).replacing("*", with: "NAME"))` |\n"
            }.joined()
            + "\n## What they are for\n\n"
            + self.options.map { "- `\($0.path.replacing("*", with: "NAME"))`: \($0.help)\n" }.joined()
    }

    /// What is to be known of sections whose names the operator chooses; empty where there are none.
    private var namedSections: String {
        guard self.options.contains(where: { $0.path.contains("*") }) else { return "" }
        return """

            NAME is a section's name, in variables in capitals and with `_` for `-`. The section must stand in the file: a
            variable for one that does not is an error.

            """
    }
}

extension ConfigurationOption.Kind {
    /// The kind in words.
    fileprivate var words: String {
        switch self {
        case .text: "text"
        case .path: "path"
        case .paths: "paths, with commas between"
        case .number(let range): "\(range.lowerBound)–\(range.upperBound)"
        case .duration: "time up to a day, `75s` or `5m`"
        case .age: "time up to `3650d`, `12h` or `7d`, or `never`"
        case .rate: "number and time, `60/1m`"
        case .optionalRate: "number and time, `60/1m`, or `off`"
        case .choice(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        }
    }
}
