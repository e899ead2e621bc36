// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Compile this file and its source into the app, next to the Driver SDK, whose headers a package cannot see.

#if __has_include(<GoogleRidesharingDriver/GoogleRidesharingDriver.h>)

#import <GoogleRidesharingDriver/GoogleRidesharingDriver.h>

#if __has_include(<FleetTokenClientObjC/FleetTokenClientObjC.h>)
#import <FleetTokenClientObjC/FleetTokenClientObjC.h>
#else
#import "FleetTokenClientObjC.h"
#endif

NS_ASSUME_NONNULL_BEGIN

/// Hands a provider's tokens to the Driver SDK: pass it as `accessTokenProvider` of the driver context.
///
/// It answers each question exactly once, asynchronously and within 9 s, also when the SDK gives no context. A task in
/// the context gives a token for that task.
@interface FPDriverAuthorization : NSObject <GMTDAuthorization> {
  @private
    FPTokenProvider *_provider;
    FPTokenVehicleKind _vehicleKind;
}

/// Makes an authorization, which keeps the provider; share one provider among all of them.
///
/// \param provider Where tokens come from.
/// \param vehicleKind Which vehicles the app drives; the SDK's context does not tell.
- (instancetype)initWithProvider:(FPTokenProvider *)provider
                     vehicleKind:(FPTokenVehicleKind)vehicleKind NS_DESIGNATED_INITIALIZER;

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

@end

NS_ASSUME_NONNULL_END

#endif
