// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The part of Apple's Foundation that the sources use, declared in Apple's shape: enough for the compiler to check them
// with automatic reference counting for iOS where Apple's own headers are missing. Nothing of it is ever linked.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#define NS_DESIGNATED_INITIALIZER __attribute__((objc_designated_initializer))
#define NS_ENUM(type, name) enum __attribute__((enum_extensibility(open))) name : type name; enum name : type
#define NS_ERROR_ENUM(domain, name)                                                                                    \
    enum __attribute__((ns_error_domain(domain))) __attribute__((enum_extensibility(open))) name : NSInteger name;    \
    enum name : NSInteger
#define FOUNDATION_EXPORT extern
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define nil ((id)0)
#define YES __objc_yes
#define NO __objc_no

typedef bool BOOL;
typedef long NSInteger;
typedef unsigned long NSUInteger;
typedef double NSTimeInterval;
typedef NSUInteger NSStringEncoding;
typedef struct _NSZone NSZone;
typedef struct {
    unsigned long state;
    id __unsafe_unretained _Nullable *_Nullable itemsPtr;
    unsigned long *_Nullable mutationsPtr;
    unsigned long extra[5];
} NSFastEnumerationState;
enum { NSUTF8StringEncoding = 4 };

NS_ASSUME_NONNULL_BEGIN

@class NSString;

@protocol NSObject
- (BOOL)isEqual:(nullable id)object;
@property (readonly) NSUInteger hash;
- (BOOL)isKindOfClass:(Class)aClass;
@end

@protocol NSCopying
- (id)copyWithZone:(nullable NSZone *)zone;
@end

@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained _Nullable[_Nonnull])buffer
                                    count:(NSUInteger)length;
@end

__attribute__((objc_root_class)) @interface NSObject <NSObject>
+ (instancetype)alloc;
+ (instancetype)allocWithZone:(nullable NSZone *)zone;
+ (instancetype)new;
+ (Class)class;
- (instancetype)init NS_DESIGNATED_INITIALIZER;
- (void)dealloc;
- (Class)class;
- (id)copy;
- (NSString *)description;
@end

@class NSData;

@interface NSString : NSObject <NSCopying>
+ (nullable instancetype)stringWithUTF8String:(const char *)bytes;
+ (instancetype)stringWithFormat:(NSString *)format, ... __attribute__((format(__NSString__, 1, 2)));
@property (readonly) NSUInteger length;
- (NSString *)stringByAppendingString:(NSString *)string;
- (nullable NSData *)dataUsingEncoding:(NSStringEncoding)encoding allowLossyConversion:(BOOL)lossy;
@end

@interface NSMutableString : NSString
+ (instancetype)stringWithString:(NSString *)string;
- (void)appendFormat:(NSString *)format, ... __attribute__((format(__NSString__, 1, 2)));
@end

@interface NSData : NSObject <NSCopying>
- (instancetype)initWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
@property (readonly) NSUInteger length;
@property (readonly) const void *bytes __attribute__((objc_returns_inner_pointer));
@end

@interface NSMutableData : NSData
+ (instancetype)dataWithData:(NSData *)data;
+ (nullable instancetype)dataWithCapacity:(NSUInteger)capacity;
@property (readonly) void *mutableBytes __attribute__((objc_returns_inner_pointer));
- (void)appendBytes:(const void *)bytes length:(NSUInteger)length;
@end

@interface NSNumber : NSObject <NSCopying>
+ (NSNumber *)numberWithInt:(int)value;
+ (NSNumber *)numberWithDouble:(double)value;
- (instancetype)initWithDouble:(double)value;
@end

@interface NSDictionary<__covariant Key, __covariant Object> : NSObject <NSCopying, NSFastEnumeration>
+ (instancetype)dictionaryWithObjects:(const Object _Nonnull [_Nullable])objects
                              forKeys:(const Key _Nonnull [_Nullable])keys
                                count:(NSUInteger)count;
@property (readonly) NSUInteger count;
- (nullable Object)objectForKey:(Key)key;
@end

@interface NSMutableDictionary<Key, Object> : NSDictionary <Key, Object>
+ (instancetype)dictionary;
- (void)setObject:(Object)object forKey:(Key <NSCopying>)key;
@end

@interface NSArray<__covariant Object> : NSObject <NSCopying, NSFastEnumeration>
@property (readonly) NSUInteger count;
- (Object)objectAtIndex:(NSUInteger)index;
@end

@interface NSMutableArray<Object> : NSArray <Object>
- (void)addObject:(Object)object;
- (void)removeObjectAtIndex:(NSUInteger)index;
@end

@interface NSURL : NSObject <NSCopying>
+ (nullable instancetype)URLWithString:(NSString *)string;
- (nullable instancetype)initWithString:(NSString *)string;
@property (readonly, copy, nullable) NSString *absoluteString;
@end

extern NSString *const NSLocalizedDescriptionKey;
extern NSString *const NSUnderlyingErrorKey;
extern NSString *const NSURLErrorDomain;

@interface NSError : NSObject <NSCopying>
+ (instancetype)errorWithDomain:(NSString *)domain code:(NSInteger)code userInfo:(nullable NSDictionary *)userInfo;
@property (readonly, copy) NSString *domain;
@property (readonly) NSInteger code;
@property (readonly, copy) NSDictionary *userInfo;
@property (readonly, copy) NSString *localizedDescription;
@end

@interface NSLock : NSObject
- (void)lock;
- (void)unlock;
@end

@interface NSOperation : NSObject
- (void)main;
- (void)cancel;
@end

@interface NSFileManager : NSObject
+ (NSFileManager *)defaultManager;
- (BOOL)removeItemAtPath:(NSString *)path error:(NSError *_Nullable *_Nullable)error;
@end

@interface NSOperationQueue : NSObject
- (void)addOperation:(NSOperation *)operation;
@end

NS_ASSUME_NONNULL_END
