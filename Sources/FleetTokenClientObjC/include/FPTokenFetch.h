// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"

NS_ASSUME_NONNULL_BEGIN

/// A call that waits for a token. Letting go of it changes nothing: the call goes on.
@interface FPTokenFetch : NSObject {
  @private
    void *_fetch;
}

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// Ends the wait with `FPTokenErrorCancelled`, unless it has ended. Others who wait for the same token are not
/// disturbed.
- (void)cancel;

@end

NS_ASSUME_NONNULL_END
