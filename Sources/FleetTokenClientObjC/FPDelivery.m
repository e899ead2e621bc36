// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPDelivery.h"

#import "FPOwnership.h"

/// Carries a delivery through a queue. Operations are costly, so a delivery is none itself.
@interface FPDeliveryOperation : NSOperation {
  @private
    FPDelivery *_delivery;
}
- (instancetype)initWithDelivery:(FPDelivery *)delivery;
@end

@implementation FPDeliveryOperation

- (instancetype)initWithDelivery:(FPDelivery *)delivery {
    if ((self = [super init])) _delivery = FP_RETAINED(delivery);
    return self;
}

- (void)dealloc {
    FP_RELEASE(_delivery);
    FP_DEALLOC_SUPER;
}

- (void)main {
    [_delivery call];
}

// One that is cancelled before it begins never runs, and whoever waits for its delivery would wait for ever.
- (void)cancel {
}

@end

@implementation FPDelivery

- (void)deliverOnQueue:(NSOperationQueue *)queue {
    if (!queue) {
        [self call];
        return;
    }
    FPDeliveryOperation *operation = [[FPDeliveryOperation alloc] initWithDelivery:self];
    [queue addOperation:operation];
    FP_RELEASE(operation);
}

- (void)call {
}

@end

@implementation FPOutcomeDelivery

- (instancetype)initWithCompletion:(FPTokenCompletion)completion queue:(NSOperationQueue *)queue {
    if ((self = [super init])) {
        _completion = FP_BLOCK_COPY(completion);
        _queue = FP_RETAINED(queue);
    }
    return self;
}

- (void)dealloc {
    FP_BLOCK_RELEASE(_completion);
    FP_RELEASE(_queue);
    FP_RELEASE(_token);
    FP_RELEASE(_error);
    FP_DEALLOC_SUPER;
}

- (void)deliverToken:(NSString *)token error:(NSError *)error {
    _token = FP_RETAINED(token);
    _error = FP_RETAINED(error);
    [self deliverOnQueue:_queue];
}

- (void)call {
    @autoreleasepool {
        _completion(_token, _error);
    }
}

@end

@implementation FPLifeDelivery

- (instancetype)initWithCompletion:(FPTokenLifeCompletion)completion queue:(NSOperationQueue *)queue {
    if ((self = [super init])) {
        _completion = FP_BLOCK_COPY(completion);
        _queue = FP_RETAINED(queue);
    }
    return self;
}

- (void)dealloc {
    FP_BLOCK_RELEASE(_completion);
    FP_RELEASE(_queue);
    FP_RELEASE(_error);
    FP_DEALLOC_SUPER;
}

- (void)deliverLife:(NSTimeInterval)life error:(NSError *)error {
    _life = life;
    _error = FP_RETAINED(error);
    [self deliverOnQueue:_queue];
}

- (void)call {
    @autoreleasepool {
        _completion(_life, _error);
    }
}

@end

@implementation FPClosedDelivery

- (instancetype)initWithCompletion:(void (^)(void))completion queue:(NSOperationQueue *)queue {
    if ((self = [super init])) {
        _completion = FP_BLOCK_COPY(completion);
        _queue = FP_RETAINED(queue);
    }
    return self;
}

- (void)dealloc {
    FP_BLOCK_RELEASE(_completion);
    FP_RELEASE(_queue);
    FP_DEALLOC_SUPER;
}

- (void)deliver {
    [self deliverOnQueue:_queue];
}

- (void)call {
    @autoreleasepool {
        _completion();
    }
}

@end

@implementation FPHandlerDelivery

- (instancetype)initWithHandler:(void (^)(id))handler argument:(id)argument {
    if ((self = [super init])) {
        _handler = FP_BLOCK_COPY(handler);
        _argument = FP_RETAINED(argument);
    }
    return self;
}

- (void)dealloc {
    FP_BLOCK_RELEASE(_handler);
    FP_RELEASE(_argument);
    FP_DEALLOC_SUPER;
}

- (void)call {
    @autoreleasepool {
        _handler(_argument);
    }
}

@end
