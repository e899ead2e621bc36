// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Words that not every Foundation has.

#import <Foundation/Foundation.h>

/// Marks what must not be called; a call does not compile.
#define FP_UNAVAILABLE __attribute__((unavailable("use the other initialisers")))

#if defined(NS_ERROR_ENUM)
#define FP_ERROR_ENUM(domain, name) NS_ERROR_ENUM(domain, name)
#else
#define FP_ERROR_ENUM(domain, name) NS_ENUM(NSInteger, name)
#endif
