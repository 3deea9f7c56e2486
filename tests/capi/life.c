/* SPDX-License-Identifier: MIT
 *
 * The whole life of libzarrcore on several threads: each loads it, opens one store, creates, writes, reads, caches, appends, resizes, lists,
 * erases, closes and unloads, while another ends the library's threads, changes their number, and makes children that do the same.  All
 * threads share one array as well.
 *
 *     life LIBRARY DIRECTORY ROUNDS
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zarrcore.h>

#include "tests/forked.h"

#define THREADS 4
#define FLAGS (ZARRCORE_READ_WRITE | ZARRCORE_CREATE | ZARRCORE_LOCKS)
#define SIDE 32
#define ROWS (SIDE / THREADS)    /* of the shared array, for each thread: its chunks have rows of two */

#define FUNCTIONS(F)                                                                                                              \
    F(open_store) F(create_group) F(create_array) F(open_array) F(open) F(write) F(read) F(read_as) F(set_cache) F(set_write_buffer) \
    F(flush) F(close) F(release) F(release_store) F(append) F(resize) F(set_attribute) F(get_attribute) F(free) F(list) F(free_nodes) \
    F(count_nodes) F(open_node) F(erase) F(shutdown) F(set_num_threads) F(set_watch)

typedef struct functions {
#define MEMBER(name) __typeof__(&zarrcore_##name) name;
    FUNCTIONS(MEMBER)
    void *loaded;
} functions;

static const char *library, *directory;
static int rounds;
static atomic_int done;

static void check(int good, const char *what, const zarrcore_error *error)
{
    if (!good) {
        fprintf(stderr, "%s: %s (%d)\n", what, error != NULL ? error->message : "", error != NULL ? error->status : 0);
        exit(1);
    }
}

static functions load(void)
{
    functions f = {.loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL)};

    check(f.loaded != NULL, "dlopen", NULL);
#define FIND(name) *(void **)&f.name = dlsym(f.loaded, "zarrcore_" #name); check(f.name != NULL, #name, NULL);
    FUNCTIONS(FIND)
    return f;
}

static const char DOCUMENT[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [32, 32], \"data_type\": \"float64\", \"fill_value\": 0,"
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [16, 8]}}, \"chunk_key_encoding\": \"default\","
    " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"zstd\"}]}";
static const int64_t ONE_ROW[2] = {1, SIDE};

static void fill(double *values, size_t n, double value)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = value + (double)i;
    }
}

/* Row by row into a write buffer, and back through a cache. */
static void use(const functions *f, zarrcore_array *array, double value, zarrcore_error *error)
{
    double row[SIDE], found[SIDE];

    check(f->set_write_buffer(array, 3000, error) == 0 && f->set_cache(array, 4000) == 0, "set_write_buffer", error);
    for (int64_t i = 0; i < SIDE; i++) {
        fill(row, SIDE, value + (double)i);
        check(f->write(array, (int64_t[]){i, 0}, NULL, ONE_ROW, row, NULL, 0, 0, error) == 0, "write", error);
    }
    check(f->flush(array, error) == 0, "flush", error);
    for (int64_t i = 0; i < SIDE; i++) {
        fill(row, SIDE, value + (double)i);
        check(f->read(array, (int64_t[]){i, 0}, NULL, ONE_ROW, found, NULL, 0, error) == 0, "read", error);
        check(memcmp(row, found, sizeof row) == 0, "what was written", NULL);
    }
}

static void change(const functions *f, zarrcore_store *store, const char *path, zarrcore_error *error)
{
    double rows[2 * SIDE];
    char *text = NULL;
    zarrcore_array *old = NULL;

    fill(rows, 2 * SIDE, 5);
    check(f->open_array(store, path, &old, error) == 0, "open_array", error);
    check(f->append(store, path, 0, "f8", 2, (int64_t[]){2, SIDE}, rows, sizeof rows, NULL, 0, 0, error) == 0, "append", error);
    check(f->resize(store, path, 2, (int64_t[]){SIDE / 2, SIDE}, error) == 0, "resize", error);
    check(f->read(old, NULL, NULL, ONE_ROW, rows, NULL, 0, error) == ZARRCORE_ERR_STALE, "a handle of what was larger", error);
    f->release(old);
    check(f->set_attribute(store, path, "a", "12", error) == 0, "set_attribute", error);
    check(f->get_attribute(store, path, "a", &text, error) == 0 && strcmp(text, "12") == 0, "get_attribute", error);
    f->free(text);
}

static void look(const functions *f, zarrcore_store *store, const char *group, zarrcore_error *error)
{
    zarrcore_nodes *nodes = NULL;
    zarrcore_array *array = NULL;
    float values[SIDE / 2 * SIDE];

    check(f->list(store, group, 0, &nodes, error) == 0 && f->count_nodes(nodes) == 1, "list", error);
    check(f->open_node(nodes, 0, &array, error) == 0, "open_node", error);
    f->free_nodes(nodes);
    check(f->read_as(array, "f4", 2, NULL, NULL, NULL, values, sizeof values, NULL, 2, error) == 0, "read_as", error);
    check(f->close(array, error) == 0, "close", error);
}

/* Rows that no other thread writes, in chunks that two of them write. */
static void share(const functions *f, zarrcore_array *array, int thread, double value, zarrcore_error *error)
{
    double rows[ROWS * SIDE], found[ROWS * SIDE];
    const int64_t start[2] = {thread * ROWS, 0}, count[2] = {ROWS, SIDE};

    fill(rows, ROWS * SIDE, value);
    check(f->write(array, start, NULL, count, rows, NULL, 2, 0, error) == 0, "write to the shared array", error);
    check(f->read(array, start, NULL, count, found, NULL, 2, error) == 0, "read the shared array", error);
    check(memcmp(rows, found, sizeof rows) == 0, "what was written to the shared array", NULL);
}

static void live(int thread, double value)
{
    const functions f = load();
    const zarrcore_watch watch = {.struct_size = sizeof watch};
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store = NULL;
    zarrcore_array *array = NULL, *shared = NULL;
    char group[16], path[24];

    snprintf(group, sizeof group, "g%d", thread);
    snprintf(path, sizeof path, "g%d/a", thread);
    check(f.set_watch(&watch, &error) == 0, "set_watch", &error);
    check(f.open_store(directory, FLAGS, &store, &error) == 0, "open_store", &error);
    check(f.create_group(store, group, NULL, &error) == 0, "create_group", &error);
    check(f.create_array(store, path, DOCUMENT, &array, &error) == 0, "create_array", &error);
    const int status = f.create_array(store, "shared", DOCUMENT, &shared, &error);
    check(status == 0 || status == ZARRCORE_ERR_EXISTS, "create_array, shared", &error);
    check(status == 0 || f.open_array(store, "shared", &shared, &error) == 0, "open_array, shared", &error);
    use(&f, array, value, &error);
    if (thread < THREADS) {          /* chunks have one writing process at a time */
        share(&f, shared, thread, value, &error);
    }
    check(f.close(array, &error) == 0 && f.close(shared, &error) == 0, "close", &error);
    change(&f, store, path, &error);
    look(&f, store, group, &error);
    check(f.erase(store, group, &error) == 0, "erase", &error);
    f.release_store(store);
    check(f.set_watch(NULL, &error) == 0, "set_watch", &error);
    check(dlclose(f.loaded) == 0, "dlclose", NULL);
}

static void *work(void *number)
{
    for (int i = 0; i < rounds; i++) {
        live((int)(intptr_t)number, 100.0 * i);
    }
    atomic_fetch_add(&done, 1);
    return NULL;
}

/* A child of fork(), whatever the threads are at. */
static void fork_one(void)
{
    const pid_t child = fork();
    int status = 1;

    if (child == 0) {
        check_forked();
        alarm(300);                  /* rather than wait for a lock that nobody has */
        live(THREADS, 7);
        exit(0);
    }
    check(waitpid(child, &status, 0) == child && status == 0, "the child", NULL);
}

static void disturb(void)
{
    for (int i = 0; atomic_load(&done) < THREADS; i++) {
#ifndef __SANITIZE_THREAD__          /* which knows no threads in a child of several */
        fork_one();
#endif
        const functions f = load();
        check(f.shutdown() == 0 && f.set_num_threads(1 + i % 3) == 0, "shutdown", NULL);
        dlclose(f.loaded);
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc != 4) {
        return 2;
    }
    library = argv[1];
    directory = argv[2];
    rounds = atoi(argv[3]);
    for (int i = 0; i < THREADS; i++) {
        check(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0, "pthread_create", NULL);
    }
    disturb();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    fork_one();
    const functions f = load();
    check(f.shutdown() == 0, "shutdown", NULL);
    dlclose(f.loaded);
    return 0;
}
