// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPBridge.h"

NSString *const FPTokenErrorDomain = @FP_ERROR_DOMAIN;
NSString *const FPTokenErrorHTTPStatusKey = @"FPTokenErrorHTTPStatus";
NSString *const FPTokenErrorRetryAfterKey = @"FPTokenErrorRetryAfter";
NSString *const FPTokenErrorNameKey = @"FPTokenErrorName";

#define FP_SAME(objective_c, c) _Static_assert((int)(objective_c) == (int)(c), #objective_c " differs from C")
FP_SAME(FPTokenErrorInvalidConfiguration, FP_ERROR_INVALID_CONFIGURATION);
FP_SAME(FPTokenErrorInsecureURL, FP_ERROR_INSECURE_URL);
FP_SAME(FPTokenErrorUnreachable, FP_ERROR_UNREACHABLE);
FP_SAME(FPTokenErrorTimedOut, FP_ERROR_TIMED_OUT);
FP_SAME(FPTokenErrorRefused, FP_ERROR_REFUSED);
FP_SAME(FPTokenErrorRateLimited, FP_ERROR_RATE_LIMITED);
FP_SAME(FPTokenErrorInvalidAnswer, FP_ERROR_INVALID_ANSWER);
FP_SAME(FPTokenErrorWrongToken, FP_ERROR_WRONG_TOKEN);
FP_SAME(FPTokenErrorExpired, FP_ERROR_EXPIRED);
FP_SAME(FPTokenErrorExcessiveRefresh, FP_ERROR_EXCESSIVE_REFRESH);
FP_SAME(FPTokenErrorLifeUnavailable, FP_ERROR_LIFE_UNAVAILABLE);
FP_SAME(FPTokenErrorStoreFailed, FP_ERROR_STORE_FAILED);
FP_SAME(FPTokenErrorCancelled, FP_ERROR_CANCELLED);
FP_SAME(FPTokenErrorInvalidArgument, FP_ERROR_INVALID_ARGUMENT);
FP_SAME(FPTokenErrorUnknown, FP_ERROR_UNKNOWN);
FP_SAME(FPTokenErrorMissingContext, FP_ERROR_MISSING_CONTEXT);
FP_SAME(FPTokenErrorMissingID, FP_ERROR_MISSING_ID);
FP_SAME(FPTokenErrorInvalidID, FP_ERROR_INVALID_ID);
FP_SAME(FPTokenErrorUnexpectedTask, FP_ERROR_UNEXPECTED_TASK);
FP_SAME(FPTokenSubjectKindDriver, FP_SUBJECT_DRIVER);
FP_SAME(FPTokenSubjectKindConsumer, FP_SUBJECT_CONSUMER);
FP_SAME(FPTokenSubjectKindDeliveryDriver, FP_SUBJECT_DELIVERY_DRIVER);
FP_SAME(FPTokenSubjectKindDeliveryConsumer, FP_SUBJECT_DELIVERY_CONSUMER);
FP_SAME(FPTokenSubjectKindFleetReader, FP_SUBJECT_FLEET_READER);
FP_SAME(FPTokenEventKindFetched, FP_EVENT_FETCHED);
FP_SAME(FPTokenEventKindServedStale, FP_EVENT_SERVED_STALE);
FP_SAME(FPTokenEventKindFailed, FP_EVENT_FAILED);
FP_SAME(FPTokenEventKindRefused, FP_EVENT_REFUSED);
FP_SAME(FPTokenEventKindRefreshed, FP_EVENT_REFRESHED);
FP_SAME(FPTokenEventKindRestored, FP_EVENT_RESTORED);
FP_SAME(FPTokenEventKindClockError, FP_EVENT_CLOCK_ERROR);
FP_SAME(FPTokenEventKindStoreFailed, FP_EVENT_STORE_FAILED);

const char *FPBytesOfText(NSString *text) {
    // JSON that an app passes on may hold a number or null where it expects a text.
    if (![text isKindOfClass:[NSString class]]) return NULL;
    NSData *bytes = [text dataUsingEncoding:NSUTF8StringEncoding allowLossyConversion:NO];
    if (!bytes) return NULL;
    NSMutableData *ended = [NSMutableData dataWithData:bytes];
    // A zero would hide the rest; the control character in its place is refused.
    char *characters = [ended mutableBytes];
    for (NSUInteger index = 0; index < [bytes length]; index++) {
        if (!characters[index]) characters[index] = '\1';
    }
    [ended appendBytes:"" length:1];
    return [ended bytes];
}

NSString *FPTextOfBytes(const char *bytes) {
    return bytes ? [NSString stringWithUTF8String:bytes] : nil;
}

NSError *FPErrorOf(const fp_error *error) {
    if (!error) return nil;
    NSMutableDictionary *info = [NSMutableDictionary dictionary];
    [info setObject:FPTextOfBytes(error->message) forKey:NSLocalizedDescriptionKey];
    [info setObject:FPTextOfBytes(fp_error_name(error->code)) forKey:FPTokenErrorNameKey];
    if (error->http_status != 0) {
        [info setObject:[NSNumber numberWithInt:error->http_status] forKey:FPTokenErrorHTTPStatusKey];
    }
    if (error->retry_after_ms >= 0) {
        NSNumber *seconds = [NSNumber numberWithDouble:(double)error->retry_after_ms / 1000];
        [info setObject:seconds forKey:FPTokenErrorRetryAfterKey];
    }
    return [NSError errorWithDomain:FPTokenErrorDomain code:error->code userInfo:info];
}

int64_t FPMilliseconds(NSTimeInterval seconds) {
    if (!(seconds >= 0)) return -1;
    return seconds > 1e9 ? INT64_C(1000000000000) : (int64_t)(seconds * 1000 + 0.5);
}

const fp_header *FPHeadersOf(NSDictionary<NSString *, NSString *> *headerFields) {
    NSMutableData *headers = [NSMutableData dataWithCapacity:[headerFields count] * sizeof(fp_header)];
    for (NSString *name in headerFields) {
        // What is no text or has no UTF-8 is passed as a control character, which is refused with a word about it.
        const char *field = FPBytesOfText(name), *value = FPBytesOfText([headerFields objectForKey:name]);
        fp_header header = {.name = field ? field : "\1", .value = value ? value : "\1"};
        [headers appendBytes:&header length:sizeof header];
    }
    return [headers bytes];
}
