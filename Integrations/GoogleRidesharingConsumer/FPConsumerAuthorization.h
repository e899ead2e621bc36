// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Compile this file and its source into the app, next to the Consumer SDK, whose headers a package cannot see.

#if __has_include(<GoogleRidesharingConsumer/GoogleRidesharingConsumer.h>)

#import <GoogleRidesharingConsumer/GoogleRidesharingConsumer.h>

#if __has_include(<FleetTokenClientObjC/FleetTokenClientObjC.h>)
#import <FleetTokenClientObjC/FleetTokenClientObjC.h>
#else
#import "FleetTokenClientObjC.h"
#endif

NS_ASSUME_NONNULL_BEGIN

/// Hands a provider's tokens to the Consumer SDK: pass it to `+[GMTCServices setAccessTokenProvider:providerID:]`.
///
/// It answers each question exactly once, asynchronously and within 9 s, also when the SDK gives no context.
@interface FPConsumerAuthorization : NSObject <GMTCAuthorization> {
  @private
    FPTokenProvider *_provider;
}

/// Makes an authorization, which keeps the provider; share one provider among all of them.
- (instancetype)initWithProvider:(FPTokenProvider *)provider NS_DESIGNATED_INITIALIZER;

/// Drops the token that the trip got last, so that the next question carries another.
///
/// Call it when a question fails with gRPC's 16, which the SDK tells its subscribers only. A 7 means the token only where
/// it is new.
- (void)lastTokenWasRefusedForTripID:(NSString *)tripID;

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

@end

NS_ASSUME_NONNULL_END

#endif
