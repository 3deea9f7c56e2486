/* SPDX-License-Identifier: MIT
 *
 * A key is known by the 64-bit hash of its text.
 *
 * Locks: entries in hash buckets.  An entry lies in the frame of the thread that holds the lock, so nothing is
 * allocated.
 *
 * Generations: a table of fixed size, by the hash of the key.  Each word counts changes that have begun or ended (upper
 * bits) and those under way (lower bits), so it never comes back to an earlier value; nor does the sum of the words of a
 * key and its prefixes.
 *
 * Notes: a table of fixed size as well.  A shelf that has no room for one more is marked as such, and then all arrays that
 * have no note on it count as changed.
 */
#include "engine/keys.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/lock_order.h"

/* ---- names ----------------------------------------------------------------------------------------- */

#define N_SLOTS (1 << 15)
#define FNV_BASIS UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static uint16_t slot_of(uint64_t hash)
{
    return (uint16_t)(mixed(hash) % N_SLOTS);
}

/* Hash text, and list the slot of each prefix in it and, unless it ends as one, its own; *n > room: they are too many. */
static uint64_t walk(uint64_t hash, const char *text, uint16_t *slots, uint16_t *n, uint16_t room)
{
    *n = 0;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
        if ((*text == '/' || text[1] == '\0') && *n <= room) {
            if (*n < room) {
                slots[*n] = slot_of(hash);
            }
            ++*n;
        }
    }
    return hash;
}

void zc_place_set(zc_place *out, const char *text)
{
    out->hash = walk(FNV_BASIS, text, out->slots, &out->n, ZC_PLACE_DEPTH);
    out->locks = (zc_lock_file){0};
}

/* Without the place, whose path another process may know by another name. */
static uint64_t byte_of(const char *name)
{
    static const char *const documents[] = {"zarr.json", ".zmetadata", "//made"};
    uint64_t hash = FNV_BASIS;

    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        if (strcmp(name, documents[i]) == 0) {
            return i;
        }
    }
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * FNV_PRIME;
    }
    return mixed(hash) >> 2 | ZC_LOCKS_KEPT;
}

void zc_key_set(zc_key *out, const zc_place *place, const char *name)
{
    out->place = place;
    out->hash = walk(place->hash, name, out->slots, &out->n, ZC_KEY_DEPTH);
    out->hash += out->hash == 0;
    out->byte = place->locks.path != NULL ? byte_of(name) : 0;
}

/* ---- state ----------------------------------------------------------------------------------------- */

#define N_BUCKETS 256
#define LOOK_AGAIN_NS INT64_C(50000000)      /* how often a waiting thread asks whether to go on waiting */

typedef struct bucket {
    zc_mutex guard;                          /* of the list; never held for long */
    zc_held *held;
    zc_cond opened;                          /* one of them is held no longer */
    int waiting;                             /* threads */
    uint64_t wanted;                         /* by all of them; 0: not by all the same */
} bucket;

static bucket buckets[N_BUCKETS];

/* A thread, known by its address.  `wants` is the hash of a key that it has been waiting for, or 0; guarded by `graph`. */
static _Thread_local struct thread { uint64_t wants; } this_thread;
static zc_mutex graph = ZC_MUTEX_INIT;       /* taken before the guard of a bucket */

#define UNDER_WAY ((UINT64_C(1) << 20) - 1)  /* bits of a word of a slot that count changes under way */
#define EVENT (UINT64_C(1) << 20)            /* one change that began or ended */

static _Atomic uint64_t slots[N_SLOTS];
static _Atomic uint64_t below[N_SLOTS];      /* events of keys below a prefix, for those that cannot ask for each key */

_Thread_local unsigned zc_ranks_held;

static unsigned forks;
static zc_mutex starting = ZC_MUTEX_INIT;
static atomic_bool started;

static void open_buckets(void)
{
    for (int i = 0; i < N_BUCKETS; i++) {
        zc_mutex_init(&buckets[i].guard);
        buckets[i].held = NULL;
        zc_cond_init(&buckets[i].opened);
        buckets[i].waiting = 0;
    }
}

/* The threads that held locks and were changing values are not in the child.  Its only thread may have been one of them: what
 * it began before the fork ends as nothing. */
static void start_child(void)
{
    zc_mutex_init(&starting);
    zc_mutex_init(&graph);
    for (int i = 0; i < N_BUCKETS; i++) {
        for (zc_held *held = buckets[i].held; held != NULL; held = held->next) {
            zc_lock_forget(&held->lock);
        }
    }
    open_buckets();
    this_thread.wants = 0;
    zc_ranks_held = 0;
    forks++;
    for (int i = 0; i < N_SLOTS; i++) {
        const uint64_t word = atomic_load_explicit(&slots[i], memory_order_relaxed);
        if ((word & UNDER_WAY) != 0) {
            atomic_store(&slots[i], (word & ~UNDER_WAY) + EVENT);
        }
    }
}

static void start(void)
{
    static _Atomic int watches_forks;

    if (atomic_load(&started)) {
        return;
    }
    zc_at_fork_once(&watches_forks, start_child);
    zc_mutex_lock(&starting);
    if (!atomic_load(&started)) {
        open_buckets();
        atomic_store(&started, true);
    }
    zc_mutex_unlock(&starting);
}

/* ---- locks ----------------------------------------------------------------------------------------- */

static bucket *bucket_of(uint64_t hash)
{
    return &buckets[mixed(hash) >> 48 & (N_BUCKETS - 1)];
}

/* Under the guard of its bucket: the lock of a key that somebody holds; NULL: nobody does. */
static const zc_held *held_of(const bucket *b, uint64_t hash)
{
    const zc_held *held = b->held;

    while (held != NULL && held->hash != hash) {
        held = held->next;
    }
    return held;
}

/* Under the guard of its bucket: does this thread hold it, or the one for which it works, which will not go on before? */
static bool is_my_own(const zc_held *held)
{
    return held->owner == &this_thread || zc_pool_waits_for_me(held->taken);
}

static void take(bucket *b, uint64_t hash, zc_held *held)
{
    *held = (zc_held){.hash = hash, .owner = &this_thread, .taken = zc_pool_moment(), .next = b->held, .forks = forks,
                      .lock = {.fd = -1}};
    b->held = held;
}

static void stop_wanting(void)
{
    zc_rank_lock(&graph, ZC_RANK_WAITS);
    this_thread.wants = 0;
    zc_rank_unlock(&graph, ZC_RANK_WAITS);
}

/*
 * Record that this thread waits for a key, and follow from thread to key to thread.  If that leads back here, all of them wait
 * for ever; this one gives up, and the next one to look finds no circle any more.
 */
static bool is_dead_lock(uint64_t hash)
{
    bool circle = false;

    zc_rank_lock(&graph, ZC_RANK_WAITS);
    this_thread.wants = hash;
    for (int steps = 0; hash != 0 && !circle && steps < 1000; steps++) {
        bucket *b = bucket_of(hash);
        zc_rank_lock(&b->guard, ZC_RANK_BUCKET);            /* while it is held, the owner stays one, and its thread alive */
        const zc_held *held = held_of(b, hash);
        const struct thread *owner = held != NULL ? held->owner : NULL;
        circle = held != NULL && is_my_own(held);
        hash = owner != NULL ? owner->wants : 0;
        zc_rank_unlock(&b->guard, ZC_RANK_BUCKET);
    }
    if (circle) {
        this_thread.wants = 0;
    }
    zc_rank_unlock(&graph, ZC_RANK_WAITS);
    return circle;
}

static zc_status go_on_waiting(uint64_t hash, const zc_workspace *ws, zc_error *err)
{
    zc_assert_no_rank();
    if (ws != NULL && zc_workspace_cancelled(ws)) {          /* which may run a signal handler */
        return ZC_ERR_CANCELLED;
    }
    if (zc_thread_has_ended()) {
        return zc_fail(err, ZC_ERR_LOCKED, "the interpreter ends, and with it threads that hold locks of chunks");
    }
    if (is_dead_lock(hash)) {
        return zc_fail(err, ZC_ERR_LOCKED, "this thread holds the lock of a chunk that another thread waits for, while "
                       "that one holds the lock of this chunk: stores write to each other's arrays from their set()");
    }
    return ZC_OK;
}

/* Wait under the guard, which is open meanwhile. */
static zc_status wait_for(bucket *b, uint64_t hash, const zc_workspace *ws, zc_error *err)
{
    zc_status status = ZC_OK;

    int64_t asked = zc_now_ns();

    b->wanted = b->waiting == 0 || b->wanted == hash ? hash : 0;
    b->waiting++;
    while (status == ZC_OK && held_of(b, hash) != NULL) {
        zc_cond_wait_for(&b->opened, &b->guard, LOOK_AGAIN_NS);
        if (held_of(b, hash) != NULL && zc_now_ns() - asked >= LOOK_AGAIN_NS / 2) {
            asked = zc_now_ns();
            zc_rank_unlock(&b->guard, ZC_RANK_BUCKET);
            status = go_on_waiting(hash, ws, err);
            zc_rank_lock(&b->guard, ZC_RANK_BUCKET);
        }
    }
    b->waiting--;
    if (status != ZC_OK && b->waiting > 0) {
        zc_cond_broadcast(&b->opened);       /* it may have been this one that was woken */
    }
    return status;
}

/* Only among the threads of this process. */
static zc_status lock_here(const zc_key *key, zc_held *held, const zc_workspace *ws, zc_error *err)
{
    const uint64_t hash = key->hash;
    bucket *const b = bucket_of(hash);
    zc_status status = ZC_OK;

    start();
    zc_rank_lock(&b->guard, ZC_RANK_BUCKET);
    const zc_held *other = held_of(b, hash);
    if (other != NULL && is_my_own(other)) {
        status = zc_fail(err, ZC_ERR_LOCKED, "the chunk is written to while this thread is writing it, from its store's "
                         "set(), from a codec or from a signal handler");
    } else if (other != NULL) {
        status = wait_for(b, hash, ws, err);
    }
    if (status == ZC_OK) {
        take(b, hash, held);
    }
    zc_rank_unlock(&b->guard, ZC_RANK_BUCKET);
    if (this_thread.wants != 0) {
        stop_wanting();
    }
    return status;
}

zc_status zc_key_lock(const zc_key *key, zc_held *held, const zc_workspace *ws, zc_error *err)
{
    zc_status status = lock_here(key, held, ws, err);

    if (status == ZC_OK && key->place != NULL && key->place->locks.path != NULL) {
        status = zc_lock_take(&key->place->locks, key->byte, ws, &held->lock, err);
        if (status != ZC_OK) {
            zc_key_unlock(held);
        }
    }
    return status;
}

void zc_key_unlock(zc_held *held)
{
    zc_assert(held->owner == &this_thread || held->forks != forks);
    if (held->forks != forks) {
        return;                              /* taken before a fork, in a process that is not this one */
    }
    zc_lock_release(&held->lock);
    bucket *const b = bucket_of(held->hash);
    zc_held **at = &b->held;

    zc_rank_lock(&b->guard, ZC_RANK_BUCKET);
    while (*at != held) {
        at = &(*at)->next;
    }
    *at = held->next;
    if (b->waiting > 0 && b->wanted == 0) {
        zc_cond_broadcast(&b->opened);
    } else if (b->waiting > 0 && b->wanted == held->hash) {
        zc_cond_signal(&b->opened);          /* one takes the lock: more would be in its way */
    }
    zc_rank_unlock(&b->guard, ZC_RANK_BUCKET);
}

/* ---- generations ----------------------------------------------------------------------------------- */

zc_change zc_change_begin(const zc_key *key)
{
    const zc_change change = {slot_of(key->hash), slot_of(key->place->hash), forks};

    zc_assert_no_rank();
    start();
    atomic_fetch_add(&slots[change.slot], EVENT + 1);
    atomic_fetch_add_explicit(&below[change.place], 1, memory_order_relaxed);
    return change;
}

void zc_change_end(zc_change change)
{
    if (change.forks == forks) {
        atomic_fetch_add(&slots[change.slot], EVENT - 1);
        atomic_fetch_add_explicit(&below[change.place], 1, memory_order_relaxed);
    }
}

void zc_change_below(const zc_key *key)
{
    for (uint16_t i = 0; i < key->n && i < ZC_KEY_DEPTH; i++) {
        atomic_fetch_add_explicit(&below[key->slots[i]], 1, memory_order_relaxed);
    }
}

uint64_t zc_changes_below(const zc_place *place)
{
    uint64_t sum = atomic_load(&below[slot_of(place->hash)]);

    for (uint16_t i = 0; i < place->n && i < ZC_PLACE_DEPTH; i++) {
        sum += atomic_load(&slots[place->slots[i]]) / EVENT;
    }
    return sum;
}

uint64_t zc_key_generation(const zc_key *key)
{
    const zc_place *place = key->place;
    uint64_t sum = 0;

    if (place->n > ZC_PLACE_DEPTH || key->n > ZC_KEY_DEPTH) {
        return ZC_CHANGING;
    }
    for (uint16_t i = 0; i < place->n; i++) {
        sum += atomic_load(&slots[place->slots[i]]);
    }
    for (uint16_t i = 0; i < key->n; i++) {
        sum += atomic_load(&slots[key->slots[i]]);
    }
    return (sum & UNDER_WAY) == 0 ? sum : ZC_CHANGING;
}

#define LOOKS 16             /* at a value that other processes replace meanwhile */

bool zc_may_be_torn(zc_status status)
{
    switch (status) {
    case ZC_OK:
    case ZC_ERR_MISSING:
    case ZC_ERR_CORRUPT:
    case ZC_ERR_CHECKSUM:
    case ZC_ERR_SIZE:
    case ZC_ERR_RANGE:
    case ZC_ERR_REPLACED:
        return true;
    default:
        return false;
    }
}

/* Read until the parts of the value fit together.  Others may come between: another process, and also under the lock of the key
 * whoever removes what lies outside of a shrunken array. */
static zc_status read_settled(const zc_key *key, zc_status (*read)(void *arg), void *arg, zc_error *err)
{
    for (int i = 1;; i++) {
        const uint64_t generation = zc_key_generation(key);
        const zc_status status = read(arg);
        const bool changes = generation == ZC_CHANGING || zc_key_generation(key) != generation;
        const bool again = status == ZC_ERR_REPLACED || (status != ZC_OK && changes && zc_may_be_torn(status));
        if (!again) {
            return status;
        }
        if (i == LOOKS && status == ZC_ERR_REPLACED) {
            return zc_fail(err, ZC_ERR_IO, "the value is replaced faster than it can be read");
        }
        if (i == LOOKS) {
            return status;
        }
        zc_error_clear(err);
    }
}

zc_status zc_key_read(const zc_key *key, zc_status (*read)(void *arg), void *arg, const zc_workspace *ws, zc_error *err)
{
    const uint64_t generation = zc_key_generation(key);
    zc_held held;
    zc_status status;

    if (generation != ZC_CHANGING) {
        status = read_settled(key, read, arg, err);
        if (zc_key_generation(key) == generation || !zc_may_be_torn(status)) {
            return status;
        }
        zc_error_clear(err);
    }
    status = lock_here(key, &held, ws, err);
    if (status == ZC_ERR_LOCKED) {           /* this thread writes: a store's callback reads what it is given */
        zc_error_clear(err);
        return read_settled(key, read, arg, err);
    }
    if (status == ZC_OK) {
        status = read_settled(key, read, arg, err);
        zc_key_unlock(&held);
    }
    return status;
}

/* ---- notes ------------------------------------------------------------------------------------------- */

#define N_SHELVES (1 << 12)
#define N_NOTES 8                            /* on each shelf */
#define CROWDED UINT64_MAX                   /* there are more arrays than notes */

/* Of arrays of the same residue: upper half of the array's hash, and 32 bits of that of its shape; 0: free, as those that
 * follow.  A note is replaced, never removed. */
static _Atomic uint64_t notes[N_SHELVES][N_NOTES];

static _Atomic uint64_t *shelf_of(const zc_place *array)
{
    return notes[mixed(array->hash) % N_SHELVES];
}

static uint64_t word_of(const zc_place *array, int ndim, const int64_t *lengths)
{
    uint64_t shape = array->hash;

    for (int d = 0; d < ndim; d++) {
        shape = mixed(shape * FNV_PRIME + (uint64_t)lengths[d] + 1);
    }
    const uint64_t word = (array->hash >> 32) << 32 | (uint32_t)shape;
    return word + (word == 0) - (word == CROWDED);       /* the upper half stays that of the array */
}

/* The note of an array, else the first that is free or `CROWDED`, else the last; *found: what is there. */
static _Atomic uint64_t *note_of(const zc_place *array, uint64_t *found)
{
    _Atomic uint64_t *note = shelf_of(array), *const last = note + N_NOTES - 1;

    for (;; note++) {
        *found = atomic_load(note);
        if (note == last || *found == 0 || *found == CROWDED || *found >> 32 == array->hash >> 32) {
            return note;
        }
    }
}

void zc_shape_note(const zc_place *array, int ndim, const int64_t *lengths, bool is_new)
{
    const uint64_t word = word_of(array, ndim, lengths);
    _Atomic uint64_t *note;
    uint64_t old, next;

    do {
        note = note_of(array, &old);
        const bool is_own = old != 0 && old != CROWDED && old >> 32 == word >> 32;
        if (is_new && !is_own) {
            return;
        }
        next = is_own || old == 0 ? word : CROWDED;
    } while (!atomic_compare_exchange_weak(note, &old, next));
}

bool zc_shape_is_stale(const zc_place *array, int ndim, const int64_t *lengths)
{
    uint64_t note;

    (void)note_of(array, &note);
    return array->locks.path != NULL || note == CROWDED ||
        (note != 0 && note >> 32 == array->hash >> 32 && note != word_of(array, ndim, lengths));
}
