/* SPDX-License-Identifier: MIT
 *
 * A selection: which elements of a chunk belong to which places in the caller's memory.
 *
 * A call's selection is of the array; clipped to the box of a chunk it is a selection of that chunk, clipped
 * again it is a selection of an inner chunk of a shard.  Positions grow along every dimension: a negative step is
 * turned round, an index list is sorted, before the engine sees it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/workspace.h"
#include "kernels/region.h"

/*
 * One dimension.  Element k, 0 <= k < count, is
 *     in the chunk    at index start + k * step          (index == NULL, step >= 1)
 *                     or       start + index[k]          (index ascending)
 *     in the memory   at byte  k * stride  or  place[k] * stride.
 */
typedef struct zc_axis {
    int64_t count;
    int64_t start;
    int64_t step;
    int64_t stride;
    const int64_t *index;
    const int64_t *place;    /* NULL exactly where index is NULL */
} zc_axis;

/*
 * For reading: a mask of the array, packed.  A selection with one is a region whose memory stands for the mask, one byte
 * an element, C-contiguous, from `base` on, and is not looked at.  Where bits are set, elements go to `memory`, in C order
 * of the mask: before[i] of them come before those of bits[i].
 */
typedef struct zc_picked {
    const char *base;
    const uint64_t *bits;    /* 64 elements each, the first one lowest */
    const int64_t *before;
    size_t count;            /* bits that are set */
    char *memory;
} zc_picked;

/* The bytes of every element that the memory holds (one field of a record; several are pieces of `item`), and what to
 * swap in them; or, for writing, which elements of the memory are given. */
typedef struct zc_window {
    size_t offset;           /* in the chunk's elements */
    zc_item item;
    bool patches;            /* writing: other bytes of the elements keep their values, so no chunk is ever covered */
    const uint8_t *mask;     /* ZC_SELECT_GIVEN: the element i places after `first` is given where mask[i] is not 0 */
    const char *first;
    const zc_picked *picked; /* ZC_SELECT_PICKED: where to, and which elements */
} zc_window;

/* Which elements. */
typedef enum zc_selection_kind {
    ZC_SELECT_REGION,        /* all that the axes name */
    ZC_SELECT_PICKED,        /* reading: those of a region that window->picked names */
    ZC_SELECT_GIVEN,         /* writing: those of a region that window->mask names */
    ZC_SELECT_POINTS,        /* single ones */
} zc_selection_kind;

typedef struct zc_selection {
    zc_selection_kind kind;
    int ndim;
    char *memory;            /* the element with k = 0 in every dimension; NULL where nothing is moved: a call that
                              * prefetches, or whose values are blocks */
    zc_axis axis[ZC_MAX_DIMS];
    const zc_window *window; /* NULL: whole elements */

    /* Of points: point p has chunk index start + index[d][points[p]] in dimension d and lies at byte
     * points[p] * point_stride. */
    const int64_t *points;
    size_t n_points;
    int64_t point_stride;
} zc_selection;

/* What lies in the box lo <= index < hi, relative to lo.  False if that is nothing.  Regions only. */
bool zc_selection_clip(const zc_selection *selection, const int64_t *lo, const int64_t *hi, zc_selection *out);

/* The same for points: n of them, which all lie in the box that begins at lo. */
void zc_selection_take_points(const zc_selection *selection, const int64_t *points, size_t n, const int64_t *lo,
                              zc_selection *out);

/* zc_selection_clip along one dimension. */
bool zc_axis_clip(const zc_axis *axis, int64_t lo, int64_t hi, zc_axis *out, int64_t *memory_shift);

/* Does it hold every element of a chunk of that shape?  (Never true of points, or where fields are written.) */
bool zc_selection_covers(const zc_selection *selection, const int64_t *shape);

/* Does the memory have the C-contiguous layout of a whole chunk of that shape, every element in its place? */
bool zc_selection_is_chunk_image(const zc_selection *selection, const int64_t *shape, size_t itemsize);

/* Offset, within a chunk element, of the bytes that memory holds, and their layout: the whole element, or the window's
 * bytes. */
static inline size_t zc_selection_offset(const zc_selection *selection)
{
    return selection->window != NULL ? selection->window->offset : 0;
}

static inline const zc_item *zc_selection_item(const zc_selection *selection, const zc_item *element)
{
    return selection->window != NULL ? &selection->window->item : element;
}

/* All of a chunk of that shape, to or from C-contiguous memory; false if its size overflows. */
bool zc_selection_whole(int ndim, const int64_t *shape, size_t itemsize, void *memory, zc_selection *out);

/* How many elements. */
size_t zc_selection_count(const zc_selection *selection);

/* Reorder the dimensions: dimension i of the result is dimension order[i]. */
void zc_selection_permute(zc_selection *selection, const int *order);

/* Elements of a chunk of that shape: its flat elements first .. first + n, C-contiguous. */
typedef struct zc_elements {
    const int64_t *shape;
    const zc_item *item;     /* which swaps where they are moved */
    int64_t first, n;
    char *data;
} zc_elements;

/* elements -> memory, and memory -> elements: of the selection, those that are among the elements. */
zc_status zc_selection_scatter(const zc_selection *selection, const zc_elements *from, zc_workspace *ws, zc_error *err);
zc_status zc_selection_gather(const zc_selection *selection, const zc_elements *to, zc_workspace *ws, zc_error *err);

/* How many elements of a ZC_SELECT_PICKED are wanted; whether any is. */
size_t zc_selection_picks(const zc_selection *selection);
bool zc_selection_picks_any(const zc_selection *selection);

/* Copy the wanted elements.  chunk points to the element (0, 0, ...) of the chunk, strides are in bytes. */
void zc_selection_place_picked(const zc_selection *selection, const char *chunk, const int64_t *chunk_stride,
                               const zc_item *item);

/* The whole of the chunk, of a ZC_SELECT_GIVEN without steps and index lists: only what is given is moved. */
void zc_selection_gather_masked(const zc_selection *selection, const int64_t *shape, char *chunk, const zc_item *item);

/* Is nothing of such a region given? */
bool zc_selection_masks_all(const zc_selection *selection, size_t itemsize);

/* Do rows of the chunk lie in rows of the memory?  If not, a piece of the chunk touches each of many cache lines of
 * the memory for a few bytes only, and it is better to move the whole chunk at once, block by block. */
bool zc_selection_keeps_rows(const zc_selection *selection);

/* Does the selection have an element among the flat elements first .. first + n of the chunk?  Not of points. */
bool zc_selection_touches(const zc_selection *selection, const int64_t *shape, int64_t first, int64_t n);

/* The flat elements [*first, *last] of a chunk of that shape between which all of the selection lies.  Not of points. */
void zc_selection_extent(const zc_selection *selection, const int64_t *shape, int64_t *first, int64_t *last);

/* The flat index of a point of the selection in a chunk of that shape. */
int64_t zc_selection_point_flat(const zc_selection *selection, const int64_t *shape, int64_t point);

/* Set all of the memory to the item at fill. */
zc_status zc_selection_fill(const zc_selection *selection, size_t itemsize, const void *fill, zc_workspace *ws,
                            zc_error *err);

/* Is all of the memory equal to the item at fill, bit for bit?  Regions without index lists only. */
bool zc_selection_equals_fill(const zc_selection *selection, size_t itemsize, const void *fill);
