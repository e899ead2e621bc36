// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPDriverAuthorization.h"

#if __has_include(<GoogleRidesharingDriver/GoogleRidesharingDriver.h>)

@implementation FPDriverAuthorization

- (instancetype)initWithProvider:(FPTokenProvider *)provider vehicleKind:(FPTokenVehicleKind)vehicleKind {
    if ((self = [super init])) {
#if __has_feature(objc_arc)
        _provider = provider;
#else
        _provider = [provider retain];
#endif
        _vehicleKind = vehicleKind;
    }
    return self;
}

#if !__has_feature(objc_arc)
- (void)dealloc {
    [_provider release];
    [super dealloc];
}
#endif

- (void)fetchTokenWithContext:(nullable GMTDAuthorizationContext *)authorizationContext
                   completion:(nonnull GMTDAuthTokenFetchCompletionHandler)completion {
    // No context gives no vehicle, which the provider answers with another error than an empty one.
    NSString *vehicleID = authorizationContext.vehicleID;
    if (authorizationContext && !vehicleID) vehicleID = @"";
    FPTokenSubject *subject = [FPTokenSubject driverWithVehicleID:vehicleID
                                                           taskID:authorizationContext.taskID
                                                      vehicleKind:_vehicleKind];
    [_provider fetchTokenForSDKSubject:subject completion:completion];
}

- (void)lastTokenWasRefusedForVehicleID:(NSString *)vehicleID {
    [_provider invalidateLastTokenForSubject:[FPTokenSubject driverWithVehicleID:vehicleID
                                                                          taskID:nil
                                                                     vehicleKind:_vehicleKind]];
}

@end

#endif
