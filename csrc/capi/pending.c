/* SPDX-License-Identifier: MIT */
#include "capi/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/lock_order.h"
#include "base/memory.h"

static zc_mutex fork_lock = ZC_MUTEX_INIT;
static unsigned forks;
static atomic_int registered;

static void start_child(void)
{
    zc_mutex_init(&fork_lock);
    forks++;
}

static void start_empty(zc_buffer *buffer)
{
    zc_mutex_init(&buffer->lock);
    memset(buffer->buckets, 0, sizeof buffer->buckets);
    buffer->newest = buffer->oldest = NULL;
    buffer->nbytes = 0;
    atomic_store(&buffer->n, 0);
    atomic_store(&buffer->forks, forks);
}

void zc_buffer_begin(zc_buffer *buffer, uint64_t number)
{
    char text[64];

    zc_at_fork_once(&registered, start_child);
    start_empty(buffer);
    atomic_init(&buffer->limit, 0);
    snprintf(text, sizeof text, "pending/%llu/", (unsigned long long)number);
    zc_place_set(&buffer->place, text);
}

/* Another thread may have been at work when the process was copied: what it left is not looked at. */
void zc_buffer_follow_fork(zc_buffer *buffer)
{
    if (atomic_load_explicit(&buffer->forks, memory_order_acquire) == forks) {
        return;
    }
    zc_mutex_lock(&fork_lock);
    if (atomic_load(&buffer->forks) != forks) {
        start_empty(buffer);
    }
    zc_mutex_unlock(&fork_lock);
}

void zc_buffer_end(zc_buffer *buffer)
{
    while (buffer->oldest != NULL) {
        zc_pending *const p = buffer->oldest;
        buffer->oldest = p->newer;
        zc_memory_delete(p);
    }
    zc_mutex_destroy(&buffer->lock);
}

/* ---- chunks ------------------------------------------------------------------------------------- */

static int64_t length_in_array(const zc_grid_axis *axis, int64_t chunk)
{
    const int64_t rest = axis->length - zc_grid_start(axis, chunk), length = zc_grid_chunk_length(axis, chunk);

    return length < rest ? length : rest;
}

static bool count_elements(const zc_array *array, const int64_t *chunk, size_t *out)
{
    bool fits = true;

    *out = 1;
    for (int d = 0; d < array->ndim; d++) {
        fits = fits && zc_mul_size(*out, (uint64_t)length_in_array(&array->grid[d], chunk[d]), out);
    }
    return fits;
}

bool zc_pending_size(const zc_array *array, const int64_t *chunk, size_t *out)
{
    size_t n;

    return count_elements(array, chunk, &n) && zc_mul_size(n, array->chain->item.size + 1, out) &&
           zc_add_size(*out, sizeof(zc_pending) + 3 * ZC_MAX_DIMS * sizeof(int64_t) + 16, out);
}

/* Memory that nothing touches costs nothing: all of it is one piece from calloc. */
static zc_pending *new_pending(zc_buffer *buffer, const zc_array *array, const int64_t *chunk)
{
    const size_t head = (sizeof(zc_pending) + 3 * (size_t)array->ndim * sizeof(int64_t) + 15) / 16 * 16;
    size_t size, n;
    char *const key = malloc(zc_chunk_key_size(array));
    zc_pending *const p = key != NULL && zc_pending_size(array, chunk, &size) ? zc_memory_zeroed(size) : NULL;

    if (p != NULL) {
        int64_t *const numbers = (int64_t *)(p + 1);
        count_elements(array, chunk, &n);
        p->size = size;
        p->item_size = array->chain->item.size;
        p->n_elements = n;
        p->ndim = array->ndim;
        p->chunk = numbers;
        p->start = numbers + array->ndim;
        p->shape = numbers + 2 * array->ndim;
        p->values = (char *)p + head;
        p->mask = (uint8_t *)p->values + n * p->item_size;
        for (int d = 0; d < array->ndim; d++) {
            numbers[d] = chunk[d];
            numbers[array->ndim + d] = zc_grid_start(&array->grid[d], chunk[d]);
            numbers[2 * array->ndim + d] = length_in_array(&array->grid[d], chunk[d]);
        }
        zc_chunk_key(array, chunk, key);
        zc_key_set(&p->key, &buffer->place, key + array->prefix_len);
    }
    free(key);
    return p;
}

static zc_pending **bucket_of(zc_buffer *buffer, const zc_array *array, const int64_t *chunk)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int d = 0; d < array->ndim; d++) {
        hash = (hash ^ (uint64_t)chunk[d]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return &buffer->buckets[hash >> 56];
}

static void unlink_age(zc_buffer *buffer, zc_pending *p)
{
    *(p->newer != NULL ? &p->newer->older : &buffer->newest) = p->older;
    *(p->older != NULL ? &p->older->newer : &buffer->oldest) = p->newer;
}

static void make_newest(zc_buffer *buffer, zc_pending *p)
{
    p->newer = NULL;
    p->older = buffer->newest;
    *(p->older != NULL ? &p->older->newer : &buffer->oldest) = p;
    buffer->newest = p;
}

static zc_pending *find(zc_buffer *buffer, zc_pending *const *bucket, const zc_array *array, const int64_t *chunk)
{
    zc_pending *p = *bucket;

    while (p != NULL && memcmp(p->chunk, chunk, (size_t)array->ndim * sizeof *chunk) != 0) {
        p = p->next;
    }
    if (p != NULL) {
        p->users++;
        unlink_age(buffer, p);
        make_newest(buffer, p);
    }
    return p;
}

static void add(zc_buffer *buffer, zc_pending **bucket, zc_pending *p)
{
    p->next = *bucket;
    *bucket = p;
    p->bucket = bucket;
    p->users = 1;
    p->linked = true;
    make_newest(buffer, p);
    buffer->nbytes += p->size;
    atomic_fetch_add(&buffer->n, 1);
}

zc_pending *zc_pending_find(zc_buffer *buffer, const zc_array *array, const int64_t *chunk)
{
    zc_rank_lock(&buffer->lock, ZC_RANK_CACHE);
    zc_pending *const p = find(buffer, bucket_of(buffer, array, chunk), array, chunk);
    zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
    return p;
}

zc_pending *zc_pending_take(zc_buffer *buffer, const zc_array *array, const int64_t *chunk)
{
    zc_pending **const bucket = bucket_of(buffer, array, chunk);
    zc_pending *made = NULL, *p = zc_pending_find(buffer, array, chunk);

    if (p == NULL && (made = new_pending(buffer, array, chunk)) != NULL) {
        zc_rank_lock(&buffer->lock, ZC_RANK_CACHE);
        p = find(buffer, bucket, array, chunk);      /* by another thread, meanwhile */
        if (p == NULL) {
            add(buffer, bucket, made);
            p = made;
            made = NULL;
        }
        zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
    }
    zc_memory_delete(made);
    return p;
}

void zc_pending_let_go(zc_buffer *buffer, zc_pending *p)
{
    zc_rank_lock(&buffer->lock, ZC_RANK_CACHE);
    const bool last = --p->users == 0 && !p->linked;
    zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
    if (last) {
        zc_memory_delete(p);
    }
}

void zc_pending_unlink(zc_buffer *buffer, zc_pending *p)
{
    zc_rank_lock(&buffer->lock, ZC_RANK_CACHE);
    zc_pending **at = p->bucket;
    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    p->linked = false;
    unlink_age(buffer, p);
    buffer->nbytes -= p->size;
    atomic_fetch_sub(&buffer->n, 1);
    zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
}

zc_pending *zc_pending_oldest(zc_buffer *buffer, size_t most)
{
    zc_rank_lock(&buffer->lock, ZC_RANK_CACHE);
    zc_pending *const p = buffer->nbytes > most ? buffer->oldest : NULL;
    if (p != NULL) {
        p->users++;
    }
    zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
    return p;
}

/* May elements of the region be in the chunk?  "No" is certain. */
static bool meets(const zc_pending *p, const zc_selection *region)
{
    for (int d = 0; region != NULL && d < p->ndim; d++) {
        const zc_axis *axis = &region->axis[d];
        if (axis->start >= p->start[d] + p->shape[d] || axis->start + (axis->count - 1) * axis->step < p->start[d]) {
            return false;
        }
    }
    return true;
}

zc_status zc_pending_touched(zc_buffer *buffer, const zc_selection *region, zc_pending ***out, size_t *n, zc_error *err)
{
    zc_pending **found = NULL;
    size_t room = atomic_load(&buffer->n);

    *n = 0;
    *out = NULL;
    for (;;) {
        found = room > 0 ? zc_alloc_array(room, sizeof *found) : NULL;
        if (room > 0 && found == NULL) {
            return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        }
        zc_rank_lock(&buffer->lock, ZC_RANK_CACHE);
        if (atomic_load(&buffer->n) <= room) {
            break;
        }
        room = atomic_load(&buffer->n);              /* others have come meanwhile */
        zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
        free(found);
    }
    for (zc_pending *p = buffer->oldest; p != NULL; p = p->newer) {
        if (meets(p, region)) {
            p->users++;
            found[(*n)++] = p;
        }
    }
    zc_rank_unlock(&buffer->lock, ZC_RANK_CACHE);
    *out = found;
    return ZC_OK;
}

/* ---- values ------------------------------------------------------------------------------------- */

/* A region of memory and the same of a chunk, where items of that size lie one after the other in C order. */
typedef struct place {
    int64_t shape[ZC_MAX_DIMS], memory_strides[ZC_MAX_DIMS], strides[ZC_MAX_DIMS], mask_strides[ZC_MAX_DIMS];
    char *memory, *values;
    uint8_t *mask;
} place;

static bool find_place(const zc_pending *p, const zc_selection *region, place *out)
{
    int64_t hi[ZC_MAX_DIMS], step = 1, at = 0;
    zc_selection part;

    for (int d = 0; d < p->ndim; d++) {
        hi[d] = p->start[d] + p->shape[d];
    }
    if (!zc_selection_clip(region, p->start, hi, &part)) {
        return false;
    }
    for (int d = p->ndim - 1; d >= 0; d--) {
        out->shape[d] = part.axis[d].count;
        out->memory_strides[d] = part.axis[d].stride;
        out->mask_strides[d] = step * part.axis[d].step;
        out->strides[d] = out->mask_strides[d] * (int64_t)p->item_size;
        at += part.axis[d].start * step;
        step *= p->shape[d];
    }
    out->memory = part.memory;
    out->mask = p->mask + at;
    out->values = p->values + at * (int64_t)p->item_size;
    return true;
}

static bool mask_is(const zc_pending *p, const place *at, uint8_t value)
{
    return zc_region_equals_fill(p->ndim, at->shape, at->mask, at->mask_strides, 1, &value);
}

static size_t count_given(const zc_pending *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_elements; i++) {
        n += p->mask[i];
    }
    return n;
}

void zc_pending_put(zc_pending *p, const zc_selection *region)
{
    static const uint8_t one = 1;
    const zc_item item = {.size = p->item_size};
    size_t n = 1;
    place at;

    if (!find_place(p, region, &at)) {
        return;
    }
    zc_region_copy(p->ndim, at.shape, at.values, at.strides, at.memory, at.memory_strides, &item);
    if (p->n_given == p->n_elements) {
        return;
    }
    const bool is_new = mask_is(p, &at, 0);
    zc_region_fill(p->ndim, at.shape, at.mask, at.mask_strides, 1, &one);
    for (int d = 0; d < p->ndim; d++) {
        n *= (size_t)at.shape[d];
    }
    p->n_given = is_new ? p->n_given + n : count_given(p);
}

/* Item by item. */
static void overlay_masked(const zc_pending *p, const place *at)
{
    int64_t k[ZC_MAX_DIMS] = {0};
    int d;

    do {
        int64_t from = 0, mask = 0, to = 0;
        for (d = 0; d < p->ndim; d++) {
            from += k[d] * at->strides[d];
            mask += k[d] * at->mask_strides[d];
            to += k[d] * at->memory_strides[d];
        }
        if (at->mask[mask] != 0) {
            memcpy(at->memory + to, at->values + from, p->item_size);
        }
        for (d = p->ndim - 1; d >= 0 && ++k[d] == at->shape[d]; d--) {
            k[d] = 0;
        }
    } while (d >= 0);
}

void zc_pending_overlay(const zc_pending *p, const zc_selection *region)
{
    const zc_item item = {.size = p->item_size};
    place at;

    if (!find_place(p, region, &at)) {
        return;
    }
    if (p->n_given == p->n_elements || mask_is(p, &at, 1)) {
        zc_region_copy(p->ndim, at.shape, at.memory, at.memory_strides, at.values, at.strides, &item);
    } else if (!mask_is(p, &at, 0)) {
        overlay_masked(p, &at);
    }
}

void zc_pending_selection(const zc_pending *p, zc_selection *out, zc_window *window)
{
    zc_selection_whole(p->ndim, p->shape, p->item_size, p->values, out);
    for (int d = 0; d < p->ndim; d++) {
        out->axis[d].start = p->start[d];
    }
    if (p->n_given < p->n_elements) {
        *window = (zc_window){.mask = p->mask, .first = p->values};
        out->window = window;
        out->kind = ZC_SELECT_GIVEN;
    }
}
