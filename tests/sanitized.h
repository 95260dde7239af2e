/* Whether this is a build with the address or the thread sanitizer, which need
 * more address space than some tests give. */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#ifndef __has_feature /* which is clang's; gcc has macros */
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED_ADDRESS 1
#endif
#if defined(SANITIZED_ADDRESS) || defined(__SANITIZE_THREAD__) || \
	__has_feature(thread_sanitizer)
#define SANITIZED 1
#endif

#endif
