// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The authorization surface of the vendor's Driver SDK by its published shape, so that the adoption source compiles and runs in
// a test. An app has the real one.

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

typedef void (^GMTDAuthTokenFetchCompletionHandler)(NSString *_Nullable authToken, NSError *_Nullable error);

@interface GMTDAuthorizationContext : NSObject {
  @public
    NSString *_vehicleID;
    NSString *_taskID;
}
@property (nonatomic, copy, readonly) NSString *vehicleID;
@property (nonatomic, copy, readonly, nullable) NSString *taskID;
@end

@protocol GMTDAuthorization <NSObject>
- (void)fetchTokenWithContext:(nullable GMTDAuthorizationContext *)authorizationContext
                   completion:(nonnull GMTDAuthTokenFetchCompletionHandler)completion;
@end

NS_ASSUME_NONNULL_END
