// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Add this file and its source to an app that links the Driver SDK: a package cannot see the SDK's headers, an app can.

#if __has_include(<GoogleRidesharingDriver/GoogleRidesharingDriver.h>)

#import <GoogleRidesharingDriver/GoogleRidesharingDriver.h>

#if __has_include(<FleetTokenClientObjC/FleetTokenClientObjC.h>)
#import <FleetTokenClientObjC/FleetTokenClientObjC.h>
#else
#import "FleetTokenClientObjC.h"
#endif

NS_ASSUME_NONNULL_BEGIN

/// Lets the Driver SDK ask the provider: pass it as `accessTokenProvider` of the driver context.
///
/// Whether the vehicle is an on-demand or a delivery vehicle is told by `FPTokenProviderOptions.vehicleKind`; a task in the
/// context gives a token for that task.
@interface FPTokenProvider (GMTDAuthorization) <GMTDAuthorization>
@end

NS_ASSUME_NONNULL_END

#endif
