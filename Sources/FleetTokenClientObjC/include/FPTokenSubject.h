// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#import <Foundation/Foundation.h>

#import "FPTokenDefines.h"

NS_ASSUME_NONNULL_BEGIN

/// The kind of token that is asked for.
typedef NS_ENUM(NSInteger, FPTokenSubjectKind) {
    /// The driver of an on-demand vehicle.
    FPTokenSubjectKindDriver = 1,
    /// A customer who watches a trip.
    FPTokenSubjectKindConsumer = 2,
    /// A delivery driver.
    FPTokenSubjectKindDeliveryDriver = 3,
    /// A recipient who follows a shipment.
    FPTokenSubjectKindDeliveryConsumer = 4,
    /// A reader of the whole fleet.
    FPTokenSubjectKindFleetReader = 5,
};

/// Which vehicles an app drives; the Driver SDK's authorization context does not tell.
typedef NS_ENUM(NSInteger, FPTokenVehicleKind) {
    /// On-demand vehicles.
    FPTokenVehicleKindOnDemand = 1,
    /// Delivery vehicles with scheduled tasks.
    FPTokenVehicleKindDelivery = 2,
};

/// Whose token is asked for: the kind of token and the id it is for. A value: it never changes, and equals its like.
///
/// Tokens are kept and fetched per subject; a token of one subject is never handed out for another. Ids have 1 to 64
/// characters without `/ : ? , #`; a malformed or missing one is answered with `FPTokenErrorInvalidArgument` when a
/// token is asked for, not here.
@interface FPTokenSubject : NSObject <NSCopying> {
  @private
    FPTokenSubjectKind _kind;
    NSString *_identifier;
    NSString *_taskID;
}

/// The driver of an on-demand vehicle.
+ (instancetype)driverWithVehicleID:(NSString *)vehicleID;

/// A customer who watches a trip; without one, asking for a token gives `FPTokenErrorInvalidArgument`.
+ (instancetype)consumerWithTripID:(nullable NSString *)tripID;

/// A delivery driver; a task narrows the token to it (trusted devices only).
+ (instancetype)deliveryDriverWithVehicleID:(NSString *)vehicleID taskID:(nullable NSString *)taskID;

/// The driver whom the Driver SDK's authorization context describes. An empty task is none. A task of an on-demand
/// vehicle, or no vehicle, is an error when a token is asked for.
+ (instancetype)driverWithVehicleID:(nullable NSString *)vehicleID
                             taskID:(nullable NSString *)taskID
                        vehicleKind:(FPTokenVehicleKind)vehicleKind;

/// A recipient who follows a shipment.
+ (instancetype)deliveryConsumerWithTrackingID:(NSString *)trackingID;

/// A reader of the whole fleet, for an operator's own tools.
+ (instancetype)fleetReader;

- (instancetype)init FP_UNAVAILABLE;
+ (instancetype)new FP_UNAVAILABLE;

/// The kind of token.
@property (nonatomic, readonly) FPTokenSubjectKind kind;

/// The id of the vehicle, trip, delivery vehicle or shipment; `nil` for a fleet reader.
@property (nonatomic, readonly, copy, nullable) NSString *identifier;

/// The task of a delivery driver's token, or `nil`.
@property (nonatomic, readonly, copy, nullable) NSString *taskID;

@end

NS_ASSUME_NONNULL_END
