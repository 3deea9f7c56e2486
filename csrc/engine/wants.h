/* SPDX-License-Identifier: MIT
 *
 * What the calls of a job want, chunk by chunk.
 */
#pragma once

#include "engine/engine.h"

/* What one call wants of one chunk. */
typedef struct zc_want {
    const zc_call *call;
    size_t item;             /* of the call's plan */
    const int64_t *chunk;
    bool failed;             /* out: reading it did */
} zc_want;

/* The calls of a job, and their chunks: an item is a chunk with all that calls want of it.  Of one call, an item is an
 * item of its plan, and nothing is listed. */
typedef struct zc_wants {
    const zc_call *calls;
    size_t n_calls;
    zc_plan *plans;          /* one for each call */
    zc_want *list;           /* sorted by store, array and chunk; NULL: of one call */
    size_t *begin;           /* item i is list[begin[i] .. begin[i + 1]) */
    size_t n_items;
    bool shares;             /* several calls want something of one chunk */
    zc_workspace *ws;        /* of the calling thread */
} zc_wants;

/* Plan n calls; plans has room for as many.  fault->call is the one that fails, or stays as it is. */
zc_status zc_wants_open(zc_wants *wants, const zc_call *calls, size_t n, zc_plan *plans, zc_fault *fault, zc_error *err);
void zc_wants_close(zc_wants *wants);

/* The plan of a call. */
static inline const zc_plan *zc_wants_plan(const zc_wants *wants, const zc_call *call)
{
    return &wants->plans[call - wants->calls];
}

/* The first call that wants something of an item. */
static inline const zc_call *zc_wants_call(const zc_wants *wants, size_t item)
{
    return wants->list == NULL ? wants->calls : wants->list[wants->begin[item]].call;
}

/* What is wanted of the chunk of an item (*n of them), in the list or in *own, and where the chunk is. */
zc_want *zc_wants_of(const zc_wants *wants, size_t item, zc_want *own, size_t *n, int64_t *chunk);

/* Which of them a failed item was; in no chunk if its number is out of range. */
void zc_wants_blame(const zc_wants *wants, size_t item, zc_fault *fault);
