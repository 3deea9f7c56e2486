/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bitshuffle.h"
#include "kernels/crc32c.h"
#include "kernels/delta.h"
#include "kernels/shuffle.h"
#include "numpy/loops.h"

/* ---- checksums ------------------------------------------------------------------------------- */

/* n items that are not adjacent are brought together piece by piece. */
static uint32_t crc32c_strided(uint32_t value, const char *src, int64_t n, int64_t stride, size_t size)
{
    char piece[4096];
    const zc_item whole = {.size = size};
    const int64_t packed = (int64_t)size;
    const int64_t most = (int64_t)(sizeof piece / size);

    for (int64_t i = 0, part; i < n; i += part) {
        if (most < 1) {
            part = 1;
            value = zc_crc32c(value, src + i * stride, size);
            continue;
        }
        part = n - i < most ? n - i : most;
        zc_region_copy(1, &part, piece, &packed, src + i * stride, &stride, &whole);
        value = zc_crc32c(value, piece, (size_t)part * size);
    }
    return value;
}

zc_status zc_loop_crc32c(char *const *data, const intptr_t *dims, const intptr_t *strides,
                         const zc_item *item, zc_error *err)
{
    const bool dense = dims[1] <= 1 || strides[3] == (intptr_t)item->size;

    (void)err;
    for (intptr_t i = 0; i < dims[0]; i++) {
        const char *const src = data[0] + i * strides[0];
        uint32_t value;

        memcpy(&value, data[1] + i * strides[1], sizeof value);
        if (item->size > 0) {
            value = dense ? zc_crc32c(value, src, (size_t)dims[1] * item->size)
                          : crc32c_strided(value, src, dims[1], strides[3], item->size);
        }
        memcpy(data[2] + i * strides[2], &value, sizeof value);
    }
    return ZC_OK;
}

/* ---- fill values ----------------------------------------------------------------------------- */

zc_status zc_loop_equals_bits(char *const *data, const intptr_t *dims, const intptr_t *strides,
                              const zc_item *item, zc_error *err)
{
    const int64_t n = dims[1];
    const int64_t core = strides[3];

    (void)err;
    for (intptr_t i = 0; i < dims[0]; i++) {
        const char *const fill = data[1] + i * strides[1];

        data[2][i * strides[2]] = item->size == 0 || zc_region_equals_fill(1, &n, data[0] + i * strides[0],
                                                                           &core, item->size, fill);
    }
    return ZC_OK;
}

static bool equals_floats(const char *src, intptr_t n, intptr_t stride, const zc_item *item, const char *fill)
{
    const zc_float_kind kind = (zc_float_kind)item->word;
    const size_t parts = item->size / item->word;        /* a complex number is two floats */

    if (stride == (intptr_t)item->size) {
        return zc_equals_fill_float(src, (size_t)n * parts, kind, fill, parts);
    }
    for (intptr_t i = 0; i < n; i++) {
        if (!zc_equals_fill_float(src + i * stride, parts, kind, fill, parts)) {
            return false;
        }
    }
    return true;
}

zc_status zc_loop_equals_floats(char *const *data, const intptr_t *dims, const intptr_t *strides,
                                const zc_item *item, zc_error *err)
{
    (void)err;
    for (intptr_t i = 0; i < dims[0]; i++) {
        data[2][i * strides[2]] = equals_floats(data[0] + i * strides[0], dims[1], strides[3], item,
                                                data[1] + i * strides[1]);
    }
    return ZC_OK;
}

/* ---- differences ----------------------------------------------------------------------------- */

typedef void delta_fn(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n,
                      zc_delta_kind kind);

static zc_status delta(delta_fn *run, zc_delta_kind kind, char *const *data, const intptr_t *dims,
                       const intptr_t *strides)
{
    for (intptr_t i = 0; i < dims[0]; i++) {
        run(data[1] + i * strides[1], strides[3], data[0] + i * strides[0], strides[2], (size_t)dims[1],
            kind);
    }
    return ZC_OK;
}

static zc_delta_kind int_kind(const zc_item *item)
{
    switch (item->size) {
    case 1: return ZC_DELTA_INT8;
    case 2: return ZC_DELTA_INT16;
    case 4: return ZC_DELTA_INT32;
    default: return ZC_DELTA_INT64;
    }
}

static zc_delta_kind float_kind(const zc_item *item)
{
    return item->size == 4 ? ZC_DELTA_FLOAT32 : ZC_DELTA_FLOAT64;
}

#define STAMP_DELTA(NAME, KIND)                                                                  \
    zc_status zc_loop_delta_##NAME##_##KIND##s(char *const *data, const intptr_t *dims,          \
                                               const intptr_t *strides, const zc_item *item,     \
                                               zc_error *err)                                    \
    {                                                                                            \
        (void)err;                                                                               \
        return delta(zc_delta_##NAME##_strided, KIND##_kind(item), data, dims, strides);         \
    }

STAMP_DELTA(encode, int)
STAMP_DELTA(encode, float)
STAMP_DELTA(decode, int)
STAMP_DELTA(decode, float)

/* ---- shuffle --------------------------------------------------------------------------------- */

/* The bytes of one block, n items of `size`, where either side may have a stride. */
static void shuffle_strided(char *dst, int64_t to, const char *src, int64_t from, int64_t n, int64_t size,
                            bool back)
{
    const int64_t shape[2] = {size, n};
    const int64_t items[2] = {back ? to : from, size * (back ? to : from)};
    const int64_t planes[2] = {n * (back ? from : to), back ? from : to};
    const zc_item byte = {.size = 1};

    zc_region_copy(2, shape, dst, back ? items : planes, src, back ? planes : items, &byte);
}

static void shuffle_block(char *dst, intptr_t to, const char *src, intptr_t from, intptr_t n, intptr_t size,
                          bool back)
{
    if (to != 1 || from != 1) {
        shuffle_strided(dst, to, src, from, n, size, back);
    } else if (back) {
        zc_unshuffle(dst, src, (size_t)n, (size_t)size);
    } else {
        zc_shuffle(dst, src, (size_t)n, (size_t)size);
    }
}

/* The item size of row i; tools find out what a function returns by a row of one byte. */
static zc_status item_size(char *const *data, const intptr_t *dims, const intptr_t *strides, intptr_t i, intptr_t *size,
                           zc_error *err)
{
    memcpy(size, data[1] + i * strides[1], sizeof *size);
    if (dims[1] == 1 && *size > 1) {
        *size = 1;
    }
    return *size >= 1 && dims[1] % *size == 0
               ? ZC_OK
               : zc_fail(err, ZC_ERR_ARGUMENT, "itemsize: expected a divisor of %lld bytes, got %lld",
                         (long long)dims[1], (long long)*size);
}

static zc_status shuffle(char *const *data, const intptr_t *dims, const intptr_t *strides, bool back,
                         zc_error *err)
{
    for (intptr_t i = 0; i < dims[0]; i++) {
        intptr_t size;

        if (item_size(data, dims, strides, i, &size, err) != ZC_OK) {
            return err->status;
        }
        shuffle_block(data[2] + i * strides[2], strides[4], data[0] + i * strides[0], strides[3],
                      dims[1] / size, size, back);
    }
    return ZC_OK;
}

zc_status zc_loop_shuffle(char *const *data, const intptr_t *dims, const intptr_t *strides,
                          const zc_item *item, zc_error *err)
{
    (void)item;
    return shuffle(data, dims, strides, false, err);
}

zc_status zc_loop_unshuffle(char *const *data, const intptr_t *dims, const intptr_t *strides,
                            const zc_item *item, zc_error *err)
{
    (void)item;
    return shuffle(data, dims, strides, true, err);
}

/* ---- bit shuffle ----------------------------------------------------------------------------- */

enum { MOST_BIT_SHUFFLED = 255 };      /* bytes of an item, as in blosc */

/* One row of adjacent bytes; the items after the last eight stay as they are. */
static void bitshuffle_row(char *dst, const char *src, size_t n, size_t size, bool back)
{
    const size_t whole = n - n % 8;

    if (whole > 0 && back) {
        zc_bitunshuffle(dst, src, whole, size, 0, whole);
    } else if (whole > 0) {
        zc_bitshuffle(dst, src, whole, size);
    }
    memcpy(dst + whole * size, src + whole * size, (n - whole) * size);
}

static zc_status bitshuffle(char *const *data, const intptr_t *dims, const intptr_t *strides, bool back, zc_error *err)
{
    const zc_item byte = {.size = 1};
    const int64_t n = dims[1], one = 1, from = strides[3], to = strides[4];
    const bool dense = n <= 1 || (from == 1 && to == 1);
    char *const room = dense ? NULL : malloc(2 * (size_t)n);

    if (!dense && room == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for a row of %lld bytes", (long long)n);
    }
    for (intptr_t i = 0; i < dims[0] && n > 0; i++) {
        char *const src = data[0] + i * strides[0], *const dst = data[2] + i * strides[2];
        intptr_t size;

        if (item_size(data, dims, strides, i, &size, err) == ZC_OK && size > MOST_BIT_SHUFFLED) {
            zc_fail(err, ZC_ERR_ARGUMENT, "itemsize: expected at most %d bytes, got %lld", MOST_BIT_SHUFFLED,
                    (long long)size);
        }
        if (err->status != ZC_OK) {
            break;
        }
        if (dense) {
            bitshuffle_row(dst, src, (size_t)(n / size), (size_t)size, back);
            continue;
        }
        zc_region_copy(1, &n, room, &one, src, &from, &byte);
        bitshuffle_row(room + n, room, (size_t)(n / size), (size_t)size, back);
        zc_region_copy(1, &n, dst, &to, room + n, &one, &byte);
    }
    free(room);
    return err->status;
}

zc_status zc_loop_bitshuffle(char *const *data, const intptr_t *dims, const intptr_t *strides,
                             const zc_item *item, zc_error *err)
{
    (void)item;
    return bitshuffle(data, dims, strides, false, err);
}

zc_status zc_loop_bitunshuffle(char *const *data, const intptr_t *dims, const intptr_t *strides,
                               const zc_item *item, zc_error *err)
{
    (void)item;
    return bitshuffle(data, dims, strides, true, err);
}
