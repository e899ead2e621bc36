// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Add this file and its header to an app that links the Consumer SDK: a package cannot see the SDK's headers, an app can.

#import "FPTokenProvider+GMTCAuthorization.h"

#if __has_include(<GoogleRidesharingConsumer/GoogleRidesharingConsumer.h>)

@implementation FPTokenProvider (GMTCAuthorization)

- (void)fetchTokenWithContext:(nullable GMTCAuthorizationContext *)authorizationContext
                   completion:(nonnull GMTCAuthTokenFetchCompletionHandler)completion {
    // No context gives no trip, which is answered with an error.
    [self fetchTokenForTripID:authorizationContext.tripID completion:completion];
}

@end

#endif
