// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenMetrics.h"

#import "FPBridge.h"

@implementation FPTokenMetrics

@synthesize hits = _hits;
@synthesize waits = _waits;
@synthesize waited = _waited;
@synthesize longestWait = _longestWait;
@synthesize fetches = _fetches;
@synthesize failures = _failures;
@synthesize refusals = _refusals;

- (instancetype)initWithMetrics:(fp_metrics)metrics {
    if ((self = [super init])) {
        _hits = (NSInteger)metrics.hits;
        _waits = (NSInteger)metrics.waits;
        _waited = (NSTimeInterval)metrics.waited_ms / 1000;
        _longestWait = (NSTimeInterval)metrics.longest_wait_ms / 1000;
        _fetches = (NSInteger)metrics.fetches;
        _failures = (NSInteger)metrics.failures;
        _refusals = (NSInteger)metrics.refusals;
    }
    return self;
}

@end
