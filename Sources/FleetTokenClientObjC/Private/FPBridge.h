// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenErrors.h"
#import "FPTokenEvent.h"
#import "FPTokenExchanges.h"
#import "FPTokenFetch.h"
#import "FPTokenMetrics.h"
#import "FPTokenProviderOptions.h"
#import "FPTokenSubject.h"

#include "fleetpass_token_client.h"

NS_ASSUME_NONNULL_BEGIN

/// The text as bytes of UTF-8 that end with a zero byte and live as long as the autorelease pool; `NULL` for `nil`,
/// for what is no text, and for text that has no UTF-8. A zero inside the text becomes U+0001: it would hide the rest
/// from C, while a control character is refused by whoever reads the text.
FOUNDATION_EXPORT const char *_Nullable FPBytesOfText(NSString *_Nullable text);

/// The text from C; `nil` for `NULL`.
FOUNDATION_EXPORT NSString *_Nullable FPTextOfBytes(const char *_Nullable bytes);

/// The error from C, which is left alone; `nil` for `NULL`.
FOUNDATION_EXPORT NSError *_Nullable FPErrorOf(const fp_error *_Nullable error);

/// Seconds as whole milliseconds, cut to the range of the number; not a number becomes -1, which every reader refuses.
FOUNDATION_EXPORT int64_t FPMilliseconds(NSTimeInterval seconds);

/// The header fields for C, in memory that lives as long as the autorelease pool.
FOUNDATION_EXPORT const fp_header *_Nullable FPHeadersOf(NSDictionary<NSString *, NSString *> *_Nullable headerFields);

@interface FPTokenSubject (C)
+ (instancetype)subjectWithValue:(fp_subject)value;
/// The subject for C, whose texts live as long as the autorelease pool.
- (fp_subject)value;
@end

@interface FPTokenProviderOptions (C)
/// The options for C, without callbacks; texts live as long as the autorelease pool.
- (fp_options)value;
@end

@interface FPTokenEvent (C)
/// Reads the event from C, which is left alone.
- (instancetype)initWithEvent:(const fp_event *)event;
@end

@interface FPTokenMetrics (C)
/// Takes over the numbers.
- (instancetype)initWithMetrics:(fp_metrics)metrics;
@end

@interface FPTokenFetch (C)
/// Takes over the call.
- (instancetype)initWithFetch:(fp_fetch *)fetch;
@end

@interface FPCredentialsRequest (C)
/// Takes over the question.
- (instancetype)initWithReply:(fp_credentials_reply *)reply;
@end

@interface FPHTTPRequest (C)
/// Takes over the exchange.
- (instancetype)initWithExchange:(fp_http_exchange *)exchange;
@end

NS_ASSUME_NONNULL_END
