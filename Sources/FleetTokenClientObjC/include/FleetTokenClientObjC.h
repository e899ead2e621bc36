// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Fetches, keeps and refreshes Fleet Engine authorization tokens.
///
/// Start with `FPTokenProvider`. Every class here may be used on any thread; only `FPTokenProviderOptions` must not be
/// changed on two threads at once. Nothing here raises an exception, also where
/// it is given a number or `NSNull` in place of a text.

#import "FPTokenErrors.h"
#import "FPTokenEvent.h"
#import "FPTokenExchanges.h"
#import "FPTokenFetch.h"
#import "FPTokenMetrics.h"
#import "FPTokenProvider.h"
#import "FPTokenProviderOptions.h"
#import "FPTokenSubject.h"
