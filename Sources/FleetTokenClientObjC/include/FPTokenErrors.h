// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"

NS_ASSUME_NONNULL_BEGIN

/// The domain of every error here: `FPTokenErrorDomain`.
///
/// `localizedDescription` says in English what failed and how to mend it. It never holds a token or a credential.
FOUNDATION_EXPORT NSString *const FPTokenErrorDomain;

/// In `userInfo`: the HTTP status that the server answered with, an `NSNumber`; missing where there is none.
FOUNDATION_EXPORT NSString *const FPTokenErrorHTTPStatusKey;

/// In `userInfo`: the seconds that the server asked to wait, an `NSNumber`; missing where it did not ask.
FOUNDATION_EXPORT NSString *const FPTokenErrorRetryAfterKey;

/// In `userInfo`: the code's name, such as `refused`, an `NSString` out of a small set that is fit for a metric label.
FOUNDATION_EXPORT NSString *const FPTokenErrorNameKey;

/// What went wrong, in terms a program can act on. A number never changes its meaning; new ones may be added.
typedef FP_ERROR_ENUM(FPTokenErrorDomain, FPTokenErrorCode) {
    /// A setting is out of range or does not fit another; mend it, a retry cannot help.
    FPTokenErrorInvalidConfiguration = 1,
    /// A token or credential would travel over plain HTTP to another machine; use an `https` URL.
    FPTokenErrorInsecureURL = 2,
    /// The token server, or what gives the app's credentials, could not be reached; the next call may try again.
    FPTokenErrorUnreachable = 3,
    /// No token came in time; the next call may try again.
    FPTokenErrorTimedOut = 4,
    /// The server, or the app's own credentials block, says that this user may not have the token; sign in again.
    FPTokenErrorRefused = 5,
    /// The server asked to wait, or calls wait for as many subjects as the cache holds.
    /// In both cases see `FPTokenErrorRetryAfterKey`.
    FPTokenErrorRateLimited = 6,
    /// The server's answer is not what its contract says; mend the server or the answer's description.
    FPTokenErrorInvalidAnswer = 7,
    /// The server sent a token for something else than was asked; it was thrown away.
    FPTokenErrorWrongToken = 8,
    /// The server sent a token without enough life; mend its clock or the caches on the way.
    FPTokenErrorExpired = 9,
    /// Fleet Engine refused several new tokens within a minute; no further one is fetched until the minute is over.
    FPTokenErrorExcessiveRefresh = 10,
    /// No token lives as long as was asked for; ask for less.
    FPTokenErrorLifeUnavailable = 11,
    /// A store of tokens could not read or write; tokens are fetched as if there were none.
    FPTokenErrorStoreFailed = 12,
    /// The call was cancelled with `-[FPTokenFetch cancel]`.
    FPTokenErrorCancelled = 100,
    /// An argument is `nil`, an id is empty or malformed, or a number is out of range.
    FPTokenErrorInvalidArgument = 101,
    /// A failure that has no number yet; the description tells more.
    FPTokenErrorUnknown = 199,
    /// An SDK's question came without a context; pass on what the SDK hands out. This one and the next three come from
    /// `-[FPTokenProvider fetchTokenForSDKSubject:completion:]` only, and so from the authorizations.
    FPTokenErrorMissingContext = 201,
    /// The context's id is empty; give the SDK the id when it is set up.
    FPTokenErrorMissingID = 202,
    /// The context's id breaks Fleet Engine's rules; give the SDK one that Fleet Engine accepts.
    FPTokenErrorInvalidID = 203,
    /// A task's token was asked for where there are no tasks; make the authorization for delivery vehicles.
    FPTokenErrorUnexpectedTask = 204,
};

NS_ASSUME_NONNULL_END
