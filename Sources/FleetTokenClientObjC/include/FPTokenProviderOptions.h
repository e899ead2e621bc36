// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"
#import "FPTokenEvent.h"
#import "FPTokenExchanges.h"

NS_ASSUME_NONNULL_BEGIN

/// Which contract the token server follows.
typedef NS_ENUM(NSInteger, FPTokenEndpointKind) {
    /// The vendor's sample server for on-demand trips: `token/driver/ID`, `token/consumer/ID`.
    FPTokenEndpointKindOnDemand = 1,
    /// The vendor's sample server for scheduled tasks: `token/delivery_driver/ID`, `token/delivery_consumer/ID`,
    /// `token/fleet_reader`.
    FPTokenEndpointKindScheduled = 2,
    /// Fleetpass's own token server, which has a token for every subject and task.
    FPTokenEndpointKindFleetpass = 3,
    /// A server of your own, described by `path` and the keys of its answer.
    FPTokenEndpointKindCustom = 4,
};

/// How the expiry in the answer of a server of your own is written.
typedef NS_ENUM(NSInteger, FPTokenExpiryFormat) {
    /// Seconds since 1970-01-01 UTC, on the server's clock.
    FPTokenExpiryFormatUnixSeconds = 1,
    /// Milliseconds since 1970-01-01 UTC, on the server's clock.
    FPTokenExpiryFormatUnixMilliseconds = 2,
    /// Seconds from the moment of the answer.
    FPTokenExpiryFormatSecondsFromAnswer = 3,
    /// Milliseconds from the moment of the answer.
    FPTokenExpiryFormatMillisecondsFromAnswer = 4,
};

/// How a provider is made. Every property has the safe choice as its default. Blocks that capture the
/// provider's owner should do so weakly: a provider keeps its blocks.
@interface FPTokenProviderOptions : NSObject <NSCopying> {
  @private
    NSString *_serverURL;
    FPTokenEndpointKind _endpointKind;
    NSString *_path;
    NSString *_tokenKey;
    NSString *_expiryKey;
    FPTokenExpiryFormat _expiryFormat;
    NSString *_refreshAfterKey;
    NSInteger _capacity;
    NSInteger _refusalsPerMinute;
    NSTimeInterval _minimumLife;
    NSTimeInterval _refreshBefore;
    NSTimeInterval _fetchTimeout;
    NSTimeInterval _patience;
    NSTimeInterval _backOffBase;
    NSTimeInterval _backOffCap;
    NSTimeInterval _retryAfterLimit;
    NSString *_storeFolder;
    NSOperationQueue *_callbackQueue;
    void (^_credentialsHandler)(FPCredentialsRequest *);
    void (^_HTTPHandler)(FPHTTPRequest *);
    void (^_eventHandler)(FPTokenEvent *);
}

/// Options for a token server.
///
/// \param serverURL The server's address: `https`, or `http` to this machine; without user, query and fragment.
/// \param endpointKind The server's contract.
- (instancetype)initWithServerURL:(NSURL *)serverURL
                     endpointKind:(FPTokenEndpointKind)endpointKind NS_DESIGNATED_INITIALIZER;

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

// A server of your own (FPTokenEndpointKindCustom)

/// The path under the address, such as `auth/{kind}/{id}`. `{kind}` is `driver`, `consumer`, `delivery_driver`,
/// `delivery_consumer` or `fleet_reader`, `{id}` the subject's id, and `{task}` its task. A query may follow, as in
/// `token?vehicleId={id}`. Plain text, without `#` and `%`: it is encoded for you. `{id}` is needed for subjects with an
/// id, and `{task}` for those with a task; neither is for others. They get `FPTokenErrorInvalidConfiguration` otherwise.
@property (nonatomic, copy, nullable) NSString *path;

/// The key of the token in the answer.
@property (nonatomic, copy, nullable) NSString *tokenKey;

/// The key of the expiry in the answer; `nil` goes by the times inside the token.
@property (nonatomic, copy, nullable) NSString *expiryKey;

/// How the expiry is written. Default: seconds from the answer.
@property (nonatomic) FPTokenExpiryFormat expiryFormat;

/// The key of the seconds after which the server would like to be asked again, or `nil`.
@property (nonatomic, copy, nullable) NSString *refreshAfterKey;

// How tokens are kept

/// How many subjects are remembered; the least recently used is dropped first. Default: 1000.
@property (nonatomic) NSInteger capacity;

/// How many refused tokens of one subject may be replaced within a minute, 1 to 1000. Default: 5.
@property (nonatomic) NSInteger refusalsPerMinute;

/// The life in seconds that every token handed out has while the server answers, up to 1800. Default: 300, which the
/// SDKs ask for.
@property (nonatomic) NSTimeInterval minimumLife;

/// The remaining life in seconds at which a refresh in the background may begin, from `minimumLife` to 3600, unless the
/// server names a moment. Default: 600.
@property (nonatomic) NSTimeInterval refreshBefore;

/// How long one fetch may take in seconds, from asking for credentials to the last byte, up to 3600. Default: 8.
@property (nonatomic) NSTimeInterval fetchTimeout;

/// How long in seconds a caller who could have a valid token waits for a newer one, counted from the start of the fetch,
/// up to 3600; 0 never waits. Default: 2.
@property (nonatomic) NSTimeInterval patience;

/// The longest wait in seconds after a first failure; it doubles with each further one. Default: 1.
@property (nonatomic) NSTimeInterval backOffBase;

/// What that wait grows to in seconds, up to 3600. Default: 60.
@property (nonatomic) NSTimeInterval backOffCap;

/// The longest wait in seconds that a server may ask for with `Retry-After`, up to a day. Default: 600.
@property (nonatomic) NSTimeInterval retryAfterLimit;

/// A folder of the store's own in which tokens outlive the process, as an absolute path. Files are readable by their
/// owner only, but not encrypted: keep the folder out of backups, and delete it when the user signs out, in the completion
/// of `-[FPTokenProvider closeWithCompletion:]`. Others may not have access to it (mode 0700); it is made when it is
/// missing. Default: `nil`, tokens are kept in memory only.
@property (nonatomic, copy, nullable) NSString *storeFolder;

// Callbacks

/// The queue that completions and the handlers below run on. Default: `nil`, which means threads of the library's,
/// several at once; handlers must then return soon.
@property (nonatomic, strong, nullable) NSOperationQueue *callbackQueue;

/// Gives the app's credentials before each request to the token server. Default: `nil`, requests carry none.
@property (nonatomic, copy, nullable) void (^credentialsHandler)(FPCredentialsRequest *request);

/// Sends the requests. Default: `nil`, the library's own client on `URLSession`.
@property (nonatomic, copy, nullable) void (^HTTPHandler)(FPHTTPRequest *request);

/// Hears what happens to tokens, one event after the other, also on a queue that runs several operations at once.
/// Behind a slow handler 64 events wait, and of more the oldest are dropped. Where the app cancels the operations of its
/// queue, the events that wait come with the next one.
@property (nonatomic, copy, nullable) void (^eventHandler)(FPTokenEvent *event);

@end

NS_ASSUME_NONNULL_END
