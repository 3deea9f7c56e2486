/* SPDX-License-Identifier: MIT
 *
 * Regions for writers in different processes: whole chunks, each in one of them.
 */
#include "capi/handle.h"

/* A box of chunks. */
typedef struct box {
    int64_t first[ZC_MAX_DIMS], n[ZC_MAX_DIMS];
} box;

/* n * part / whole, rounded, for 0 < part < whole: without a product that does not fit. */
static int64_t share_of(int64_t n, int part, int whole)
{
    return n / whole * part + (n % whole * part + whole / 2) / whole;
}

/*
 * Halve the ranks, and the box along the dimension with the most chunks, until one rank is left.  Each rank does so alone and
 * gets what the others leave.  Where there are fewer chunks than ranks, the first ranks get them.
 */
static void halve(box *b, int ndim, int ranks, int rank)
{
    while (ranks > 1) {
        const int left = ranks - ranks / 2;
        int longest = -1;
        for (int d = 0; d < ndim; d++) {
            longest = b->n[d] > 1 && (longest < 0 || b->n[d] > b->n[longest]) ? d : longest;
        }
        if (longest < 0) {                   /* one chunk */
            for (int d = 0; d < ndim && rank > 0; d++) {
                b->n[d] = 0;
            }
            return;
        }
        int64_t cut = share_of(b->n[longest], left, ranks);
        cut = cut < 1 ? 1 : cut > b->n[longest] - 1 ? b->n[longest] - 1 : cut;
        if (rank < left) {
            b->n[longest] = cut;
            ranks = left;
        } else {
            b->first[longest] += cut;
            b->n[longest] -= cut;
            rank -= left;
            ranks -= left;
        }
    }
}

int zarrcore_decompose(const zarrcore_array *array, int ranks, int rank, int64_t *start, int64_t *count)
{
    box b = {{0}, {0}};

    if (array == NULL || start == NULL || count == NULL || ranks < 1 || rank < 0 || rank >= ranks) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    const int ndim = array->array->ndim;
    for (int d = 0; d < ndim; d++) {
        const zc_grid_axis *const axis = &array->array->grid[d];
        b.n[d] = axis->length > 0 ? zc_grid_find(axis, axis->length - 1) + 1 : 0;
    }
    if (ndim == 0 && rank > 0) {
        return ZARRCORE_ERR_MISSING;
    }
    halve(&b, ndim, ranks, rank);
    for (int d = 0; d < ndim; d++) {
        const zc_grid_axis *const axis = &array->array->grid[d];
        start[d] = b.n[d] > 0 ? zc_grid_start(axis, b.first[d]) : 0;
        const int64_t end = b.n[d] > 0 ? zc_grid_end(axis, b.first[d] + b.n[d] - 1) : 0;
        count[d] = (end < axis->length ? end : axis->length) - start[d];
    }
    return ZARRCORE_OK;
}
