// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// \file fleetpass_token_client.h
/// Fetches, keeps and refreshes Fleet Engine authorization tokens, for C, Objective-C and every language that calls C.
///
/// A provider asks a token server of yours for the token of a vehicle, a trip, a delivery vehicle or a shipment, checks
/// the answer, keeps the token while it is good, refreshes it in the background before it ends, and lets any number of
/// callers for one subject share one request.
///
///     fp_options options;
///     fp_options_init(&options, sizeof options);
///     options.server_url = "https://tokens.example.com";
///     fp_error *error = NULL;
///     fp_provider *provider = fp_provider_create(&options, &error);
///     fp_subject vehicle = { .kind = FP_SUBJECT_DRIVER, .id = "vehicle-1" };
///     fp_provider_fetch_token(provider, &vehicle, FP_DEFAULT_TIMEOUT_MS, on_token, my_state, NULL);
///     fp_provider_destroy(provider);
///
/// ## Rules that hold for every function
///
/// - **Text** is UTF-8 that ends with a zero byte. What you pass in is copied before the function returns.
/// - **Ownership**: what a function or a callback hands you as a pointer that is not `const` is yours. Give it back
///   exactly once, to the function that its type names; after that the pointer is dead. What is inside lives as long as
///   the pointer that holds it.
/// - **Threads**: every function may be called on any thread, also inside a callback. Callbacks come on threads of the
///   library's, several at once, and never on the stack of a call of yours, but for `release_context`. A callback
///   should return soon: keep what it was handed, and do longer work elsewhere. Nothing handed to a callback dies when
///   the callback returns, so that languages which run callbacks later, on their own loop, are safe.
/// - **Once**: a completion is called exactly once for each call, whatever happens, also after the provider is
///   destroyed.
/// - **NULL** where something is needed, empty or unknown ids, and text that is not UTF-8 give an error with
///   `FP_ERROR_INVALID_ARGUMENT`; they never crash. Functions that release something take NULL and do nothing.
/// - **Secrets**: no message, event or description holds a token or a credential. The memory of an `fp_token` is
///   overwritten when it is released. Working copies inside the library are freed, but not overwritten.
/// - **Binary compatibility**: numbers never change their meaning and structs grow at their end only.
#ifndef FLEETPASS_TOKEN_CLIENT_H
#define FLEETPASS_TOKEN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version of this interface, raised when something is added; `fp_api_version` tells the library's own.
///
/// 2: `fp_provider_ensure`, `fp_options.store_folder` and `fp_provider_metrics`. 3: `fp_provider_close`. 4:
/// `fp_provider_fetch_sdk_token`, `fp_provider_invalidate_last` and the errors from 201. 5:
/// `fp_credentials_reply_fail_with`. 6: `fp_options.patience_ms`. 7: `fp_provider_retry_now`.
#define FP_API_VERSION 7

/// The name under which errors of this library travel where errors have domains, such as `NSError`.
#define FP_ERROR_DOMAIN "FPTokenErrorDomain"

/// The wait that fits drivers, who report every 10 s: 9,000 ms.
#define FP_DEFAULT_TIMEOUT_MS 9000

/// The longest wait that can be asked for: one hour.
#define FP_MAXIMUM_TIMEOUT_MS 3600000

/// The room that a fingerprint needs: 16 hexadecimal digits and the zero byte.
#define FP_FINGERPRINT_SIZE 17

#if defined(__clang__)
// Pedantic compilers would warn of the words that tell Swift and Objective-C what may be NULL.
#define FP_ASSUME_NONNULL_BEGIN \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") \
    _Pragma("clang assume_nonnull begin")
#define FP_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end") _Pragma("clang diagnostic pop")
#define FP_NULLABLE _Nullable
#else
#define FP_ASSUME_NONNULL_BEGIN
#define FP_ASSUME_NONNULL_END
#define FP_NULLABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

FP_ASSUME_NONNULL_BEGIN

// -----------------------------------------------------------------------------------------------------------------
// Errors
// -----------------------------------------------------------------------------------------------------------------

/// What went wrong, in terms a program can act on. Treat a number you do not know as `FP_ERROR_UNKNOWN`.
typedef int32_t fp_error_code;
enum {
    /// A setting is out of range or does not fit another; mend it, a retry cannot help.
    FP_ERROR_INVALID_CONFIGURATION = 1,
    /// A token or credential would travel over plain HTTP to another machine; use an `https` URL.
    FP_ERROR_INSECURE_URL = 2,
    /// The token server, or what gives your own credentials, could not be reached; the next call may try again.
    FP_ERROR_UNREACHABLE = 3,
    /// No token came in time; the next call may try again.
    FP_ERROR_TIMED_OUT = 4,
    /// The server, or your own credentials callback, says that this user may not have the token; sign in again.
    FP_ERROR_REFUSED = 5,
    /// The server asked to wait, or calls wait for as many subjects as the cache holds.
    /// In both cases see `fp_error.retry_after_ms`.
    FP_ERROR_RATE_LIMITED = 6,
    /// The server's answer is not what its contract says; mend the server or the answer's description.
    FP_ERROR_INVALID_ANSWER = 7,
    /// The server sent a token for something else than was asked; it was thrown away.
    FP_ERROR_WRONG_TOKEN = 8,
    /// The server sent a token without enough life; mend its clock or the caches on the way.
    FP_ERROR_EXPIRED = 9,
    /// Fleet Engine refused several new tokens within a minute; no further one is fetched until the minute is over.
    FP_ERROR_EXCESSIVE_REFRESH = 10,
    /// No token lives as long as was asked for; ask for less.
    FP_ERROR_LIFE_UNAVAILABLE = 11,
    /// A store of tokens could not read or write; tokens are fetched as if there were none.
    FP_ERROR_STORE_FAILED = 12,
    /// The call was cancelled with `fp_fetch_cancel`.
    FP_ERROR_CANCELLED = 100,
    /// A pointer is NULL, an id is empty or malformed, text is not UTF-8, or a number is out of range.
    FP_ERROR_INVALID_ARGUMENT = 101,
    /// A failure that this interface has no number for yet; the message tells more.
    FP_ERROR_UNKNOWN = 199,
    /// An SDK's question came without a context, so that the id is NULL; pass on what the SDK hands out. This one and
    /// the next three come from `fp_provider_fetch_sdk_token` only, since version 4.
    FP_ERROR_MISSING_CONTEXT = 201,
    /// The context's id is empty; give the SDK the id when it is set up.
    FP_ERROR_MISSING_ID = 202,
    /// The context's id breaks Fleet Engine's rules; give the SDK one that Fleet Engine accepts.
    FP_ERROR_INVALID_ID = 203,
    /// A task's token was asked for where there are no tasks; ask as `FP_SUBJECT_DELIVERY_DRIVER`.
    FP_ERROR_UNEXPECTED_TASK = 204
};

/// An error. Yours; give it back with `fp_error_release`.
typedef struct fp_error {
    /// What went wrong.
    fp_error_code code;
    /// The HTTP status that the server answered with, or 0 where there is none.
    int32_t http_status;
    /// How long the server asked to wait, in milliseconds, or -1 where it did not.
    int64_t retry_after_ms;
    /// What failed and how to mend it, in English and without secrets. Not fit for a metric label; see `fp_error_name`.
    const char *message;
} fp_error;

/// Frees an error.
void fp_error_release(fp_error *FP_NULLABLE error);

/// The name of a code, such as `refused`: one of a small set, fit for a metric label. It is never freed.
const char *fp_error_name(fp_error_code code);

// -----------------------------------------------------------------------------------------------------------------
// Subjects and tokens
// -----------------------------------------------------------------------------------------------------------------

/// The kind of token that is asked for.
typedef int32_t fp_subject_kind;
enum {
    /// The driver of an on-demand vehicle; the id is the vehicle's.
    FP_SUBJECT_DRIVER = 1,
    /// A customer who watches a trip; the id is the trip's.
    FP_SUBJECT_CONSUMER = 2,
    /// A delivery driver; the id is the delivery vehicle's, and a task may narrow the token.
    FP_SUBJECT_DELIVERY_DRIVER = 3,
    /// A recipient who follows a shipment; the id is the tracking id.
    FP_SUBJECT_DELIVERY_CONSUMER = 4,
    /// A reader of the whole fleet, for an operator's own tools; there is no id.
    FP_SUBJECT_FLEET_READER = 5
};

/// Whose token is asked for. A token of one subject is never handed out for another.
typedef struct fp_subject {
    /// The kind of token.
    fp_subject_kind kind;
    /// The id: 1 to 64 characters without `/ : ? , #`; NULL for a fleet reader.
    const char *FP_NULLABLE id;
    /// The task of a delivery driver's token (trusted devices only), else NULL.
    const char *FP_NULLABLE task_id;
} fp_subject;

/// A token. Yours; give it back with `fp_token_release`, which overwrites its memory.
typedef struct fp_token {
    /// The token as it goes into an `Authorization` header. Never log it.
    const char *text;
    /// The token's length in bytes, without the zero byte.
    size_t length;
    /// 16 hexadecimal digits that name the token in logs without giving it away.
    const char *fingerprint;
} fp_token;

/// Overwrites and frees a token.
void fp_token_release(fp_token *FP_NULLABLE token);

/// Writes the fingerprint of a token's text, to find it in logs and events.
///
/// \param text The token.
/// \param fingerprint Gets 16 hexadecimal digits and a zero byte: `FP_FINGERPRINT_SIZE` bytes.
/// \returns Whether it was written; `false` for NULL or text that is not UTF-8.
bool fp_fingerprint(const char *FP_NULLABLE text, char *FP_NULLABLE fingerprint);

// -----------------------------------------------------------------------------------------------------------------
// Callbacks that a provider makes
// -----------------------------------------------------------------------------------------------------------------

/// One header field.
typedef struct fp_header {
    /// The name, such as `Authorization`.
    const char *name;
    /// The value, without line breaks.
    const char *value;
} fp_header;

/// One question for the app's credentials. Yours; give it back by answering it, with `fp_credentials_reply_send`,
/// `fp_credentials_reply_fail` or `fp_credentials_reply_fail_with`. A question that stays open holds up its fetch until
/// `fp_options.fetch_timeout_ms`.
typedef struct fp_credentials_reply fp_credentials_reply;

/// Asks for the header fields that tell the token server who the user is; called before each request to it.
///
/// \param context `fp_options.context`.
/// \param reply Takes the answer, now or later, on any thread.
typedef void (*fp_credentials_callback)(void *FP_NULLABLE context, fp_credentials_reply *reply);

/// Answers with header fields, and ends the question.
///
/// A name or value that HTTP does not allow, a line break for example, fails the fetch with
/// `FP_ERROR_INVALID_ARGUMENT`.
///
/// \param reply The question.
/// \param headers The fields; NULL when there are none.
/// \param count How many there are.
void fp_credentials_reply_send(
    fp_credentials_reply *FP_NULLABLE reply, const fp_header *FP_NULLABLE headers, size_t count);

/// Answers that nobody is signed in, so that the fetch fails with `FP_ERROR_REFUSED`; ends the question.
void fp_credentials_reply_fail(fp_credentials_reply *FP_NULLABLE reply);

/// Answers why there are no credentials, and ends the question; since version 5. Who is signed in, but has no network to
/// refresh a session over, need not sign in again.
///
/// \param reply The question.
/// \param code What the fetch fails with: `FP_ERROR_REFUSED` or `FP_ERROR_TIMED_OUT`; any other code counts as
///     `FP_ERROR_UNREACHABLE`.
void fp_credentials_reply_fail_with(fp_credentials_reply *FP_NULLABLE reply, fp_error_code code);

/// One HTTP request that the app sends for the library. Yours; give it back by answering it, with
/// `fp_http_exchange_respond` or `fp_http_exchange_fail`.
typedef struct fp_http_exchange fp_http_exchange;

/// What to send. It lives as long as its exchange and holds the app's credentials: do not log it.
typedef struct fp_http_request {
    /// The verb, such as `GET`.
    const char *method;
    /// The absolute URL, percent-encoded.
    const char *url;
    /// The header fields, or NULL when there are none.
    const fp_header *FP_NULLABLE headers;
    /// How many header fields there are.
    size_t header_count;
    /// The body, or NULL when there is none.
    const uint8_t *FP_NULLABLE body;
    /// How many bytes the body has.
    size_t body_length;
    /// How long the whole exchange may take, in milliseconds: somewhat less than what is left of
    /// `fp_options.fetch_timeout_ms`. When it is over, a status outside of 2xx is still worth an answer, without body.
    int64_t timeout_ms;
} fp_http_request;

/// Sends a request to the token server, in place of the library's own HTTP client.
///
/// Follow no redirects (they would carry credentials elsewhere), use no cache and no cookies, and check TLS.
///
/// \param context `fp_options.context`.
/// \param exchange Tells what to send and takes the answer, now or later, on any thread.
typedef void (*fp_http_callback)(void *FP_NULLABLE context, fp_http_exchange *exchange);

/// What to send; NULL for NULL. It lives until the exchange is answered.
const fp_http_request *FP_NULLABLE fp_http_exchange_request(const fp_http_exchange *FP_NULLABLE exchange);

/// Passes on the server's answer, whatever its status, and ends the exchange.
///
/// \param exchange The exchange.
/// \param status The HTTP status.
/// \param headers The header fields; `Date`, `Age` and `Retry-After` are used, and what is not UTF-8 or not allowed by HTTP
///     is passed over. NULL when there are none.
/// \param header_count How many header fields there are.
/// \param body The body; NULL when there is none. More than 64 KiB give `FP_ERROR_INVALID_ANSWER` with status 200, and are
///     passed over with any other.
/// \param body_length How many bytes the body has.
void fp_http_exchange_respond(
    fp_http_exchange *FP_NULLABLE exchange, int32_t status, const fp_header *FP_NULLABLE headers, size_t header_count,
    const uint8_t *FP_NULLABLE body, size_t body_length);

/// Says that there is no answer, and ends the exchange.
///
/// \param exchange The exchange.
/// \param code `FP_ERROR_TIMED_OUT`; any other code counts as `FP_ERROR_UNREACHABLE`.
void fp_http_exchange_fail(fp_http_exchange *FP_NULLABLE exchange, fp_error_code code);

/// What happened to a token.
typedef int32_t fp_event_kind;
enum {
    /// A subject's first token arrived, or the first after a refusal; `fingerprint` and `life_ms` are set.
    FP_EVENT_FETCHED = 1,
    /// A token that is still good was handed out while a newer one was due; `fingerprint` and `life_ms` are set.
    FP_EVENT_SERVED_STALE = 2,
    /// A fetch failed; `error` is set.
    FP_EVENT_FAILED = 3,
    /// Fleet Engine refused a token, and it was dropped; `fingerprint` is set.
    FP_EVENT_REFUSED = 4,
    /// A token arrived that replaces an older one; `fingerprint` and `life_ms` are set.
    FP_EVENT_REFRESHED = 5,
    /// A token was found in a store; `fingerprint` and `life_ms` are set.
    FP_EVENT_RESTORED = 6,
    /// The device's clock is wrong, differently wrong than last reported, or right again; `clock_offset_ms` is set.
    FP_EVENT_CLOCK_ERROR = 7,
    /// A store failed; `error` is set.
    FP_EVENT_STORE_FAILED = 8
};

/// Something that happened to a token, for logs and metrics. Yours; give it back with `fp_event_release`.
typedef struct fp_event {
    /// What happened. Ignore a number you do not know.
    fp_event_kind kind;
    /// Whose token it is; `kind` is 0 and the texts are NULL for what concerns no token, such as the clock.
    fp_subject subject;
    /// The token's fingerprint, or NULL.
    const char *FP_NULLABLE fingerprint;
    /// The token's remaining life in milliseconds, or -1.
    int64_t life_ms;
    /// The failure, or NULL. It belongs to the event: do not release it on its own.
    const fp_error *FP_NULLABLE error;
    /// The device's date less the token server's, in milliseconds: positive when the device is ahead. 0 but for the clock.
    int64_t clock_offset_ms;
} fp_event;

/// Hears what happens to tokens. Events come one after the other and in order; when the callback is slow, the newest 64
/// wait and older ones are dropped.
///
/// \param context `fp_options.context`.
/// \param event What happened.
typedef void (*fp_event_callback)(void *FP_NULLABLE context, fp_event *event);

/// Frees an event.
void fp_event_release(fp_event *FP_NULLABLE event);

// -----------------------------------------------------------------------------------------------------------------
// Providers
// -----------------------------------------------------------------------------------------------------------------

/// Which contract the token server follows.
typedef int32_t fp_endpoint_kind;
enum {
    /// The vendor's sample server for on-demand trips: `token/driver/ID`, `token/consumer/ID`.
    FP_ENDPOINT_ON_DEMAND = 1,
    /// The vendor's sample server for scheduled tasks: `token/delivery_driver/ID`, `token/delivery_consumer/ID`,
    /// `token/fleet_reader`.
    FP_ENDPOINT_SCHEDULED = 2,
    /// Fleetpass's own token server, which has a token for every subject and task.
    FP_ENDPOINT_FLEETPASS = 3,
    /// A server of your own, described by `fp_options.path` and `fp_options.answer`.
    FP_ENDPOINT_CUSTOM = 4
};

/// The unit of the expiry in an answer.
typedef int32_t fp_expiry_unit;
enum {
    FP_EXPIRY_SECONDS = 1,
    FP_EXPIRY_MILLISECONDS = 2
};

/// What the expiry in an answer is counted from.
typedef int32_t fp_expiry_reference;
enum {
    /// From 1970-01-01 UTC, on the server's clock.
    FP_EXPIRY_UNIX_EPOCH = 1,
    /// From the moment of the answer.
    FP_EXPIRY_ANSWER = 2
};

/// Which keys of your own server's JSON answer mean what.
typedef struct fp_answer_format {
    /// The key of the token, a string.
    const char *FP_NULLABLE token_key;
    /// The key of the expiry, or NULL to go by the times inside the token.
    const char *FP_NULLABLE expiry_key;
    /// The expiry's unit; used only with `expiry_key`.
    fp_expiry_unit expiry_unit;
    /// What the expiry is counted from; used only with `expiry_key`.
    fp_expiry_reference expiry_reference;
    /// The key of the seconds after which the server would like to be asked again, or NULL.
    const char *FP_NULLABLE refresh_after_key;
} fp_answer_format;

/// How a provider is made. Fill it with `fp_options_init` first, which sets every default.
typedef struct fp_options {
    /// The size of the struct as your program knows it; set by `fp_options_init`.
    size_t struct_size;

    /// The token server's address: `https`, or `http` to this machine; without user, query and fragment. Needed.
    const char *FP_NULLABLE server_url;
    /// The server's contract. Default: `FP_ENDPOINT_FLEETPASS`.
    fp_endpoint_kind endpoint;
    /// With `FP_ENDPOINT_CUSTOM`: the path under the address, such as `auth/{kind}/{id}`; `{kind}` is `driver`,
    /// `consumer`, `delivery_driver`, `delivery_consumer` or `fleet_reader`, `{id}` the subject's id, and `{task}` its
    /// task. A query may follow, as in `token?vehicleId={id}`. Plain text, without `#` and `%`: it is encoded for you.
    /// `{id}` is needed for subjects with an id, and `{task}` for those with a task; neither is for others. They get
    /// `FP_ERROR_INVALID_CONFIGURATION` otherwise.
    const char *FP_NULLABLE path;
    /// With `FP_ENDPOINT_CUSTOM`: the keys of the answer.
    fp_answer_format answer;

    /// How many subjects are remembered; the least recently used is dropped first. Default: 1000.
    int32_t capacity;
    /// How many refused tokens of one subject may be replaced within a minute, 1 to 1000. Default: 5.
    int32_t refusals_per_minute;
    /// The life in milliseconds that every token handed out has while the server answers, up to 30 minutes. Default:
    /// 300,000, which the SDKs ask for.
    int64_t minimum_life_ms;
    /// The remaining life in milliseconds at which a refresh in the background may begin, from `minimum_life_ms` to one
    /// hour, unless the server names a moment. Default: 600,000.
    int64_t refresh_before_ms;
    /// How long one fetch may take in milliseconds, from asking for credentials to the last byte, up to one hour.
    /// Default: 8,000.
    int64_t fetch_timeout_ms;
    /// The longest wait in milliseconds after a first failure; it doubles with each further one. Default: 1,000.
    int64_t back_off_base_ms;
    /// What that wait grows to in milliseconds, up to one hour. Default: 60,000.
    int64_t back_off_cap_ms;
    /// The longest wait in milliseconds that a server may ask for with `Retry-After`, up to one day. Default: 600,000.
    int64_t retry_after_limit_ms;

    /// Passed to the callbacks below and otherwise untouched. It must stay valid until `release_context`.
    void *FP_NULLABLE context;
    /// Called exactly once, on any thread, when no callback with the context runs or will run any more: some time after
    /// `fp_provider_destroy` begins, on its own stack where nothing is under way, or at once when the provider cannot be
    /// made. So hold no lock round either that it takes. NULL when nothing is to be done.
    void (*FP_NULLABLE release_context)(void *FP_NULLABLE context);
    /// Gives the credentials. NULL: requests carry none.
    fp_credentials_callback FP_NULLABLE credentials;
    /// Sends the requests. NULL: the library's own client, on Foundation's `URLSession`. On Linux that may end the process on
    /// answers that are rare but allowed, such as one with a trailer, or when a connection breaks off within the header
    /// fields; servers should set this there. Plain HTTP to this machine is `FP_ERROR_INSECURE_URL` there, too, where
    /// `http_proxy` or `all_proxy` names a proxy that would get it, and `no_proxy` does not name the host.
    fp_http_callback FP_NULLABLE http;
    /// Hears what happens. NULL: nobody does.
    fp_event_callback FP_NULLABLE on_event;

    /// A folder of the store's own in which tokens outlive the process, as an absolute path; since version 2. Files are
    /// readable by their owner only, but not encrypted: keep the folder out of backups, and delete it when the user signs
    /// out, after `fp_provider_close`. Others may not have access to it (mode 0700); it is made when it is missing.
    /// Default: NULL, tokens are kept in memory only.
    const char *FP_NULLABLE store_folder;

    /// How long in milliseconds a caller who could have a valid token waits for a newer one, counted from the start of the
    /// fetch, up to one hour; 0 never waits. Since version 6. Default: 2,000.
    int64_t patience_ms;
} fp_options;

/// Sets every default.
///
/// \param options What to fill; NULL does nothing.
/// \param struct_size `sizeof(fp_options)`.
void fp_options_init(fp_options *FP_NULLABLE options, size_t struct_size);

/// A provider of tokens. Yours; give it back with `fp_provider_destroy`. Make one for each app session and share it.
typedef struct fp_provider fp_provider;

/// Makes a provider with nothing cached; nothing is fetched yet.
///
/// \param options How to make it; everything in it is copied, but for `context`.
/// \param error Gets the reason when there is no provider: `FP_ERROR_INVALID_ARGUMENT`,
///     `FP_ERROR_INVALID_CONFIGURATION` or `FP_ERROR_INSECURE_URL`. It is yours. May be NULL.
/// \returns The provider, or NULL.
fp_provider *FP_NULLABLE fp_provider_create(
    const fp_options *FP_NULLABLE options, fp_error *FP_NULLABLE *FP_NULLABLE error);

/// Gives a provider back. Calls that wait still get their token or error; the tokens kept are dropped after the last.
void fp_provider_destroy(fp_provider *FP_NULLABLE provider);

/// Takes the outcome of a call: exactly one of token and error is there.
///
/// \param context What the call was given.
/// \param token The token, yours; or NULL.
/// \param error The error, yours; or NULL.
typedef void (*fp_token_callback)(
    void *FP_NULLABLE context, fp_token *FP_NULLABLE token, fp_error *FP_NULLABLE error);

/// A call that waits. Yours when you asked for it; give it back with `fp_fetch_release`.
typedef struct fp_fetch fp_fetch;

/// Asks for a token: from the cache, or fetched together with everybody else who waits for the same subject.
///
/// \param provider The provider.
/// \param subject Whose token.
/// \param timeout_ms The longest wait, 1 to `FP_MAXIMUM_TIMEOUT_MS`; after it the outcome is `FP_ERROR_TIMED_OUT`, and
///     the fetch goes on for the cache.
/// \param completion Called exactly once and never on this call's stack; perhaps before this function returns, on
///     another thread. NULL: only the cache is filled.
/// \param context Passed to `completion`; it must stay valid until then.
/// \param fetch Gets a handle that can cancel the wait; NULL when you never will.
void fp_provider_fetch_token(
    fp_provider *FP_NULLABLE provider, const fp_subject *FP_NULLABLE subject, int64_t timeout_ms,
    fp_token_callback FP_NULLABLE completion, void *FP_NULLABLE context, fp_fetch *FP_NULLABLE *FP_NULLABLE fetch);

/// Asks for the token that one of Google's SDKs wants; since version 4.
///
/// As `fp_provider_fetch_token`, for a subject made of the context that the SDK hands out. What is wrong with it has a
/// number of its own, from `FP_ERROR_MISSING_CONTEXT` on. The token is remembered for `fp_provider_invalidate_last`.
///
/// \param provider The provider.
/// \param subject Whose token: a driver's, a delivery driver's or a consumer's. The id is NULL where the SDK gave no
///     context, and an empty task is none.
/// \param timeout_ms The longest wait, as in `fp_provider_fetch_token`.
/// \param completion Called exactly once and never on this call's stack, as in `fp_provider_fetch_token`.
/// \param context Passed to `completion`; it must stay valid until then.
/// \param fetch Gets a handle that can cancel the wait; NULL when you never will.
void fp_provider_fetch_sdk_token(
    fp_provider *FP_NULLABLE provider, const fp_subject *FP_NULLABLE subject, int64_t timeout_ms,
    fp_token_callback FP_NULLABLE completion, void *FP_NULLABLE context, fp_fetch *FP_NULLABLE *FP_NULLABLE fetch);

/// Takes the outcome of `fp_provider_ensure`.
///
/// \param context What the call was given.
/// \param life_ms How long the token in hand lives from now in milliseconds, no less than asked for; -1 with an error.
/// \param error The error, yours; or NULL.
typedef void (*fp_life_callback)(void *FP_NULLABLE context, int64_t life_ms, fp_error *FP_NULLABLE error);

/// Makes sure that the token in hand lives so long, before a tunnel or a time in the background; since version 2.
///
/// Nothing is fetched when it does; otherwise a new one is fetched, or the fetch under way is awaited. Nothing that goes
/// wrong here takes the token in hand away.
///
/// \param provider The provider.
/// \param subject Whose token.
/// \param life_ms How long the token must live from now, in milliseconds, from 0. Beyond what tokens live, an hour at
///     most, the outcome is `FP_ERROR_LIFE_UNAVAILABLE`.
/// \param timeout_ms The longest wait, as in `fp_provider_fetch_token`.
/// \param completion Called exactly once and never on this call's stack, as in `fp_provider_fetch_token`. NULL: nobody
///     is told.
/// \param context Passed to `completion`; it must stay valid until then.
/// \param fetch Gets a handle that can cancel the wait; NULL when you never will.
void fp_provider_ensure(
    fp_provider *FP_NULLABLE provider, const fp_subject *FP_NULLABLE subject, int64_t life_ms, int64_t timeout_ms,
    fp_life_callback FP_NULLABLE completion, void *FP_NULLABLE context, fp_fetch *FP_NULLABLE *FP_NULLABLE fetch);

/// Ends a wait with `FP_ERROR_CANCELLED`, unless it has ended. Other calls for the same subject are not disturbed.
void fp_fetch_cancel(fp_fetch *FP_NULLABLE fetch);

/// Frees the handle. The call goes on.
void fp_fetch_release(fp_fetch *FP_NULLABLE fetch);

/// Says that Fleet Engine refused a token, so that it is not handed out again.
///
/// It did so with HTTP 401 (gRPC 16), or with 403 (gRPC 7) for a token that was not sent before; a 403 for one that was is
/// about the request.
///
/// \param provider The provider.
/// \param subject Whose token it was.
/// \param token The text of the refused token; a newer one is kept.
/// \returns Whether the arguments made sense; `false` for NULL, a malformed subject, or text that is not UTF-8.
bool fp_provider_invalidate(
    fp_provider *FP_NULLABLE provider, const fp_subject *FP_NULLABLE subject, const char *FP_NULLABLE token);

/// Says that Fleet Engine refused the token that an SDK got last, so that it is not handed out again; since version 4.
///
/// The SDKs report that a call failed, and not which token it carried. Call this when it failed with gRPC 16; a 7 means
/// the token only where it is new.
///
/// \param provider The provider.
/// \param subject Whose token it was. Of a delivery driver's tokens the newest is meant, whatever its task.
/// \returns Whether there was such a token. A question that failed or was cancelled since leaves it the last one.
bool fp_provider_invalidate_last(fp_provider *FP_NULLABLE provider, const fp_subject *FP_NULLABLE subject);

/// Ends the pauses after failures, so that the next call fetches at once; since version 7.
///
/// Call it for what the provider cannot know: that the user has signed in again, or that the network is back. A wait that
/// the server asked for ends too, so do not call it after each error. Tokens in hand are kept, a fetch under way goes on,
/// and nothing is fetched before somebody asks. The pause with `FP_ERROR_EXCESSIVE_REFRESH` holds.
///
/// \param provider The provider. NULL and one that is closed are no error.
void fp_provider_retry_now(fp_provider *FP_NULLABLE provider);

/// Hears that a provider is closed.
///
/// \param context What the call was given.
typedef void (*fp_closed_callback)(void *FP_NULLABLE context);

/// Closes a provider for good, when the user signs out; since version 3.
///
/// From now on every call ends with `FP_ERROR_REFUSED`, also those that wait; fetches under way are stopped and what they
/// still bring is thrown away. Give the provider back as ever.
///
/// \param provider The provider. NULL and one that is closed are no error.
/// \param completion Called exactly once and never on this call's stack, when nothing is written to
///     `fp_options.store_folder` any more, so that it can be deleted. NULL: nobody is told.
/// \param context Passed to `completion`; it must stay valid until then.
void fp_provider_close(
    fp_provider *FP_NULLABLE provider, fp_closed_callback FP_NULLABLE completion, void *FP_NULLABLE context);

/// What a provider did since it was made.
typedef struct fp_metrics {
    /// How many calls for a token got one at once.
    int64_t hits;
    /// How many had to wait for a fetch, whatever came of it.
    int64_t waits;
    /// How long they waited altogether, in milliseconds.
    int64_t waited_ms;
    /// The longest of these waits, in milliseconds.
    int64_t longest_wait_ms;
    /// How many fetches brought a token that was kept.
    int64_t fetches;
    /// How many fetches failed.
    int64_t failures;
    /// How many tokens Fleet Engine refused.
    int64_t refusals;
} fp_metrics;

/// Writes what a provider did so far; since version 2.
///
/// \param provider The provider.
/// \param metrics Gets the numbers.
/// \param struct_size `sizeof(fp_metrics)`: what your program does not know is not written, and what this library does
///     not know becomes 0.
/// \returns Whether they were written; `false` for NULL or a size that no version had.
bool fp_provider_metrics(
    const fp_provider *FP_NULLABLE provider, fp_metrics *FP_NULLABLE metrics, size_t struct_size);

/// The library's own `FP_API_VERSION`; a program may run with a newer one than it was compiled with.
uint32_t fp_api_version(void);

FP_ASSUME_NONNULL_END

#ifdef __cplusplus
}
#endif

#endif
