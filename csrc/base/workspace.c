/* SPDX-License-Identifier: MIT */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L          /* posix_memalign */
#endif

#include "base/workspace.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <malloc.h>
#endif

#include "base/arith.h"

enum { ALIGNMENT = 64 };                 /* a cache line, and the widest vector register */

static void *aligned_new(size_t n)
{
#ifdef _WIN32
    return _aligned_malloc(n, ALIGNMENT);
#else
    void *data = NULL;
    return posix_memalign(&data, ALIGNMENT, n) == 0 ? data : NULL;
#endif
}

static void aligned_delete(void *data)
{
#ifdef _WIN32
    _aligned_free(data);
#else
    free(data);
#endif
}

zc_workspace *zc_workspace_new(void)
{
    return calloc(1, sizeof(zc_workspace));
}

void zc_workspace_free(zc_workspace *ws)
{
    if (ws == NULL) {
        return;
    }
    for (int i = 0; i < ZC_SCRATCH_DEPTH; i++) {
        aligned_delete(ws->scratch[i].data);
    }
    for (int i = 0; i < ZC_CONTEXT_SLOTS; i++) {
        if (ws->contexts[i].context != NULL) {
            ws->contexts[i].destroy(ws->contexts[i].context);
        }
    }
    free(ws);
}

/*
 * How much to allocate for n bytes: an eighth more, so that chunks whose encoded sizes creep upwards do not
 * cause an allocation each.  False if that does not fit.
 */
static bool capacity_for(size_t n, size_t *out)
{
    size_t padded;

    if (!zc_add_size(n, n / 8, &padded) || !zc_add_size(padded, 2 * ALIGNMENT, &padded)) {
        return false;
    }
    *out = padded / ALIGNMENT * ALIGNMENT;
    return true;
}

/* Give buffer `index` room for n bytes and keep its first `used` ones. */
static void *reserve(zc_workspace *ws, int index, size_t used, size_t n, zc_error *err)
{
    size_t capacity;
    void *data;

    if (ws->scratch[index].data != NULL && ws->scratch[index].capacity >= n) {
        return ws->scratch[index].data;
    }
    if (used == 0) {                     /* first give back, then take: the peak is lower */
        aligned_delete(ws->scratch[index].data);
        ws->scratch[index].data = NULL;
        ws->scratch[index].capacity = 0;
    }
    data = capacity_for(n, &capacity) ? aligned_new(capacity) : NULL;
    if (data == NULL) {
        zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for %zu bytes of scratch", n);
        return NULL;
    }
    if (used > 0) {
        memcpy(data, ws->scratch[index].data, used);
        aligned_delete(ws->scratch[index].data);
    }
    ws->scratch[index].data = data;
    ws->scratch[index].capacity = capacity;
    return data;
}

void *zc_scratch_push(zc_workspace *ws, size_t n, zc_error *err)
{
    if (ws->depth == ZC_SCRATCH_DEPTH) {
        zc_fail(err, ZC_ERR_MEMORY, "more than %d scratch buffers open at once", ZC_SCRATCH_DEPTH);
        return NULL;
    }
    void *data = reserve(ws, ws->depth, 0, n, err);
    if (data != NULL) {
        ws->depth++;
    }
    return data;
}

void zc_scratch_pop(zc_workspace *ws)
{
    if (ws->depth > 0) {
        ws->depth--;
    }
}

void *zc_scratch_grow(zc_workspace *ws, size_t used, size_t n, zc_error *err)
{
    if (ws->depth == 0) {
        zc_fail(err, ZC_ERR_ARGUMENT, "no scratch buffer is open");
        return NULL;
    }
    const size_t capacity = ws->scratch[ws->depth - 1].capacity;
    return reserve(ws, ws->depth - 1, used < capacity ? used : capacity, n, err);
}

void zc_workspace_trim(zc_workspace *ws, size_t keep)
{
    size_t total = 0;

    for (int i = 0; i < ZC_SCRATCH_DEPTH; i++) {
        total += ws->scratch[i].capacity;
    }
    for (int i = ZC_SCRATCH_DEPTH - 1; i >= ws->depth && total > keep; i--) {
        total -= ws->scratch[i].capacity;
        aligned_delete(ws->scratch[i].data);
        ws->scratch[i].data = NULL;
        ws->scratch[i].capacity = 0;
    }
}
