/* SPDX-License-Identifier: MIT
 *
 * CRC-32C (Castagnoli), RFC 3720 appendix B.4.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of data that follows data whose checksum is `value` (0 at the start). */
uint32_t zc_crc32c(uint32_t value, const void *data, size_t n);

/* Every implementation that this CPU can run, by name, ending with {NULL, NULL}: for tests.  The first is the
 * fastest and in use, the last the portable one. */
typedef struct zc_crc32c_variant {
    const char *name;
    uint32_t (*update)(uint32_t value, const void *data, size_t n);
} zc_crc32c_variant;

const zc_crc32c_variant *zc_crc32c_variants(void);
