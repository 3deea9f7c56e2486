/* SPDX-License-Identifier: MIT
 *
 * Stores of callbacks, with functions that lie about sizes, hand over rubbish or fail, on several threads, and while allocations fail:
 * no byte beyond a buffer, no leak, a status.  What they promise is tested from Python (tests/capi/test_callbacks.py).
 */
#include "include/zarrcore.h"
#include "tests/check.h"

#if defined ZC_WRAPPED_MALLOC && !defined _WIN32

#include "tests/failing_malloc.h"

#define SIDE 40
#define ITEMS (SIDE * SIDE)
#define KEYS 64

static const char DOCUMENT[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [40, 40], \"data_type\": \"float32\","
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [20, 20]}}, \"chunk_key_encoding\": \"default\","
    " \"fill_value\": 0, \"codecs\": [%s]}";
static const char *const CODECS[] = {
    "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}",
    "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"zstd\"}",
    "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [5, 5], \"codecs\": [{\"name\": \"bytes\", \"configuration\":"
    " {\"endian\": \"little\"}}, {\"name\": \"zstd\"}], \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\":"
    " \"little\"}}, {\"name\": \"crc32c\"}]}}",
};

/* ---- the store ---------------------------------------------------------------------------------- */

typedef struct memory {
    pthread_mutex_t lock;
    struct { char key[64]; unsigned char data[16384]; size_t n; } at[KEYS];
    size_t n;
    unsigned seed;           /* not 0: what is handed over of chunks is made up */
    bool scribbles;          /* get_ranges leaves nothing of its requests as it was */
    int closed;
} memory;

static memory store_memory = {.lock = PTHREAD_MUTEX_INITIALIZER};
static zarrcore_error error;

static size_t find(const memory *m, const char *key)
{
    size_t i = 0;

    while (i < m->n && strcmp(m->at[i].key, key) != 0) {
        i++;
    }
    return i;
}

static unsigned roll(memory *m, unsigned below)
{
    m->seed = m->seed * 1103515245U + 12345U;
    return (m->seed >> 8) % below;
}

/* Something that nobody asked for. */
static int lie(memory *m, const zarrcore_request *request, const unsigned char *data, size_t n)
{
    static const int statuses[] = {0, 0, 0, 0, 0, ZARRCORE_ERR_IO, ZARRCORE_ERR_MISSING, ZARRCORE_ERR_CANCELLED, 7, -16, -1000};
    static unsigned char rubbish[70000];

    switch (roll(m, 6)) {
    case 0: zarrcore_reply_bytes(request->reply, rubbish, roll(m, sizeof rubbish)); break;
    case 1: zarrcore_reply_bytes(request->reply, data, roll(m, (unsigned)n + 1)); break;
    case 2:
        for (unsigned k = roll(m, 100); k > 0; k--) {
            rubbish[roll(m, sizeof rubbish)] = (unsigned char)roll(m, 256);
            zarrcore_reply_bytes(request->reply, rubbish + k, roll(m, 2000));
        }
        break;
    case 3: zarrcore_reply_bytes(request->reply, NULL, roll(m, 2)); break;
    case 4: zarrcore_reply_name(request->reply, "x", 1); break;
    default: zarrcore_reply_bytes(request->reply, data, n);
    }
    if (roll(m, 4) == 0) {
        zarrcore_reply_error(request->reply, "a \xff lie");
    }
    return statuses[roll(m, sizeof statuses / sizeof *statuses)];
}

static int get(void *user, const zarrcore_request *request)
{
    memory *const m = user;
    int status = ZARRCORE_ERR_MISSING;

    pthread_mutex_lock(&m->lock);
    const size_t i = find(m, request->key);
    if (i < m->n) {
        const size_t size = m->at[i].n;
        const bool from_end = request->offset == ZARRCORE_FROM_END;
        const size_t first = !from_end ? (request->offset < size ? (size_t)request->offset : size)
                                       : request->nbytes < size ? size - (size_t)request->nbytes : 0;
        const size_t n = request->nbytes < size - first ? (size_t)request->nbytes : size - first;
        const unsigned char *const data = m->at[i].data + first;
        status = m->seed != 0 && strstr(request->key, "/c/") != NULL ? lie(m, request, data, n)
                                                                     : zarrcore_reply_bytes(request->reply, data, n);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static int get_ranges(void *user, zarrcore_request *requests, size_t n)
{
    memory *const m = user;

    for (size_t i = 0; i < n; i++) {
        requests[i].status = get(user, &requests[i]);
        if (m->seed != 0 && requests[i].status != 0) {
            return requests[i].status;       /* the others are not answered */
        }
    }
    for (size_t i = 0; m->scribbles && i < n; i++) {
        requests[i] = (zarrcore_request){.key = i % 2 == 0 ? NULL : "x", .reply = i % 3 == 0 ? NULL : requests[0].reply};
    }
    return 0;
}

static int put(void *user, const char *key, const void *data, size_t nbytes, int is_new, zarrcore_reply *reply)
{
    memory *const m = user;
    int status = zarrcore_reply_bytes(reply, "", 0);

    pthread_mutex_lock(&m->lock);
    const size_t i = find(m, key);
    if (i < m->n && is_new) {
        status = ZARRCORE_ERR_EXISTS;
    } else if (i == KEYS || nbytes > sizeof m->at[0].data || strlen(key) >= sizeof m->at[0].key) {
        status = zarrcore_reply_error(reply, "the store is full");
    } else {
        memcpy(m->at[i].key, key, strlen(key) + 1);
        memcpy(m->at[i].data, data, nbytes);
        m->at[i].n = nbytes;
        m->n += i == m->n;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static int remove_key(void *user, const char *key, zarrcore_reply *reply)
{
    memory *const m = user;

    (void)reply;
    pthread_mutex_lock(&m->lock);
    const size_t i = find(m, key);
    if (i < m->n) {
        m->at[i] = m->at[--m->n];
    }
    pthread_mutex_unlock(&m->lock);
    return ZARRCORE_OK;
}

/* Names may come more than once. */
static int list(void *user, const char *prefix, zarrcore_reply *reply)
{
    memory *const m = user;
    const size_t skip = strlen(prefix);
    char name[64];

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->n; i++) {
        if (strncmp(m->at[i].key, prefix, skip) == 0) {
            const size_t n = strcspn(m->at[i].key + skip, "/");
            memcpy(name, m->at[i].key + skip, n);
            name[n] = '\0';
            zarrcore_reply_name(reply, name, m->at[i].key[skip + n] == '/');
        }
    }
    pthread_mutex_unlock(&m->lock);
    return ZARRCORE_OK;
}

static void close_memory(void *user)
{
    ((memory *)user)->closed++;
}

static zarrcore_store *open_store(bool batches)
{
    const zarrcore_callbacks callbacks = {.struct_size = sizeof callbacks, .user = &store_memory, .name = "memory://", .get = get,
                                          .get_ranges = batches ? get_ranges : NULL, .put = put, .remove = remove_key, .list = list,
                                          .close = close_memory};
    zarrcore_store *store = NULL;

    zarrcore_open_callbacks(&callbacks, ZARRCORE_READ_WRITE, &store, &error);
    return store;
}

/* An array of ones below a group. */
static int make(const zarrcore_store *store, const char *codecs)
{
    static float ones[ITEMS];
    char document[2000];
    zarrcore_array *array = NULL;

    for (size_t i = 0; i < ITEMS; i++) {
        ones[i] = 1 + (float)(i % 7);
    }
    snprintf(document, sizeof document, DOCUMENT, codecs);
    int status = zarrcore_create_array(store, "g/a", document, &array, &error);
    if (status == ZARRCORE_OK) {
        status = zarrcore_write(array, NULL, NULL, NULL, ones, NULL, 2, 0, &error);
    }
    zarrcore_release(array);
    return status;
}

static void empty(void)
{
    store_memory.n = 0;
    store_memory.seed = 0;
}

/* ---- functions that lie ------------------------------------------------------------------------- */

/* One read or write of an array whose chunks may be anything. */
static int use(zarrcore_array *array, unsigned kind)
{
    static _Thread_local float values[ITEMS];
    const int64_t start[] = {3, 4}, count[] = {30, 1}, first[] = {0, 1};
    unsigned char room[100];
    zarrcore_extent extents[16];
    size_t n;
    zarrcore_error own = ZARRCORE_ERROR_INIT;

    switch (kind) {
    case 0: return zarrcore_read(array, NULL, NULL, NULL, values, NULL, 2, &own);
    case 1: return zarrcore_read(array, start, NULL, count, values, NULL, 1, &own);
    case 2: return zarrcore_write(array, start, NULL, count, values, NULL, 2, 0, &own);
    case 3: return zarrcore_load_chunk(array, first, 3, room, sizeof room, &n, &own);
    case 4: return zarrcore_shard_index(array, first, extents, 16, &own);
    default: return zarrcore_read_points(array, "f4", 2, 1, start, values, sizeof values, 1, &own);
    }
}

static void functions_that_lie(void)
{
    for (unsigned round = 0; round < 24; round++) {
        zarrcore_store *const store = open_store(round % 2 == 1);
        zarrcore_array *array = NULL;
        empty();
        CHECK(make(store, CODECS[round / 2 % 3]) == ZARRCORE_OK);
        CHECK(zarrcore_open_array(store, "g/a", &array, &error) == ZARRCORE_OK);
        zarrcore_set_cache(array, round % 5 == 0 ? 1 << 20 : 0);
        for (unsigned i = 0; i < 120; i++) {
            store_memory.seed = round * 1000 + i + 1;
            const int status = use(array, i % 6);
            CHECK(status <= 0 && status > -20 && status != -16);
        }
        zarrcore_release(array);
        zarrcore_release_store(store);
    }
    empty();
}

/* Requests are no more than copies of what the library wants to know. */
static void requests_that_are_changed(void)
{
    static float values[ITEMS];

    for (size_t i = 0; i < sizeof CODECS / sizeof *CODECS; i++) {
        zarrcore_store *const store = open_store(true);
        zarrcore_array *array = NULL;
        empty();
        CHECK(make(store, CODECS[i]) == ZARRCORE_OK && zarrcore_open_array(store, "g/a", &array, &error) == ZARRCORE_OK);
        store_memory.scribbles = true;
        memset(values, 0, sizeof values);
        CHECK(zarrcore_read(array, NULL, NULL, NULL, values, NULL, 1, &error) == ZARRCORE_OK && values[ITEMS - 1] == 1 + (ITEMS - 1) % 7);
        CHECK(use(array, 1) == ZARRCORE_OK && use(array, 5) == ZARRCORE_OK);
        store_memory.scribbles = false;
        zarrcore_release(array);
        zarrcore_release_store(store);
    }
    empty();
}

/* ---- several threads ---------------------------------------------------------------------------- */

static void *use_often(void *arg)
{
    for (unsigned i = 0; i < 300; i++) {
        use(arg, i % 6);
    }
    return NULL;
}

static void threads_that_share_a_store(void)
{
    for (int batches = 0; batches < 2; batches++) {
        zarrcore_store *const store = open_store(batches);
        zarrcore_array *array = NULL;
        pthread_t threads[4];
        empty();
        CHECK(make(store, CODECS[2]) == ZARRCORE_OK && zarrcore_open_array(store, "g/a", &array, &error) == ZARRCORE_OK);
        zarrcore_release_store(store);
        for (int i = 0; i < 4; i++) {
            CHECK(pthread_create(&threads[i], NULL, use_often, array) == 0);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
        const int closed = store_memory.closed;
        zarrcore_release(array);
        CHECK(store_memory.closed == closed + 1);
    }
    empty();
}

/* ---- allocations that fail ---------------------------------------------------------------------- */

static int everything(bool batches, const char *codecs)
{
    static float values[ITEMS];
    zarrcore_nodes *nodes = NULL;
    zarrcore_array *array = NULL;
    zarrcore_store *const store = open_store(batches);
    int status = store != NULL ? make(store, codecs) : ZARRCORE_ERR_MEMORY;

    status = status == ZARRCORE_OK ? zarrcore_list(store, "g", 0, &nodes, &error) : status;
    status = status == ZARRCORE_OK ? zarrcore_open_node(nodes, 0, &array, &error) : status;
    status = status == ZARRCORE_OK ? zarrcore_read(array, NULL, NULL, NULL, values, NULL, 1, &error) : status;
    for (size_t i = 0; status == ZARRCORE_OK && i < ITEMS; i++) {
        CHECK(values[i] == 1 + (float)(i % 7));
    }
    for (unsigned kind = 1; kind < 3 && status == ZARRCORE_OK; kind++) {
        status = use(array, kind);
    }
    zarrcore_release(array);
    zarrcore_free_nodes(nodes);
    status = status == ZARRCORE_OK ? zarrcore_erase(store, "g", &error) : status;
    zarrcore_release_store(store);
    return status;
}

static void allocations_that_fail(void)
{
    for (int kind = 0; kind < 6; kind++) {
        bool failed = true;
        for (long n = 0; failed && n < 3000; n++) {
            empty();
            fail_from(n, kind % 2 == 0);
            const int status = everything(kind % 2 == 1, CODECS[kind / 2]);
            failed = has_failed();
            CHECK(failed || status == ZARRCORE_OK);
        }
        CHECK(!failed && store_memory.n == 1);       /* the document of the root */
    }
    empty();
}

/* Replies of functions that hand over no bytes had memory that nobody freed. */
static void nothing_is_left(void)
{
    CHECK(zarrcore_shutdown() == ZARRCORE_OK);
    CHECK(zarrcore_set_allocator(NULL, &error) == ZARRCORE_OK);
}

int main(void)
{
    RUN(functions_that_lie);
    RUN(requests_that_are_changed);
    RUN(threads_that_share_a_store);
    RUN(nothing_is_left);
    RUN(allocations_that_fail);
    return check_report("callbacks");
}

#else

int main(void)
{
    return check_report("callbacks");    /* no linker that replaces functions */
}

#endif
