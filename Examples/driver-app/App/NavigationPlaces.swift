// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(GoogleRidesharingDriver)
    import CoreLocation
    import GoogleNavigation
    import GoogleRidesharingDriver

    /// A session of the Navigation SDK, which snaps the phone's places to the road.
    @MainActor final class NavigationPlaces: ShiftPlaces {
        let navigator: GMSNavigator
        // Places come for as long as somebody holds this, and only while it is started.
        private let session: GMSNavigationSession
        private let provider: GMSRoadSnappedLocationProvider
        private let permission = CLLocationManager()

        /// Makes a session; the app has given the SDK its key and shown its terms.
        init() throws {
            guard let session = GMSNavigationServices.createNavigationSession(), let navigator = session.navigator,
                let provider = session.roadSnappedLocationProvider
            else { throw ShiftError(description: "The Navigation SDK is not ready; accept its terms first.") }
            self.session = session
            self.navigator = navigator
            self.provider = provider
        }

        /// Lets a reporter hear of each place.
        func bring(to reporter: GMTDVehicleReporter) {
            self.provider.add(reporter)
        }

        func start() {
            self.permission.requestWhenInUseAuthorization()
            self.session.isStarted = true
            // Without this, reports end when the phone is locked.
            self.provider.allowsBackgroundLocationUpdates = Bundle.main.hasPlacesInBackground
            self.provider.startUpdatingLocation()
        }

        func stop() {
            self.provider.stopUpdatingLocation()
            self.session.isStarted = false
        }
    }
#endif
