/* SPDX-License-Identifier: MIT */
#include "engine/wants.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"

static int compare(const void *left, const void *right)
{
    const zc_want *a = left, *b = right;
    const zc_array *array = a->call->array;

    if (a->call->store != b->call->store) {
        return (uintptr_t)a->call->store < (uintptr_t)b->call->store ? -1 : 1;
    }
    if (array != b->call->array) {
        return (uintptr_t)array < (uintptr_t)b->call->array ? -1 : 1;
    }
    for (int d = 0; d < array->ndim; d++) {
        if (a->chunk[d] != b->chunk[d]) {
            return a->chunk[d] < b->chunk[d] ? -1 : 1;
        }
    }
    return a->call < b->call ? -1 : a->call > b->call;
}

static bool is_same_chunk(const zc_want *a, const zc_want *b)
{
    const zc_array *array = a->call->array;

    return a->call->store == b->call->store && array == b->call->array &&
           memcmp(a->chunk, b->chunk, (size_t)array->ndim * sizeof *a->chunk) == 0;
}

/* List the chunks of all plans, and their coordinates at `chunk`. */
static void list_chunks(const zc_wants *wants, int64_t *chunk)
{
    zc_want *list = wants->list;

    for (size_t i = 0; i < wants->n_calls; i++) {
        const zc_call *const call = &wants->calls[i];
        for (size_t item = 0; item < wants->plans[i].n_items; item++, chunk += call->array->ndim) {
            zc_plan_chunk(&wants->plans[i], item, chunk);
            *list++ = (zc_want){.call = call, .item = item, .chunk = chunk};
        }
    }
}

/* Sort the chunks of all calls, and group what is wanted of one. */
static zc_status sort_and_group(zc_wants *wants, zc_error *err)
{
    size_t n = 0, numbers = 0;

    for (size_t i = 0; i < wants->n_calls; i++) {
        size_t own;
        if (!zc_add_size(n, wants->plans[i].n_items, &n) ||
            !zc_mul_size(wants->plans[i].n_items, (uint64_t)wants->calls[i].array->ndim, &own) ||
            !zc_add_size(numbers, own, &numbers)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "the selections touch more chunks than can be counted");
        }
    }
    zc_workspace *const ws = wants->ws;
    int64_t *const chunks = zc_scratch_array(ws, numbers, sizeof *chunks, err);
    wants->list = chunks != NULL ? zc_scratch_array(ws, n, sizeof *wants->list, err) : NULL;
    wants->begin = wants->list != NULL ? zc_scratch_array(ws, (uint64_t)n + 1, sizeof *wants->begin, err) : NULL;
    if (wants->begin == NULL) {
        return ZC_ERR_MEMORY;
    }
    list_chunks(wants, chunks);
    qsort(wants->list, n, sizeof *wants->list, compare);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !is_same_chunk(&wants->list[i - 1], &wants->list[i])) {
            wants->begin[wants->n_items++] = i;
        }
    }
    wants->begin[wants->n_items] = n;
    wants->shares = wants->n_items < n;
    return ZC_OK;
}

zc_status zc_wants_open(zc_wants *wants, const zc_call *calls, size_t n, zc_plan *plans, zc_fault *fault, zc_error *err)
{
    *wants = (zc_wants){.calls = calls, .plans = plans};
    for (; wants->n_calls < n; wants->n_calls++) {
        const zc_status status = zc_plan_open(&calls[wants->n_calls], &plans[wants->n_calls], err);
        if (status != ZC_OK) {
            fault->call = wants->n_calls;
            zc_wants_close(wants);
            return status;
        }
        zc_plan *const plan = &plans[wants->n_calls];
        if (n > 1 && zc_scratch_mark(plan->ws) == 0) {   /* there are no lists in it */
            zc_pool_release(plan->ws);
            plan->ws = NULL;
        }
    }
    if (n == 1) {
        wants->ws = plans[0].ws;
        wants->n_items = plans[0].n_items;
        return ZC_OK;
    }
    wants->ws = zc_pool_borrow(err);
    const zc_status status = wants->ws != NULL ? sort_and_group(wants, err) : ZC_ERR_MEMORY;
    if (status != ZC_OK) {
        zc_wants_close(wants);
    }
    return status;
}

void zc_wants_close(zc_wants *wants)
{
    if (wants->ws != NULL && wants->ws != wants->plans[0].ws) {
        zc_pool_release(wants->ws);
    }
    for (size_t i = 0; i < wants->n_calls; i++) {
        zc_plan_close(&wants->plans[i]);
    }
}

zc_want *zc_wants_of(const zc_wants *wants, size_t item, zc_want *own, size_t *n, int64_t *chunk)
{
    if (wants->list == NULL) {
        zc_plan_chunk(&wants->plans[0], item, chunk);
        *own = (zc_want){.call = wants->calls, .item = item, .chunk = chunk};
        *n = 1;
        return own;
    }
    zc_want *const first = &wants->list[wants->begin[item]];
    *n = wants->begin[item + 1] - wants->begin[item];
    memcpy(chunk, first->chunk, (size_t)first->call->array->ndim * sizeof *chunk);
    return first;
}

void zc_wants_blame(const zc_wants *wants, size_t item, zc_fault *fault)
{
    zc_want own;
    size_t n;

    fault->in_chunk = item < wants->n_items;
    if (fault->in_chunk) {
        const zc_want *of = zc_wants_of(wants, item, &own, &n, fault->chunk);
        while (n > 1 && !of->failed) {
            of++;
            n--;
        }
        fault->call = (size_t)(of->call - wants->calls);
    }
}
