// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// The vehicle and the trip that both examples make.
struct Order {
    let provider: ProviderID
    let vehicle: VehicleID
    let trip: TripID

    var newVehicle: Vehicle {
        .with {
            $0.vehicleState = .offline
            $0.supportedTripTypes = [.exclusive]
            $0.maximumCapacity = 4
            $0.vehicleType.category = .auto
        }
    }

    var newTrip: Trip {
        .with {
            $0.tripType = .exclusive
            $0.pickupPoint.point = .with {
                $0.latitude = 37.40
                $0.longitude = -122.08
            }
            $0.dropoffPoint.point = .with {
                $0.latitude = 37.44
                $0.longitude = -122.14
            }
        }
    }
}
