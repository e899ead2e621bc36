// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

#if canImport(GoogleRidesharingDriver)
    import GoogleRidesharingDriver

    /// Why a shift cannot begin.
    struct ShiftError: Error, CustomStringConvertible {
        let description: String
    }

    extension Shift {
        /// A shift that Google's Driver SDK reports; the app has given the Navigation SDK its key and shown its terms.
        convenience init(session: DriverSession) throws {
            let tokens = try DriverTokens(session: session)
            let places = try NavigationPlaces()
            let context = GMTDDriverContext(
                accessTokenProvider: tokens.authorization, providerID: session.provider, vehicleID: session.vehicle,
                navigator: places.navigator)
            guard let api = GMTDRidesharingDriverAPI(driverContext: context) else {
                throw ShiftError(description: "The Driver SDK does not take the vehicle \(session.vehicle).")
            }
            places.bring(to: api.vehicleReporter)
            self.init(api: api, tokens: tokens, vehicle: session.vehicle, places: places)
        }
    }
#elseif canImport(CoreLocation)
    import FleetDriver

    extension Shift {
        /// A shift that Fleetpass's own reporter reports, from where the phone is.
        convenience init(session: DriverSession) throws {
            let tokens = try DriverTokens(session: session)
            let context = GMTDDriverContext(
                accessTokenProvider: tokens.authorization, providerID: session.provider, vehicleID: session.vehicle,
                engine: EngineConnection(url: session.engine), locations: PhoneLocations())
            self.init(
                api: try GMTDRidesharingDriverAPI(checking: context), tokens: tokens, vehicle: session.vehicle)
        }
    }
#endif
