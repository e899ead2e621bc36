// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Add this file and its header to an app that links the Driver SDK: a package cannot see the SDK's headers, an app can.

#import "FPTokenProvider+GMTDAuthorization.h"

#if __has_include(<GoogleRidesharingDriver/GoogleRidesharingDriver.h>)

@implementation FPTokenProvider (GMTDAuthorization)

- (void)fetchTokenWithContext:(nullable GMTDAuthorizationContext *)authorizationContext
                   completion:(nonnull GMTDAuthTokenFetchCompletionHandler)completion {
    // No context gives no vehicle, which is answered with an error.
    [self fetchTokenForVehicleID:authorizationContext.vehicleID
                          taskID:authorizationContext.taskID
                      completion:completion];
}

@end

#endif
