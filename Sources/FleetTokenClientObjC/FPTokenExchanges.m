// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenExchanges.h"

#import "FPBridge.h"
#import "FPOwnership.h"

/// Takes the pointer out of its place, for the first who asks.
static void *FPTakeOnce(id owner, void **place) {
    @synchronized(owner) {
        void *pointer = *place;
        *place = NULL;
        return pointer;
    }
}

@implementation FPCredentialsRequest

- (instancetype)initWithReply:(fp_credentials_reply *)reply {
    if ((self = [super init])) _reply = reply;
    return self;
}

- (void)dealloc {
    fp_credentials_reply_fail_with(_reply, FP_ERROR_UNREACHABLE);
    FP_DEALLOC_SUPER;
}

- (void)sendHeaderFields:(NSDictionary<NSString *, NSString *> *)headerFields {
    @autoreleasepool {
        fp_credentials_reply_send(FPTakeOnce(self, &_reply), FPHeadersOf(headerFields), [headerFields count]);
    }
}

- (void)fail {
    fp_credentials_reply_fail(FPTakeOnce(self, &_reply));
}

- (void)failWithoutNetwork {
    fp_credentials_reply_fail_with(FPTakeOnce(self, &_reply), FP_ERROR_UNREACHABLE);
}

@end

@implementation FPHTTPRequest

@synthesize method = _method;
@synthesize URL = _URL;
@synthesize headerFields = _headerFields;
@synthesize body = _body;
@synthesize timeout = _timeout;

- (instancetype)initWithExchange:(fp_http_exchange *)exchange {
    if ((self = [super init])) {
        const fp_http_request *request = fp_http_exchange_request(exchange);
        NSMutableDictionary *fields = [NSMutableDictionary dictionary];
        for (size_t index = 0; index < request->header_count; index++) {
            fp_header header = request->headers[index];
            NSString *name = FPTextOfBytes(header.name), *value = FPTextOfBytes(header.value);
            NSString *earlier = [fields objectForKey:name];
            [fields setObject:earlier ? [NSString stringWithFormat:@"%@, %@", earlier, value] : value forKey:name];
        }
        _exchange = exchange;
        _method = [FPTextOfBytes(request->method) copy];
        _URL = [[NSURL alloc] initWithString:FPTextOfBytes(request->url)];
        _headerFields = [fields copy];
        if (request->body) _body = [[NSData alloc] initWithBytes:request->body length:request->body_length];
        _timeout = (NSTimeInterval)request->timeout_ms / 1000;
    }
    return self;
}

- (void)dealloc {
    fp_http_exchange_fail(_exchange, FP_ERROR_UNREACHABLE);
    FP_RELEASE(_method);
    FP_RELEASE(_URL);
    FP_RELEASE(_headerFields);
    FP_RELEASE(_body);
    FP_DEALLOC_SUPER;
}

- (void)respondWithStatus:(NSInteger)status
             headerFields:(NSDictionary<NSString *, NSString *> *)headerFields
                     body:(NSData *)body {
    @autoreleasepool {
        // A status that HTTP does not have is as good as any other that it does not have.
        int32_t code = status < 0 || status > 999 ? 0 : (int32_t)status;
        fp_http_exchange_respond(FPTakeOnce(self, &_exchange), code, FPHeadersOf(headerFields), [headerFields count],
                                 [body bytes], [body length]);
    }
}

- (void)failAfterTimeout:(BOOL)timedOut {
    fp_http_exchange_fail(FPTakeOnce(self, &_exchange), timedOut ? FP_ERROR_TIMED_OUT : FP_ERROR_UNREACHABLE);
}

@end
