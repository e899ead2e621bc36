// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The authorization surface of the vendor's Consumer SDK by its published shape, so that the adoption source compiles and runs in
// a test. An app has the real one.

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

typedef void (^GMTCAuthTokenFetchCompletionHandler)(NSString *_Nullable authToken, NSError *_Nullable error);

@interface GMTCAuthorizationContext : NSObject {
  @public
    NSString *_tripID;
}
@property (nonatomic, copy, readonly) NSString *tripID;
@end

@protocol GMTCAuthorization <NSObject>
- (void)fetchTokenWithContext:(nullable GMTCAuthorizationContext *)authorizationContext
                   completion:(nonnull GMTCAuthTokenFetchCompletionHandler)completion;
@end

NS_ASSUME_NONNULL_END
