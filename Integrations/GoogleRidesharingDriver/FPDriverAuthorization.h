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
/// the context of a delivery vehicle gives a token for that task; on-demand vehicles have none.
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

/// Drops the token that the vehicle got last, so that the next update carries another.
///
/// Call it when an update fails with gRPC's 16, which the SDK tells its listeners only. A 7 means the token only where it
/// is new.
- (void)lastTokenWasRefusedForVehicleID:(NSString *)vehicleID;

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

@end

NS_ASSUME_NONNULL_END

#endif
