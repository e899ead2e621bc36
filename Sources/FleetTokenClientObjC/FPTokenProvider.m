// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenProvider.h"

#import "FPBridge.h"
#import "FPDelivery.h"
#import "FPHandlers.h"
#import "FPOwnership.h"

// The context of a provider's callbacks is its handlers.

static void FPAskForCredentials(void *context, fp_credentials_reply *reply) {
    @autoreleasepool {
        FPCredentialsRequest *request = [[FPCredentialsRequest alloc] initWithReply:reply];
        [FP_BORROWED(FPHandlers *, context) askForCredentials:request];
        FP_RELEASE(request);
    }
}

static void FPSendRequest(void *context, fp_http_exchange *exchange) {
    @autoreleasepool {
        FPHTTPRequest *request = [[FPHTTPRequest alloc] initWithExchange:exchange];
        [FP_BORROWED(FPHandlers *, context) sendRequest:request];
        FP_RELEASE(request);
    }
}

static void FPTellEvent(void *context, fp_event *event) {
    @autoreleasepool {
        FPTokenEvent *told = [[FPTokenEvent alloc] initWithEvent:event];
        fp_event_release(event);
        [FP_BORROWED(FPHandlers *, context) tellEvent:told];
        FP_RELEASE(told);
    }
}

static void FPReleaseHandlers(void *context) {
    @autoreleasepool {
        (void)FP_TAKEN(FPHandlers *, context);
    }
}

static void FPTellOutcome(void *context, fp_token *token, fp_error *error) {
    @autoreleasepool {
        FPOutcomeDelivery *delivery = FP_TAKEN(FPOutcomeDelivery *, context);
        NSString *text = token ? FPTextOfBytes(token->text) : nil;
        NSError *failure = FPErrorOf(error);
        fp_token_release(token);
        fp_error_release(error);
        [delivery deliverToken:text error:failure];
    }
}

static void FPTellLife(void *context, int64_t life, fp_error *error) {
    @autoreleasepool {
        FPLifeDelivery *delivery = FP_TAKEN(FPLifeDelivery *, context);
        NSError *failure = FPErrorOf(error);
        fp_error_release(error);
        [delivery deliverLife:failure ? 0 : (NSTimeInterval)life / 1000 error:failure];
    }
}

static void FPTellClosed(void *context) {
    @autoreleasepool {
        [FP_TAKEN(FPClosedDelivery *, context) deliver];
    }
}

/// How C is asked for a token.
typedef void (*FPFetchFunction)(fp_provider *provider, const fp_subject *subject, int64_t timeout_ms,
                                fp_token_callback completion, void *context, fp_fetch **fetch);

@implementation FPTokenProvider

- (instancetype)initWithOptions:(FPTokenProviderOptions *)options error:(NSError **)error {
    if (!(self = [super init])) return nil;
    NSError *failure = nil;
    @autoreleasepool {
        FPTokenProviderOptions *kept = FP_AUTORELEASED([options copy]);
        fp_options value = [kept value];
        if (kept) {
            FPHandlers *handlers = [[FPHandlers alloc] initWithOptions:kept];
            value.context = FP_GIVEN(handlers);
            FP_RELEASE(handlers);
            value.release_context = FPReleaseHandlers;
            if ([kept credentialsHandler]) value.credentials = FPAskForCredentials;
            if ([kept HTTPHandler]) value.http = FPSendRequest;
            if ([kept eventHandler]) value.on_event = FPTellEvent;
        }
        fp_error *reason = NULL;
        _provider = fp_provider_create(kept ? &value : NULL, &reason);
        _callbackQueue = FP_RETAINED([kept callbackQueue]);
        // Outlives the pool.
        failure = FP_RETAINED(FPErrorOf(reason));
        fp_error_release(reason);
    }
    failure = FP_AUTORELEASED(failure);
    if (_provider) return self;
    if (error) *error = failure;
    FP_RELEASE(self);
    return nil;
}

- (void)dealloc {
    fp_provider_destroy(_provider);
    FP_RELEASE(_callbackQueue);
    FP_DEALLOC_SUPER;
}

- (FPTokenFetch *)fetchTokenForSubject:(FPTokenSubject *)subject completion:(FPTokenCompletion)completion {
    return [self fetchTokenForSubject:subject
                              timeout:(NSTimeInterval)FP_DEFAULT_TIMEOUT_MS / 1000
                           completion:completion];
}

- (FPTokenFetch *)fetchTokenForSubject:(FPTokenSubject *)subject
                               timeout:(NSTimeInterval)timeout
                            completion:(FPTokenCompletion)completion {
    return [self fetchBy:fp_provider_fetch_token subject:subject timeout:FPMilliseconds(timeout) completion:completion];
}

- (FPTokenFetch *)fetchTokenForSDKSubject:(FPTokenSubject *)subject completion:(FPTokenCompletion)completion {
    return [self fetchBy:fp_provider_fetch_sdk_token
                 subject:subject
                 timeout:FP_DEFAULT_TIMEOUT_MS
              completion:completion];
}

- (FPTokenFetch *)fetchBy:(FPFetchFunction)function
                  subject:(FPTokenSubject *)subject
                  timeout:(int64_t)timeout
               completion:(FPTokenCompletion)completion {
    fp_fetch *fetch = NULL;
    @autoreleasepool {
        fp_subject value = {0};
        if (subject) value = [subject value];
        void *context = NULL;
        if (completion) {
            FPOutcomeDelivery *delivery = [[FPOutcomeDelivery alloc] initWithCompletion:completion
                                                                                     queue:_callbackQueue];
            context = FP_GIVEN(delivery);
            FP_RELEASE(delivery);
        }
        function(_provider, subject ? &value : NULL, timeout, completion ? FPTellOutcome : NULL, context, &fetch);
    }
    return FP_AUTORELEASED([[FPTokenFetch alloc] initWithFetch:fetch]);
}

- (FPTokenFetch *)ensureTokenValidForInterval:(NSTimeInterval)life
                                      subject:(FPTokenSubject *)subject
                                   completion:(FPTokenLifeCompletion)completion {
    fp_fetch *fetch = NULL;
    @autoreleasepool {
        fp_subject value = {0};
        if (subject) value = [subject value];
        void *context = NULL;
        if (completion) {
            FPLifeDelivery *delivery = [[FPLifeDelivery alloc] initWithCompletion:completion queue:_callbackQueue];
            context = FP_GIVEN(delivery);
            FP_RELEASE(delivery);
        }
        fp_provider_ensure(_provider, subject ? &value : NULL, FPMilliseconds(life), FP_DEFAULT_TIMEOUT_MS,
                           completion ? FPTellLife : NULL, context, &fetch);
    }
    return FP_AUTORELEASED([[FPTokenFetch alloc] initWithFetch:fetch]);
}

- (void)closeWithCompletion:(void (^)(void))completion {
    @autoreleasepool {
        void *context = NULL;
        if (completion) {
            FPClosedDelivery *delivery = [[FPClosedDelivery alloc] initWithCompletion:completion queue:_callbackQueue];
            context = FP_GIVEN(delivery);
            FP_RELEASE(delivery);
        }
        fp_provider_close(_provider, completion ? FPTellClosed : NULL, context);
    }
}

- (FPTokenMetrics *)metrics {
    fp_metrics metrics = {0};
    fp_provider_metrics(_provider, &metrics, sizeof metrics);
    return FP_AUTORELEASED([[FPTokenMetrics alloc] initWithMetrics:metrics]);
}

- (BOOL)invalidateToken:(NSString *)token forSubject:(FPTokenSubject *)subject {
    BOOL understood = NO;
    @autoreleasepool {
        fp_subject value = {0};
        if (subject) value = [subject value];
        understood = fp_provider_invalidate(_provider, subject ? &value : NULL, FPBytesOfText(token));
    }
    return understood;
}

- (BOOL)invalidateLastTokenForSubject:(FPTokenSubject *)subject {
    BOOL found = NO;
    @autoreleasepool {
        fp_subject value = {0};
        if (subject) value = [subject value];
        found = fp_provider_invalidate_last(_provider, subject ? &value : NULL);
    }
    return found;
}

- (void)retryNow {
    fp_provider_retry_now(_provider);
}

@end
