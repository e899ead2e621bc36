// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// What an app in Objective-C does with the provider, from the first token to the last error, against a real token
// server and one that misbehaves. Counted by hand, as the gcc runtime has no automatic reference counting; blocks
// capture only what lives on anyway, as that runtime does not keep what they capture. Prints one line per check.

#import "FPConsumerAuthorization.h"
#import "FPDriverAuthorization.h"
#import "FleetTokenClientObjC.h"

#import <Foundation/NSDebug.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "checks.h"

// The SDKs make contexts for themselves; here the tests stand in for them.
@implementation GMTDAuthorizationContext
@synthesize vehicleID = _vehicleID;
@synthesize taskID = _taskID;
@end

@implementation GMTCAuthorizationContext
@synthesize tripID = _tripID;
@end

/// What calls came to.
@interface Outcome : NSObject {
    NSCondition *_condition;
    NSInteger _calls;
    NSInteger _tokens;
    NSString *_token;
    NSError *_error;
    NSThread *_thread;
    NSTimeInterval _life;
    FPTokenCompletion _completion;
    FPTokenLifeCompletion _lifeCompletion;
}
- (FPTokenCompletion)completion;
- (FPTokenLifeCompletion)lifeCompletion;
- (void)waitForCalls:(NSInteger)wanted;
- (NSInteger)calls;
- (NSInteger)tokens;
- (NSString *)token;
- (NSTimeInterval)life;
- (NSError *)error;
- (BOOL)cameOnThread:(NSThread *)thread;
@end

@implementation Outcome

- (instancetype)init {
    if ((self = [super init])) {
        _condition = [[NSCondition alloc] init];
        Outcome *outcome = self;
        _completion = Block_copy(^(NSString *token, NSError *error) {
            [outcome takeToken:token life:0 error:error];
        });
        _lifeCompletion = Block_copy(^(NSTimeInterval life, NSError *error) {
            [outcome takeToken:nil life:life error:error];
        });
    }
    return self;
}

- (void)dealloc {
    Block_release(_completion);
    Block_release(_lifeCompletion);
    [_condition release];
    [_token release];
    [_error release];
    [super dealloc];
}

- (FPTokenCompletion)completion {
    return _completion;
}

- (FPTokenLifeCompletion)lifeCompletion {
    return _lifeCompletion;
}

- (void)takeToken:(NSString *)token life:(NSTimeInterval)life error:(NSError *)error {
    [_condition lock];
    _calls++;
    if (token && !error) _tokens++;
    [_token release];
    [_error release];
    _token = [token retain];
    _life = life;
    _error = [error retain];
    _thread = [NSThread currentThread];
    [_condition broadcast];
    [_condition unlock];
}

- (void)waitForCalls:(NSInteger)wanted {
    NSDate *limit = [NSDate dateWithTimeIntervalSinceNow:30];
    [_condition lock];
    while (_calls < wanted && [_condition waitUntilDate:limit]) {}
    [_condition unlock];
}

- (NSInteger)calls {
    return _calls;
}

- (NSInteger)tokens {
    return _tokens;
}

- (NSString *)token {
    return _token;
}

- (NSTimeInterval)life {
    return _life;
}

- (NSError *)error {
    return _error;
}

- (BOOL)cameOnThread:(NSThread *)thread {
    return _thread == thread;
}

@end

static NSString *server;

static FPTokenProviderOptions *options(NSString *path, FPTokenEndpointKind kind) {
    NSURL *URL = [NSURL URLWithString:[server stringByAppendingString:path]];
    return [[[FPTokenProviderOptions alloc] initWithServerURL:URL endpointKind:kind] autorelease];
}

static FPTokenProvider *provider(FPTokenProviderOptions *options) {
    return [[[FPTokenProvider alloc] initWithOptions:options error:NULL] autorelease];
}

static int count(const char *path) {
    return asked_for([server UTF8String], path);
}

static Outcome *fetch(FPTokenProvider *provider, FPTokenSubject *subject) {
    Outcome *outcome = [[[Outcome alloc] init] autorelease];
    [provider fetchTokenForSubject:subject completion:[outcome completion]];
    [outcome waitForCalls:1];
    return outcome;
}

static Outcome *ensure(FPTokenProvider *provider, FPTokenSubject *subject, NSTimeInterval life) {
    Outcome *outcome = [[[Outcome alloc] init] autorelease];
    [provider ensureTokenValidForInterval:life subject:subject completion:[outcome lifeCompletion]];
    [outcome waitForCalls:1];
    return outcome;
}

/// A text that has no UTF-8: it was cut within a character.
static NSString *textWithHalfACharacter(void) {
    return [[NSString stringWithUTF8String:"v\xF0\x9F\x98\x80"] substringToIndex:2];
}

static BOOL failedWith(Outcome *outcome, FPTokenErrorCode code) {
    NSError *error = [outcome error];
    return [outcome calls] == 1 && ![outcome token] && [outcome life] == 0 && [[error domain] isEqual:FPTokenErrorDomain]
        && [error code] == code
        && [[error localizedDescription] length] > 0;
}

static Outcome *fetchBadly(FPTokenProvider *provider, NSString *vehicleID) {
    return fetch(provider, [FPTokenSubject driverWithVehicleID:vehicleID]);
}

/// The claims of a token, as text.
static NSString *claims(NSString *token) {
    NSArray *parts = [token componentsSeparatedByString:@"."];
    if ([parts count] != 3) return @"";
    NSMutableString *text = [[[parts objectAtIndex:1] mutableCopy] autorelease];
    [text replaceOccurrencesOfString:@"-" withString:@"+" options:0 range:NSMakeRange(0, [text length])];
    [text replaceOccurrencesOfString:@"_" withString:@"/" options:0 range:NSMakeRange(0, [text length])];
    while ([text length] % 4) [text appendString:@"="];
    NSData *data = [[[NSData alloc] initWithBase64EncodedString:text options:0] autorelease];
    return [[[NSString alloc] initWithData:data encoding:NSUTF8StringEncoding] autorelease];
}

static atomic_int credentialQuestions, eventsFetched, eventsRefreshed, eventsStale, eventsFailed, eventsRefused,
    eventsOfClock, eventsRestored, eventsOfStore;

static FPTokenProviderOptions *signedInOptions(NSString *secret) {
    FPTokenProviderOptions *signedIn = options(@"/up", FPTokenEndpointKindFleetpass);
    [signedIn setCredentialsHandler:^(FPCredentialsRequest *request) {
        credentialQuestions++;
        NSString *value = [NSString stringWithFormat:@"Bearer %@", secret];
        [request sendHeaderFields:[NSDictionary dictionaryWithObject:value forKey:@"Authorization"]];
        // The first answer counts.
        [request fail];
    }];
    return signedIn;
}

// MARK: - The flow of the documentation's sample: the SDK asks with its context

static void checkDriverSDK(NSString *secret) {
    FPTokenProvider *tokens = provider(signedInOptions(secret));
    id<GMTDAuthorization> authorization =
        [[[FPDriverAuthorization alloc] initWithProvider:tokens
                                             vehicleKind:FPTokenVehicleKindOnDemand] autorelease];
    id<GMTDAuthorization> delivery =
        [[[FPDriverAuthorization alloc] initWithProvider:tokens
                                             vehicleKind:FPTokenVehicleKindDelivery] autorelease];
    GMTDAuthorizationContext *context = [[[GMTDAuthorizationContext alloc] init] autorelease];
    context->_vehicleID = @"vehicle-o";
    Outcome *first = [[[Outcome alloc] init] autorelease], *second = [[[Outcome alloc] init] autorelease];
    [authorization fetchTokenWithContext:context completion:[first completion]];
    [first waitForCalls:1];
    [authorization fetchTokenWithContext:context completion:[second completion]];
    [second waitForCalls:1];
    CHECK("the Driver SDK gets a token for its vehicle",
          [[first token] length] > 0 && ![first error]
              && [claims([first token]) rangeOfString:@"\"vehicleid\":\"vehicle-o\""].length > 0);
    CHECK("its second report gets the same token, without a request",
          [[first token] isEqual:[second token]] && count("up/token/driver/vehicle-o") == 1);
    CHECK("completions come on another thread", ![first cameOnThread:[NSThread currentThread]]
              && ![second cameOnThread:[NSThread currentThread]]);
    CHECK("credentials are asked for once per request", credentialQuestions == 1);

    context->_taskID = @"";
    Outcome *taskless = [[[Outcome alloc] init] autorelease];
    [authorization fetchTokenWithContext:context completion:[taskless completion]];
    [taskless waitForCalls:1];
    CHECK("an empty task is none",
          [[taskless token] isEqual:[first token]] && count("up/token/driver/vehicle-o") == 1);

    context->_taskID = @"task-o";
    Outcome *task = [[[Outcome alloc] init] autorelease], *unexpected = [[[Outcome alloc] init] autorelease];
    [authorization fetchTokenWithContext:context completion:[unexpected completion]];
    [delivery fetchTokenWithContext:context completion:[task completion]];
    [unexpected waitForCalls:1];
    [task waitForCalls:1];
    CHECK("an on-demand vehicle has no tasks", failedWith(unexpected, FPTokenErrorUnexpectedTask));
    CHECK("the task of a delivery vehicle's context is honoured",
          [claims([task token]) rangeOfString:@"\"taskid\":\"task-o\""].length > 0
              && [claims([task token]) rangeOfString:@"\"deliveryvehicleid\":\"vehicle-o\""].length > 0);

    Outcome *nobody = [[[Outcome alloc] init] autorelease], *nameless = [[[Outcome alloc] init] autorelease];
    [authorization fetchTokenWithContext:nil completion:[nobody completion]];
    context->_vehicleID = nil;
    context->_taskID = nil;
    [authorization fetchTokenWithContext:context completion:[nameless completion]];
    [nobody waitForCalls:1];
    [nameless waitForCalls:1];
    CHECK("no context is answered with an error", failedWith(nobody, FPTokenErrorMissingContext));
    CHECK("no vehicle is answered with an error", failedWith(nameless, FPTokenErrorMissingID));
    Outcome *malformed = [[[Outcome alloc] init] autorelease], *broken = [[[Outcome alloc] init] autorelease];
    context->_vehicleID = @"a/b";
    [authorization fetchTokenWithContext:context completion:[malformed completion]];
    context->_vehicleID = textWithHalfACharacter();
    [authorization fetchTokenWithContext:context completion:[broken completion]];
    [malformed waitForCalls:1];
    [broken waitForCalls:1];
    CHECK("a vehicle that is no id is answered with an error",
          failedWith(malformed, FPTokenErrorInvalidID) && failedWith(broken, FPTokenErrorInvalidID)
              && [[[[malformed error] userInfo] objectForKey:FPTokenErrorNameKey] isEqual:@"invalidID"]);

    context->_vehicleID = @"vehicle-silent";
    FPTokenCompletion none = nil;
    [authorization fetchTokenWithContext:context completion:none];
    for (int tries = 0; tries < 300 && count("up/token/driver/vehicle-silent") == 0; tries++) {
        [NSThread sleepForTimeInterval:0.01];
    }
    CHECK("no completion only fills the cache", count("up/token/driver/vehicle-silent") == 1);
}

static Outcome *answer(FPDriverAuthorization *authorization, GMTDAuthorizationContext *context) {
    Outcome *outcome = [[[Outcome alloc] init] autorelease];
    [authorization fetchTokenWithContext:context completion:[outcome completion]];
    [outcome waitForCalls:1];
    return outcome;
}

static void checkRefusedSDKTokens(void) {
    FPTokenProvider *tokens = provider(options(@"/chaos", FPTokenEndpointKindFleetpass));
    FPDriverAuthorization *driver =
        [[[FPDriverAuthorization alloc] initWithProvider:tokens
                                             vehicleKind:FPTokenVehicleKindOnDemand] autorelease];
    GMTDAuthorizationContext *context = [[[GMTDAuthorizationContext alloc] init] autorelease];
    context->_vehicleID = @"fine-sdk";
    NSString *refused = [answer(driver, context) token];
    [driver lastTokenWasRefusedForVehicleID:@"fine-other"];
    CHECK("another vehicle's refusal changes nothing", [[answer(driver, context) token] isEqual:refused]);
    [driver lastTokenWasRefusedForVehicleID:@"fine-sdk"];
    NSString *replaced = [answer(driver, context) token];
    CHECK("a token that the engine refused the SDK is replaced",
          refused && replaced && ![replaced isEqual:refused] && count("chaos/token/driver/fine-sdk") == 2);

    FPConsumerAuthorization *consumer =
        [[[FPConsumerAuthorization alloc] initWithProvider:tokens] autorelease];
    GMTCAuthorizationContext *trip = [[[GMTCAuthorizationContext alloc] init] autorelease];
    trip->_tripID = @"fine-trip";
    Outcome *first = [[[Outcome alloc] init] autorelease], *second = [[[Outcome alloc] init] autorelease];
    [consumer fetchTokenWithContext:trip completion:[first completion]];
    [first waitForCalls:1];
    [consumer lastTokenWasRefusedForTripID:@"fine-trip"];
    [consumer fetchTokenWithContext:trip completion:[second completion]];
    [second waitForCalls:1];
    CHECK("so is a trip's", [first token] && [second token] && ![[first token] isEqual:[second token]]);
    FPTokenSubject *nobody = nil;
    CHECK("nothing is refused of whom no SDK asked for",
          ![tokens invalidateLastTokenForSubject:nobody]
              && ![tokens invalidateLastTokenForSubject:[FPTokenSubject driverWithVehicleID:@"fine-other"]]);
}

static void checkConsumerSDK(NSString *secret) {
    id<GMTCAuthorization> authorization =
        [[[FPConsumerAuthorization alloc] initWithProvider:provider(signedInOptions(secret))] autorelease];
    GMTCAuthorizationContext *context = [[[GMTCAuthorizationContext alloc] init] autorelease];
    context->_tripID = @"trip-o";
    Outcome *refused = [[[Outcome alloc] init] autorelease], *nobody = [[[Outcome alloc] init] autorelease];
    [authorization fetchTokenWithContext:context completion:[refused completion]];
    [authorization fetchTokenWithContext:nil completion:[nobody completion]];
    [refused waitForCalls:1];
    [nobody waitForCalls:1];
    NSDictionary *info = [[refused error] userInfo];
    CHECK("a role that the caller lacks is refused",
          failedWith(refused, FPTokenErrorRefused)
              && [[info objectForKey:FPTokenErrorHTTPStatusKey] isEqual:[NSNumber numberWithInt:403]]
              && [[info objectForKey:FPTokenErrorNameKey] isEqual:@"refused"]
              && ![info objectForKey:FPTokenErrorRetryAfterKey]);
    CHECK("no trip is answered with an error", failedWith(nobody, FPTokenErrorMissingContext));
    CHECK("a caller whom nobody knows is refused",
          failedWith(fetchBadly(provider(signedInOptions(@"wrong")), @"vehicle-x"), FPTokenErrorRefused));
}

// MARK: - Answers of a server that misbehaves

static void checkErrors(void) {
    FPTokenProvider *tokens = provider(options(@"/chaos", FPTokenEndpointKindFleetpass));
    Outcome *refused = fetchBadly(tokens, @"refused-1");
    CHECK("401 is a refusal", failedWith(refused, FPTokenErrorRefused)
              && [[[[refused error] userInfo] objectForKey:FPTokenErrorHTTPStatusKey] intValue] == 401);
    CHECK("403 is a refusal", failedWith(fetchBadly(tokens, @"forbidden-1"), FPTokenErrorRefused));
    Outcome *busy = fetchBadly(tokens, @"busy-1");
    CHECK("429 tells the wait", failedWith(busy, FPTokenErrorRateLimited)
              && [[[[busy error] userInfo] objectForKey:FPTokenErrorRetryAfterKey] doubleValue] == 7);
    BOOL isLeftAlone = failedWith(fetchBadly(tokens, @"busy-1"), FPTokenErrorRateLimited)
        && count("chaos/token/driver/busy-1") == 1;
    [tokens retryNow];
    CHECK("the wait ends where the app knows of a reason to ask again",
          isLeftAlone && failedWith(fetchBadly(tokens, @"busy-1"), FPTokenErrorRateLimited)
              && count("chaos/token/driver/busy-1") == 2);
    CHECK("500 may be tried again", failedWith(fetchBadly(tokens, @"broken-1"), FPTokenErrorUnreachable));
    CHECK("a text is no answer", failedWith(fetchBadly(tokens, @"text-1"), FPTokenErrorInvalidAnswer));
    CHECK("another vehicle's token is thrown away", failedWith(fetchBadly(tokens, @"other-1"), FPTokenErrorWrongToken));
    CHECK("an empty id is refused", failedWith(fetchBadly(tokens, @""), FPTokenErrorInvalidArgument));
    NSString *none = nil;
    CHECK("no id is refused", failedWith(fetchBadly(tokens, none), FPTokenErrorInvalidArgument));
    CHECK("no subject is refused", failedWith(fetch(tokens, nil), FPTokenErrorInvalidArgument));
    unichar hidden[] = {'v', 0, 'x'};
    CHECK("a zero does not hide the rest of an id",
          failedWith(fetchBadly(tokens, [NSString stringWithCharacters:hidden length:3]), FPTokenErrorInvalidArgument));
    CHECK("half a character is refused",
          failedWith(fetchBadly(tokens, textWithHalfACharacter()), FPTokenErrorInvalidArgument));
    id number = [NSNumber numberWithInt:17], null = [NSNull null];
    FPTokenSubject *numbered = [FPTokenSubject driverWithVehicleID:@"van-1"
                                                            taskID:number
                                                       vehicleKind:FPTokenVehicleKindDelivery];
    CHECK("a number or a null is no text",
          failedWith(fetchBadly(tokens, number), FPTokenErrorInvalidArgument)
              && failedWith(fetchBadly(tokens, null), FPTokenErrorInvalidArgument)
              && failedWith(fetch(tokens, numbered), FPTokenErrorInvalidArgument)
              && ![tokens invalidateToken:null forSubject:[FPTokenSubject driverWithVehicleID:@"fine-1"]]);

    NSError *error = nil;
    NSURL *elsewhere = [NSURL URLWithString:@"http://tokens.example.com"];
    FPTokenProviderOptions *insecure =
        [[[FPTokenProviderOptions alloc] initWithServerURL:elsewhere
                                              endpointKind:FPTokenEndpointKindOnDemand] autorelease];
    CHECK("plain HTTP to elsewhere makes no provider",
          ![[FPTokenProvider alloc] initWithOptions:insecure error:&error] && [error code] == FPTokenErrorInsecureURL
              && [[error domain] isEqual:FPTokenErrorDomain]);
    FPTokenProviderOptions *unfit = options(@"/up", FPTokenEndpointKindFleetpass);
    [unfit setMinimumLife:-5];
    CHECK("a limit out of range makes no provider",
          ![[FPTokenProvider alloc] initWithOptions:unfit error:&error]
              && [error code] == FPTokenErrorInvalidConfiguration);
    FPTokenProviderOptions *patient = options(@"/up", FPTokenEndpointKindFleetpass);
    NSTimeInterval patience = [patient patience];
    [patient setPatience:3601];
    CHECK("patience has a default and a limit",
          patience == 2 && ![[FPTokenProvider alloc] initWithOptions:patient error:&error]
              && [error code] == FPTokenErrorInvalidConfiguration);
    FPTokenProviderOptions *nothing = nil;
    CHECK("no options make no provider",
          ![[FPTokenProvider alloc] initWithOptions:nothing error:&error]
              && [error code] == FPTokenErrorInvalidArgument);
    CHECK("the reason may be ignored", ![[FPTokenProvider alloc] initWithOptions:nothing error:NULL]);
}

static void checkTime(void) {
    FPTokenProvider *tokens = provider(options(@"/chaos", FPTokenEndpointKindFleetpass));
    FPTokenSubject *hanging = [FPTokenSubject driverWithVehicleID:@"hang-o"];
    Outcome *late = [[[Outcome alloc] init] autorelease], *cancelled = [[[Outcome alloc] init] autorelease];
    [tokens fetchTokenForSubject:hanging timeout:0.2 completion:[late completion]];
    [late waitForCalls:1];
    CHECK("a limit ends the wait", failedWith(late, FPTokenErrorTimedOut));
    FPTokenFetch *call = [tokens fetchTokenForSubject:hanging completion:[cancelled completion]];
    [call cancel];
    [call cancel];
    [cancelled waitForCalls:1];
    CHECK("a call can be cancelled", failedWith(cancelled, FPTokenErrorCancelled));
    Outcome *never = [[[Outcome alloc] init] autorelease];
    [tokens fetchTokenForSubject:hanging timeout:0.0 / 0.0 completion:[never completion]];
    [never waitForCalls:1];
    CHECK("a limit that is no number is refused", failedWith(never, FPTokenErrorInvalidArgument));
}

// MARK: - Refresh, invalidation, own client

static void checkRefresh(void) {
    FPTokenProviderOptions *quick = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [quick setMinimumLife:0];
    [quick setBackOffBase:0.01];
    [quick setBackOffCap:0.01];
    [quick setEventHandler:^(FPTokenEvent *event) {
        BOOL told = [event fingerprint] && [[event life] doubleValue] > 0;
        if ([event kind] == FPTokenEventKindFetched && told) eventsFetched++;
        if ([event kind] == FPTokenEventKindRefreshed && told) eventsRefreshed++;
        if ([event kind] == FPTokenEventKindServedStale) eventsStale++;
        if ([event kind] == FPTokenEventKindRefused && [event subject] && ![event life]) eventsRefused++;
        BOOL behind = [[event clockOffset] doubleValue] > -1210 && [[event clockOffset] doubleValue] < -1190;
        if ([event kind] == FPTokenEventKindClockError && behind && ![event subject]) eventsOfClock++;
        if ([event kind] == FPTokenEventKindFailed && [[event error] code] == FPTokenErrorRefused) eventsFailed++;
    }];
    FPTokenProvider *tokens = provider(quick);
    FPTokenSubject *vehicle = [FPTokenSubject driverWithVehicleID:@"short-o"];
    NSString *first = [[[fetch(tokens, vehicle) token] retain] autorelease], *latest = first;
    BOOL always = first != nil;
    // Tokens of 4 s: at half their life, a report starts the refresh, still with the old token.
    for (int report = 0; report < 100 && always && [latest isEqual:first]; report++) {
        [NSThread sleepForTimeInterval:0.05];
        @autoreleasepool {
            NSString *token = [fetch(tokens, vehicle) token];
            always = token != nil;
            latest = [token retain];
        }
        [latest autorelease];
    }
    CHECK("a token is refreshed before it ends, and every report has one", always && ![latest isEqual:first]);
    CHECK("one request brought it", count("chaos/token/driver/short-o") == 2);
    CHECK("events tell of it", eventsFetched == 1 && eventsRefreshed == 1 && eventsStale >= 1);
    fetchBadly(tokens, @"refused-event");
    for (int tries = 0; tries < 300 && eventsFailed == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    CHECK("events tell of failures", eventsFailed == 1);

    FPTokenSubject *other = [FPTokenSubject driverWithVehicleID:@"fine-o"];
    NSString *refused = [fetch(tokens, other) token];
    CHECK("a refused token is reported", [tokens invalidateToken:refused forSubject:other]);
    NSString *replaced = [fetch(tokens, other) token];
    CHECK("and replaced", replaced && ![replaced isEqual:refused] && count("chaos/token/driver/fine-o") == 2);
    [tokens invalidateToken:refused forSubject:other];
    CHECK("an old refusal does not reach the new token",
          [[fetch(tokens, other) token] isEqual:replaced] && count("chaos/token/driver/fine-o") == 2);
    fetchBadly(tokens, @"ahead-o");
    for (int tries = 0; tries < 300 && eventsOfClock == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    CHECK("events tell of refused tokens", eventsRefused == 1);
    CHECK("events tell of a clock that is wrong", eventsOfClock == 1);
    NSString *none = nil;
    FPTokenSubject *nobody = nil;
    CHECK("nothing cannot be refused",
          ![tokens invalidateToken:none forSubject:other] && ![tokens invalidateToken:refused forSubject:nobody]);
}

static sem_t eventGate;
static atomic_int eventsInside, eventsAtOnce, eventsAtGate;
static NSMutableArray *eventsEnded;

/// The ends of the vehicles' names whose events were handled, in that order, once there are so many.
static NSArray *handledEvents(NSUInteger wanted) {
    for (int tries = 0; tries < 3000; tries++) {
        @synchronized(eventsEnded) {
            if ([eventsEnded count] >= wanted) break;
        }
        [NSThread sleepForTimeInterval:0.01];
    }
    @synchronized(eventsEnded) {
        return [[eventsEnded copy] autorelease];
    }
}

static void handleSlowly(FPTokenEvent *event) {
    int inside = ++eventsInside;
    if (inside > eventsAtOnce) eventsAtOnce = inside;
    if ([event kind] == FPTokenEventKindRefused) {
        eventsAtGate++;
        sem_wait(&eventGate);
    }
    // Time enough for another one, if it did not wait.
    for (int turn = 0; turn < 100; turn++) sched_yield();
    @synchronized(eventsEnded) {
        [eventsEnded addObject:[[[event subject] identifier] substringFromIndex:[@"fine-event-" length]]];
    }
    eventsInside--;
}

static void checkEventsOnQueue(void) {
    enum { capacity = 64, missed = 6 };
    sem_init(&eventGate, 0, 0);
    eventsEnded = [[NSMutableArray alloc] init];
    NSOperationQueue *queue = [[[NSOperationQueue alloc] init] autorelease];
    [queue setMaxConcurrentOperationCount:4];
    FPTokenProviderOptions *onQueue = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [onQueue setCallbackQueue:queue];
    [onQueue setEventHandler:^(FPTokenEvent *event) { handleSlowly(event); }];
    FPTokenProvider *tokens = provider(onQueue);
    FPTokenSubject *first = [FPTokenSubject driverWithVehicleID:@"fine-event-0"];
    NSString *refused = [fetch(tokens, first) token];
    handledEvents(1);
    [tokens invalidateToken:refused forSubject:first];
    for (int tries = 0; tries < 3000 && eventsAtGate == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    NSMutableArray *expected = [NSMutableArray arrayWithObjects:@"0", @"0", nil];
    Class events = NSClassFromString(@"FPTokenEvent");
    // GNUstep may leave a completion behind a handler that waits.
    FPTokenCompletion none = nil;
    for (int index = 1; index <= missed + capacity; index++) {
        int before = GSDebugAllocationTotal(events);
        NSString *vehicleID = [NSString stringWithFormat:@"fine-event-%d", index];
        [tokens fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:vehicleID] completion:none];
        for (int tries = 0; tries < 3000 && GSDebugAllocationTotal(events) == before; tries++) {
            [NSThread sleepForTimeInterval:0.01];
        }
        if (index > missed) [expected addObject:[NSString stringWithFormat:@"%d", index]];
    }
    sem_post(&eventGate);
    NSArray *handled = handledEvents([expected count]);
    CHECK("events come one after the other on a queue that runs several operations at once", eventsAtOnce == 1);
    CHECK("in order, and without the oldest that a slow handler left waiting", [handled isEqual:expected]);

    [queue setSuspended:YES];
    [tokens fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:@"fine-event-cancelled"] completion:none];
    for (int tries = 0; tries < 3000 && [[queue operations] count] == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    [queue cancelAllOperations];
    [queue setSuspended:NO];
    [queue waitUntilAllOperationsAreFinished];
    fetchBadly(tokens, @"fine-event-next");
    [expected addObjectsFromArray:[NSArray arrayWithObjects:@"cancelled", @"next", nil]];
    CHECK("an event whose operation the app cancelled comes with the next one",
          [handledEvents([expected count]) isEqual:expected]);
}

static atomic_int answersThoughCancelled;

static void checkCancelledOperations(void) {
    NSOperationQueue *queue = [[[NSOperationQueue alloc] init] autorelease];
    [queue setSuspended:YES];
    FPTokenProviderOptions *onQueue = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [onQueue setCallbackQueue:queue];
    FPTokenSubject *subject = [FPTokenSubject driverWithVehicleID:@"fine-cancelled"];
    [provider(onQueue) fetchTokenForSubject:subject
                                 completion:^(NSString *token, NSError *error) {
                                     if (token && !error) answersThoughCancelled++;
                                 }];
    for (int tries = 0; tries < 3000 && [[queue operations] count] == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    [queue cancelAllOperations];
    [queue setSuspended:NO];
    [queue waitUntilAllOperationsAreFinished];
    CHECK("a completion comes though the app cancelled what its queue had waiting", answersThoughCancelled == 1);
}

static void checkOwnClient(void) {
    FPTokenProviderOptions *own = options(@"/chaos", FPTokenEndpointKindCustom);
    [own setPath:@"auth/{kind}/{id}"];
    [own setTokenKey:@"access"];
    [own setExpiryKey:@"ttl"];
    [own setExpiryFormat:FPTokenExpiryFormatMillisecondsFromAnswer];
    [own setCredentialsHandler:^(FPCredentialsRequest *request) {
        [request sendHeaderFields:[NSDictionary dictionaryWithObject:@"the-session" forKey:@"X-Session"]];
    }];
    [own setHTTPHandler:^(FPHTTPRequest *request) {
        NSString *path = [[request URL] path];
        if ([path hasSuffix:@"/let-go"]) return;
        if ([path hasSuffix:@"/late"]) {
            [request failAfterTimeout:YES];
            return;
        }
        // Asks the server under another path, and passes on its answer under other names.
        NSString *vehicle = [path lastPathComponent];
        BOOL asked = [path hasSuffix:@"/auth/driver/mine"] && [[request method] isEqual:@"GET"] && ![request body]
            && [request timeout] > 0 && [request timeout] <= 7.8
            && [[[request headerFields] objectForKey:@"X-Session"] isEqual:@"the-session"];
        char text[4096];
        NSString *real = [@"chaos/token/driver/" stringByAppendingString:vehicle];
        get([server UTF8String], [real UTF8String], text, sizeof text);
        NSString *answer = [NSString stringWithUTF8String:text];
        answer = [answer stringByReplacingOccurrencesOfString:@"\"jwt\"" withString:@"\"access\""];
        answer = [answer stringByReplacingOccurrencesOfString:@"\"expires_in\": 3600" withString:@"\"ttl\": 3600000"];
        NSData *body = [answer dataUsingEncoding:NSUTF8StringEncoding];
        [request respondWithStatus:asked ? 200 : 400 headerFields:nil body:body];
        [request failAfterTimeout:YES];
    }];
    FPTokenProvider *tokens = provider(own);
    CHECK("an app's own HTTP client and server are used", [[fetchBadly(tokens, @"mine") token] length] > 0);
    CHECK("it may fail", failedWith(fetchBadly(tokens, @"late"), FPTokenErrorTimedOut));
    CHECK("a request that it lets go of has failed",
          failedWith(fetchBadly(tokens, @"let-go"), FPTokenErrorUnreachable));

    FPTokenProviderOptions *silent = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [silent setCredentialsHandler:^(FPCredentialsRequest *request) { (void)request; }];
    CHECK("a question for credentials that is let go of has failed, and signs nobody out",
          failedWith(fetchBadly(provider(silent), @"vehicle"), FPTokenErrorUnreachable)
              && count("chaos/token/driver/vehicle") == 0);
    FPTokenProviderOptions *offline = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [offline setCredentialsHandler:^(FPCredentialsRequest *request) {
        [request failWithoutNetwork];
        // The first answer counts.
        [request fail];
    }];
    CHECK("so does an app without a network",
          failedWith(fetchBadly(provider(offline), @"vehicle"), FPTokenErrorUnreachable)
              && count("chaos/token/driver/vehicle") == 0);
    FPTokenProviderOptions *signedOut = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [signedOut setCredentialsHandler:^(FPCredentialsRequest *request) { [request fail]; }];
    CHECK("an app where nobody is signed in is refused",
          failedWith(fetchBadly(provider(signedOut), @"vehicle"), FPTokenErrorRefused)
              && count("chaos/token/driver/vehicle") == 0);
}

// MARK: - Life, numbers, store

static void checkLife(void) {
    FPTokenProvider *tokens = provider(options(@"/chaos", FPTokenEndpointKindFleetpass));
    FPTokenSubject *subject = [FPTokenSubject driverWithVehicleID:@"life-o"];
    Outcome *first = ensure(tokens, subject, 2400), *second = ensure(tokens, subject, 2400);
    CHECK("a life is ensured and told",
          [first calls] == 1 && ![first error] && [first life] >= 2400 && [first life] <= 3600);
    CHECK("what lives long enough is not fetched again",
          [second life] >= 2400 && [second life] <= [first life] && count("chaos/token/driver/life-o") == 1);
    CHECK("outcomes of it come on another thread", ![first cameOnThread:[NSThread currentThread]]);
    CHECK("more than an hour cannot be had",
          failedWith(ensure(tokens, subject, 3700), FPTokenErrorLifeUnavailable)
              && count("chaos/token/driver/life-o") == 1);
    FPTokenSubject *nobody = nil;
    FPTokenLifeCompletion none = nil;
    CHECK("a life that makes no sense is refused",
          failedWith(ensure(tokens, subject, -1), FPTokenErrorInvalidArgument)
              && failedWith(ensure(tokens, subject, 0.0 / 0.0), FPTokenErrorInvalidArgument)
              && failedWith(ensure(tokens, nobody, 1), FPTokenErrorInvalidArgument));
    Outcome *cancelled = [[[Outcome alloc] init] autorelease];
    FPTokenSubject *hanging = [FPTokenSubject driverWithVehicleID:@"hang-life-o"];
    [[tokens ensureTokenValidForInterval:60 subject:hanging completion:[cancelled lifeCompletion]] cancel];
    [cancelled waitForCalls:1];
    CHECK("a call for a life can be cancelled", failedWith(cancelled, FPTokenErrorCancelled));
    [tokens ensureTokenValidForInterval:60 subject:subject completion:none];

    fetch(tokens, subject);
    FPTokenProvider *slow = provider(options(@"/chaos", FPTokenEndpointKindFleetpass));
    FPTokenSubject *measured = [FPTokenSubject driverWithVehicleID:@"slow-metrics-o"];
    NSString *token = [fetch(slow, measured) token];
    fetch(slow, measured);
    [slow invalidateToken:token forSubject:measured];
    fetchBadly(slow, @"broken-metrics-o");
    FPTokenMetrics *metrics = [slow metrics];
    CHECK("the numbers tell what was done",
          [metrics hits] == 1 && [metrics waits] == 2 && [metrics fetches] == 1 && [metrics failures] == 1
              && [metrics refusals] == 1 && [metrics longestWait] >= 0.5 && [metrics longestWait] < 8
              && [metrics waited] >= [metrics longestWait]);
}

static FPTokenProvider *keepingProvider(NSString *folder) {
    FPTokenProviderOptions *keeping = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [keeping setStoreFolder:folder];
    [keeping setEventHandler:^(FPTokenEvent *event) {
        if ([event kind] == FPTokenEventKindRestored && [event fingerprint] && [event life]) eventsRestored++;
        BOOL told = [[event error] code] == FPTokenErrorStoreFailed;
        if ([event kind] == FPTokenEventKindStoreFailed && told) eventsOfStore++;
    }];
    return provider(keeping);
}

static void checkStore(void) {
    NSFileManager *files = [NSFileManager defaultManager];
    NSString *name = [@"fleetpass-" stringByAppendingString:[[NSProcessInfo processInfo] globallyUniqueString]];
    NSString *folder = [NSTemporaryDirectory() stringByAppendingPathComponent:name];
    FPTokenSubject *subject = [FPTokenSubject driverWithVehicleID:@"kept-o"];
    NSString *first = [fetch(keepingProvider(folder), subject) token];
    char file[1000];
    for (int tries = 0; tries < 3000 && !stored_file([folder UTF8String], file, sizeof file); tries++) {
        [NSThread sleepForTimeInterval:0.01];
    }
    NSString *second = [fetch(keepingProvider(folder), subject) token];
    for (int tries = 0; tries < 300 && eventsRestored == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    CHECK("a folder keeps the token for the next provider",
          first && [first isEqual:second] && eventsRestored == 1 && count("chaos/token/driver/kept-o") == 1);
    [files removeItemAtPath:folder error:NULL];

    // A file stands where the folder should.
    [files createFileAtPath:folder contents:[NSData data] attributes:nil];
    FPTokenSubject *other = [FPTokenSubject driverWithVehicleID:@"lost-o"];
    Outcome *fetched = fetch(keepingProvider(folder), other);
    for (int tries = 0; tries < 300 && eventsOfStore == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    CHECK("a store that fails is told of, and fails no call", [[fetched token] length] > 0 && eventsOfStore >= 1);
    [files removeItemAtPath:folder error:NULL];
    NSError *error = nil;
    FPTokenProviderOptions *relative = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [relative setStoreFolder:@"tokens"];
    CHECK("a folder that is not absolute makes no provider",
          ![[FPTokenProvider alloc] initWithOptions:relative error:&error]
              && [error code] == FPTokenErrorInvalidArgument);
}

static void checkClosing(void) {
    NSFileManager *files = [NSFileManager defaultManager];
    NSString *name = [@"fleetpass-" stringByAppendingString:[[NSProcessInfo processInfo] globallyUniqueString]];
    NSString *folder = [NSTemporaryDirectory() stringByAppendingPathComponent:name];
    FPTokenProvider *tokens = keepingProvider(folder);
    FPTokenSubject *subject = [FPTokenSubject driverWithVehicleID:@"closed-o"];
    NSString *kept = [fetch(tokens, subject) token];
    Outcome *waiting = [[[Outcome alloc] init] autorelease], *closed = [[[Outcome alloc] init] autorelease];
    [tokens fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:@"hang-closed-o"]
                      completion:[waiting completion]];
    [tokens closeWithCompletion:^{
        [closed takeToken:@"closed" life:0 error:nil];
    }];
    [closed waitForCalls:1];
    [waiting waitForCalls:1];
    CHECK("closing is told once, and a call that waits is refused",
          [closed calls] == 1 && kept && failedWith(waiting, FPTokenErrorRefused));
    CHECK("the folder stays away when it goes then",
          [files removeItemAtPath:folder error:NULL] && failedWith(fetch(tokens, subject), FPTokenErrorRefused)
              && ![files fileExistsAtPath:folder]);
    void (^none)(void) = nil;
    [tokens closeWithCompletion:none];

    int refused = 0;
    for (int round = 0; round < 100; round++) {
        @autoreleasepool {
            FPTokenProvider *closing = provider(options(@"/chaos", FPTokenEndpointKindFleetpass));
            NSString *atHand = [fetch(closing, subject) token];
            [closing closeWithCompletion:none];
            refused += atHand && failedWith(fetch(closing, subject), FPTokenErrorRefused);
        }
    }
    CHECK("a call right after closing gets no token, though nobody waited for the end", refused == 100);
}

// MARK: - Threads and lifetimes

struct crowd {
    FPTokenProvider *tokens;
    Outcome **outcomes;
    int first;
};

enum { crowdThreads = 8, callsPerThread = 125 };

static void *askOften(void *argument) {
    struct crowd *crowd = argument;
    for (int call = crowd->first; call < crowd->first + callsPerThread; call++) {
        @autoreleasepool {
            FPTokenSubject *vehicle = [FPTokenSubject driverWithVehicleID:@"slow-crowd"];
            [crowd->tokens fetchTokenForSubject:vehicle completion:[crowd->outcomes[call] completion]];
        }
    }
    return NULL;
}

static void checkCrowd(void) {
    Outcome *outcomes[crowdThreads * callsPerThread];
    for (int call = 0; call < crowdThreads * callsPerThread; call++) outcomes[call] = [[Outcome alloc] init];
    FPTokenProvider *tokens = [provider(options(@"/chaos", FPTokenEndpointKindFleetpass)) retain];
    pthread_t threads[crowdThreads];
    struct crowd crowds[crowdThreads];
    for (int index = 0; index < crowdThreads; index++) {
        crowds[index] = (struct crowd){tokens, outcomes, index * callsPerThread};
        pthread_create(&threads[index], NULL, askOften, &crowds[index]);
    }
    for (int index = 0; index < crowdThreads; index++) pthread_join(threads[index], NULL);
    // The owner goes while the request is on its way.
    [tokens release];
    for (int call = 0; call < crowdThreads * callsPerThread; call++) [outcomes[call] waitForCalls:1];
    // Whoever would be called twice would be by now.
    [NSThread sleepForTimeInterval:0.3];
    int once = 0, same = 0;
    for (int call = 0; call < crowdThreads * callsPerThread; call++) {
        once += [outcomes[call] calls] == 1 && [outcomes[call] tokens] == 1;
        same += [[outcomes[call] token] isEqual:[outcomes[0] token]];
    }
    CHECK("1,000 concurrent calls get one completion each", once == crowdThreads * callsPerThread);
    CHECK("all of them with the token of one request",
          same == crowdThreads * callsPerThread && count("chaos/token/driver/slow-crowd") == 1);
    for (int call = 0; call < crowdThreads * callsPerThread; call++) [outcomes[call] release];
}

static void checkLifetimes(void) {
    Outcome *orphan = [[[Outcome alloc] init] autorelease], *queued = [[[Outcome alloc] init] autorelease];
    @autoreleasepool {
        [provider(options(@"/chaos", FPTokenEndpointKindFleetpass))
            fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:@"slow-orphan"]
                      completion:[orphan completion]];
    }
    [orphan waitForCalls:1];
    CHECK("a call outlives its provider", [orphan calls] == 1 && [[orphan token] length] > 0);

    NSOperationQueue *queue = [[[NSOperationQueue alloc] init] autorelease];
    [queue setSuspended:YES];
    FPTokenProviderOptions *onQueue = options(@"/chaos", FPTokenEndpointKindFleetpass);
    [onQueue setCallbackQueue:queue];
    FPTokenProvider *tokens = provider(onQueue);
    [tokens fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:@"queued"] completion:[queued completion]];
    for (int tries = 0; tries < 300 && [[queue operations] count] == 0; tries++) [NSThread sleepForTimeInterval:0.01];
    BOOL waits = [queued calls] == 0 && [[queue operations] count] == 1;
    [queue setSuspended:NO];
    [queued waitForCalls:1];
    CHECK("completions come on the app's queue", waits && [queued tokens] == 1);

    FPTokenSubject *subject = [FPTokenSubject deliveryDriverWithVehicleID:@"v" taskID:@"t"];
    CHECK("subjects are values",
          [subject isEqual:[FPTokenSubject deliveryDriverWithVehicleID:@"v" taskID:@"t"]]
              && [subject hash] == [[FPTokenSubject deliveryDriverWithVehicleID:@"v" taskID:@"t"] hash]
              && ![subject isEqual:[FPTokenSubject deliveryDriverWithVehicleID:@"v" taskID:nil]]
              && ![subject isEqual:[FPTokenSubject driverWithVehicleID:@"v"]]
              && [[FPTokenSubject fleetReader] isEqual:[FPTokenSubject fleetReader]]
              && [[subject copy] autorelease] == subject
              && [[subject description] isEqual:@"delivery_driver v task t"]);
}

/// Whether every object of ours is gone again.
static void checkNothingIsLeft(void) {
    NSArray *names = [NSArray arrayWithObjects:@"FPTokenProvider", @"FPTokenProviderOptions", @"FPTokenSubject",
                                               @"FPTokenFetch", @"FPTokenEvent", @"FPCredentialsRequest",
                                               @"FPHTTPRequest",
                                               @"FPTokenMetrics", @"FPOutcomeDelivery", @"FPLifeDelivery",
                                               @"FPHandlerDelivery", @"FPDeliveryOperation", @"FPHandlers",
                                               @"FPEventTurn",
                                               @"FPDriverAuthorization", @"FPConsumerAuthorization", nil];
    int left = 0, made = 0;
    // What a fetch that nobody awaits any more keeps, it keeps for as long as a fetch may take.
    for (int tries = 0; tries < 1200; tries++) {
        left = made = 0;
        for (NSString *name in names) {
            left += GSDebugAllocationCount(NSClassFromString(name));
            made += GSDebugAllocationTotal(NSClassFromString(name)) > 0;
        }
        if (left == 0) break;
        [NSThread sleepForTimeInterval:0.01];
    }
    CHECK("no object is left at the end", left == 0 && made == (int)[names count]);
}

int main(int count, char **arguments) {
    GSDebugAllocationActive(YES);
    @autoreleasepool {
        if (count != 3) {
            fprintf(stderr, "usage: objective-c-program TOKEN-SERVER SECRET\n");
            return 2;
        }
        server = [[NSString alloc] initWithUTF8String:arguments[1]];
        NSString *secret = [[NSString alloc] initWithUTF8String:arguments[2]];
        checkDriverSDK(secret);
        checkConsumerSDK(secret);
        checkRefusedSDKTokens();
        checkErrors();
        checkTime();
        checkRefresh();
        checkEventsOnQueue();
        checkCancelledOperations();
        checkOwnClient();
        checkLife();
        checkStore();
        checkClosing();
        checkCrowd();
        checkLifetimes();
    }
    @autoreleasepool {
        checkNothingIsLeft();
    }
    return failed_checks ? 1 : 0;
}
