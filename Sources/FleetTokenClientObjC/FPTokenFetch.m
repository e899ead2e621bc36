// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenFetch.h"

#import "FPBridge.h"
#import "FPOwnership.h"

@implementation FPTokenFetch

- (instancetype)initWithFetch:(fp_fetch *)fetch {
    if ((self = [super init])) _fetch = fetch;
    return self;
}

- (void)dealloc {
    fp_fetch_release(_fetch);
    FP_DEALLOC_SUPER;
}

- (void)cancel {
    fp_fetch_cancel(_fetch);
}

@end
