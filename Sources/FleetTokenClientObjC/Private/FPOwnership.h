// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// One source for automatic reference counting, as on Apple, and for counting by hand, as on GNUstep with the gcc
// runtime. There, blocks are no objects of the runtime: they are copied and released by functions, and this library
// itself uses none, because the runtime would not keep what they capture.

#import <Foundation/Foundation.h>

#if __has_feature(objc_arc)

#define FP_RETAINED(object) (object)
#define FP_AUTORELEASED(object) (object)
#define FP_RELEASE(object) ((void)(object))
#define FP_DEALLOC_SUPER
#define FP_BLOCK_COPY(block) ([(block) copy])
#define FP_BLOCK_RELEASE(block) ((void)(block))
/// Hands an object to C as a context, with a reference that `FP_TAKEN` takes back.
#define FP_GIVEN(object) ((__bridge_retained void *)(object))
#define FP_TAKEN(type, context) ((__bridge_transfer type)(context))
#define FP_BORROWED(type, context) ((__bridge type)(context))

#else

#include <Block.h>

#define FP_RETAINED(object) ([(object) retain])
#define FP_AUTORELEASED(object) ([(object) autorelease])
#define FP_RELEASE(object) ([(object) release])
#define FP_DEALLOC_SUPER [super dealloc]
#define FP_BLOCK_COPY(block) Block_copy(block)
#define FP_BLOCK_RELEASE(block) Block_release(block)
/// Hands an object to C as a context, with a reference that `FP_TAKEN` takes back.
#define FP_GIVEN(object) ((void *)[(object) retain])
#define FP_TAKEN(type, context) ([(type)(context) autorelease])
#define FP_BORROWED(type, context) ((type)(context))

#endif
