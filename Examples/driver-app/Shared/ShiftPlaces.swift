// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What brings the vehicle's places to the reporter for as long as a shift lasts, where the reporter fetches none itself.
@MainActor protocol ShiftPlaces {
    func start()
    func stop()
}
