// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenProviderOptions.h"

#import "FPBridge.h"
#import "FPOwnership.h"

@implementation FPTokenProviderOptions

@synthesize path = _path;
@synthesize tokenKey = _tokenKey;
@synthesize expiryKey = _expiryKey;
@synthesize expiryFormat = _expiryFormat;
@synthesize refreshAfterKey = _refreshAfterKey;
@synthesize capacity = _capacity;
@synthesize refusalsPerMinute = _refusalsPerMinute;
@synthesize minimumLife = _minimumLife;
@synthesize refreshBefore = _refreshBefore;
@synthesize fetchTimeout = _fetchTimeout;
@synthesize patience = _patience;
@synthesize backOffBase = _backOffBase;
@synthesize backOffCap = _backOffCap;
@synthesize retryAfterLimit = _retryAfterLimit;
@synthesize storeFolder = _storeFolder;
@synthesize callbackQueue = _callbackQueue;
@synthesize credentialsHandler = _credentialsHandler;
@synthesize HTTPHandler = _HTTPHandler;
@synthesize eventHandler = _eventHandler;

- (instancetype)initWithServerURL:(NSURL *)serverURL endpointKind:(FPTokenEndpointKind)endpointKind {
    if ((self = [super init])) {
        fp_options defaults;
        fp_options_init(&defaults, sizeof defaults);
        _serverURL = [[serverURL absoluteString] copy];
        _endpointKind = endpointKind;
        _expiryFormat = FPTokenExpiryFormatSecondsFromAnswer;
        _capacity = defaults.capacity;
        _refusalsPerMinute = defaults.refusals_per_minute;
        _minimumLife = (NSTimeInterval)defaults.minimum_life_ms / 1000;
        _refreshBefore = (NSTimeInterval)defaults.refresh_before_ms / 1000;
        _fetchTimeout = (NSTimeInterval)defaults.fetch_timeout_ms / 1000;
        _patience = (NSTimeInterval)defaults.patience_ms / 1000;
        _backOffBase = (NSTimeInterval)defaults.back_off_base_ms / 1000;
        _backOffCap = (NSTimeInterval)defaults.back_off_cap_ms / 1000;
        _retryAfterLimit = (NSTimeInterval)defaults.retry_after_limit_ms / 1000;
    }
    return self;
}

- (void)dealloc {
    FP_RELEASE(_serverURL);
    FP_RELEASE(_path);
    FP_RELEASE(_tokenKey);
    FP_RELEASE(_expiryKey);
    FP_RELEASE(_refreshAfterKey);
    FP_RELEASE(_storeFolder);
    FP_RELEASE(_callbackQueue);
    FP_BLOCK_RELEASE(_credentialsHandler);
    FP_BLOCK_RELEASE(_HTTPHandler);
    FP_BLOCK_RELEASE(_eventHandler);
    FP_DEALLOC_SUPER;
}

// Written out because a synthesized setter sends `copy` to the block, which is no object on every runtime.

- (void)setCredentialsHandler:(void (^)(FPCredentialsRequest *))handler {
    void (^copy)(FPCredentialsRequest *) = FP_BLOCK_COPY(handler);
    FP_BLOCK_RELEASE(_credentialsHandler);
    _credentialsHandler = copy;
}

- (void)setHTTPHandler:(void (^)(FPHTTPRequest *))handler {
    void (^copy)(FPHTTPRequest *) = FP_BLOCK_COPY(handler);
    FP_BLOCK_RELEASE(_HTTPHandler);
    _HTTPHandler = copy;
}

- (void)setEventHandler:(void (^)(FPTokenEvent *))handler {
    void (^copy)(FPTokenEvent *) = FP_BLOCK_COPY(handler);
    FP_BLOCK_RELEASE(_eventHandler);
    _eventHandler = copy;
}

- (id)copyWithZone:(NSZone *)zone {
    NSURL *serverURL = _serverURL ? [NSURL URLWithString:_serverURL] : nil;
    FPTokenProviderOptions *copy = [[[self class] allocWithZone:zone] initWithServerURL:serverURL
                                                                            endpointKind:_endpointKind];
    [copy setPath:_path];
    [copy setTokenKey:_tokenKey];
    [copy setExpiryKey:_expiryKey];
    [copy setExpiryFormat:_expiryFormat];
    [copy setRefreshAfterKey:_refreshAfterKey];
    [copy setCapacity:_capacity];
    [copy setRefusalsPerMinute:_refusalsPerMinute];
    [copy setMinimumLife:_minimumLife];
    [copy setRefreshBefore:_refreshBefore];
    [copy setFetchTimeout:_fetchTimeout];
    [copy setPatience:_patience];
    [copy setBackOffBase:_backOffBase];
    [copy setBackOffCap:_backOffCap];
    [copy setRetryAfterLimit:_retryAfterLimit];
    [copy setStoreFolder:_storeFolder];
    [copy setCallbackQueue:_callbackQueue];
    [copy setCredentialsHandler:_credentialsHandler];
    [copy setHTTPHandler:_HTTPHandler];
    [copy setEventHandler:_eventHandler];
    return copy;
}

- (fp_options)value {
    BOOL inMilliseconds = _expiryFormat == FPTokenExpiryFormatUnixMilliseconds
        || _expiryFormat == FPTokenExpiryFormatMillisecondsFromAnswer;
    BOOL fromAnswer = _expiryFormat == FPTokenExpiryFormatSecondsFromAnswer
        || _expiryFormat == FPTokenExpiryFormatMillisecondsFromAnswer;
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = FPBytesOfText(_serverURL);
    options.endpoint = (fp_endpoint_kind)_endpointKind;
    options.path = FPBytesOfText(_path);
    options.answer.token_key = FPBytesOfText(_tokenKey);
    options.answer.expiry_key = FPBytesOfText(_expiryKey);
    options.answer.expiry_unit = inMilliseconds ? FP_EXPIRY_MILLISECONDS : FP_EXPIRY_SECONDS;
    options.answer.expiry_reference = fromAnswer ? FP_EXPIRY_ANSWER : FP_EXPIRY_UNIX_EPOCH;
    options.answer.refresh_after_key = FPBytesOfText(_refreshAfterKey);
    // Cut to the range of the number; what is out of the setting's own range is refused with its name.
    options.capacity = (int32_t)MIN(MAX(_capacity, -1), INT32_MAX);
    options.refusals_per_minute = (int32_t)MIN(MAX(_refusalsPerMinute, -1), INT32_MAX);
    options.minimum_life_ms = FPMilliseconds(_minimumLife);
    options.refresh_before_ms = FPMilliseconds(_refreshBefore);
    options.fetch_timeout_ms = FPMilliseconds(_fetchTimeout);
    options.patience_ms = FPMilliseconds(_patience);
    options.back_off_base_ms = FPMilliseconds(_backOffBase);
    options.back_off_cap_ms = FPMilliseconds(_backOffCap);
    options.retry_after_limit_ms = FPMilliseconds(_retryAfterLimit);
    options.store_folder = FPBytesOfText(_storeFolder);
    return options;
}

@end
