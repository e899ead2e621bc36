// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"
#import "FPTokenSubject.h"

NS_ASSUME_NONNULL_BEGIN

/// What happened to a token. New kinds may be added.
typedef NS_ENUM(NSInteger, FPTokenEventKind) {
    /// A subject's first token arrived, or the first after a refusal.
    FPTokenEventKindFetched = 1,
    /// A token that is still good was handed out while a newer one was due.
    FPTokenEventKindServedStale = 2,
    /// A fetch failed.
    FPTokenEventKindFailed = 3,
    /// Fleet Engine refused a token, and it was dropped.
    FPTokenEventKindRefused = 4,
    /// A token arrived that replaces an older one.
    FPTokenEventKindRefreshed = 5,
    /// A token was found in a store.
    FPTokenEventKindRestored = 6,
    /// The phone's clock is wrong, differently wrong than last reported, or right again.
    FPTokenEventKindClockError = 7,
    /// A store failed.
    FPTokenEventKindStoreFailed = 8,
};

/// Something that happened to a token, for logs and metrics. It holds no secret.
@interface FPTokenEvent : NSObject {
  @private
    FPTokenEventKind _kind;
    FPTokenSubject *_subject;
    NSString *_fingerprint;
    NSNumber *_life;
    NSError *_error;
    NSNumber *_clockOffset;
}

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// What happened.
@property (nonatomic, readonly) FPTokenEventKind kind;

/// Whose token it is; `nil` for what concerns no token, such as the clock.
@property (nonatomic, readonly, copy, nullable) FPTokenSubject *subject;

/// 16 hexadecimal digits that name the token in logs without giving it away; `nil` where there is no token.
@property (nonatomic, readonly, copy, nullable) NSString *fingerprint;

/// The token's remaining life in seconds; `nil` where there is no token, or a refused one.
@property (nonatomic, readonly, copy, nullable) NSNumber *life;

/// The failure in `FPTokenErrorDomain`, when a fetch or a store failed.
@property (nonatomic, readonly, copy, nullable) NSError *error;

/// The phone's date less the token server's in seconds, positive when the phone is ahead; `nil` but for the clock.
@property (nonatomic, readonly, copy, nullable) NSNumber *clockOffset;

@end

NS_ASSUME_NONNULL_END
