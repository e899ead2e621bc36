// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Add this file and its source to an app that links the Consumer SDK: a package cannot see the SDK's headers, an app can.

#if __has_include(<GoogleRidesharingConsumer/GoogleRidesharingConsumer.h>)

#import <GoogleRidesharingConsumer/GoogleRidesharingConsumer.h>

#if __has_include(<FleetTokenClientObjC/FleetTokenClientObjC.h>)
#import <FleetTokenClientObjC/FleetTokenClientObjC.h>
#else
#import "FleetTokenClientObjC.h"
#endif

NS_ASSUME_NONNULL_BEGIN

/// Lets the Consumer SDK ask the provider: pass it to `+[GMTCServices setAccessTokenProvider:providerID:]`.
@interface FPTokenProvider (GMTCAuthorization) <GMTCAuthorization>
@end

NS_ASSUME_NONNULL_END

#endif
