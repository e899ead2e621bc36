// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenProvider.h"

NS_ASSUME_NONNULL_BEGIN

/// A call of a block of the app's, on the app's queue or at once.
@interface FPDelivery : NSObject

/// Makes the call on the queue, or right here when there is none.
- (void)deliverOnQueue:(nullable NSOperationQueue *)queue;

/// Makes the call right here; for subclasses to fill in.
- (void)call;

@end

/// Tells the outcome of a fetch. Made when the fetch begins, so that it holds the app's block until the end.
@interface FPOutcomeDelivery : FPDelivery {
  @private
    void (^_completion)(NSString *_Nullable, NSError *_Nullable);
    NSOperationQueue *_queue;
    NSString *_token;
    NSError *_error;
}

- (instancetype)initWithCompletion:(FPTokenCompletion)completion queue:(nullable NSOperationQueue *)queue;
- (void)deliverToken:(nullable NSString *)token error:(nullable NSError *)error;

@end

/// Tells the outcome of a call that wants life.
@interface FPLifeDelivery : FPDelivery {
  @private
    void (^_completion)(NSTimeInterval, NSError *_Nullable);
    NSOperationQueue *_queue;
    NSTimeInterval _life;
    NSError *_error;
}

- (instancetype)initWithCompletion:(FPTokenLifeCompletion)completion queue:(nullable NSOperationQueue *)queue;
- (void)deliverLife:(NSTimeInterval)life error:(nullable NSError *)error;

@end

/// Tells that a provider is closed.
@interface FPClosedDelivery : FPDelivery {
  @private
    void (^_completion)(void);
    NSOperationQueue *_queue;
}

- (instancetype)initWithCompletion:(void (^)(void))completion queue:(nullable NSOperationQueue *)queue;
- (void)deliver;

@end

/// Passes one object to a handler.
@interface FPHandlerDelivery : FPDelivery {
  @private
    void (^_handler)(id);
    id _argument;
}

- (instancetype)initWithHandler:(void (^)(id argument))handler argument:(id)argument;

@end

NS_ASSUME_NONNULL_END
