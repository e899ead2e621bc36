// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import FleetTokens
import Foundation

/// A script of faults in a file of YAML or JSON, or on standard input for `-`.
struct FaultScriptFile {
    let path: String

    /// Reads the script.
    ///
    /// - Throws: ``CommandFailure`` with `configuration` that says what to mend, and repeats no value of a file that is no
    ///   script.
    func read() throws -> FaultScript {
        let name = self.path == "-" ? "stdin" : self.path
        func invalid(_ problem: String) -> CommandFailure {
            CommandFailure(status: .configuration, message: "the script \(name): \(problem)")
        }
        let bytes =
            self.path == "-"
            ? try Console.input(atMost: YAMLFile.maximumBytes)
            : try InputFile(path: self.path).bytes(
                atMost: YAMLFile.maximumBytes, advice: "create it, or name the right file.")
        guard bytes.count <= YAMLFile.maximumBytes else {
            throw invalid("it has more than \(YAMLFile.maximumBytes) bytes.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw invalid("it is not UTF-8.") }
        let value: JSONValue
        // YAML does not read a character that JSON escapes as two surrogates.
        if let json = try? JSONValue(parsing: bytes.withoutByteOrderMark) {
            value = json
        } else {
            do throws(YAMLProblem) {
                value = try YAMLNode(text)?.json ?? .null
            } catch {
                let place = error.place.map { "line \($0.line), " } ?? ""
                guard case .unreadable(let problem, _) = error else { throw invalid("\(place)\(error.words).") }
                throw invalid("it is neither YAML nor JSON: \(place)\(problem ?? "it cannot be read").")
            }
        }
        do throws(FaultScriptError) {
            return try FaultScript(value)
        } catch {
            throw invalid(error.message.shown())
        }
    }
}

extension YAMLNode {
    /// The node as JSON; plain scalars that look like numbers, truth values or null are those, but for ids.
    fileprivate var json: JSONValue {
        switch self.content {
        case .list(let nodes): .array(nodes.map(\.json))
        case .mapping(let pairs):
            .object(JSONObject(Dictionary(pairs.map { Self.member($0.key, $0.value) }) { first, _ in first }))
        case .scalar(let text, let isPlain): isPlain ? Self.plain(text) : .string(text)
        }
    }

    private var text: String? {
        if case .scalar(let text, _) = self.content { text } else { nil }
    }

    private static func member(_ key: YAMLNode, _ value: YAMLNode) -> (String, JSONValue) {
        let name = key.text ?? ""
        let json = value.json
        // An id such as 7 need not be quoted.
        guard FaultStep.idMembers.contains(name), let id = value.text, json != .null else {
            return (name, json)
        }
        return (name, .string(id))
    }

    private static func plain(_ text: String) -> JSONValue {
        switch text {
        case "", "~", "null": .null
        case "true": .bool(true)
        case "false": .bool(false)
        default: Int64(text).map(JSONValue.integer) ?? Double(text).map(JSONValue.double) ?? .string(text)
        }
    }
}
