/* SPDX-License-Identifier: MIT
 *
 * A bit of a code that has z bits of other dimensions below it moves z places: first those bits move whose z
 * has the lowest bit set, by one place, then by two, by four, and so on.
 */
#include "kernels/morton.h"

#include <inttypes.h>
#include <string.h>

#include "base/cpu.h"

#define BLOCK 256                        /* codes at hand while the axes are done one by one */

/* Bits that positions 0 .. length - 1 need. */
static uint32_t bits_of(int64_t length)
{
    uint32_t bits = 0;

    for (uint64_t last = (uint64_t)length - 1; last > 0; last >>= 1) {
        bits++;
    }
    return bits;
}

static zc_status check_shape(int ndim, const int64_t *shape, uint32_t *bits, zc_error *err)
{
    *bits = 0;
    if (ndim > ZC_MAX_DIMS) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shape: expected at most %d dimensions, got %d",
                       ZC_MAX_DIMS, ndim);
    }
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 1) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "shape: expected lengths of 1 or more, got %" PRId64,
                           shape[d]);
        }
        *bits += bits_of(shape[d]);
    }
    if (*bits > 63) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shape: positions need %" PRIu32 " bits, at most 63 fit", *bits);
    }
    return ZC_OK;
}

/* How many bits below `bit` are not in the mask. */
static uint32_t zeros_below(uint64_t mask, uint64_t bit)
{
    uint32_t zeros = 0;

    for (uint64_t rest = ~mask & (bit - 1); rest != 0; rest &= rest - 1) {
        zeros++;
    }
    return zeros;
}

/* Fill in the moves of an axis; how many there are up to the last that is not empty. */
static int find_moves(zc_morton_axis *axis)
{
    int n_moves = 0;

    for (int i = 0; i < 6; i++) {
        axis->moves[i] = 0;
        for (uint64_t rest = axis->mask; rest != 0; rest &= rest - 1) {
            const uint64_t bit = rest & (~rest + 1);
            const uint32_t below = zeros_below(axis->mask, bit);
            if (below >> i & 1) {
                axis->moves[i] |= bit >> (below & ((UINT64_C(1) << i) - 1));
            }
        }
        if (axis->moves[i] != 0) {
            n_moves = i + 1;
        }
    }
    return n_moves;
}

zc_status zc_morton_make(zc_morton *morton, int ndim, const int64_t *shape, zc_error *err)
{
    const zc_status status = check_shape(ndim, shape, &morton->bits, err);
    uint32_t at = 0;

    if (status != ZC_OK) {
        return status;
    }
    morton->ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        morton->axis[d] = (zc_morton_axis){.length = shape[d]};
    }
    for (uint32_t bit = 0; at < morton->bits; bit++) {
        for (int d = 0; d < ndim; d++) {
            if ((uint64_t)(shape[d] - 1) >> bit != 0) {
                morton->axis[d].mask |= UINT64_C(1) << at++;
            }
        }
    }
    morton->n_moves = 0;
    for (int d = 0; d < ndim; d++) {
        const int moves = find_moves(&morton->axis[d]);
        morton->n_moves = moves > morton->n_moves ? moves : morton->n_moves;
    }
    morton->n_moves = morton->n_moves <= 3 ? 3 : morton->n_moves <= 4 ? 4 : 6;
    return ZC_OK;
}

/* The low bits of x, one to each bit of the mask. */
ZC_INLINE uint64_t deposit(uint64_t x, const zc_morton_axis *axis, const int n_moves)
{
    for (int i = n_moves; i-- > 0;) {
        const uint64_t move = axis->moves[i];
        x = (x & ~move) | (x << (1 << i) & move);
    }
    return x & axis->mask;
}

/* Return the bits of x under the mask, packed together. */
ZC_INLINE uint64_t extract(uint64_t x, const zc_morton_axis *axis, const int n_moves)
{
    x &= axis->mask;
    for (int i = 0; i < n_moves; i++) {
        const uint64_t move = x & axis->moves[i];
        x = (x ^ move) | move >> (1 << i);
    }
    return x;
}

/* code[k] gets the bits of one axis; a number that is not below its length, or 0 (which always is). */
ZC_INLINE uint64_t encode_axis(uint64_t *code, size_t n, const char *at, int64_t stride,
                               const zc_morton_axis axis, const int n_moves)
{
    uint64_t outside = 0;

    for (size_t k = 0; k < n; k++) {
        uint64_t x;
        memcpy(&x, at + (int64_t)k * stride, sizeof x);
        outside = x >= (uint64_t)axis.length ? x : outside;
        code[k] |= deposit(x, &axis, n_moves);
    }
    return outside;
}

ZC_INLINE void decode_axis(const uint64_t *code, size_t n, char *at, int64_t stride,
                           const zc_morton_axis axis, const int n_moves)
{
    for (size_t k = 0; k < n; k++) {
        const uint64_t x = extract(code[k], &axis, n_moves);
        memcpy(at + (int64_t)k * stride, &x, sizeof x);
    }
}

/* By the number of moves, so that their loop is unrolled. */
static uint64_t encode_block_axis(uint64_t *code, size_t n, const char *at, int64_t stride,
                                  const zc_morton_axis *axis, int n_moves)
{
    switch (n_moves) {
    case 3: return encode_axis(code, n, at, stride, *axis, 3);
    case 4: return encode_axis(code, n, at, stride, *axis, 4);
    default: return encode_axis(code, n, at, stride, *axis, 6);
    }
}

static void decode_block_axis(const uint64_t *code, size_t n, char *at, int64_t stride,
                              const zc_morton_axis *axis, int n_moves)
{
    switch (n_moves) {
    case 3: decode_axis(code, n, at, stride, *axis, 3); break;
    case 4: decode_axis(code, n, at, stride, *axis, 4); break;
    default: decode_axis(code, n, at, stride, *axis, 6); break;
    }
}

/* n <= BLOCK positions. */
static zc_status encode_block(const zc_morton *morton, size_t n, zc_positions from, uint64_t *code,
                              zc_error *err)
{
    memset(code, 0, n * sizeof code[0]);
    for (int d = 0; d < morton->ndim; d++) {
        const zc_morton_axis *const axis = &morton->axis[d];
        const char *const at = from.data + d * from.axis_stride;
        const uint64_t outside = encode_block_axis(code, n, at, from.stride, axis, morton->n_moves);

        if (outside != 0) {
            return zc_fail(err, ZC_ERR_RANGE,
                           "position %" PRId64 " lies outside of a dimension of length %" PRId64,
                           (int64_t)outside, axis->length);
        }
    }
    return ZC_OK;
}

zc_status zc_morton_encode(const zc_morton *morton, size_t n, zc_positions positions, char *codes,
                           int64_t stride, zc_error *err)
{
    uint64_t code[BLOCK];

    for (size_t done = 0; done < n;) {
        const size_t part = n - done < BLOCK ? n - done : BLOCK;
        const zc_status status = encode_block(morton, part, positions, code, err);

        if (status != ZC_OK) {
            return status;
        }
        for (size_t k = 0; k < part; k++) {
            memcpy(codes + (int64_t)(done + k) * stride, &code[k], sizeof code[k]);
        }
        positions.data += (int64_t)part * positions.stride;
        done += part;
    }
    return ZC_OK;
}

/* Load n <= BLOCK codes; ZC_ERR_RANGE if one has too many bits. */
static zc_status load_codes(const zc_morton *morton, size_t n, const char *codes, int64_t stride,
                            uint64_t *code, zc_error *err)
{
    uint64_t bad = 0;

    for (size_t k = 0; k < n; k++) {
        memcpy(&code[k], codes + (int64_t)k * stride, sizeof code[k]);
        bad = code[k] >> morton->bits != 0 ? code[k] : bad;
    }
    if (bad != 0) {
        return zc_fail(err, ZC_ERR_RANGE, "code %" PRId64 " has more than the %" PRIu32 " bits of this grid",
                       (int64_t)bad, morton->bits);
    }
    return ZC_OK;
}

zc_status zc_morton_decode(const zc_morton *morton, size_t n, const char *codes, int64_t stride,
                           zc_positions positions, zc_error *err)
{
    uint64_t code[BLOCK];

    for (size_t done = 0; done < n;) {
        const size_t part = n - done < BLOCK ? n - done : BLOCK;
        const zc_status status = load_codes(morton, part, codes + (int64_t)done * stride, stride, code, err);

        if (status != ZC_OK) {
            return status;
        }
        for (int d = 0; d < morton->ndim; d++) {
            decode_block_axis(code, part, positions.data + d * positions.axis_stride, positions.stride,
                              &morton->axis[d], morton->n_moves);
        }
        positions.data += (int64_t)part * positions.stride;
        done += part;
    }
    return ZC_OK;
}
