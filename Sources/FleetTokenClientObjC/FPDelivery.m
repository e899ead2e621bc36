// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPDelivery.h"

#import "FPOwnership.h"

@implementation FPDelivery

- (void)deliverOnQueue:(NSOperationQueue *)queue {
    if (queue) {
        [queue addOperation:self];
    } else {
        [self main];
    }
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

- (void)main {
    @autoreleasepool {
        _completion(_token, _error);
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

- (void)main {
    @autoreleasepool {
        _handler(_argument);
    }
}

@end
