// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import GoogleCredentials

/// Whether there are credentials, and whether they get an access token.
struct CredentialsCheck {
    private static let scope = "https://www.googleapis.com/auth/cloud-platform"

    let google: GoogleSigners

    func finding() async -> DoctorFinding {
        do {
            let credential = try await self.google.credential()
            let isPerson = [.authorizedUser, .externalAccountAuthorizedUser].contains(credential.kind)
            _ = try await credential.accessToken(scopes: isPerson ? [] : [Self.scope])
            let account = try await credential.account().map { " as \($0)" } ?? ""
            let place = credential.search.last.map { ", found by \($0.place.rawValue)" } ?? ""
            return .ok("credentials", "\(credential.kind.rawValue)\(account)\(place)")
        } catch {
            return .fault(
                "credentials", error,
                next: "Run gcloud auth application-default login, name a credential file with google.credentials or "
                    + "GOOGLE_APPLICATION_CREDENTIALS, or run on a machine with a service account.")
        }
    }
}
