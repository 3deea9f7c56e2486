/* A store of callbacks: a tree in memory, written and read by several threads.  cc memory_store.c -lzarrcore -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zarrcore.h>

/* Values in a list.  One lock is enough here: everything that has to be waited for is in memory. */
typedef struct value {
    struct value *next;
    char *key;
    void *data;
    size_t nbytes;
} value;

typedef struct memory {
    pthread_mutex_t lock;
    value *values;
} memory;

static value **find(memory *m, const char *key)
{
    value **at = &m->values;

    while (*at != NULL && strcmp((*at)->key, key) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void drop(value **at)
{
    value *const gone = *at;

    *at = gone->next;
    free(gone->key);
    free(gone->data);
    free(gone);
}

static int get(void *user, const zarrcore_request *request)
{
    memory *const m = user;
    int status = ZARRCORE_ERR_MISSING;

    pthread_mutex_lock(&m->lock);
    const value *const found = *find(m, request->key);
    if (found != NULL) {
        const size_t size = found->nbytes;
        size_t first = request->offset < size ? (size_t)request->offset : size;
        if (request->offset == ZARRCORE_FROM_END) {
            first = request->nbytes < size ? size - (size_t)request->nbytes : 0;
        }
        const size_t n = request->nbytes < size - first ? (size_t)request->nbytes : size - first;
        status = zarrcore_reply_bytes(request->reply, (const char *)found->data + first, n);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static int put(void *user, const char *key, const void *data, size_t nbytes, int is_new, zarrcore_reply *reply)
{
    memory *const m = user;
    value *const made = calloc(1, sizeof *made);
    int status = ZARRCORE_OK;

    if (made == NULL || (made->key = malloc(strlen(key) + 1)) == NULL || (made->data = malloc(nbytes + 1)) == NULL) {
        zarrcore_reply_error(reply, "the store is full");
        status = ZARRCORE_ERR_MEMORY;
    } else {
        memcpy(made->key, key, strlen(key) + 1);
        memcpy(made->data, data, nbytes);
        made->nbytes = nbytes;
        pthread_mutex_lock(&m->lock);
        value **const at = find(m, key);
        if (*at != NULL && is_new) {
            status = ZARRCORE_ERR_EXISTS;
        } else {
            if (*at != NULL) {
                drop(at);
            }
            made->next = m->values;
            m->values = made;
        }
        pthread_mutex_unlock(&m->lock);
    }
    if (status != ZARRCORE_OK && made != NULL) {
        free(made->key);
        free(made->data);
        free(made);
    }
    return status;
}

static int erase(void *user, const char *key, zarrcore_reply *reply)
{
    memory *const m = user;

    (void)reply;
    pthread_mutex_lock(&m->lock);
    value **const at = find(m, key);
    if (*at != NULL) {
        drop(at);
    }
    pthread_mutex_unlock(&m->lock);
    return ZARRCORE_OK;
}

/* Has a key before this one the same first part below the prefix? */
static int is_listed(const value *from, const value *to, size_t n_prefix, size_t n)
{
    while (from != to && strncmp(from->key, to->key, n_prefix + n + 1) != 0) {
        from = from->next;
    }
    return from != to;
}

static int list(void *user, const char *prefix, zarrcore_reply *reply)
{
    memory *const m = user;
    const size_t n_prefix = strlen(prefix);
    int status = ZARRCORE_OK;
    char name[256];

    pthread_mutex_lock(&m->lock);
    for (const value *at = m->values; at != NULL && status == ZARRCORE_OK; at = at->next) {
        const size_t n = strncmp(at->key, prefix, n_prefix) == 0 ? strcspn(at->key + n_prefix, "/") : 0;
        const int is_below = n > 0 && at->key[n_prefix + n] == '/';
        if (n > 0 && n < sizeof name && !(is_below && is_listed(m->values, at, n_prefix, n))) {
            memcpy(name, at->key + n_prefix, n);
            name[n] = '\0';
            status = zarrcore_reply_name(reply, name, is_below);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static void destroy(void *user)
{
    memory *const m = user;

    while (m->values != NULL) {
        drop(&m->values);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static int open_memory(zarrcore_store **out, zarrcore_error *error)
{
    memory *const m = calloc(1, sizeof *m);

    if (m == NULL || pthread_mutex_init(&m->lock, NULL) != 0) {
        free(m);
        return ZARRCORE_ERR_MEMORY;
    }
    const zarrcore_callbacks callbacks = {.struct_size = sizeof callbacks, .user = m, .get = get, .put = put, .remove = erase,
                                          .list = list, .close = destroy};
    const int status = zarrcore_open_callbacks(&callbacks, ZARRCORE_READ_WRITE, out, error);
    if (status != ZARRCORE_OK) {
        destroy(m);
    }
    return status;
}

static int use(const zarrcore_store *store, zarrcore_error *error)
{
    static const char document[] =
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [60, 80], \"data_type\": \"int32\","
        " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [30, 40]}},"
        " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, \"codecs\": [{\"name\": \"sharding_indexed\","
        " \"configuration\": {\"chunk_shape\": [10, 10], \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}},"
        " {\"name\": \"zstd\"}], \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]}}]}";
    const int64_t start[2] = {17, 33}, count[2] = {2, 3};
    int32_t values[60 * 80], part[6];
    zarrcore_array *array = NULL;
    zarrcore_nodes *nodes = NULL;

    for (int i = 0; i < 60 * 80; i++) {
        values[i] = i;
    }
    int status = zarrcore_create_array(store, "group/numbers", document, &array, error);
    if (status == ZARRCORE_OK) {
        status = zarrcore_write_as(array, "i4", 2, NULL, NULL, NULL, values, sizeof values, NULL, 0, 0, error);
    }
    if (status == ZARRCORE_OK) {
        status = zarrcore_read_as(array, "i4", 2, start, NULL, count, part, sizeof part, NULL, 0, error);
    }
    if (status == ZARRCORE_OK) {
        printf("%d %d %d %d %d %d\n", part[0], part[1], part[2], part[3], part[4], part[5]);
        status = zarrcore_list(store, "group", 0, &nodes, error);
    }
    for (size_t i = 0; i < zarrcore_count_nodes(nodes); i++) {
        printf("%s\n", zarrcore_node_name(nodes, i));
    }
    zarrcore_free_nodes(nodes);
    zarrcore_release(array);
    return status == ZARRCORE_OK ? zarrcore_erase(store, "group", error) : status;
}

int main(void)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store = NULL;
    int status = open_memory(&store, &error);

    status = status == ZARRCORE_OK ? use(store, &error) : status;
    zarrcore_release_store(store);
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "%s: %s\n", zarrcore_status_name(status), error.message);
    }
    return status == ZARRCORE_OK ? 0 : 1;
}
