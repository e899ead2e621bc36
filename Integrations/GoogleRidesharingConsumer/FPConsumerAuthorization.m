// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPConsumerAuthorization.h"

#if __has_include(<GoogleRidesharingConsumer/GoogleRidesharingConsumer.h>)

@implementation FPConsumerAuthorization

- (instancetype)initWithProvider:(FPTokenProvider *)provider {
    if ((self = [super init])) {
#if __has_feature(objc_arc)
        _provider = provider;
#else
        _provider = [provider retain];
#endif
    }
    return self;
}

#if !__has_feature(objc_arc)
- (void)dealloc {
    [_provider release];
    [super dealloc];
}
#endif

- (void)fetchTokenWithContext:(nullable GMTCAuthorizationContext *)authorizationContext
                   completion:(nonnull GMTCAuthTokenFetchCompletionHandler)completion {
    // No context gives no trip, which the provider answers with another error than an empty one.
    NSString *tripID = authorizationContext.tripID;
    if (authorizationContext && !tripID) tripID = @"";
    [_provider fetchTokenForSDKSubject:[FPTokenSubject consumerWithTripID:tripID] completion:completion];
}

- (void)lastTokenWasRefusedForTripID:(NSString *)tripID {
    [_provider invalidateLastTokenForSubject:[FPTokenSubject consumerWithTripID:tripID]];
}

@end

#endif
