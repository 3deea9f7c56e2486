/* SPDX-License-Identifier: MIT
 *
 * Is it UTF-8?
 */
#ifndef ZC_KERNELS_UTF8_H
#define ZC_KERNELS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the longest beginning of src[0..n) that is well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF); n if all of it is.  Nothing fails; no shared state.
 */
size_t zc_utf8_valid(const uint8_t *src, size_t n);

#endif
