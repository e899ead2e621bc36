// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A program in plain C against the C interface: fetch, cache, refusal, own HTTP client, events, cancellation, and every
// argument that makes no sense. Prints one line per check.

#include "fleetpass_token_client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

/// What a call came to, and who waits for it.
struct outcome {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int calls;
    fp_token *token;
    int64_t life;
    fp_error *error;
    pthread_t thread;
};

static void outcome_init(struct outcome *outcome) {
    *outcome = (struct outcome){0};
    pthread_mutex_init(&outcome->mutex, NULL);
    pthread_cond_init(&outcome->changed, NULL);
}

static void outcome_free(struct outcome *outcome) {
    fp_token_release(outcome->token);
    fp_error_release(outcome->error);
    pthread_cond_destroy(&outcome->changed);
    pthread_mutex_destroy(&outcome->mutex);
}

static void take(struct outcome *outcome, fp_token *token, int64_t life, fp_error *error) {
    pthread_mutex_lock(&outcome->mutex);
    outcome->calls++;
    fp_token_release(outcome->token);
    fp_error_release(outcome->error);
    outcome->token = token;
    outcome->life = life;
    outcome->error = error;
    outcome->thread = pthread_self();
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->mutex);
}

static void on_token(void *context, fp_token *token, fp_error *error) {
    take(context, token, -1, error);
}

static void on_life(void *context, int64_t life, fp_error *error) {
    take(context, NULL, life, error);
}

/// Waits for the outcome, or for 30 s, after which something is wrong.
static void wait_for(struct outcome *outcome) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 30;
    pthread_mutex_lock(&outcome->mutex);
    while (outcome->calls == 0 && pthread_cond_timedwait(&outcome->changed, &outcome->mutex, &limit) == 0) {}
    pthread_mutex_unlock(&outcome->mutex);
}

static void fetch(fp_provider *provider, const fp_subject *subject, int64_t timeout, struct outcome *outcome) {
    outcome_init(outcome);
    fp_provider_fetch_token(provider, subject, timeout, on_token, outcome, NULL);
    wait_for(outcome);
}

static fp_error_code code_of(fp_provider *provider, const fp_subject *subject, int64_t timeout) {
    struct outcome outcome;
    fetch(provider, subject, timeout, &outcome);
    fp_error_code code = outcome.error && !outcome.token && outcome.calls == 1 ? outcome.error->code : 0;
    outcome_free(&outcome);
    return code;
}

static void ensure(fp_provider *provider, const fp_subject *subject, int64_t life, struct outcome *outcome) {
    outcome_init(outcome);
    fp_provider_ensure(provider, subject, life, FP_DEFAULT_TIMEOUT_MS, on_life, outcome, NULL);
    wait_for(outcome);
}

static fp_error_code ensure_code(fp_provider *provider, const fp_subject *subject, int64_t life) {
    struct outcome outcome;
    ensure(provider, subject, life, &outcome);
    fp_error_code code = outcome.error && outcome.life == -1 && outcome.calls == 1 ? outcome.error->code : 0;
    outcome_free(&outcome);
    return code;
}

static fp_error_code code_for(fp_provider *provider, fp_subject_kind kind, const char *id, const char *task) {
    fp_subject subject = {.kind = kind, .id = id, .task_id = task};
    return code_of(provider, &subject, FP_DEFAULT_TIMEOUT_MS);
}

/// What the callbacks of a provider saw.
struct witness {
    atomic_int credentials, requests, events, fetched, failed, restored, store_failed, released;
    const char *secret;
    /// Why there is no secret; 0 where nothing more is said than that.
    fp_error_code reason;
};

static void on_credentials(void *context, fp_credentials_reply *reply) {
    struct witness *witness = context;
    witness->credentials++;
    if (!witness->secret) {
        if (witness->reason) {
            fp_credentials_reply_fail_with(reply, witness->reason);
        } else {
            fp_credentials_reply_fail(reply);
        }
        return;
    }
    char value[200];
    snprintf(value, sizeof value, "Bearer %s", witness->secret);
    fp_header header = {.name = "Authorization", .value = value};
    fp_credentials_reply_send(reply, &header, 1);
}

static void on_event(void *context, fp_event *event) {
    struct witness *witness = context;
    witness->events++;
    if (event->kind == FP_EVENT_FETCHED && event->fingerprint && event->life_ms > 0) witness->fetched++;
    if (event->kind == FP_EVENT_FAILED && event->error && event->error->code == FP_ERROR_REFUSED) witness->failed++;
    if (event->kind == FP_EVENT_RESTORED && event->fingerprint && event->life_ms > 0) witness->restored++;
    if (event->kind == FP_EVENT_STORE_FAILED && event->error && event->error->code == FP_ERROR_STORE_FAILED) {
        witness->store_failed++;
    }
    fp_event_release(event);
}

static void on_release(void *context) {
    ((struct witness *)context)->released++;
}

/// Answers later and on another thread, as real clients do.
static void *answer_later(void *argument) {
    fp_http_exchange *exchange = argument;
    const fp_http_request *request = fp_http_exchange_request(exchange);
    bool asked = strcmp(request->method, "GET") == 0 && strstr(request->url, "/token/driver/") && !request->body
        && request->timeout_ms > 0 && request->timeout_ms <= 7800;
    // What is of no use may look like anything.
    fp_header headers[] = {
        {.name = "X-Town", .value = "K\xf6ln"}, {.name = "X Town", .value = "Cologne"},
        {.name = "Retry-After", .value = "5"}, {.name = "X-Lines", .value = "one\ntwo"},
    };
    fp_http_exchange_respond(exchange, asked ? 429 : 500, headers, sizeof headers / sizeof *headers, NULL, 0);
    return NULL;
}

/// Answers with a page that is longer than any answer of a token server.
static void on_http_long(void *context, fp_http_exchange *exchange) {
    (void)context;
    static const uint8_t page[70000];
    fp_header wait = {.name = "Retry-After", .value = "5"};
    bool good = strstr(fp_http_exchange_request(exchange)->url, "good") != NULL;
    fp_http_exchange_respond(exchange, good ? 200 : 503, &wait, 1, page, sizeof page);
}

static void on_http(void *context, fp_http_exchange *exchange) {
    struct witness *witness = context;
    int number = ++witness->requests;
    pthread_t thread;
    if (number > 1 || pthread_create(&thread, NULL, answer_later, exchange) != 0) {
        fp_http_exchange_fail(exchange, FP_ERROR_TIMED_OUT);
        return;
    }
    pthread_detach(thread);
}

static void wait_until(atomic_int *count, int wanted) {
    for (int tries = 0; tries < 3000 && *count < wanted; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static fp_error_code creation_code(const fp_options *options) {
    fp_error *error = NULL;
    fp_provider *provider = fp_provider_create(options, &error);
    fp_error_code code = !provider && error && error->message[0] ? error->code : 0;
    fp_error_release(error);
    fp_provider_destroy(provider);
    return code;
}

/// A program that was compiled with an older version passes its size, and has something else behind its options.
static void check_size(const char *server, const char *name, size_t size) {
    fp_options options;
    unsigned char behind[sizeof options];
    memset(behind, 0x5a, sizeof behind);
    memset(&options, 0x5a, sizeof options);
    fp_options_init(&options, size);
    bool untouched = memcmp((unsigned char *)&options + size, behind, sizeof options - size) == 0;
    options.server_url = server;
    fp_provider *old = fp_provider_create(&options, NULL);
    CHECK(name, old && untouched && options.capacity == 1000 && options.struct_size == size);
    fp_provider_destroy(old);
}

static void check_creation(const char *server) {
    struct witness witness = {0};
    fp_options options;
    fp_options_init(&options, sizeof options);
    CHECK("defaults are filled in",
          options.capacity == 1000 && options.minimum_life_ms == 300000 && options.fetch_timeout_ms == 8000
              && options.patience_ms == 2000 && options.endpoint == FP_ENDPOINT_FLEETPASS && !options.server_url
              && !options.credentials);
    CHECK("no options, no provider", creation_code(NULL) == FP_ERROR_INVALID_ARGUMENT);
    CHECK("no server, no provider", creation_code(&options) == FP_ERROR_INVALID_ARGUMENT);
    options.server_url = "http://tokens.example.com";
    CHECK("plain HTTP to elsewhere is refused", creation_code(&options) == FP_ERROR_INSECURE_URL);
    options.server_url = "https://\xff\xfe";
    CHECK("a server that is not UTF-8 is refused", creation_code(&options) == FP_ERROR_INVALID_ARGUMENT);
    options.server_url = server;
    options.endpoint = 77;
    CHECK("an unknown contract is refused", creation_code(&options) == FP_ERROR_INVALID_ARGUMENT);
    options.endpoint = FP_ENDPOINT_CUSTOM;
    CHECK("a server of one's own needs a path", creation_code(&options) == FP_ERROR_INVALID_ARGUMENT);
    options.path = "auth/{kind}/{nothing}";
    options.answer.token_key = "token";
    CHECK("an unknown placeholder is refused", creation_code(&options) == FP_ERROR_INVALID_CONFIGURATION);
    options.path = "token?vehicleId={id}#";
    CHECK("a fragment is refused", creation_code(&options) == FP_ERROR_INVALID_CONFIGURATION);
    options.path = "token?vehicleId={id}";
    CHECK("a query is taken", creation_code(&options) == 0);
    fp_options_init(&options, sizeof options);
    options.server_url = server;
    options.store_folder = "tokens";
    CHECK("a folder that is not absolute is refused", creation_code(&options) == FP_ERROR_INVALID_ARGUMENT);
    options.store_folder = NULL;
    options.patience_ms = -1;
    CHECK("a patience below nothing is refused", creation_code(&options) == FP_ERROR_INVALID_CONFIGURATION);
    options.patience_ms = 0;
    CHECK("none is taken", creation_code(&options) == 0);
    options.fetch_timeout_ms = INT64_MIN;
    CHECK("a limit out of range is refused", creation_code(&options) == FP_ERROR_INVALID_CONFIGURATION);
    options.fetch_timeout_ms = INT64_MAX;
    options.context = &witness;
    options.release_context = on_release;
    CHECK("so is one at the other end", creation_code(&options) == FP_ERROR_INVALID_CONFIGURATION);
    CHECK("the context of no provider is released once", witness.released == 1);
    CHECK("an error may be ignored", fp_provider_create(NULL, NULL) == NULL);
    options.struct_size = 8;
    CHECK("options that were not initialised are refused", creation_code(&options) == FP_ERROR_INVALID_ARGUMENT);

    check_size(server, "a program of the first version is served, and nothing behind its options read or written",
               offsetof(fp_options, store_folder));
    check_size(server, "so is one of the versions before patience", offsetof(fp_options, patience_ms));
}

static void check_arguments(fp_provider *provider) {
    char long_id[2000];
    memset(long_id, 'a', sizeof long_id - 1);
    long_id[sizeof long_id - 1] = 0;
    const fp_error_code wrong = FP_ERROR_INVALID_ARGUMENT;
    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "vehicle-1"};
    CHECK("no provider", code_of(NULL, &driver, 1000) == wrong);
    CHECK("no subject", code_of(provider, NULL, 1000) == wrong);
    CHECK("a timeout of nothing", code_of(provider, &driver, 0) == wrong);
    CHECK("a timeout below nothing", code_of(provider, &driver, INT64_MIN) == wrong);
    CHECK("a timeout without end", code_of(provider, &driver, INT64_MAX) == wrong);
    CHECK("no id", code_for(provider, FP_SUBJECT_DRIVER, NULL, NULL) == wrong);
    CHECK("an empty id", code_for(provider, FP_SUBJECT_CONSUMER, "", NULL) == wrong);
    CHECK("a wildcard", code_for(provider, FP_SUBJECT_DRIVER, "*", NULL) == wrong);
    CHECK("a path for an id", code_for(provider, FP_SUBJECT_DRIVER, "../x", NULL) == wrong);
    CHECK("an id that is not UTF-8", code_for(provider, FP_SUBJECT_DELIVERY_CONSUMER, "a\xc3\x28", NULL) == wrong);
    CHECK("an id without end", code_for(provider, FP_SUBJECT_DRIVER, long_id, NULL) == wrong);
    CHECK("an empty task", code_for(provider, FP_SUBJECT_DELIVERY_DRIVER, "v", "") == wrong);
    CHECK("a task for a vehicle", code_for(provider, FP_SUBJECT_DRIVER, "v", "t") == wrong);
    CHECK("a life below nothing", ensure_code(provider, &driver, -1) == wrong);
    CHECK("no provider to ensure", ensure_code(NULL, &driver, 1000) == wrong);
    CHECK("no subject to ensure", ensure_code(provider, NULL, 1000) == wrong);
    CHECK("an id for a fleet reader", code_for(provider, FP_SUBJECT_FLEET_READER, "v", NULL) == wrong);
    CHECK("an unknown kind", code_for(provider, 99, "v", NULL) == wrong);
    CHECK("a negative kind", code_for(provider, INT32_MIN, "v", NULL) == wrong);
    CHECK("nothing can be refused of nobody",
          !fp_provider_invalidate(NULL, &driver, "x") && !fp_provider_invalidate(provider, NULL, "x")
              && !fp_provider_invalidate(provider, &driver, NULL)
              && !fp_provider_invalidate(provider, &driver, "\xff"));
    fp_metrics metrics;
    CHECK("there are no numbers of nobody",
          !fp_provider_metrics(NULL, &metrics, sizeof metrics) && !fp_provider_metrics(provider, NULL, sizeof metrics)
              && !fp_provider_metrics(provider, &metrics, 8));
    fp_provider_destroy(NULL);
    fp_provider_retry_now(NULL);
    fp_fetch_cancel(NULL);
    fp_fetch_release(NULL);
    fp_token_release(NULL);
    fp_error_release(NULL);
    fp_event_release(NULL);
    fp_credentials_reply_send(NULL, NULL, 3);
    fp_credentials_reply_fail(NULL);
    fp_credentials_reply_fail_with(NULL, FP_ERROR_UNREACHABLE);
    fp_http_exchange_respond(NULL, 200, NULL, 9, NULL, 9);
    fp_http_exchange_fail(NULL, 0);
    fp_options_init(NULL, 0);
    char fingerprint[FP_FINGERPRINT_SIZE];
    CHECK("NULL does nothing elsewhere",
          !fp_http_exchange_request(NULL) && !fp_fingerprint(NULL, fingerprint) && !fp_fingerprint("x", NULL));
    CHECK("codes have names", strcmp(fp_error_name(FP_ERROR_REFUSED), "refused") == 0
              && strcmp(fp_error_name(12345), "unknown") == 0);
    CHECK("the interface has the header's version", fp_api_version() == FP_API_VERSION);
}

/// Options whose credentials come from a witness.
static fp_options options_for(const char *url, struct witness *witness) {
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = url;
    options.context = witness;
    options.release_context = on_release;
    options.credentials = on_credentials;
    return options;
}

static void check_real_server(const char *server, const char *up, const char *secret) {
    struct witness witness = {.secret = secret};
    fp_options options = options_for(up, &witness);
    options.on_event = on_event;
    fp_provider *provider = fp_provider_create(&options, NULL);
    check_arguments(provider);

    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "vehicle-c"};
    struct outcome first, second;
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &first);
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &second);
    char fingerprint[FP_FINGERPRINT_SIZE] = "";
    CHECK("a token comes", first.token && !first.error && first.calls == 1);
    CHECK("its length and fingerprint fit",
          first.token && strlen(first.token->text) == first.token->length
              && fp_fingerprint(first.token->text, fingerprint)
              && strcmp(fingerprint, first.token->fingerprint) == 0 && strlen(fingerprint) == 16);
    CHECK("the second call gets the same one, without a request",
          second.token && first.token && strcmp(first.token->text, second.token->text) == 0 && witness.credentials == 1
              && asked_for(server, "up/token/driver/vehicle-c") == 1);
    CHECK("completions come on other threads", !pthread_equal(first.thread, pthread_self()));
    // The server's tokens tell the second: a new one differs in the next.
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    bool dropped = first.token && fp_provider_invalidate(provider, &driver, first.token->text);
    outcome_free(&second);
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &second);
    CHECK("a token that the engine refused is replaced",
          dropped && second.token && strcmp(first.token->text, second.token->text) != 0
              && asked_for(server, "up/token/driver/vehicle-c") == 2);
    outcome_free(&first);
    outcome_free(&second);

    fp_subject consumer = {.kind = FP_SUBJECT_CONSUMER, .id = "trip-c"};
    struct outcome refused;
    fetch(provider, &consumer, FP_DEFAULT_TIMEOUT_MS, &refused);
    CHECK("a token that the caller may not have is refused",
          refused.error && !refused.token && refused.error->code == FP_ERROR_REFUSED
              && refused.error->http_status == 403
              && refused.error->retry_after_ms == -1 && !strstr(refused.error->message, secret));
    outcome_free(&refused);

    // Without a completion, the fetch fills the cache.
    fp_subject prefetched = {.kind = FP_SUBJECT_DRIVER, .id = "vehicle-prefetched"};
    fp_provider_fetch_token(provider, &prefetched, 1000, NULL, NULL, NULL);
    wait_until(&witness.fetched, 3);
    CHECK("events tell what happened", witness.fetched == 3 && witness.failed == 1);

    struct outcome orphan;
    outcome_init(&orphan);
    fp_subject last = {.kind = FP_SUBJECT_DRIVER, .id = "vehicle-orphan"};
    fp_provider_fetch_token(provider, &last, FP_DEFAULT_TIMEOUT_MS, on_token, &orphan, NULL);
    fp_provider_destroy(provider);
    wait_for(&orphan);
    CHECK("a call outlives its provider", orphan.calls == 1 && orphan.token);
    wait_until(&witness.released, 1);
    CHECK("the context is released once", witness.released == 1);
    outcome_free(&orphan);
}

static void check_own_client(const char *server) {
    struct witness witness = {0};
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = server;
    options.context = &witness;
    options.release_context = on_release;
    options.http = on_http;
    fp_provider *provider = fp_provider_create(&options, NULL);
    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "vehicle-http"};
    struct outcome busy;
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &busy);
    CHECK("an own HTTP client is asked, and of its answer what can be read counts",
          busy.error && busy.error->code == FP_ERROR_RATE_LIMITED && busy.error->http_status == 429
              && busy.error->retry_after_ms == 5000);
    outcome_free(&busy);
    CHECK("an own HTTP client may fail", code_for(provider, FP_SUBJECT_DRIVER, "other", NULL) == FP_ERROR_TIMED_OUT);
    fp_provider_destroy(provider);
    wait_until(&witness.released, 1);
    CHECK("its context is released once, too", witness.released == 1 && witness.requests == 2);

    options.context = NULL;
    options.release_context = NULL;
    options.http = on_http_long;
    provider = fp_provider_create(&options, NULL);
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &busy);
    CHECK("a refusal with a long page keeps its status and its wait",
          busy.error && busy.error->code == FP_ERROR_UNREACHABLE && busy.error->http_status == 503
              && busy.error->retry_after_ms == 5000);
    outcome_free(&busy);
    CHECK("an answer that is too long is none",
          code_for(provider, FP_SUBJECT_DRIVER, "good", NULL) == FP_ERROR_INVALID_ANSWER);
    fp_provider_destroy(provider);
}

static fp_error_code sdk_code(fp_provider *provider, fp_subject_kind kind, const char *id, const char *task) {
    fp_subject subject = {.kind = kind, .id = id, .task_id = task};
    struct outcome outcome;
    outcome_init(&outcome);
    fp_provider_fetch_sdk_token(provider, &subject, FP_DEFAULT_TIMEOUT_MS, on_token, &outcome, NULL);
    wait_for(&outcome);
    fp_error_code code = outcome.error && !outcome.token && outcome.calls == 1 ? outcome.error->code : 0;
    outcome_free(&outcome);
    return code;
}

/// Asks and cancels at once, until that comes before the token that is at hand.
static bool sdk_question_is_cancelled(fp_provider *provider, const fp_subject *subject) {
    bool cancelled = false;
    for (int tries = 0; tries < 1000 && !cancelled; tries++) {
        struct outcome outcome;
        outcome_init(&outcome);
        fp_fetch *call = NULL;
        fp_provider_fetch_sdk_token(provider, subject, FP_DEFAULT_TIMEOUT_MS, on_token, &outcome, &call);
        fp_fetch_cancel(call);
        fp_fetch_release(call);
        wait_for(&outcome);
        cancelled = outcome.error && outcome.error->code == FP_ERROR_CANCELLED;
        outcome_free(&outcome);
    }
    return cancelled;
}

static void check_sdk_questions(const char *server, const char *chaos) {
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    fp_provider *provider = fp_provider_create(&options, NULL);
    CHECK("an SDK's question without a context has a number",
          sdk_code(provider, FP_SUBJECT_DRIVER, NULL, NULL) == FP_ERROR_MISSING_CONTEXT
              && sdk_code(provider, FP_SUBJECT_CONSUMER, NULL, NULL) == FP_ERROR_MISSING_CONTEXT);
    CHECK("so has one without an id", sdk_code(provider, FP_SUBJECT_DELIVERY_DRIVER, "", NULL) == FP_ERROR_MISSING_ID);
    CHECK("and one with a malformed id", sdk_code(provider, FP_SUBJECT_CONSUMER, "../x", NULL) == FP_ERROR_INVALID_ID);
    CHECK("and one for a task that cannot be",
          sdk_code(provider, FP_SUBJECT_DRIVER, "v", "t") == FP_ERROR_UNEXPECTED_TASK
              && strcmp(fp_error_name(FP_ERROR_UNEXPECTED_TASK), "unexpectedTask") == 0);
    CHECK("an SDK asks for nobody else",
          sdk_code(provider, FP_SUBJECT_FLEET_READER, NULL, NULL) == FP_ERROR_INVALID_ARGUMENT
              && sdk_code(NULL, FP_SUBJECT_DRIVER, "v", NULL) == FP_ERROR_INVALID_ARGUMENT);

    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "fine-c-sdk"};
    CHECK("nothing was handed out yet",
          !fp_provider_invalidate_last(provider, &driver) && !fp_provider_invalidate_last(NULL, &driver)
              && !fp_provider_invalidate_last(provider, NULL));
    CHECK("an empty task is none", sdk_code(provider, FP_SUBJECT_DRIVER, "fine-c-sdk", "") == 0);
    CHECK("a question can be cancelled", sdk_question_is_cancelled(provider, &driver));
    bool dropped = fp_provider_invalidate_last(provider, &driver);
    CHECK("what an SDK got last is dropped, once, also after a question that was cancelled",
          dropped && !fp_provider_invalidate_last(provider, &driver));
    sdk_code(provider, FP_SUBJECT_DRIVER, "fine-c-sdk", NULL);
    sdk_code(provider, FP_SUBJECT_DRIVER, "fine-c-sdk", NULL);
    CHECK("and replaced", asked_for(server, "chaos/token/driver/fine-c-sdk") == 2);
    fp_provider_destroy(provider);
}

static void check_pauses(const char *server, const char *chaos) {
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    fp_provider *provider = fp_provider_create(&options, NULL);
    for (int call = 0; call < 2; call++) {
        CHECK("a server that asks for a wait is left alone",
              code_for(provider, FP_SUBJECT_DRIVER, "busy-c", NULL) == FP_ERROR_RATE_LIMITED
                  && asked_for(server, "chaos/token/driver/busy-c") == 1);
    }
    fp_provider_retry_now(provider);
    CHECK("until the app knows of a reason to ask again",
          code_for(provider, FP_SUBJECT_DRIVER, "busy-c", NULL) == FP_ERROR_RATE_LIMITED
              && asked_for(server, "chaos/token/driver/busy-c") == 2);
    fp_provider_destroy(provider);
}

/// What a call comes to whose credentials fail with a code; 0 also where they were not asked for.
static fp_error_code code_without_credentials(const char *chaos, fp_error_code reason) {
    struct witness witness = {.reason = reason};
    fp_options options = options_for(chaos, &witness);
    fp_provider *provider = fp_provider_create(&options, NULL);
    fp_error_code code = code_for(provider, FP_SUBJECT_DRIVER, "offline-c", NULL);
    fp_provider_destroy(provider);
    wait_until(&witness.released, 1);
    return witness.credentials == 1 ? code : 0;
}

static void check_credentials_and_cancelling(const char *server, const char *chaos) {
    CHECK("an app without a network is unreachable, and its driver not signed out",
          code_without_credentials(chaos, FP_ERROR_UNREACHABLE) == FP_ERROR_UNREACHABLE
              && code_without_credentials(chaos, FP_ERROR_INVALID_ANSWER) == FP_ERROR_UNREACHABLE
              && code_without_credentials(chaos, INT32_MIN) == FP_ERROR_UNREACHABLE);
    CHECK("so is one whose network is slow", code_without_credentials(chaos, FP_ERROR_TIMED_OUT) == FP_ERROR_TIMED_OUT);
    CHECK("a refusal may be told as such", code_without_credentials(chaos, FP_ERROR_REFUSED) == FP_ERROR_REFUSED);
    CHECK("without credentials the server is not asked", asked_for(server, "chaos/token/driver/offline-c") == 0);
    struct witness witness = {0};
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    options.context = &witness;
    options.credentials = on_credentials;
    fp_provider *provider = fp_provider_create(&options, NULL);
    CHECK("an app without credentials is refused",
          code_for(provider, FP_SUBJECT_DRIVER, "vehicle", NULL) == FP_ERROR_REFUSED && witness.credentials == 1);
    fp_provider_destroy(provider);

    witness.secret = "two\r\nlines";
    provider = fp_provider_create(&options, NULL);
    CHECK("a header of two lines is refused",
          code_for(provider, FP_SUBJECT_DRIVER, "vehicle", NULL) == FP_ERROR_INVALID_ARGUMENT);
    fp_provider_destroy(provider);

    options.credentials = NULL;
    provider = fp_provider_create(&options, NULL);
    fp_subject hanging = {.kind = FP_SUBJECT_DRIVER, .id = "hang-c"};
    CHECK("a limit ends the wait", code_of(provider, &hanging, 200) == FP_ERROR_TIMED_OUT);
    struct outcome cancelled;
    outcome_init(&cancelled);
    fp_fetch *call = NULL;
    fp_provider_fetch_token(provider, &hanging, FP_DEFAULT_TIMEOUT_MS, on_token, &cancelled, &call);
    fp_fetch_cancel(call);
    fp_fetch_cancel(call);
    fp_fetch_release(call);
    wait_for(&cancelled);
    CHECK("a call can be cancelled",
          cancelled.calls == 1 && cancelled.error && cancelled.error->code == FP_ERROR_CANCELLED);
    outcome_free(&cancelled);
    fp_provider_destroy(provider);
}

static void check_life(const char *server, const char *chaos) {
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    fp_provider *provider = fp_provider_create(&options, NULL);
    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "life-c"};
    struct outcome first, second;
    ensure(provider, &driver, 40 * 60000, &first);
    ensure(provider, &driver, 40 * 60000, &second);
    CHECK("a life is ensured and told",
          !first.error && first.calls == 1 && first.life >= 40 * 60000 && first.life <= 60 * 60000);
    CHECK("what lives long enough is not fetched again",
          !second.error && second.life > 40 * 60000 && second.life <= first.life
              && asked_for(server, "chaos/token/driver/life-c") == 1);
    CHECK("outcomes of it come on other threads", !pthread_equal(first.thread, pthread_self()));
    outcome_free(&first);
    outcome_free(&second);
    CHECK("more than an hour cannot be had", ensure_code(provider, &driver, 61 * 60000) == FP_ERROR_LIFE_UNAVAILABLE);
    CHECK("nor can all the time in the world", ensure_code(provider, &driver, INT64_MAX) == FP_ERROR_LIFE_UNAVAILABLE);
    CHECK("the token in hand stays", code_of(provider, &driver, 1000) == 0
              && asked_for(server, "chaos/token/driver/life-c") == 1);

    fp_subject hanging = {.kind = FP_SUBJECT_DRIVER, .id = "hang-life"};
    struct outcome late, cancelled;
    outcome_init(&late);
    fp_provider_ensure(provider, &hanging, 1000, 200, on_life, &late, NULL);
    wait_for(&late);
    CHECK("a limit ends the wait for a life",
          late.calls == 1 && late.life == -1 && late.error && late.error->code == FP_ERROR_TIMED_OUT);
    outcome_free(&late);
    outcome_init(&cancelled);
    fp_fetch *call = NULL;
    fp_provider_ensure(provider, &hanging, 1000, FP_DEFAULT_TIMEOUT_MS, on_life, &cancelled, &call);
    fp_fetch_cancel(call);
    fp_fetch_release(call);
    wait_for(&cancelled);
    CHECK("so does cancelling",
          cancelled.calls == 1 && cancelled.error && cancelled.error->code == FP_ERROR_CANCELLED);
    outcome_free(&cancelled);
    fp_provider_ensure(provider, &driver, 1000, 1000, NULL, NULL, NULL);
    fp_provider_destroy(provider);
}

static void check_metrics(const char *chaos) {
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    fp_provider *provider = fp_provider_create(&options, NULL);
    fp_subject slow = {.kind = FP_SUBJECT_DRIVER, .id = "slow-metrics"};
    struct outcome outcome;
    for (int call = 0; call < 4; call++) {
        fetch(provider, &slow, FP_DEFAULT_TIMEOUT_MS, &outcome);
        if (call == 3 && outcome.token) fp_provider_invalidate(provider, &slow, outcome.token->text);
        outcome_free(&outcome);
    }
    code_for(provider, FP_SUBJECT_DRIVER, "broken-metrics", NULL);
    // A program that is newer than the library has a longer struct.
    struct {
        fp_metrics known;
        int64_t newer;
    } metrics = {.newer = 1};
    bool written = fp_provider_metrics(provider, &metrics.known, sizeof metrics);
    CHECK("the numbers tell what was done",
          written && metrics.known.hits == 3 && metrics.known.waits == 2 && metrics.known.fetches == 1
              && metrics.known.failures == 1 && metrics.known.refusals == 1 && metrics.known.longest_wait_ms >= 500
              && metrics.known.waited_ms >= metrics.known.longest_wait_ms && metrics.known.longest_wait_ms < 8000);
    CHECK("what the library does not know is 0", metrics.newer == 0);
    fp_provider_destroy(provider);
}

/// The text of the token that a provider of its own gets, with a folder to keep it in; empty when there is none.
static void kept_token(const char *chaos, const char *folder, struct witness *witness, char *text, size_t size) {
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    options.store_folder = folder;
    options.context = witness;
    options.on_event = on_event;
    options.release_context = on_release;
    fp_provider *provider = fp_provider_create(&options, NULL);
    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "kept-c"};
    struct outcome outcome;
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &outcome);
    snprintf(text, size, "%s", outcome.token ? outcome.token->text : "");
    outcome_free(&outcome);
    int released = witness->released;
    fp_provider_destroy(provider);
    wait_until(&witness->released, released + 1);
}

static void check_store(const char *server, const char *chaos) {
    char parent[] = "/tmp/fleetpass-c-XXXXXX", folder[60], file[300], first[2000], second[2000], third[2000];
    if (!mkdtemp(parent)) return;
    snprintf(folder, sizeof folder, "%s/tokens", parent);
    struct witness witness = {0};
    kept_token(chaos, folder, &witness, first, sizeof first);
    struct stat status = {0};
    for (int tries = 0; tries < 3000 && !stored_file(folder, file, sizeof file); tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    CHECK("a folder keeps the token, for its owner only",
          first[0] && stat(folder, &status) == 0 && (status.st_mode & 0777) == 0700 && stat(file, &status) == 0
              && (status.st_mode & 0777) == 0600);
    kept_token(chaos, folder, &witness, second, sizeof second);
    CHECK("another provider restores it, without a request",
          strcmp(first, second) == 0 && witness.restored == 1 && asked_for(server, "chaos/token/driver/kept-c") == 1);
    chmod(folder, 0755);
    kept_token(chaos, folder, &witness, third, sizeof third);
    CHECK("a folder that is open to others is told of, and the token is fetched",
          third[0] && strcmp(first, third) != 0 && witness.store_failed >= 1
              && asked_for(server, "chaos/token/driver/kept-c") == 2);
    unlink(file);
    rmdir(folder);
    rmdir(parent);
}

static void on_closed(void *context) {
    (*(atomic_int *)context)++;
}

/// What a call comes to that is made right after its provider was closed with the token at hand.
static fp_error_code code_after_close(const fp_options *options) {
    fp_provider *provider = fp_provider_create(options, NULL);
    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "closed-at-once-c"};
    bool kept = code_of(provider, &driver, FP_DEFAULT_TIMEOUT_MS) == 0;
    fp_provider_close(provider, NULL, NULL);
    fp_error_code code = code_of(provider, &driver, FP_DEFAULT_TIMEOUT_MS);
    fp_provider_destroy(provider);
    return kept ? code : 0;
}

static void check_closing(const char *chaos) {
    char parent[] = "/tmp/fleetpass-c-XXXXXX", folder[60], file[300];
    if (!mkdtemp(parent)) return;
    snprintf(folder, sizeof folder, "%s/tokens", parent);
    fp_options options;
    fp_options_init(&options, sizeof options);
    options.server_url = chaos;
    options.store_folder = folder;
    fp_provider *provider = fp_provider_create(&options, NULL);
    fp_subject driver = {.kind = FP_SUBJECT_DRIVER, .id = "closed-c"};
    fp_subject hanging = {.kind = FP_SUBJECT_DRIVER, .id = "hang-closed-c"};
    struct outcome kept, waiting;
    fetch(provider, &driver, FP_DEFAULT_TIMEOUT_MS, &kept);
    outcome_init(&waiting);
    fp_provider_fetch_token(provider, &hanging, FP_DEFAULT_TIMEOUT_MS, on_token, &waiting, NULL);
    atomic_int closed = 0;
    fp_provider_close(provider, on_closed, &closed);
    wait_until(&closed, 1);
    wait_for(&waiting);
    CHECK("a call that waits is refused when the provider closes",
          kept.token && waiting.calls == 1 && waiting.error && waiting.error->code == FP_ERROR_REFUSED);
    CHECK("and so is every later one, though its token was at hand",
          code_of(provider, &driver, FP_DEFAULT_TIMEOUT_MS) == FP_ERROR_REFUSED);
    bool written = stored_file(folder, file, sizeof file);
    CHECK("the folder is complete when the provider is closed, and can go",
          written && unlink(file) == 0 && rmdir(folder) == 0 && rmdir(parent) == 0);
    fp_provider_close(provider, on_closed, &closed);
    fp_provider_close(NULL, on_closed, &closed);
    fp_provider_close(provider, NULL, NULL);
    wait_until(&closed, 3);
    CHECK("closing again, or nothing, completes as well", closed == 3);
    outcome_free(&kept);
    outcome_free(&waiting);
    fp_provider_destroy(provider);

    options.store_folder = NULL;
    int refused = 0;
    for (int round = 0; round < 100; round++) refused += code_after_close(&options) == FP_ERROR_REFUSED;
    CHECK("a call right after closing gets no token, though nobody waited for the end", refused == 100);
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: c-program TOKEN-SERVER SECRET\n");
        return 2;
    }
    char up[200], chaos[200];
    snprintf(up, sizeof up, "%s/up", arguments[1]);
    snprintf(chaos, sizeof chaos, "%s/chaos", arguments[1]);
    check_creation(up);
    check_real_server(arguments[1], up, arguments[2]);
    check_own_client(up);
    check_credentials_and_cancelling(arguments[1], chaos);
    check_sdk_questions(arguments[1], chaos);
    check_pauses(arguments[1], chaos);
    check_life(arguments[1], chaos);
    check_metrics(chaos);
    check_store(arguments[1], chaos);
    check_closing(chaos);
    return failed_checks ? 1 : 0;
}
