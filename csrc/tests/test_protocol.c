/* SPDX-License-Identifier: MIT
 *
 * The protocol of locks, generations and caches against a model: readers, writers, removers and resizers of one array at
 * once, over stores with and without stamps.
 *
 * The model has for each element the values that were written to it, and when each of these writes began and ended.  A read
 * must return, for each element, a value of a write that had not been overwritten for certain before the read began.  So
 * no update gets lost, no value comes back, and none is that of another element.
 *
 * Once on a single thread, where operations begin in the callbacks of other operations, so that a seed makes the same
 * interleaving again; and once on many threads.  ZC_TEST_STEPS and ZC_TEST_SEED set how many steps each case takes, and
 * where it begins.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#endif

#include "chain_kinds.h"
#include "check.h"
#include "engine/engine.h"
#include "files.h"
#include "io/file.h"
#include "threads.h"

enum {
    N = 64,                  /* elements */
    CHUNK = 16, INNER = 4,
    N_KEYS = N / CHUNK,
    SHORT = 40,              /* the other length of the array, in the middle of a chunk */
    N_THREADS = 4,
    DEPTH = 3,               /* operations inside of each other */
    PAST = 64,               /* writes of an element that are remembered */
};

typedef enum kind { TOKENS, RANGES, SLOW, FILES, N_KINDS } kind;

/* ---- the model --------------------------------------------------------------------------------------- */

typedef struct event {
    uint64_t begin, end;             /* end is UINT64_MAX while it is under way */
    uint32_t value;
} event;

static struct element {
    event past[PAST];
    size_t n;
} model[N];

static zc_mutex model_lock;
static uint64_t now;
static uint32_t last_value;
static atomic_int n_wrong;

static event *newest(int i, size_t back)
{
    return &model[i].past[(model[i].n - 1 - back) % PAST];
}

static void forget_all(void)
{
    for (int i = 0; i < N; i++) {
        memset(&model[i], 0, sizeof model[i]);
        model[i].n = 1;
    }
}

/* What a write stores: element and number, 0 for the fill value.  It is known by when it began. */
static uint64_t begin_write(int i, bool empty, uint32_t *value)
{
    *value = empty ? 0 : (uint32_t)i << 24 | (++last_value & 0xffffff);
    model[i].n++;
    *newest(i, 0) = (event){++now, UINT64_MAX, *value};
    return now;
}

/* A write has ended; if it failed it left no trace. */
static void end_write(int i, uint64_t begin, bool failed)
{
    for (size_t back = 0; back < PAST && back < model[i].n; back++) {
        event *e = newest(i, back);
        if (e->begin == begin) {
            *e = failed ? (event){0, 0, UINT32_MAX} : (event){begin, ++now, e->value};
            return;
        }
    }
}

static bool may_be_read(int i, uint32_t value, uint64_t since)
{
    uint64_t certain = 0;            /* when the latest write that had ended by then began */

    for (size_t back = 0; back < PAST && back < model[i].n; back++) {
        const event *e = newest(i, back);
        certain = e->end < since && e->begin > certain ? e->begin : certain;
    }
    for (size_t back = 0; back < PAST && back < model[i].n; back++) {
        const event *e = newest(i, back);
        if (e->value == value && e->end >= certain) {
            return true;
        }
    }
    return false;
}

/* ---- chance ------------------------------------------------------------------------------------------- */

static void interrupt(void);

static void sleep_a_little(void)
{
    zc_mutex sleeping;
    zc_cond never;

    zc_mutex_init(&sleeping);
    zc_cond_init(&never);
    zc_mutex_lock(&sleeping);
    zc_cond_wait_for(&never, &sleeping, 50000);
    zc_mutex_unlock(&sleeping);
    zc_cond_destroy(&never);
    zc_mutex_destroy(&sleeping);
}

static _Thread_local uint64_t dice;
static _Thread_local int depth;

static unsigned below(unsigned n)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(dice >> 33) % n;
}

/* ---- the stores ---------------------------------------------------------------------------------------- */

typedef struct blob {
    atomic_int users;
    size_t n;
    uint8_t bytes[];
} blob;

static kind store_kind;
static bool nests;                   /* operations begin in callbacks */
static zc_mutex store_lock;
static blob *stored[N_KEYS];
static char root[200];

static void let_go(const void *token)
{
    blob *b = (blob *)token;

    if (atomic_fetch_sub(&b->users, 1) == 1) {
        free(b);
    }
}

static void hold(const void *token)
{
    atomic_fetch_add(&((blob *)token)->users, 1);
}

static int number_of(const char *key)
{
    return atoi(strrchr(key, '/') + 1);
}

static blob *take(const char *key)
{
    zc_mutex_lock(&store_lock);
    blob *b = stored[number_of(key)];
    if (b != NULL) {
        hold(b);
    }
    zc_mutex_unlock(&store_lock);
    return b;
}

static zc_status put(const char *key, blob *b)
{
    interrupt();
    zc_mutex_lock(&store_lock);
    blob *old = stored[number_of(key)];
    stored[number_of(key)] = b;
    zc_mutex_unlock(&store_lock);
    if (old != NULL) {
        let_go(old);
    }
    interrupt();                     /* the store has the value, the call has not ended */
    return ZC_OK;
}

static zc_status replace(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err)
{
    blob *b = malloc(sizeof *b + n);

    (void)store, (void)err;
    atomic_init(&b->users, 1);
    b->n = n;
    memcpy(b->bytes, data, n);
    return put(key, b);
}

static zc_status remove_value(const zc_store *store, const char *key, zc_error *err)
{
    (void)store, (void)err;
    return put(key, NULL);
}

static void give(blob *b, const zc_store *store, zc_value *out)
{
    *out = (zc_value){.data = b->bytes, .size = b->n, .token = b, .store = store};
}

static void close_value(zc_value *value)
{
    if (value->data != NULL) {
        let_go(value->token);
    }
}

static void release(zc_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        close_value(&values[i]);
    }
}

/* A value to be read by ranges has its number for a token. */
static char names[N_KEYS][8] = {"c/0", "c/1", "c/2", "c/3"};

static zc_status open_value(const zc_store *store, const char *key, bool whole, zc_value *out, zc_error *err)
{
    (void)err;
    interrupt();
    if (!whole && !store->values_in_memory) {
        *out = (zc_value){.size = ZC_SIZE_UNKNOWN, .token = names[number_of(key)], .store = store};
        return ZC_OK;
    }
    blob *b = take(key);
    if (b == NULL) {
        return ZC_ERR_MISSING;
    }
    give(b, store, out);
    interrupt();
    return ZC_OK;
}

static zc_status read_range(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    interrupt();
    blob *b = take(value->token);
    if (b == NULL) {
        return ZC_ERR_MISSING;
    }
    offset = offset == ZC_SIZE_UNKNOWN ? b->n - (n < b->n ? n : b->n) : offset;
    const bool right = offset <= b->n && n <= b->n - offset;
    if (right) {
        memcpy(dst, b->bytes + offset, n);
    }
    let_go(b);
    interrupt();
    return right ? ZC_OK : zc_fail(err, ZC_ERR_CORRUPT, "a range beyond the end");
}

static zc_status read_tail(const zc_value *value, void *dst, size_t n, zc_error *err)
{
    return read_range(value, ZC_SIZE_UNKNOWN, dst, n, err);
}

static zc_status fetch(const zc_store *store, const zc_request *requests, size_t n, zc_value *out, size_t *failed,
                       zc_error *err)
{
    (void)failed, (void)err;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        interrupt();
        blob *b = take(requests[i].key);
        if (b != NULL) {
            give(b, store, &out[i]);
        }
    }
    interrupt();
    return ZC_OK;
}

static zc_status fetch_parts(const zc_store *store, const zc_request *requests, size_t n, zc_value *out, zc_error *err)
{
    (void)err;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        interrupt();
        blob *b = take(requests[i].key);
        if (b == NULL) {
            continue;
        }
        const uint64_t offset = requests[i].offset != ZC_SIZE_UNKNOWN ? requests[i].offset
                                : requests[i].n < b->n                ? b->n - requests[i].n
                                                                      : 0;
        give(b, store, &out[i]);
        const size_t at = offset < b->n ? (size_t)offset : b->n;
        out[i].data += at;
        out[i].size = requests[i].n < b->n - at ? requests[i].n : b->n - at;
    }
    interrupt();
    return ZC_OK;
}

/* Files that look as if they had been there for long, so that what is read from them is kept. */
#ifndef _WIN32
static zc_status replace_with_old_file(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err)
{
    static atomic_int turn;
    const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000 + atomic_fetch_add(&turn, 1)}};
    char path[300];

    interrupt();
    zc_store plain;
    zc_store_local(store->self, &plain);
    const zc_status status = plain.replace(store, key, data, n, err);
    snprintf(path, sizeof path, "%s/%s", root, key);
    (void)utimensat(AT_FDCWD, path, times, 0);
    interrupt();
    return status;
}
#endif

/* ---- the array ------------------------------------------------------------------------------------------ */

/* What somebody has opened. */
typedef struct handle {
    zc_array array;
    zc_store store;
    zc_local local;
} handle;

static zc_chain chain, inner, checksummed;
static zc_place place;
static const uint32_t fill;
static zc_cache *cache, *indexes;

enum { PLAIN, CACHED, OLD, N_HANDLES };      /* OLD: with the length that the array had before it grew */

static void open_handle(handle *h, int which)
{
    memset(h, 0, sizeof *h);
    h->array = (zc_array){.ndim = 1, .chain = &chain, .fill = &fill, .prefix = "", .place = &place,
                          .keys = {.separator = '/'}, .indexes = indexes, .cache = which == CACHED ? cache : NULL,
                          .number = 1};
    h->array.grid[0] = (zc_grid_axis){.length = which == OLD ? SHORT : N, .chunk = CHUNK};
    if (store_kind == FILES) {
        h->local = (zc_local){.root = root, .root_len = strlen(root)};
        zc_store_local(&h->local, &h->store);
#ifndef _WIN32
        h->store.replace = replace_with_old_file;
        h->store.replace_from = NULL;
#endif
        return;
    }
    h->store = (zc_store){.open = open_value, .close = close_value, .read = read_range, .read_tail = read_tail,
                          .replace = replace, .remove = remove_value, .fetch = fetch, .release = release,
                          .values_in_memory = store_kind == TOKENS, .hold = hold, .drop = let_go,
                          .fetch_parts = store_kind == TOKENS ? NULL : fetch_parts, .batch_bytes = 1 << 20};
}

static void make_chains(bool sharded)
{
    chain = inner = checksummed = (zc_chain){.item = {.size = 4}};
    checksummed.item.size = 8;
    CHECK(zc_codec_init(&checksummed.stages[0], "crc32c"));
    checksummed.n_stages = 1;
    if (sharded) {
        chain.sharded = true;
        chain.shard_ndim = 1;
        chain.inner_shape[0] = INNER;
        chain.inner = &inner;
        chain.index = &checksummed;
    }
    choose_kinds(&chain, NULL);      /* none of them is wrapped */
}

/* ---- operations ------------------------------------------------------------------------------------------- */

typedef struct range { int start, step, n; } range;

/* Elements from low up to high, sometimes some of them only. */
static range any_range(int low, int high, bool one_chunk)
{
    const int start = low + (int)below((unsigned)(high - low)), step = below(3) == 0 ? 1 + (int)below(3) : 1;
    int end = start + 1 + (int)below((unsigned)(high - start));

    if (one_chunk && end > (start / CHUNK + 1) * CHUNK) {
        end = (start / CHUNK + 1) * CHUNK;
    }
    return (range){start, step, (end - start + step - 1) / step};
}

static zc_status transfer(handle *h, bool write, const range *r, uint32_t *memory)
{
    zc_selection selection = {.ndim = 1, .memory = (char *)memory};
    const zc_call call = {.array = &h->array, .store = &h->store, .selection = &selection, .threads = 1};
    zc_fault fault;
    zc_error err;

    selection.axis[0] = (zc_axis){.count = r->n, .start = r->start, .step = r->n > 1 ? r->step : 1, .stride = 4};
    zc_error_clear(&err);
    return (write ? zc_write : zc_read)(&call, &fault, &err);
}

static zc_status read_two(handle *h, const range *r, uint32_t *memory)
{
    zc_selection selections[2];
    zc_call calls[2];
    zc_fault fault;
    zc_error err;

    for (int i = 0; i < 2; i++) {
        selections[i] = (zc_selection){.ndim = 1, .memory = (char *)memory};
        selections[i].axis[0] = (zc_axis){.count = r->n, .start = r->start, .step = r->n > 1 ? r->step : 1,
                                          .stride = 4};
        calls[i] = (zc_call){.array = &h->array, .store = &h->store, .selection = &selections[i], .threads = 1};
    }
    uint32_t again[N];
    selections[1].memory = (char *)again;
    zc_error_clear(&err);
    return zc_read_many(calls, 2, 1, NULL, NULL, &fault, &err);
}

static void check_values(const range *r, const uint32_t *memory, uint64_t since)
{
    zc_mutex_lock(&model_lock);
    for (int k = 0; k < r->n; k++) {
        if (!may_be_read(r->start + k * r->step, memory[k], since)) {
            if (atomic_fetch_add(&n_wrong, 1) < 5) {
                fprintf(stderr, "element %d was read as %u of element %u\n", r->start + k * r->step,
                        memory[k] & 0xffffff, memory[k] >> 24);
            }
        }
    }
    zc_mutex_unlock(&model_lock);
}

static void read_some(void)
{
    const range r = any_range(0, N, false);
    uint32_t memory[N];
    handle h;

    open_handle(&h, below(3) == 0 ? PLAIN : CACHED);
    zc_mutex_lock(&model_lock);
    const uint64_t since = ++now;
    zc_mutex_unlock(&model_lock);
    const zc_status status = below(4) == 0 ? read_two(&h, &r, memory) : transfer(&h, false, &r, memory);
    if (status != ZC_OK) {
        atomic_fetch_add(&n_wrong, 1);
        fprintf(stderr, "a read failed: %d\n", status);
        return;
    }
    check_values(&r, memory, since);
}

static void write_range(handle *h, const range *r, bool empty)
{
    uint32_t memory[N];
    uint64_t begun[N];

    zc_mutex_lock(&model_lock);
    for (int k = 0; k < r->n; k++) {
        begun[k] = begin_write(r->start + k * r->step, empty, &memory[k]);
    }
    zc_mutex_unlock(&model_lock);
    const zc_status status = transfer(h, true, r, memory);
    if (status != ZC_OK && status != ZC_ERR_LOCKED) {
        atomic_fetch_add(&n_wrong, 1);
        fprintf(stderr, "a write failed: %d\n", status);
    }
    zc_mutex_lock(&model_lock);
    for (int k = 0; k < r->n; k++) {
        end_write(r->start + k * r->step, begun[k], status != ZC_OK);
    }
    zc_mutex_unlock(&model_lock);
}

/* With the length of the array before it grew, so that a write up to the end may look like one of all of a chunk.  A
 * nested one can be refused, and then must not have done half of its work. */
static void write_some(void)
{
    const range r = any_range(0, SHORT, nests);
    handle h;

    open_handle(&h, below(2) == 0 ? OLD : PLAIN);
    write_range(&h, &r, below(4) == 0);
}

/* A whole inner chunk, or chunk, is emptied: what comes after it in the shard moves. */
static void remove_some(void)
{
    const int size = below(2) == 0 ? CHUNK : INNER;
    const range r = {size * (int)below((unsigned)(2 * CHUNK / size)), 1, size};
    handle h;

    open_handle(&h, OLD);
    write_range(&h, &r, true);
}

/* Somebody copies a stored chunk over itself, as the package does with encoded chunks. */
static void copy_chunk(void)
{
    char *name = names[below(N_KEYS)];
    handle h;
    zc_key key;
    zc_held held;
    zc_value value;

    open_handle(&h, PLAIN);
    zc_key_set(&key, &place, name);
    if (zc_key_lock(&key, &held, NULL, NULL) != ZC_OK) {
        return;
    }
    if (h.store.open(&h.store, name, true, &value, NULL) == ZC_OK) {
        uint8_t bytes[1024];
        const size_t n = (size_t)value.size;
        if (zc_value_read(&value, 0, bytes, n, NULL) == ZC_OK) {
            const zc_change change = zc_change_begin(&key);
            (void)h.store.replace(&h.store, name, bytes, n, NULL);
            zc_change_end(change);
        }
        zc_value_close(&value);
    }
    zc_key_unlock(&held);
}

/* The array gets its other length; all elements from SHORT on are this actor's alone. */
static atomic_flag resizing = ATOMIC_FLAG_INIT;
static bool is_short;

static void shrink(handle *h)
{
    const int64_t length = SHORT;
    const range last = {N - CHUNK, 1, CHUNK}, border = {SHORT, 1, N - CHUNK - SHORT};

    write_range(h, &last, true);
    write_range(h, &border, true);
    zc_shape_note(&place, 1, &length, false);
    is_short = true;
}

static void resize(void)
{
    handle h;

    if (atomic_flag_test_and_set(&resizing)) {
        return;
    }
    open_handle(&h, PLAIN);
    if (is_short && below(4) == 0) {
        const int64_t length = N;
        zc_shape_note(&place, 1, &length, false);
        is_short = false;
    } else if (!is_short && below(16) == 0 && depth == 1) {
        shrink(&h);
    } else if (!is_short) {
        const range r = any_range(SHORT, N, nests);
        write_range(&h, &r, below(4) == 0);
    }
    atomic_flag_clear(&resizing);
}

static void step(void)
{
    const unsigned choice = below(16);

    depth++;
    if (choice < 7) {
        read_some();
    } else if (choice < 11) {
        write_some();
    } else if (choice < 13) {
        remove_some();
    } else if (choice < 14) {
        copy_chunk();
    } else {
        resize();
    }
    depth--;
}

/* In a callback of the store: other operations, or other threads, have their turn. */
static void interrupt(void)
{
    if (nests && depth < DEPTH && below(8) == 0) {
        step();
    } else if (store_kind == SLOW && !nests && below(16) == 0) {
        sleep_a_little();
    }
}

/* ---- cases ------------------------------------------------------------------------------------------------- */

static long steps_of_case, first_seed;

static void open_case(kind k, bool sharded)
{
    store_kind = k;
    make_chains(sharded);
    forget_all();
    zc_mutex_init(&model_lock);
    zc_mutex_init(&store_lock);
    cache = zc_cache_new(1 << 12);           /* too little for all chunks */
    indexes = zc_cache_new(1 << 12);
    is_short = true;
    static int number;
    char text[64];
    snprintf(text, sizeof text, "model/%d/", number++);
    zc_place_set(&place, text);
}

static void close_case(const char *what)
{
    const range all = {0, 1, N};
    uint32_t memory[N];
    handle h;

    nests = false;
    for (int which = PLAIN; which <= CACHED; which++) {
        open_handle(&h, which);
        CHECK(transfer(&h, false, &all, memory) == ZC_OK);
        check_values(&all, memory, ++now);
    }
    CHECK(atomic_load(&n_wrong) == 0);
    if (atomic_load(&n_wrong) != 0) {
        fprintf(stderr, "%s: %d wrong values, kind %d, %s\n", what, atomic_load(&n_wrong), (int)store_kind,
                chain.sharded ? "sharded" : "not sharded");
    }
    atomic_store(&n_wrong, 0);
    zc_cache_free(cache);
    zc_cache_free(indexes);
    for (int i = 0; i < N_KEYS; i++) {
        zc_error err;
        if (store_kind == FILES) {
            (void)h.store.remove(&h.store, names[i], &err);
        } else if (stored[i] != NULL) {
            let_go(stored[i]);
            stored[i] = NULL;
        }
    }
}

/* A step inside of another one counts as well, roughly. */
static void interleaved_on_one_thread(void)
{
    for (int i = 0; i < 2 * N_KINDS; i++) {
        open_case((kind)(i / 2), i % 2 == 1);
        dice = (uint64_t)(first_seed + i);
        nests = true;
        for (long n = 0; n < steps_of_case; n++) {
            step();
        }
        close_case("one thread");
    }
}

/* How many steps each thread has done.  None gets far ahead of the others: what they may still read would be forgotten. */
static atomic_long done[N_THREADS];

static bool is_ahead(long n)
{
    for (int t = 0; t < N_THREADS; t++) {
        if (n > atomic_load(&done[t]) + PAST / (4 * N_THREADS)) {
            return true;
        }
    }
    return false;
}

static void *act(void *arg)
{
    const int number = *(int *)arg;
    const long n_steps = steps_of_case / N_THREADS;

    dice = (uint64_t)(first_seed + 100 * number);
    for (long n = 0; n < n_steps; n++) {
        while (is_ahead(n)) {
            sleep_a_little();
        }
        step();
        atomic_store(&done[number], n + 1);
    }
    atomic_store(&done[number], n_steps + PAST);
    return NULL;
}

static void on_many_threads(void)
{
    test_thread threads[N_THREADS];
    int numbers[N_THREADS];

    for (int i = 0; i < 2 * N_KINDS; i++) {
        open_case((kind)(i / 2), i % 2 == 1);
        for (int t = 0; t < N_THREADS; t++) {
            numbers[t] = t;
            atomic_store(&done[t], 0);
        }
        for (int t = 0; t < N_THREADS; t++) {
            CHECK(thread_start(&threads[t], act, &numbers[t]));
        }
        for (int t = 0; t < N_THREADS; t++) {
            thread_join(&threads[t]);
        }
        close_case("threads");
    }
}

static long number_in(const char *name, long usual)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? atol(text) : usual;
}

int main(void)
{
    steps_of_case = number_in("ZC_TEST_STEPS", 10000);
    first_seed = number_in("ZC_TEST_SEED", 1);
    if (!make_temporary_in_memory(root, sizeof root)) {
        perror("no directory for the tests");
        return 1;
    }
    zc_file_ages_by_mtime(true);          /* as replace_with_old_file needs it */
    RUN(interleaved_on_one_thread);
    RUN(on_many_threads);
    CHECK(remove_tree(root, sizeof root));
    return check_report("protocol");
}
