// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenEvent.h"

#import "FPBridge.h"
#import "FPOwnership.h"

@implementation FPTokenEvent

@synthesize kind = _kind;
@synthesize subject = _subject;
@synthesize fingerprint = _fingerprint;
@synthesize life = _life;
@synthesize error = _error;
@synthesize clockOffset = _clockOffset;

- (instancetype)initWithEvent:(const fp_event *)event {
    if ((self = [super init])) {
        _kind = event->kind;
        _subject = event->subject.kind == 0 ? nil : FP_RETAINED([FPTokenSubject subjectWithValue:event->subject]);
        _fingerprint = FP_RETAINED(FPTextOfBytes(event->fingerprint));
        _life = event->life_ms < 0 ? nil : FP_RETAINED([NSNumber numberWithDouble:(double)event->life_ms / 1000]);
        _error = FP_RETAINED(FPErrorOf(event->error));
        if (event->kind == FP_EVENT_CLOCK_ERROR) {
            _clockOffset = [[NSNumber alloc] initWithDouble:(double)event->clock_offset_ms / 1000];
        }
    }
    return self;
}

#if !__has_feature(objc_arc)
- (void)dealloc {
    [_subject release];
    [_fingerprint release];
    [_life release];
    [_error release];
    [_clockOffset release];
    [super dealloc];
}
#endif

- (NSString *)description {
    static NSString *const names[] = {
        @"?", @"fetched", @"served stale", @"failed", @"refused", @"refreshed", @"restored", @"clock error",
        @"store failed",
    };
    NSMutableString *text = [NSMutableString stringWithString:names[_kind >= 1 && _kind <= 8 ? _kind : 0]];
    if (_subject) [text appendFormat:@" %@", _subject];
    if (_clockOffset) [text appendFormat:@" %@ s", _clockOffset];
    if (_fingerprint) [text appendFormat:@" %@", _fingerprint];
    if (_life) [text appendFormat:@" life %@ s", _life];
    if (_error) [text appendFormat:@" %@", [[_error userInfo] objectForKey:FPTokenErrorNameKey]];
    return text;
}

@end
