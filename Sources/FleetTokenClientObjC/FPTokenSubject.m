// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import "FPTokenSubject.h"

#import "FPBridge.h"
#import "FPOwnership.h"

@implementation FPTokenSubject

@synthesize kind = _kind;
@synthesize identifier = _identifier;
@synthesize taskID = _taskID;

- (instancetype)initWithKind:(FPTokenSubjectKind)kind identifier:(NSString *)identifier taskID:(NSString *)taskID {
    if ((self = [super init])) {
        _kind = kind;
        _identifier = [identifier copy];
        _taskID = [taskID copy];
    }
    return self;
}

#if !__has_feature(objc_arc)
- (void)dealloc {
    [_identifier release];
    [_taskID release];
    [super dealloc];
}
#endif

+ (instancetype)driverWithVehicleID:(NSString *)vehicleID {
    return FP_AUTORELEASED([[self alloc] initWithKind:FPTokenSubjectKindDriver identifier:vehicleID taskID:nil]);
}

+ (instancetype)consumerWithTripID:(NSString *)tripID {
    return FP_AUTORELEASED([[self alloc] initWithKind:FPTokenSubjectKindConsumer identifier:tripID taskID:nil]);
}

+ (instancetype)deliveryDriverWithVehicleID:(NSString *)vehicleID taskID:(NSString *)taskID {
    return FP_AUTORELEASED([[self alloc] initWithKind:FPTokenSubjectKindDeliveryDriver
                                           identifier:vehicleID
                                               taskID:taskID]);
}

+ (instancetype)driverWithVehicleID:(NSString *)vehicleID
                             taskID:(NSString *)taskID
                        vehicleKind:(FPTokenVehicleKind)vehicleKind {
    // The SDK may name no task by an empty text, which must not become a task.
    if ([taskID isKindOfClass:[NSString class]] && [taskID length] == 0) taskID = nil;
    BOOL delivers = vehicleKind == FPTokenVehicleKindDelivery;
    FPTokenSubjectKind kind = delivers ? FPTokenSubjectKindDeliveryDriver : FPTokenSubjectKindDriver;
    return FP_AUTORELEASED([[self alloc] initWithKind:kind identifier:vehicleID taskID:taskID]);
}

+ (instancetype)deliveryConsumerWithTrackingID:(NSString *)trackingID {
    return FP_AUTORELEASED([[self alloc] initWithKind:FPTokenSubjectKindDeliveryConsumer
                                           identifier:trackingID
                                               taskID:nil]);
}

+ (instancetype)fleetReader {
    return FP_AUTORELEASED([[self alloc] initWithKind:FPTokenSubjectKindFleetReader identifier:nil taskID:nil]);
}

+ (instancetype)subjectWithValue:(fp_subject)value {
    return FP_AUTORELEASED([[self alloc] initWithKind:value.kind
                                           identifier:FPTextOfBytes(value.id)
                                               taskID:FPTextOfBytes(value.task_id)]);
}

- (fp_subject)value {
    const char *identifier = FPBytesOfText(_identifier), *task = FPBytesOfText(_taskID);
    // What is no text or has no UTF-8 becomes a control character, which is refused: without its task, a token would
    // reach further.
    if (_identifier && !identifier) identifier = "\1";
    if (_taskID && !task) task = "\1";
    return (fp_subject){.kind = (fp_subject_kind)_kind, .id = identifier, .task_id = task};
}

- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return FP_RETAINED(self);
}

- (BOOL)isEqual:(id)object {
    if (self == object) return YES;
    if (![object isKindOfClass:[FPTokenSubject class]]) return NO;
    FPTokenSubject *other = object;
    return _kind == other->_kind && (_identifier == other->_identifier || [_identifier isEqual:other->_identifier])
        && (_taskID == other->_taskID || [_taskID isEqual:other->_taskID]);
}

- (NSUInteger)hash {
    return (NSUInteger)_kind ^ [_identifier hash] ^ ([_taskID hash] << 1);
}

- (NSString *)description {
    static NSString *const names[] = {
        @"?", @"driver", @"consumer", @"delivery_driver", @"delivery_consumer", @"fleet_reader",
    };
    NSMutableString *text = [NSMutableString stringWithString:names[_kind >= 1 && _kind <= 5 ? _kind : 0]];
    if (_identifier) [text appendFormat:@" %@", _identifier];
    if (_taskID) [text appendFormat:@" task %@", _taskID];
    return text;
}

@end
