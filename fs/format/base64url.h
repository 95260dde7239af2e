/*
 * Base64url without padding (RFC 4648, section 5), for ciphertext and other
 * public bytes (it is not constant-time).
 */
#ifndef FS_FORMAT_BASE64URL_H
#define FS_FORMAT_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters that `size` bytes take, without a NUL. */
#define BASE64URL_LENGTH(size) (((size) * 4 + 2) / 3)

/* Whether c is one of A-Z a-z 0-9 - _. */
bool base64url_is_char(char c);

/* Write BASE64URL_LENGTH(size) characters and a NUL; returns the length. */
size_t base64url_encode(char *text, const uint8_t *bytes, size_t size);

/* Decode `length` characters. Returns the number of bytes, or -EINVAL for a
 * wrong character, an impossible length, bits set past the end (each byte
 * string has one encoding only), or more than `room` bytes. */
int base64url_decode(uint8_t *bytes, size_t room, const char *text,
                     size_t length);

#endif
