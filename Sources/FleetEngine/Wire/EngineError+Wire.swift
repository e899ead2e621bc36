// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension EngineError {
    /// `ErrorInfo.domain` of every error of the engine.
    static let domain = "fleetengine.googleapis.com"
}
