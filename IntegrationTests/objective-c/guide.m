// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The code of the guide "Objective-C", with automatic reference counting, as an app has it.

#import "FPDriverAuthorization.h"
#import "FleetTokenClientObjC.h"

NS_ASSUME_NONNULL_BEGIN

typedef void (^IDTokenCompletion)(NSString *_Nullable idToken, NSError *_Nullable error);

@interface DriverTokens : NSObject
@property (nonatomic, readonly, strong) FPTokenProvider *provider;
- (nullable instancetype)initWithServerURL:(NSURL *)serverURL
                            refreshIDToken:(void (^)(IDTokenCompletion completion))refreshIDToken
                                     error:(NSError *_Nullable *_Nullable)error;
- (FPDriverAuthorization *)authorization;
- (void)fetchTokenForVehicle:(NSString *)vehicleID;
- (void)prepareVehicleForGap:(NSString *)vehicleID;
- (void)dropToken:(NSString *)token ofVehicle:(NSString *)vehicleID;
- (void)takeError:(NSError *)error ofVehicle:(NSString *)vehicleID;
- (void)showToken:(NSString *)token;
- (void)showProblem:(NSString *)problem;
- (void)beginGapOfAtMost:(NSTimeInterval)life;
- (void)signInAgain;
@end

@implementation DriverTokens

- (nullable instancetype)initWithServerURL:(NSURL *)serverURL
                            refreshIDToken:(void (^)(IDTokenCompletion completion))refreshIDToken
                                     error:(NSError *_Nullable *_Nullable)error {
    if ((self = [super init])) {
        FPTokenProviderOptions *options =
            [[FPTokenProviderOptions alloc] initWithServerURL:serverURL endpointKind:FPTokenEndpointKindFleetpass];
        options.credentialsHandler = ^(FPCredentialsRequest *request) {
            refreshIDToken(^(NSString *idToken, NSError *error) {
                if (idToken) {
                    [request sendHeaderFields:@{ @"Authorization" : [@"Bearer " stringByAppendingString:idToken] }];
                } else if ([error.domain isEqual:NSURLErrorDomain]) {
                    [request failWithoutNetwork];
                } else {
                    [request fail];
                }
            });
        };
        FPTokenProvider *provider = [[FPTokenProvider alloc] initWithOptions:options error:error];
        if (!provider) return nil;
        _provider = provider;
    }
    return self;
}

- (FPDriverAuthorization *)authorization {
    return [[FPDriverAuthorization alloc] initWithProvider:self.provider vehicleKind:FPTokenVehicleKindOnDemand];
}

- (void)fetchTokenForVehicle:(NSString *)vehicleID {
    [self.provider fetchTokenForSubject:[FPTokenSubject driverWithVehicleID:vehicleID]
                             completion:^(NSString *token, NSError *error) {
        if (token) {
            [self showToken:token];
        } else if (error.code == FPTokenErrorRefused) {
            [self signInAgain];
        } else {
            [self showProblem:error.localizedDescription];
        }
    }];
}

- (void)prepareVehicleForGap:(NSString *)vehicleID {
    [self.provider ensureTokenValidForInterval:45 * 60
                                       subject:[FPTokenSubject driverWithVehicleID:vehicleID]
                                    completion:^(NSTimeInterval life, NSError *error) {
        if (error) {
            [self showProblem:error.localizedDescription];
        } else {
            [self beginGapOfAtMost:life];
        }
    }];
}

- (void)dropToken:(NSString *)token ofVehicle:(NSString *)vehicleID {
    [self.provider invalidateToken:token forSubject:[FPTokenSubject driverWithVehicleID:vehicleID]];
}

- (void)takeError:(NSError *)error ofVehicle:(NSString *)vehicleID {
    NSError *cause = [error.userInfo objectForKey:NSUnderlyingErrorKey];
    if (cause.code == 16) [self.authorization lastTokenWasRefusedForVehicleID:vehicleID];
}

- (void)signOutFromFolder:(NSString *)storeFolder {
    [self.provider closeWithCompletion:^{
        [[NSFileManager defaultManager] removeItemAtPath:storeFolder error:NULL];
    }];
}

- (void)showToken:(NSString *)token {
}

- (void)showProblem:(NSString *)problem {
}

- (void)beginGapOfAtMost:(NSTimeInterval)life {
    (void)life;
}

- (void)signInAgain {
}

@end

NS_ASSUME_NONNULL_END
