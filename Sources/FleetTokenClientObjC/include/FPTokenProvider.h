// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"
#import "FPTokenErrors.h"
#import "FPTokenFetch.h"
#import "FPTokenMetrics.h"
#import "FPTokenProviderOptions.h"
#import "FPTokenSubject.h"

NS_ASSUME_NONNULL_BEGIN

/// Takes the outcome of a call: exactly one of token and error is there. The error is in `FPTokenErrorDomain`.
typedef void (^FPTokenCompletion)(NSString *_Nullable token, NSError *_Nullable error);

/// Takes the outcome of a call that wants life: how long the token in hand lives in seconds, or 0 with an error. The error
/// is in `FPTokenErrorDomain`.
typedef void (^FPTokenLifeCompletion)(NSTimeInterval life, NSError *_Nullable error);

/// Fetches tokens from a token server, keeps them, and hands out one that is good for a call made now.
///
/// Make one for each app session and share it: callers for the same subject share one request, tokens are refreshed in
/// the background before they end, and no change of the phone's date can make an expired one look good.
///
///     FPTokenProviderOptions *options =
///         [[FPTokenProviderOptions alloc] initWithServerURL:serverURL endpointKind:FPTokenEndpointKindFleetpass];
///     FPTokenProvider *tokens = [[FPTokenProvider alloc] initWithOptions:options error:&error];
///     [tokens fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:vehicleID]
///                       completion:^(NSString *token, NSError *error) { … }];
///
/// A completion is called exactly once for each call and never on the stack of the call itself, but on
/// `FPTokenProviderOptions.callbackQueue` or a thread of the library's, also when the provider is gone by then.
@interface FPTokenProvider : NSObject {
  @private
    void *_provider;
    NSOperationQueue *_callbackQueue;
}

/// Makes a provider with nothing kept; nothing is fetched yet.
///
/// \param options How to make it; later changes to them have no effect.
/// \param error Gets the reason when there is no provider.
/// \returns The provider, or `nil` with `FPTokenErrorInvalidArgument`, `FPTokenErrorInvalidConfiguration` or
///     `FPTokenErrorInsecureURL`.
- (nullable instancetype)initWithOptions:(FPTokenProviderOptions *)options
                                   error:(NSError *_Nullable *_Nullable)error NS_DESIGNATED_INITIALIZER;

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// Asks for a token and waits at most 9 s, which fits drivers, who report every 10 s.
///
/// \param subject Whose token; `nil` gives `FPTokenErrorInvalidArgument`.
/// \param completion Takes the outcome; `nil` only fills the cache.
/// \returns The call, to be cancelled by who no longer wants the token.
- (FPTokenFetch *)fetchTokenForSubject:(nullable FPTokenSubject *)subject
                            completion:(nullable FPTokenCompletion)completion;

/// Asks for a token.
///
/// \param subject Whose token; `nil` gives `FPTokenErrorInvalidArgument`.
/// \param timeout The longest wait in seconds, up to 3600; then `FPTokenErrorTimedOut`, and the fetch goes on for the
///     cache.
/// \param completion Takes the outcome; `nil` only fills the cache.
/// \returns The call, to be cancelled by who no longer wants the token.
- (FPTokenFetch *)fetchTokenForSubject:(nullable FPTokenSubject *)subject
                               timeout:(NSTimeInterval)timeout
                            completion:(nullable FPTokenCompletion)completion;

/// Asks for the token that one of Google's SDKs wants, and waits at most 9 s; the authorizations in `Integrations/` do.
///
/// What is wrong with the SDK's question has a code of its own, from `FPTokenErrorMissingContext` on. The token is
/// remembered for `-invalidateLastTokenForSubject:`.
///
/// \param subject Whose token: a driver's, a delivery driver's or a consumer's. Its id is `nil` where the SDK gave no
///     context.
/// \param completion Takes the outcome; `nil` only fills the cache.
/// \returns The call, to be cancelled by who no longer wants the token.
- (FPTokenFetch *)fetchTokenForSDKSubject:(FPTokenSubject *)subject completion:(nullable FPTokenCompletion)completion;

/// Makes sure that the token in hand lives so long, before a tunnel or a time in the background; waits at most 9 s.
///
/// Nothing is fetched when it does; otherwise a new one is fetched, or the fetch under way is awaited. Nothing that goes
/// wrong here takes the token in hand away.
///
/// \param life How long the token must live from now, in seconds. Beyond what tokens live, an hour at most, the outcome is
///     `FPTokenErrorLifeUnavailable`.
/// \param subject Whose token; `nil` gives `FPTokenErrorInvalidArgument`.
/// \param completion Takes the outcome; `nil` tells nobody.
/// \returns The call, to be cancelled by who no longer wants an answer.
- (FPTokenFetch *)ensureTokenValidForInterval:(NSTimeInterval)life
                                      subject:(nullable FPTokenSubject *)subject
                                   completion:(nullable FPTokenLifeCompletion)completion;

/// Closes the provider for good, when the user signs out.
///
/// From now on every call ends with `FPTokenErrorRefused`, also those that wait; fetches under way are stopped, and what
/// they still bring is thrown away.
///
/// \param completion Called when nothing is written to `storeFolder` any more, so that it can be deleted; `nil` tells
///     nobody.
- (void)closeWithCompletion:(nullable void (^)(void))completion;

/// What was done so far.
- (FPTokenMetrics *)metrics;

/// Says that Fleet Engine refused a token, so that it is not handed out again.
///
/// It did so with HTTP 401 (gRPC 16), or with 403 (gRPC 7) for a token that was not sent before; a 403 for one that was is
/// about the request.
///
/// \param token The refused token; a newer one is kept.
/// \param subject Whose token it was.
/// \returns Whether the arguments made sense.
- (BOOL)invalidateToken:(NSString *)token forSubject:(FPTokenSubject *)subject;

/// Says that Fleet Engine refused the token that an SDK got last, so that it is not handed out again.
///
/// The SDKs report that a call failed, and not which token it carried. Call this when it failed with gRPC 16; a 7 means
/// the token only where it is new.
///
/// \param subject Whose token it was. Of a delivery driver's tokens the newest is meant, whatever its task.
/// \returns Whether there was such a token. A question that failed or was cancelled since leaves it the last one.
- (BOOL)invalidateLastTokenForSubject:(FPTokenSubject *)subject;

/// Ends the pauses after failures, so that the next call fetches at once.
///
/// Call it for what the provider cannot know: that the user has signed in again, or that the network is back. A wait that
/// the server asked for ends too, so do not call it after each error. Tokens in hand are kept, a fetch under way goes on,
/// and nothing is fetched before somebody asks. The pause with `FPTokenErrorExcessiveRefresh` holds.
- (void)retryNow;

@end

NS_ASSUME_NONNULL_END
