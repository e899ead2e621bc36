// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a request cannot be made without, and must be waited for.
struct Ingredient: Sendable {
    /// What errors call it, with a capital letter.
    let name: String
    /// The program that is run for it, where one is.
    let program: TokenProgram?

    /// The name, with the program that may be what holds everything up.
    var fullName: String { self.name + (self.program.map { ", for which \($0.path) is run," } ?? "") }
}
