/* SPDX-License-Identifier: MIT */
#include "engine/wants.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"

/* qsort passes nothing on: what is compared stands in the elements. */
typedef struct ordered {
    const zc_store *store;
    const zc_array *array;
    zc_want want;
} ordered;

static int compare(const void *left, const void *right)
{
    const ordered *a = left, *b = right;

    if (a->store != b->store) {
        return (uintptr_t)a->store < (uintptr_t)b->store ? -1 : 1;
    }
    if (a->array != b->array) {
        return (uintptr_t)a->array < (uintptr_t)b->array ? -1 : 1;
    }
    for (int d = 0; d < a->array->ndim; d++) {
        if (a->want.chunk[d] != b->want.chunk[d]) {
            return a->want.chunk[d] < b->want.chunk[d] ? -1 : 1;
        }
    }
    return a->want.call < b->want.call ? -1 : a->want.call > b->want.call;
}

static bool is_same_chunk(const ordered *a, const ordered *b)
{
    return a->store == b->store && a->array == b->array &&
           memcmp(a->want.chunk, b->want.chunk, (size_t)a->array->ndim * sizeof *a->want.chunk) == 0;
}

/* List the chunks of all plans at `list`, and their coordinates at `chunk`. */
static void list_chunks(const zc_wants *wants, ordered *list, int64_t *chunk)
{
    for (size_t call = 0; call < wants->n_calls; call++) {
        const zc_call *const of = &wants->calls[call];
        for (size_t item = 0; item < wants->plans[call].n_items; item++, chunk += of->array->ndim) {
            zc_plan_chunk(&wants->plans[call], item, chunk);
            *list++ = (ordered){of->store, of->array, {.call = call, .item = item, .chunk = chunk}};
        }
    }
}

static void *push(zc_wants *wants, size_t n, size_t size, zc_error *err)
{
    void *memory = zc_scratch_array(wants->ws, n, size, err);

    wants->pushed += memory != NULL;
    return memory;
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
    int64_t *chunks = push(wants, numbers, sizeof *chunks, err);
    wants->list = chunks != NULL ? push(wants, n, sizeof *wants->list, err) : NULL;
    wants->begin = wants->list != NULL ? push(wants, (uint64_t)n + 1, sizeof *wants->begin, err) : NULL;
    ordered *list = wants->begin != NULL ? push(wants, n, sizeof *list, err) : NULL;
    if (list == NULL) {
        return ZC_ERR_MEMORY;
    }
    list_chunks(wants, list, chunks);
    qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n; i++) {
        wants->list[i] = list[i].want;
        if (i == 0 || !is_same_chunk(&list[i - 1], &list[i])) {
            wants->begin[wants->n_items++] = i;
        }
    }
    wants->begin[wants->n_items] = n;
    wants->shares = wants->n_items < n;
    zc_scratch_pop(wants->ws);       /* the ordered list */
    wants->pushed--;
    return ZC_OK;
}

zc_status zc_wants_open(zc_wants *wants, const zc_call *calls, size_t n, zc_plan *plans, size_t *failed_call,
                        zc_error *err)
{
    *wants = (zc_wants){.calls = calls, .plans = plans};
    for (; wants->n_calls < n; wants->n_calls++) {
        const zc_status status = zc_plan_open(&calls[wants->n_calls], &plans[wants->n_calls], err);
        if (status != ZC_OK) {
            *failed_call = wants->n_calls;
            zc_wants_close(wants);
            return status;
        }
        if (n > 1) {
            zc_plan_spare(&plans[wants->n_calls]);
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
    if (wants->ws != NULL) {
        zc_pop(wants->ws, wants->pushed);
    }
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
        *own = (zc_want){.item = item, .chunk = chunk};
        *n = 1;
        return own;
    }
    zc_want *const first = &wants->list[wants->begin[item]];
    *n = wants->begin[item + 1] - wants->begin[item];
    memcpy(chunk, first->chunk, (size_t)wants->calls[first->call].array->ndim * sizeof *chunk);
    return first;
}

void zc_wants_blame(const zc_wants *wants, size_t item, size_t *failed_call, zc_fault *fault)
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
        *failed_call = of->call;
    }
}
