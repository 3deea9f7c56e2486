/* SPDX-License-Identifier: MIT
 *
 * Library contexts that a workspace keeps from chunk to chunk.  Each slot is filled by the first codec that
 * needs it and emptied by zc_workspace_free.
 */
#pragma once

#include "base/assert.h"
#include "base/workspace.h"

typedef enum zc_context_slot {
    ZC_CONTEXT_ZSTD_DECODE,
    ZC_CONTEXT_ZSTD_ENCODE,
    ZC_CONTEXT_INFLATE,
    ZC_CONTEXT_DEFLATE,
    ZC_CONTEXT_LIBDEFLATE_DECODE,
    ZC_CONTEXT_LIBDEFLATE_ENCODE,
    ZC_CONTEXT_COUNT
} zc_context_slot;

/* The context in that slot, made by create() at the first call.  NULL, with err filled, if that fails. */
static inline void *zc_context_get(zc_workspace *ws, zc_context_slot slot, void *(*create)(void),
                                   void (*destroy)(void *), zc_error *err)
{
    zc_assert(slot < ZC_CONTEXT_COUNT);
    if (ws->contexts[slot].context == NULL) {
        ws->contexts[slot].context = create();
        ws->contexts[slot].destroy = destroy;
        if (ws->contexts[slot].context == NULL) {
            zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for a compression library's context");
        }
    }
    return ws->contexts[slot].context;
}

/* Destroy that context: it has grown larger than is worth keeping. */
static inline void zc_context_drop(zc_workspace *ws, zc_context_slot slot)
{
    if (ws->contexts[slot].context != NULL) {
        ws->contexts[slot].destroy(ws->contexts[slot].context);
        ws->contexts[slot].context = NULL;
    }
}

_Static_assert(ZC_CONTEXT_COUNT <= ZC_CONTEXT_SLOTS, "a workspace has too few context slots");
