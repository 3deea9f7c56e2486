/* SPDX-License-Identifier: MIT
 *
 * Copies whose two sides disagree about the fast axis.
 *
 * Taken item by item, one side would use a single item of each cache line that it touches.  So the plane is
 * cut into blocks of about one line (64 bytes) by one line, which stay in the first-level cache, and a block
 * into tiles of 16 x 16 bytes which are transposed in registers:
 *
 * A tile of N x N items (N = 16 / size) sits in N registers, item (i, j) at position i * N + j.  Interleaving
 * the first half of the registers with the second half rotates the bits of the position by one.  After
 * log2(N) such rounds the bits of i and j have changed places: the tile is transposed.
 */
#include <string.h>

#include "kernels/plan.h"
#include "kernels/byte_order.h"

#define LINE 64

static inline int64_t min64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* na x nb items of any kind, the longer loop inside. */
static void copy_part(const zc_copy_plan *plan, char *dst, const char *src, int64_t na, int64_t nb)
{
    const zc_axis a = plan->a;
    const zc_axis b = plan->b;

    if (na >= nb) {
        for (int64_t k = 0; k < nb; k++) {
            plan->ops->strided(na, dst + k * b.dst, a.dst, src + k * b.src, a.src, &plan->item);
        }
    } else {
        for (int64_t k = 0; k < na; k++) {
            plan->ops->strided(nb, dst + k * a.dst, b.dst, src + k * a.src, b.src, &plan->item);
        }
    }
}

/* Blocks of strided items; where one side of the plane is short the blocks grow along the other one. */
static void copy_blocks(const zc_copy_plan *plan, char *dst, const char *src)
{
    const zc_axis a = plan->a;
    const zc_axis b = plan->b;
    const int64_t edge = plan->item.size <= 8 ? 32 : 8;
    const int64_t step_b = a.n >= edge ? edge : edge * edge / a.n;
    const int64_t step_a = b.n >= edge ? edge : edge * edge / b.n;

    for (int64_t j = 0; j < b.n; j += step_b) {
        for (int64_t i = 0; i < a.n; i += step_a) {
            copy_part(plan, dst + j * b.dst + i * a.dst, src + j * b.src + i * a.src,
                      min64(step_a, a.n - i), min64(step_b, b.n - j));
        }
    }
}

#ifdef ZC_HAVE_V16

/* One tile: reads N rows of 16 bytes (src, one per step of a), writes N rows of 16 bytes (dst, one per step
 * of b). */
#define STAMP_TILE(SIZE, N, ROUNDS)                                                              \
    ZC_V16 static inline void tile_##SIZE(char *dst, int64_t dst_row, const char *src,           \
                                          int64_t src_row, zc_v16 order)                         \
    {                                                                                            \
        zc_v16 row[2][N];                                                                        \
        for (int i = 0; i < N; i++) {                                                            \
            row[0][i] = zc_v16_permute(zc_v16_load(src + i * src_row), order);                   \
        }                                                                                        \
        for (int round = 0; round < ROUNDS; round++) {                                           \
            const zc_v16 *const from = row[round % 2];                                           \
            zc_v16 *const to = row[1 - round % 2];                                               \
            for (int i = 0; i < N / 2; i++) {                                                    \
                to[2 * i] = zc_zip##SIZE##_lo(from[i], from[i + N / 2]);                         \
                to[2 * i + 1] = zc_zip##SIZE##_hi(from[i], from[i + N / 2]);                     \
            }                                                                                    \
        }                                                                                        \
        for (int i = 0; i < N; i++) {                                                            \
            zc_v16_store(dst + i * dst_row, row[ROUNDS % 2][i]);                                 \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_V16 static void tiles_##SIZE(char *dst, int64_t dst_row, int64_t na, const char *src,     \
                                    int64_t src_row, int64_t nb, uint32_t word)                  \
    {                                                                                            \
        uint8_t bytes[16];                                                                       \
        zc_swap_order(bytes, word);                                                              \
        const zc_v16 order = zc_v16_load(bytes);                                                 \
        for (int64_t i = 0; i + N <= na; i += N) {                                               \
            for (int64_t j = 0; j + N <= nb; j += N) {                                           \
                tile_##SIZE(dst + j * dst_row + i * SIZE, dst_row, src + i * src_row + j * SIZE, \
                            src_row, order);                                                     \
            }                                                                                    \
        }                                                                                        \
    }

STAMP_TILE(1, 16, 4)
STAMP_TILE(2, 8, 3)
STAMP_TILE(4, 4, 2)
STAMP_TILE(8, 2, 1)

typedef void (*tiles_fn)(char *dst, int64_t dst_row, int64_t na, const char *src, int64_t src_row,
                         int64_t nb, uint32_t word);

/* The tile kernel if rows of both sides are contiguous and long enough, else NULL. */
static tiles_fn find_tiles(const zc_copy_plan *plan)
{
    const int64_t size = (int64_t)plan->item.size;
    const int64_t least = size < 8 ? 16 : 32;            /* of 2 or 3 columns the blocks are faster */
    const bool plain = plan->item.n_fields == 0 && plan->a.dst == size && plan->b.src == size;

    if (!plain || size > 8 || plan->a.n * size < least || plan->b.n * size < least ||
        !(zc_cpu_features() & ZC_V16_CPU)) {
        return NULL;
    }
    return size == 1 ? tiles_1 : size == 2 ? tiles_2 : size == 4 ? tiles_4 : size == 8 ? tiles_8 : NULL;
}

/*
 * Do `lines` cache lines that lie `stride` apart drive each other out of the first-level cache?  Its sets
 * repeat every 4 KiB; half of the usual eight ways is left to the other side of the copy.
 */
static bool crowded(int64_t lines, int64_t stride)
{
    const int64_t period = 4096;
    const int64_t power = stride & -stride;              /* the largest power of two that divides it */

    return lines * (power < period ? power : period) > 4 * period;
}

/* n >= 1 lines. */
static void copy_lines(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t n)
{
    do {
        memcpy(dst, src, LINE);
        dst += dst_row;
        src += src_row;
    } while (--n > 0);
}

/* A whole block.  Where rows lie a power of two apart (chunks do), the tiles work on copies of the lines on
 * the stack, so that each line of memory is still touched only once. */
static void copy_whole_block(const zc_copy_plan *plan, tiles_fn tiles, char *dst, const char *src)
{
    const int64_t edge = LINE / plan->b.src;
    const int64_t dst_row = plan->b.dst;
    int64_t src_row = plan->a.src;
    char in[LINE * LINE];
    char out[LINE * LINE];

    if (crowded(32 / plan->b.src, src_row)) {
        copy_lines(in, LINE, src, src_row, edge);
        src = in;
        src_row = LINE;
    }
    if (!crowded(edge, dst_row)) {
        tiles(dst, dst_row, edge, src, src_row, edge, plan->item.word);
        return;
    }
    tiles(out, LINE, edge, src, src_row, edge, plan->item.word);
    copy_lines(dst, dst_row, out, LINE, edge);
}

/* A block at the end of a row or column: tiles as far as they go, then single items. */
static void copy_cut_block(const zc_copy_plan *plan, tiles_fn tiles, char *dst, const char *src, int64_t na,
                           int64_t nb)
{
    const zc_axis a = plan->a;
    const zc_axis b = plan->b;
    const int64_t tile = 16 / b.src;
    const int64_t tiled_a = na - na % tile;
    const int64_t tiled_b = nb - nb % tile;

    tiles(dst, b.dst, tiled_a, src, a.src, tiled_b, plan->item.word);
    if (tiled_a < na) {
        copy_part(plan, dst + tiled_a * a.dst, src + tiled_a * a.src, na - tiled_a, tiled_b);
    }
    if (tiled_b < nb) {
        copy_part(plan, dst + tiled_b * b.dst, src + tiled_b * b.src, na, nb - tiled_b);
    }
}

/* Rows begin to end - 1 of src, which become a strip of each row of dst. */
static void copy_strip(const zc_copy_plan *plan, tiles_fn tiles, char *dst, const char *src, int64_t begin,
                       int64_t end)
{
    const zc_axis a = plan->a;
    const zc_axis b = plan->b;
    const int64_t edge = LINE / b.src;

    for (int64_t j = 0; j < b.n; j += edge) {
        const int64_t nb = min64(edge, b.n - j);

        for (int64_t i = begin; i < end; i += edge) {
            const int64_t na = min64(edge, end - i);
            char *const to = dst + j * b.dst + i * a.dst;
            const char *const from = src + j * b.src + i * a.src;

            if (na == edge && nb == edge) {
                copy_whole_block(plan, tiles, to, from);
            } else {
                copy_cut_block(plan, tiles, to, from, na, nb);
            }
        }
    }
}

/* Strip by strip, so that the rows of src in hand need no more pages than a CPU's address
 * cache holds. */
static void copy_tiles(const zc_copy_plan *plan, tiles_fn tiles, char *dst, const char *src)
{
    const int64_t strip = 512;

    for (int64_t i = 0; i < plan->a.n; i += strip) {
        copy_strip(plan, tiles, dst, src, i, min64(i + strip, plan->a.n));
    }
}

#endif

void zc_copy_transposed(const zc_copy_plan *plan, char *dst, const char *src)
{
#ifdef ZC_HAVE_V16
    const tiles_fn tiles = find_tiles(plan);

    if (tiles != NULL) {
        copy_tiles(plan, tiles, dst, src);
        return;
    }
#endif
    copy_blocks(plan, dst, src);
}
