/* SPDX-License-Identifier: MIT */
#include "engine/fetch_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"

#define ROUNDS_MAX 16                /* more than shards are ever nested */

/* ---- what has been fetched -------------------------------------------------------------------------- */

/* n bytes at an offset (ZC_SIZE_UNKNOWN: the last n), or NULL. */
static const uint8_t *find(const zc_fetched *item, uint64_t offset, size_t n)
{
    size_t low = 0, high = item->n;

    while (low < high) {             /* the last range that does not begin after the offset */
        const size_t middle = low + (high - low) / 2;
        if (item->ranges[middle].base <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const zc_value *range = &item->ranges[low - 1];
    if (offset == ZC_SIZE_UNKNOWN || range->base == ZC_SIZE_UNKNOWN) {
        return range->base == offset && range->size == n ? range->data : NULL;
    }
    const uint64_t at = offset - range->base;
    return at <= range->size && n <= range->size - at ? range->data + at : NULL;
}

static bool note(zc_fetch *set, const zc_fetched *item, uint64_t offset, size_t n)
{
    zc_request *const requests = zc_grow(set->requests, set->n_requests + 1, &set->room, sizeof *requests);

    if (requests == NULL) {
        return false;
    }
    set->requests = requests;
    requests[set->n_requests++] =
        (zc_request){.key = item->key, .offset = offset, .n = n, .owner = (size_t)(item - set->items), .bytes = item->bytes};
    return true;
}

bool zc_fetch_wants(const zc_value *value, uint64_t offset, size_t n)
{
    zc_fetched *item = value->token;

    offset += offset != ZC_SIZE_UNKNOWN ? value->base : 0;
    const bool there = find(item, offset, n) != NULL;
    item->alone = item->alone || (!there && !note(item->set, item, offset, n));
    return there;
}

static zc_status range_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const uint8_t *data = find(value->token, offset, n);

    /* The first pass has not seen it coming, as when a cache has let go of it since.  By now there may be another version. */
    if (data == NULL) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a range that was not fetched");
    }
    memcpy(dst, data, n);
    return ZC_OK;
}

static zc_status range_read_tail(const zc_value *value, void *dst, size_t n, zc_error *err)
{
    return range_read(value, ZC_SIZE_UNKNOWN, dst, n, err);
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

static int compare_ranges(const void *left, const void *right)
{
    const zc_value *a = left, *b = right;

    return a->base < b->base ? -1 : a->base > b->base;
}

/* Join ranges of one value that lie close together: one request more takes longer than the bytes between them. */
static void join_noted(zc_fetch *set)
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

static bool keep(zc_fetched *item, const zc_request *request, zc_value *value)
{
    zc_value *const ranges = zc_grow(item->ranges, item->n + 1, &item->room, sizeof *ranges);

    if (ranges == NULL) {
        return false;
    }
    item->ranges = ranges;
    value->base = request->offset;
    ranges[item->n++] = *value;
    return true;
}

/* Take over a fetched value or range.  If that is too short, the value has been replaced meanwhile.  stays: `value` is kept
 * where it is. */
static void take(zc_fetch *set, const zc_request *request, zc_value *value, bool stays)
{
    zc_fetched *item = &set->items[request->owner];

    if (zc_value_is_absent(value)) {
        item->absent = item->n == 0;
        item->alone = item->n > 0;
    } else if (stays) {
        item->value = value;
    } else if ((!item->whole && value->size != request->n) || !keep(item, request, value)) {
        item->alone = true;
        set->real->release(value, 1);
    } else if (item->whole) {
        item->value = item->ranges;
    }
}

/* Fetch what has been noted.  ranges: not all of it is whole values. */
static zc_status fetch_noted(zc_fetch *set, bool ranges, size_t *failed, zc_error *err)
{
    zc_value *values = calloc(set->n_requests, sizeof *values);
    zc_status status = ZC_ERR_MEMORY;
    size_t which = SIZE_MAX;

    if (values != NULL && ranges) {
        join_noted(set);
        status = set->real->fetch_parts(set->real, set->requests, set->n_requests, values, err);
    } else if (values != NULL) {
        status = set->real->fetch(set->real, set->requests, set->n_requests, values, &which, err);
    }
    set->n_values = status == ZC_OK && !ranges ? set->n_requests : 0;
    for (size_t i = 0; i < set->n_requests; i++) {
        if (status == ZC_OK) {
            take(set, &set->requests[i], &values[i], !ranges);
        } else {
            set->items[set->requests[i].owner].alone = true;
        }
    }
    for (size_t i = 0; ranges && i < set->n; i++) {
        if (set->items[i].n > 1) {
            qsort(set->items[i].ranges, set->items[i].n, sizeof *set->items[i].ranges, compare_ranges);
        }
    }
    if (set->n_values > 0) {
        set->values = values;
    } else {
        free(values);
    }
    if (status == ZC_ERR_CALLBACK) {
        *failed = which < set->n_requests ? set->requests[which].owner : *failed;
        return status;
    }
    zc_error_clear(err);             /* one of many requests failed: asking for each alone shows which, and why */
    return ZC_OK;
}

/* Note what is wanted of an item; true if that is a range. */
static bool list_item(zc_fetch *set, zc_fetched *item)
{
    zc_error err;

    if (!item->more || item->absent || item->alone) {
        return false;
    }
    item->more = false;
    if (item->whole) {
        item->alone = !note(set, item, 0, ZC_SIZE_MAX);
        return false;
    }
    const zc_value value = zc_fetch_value(item);
    const size_t before = set->n_requests;
    zc_error_clear(&err);
    const zc_status status = set->list(set->arg, item, &value, &item->more, &err);
    item->alone = item->alone || status != ZC_OK;
    return set->n_requests > before;
}

/* Has this process changed the value since the first round, or may it have? */
static bool has_changed(const zc_fetched *item)
{
    return item->generation == ZC_CHANGING || zc_key_generation(&item->known) != item->generation;
}

/* All that is asked of an item has been answered. */
static void complete(zc_fetched *item)
{
    if (item->pending == 0 && item->n > 1) {
        qsort(item->ranges, item->n, sizeof *item->ranges, compare_ranges);
        item->alone = item->alone || has_changed(item);  /* a write of this process may have come between two rounds */
    }
}

/* Put off what has been noted of an item, from a request on, to the last round. */
static void put_off(zc_fetch *set, size_t first)
{
    for (size_t i = first; i < set->n_requests; i++) {
        zc_request *const last = zc_grow(set->last, set->n_last + 1, &set->last_room, sizeof *last);
        if (last == NULL) {
            set->items[set->requests[i].owner].alone = true;
            break;
        }
        set->last = last;
        last[set->n_last++] = set->requests[i];
    }
    set->n_requests = first;
}

/* Begin to fetch in the background what was put off; what cannot be is read by its key. */
static zc_status begin_last(zc_fetch *set, zc_error *err)
{
    zc_request *const used = set->requests;

    set->requests = set->last;
    set->n_requests = set->n_last;
    set->last = used;
    set->n_last = 0;
    join_noted(set);
    set->feed = zc_feed_new(set->requests, set->n_requests, set->real->window);
    for (size_t i = 0; i < set->n_requests; i++) {
        zc_fetched *item = &set->items[set->requests[i].owner];
        if (set->feed == NULL) {
            item->alone = true;
        } else {
            set->n_pending += item->pending++ == 0;
        }
    }
    return set->feed != NULL ? set->real->serve(set->real, set->feed, zc_feed_open(set->feed), err) : ZC_OK;
}

/* Let go of answers that are not used. */
static void release_rest(const zc_fetch *set, zc_arrival *arrivals, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (arrivals[i].value.data != NULL) {
            set->real->release(&arrivals[i].value, 1);
        }
    }
}

/* Is all of an item in a cache, so that nothing has shown yet whether the value is still the same? */
static bool is_unseen(const zc_fetched *item)
{
    return item->keeps && !item->absent && !item->alone &&
           (item->cached != NULL || (!item->whole && item->pending == 0 && item->n <= 1));
}

/* Ask the store for the versions of what is in a cache; what has changed is read by its key. */
static zc_status recheck(zc_fetch *set, zc_error *err)
{
    const char **keys = zc_alloc_array(set->n, sizeof *keys);
    bool *changed = zc_alloc_array(set->n, sizeof *changed);
    zc_status status = ZC_ERR_MEMORY;
    size_t n = 0;

    if (keys != NULL && changed != NULL) {
        for (size_t i = 0; i < set->n; i++) {
            if (is_unseen(&set->items[i])) {
                changed[n] = false;
                keys[n++] = set->items[i].key;
            }
        }
        status = n > 0 ? set->real->recheck(set->real, keys, n, changed, err) : ZC_OK;
    }
    for (size_t i = set->n; i-- > 0 && status == ZC_OK;) {
        zc_fetched *item = &set->items[i];
        if (is_unseen(item) && changed[--n]) {
            item->alone = true;
            if (item->cached != NULL) {
                zc_cached_let_go(item->cached);
                item->cached = NULL;
            }
        }
    }
    free(changed);
    free((void *)keys);
    return status == ZC_ERR_MEMORY ? zc_fail(err, status, "no memory for %zu keys", set->n) : status;
}

zc_status zc_fetch_open(zc_fetch *set, size_t *failed, zc_error *err)
{
    zc_fetched *const items = set->items;
    const size_t n = set->n;
    zc_status status = ZC_OK;

    set->store = *set->real;
    set->store.self = set;
    set->store.read = range_read;
    set->store.read_tail = range_read_tail;
    for (size_t i = 0; i < n; i++) {
        items[i].set = set;
        items[i].more = items[i].cached == NULL;
    }
    for (int round = 0; round < ROUNDS_MAX && status == ZC_OK; round++) {
        bool ranges = false;
        set->n_requests = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t before = set->n_requests;
            ranges |= list_item(set, &items[i]);
            if (set->real->serve != NULL && !items[i].more) {
                put_off(set, before);
            }
        }
        if (set->n_requests == 0) {
            break;
        }
        status = fetch_noted(set, ranges || set->real->fetch == NULL, failed, err);
    }
    if (status == ZC_OK && set->n_last > 0) {
        status = begin_last(set, err);
    }
    if (status == ZC_OK && set->real->recheck != NULL) {
        status = recheck(set, err);
    }
    for (size_t i = 0; i < n; i++) {
        complete(&items[i]);
    }
    return status;
}

size_t zc_fetch_ready(const zc_fetch *set, size_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        if (set->items[i].pending == 0) {
            out[n++] = i;
        }
    }
    return n;
}

zc_status zc_fetch_next(zc_fetch *set, size_t *out, size_t *n, size_t *bytes, zc_poll poll, void *poll_arg, size_t *failed,
                        zc_error *err)
{
    zc_arrival arrivals[64];

    for (*n = *bytes = 0; *n == 0 && set->n_pending > 0;) {
        const size_t arrived = zc_feed_take(set->feed, arrivals, sizeof arrivals / sizeof *arrivals, poll, poll_arg);
        if (arrived == 0) {
            return zc_fail(err, ZC_ERR_CANCELLED, "interrupted");
        }
        for (size_t i = 0; i < arrived; i++) {
            const zc_request *request = &set->requests[arrivals[i].request];
            zc_fetched *item = &set->items[request->owner];
            if (arrivals[i].outcome == ZC_FED_FAILED) {
                release_rest(set, &arrivals[i], arrived - i);
                *failed = request->owner;
                return zc_fail(err, ZC_ERR_CALLBACK, "the store failed");
            }
            item->held += (size_t)arrivals[i].value.size;
            item->alone = item->alone || arrivals[i].outcome == ZC_FED_ALONE;
            if (arrivals[i].outcome == ZC_FED) {
                take(set, request, &arrivals[i].value, false);
            }
            if (--item->pending == 0) {
                complete(item);
                *bytes += item->held;
                out[(*n)++] = request->owner;
                set->n_pending--;
            }
        }
    }
    return ZC_OK;
}

zc_status zc_fetch_done(zc_fetch *set, const size_t *items, size_t n, zc_error *err)
{
    size_t bytes = 0, n_spent = 0;

    for (size_t i = 0; i < n; i++) {
        n_spent += set->items[items[i]].n;
    }
    zc_value *spent = n > 1 ? zc_alloc_array(n_spent, sizeof *spent) : NULL;
    n_spent = 0;
    for (size_t i = 0; i < n; i++) {
        zc_fetched *item = &set->items[items[i]];
        bytes += item->held;
        if (spent != NULL && item->n > 0) {      /* together, since each release may take a lock of the interpreter */
            memcpy(spent + n_spent, item->ranges, item->n * sizeof *spent);
            n_spent += item->n;
        } else if (item->n > 0) {
            set->real->release(item->ranges, item->n);
        }
        item->n = 0;
    }
    if (n_spent > 0) {
        set->real->release(spent, n_spent);
    }
    free(spent);
    if (set->feed == NULL) {
        return ZC_OK;
    }
    zc_feed_let_go(set->feed, bytes);
    const size_t more = zc_feed_open(set->feed);
    return more > 0 ? set->real->serve(set->real, set->feed, more, err) : ZC_OK;
}

zc_value zc_fetch_value(const zc_fetched *item)
{
    zc_assert(item->set != NULL);
    if (item->whole) {
        return *item->value;
    }
    return (zc_value){.size = ZC_SIZE_UNKNOWN, .token = (void *)item, .store = &item->set->store};
}

void zc_fetch_close(zc_fetch *set)
{
    zc_feed_close(set->feed, set->real->release);
    for (size_t i = 0; i < set->n; i++) {
        zc_fetched *item = &set->items[i];
        if (item->n > 0) {
            set->real->release(item->ranges, item->n);
        }
        if (item->cached != NULL) {
            zc_cached_let_go(item->cached);
        }
        free(item->ranges);
    }
    if (set->values != NULL) {
        set->real->release(set->values, set->n_values);
    }
    free(set->values);
    free(set->requests);
    free(set->last);
}
