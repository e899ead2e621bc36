// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenEvent.h"
#import "FPTokenExchanges.h"
#import "FPTokenProviderOptions.h"

NS_ASSUME_NONNULL_BEGIN

/// The handlers of a provider's options, each called on the app's queue, or at once when there is none.
@interface FPHandlers : NSObject {
  @private
    FPTokenProviderOptions *_options;
    NSLock *_lock;
    NSMutableArray<FPTokenEvent *> *_events;
    BOOL _hasTurn;
}

/// Takes the handlers of options that nobody changes any more.
- (instancetype)initWithOptions:(FPTokenProviderOptions *)options;

/// Asks for credentials; only where there is a handler.
- (void)askForCredentials:(FPCredentialsRequest *)request;

/// Has the app send a request; only where there is a handler.
- (void)sendRequest:(FPHTTPRequest *)request;

/// Tells an event, after those before it, however many the queue runs at once; only where there is a handler. Behind a
/// slow handler 64 wait, and the oldest go first.
- (void)tellEvent:(FPTokenEvent *)event;

@end

NS_ASSUME_NONNULL_END
