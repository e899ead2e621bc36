// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPHandlers.h"

#import "FPDelivery.h"
#import "FPOwnership.h"

/// How many events wait for a slow handler, as many as where there is no queue.
static const NSUInteger FPEventCapacity = 64;

/// The queue's time for one event. There is never more than one of a provider, and it holds no event: those wait with
/// the handlers.
@interface FPEventTurn : NSOperation {
  @private
    FPHandlers *_handlers;
  @public
    /// Whether it was taken or lost; guarded by the handlers' lock.
    BOOL isOver;
}
- (instancetype)initWithHandlers:(FPHandlers *)handlers;
@end

@interface FPHandlers ()
- (void)takeTurn:(FPEventTurn *)turn;
- (void)loseTurn:(FPEventTurn *)turn;
@end

@implementation FPEventTurn

- (instancetype)initWithHandlers:(FPHandlers *)handlers {
    if ((self = [super init])) _handlers = FP_RETAINED(handlers);
    return self;
}

- (void)dealloc {
    FP_RELEASE(_handlers);
    FP_DEALLOC_SUPER;
}

- (void)main {
    [_handlers takeTurn:self];
}

- (void)cancel {
    [super cancel];
    [_handlers loseTurn:self];
}

@end

@implementation FPHandlers

- (instancetype)initWithOptions:(FPTokenProviderOptions *)options {
    if ((self = [super init])) {
        _options = FP_RETAINED(options);
        _lock = [[NSLock alloc] init];
        _events = [[NSMutableArray alloc] init];
    }
    return self;
}

- (void)dealloc {
    FP_RELEASE(_options);
    FP_RELEASE(_lock);
    FP_RELEASE(_events);
    FP_DEALLOC_SUPER;
}

- (void)askForCredentials:(FPCredentialsRequest *)request {
    [self deliver:request to:(void (^)(id))[_options credentialsHandler]];
}

- (void)sendRequest:(FPHTTPRequest *)request {
    [self deliver:request to:(void (^)(id))[_options HTTPHandler]];
}

- (void)deliver:(id)argument to:(void (^)(id))handler {
    FPHandlerDelivery *delivery = [[FPHandlerDelivery alloc] initWithHandler:handler argument:argument];
    [delivery deliverOnQueue:[_options callbackQueue]];
    FP_RELEASE(delivery);
}

// MARK: - Events

- (void)tellEvent:(FPTokenEvent *)event {
    if (![_options callbackQueue]) {
        [self deliver:event to:(void (^)(id))[_options eventHandler]];
        return;
    }
    [_lock lock];
    [_events addObject:event];
    if ([_events count] > FPEventCapacity) [_events removeObjectAtIndex:0];
    BOOL begins = !_hasTurn;
    _hasTurn = YES;
    [_lock unlock];
    if (begins) [self addTurn];
}

- (void)addTurn {
    FPEventTurn *turn = [[FPEventTurn alloc] initWithHandlers:self];
    [[_options callbackQueue] addOperation:turn];
    FP_RELEASE(turn);
}

- (void)takeTurn:(FPEventTurn *)turn {
    FPTokenEvent *event = nil;
    [_lock lock];
    if (!turn->isOver) {
        turn->isOver = YES;
        event = FP_RETAINED([_events objectAtIndex:0]);
        [_events removeObjectAtIndex:0];
    }
    [_lock unlock];
    if (!event) return;
    @autoreleasepool {
        [_options eventHandler](event);
    }
    FP_RELEASE(event);
    [_lock lock];
    BOOL goesOn = [_events count] > 0;
    _hasTurn = goesOn;
    [_lock unlock];
    if (goesOn) [self addTurn];
}

/// Lets the next event begin a turn where the app cancelled this one; those that wait go before it.
- (void)loseTurn:(FPEventTurn *)turn {
    [_lock lock];
    if (!turn->isOver) {
        turn->isOver = YES;
        _hasTurn = NO;
    }
    [_lock unlock];
}

@end
