// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"
#import "FPTokenSubject.h"

NS_ASSUME_NONNULL_BEGIN

/// What happened to a token. New kinds may be added.
typedef NS_ENUM(NSInteger, FPTokenEventKind) {
    /// A new token arrived.
    FPTokenEventKindFetched = 1,
    /// A token that is still good was handed out while a newer one was due.
    FPTokenEventKindServedStale = 2,
    /// A fetch failed.
    FPTokenEventKindFailed = 3,
    /// Fleet Engine refused a token, and it was dropped.
    FPTokenEventKindInvalidated = 4,
};

/// Something that happened to a token, for logs and metrics. It holds no secret.
@interface FPTokenEvent : NSObject {
  @private
    FPTokenEventKind _kind;
    FPTokenSubject *_subject;
    NSString *_fingerprint;
    NSNumber *_life;
    NSError *_error;
}

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// What happened.
@property (nonatomic, readonly) FPTokenEventKind kind;

/// Whose token it is.
@property (nonatomic, readonly, copy) FPTokenSubject *subject;

/// 16 hexadecimal digits that name the token in logs without giving it away; `nil` when a fetch failed.
@property (nonatomic, readonly, copy, nullable) NSString *fingerprint;

/// The token's remaining life in seconds; `nil` when a fetch failed or a token was refused.
@property (nonatomic, readonly, copy, nullable) NSNumber *life;

/// The failure in `FPTokenErrorDomain`, when a fetch failed.
@property (nonatomic, readonly, copy, nullable) NSError *error;

@end

NS_ASSUME_NONNULL_END
