/* SPDX-License-Identifier: MIT */
#include "engine/fetch_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ROUNDS_MAX 16                /* more than shards are ever nested */

/* ---- what has been fetched -------------------------------------------------------------------------- */

/* n bytes at an offset (ZC_SIZE_UNKNOWN: the last n), or NULL. */
static const uint8_t *find(const zc_piece_item *item, uint64_t offset, size_t n)
{
    size_t low = 0, high = item->n;

    while (low < high) {             /* the last piece that does not begin after the offset */
        const size_t middle = low + (high - low) / 2;
        if (item->pieces[middle].base <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const zc_value *piece = &item->pieces[low - 1];
    if (offset == ZC_SIZE_UNKNOWN || piece->base == ZC_SIZE_UNKNOWN) {
        return piece->base == offset && piece->size == n ? piece->data : NULL;
    }
    const uint64_t at = offset - piece->base;
    return at <= piece->size && n <= piece->size - at ? piece->data + at : NULL;
}

static bool note(zc_pieces *set, const zc_piece_item *item, uint64_t offset, size_t n)
{
    if (set->n_requests == set->room) {
        const size_t room = 2 * set->room + 64;
        zc_request *requests = zc_realloc_array(set->requests, room, sizeof *requests);
        if (requests == NULL) {
            return false;
        }
        set->requests = requests;
        set->room = room;
    }
    set->requests[set->n_requests++] =
        (zc_request){.key = item->key, .offset = offset, .n = n, .owner = (size_t)(item - set->items)};
    return true;
}

/* What a dry run has not seen coming is read by a request of its own. */
static zc_status read_now(const zc_pieces *set, const char *key, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    zc_value value;
    zc_status status = set->real->open(set->real, key, false, &value, err);

    if (status == ZC_OK) {
        status = offset == ZC_SIZE_UNKNOWN ? set->real->read_tail(&value, dst, n, err)
                                           : set->real->read(&value, offset, dst, n, err);
        zc_value_close(&value);
    }
    return status;
}

static zc_status pieces_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    zc_piece_item *item = value->token;
    zc_pieces *set = item->set;
    const uint8_t *data = find(item, offset, n);

    if (data == NULL && set->collecting) {
        return note(set, item, offset, n) ? ZC_ERR_PENDING : ZC_ERR_MEMORY;
    }
    if (data == NULL) {
        atomic_store_explicit(&item->late, true, memory_order_relaxed);
        return read_now(set, item->key, offset, dst, n, err);
    }
    if (dst != NULL) {
        memcpy(dst, data, n);
    }
    return ZC_OK;
}

static zc_status pieces_read_tail(const zc_value *value, void *dst, size_t n, zc_error *err)
{
    return pieces_read(value, ZC_SIZE_UNKNOWN, dst, n, err);
}

static void pieces_close(zc_value *value)
{
    (void)value;
}

/* ---- rounds -------------------------------------------------------------------------------------------- */

static int compare_requests(const void *left, const void *right)
{
    const zc_request *a = left, *b = right;

    if (a->owner != b->owner) {
        return a->owner < b->owner ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int compare_pieces(const void *left, const void *right)
{
    const zc_value *a = left, *b = right;

    return a->base < b->base ? -1 : a->base > b->base;
}

/* Join ranges of one value that lie close together: one request more takes longer than the bytes between them. */
static void join_noted(zc_pieces *set)
{
    const zc_store *store = set->real;
    size_t n = 0;

    qsort(set->requests, set->n_requests, sizeof *set->requests, compare_requests);
    for (size_t i = 0; i < set->n_requests; i++) {
        const zc_request next = set->requests[i];
        zc_request *last = n > 0 ? &set->requests[n - 1] : NULL;
        const bool ranges = last != NULL && last->owner == next.owner && next.offset != ZC_SIZE_UNKNOWN &&
                            last->n != ZC_SIZE_MAX && next.n != ZC_SIZE_MAX;
        const uint64_t end = ranges ? last->offset + last->n : 0;
        if (ranges && (next.offset <= end || next.offset - end <= store->gap) &&
            next.offset + next.n - last->offset <= store->most) {
            last->n = next.offset + next.n > end ? (size_t)(next.offset + next.n - last->offset) : last->n;
        } else {
            set->requests[n++] = next;
        }
    }
    set->n_requests = n;
}

static bool keep(zc_piece_item *item, const zc_request *request, zc_value *value)
{
    if (item->n == item->room) {
        const size_t room = 2 * item->room + 2;
        zc_value *pieces = zc_realloc_array(item->pieces, room, sizeof *pieces);
        if (pieces == NULL) {
            return false;
        }
        item->pieces = pieces;
        item->room = room;
    }
    value->base = request->offset;
    item->pieces[item->n++] = *value;
    return true;
}

/* Take over a part that was fetched.  One that is shorter than it should be is of a value that has been replaced. */
static void take(zc_pieces *set, const zc_request *request, zc_value *value)
{
    zc_piece_item *item = &set->items[request->owner];

    if (value->data == NULL) {
        item->absent = item->n == 0;
        item->alone = item->n > 0;
        return;
    }
    if ((!item->whole && value->size != request->n) || !keep(item, request, value)) {
        item->alone = true;
        set->real->release(value, 1);
    }
}

static zc_status fetch_noted(zc_pieces *set, zc_error *err)
{
    join_noted(set);
    zc_value *values = calloc(set->n_requests, sizeof *values);
    zc_status status = ZC_ERR_MEMORY;
    if (values != NULL) {
        status = set->real->fetch_parts(set->real, set->requests, set->n_requests, values, err);
    }
    const bool fetched = status == ZC_OK;
    for (size_t i = 0; i < set->n_requests; i++) {
        if (fetched) {
            take(set, &set->requests[i], &values[i]);
        } else {
            set->items[set->requests[i].owner].alone = true;
        }
    }
    for (size_t i = 0; i < set->n; i++) {
        if (set->items[i].n > 1) {
            qsort(set->items[i].pieces, set->items[i].n, sizeof *set->items[i].pieces, compare_pieces);
        }
    }
    free(values);
    if (status == ZC_ERR_CALLBACK) {
        return status;
    }
    zc_error_clear(err);             /* one of many requests failed: asking for each alone shows which, and why */
    return ZC_OK;
}

static void collect_item(zc_pieces *set, size_t number, zc_collect collect, void *arg)
{
    zc_piece_item *item = &set->items[number];
    const zc_value value = zc_pieces_value(set, number);
    zc_error err;

    zc_error_clear(&err);
    if (item->whole) {
        item->alone = item->n == 0 && !note(set, item, 0, ZC_SIZE_MAX);
        return;
    }
    const zc_status status = collect(arg, number, &value, &err);
    item->alone = status != ZC_OK && status != ZC_ERR_PENDING;
}

void zc_pieces_open(zc_pieces *set, const zc_store *store, zc_piece_item *items, size_t n)
{
    *set = (zc_pieces){.real = store, .store = *store, .items = items, .n = n};
    set->store.self = set;
    set->store.read = pieces_read;
    set->store.read_tail = pieces_read_tail;
    set->store.close = pieces_close;
}

/* Has this process changed the value since the first round, or may it have? */
static bool has_changed(const zc_piece_item *item)
{
    return item->generation == ZC_CHANGING || zc_key_generation(&item->known) != item->generation;
}

bool zc_pieces_is_torn(const zc_pieces *set, size_t item)
{
    return atomic_load_explicit(&set->items[item].late, memory_order_relaxed) && has_changed(&set->items[item]);
}

zc_status zc_pieces_fetch(zc_pieces *set, zc_collect collect, void *arg, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t i = 0; i < set->n; i++) {
        set->items[i].set = set;
        set->items[i].generation = zc_key_generation(&set->items[i].known);
    }
    set->collecting = true;
    for (int round = 0; round < ROUNDS_MAX && status == ZC_OK; round++) {
        set->n_requests = 0;
        for (size_t i = 0; i < set->n; i++) {
            if (!set->items[i].absent && !set->items[i].alone) {
                collect_item(set, i, collect, arg);
            }
        }
        if (set->n_requests == 0) {
            break;
        }
        status = fetch_noted(set, err);
    }
    set->collecting = false;
    for (size_t i = 0; i < set->n; i++) {
        zc_piece_item *item = &set->items[i];
        if (item->n > 1 && has_changed(item)) {
            item->alone = true;      /* a write of this process may have come between two rounds */
        }
    }
    return status;
}

zc_value zc_pieces_value(const zc_pieces *set, size_t item)
{
    const zc_piece_item *found = &set->items[item];

    if (found->whole && found->n > 0) {
        return zc_value_of_memory(found->pieces[0].data, (size_t)found->pieces[0].size);
    }
    return (zc_value){.size = ZC_SIZE_UNKNOWN, .token = (void *)found, .store = &set->store};
}

void zc_pieces_close(zc_pieces *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->items[i].n > 0) {
            set->real->release(set->items[i].pieces, set->items[i].n);
        }
        free(set->items[i].pieces);
    }
    free(set->requests);
}
