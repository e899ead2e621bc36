// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"

NS_ASSUME_NONNULL_BEGIN

/// What a provider did since it was made; a snapshot to be read now and then.
@interface FPTokenMetrics : NSObject {
  @private
    NSInteger _hits;
    NSInteger _waits;
    NSTimeInterval _waited;
    NSTimeInterval _longestWait;
    NSInteger _fetches;
    NSInteger _failures;
    NSInteger _refusals;
}

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// How many calls for a token got one at once.
@property (nonatomic, readonly) NSInteger hits;

/// How many had to wait for a fetch, whatever came of it.
@property (nonatomic, readonly) NSInteger waits;

/// How long they waited altogether, in seconds.
@property (nonatomic, readonly) NSTimeInterval waited;

/// The longest of these waits, in seconds.
@property (nonatomic, readonly) NSTimeInterval longestWait;

/// How many fetches brought a token that was kept.
@property (nonatomic, readonly) NSInteger fetches;

/// How many fetches failed.
@property (nonatomic, readonly) NSInteger failures;

/// How many tokens Fleet Engine refused.
@property (nonatomic, readonly) NSInteger refusals;

@end

NS_ASSUME_NONNULL_END
