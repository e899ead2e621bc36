// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(CoreLocation) && !canImport(GoogleRidesharingDriver)
    import CoreLocation
    import FleetDriver

    /// The phone's places; each run starts the location service, and stops it at its end.
    nonisolated struct PhoneLocations: LocationSource {
        func makeAsyncIterator() -> AsyncThrowingStream<LocationFix, any Error>.Iterator {
            // The location service may hand over several at once.
            AsyncThrowingStream(bufferingPolicy: .bufferingNewest(360)) { fixes in
                let receiver = Task { @MainActor in
                    let receiver = Receiver(
                        receive: { fixes.yield($0) }, refuse: { fixes.finish(throwing: PlacesRefused()) })
                    receiver.start()
                    return receiver
                }
                fixes.onTermination = { _ in
                    Task { @MainActor in await receiver.value.stop() }
                }
            }.makeAsyncIterator()
        }
    }

    /// The driver does not let the app have places.
    nonisolated struct PlacesRefused: LocalizedError {
        var errorDescription: String? { "Allow this app your location in Settings, then go on shift again." }
    }

    extension PhoneLocations {
        /// Hears from the location service.
        @MainActor private final class Receiver: NSObject, CLLocationManagerDelegate {
            private let service = CLLocationManager()
            private let receive: @Sendable (LocationFix) -> Void
            private let refuse: @Sendable () -> Void

            init(receive: @escaping @Sendable (LocationFix) -> Void, refuse: @escaping @Sendable () -> Void) {
                self.receive = receive
                self.refuse = refuse
            }

            func start() {
                self.service.delegate = self
                #if os(iOS)
                    // Without these, reports end when the phone is locked.
                    self.service.allowsBackgroundLocationUpdates = Bundle.main.hasPlacesInBackground
                    self.service.pausesLocationUpdatesAutomatically = false
                #endif
                self.service.requestWhenInUseAuthorization()
                self.service.startUpdatingLocation()
            }

            func stop() {
                self.service.stopUpdatingLocation()
            }

            /// Ends the run where the driver does not let the app have places, so that the reporter tells of it.
            nonisolated func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
                if [.denied, .restricted].contains(manager.authorizationStatus) { self.refuse() }
            }

            nonisolated func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
                // A negative accuracy means that the place is not valid, and zero or less that the altitude is not.
                for place in locations where place.horizontalAccuracy >= 0 {
                    let fix = try? LocationFix(
                        latitude: place.coordinate.latitude, longitude: place.coordinate.longitude,
                        heading: place.course, speed: place.speed,
                        altitude: place.verticalAccuracy > 0 ? place.ellipsoidalAltitude : nil,
                        accuracy: place.horizontalAccuracy, time: place.timestamp)
                    if let fix { self.receive(fix) }
                }
            }
        }
    }
#endif
