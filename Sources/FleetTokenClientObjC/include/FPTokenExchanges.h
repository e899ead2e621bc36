// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"

NS_ASSUME_NONNULL_BEGIN

/// One question for the app's credentials, to be answered now or later, on any thread.
///
/// The first answer counts. A question that is let go of without one counts as failed for want of a network: that signs
/// nobody out.
@interface FPCredentialsRequest : NSObject {
  @private
    void *_reply;
}

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// Answers with the header fields that tell the token server who the user is, such as `Authorization`.
- (void)sendHeaderFields:(NSDictionary<NSString *, NSString *> *)headerFields;

/// Answers that nobody is signed in: the fetch fails with `FPTokenErrorRefused`, and the server is not asked.
- (void)fail;

/// Answers that the credentials could not be had over the network: the fetch fails with `FPTokenErrorUnreachable`, the
/// server is not asked, and the next call may try again. Nobody has to sign in.
- (void)failWithoutNetwork;

@end

/// One HTTP request that the app sends in place of the library, to be answered now or later, on any thread.
///
/// Follow no redirects (they would carry credentials elsewhere), use no cache and no cookies, check TLS, and log no
/// header fields. The first answer counts. A request that is let go of without one counts as failed.
@interface FPHTTPRequest : NSObject {
  @private
    void *_exchange;
    NSString *_method;
    NSURL *_URL;
    NSDictionary *_headerFields;
    NSData *_body;
    NSTimeInterval _timeout;
}

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// The verb, such as `GET`.
@property (nonatomic, readonly, copy) NSString *method;

/// The absolute address.
@property (nonatomic, readonly, copy) NSURL *URL;

/// The header fields, among them the app's credentials.
@property (nonatomic, readonly, copy) NSDictionary<NSString *, NSString *> *headerFields;

/// The body, or `nil`.
@property (nonatomic, readonly, copy, nullable) NSData *body;

/// How long the whole exchange may take, in seconds: somewhat less than what is left of the options' `fetchTimeout`.
/// When it is over, a status outside of 2xx is still worth an answer, without body.
@property (nonatomic, readonly) NSTimeInterval timeout;

/// Passes on the server's answer, whatever its status. `Date`, `Age` and `Retry-After` of its header fields are used.
- (void)respondWithStatus:(NSInteger)status
             headerFields:(nullable NSDictionary<NSString *, NSString *> *)headerFields
                     body:(nullable NSData *)body;

/// Says that there is no answer: `YES` when the time was over, `NO` when the server could not be reached.
- (void)failAfterTimeout:(BOOL)timedOut;

@end

NS_ASSUME_NONNULL_END
