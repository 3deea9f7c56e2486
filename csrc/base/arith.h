/* SPDX-License-Identifier: MIT
 *
 * Size arithmetic that reports overflow, allocation of arrays, and byte-order aware loads and stores.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* No object may be larger: pointer differences must fit ptrdiff_t. */
#define ZC_SIZE_MAX ((size_t)PTRDIFF_MAX)

/* *out = a * b; false (and *out untouched) if that exceeds ZC_SIZE_MAX.  b has 64 bits in this and the next, since
 * lengths from documents and files do: on a CPU of 32 bits they must not be cut off on their way here. */
static inline bool zc_mul_size(size_t a, uint64_t b, size_t *out)
{
    if (b != 0 && a > ZC_SIZE_MAX / b) {
        return false;
    }
    *out = a * (size_t)b;
    return true;
}

/* *out = a + b; false (and *out untouched) if that exceeds ZC_SIZE_MAX. */
static inline bool zc_add_size(size_t a, uint64_t b, size_t *out)
{
    if (a > ZC_SIZE_MAX || b > ZC_SIZE_MAX - a) {
        return false;
    }
    *out = a + (size_t)b;
    return true;
}

/* realloc for `count` items of `size` bytes each, to be freed with free.  NULL, with old untouched, where there is no
 * memory for that many, or if the size overflows size_t; never NULL because count is 0. */
static inline void *zc_realloc_array(void *old, uint64_t count, size_t size)
{
    size_t bytes;

    return zc_mul_size(size, count, &bytes) ? realloc(old, bytes > 0 ? bytes : 1) : NULL;
}

/* The same for new ones. */
static inline void *zc_alloc_array(uint64_t count, size_t size)
{
    return zc_realloc_array(NULL, count, size);
}

/* An array with room for `wanted` items and some more, which may have moved.  NULL without memory, with the old one untouched. */
static inline void *zc_grow(void *array, size_t wanted, size_t *room, size_t size)
{
    const size_t more = wanted <= *room ? *room : 2 * wanted + 8;
    void *const grown = wanted <= *room ? array : zc_realloc_array(array, more, size);

    *room = grown != NULL ? more : *room;
    return grown;
}

static inline uint32_t zc_load_le32(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t zc_load_le64(const void *p)
{
    const uint8_t *b = p;
    return (uint64_t)zc_load_le32(b) | (uint64_t)zc_load_le32(b + 4) << 32;
}

static inline void zc_store_le32(void *p, uint32_t v)
{
    uint8_t *b = p;
    for (int i = 0; i < 4; i++) {
        b[i] = (uint8_t)(v >> (8 * i));
    }
}

static inline void zc_store_le64(void *p, uint64_t v)
{
    zc_store_le32(p, (uint32_t)v);
    zc_store_le32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}
