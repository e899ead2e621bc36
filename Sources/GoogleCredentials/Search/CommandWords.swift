// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The words of a command as a POSIX shell splits them, and nothing else that a shell does.
enum CommandWords {
    /// Splits a command at white space outside of quotes.
    ///
    /// - Parameter command: The command; `'` quotes everything, `"` all but a backslash before `"` or `\`.
    /// - Returns: The words, or `nil` where a quote is left open or a backslash stands at the end.
    static func split(_ command: String) -> [String]? {
        var words: [String] = []
        var word = ""
        var isInWord = false
        var quote: Unicode.Scalar?
        var isEscaped = false
        for scalar in command.unicodeScalars {
            if isEscaped {
                if quote != nil, scalar != "\"", scalar != "\\" { word.unicodeScalars.append("\\") }
                word.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\", quote != "'" {
                isEscaped = true
                isInWord = true
            } else if let open = quote {
                if scalar == open { quote = nil } else { word.unicodeScalars.append(scalar) }
            } else if scalar == "'" || scalar == "\"" {
                quote = scalar
                isInWord = true
            } else if scalar == " " || scalar == "\t" || scalar == "\r" || scalar == "\n" {
                if isInWord { words.append(word) }
                word = ""
                isInWord = false
            } else {
                word.unicodeScalars.append(scalar)
                isInWord = true
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        return isInWord ? words + [word] : words
    }
}
