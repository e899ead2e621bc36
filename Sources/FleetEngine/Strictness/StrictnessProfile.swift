// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How closely an engine holds its callers to the documentation.
///
/// In either profile deviations are noted; see ``DeviationWatch``.
public enum StrictnessProfile: String, CaseIterable, Sendable {
    /// What the service does: it lets deviations pass without a word.
    case real
    /// Everything the documentation says: callers are warned of deviations, and refused where the contract says so.
    case strict
}
