/* SPDX-License-Identifier: MIT
 *
 * A chunk is stored when all of it was given, when there is too much in memory (first those that were not written to for
 * longest), and by a flush.  Chunks that one call covers as a whole, and those too large for the buffer, go straight to the
 * store.
 *
 * What is pending of a chunk is used and stored under a lock of its own, so that an older value never overtakes a newer one.
 * No poll is asked meanwhile where that could wait for the GIL: another thread that has it may be waiting for the lock.
 */
#include "capi/buffer.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 16             /* chunks that are stored at once */

/* One call of the buffer. */
typedef struct work {
    zc_buffer *buffer;
    const zc_call *call;
    zc_fault *fault;
    zc_error *err;           /* of the first failure */
    zc_pending *ready[BATCH];
    zc_error failures[BATCH];
    size_t n_ready;
} work;

/* Store a chunk that somebody may be storing already. */
static zc_status store_one(const work *w, zc_pending *p, int threads, zc_workspace *ws, zc_error *err)
{
    zc_selection selection;
    zc_window window;
    zc_fault fault;
    zc_held held;
    zc_call call = *w->call;
    zc_local room;
    zc_store apart;              /* others are stored at the same time */
    zc_status status = zc_key_lock(&p->key, &held, ws, err);

    if (status != ZC_OK) {
        return status;
    }
    if (p->linked && p->n_given > 0) {
        zc_pending_selection(p, &selection, &window);
        zc_store_apart(w->call->store, &room, &apart);
        call.store = &apart;
        call.selection = &selection;
        call.threads = threads;
        call.write_empty = p->write_empty;
        call.poll = call.store->is_local ? NULL : call.poll;
        status = zc_write(&call, &fault, err);
    }
    if (p->linked && status == ZC_OK) {
        zc_pending_unlink(w->buffer, p);
    }
    zc_key_unlock(&held);
    return status;
}

/* Each item keeps its own failure, so that the others are stored all the same. */
static zc_status store_item(void *arg, size_t item, zc_workspace *ws, zc_error *err)
{
    work *const w = arg;

    (void)err;
    zc_error_clear(&w->failures[item]);
    const int threads = w->n_ready > 1 && w->call->store->is_local ? 1 : w->call->threads;
    w->failures[item].status = store_one(w, w->ready[item], threads, ws, &w->failures[item]);
    return ZC_OK;
}

static void note_failure(work *w, const zc_pending *p, const zc_error *failure)
{
    if (w->err->status != ZC_OK) {
        return;
    }
    *w->err = *failure;
    w->fault->in_chunk = p != NULL;
    for (int d = 0; p != NULL && d < p->ndim; d++) {
        w->fault->chunk[d] = p->chunk[d];
    }
}

/* Store those that are ready, on several threads where the store is files, and let go of them. */
static zc_status store_ready(work *w, zc_workspace *ws)
{
    zc_error unused;
    const zc_run run = {.task = store_item, .job = w, .n_items = w->n_ready, .threads = w->call->threads};

    if (w->n_ready > 1 && w->call->store->is_local) {
        zc_error_clear(&unused);
        for (size_t i = 0; i < w->n_ready; i++) {        /* of items that are never begun */
            zc_error_clear(&w->failures[i]);
            w->failures[i].status = ZC_ERR_CANCELLED;
        }
        zc_pool_run(&run, NULL, &unused);              /* no item fails it */
    } else {
        for (size_t i = 0; i < w->n_ready; i++) {
            store_item(w, i, ws, NULL);
        }
    }
    for (size_t i = 0; i < w->n_ready; i++) {
        if (w->failures[i].status != ZC_OK) {
            note_failure(w, w->ready[i], &w->failures[i]);
        }
        zc_pending_let_go(w->buffer, w->ready[i]);
    }
    w->n_ready = 0;
    return w->err->status;
}

/* Between batches nothing is locked.  (Other stores ask while they work.) */
static void ask_poll(work *w)
{
    const zc_call *const call = w->call;
    const zc_error cancelled = {.status = ZC_ERR_CANCELLED};

    if (call->store->is_local && call->poll != NULL && call->poll(call->poll_arg) != 0) {
        w->err->status = ZC_OK;
        note_failure(w, NULL, &cancelled);
    }
}

/* Store the oldest, as long as there is too much. */
static zc_status make_room(work *w, zc_workspace *ws)
{
    const size_t most = atomic_load(&w->buffer->limit);
    zc_pending *p;

    while (w->err->status == ZC_OK && (p = zc_pending_oldest(w->buffer, most)) != NULL) {
        w->ready[w->n_ready++] = p;
        store_ready(w, ws);
    }
    return w->err->status;
}

/* Write a part of the region past the buffer; the box is that of some chunks. */
static zc_status write_through(work *w, const int64_t *lo, const int64_t *hi)
{
    zc_selection part;
    zc_call call = *w->call;

    if (w->err->status != ZC_OK || !zc_selection_clip(call.selection, lo, hi, &part)) {
        return w->err->status;
    }
    for (int d = 0; d < part.ndim; d++) {
        part.axis[d].start += lo[d];
    }
    call.selection = &part;
    w->err->status = zc_write(&call, w->fault, w->err);
    return w->err->status;
}

/* Put a part of the region into what is pending of its chunk; false if that has been stored meanwhile. */
static bool gather(work *w, zc_pending *p, zc_workspace *ws)
{
    zc_held held;
    bool complete = false;

    w->err->status = zc_key_lock(&p->key, &held, ws, w->err);
    if (w->err->status != ZC_OK) {
        zc_pending_let_go(w->buffer, p);
        return true;
    }
    const bool done = p->linked;
    if (done) {
        zc_pending_put(p, w->call->selection);
        p->write_empty = p->write_empty || w->call->write_empty;
        complete = p->n_given == p->n_elements;
    }
    zc_key_unlock(&held);
    if (!complete) {
        zc_pending_let_go(w->buffer, p);
        return done;
    }
    w->ready[w->n_ready++] = p;
    if (w->n_ready == BATCH) {
        store_ready(w, ws);
        ask_poll(w);
    }
    return true;
}

/* Past the buffer; what is pending of the chunk, given before the limit was lowered, is older and goes first. */
static zc_status write_large(work *w, const int64_t *chunk, const int64_t *lo, const int64_t *hi, zc_workspace *ws)
{
    zc_pending *const p = zc_pending_find(w->buffer, w->call->array, chunk);

    if (p != NULL) {
        w->ready[w->n_ready++] = p;
        store_ready(w, ws);
    }
    return write_through(w, lo, hi);
}

static zc_status write_chunk(work *w, const int64_t *chunk, const int64_t *lo, const int64_t *hi, zc_workspace *ws)
{
    const zc_array *const array = w->call->array;
    size_t size;
    bool done = false;

    if (!zc_pending_size(array, chunk, &size) || size > atomic_load(&w->buffer->limit)) {
        return write_large(w, chunk, lo, hi, ws);
    }
    while (!done && make_room(w, ws) == ZC_OK) {
        zc_pending *const p = zc_pending_take(w->buffer, array, chunk);
        if (p == NULL) {
            return zc_fail(w->err, ZC_ERR_MEMORY, "out of memory");
        }
        done = gather(w, p, ws);
    }
    return w->err->status;
}

/* ---- the chunks of a region --------------------------------------------------------------------- */

/* Along each dimension: the chunks, and of these the ones that are covered as a whole. */
typedef struct chunks {
    int64_t first[ZC_MAX_DIMS], last[ZC_MAX_DIMS];
    int64_t whole_first[ZC_MAX_DIMS], whole_last[ZC_MAX_DIMS];
    bool any_whole;
} chunks;

static void find_chunks(const zc_array *array, const zc_selection *region, chunks *out)
{
    out->any_whole = true;
    for (int d = 0; d < array->ndim; d++) {
        const zc_axis *axis = &region->axis[d];
        const zc_grid_axis *grid = &array->grid[d];
        const int64_t end = axis->start + (axis->count - 1) * axis->step;
        out->first[d] = zc_grid_find(grid, axis->start);
        out->last[d] = zc_grid_find(grid, end);
        out->whole_first[d] = out->first[d] + (axis->start != zc_grid_start(grid, out->first[d]));
        out->whole_last[d] = out->last[d] - (end + 1 != grid->length && end + 1 != zc_grid_end(grid, out->last[d]));
        out->any_whole = out->any_whole && (axis->step == 1 || axis->count == 1) && out->whole_first[d] <= out->whole_last[d];
    }
}

static bool is_whole(const chunks *c, int ndim, const int64_t *chunk)
{
    bool inside = c->any_whole;

    for (int d = 0; d < ndim; d++) {
        inside = inside && chunk[d] >= c->whole_first[d] && chunk[d] <= c->whole_last[d];
    }
    return inside;
}

/* Those that are covered, all at once, unless something is pending of them: then they go one by one, as the others do. */
static zc_status write_whole(work *w, chunks *c)
{
    const zc_array *const array = w->call->array;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];
    zc_selection box = *w->call->selection;
    zc_pending **known;
    size_t n;

    for (int d = 0; d < array->ndim && c->any_whole; d++) {
        lo[d] = zc_grid_start(&array->grid[d], c->whole_first[d]);
        hi[d] = zc_grid_end(&array->grid[d], c->whole_last[d]);
        hi[d] = hi[d] < array->grid[d].length ? hi[d] : array->grid[d].length;
        box.axis[d] = (zc_axis){.start = lo[d], .count = hi[d] - lo[d], .step = 1};
    }
    if (!c->any_whole || zc_pending_touched(w->buffer, &box, &known, &n, w->err) != ZC_OK) {
        return w->err->status;
    }
    for (size_t i = 0; i < n; i++) {
        zc_pending_let_go(w->buffer, known[i]);
    }
    free(known);
    c->any_whole = n == 0;
    return n == 0 ? write_through(w, lo, hi) : ZC_OK;
}

/* The next chunk along a dimension with elements of the region: a step may lead across any number of others. */
static int64_t next_chunk(const zc_grid_axis *grid, const zc_axis *axis, int64_t chunk, int64_t last)
{
    if (chunk == last) {
        return last + 1;
    }
    const int64_t steps = (zc_grid_end(grid, chunk) - axis->start - 1) / axis->step + 1;
    return zc_grid_find(grid, axis->start + steps * axis->step);
}

static zc_status write_parts(work *w, const chunks *c, zc_workspace *ws)
{
    const zc_array *const array = w->call->array;
    int64_t chunk[ZC_MAX_DIMS], lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];
    zc_selection part;
    int d;

    memcpy(chunk, c->first, sizeof chunk);
    do {
        for (d = 0; d < array->ndim; d++) {
            lo[d] = zc_grid_start(&array->grid[d], chunk[d]);
            hi[d] = zc_grid_end(&array->grid[d], chunk[d]);
        }
        if (!is_whole(c, array->ndim, chunk) && zc_selection_clip(w->call->selection, lo, hi, &part)) {
            write_chunk(w, chunk, lo, hi, ws);
        }
        for (d = array->ndim - 1; d >= 0; d--) {
            chunk[d] = next_chunk(&array->grid[d], &w->call->selection->axis[d], chunk[d], c->last[d]);
            if (chunk[d] <= c->last[d]) {
                break;
            }
            chunk[d] = c->first[d];
        }
    } while (d >= 0 && w->err->status == ZC_OK);
    return w->err->status;
}

static zc_status write_region(zc_buffer *buffer, const zc_call *call, zc_fault *fault, zc_error *err)
{
    work w = {.buffer = buffer, .call = call, .fault = fault, .err = err};
    chunks c = {0};
    zc_workspace *const ws = zc_pool_borrow(err);

    if (ws == NULL) {
        return ZC_ERR_MEMORY;
    }
    find_chunks(call->array, call->selection, &c);
    if (write_whole(&w, &c) == ZC_OK) {
        write_parts(&w, &c, ws);
    }
    store_ready(&w, ws);
    zc_pool_release(ws);
    return err->status;
}

zc_status zc_buffer_flush(zc_buffer *buffer, const zc_call *call, zc_fault *fault, zc_error *err)
{
    work w = {.buffer = buffer, .call = call, .fault = fault, .err = err};
    zc_pending **all;
    size_t n = 0, i = 0;
    zc_workspace *const ws = zc_pool_borrow(err);

    if (ws == NULL || zc_pending_touched(buffer, NULL, &all, &n, err) != ZC_OK) {
        zc_pool_release(ws);
        return err->status;
    }
    while (i < n && err->status != ZC_ERR_CANCELLED) {
        while (w.n_ready < BATCH && i < n) {
            w.ready[w.n_ready++] = all[i++];
        }
        store_ready(&w, ws);
        ask_poll(&w);
    }
    while (i < n) {
        zc_pending_let_go(buffer, all[i++]);
    }
    free(all);
    zc_pool_release(ws);
    return err->status;
}

/* Chunks with elements of a region. */
typedef struct touched {
    zc_pending **at;
    size_t n;
} touched;

/* zc_call.is_pending */
static bool is_touched(const void *arg, const int64_t *chunk)
{
    const touched *const t = arg;
    size_t i = 0;

    while (i < t->n && memcmp(t->at[i]->chunk, chunk, (size_t)t->at[i]->ndim * sizeof *chunk) != 0) {
        i++;
    }
    return i < t->n;
}

static zc_status read_region(zc_buffer *buffer, const zc_call *read, zc_fault *fault, zc_error *err)
{
    touched t;
    zc_held held;
    zc_call call = *read;
    zc_workspace *const ws = zc_pool_borrow(err);

    /* What was given before is in the store, or in one of these chunks even if it is stored meanwhile. */
    if (ws == NULL || zc_pending_touched(buffer, read->selection, &t.at, &t.n, err) != ZC_OK) {
        zc_pool_release(ws);
        return err->status;
    }
    call.is_pending = is_touched;
    call.pending = &t;
    zc_status status = zc_read(&call, fault, err);
    for (size_t i = 0; i < t.n; i++) {
        if (status == ZC_OK && (status = zc_key_lock(&t.at[i]->key, &held, ws, err)) == ZC_OK) {
            zc_pending_overlay(t.at[i], read->selection);
            zc_key_unlock(&held);
        }
        zc_pending_let_go(buffer, t.at[i]);
    }
    free(t.at);
    zc_pool_release(ws);
    return status;
}

zc_status zc_buffer_run(zc_buffer *buffer, const zc_call *call, bool write, zc_fault *fault, zc_error *err)
{
    zc_buffer_follow_fork(buffer);
    if (write && (atomic_load(&buffer->limit) > 0 || atomic_load(&buffer->n) > 0)) {
        return write_region(buffer, call, fault, err);
    }
    if (!write && atomic_load(&buffer->n) > 0) {
        return read_region(buffer, call, fault, err);
    }
    return (write ? zc_write : zc_read)(call, fault, err);
}
