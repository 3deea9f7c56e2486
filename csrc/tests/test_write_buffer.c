/* SPDX-License-Identifier: MIT
 *
 * The write buffer of a handle, and conversion of numbers: random regions against a model, threads that write columns, all of
 * it under sanitizers.
 */
#include "base/cpu.h"
#include "capi/handle.h"
#include "tests/engine_fixture.h"
#include "tests/threads.h"

enum { THREADS = 4 };

static zc_status begin(zc_session *session, zc_error *err)
{
    fixture *const f = session->owner;

    (void)err;
    session->local = f->local;
    zc_store_local(&session->local, &session->store);
    return ZC_OK;
}

static void destroy(void *owner)
{
    (void)owner;
}

static const zc_backend backend = {.begin = begin, .destroy = destroy};

static zarrcore_array *open_handle(fixture *f, zc_arena *arena)
{
    choose_kinds(&f->chain, arena);
    return zc_handle_new(&f->array, &backend, f, true, ZC_BIG_ENDIAN ? ">u2" : "<u2", "a");
}

typedef struct box {
    int64_t start[NDIM], count[NDIM];
} box;

static box random_box(void)
{
    box b;

    for (int d = 0; d < NDIM; d++) {
        const int length = d == 0 ? ROWS : COLUMNS;
        b.start[d] = rand() % length;
        b.count[d] = 1 + rand() % (length - (int)b.start[d]);
    }
    return b;
}

static void check_all(const fixture *f, const zarrcore_array *array, const char *type)
{
    static double wide[ROWS * COLUMNS];
    static uint16_t own[ROWS * COLUMNS];
    zarrcore_error error = ZARRCORE_ERROR_INIT;

    if (type == NULL) {
        CHECK(zarrcore_read(array, NULL, NULL, NULL, own, NULL, 0, &error) == ZARRCORE_OK);
        CHECK(memcmp(own, f->model, sizeof own) == 0);
        return;
    }
    CHECK(zarrcore_read_as(array, type, NDIM, NULL, NULL, NULL, wide, sizeof wide, NULL, 0, &error) == ZARRCORE_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        CHECK(wide[i] == f->model[i]);
    }
}

static void exercise_buffer(fixture *f, int64_t nbytes)
{
    static int32_t values[ROWS * COLUMNS];
    static uint16_t own[ROWS * COLUMNS];
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zc_arena arena = {NULL};
    zarrcore_array *const array = open_handle(f, &arena);

    CHECK(zarrcore_set_write_buffer(array, nbytes, &error) == ZARRCORE_OK);
    for (int i = 0; i < 60; i++) {
        const box b = random_box();
        const int64_t n = b.count[0] * b.count[1];
        for (int64_t e = 0; e < n; e++) {
            own[e] = (uint16_t)(values[e] = i % 5 == 4 ? 7 : rand() % 50);
            f->model[(b.start[0] + e / b.count[1]) * COLUMNS + b.start[1] + e % b.count[1]] = own[e];
        }
        const int status = i % 2 ? zarrcore_write(array, b.start, NULL, b.count, own, NULL, 1 + i % 3, 0, &error)
                                 : zarrcore_write_as(array, "i4", NDIM, b.start, NULL, b.count, values, sizeof values, NULL,
                                                     1 + i % 3, 0, &error);
        CHECK(status == ZARRCORE_OK);
        check_all(f, array, i % 3 == 0 ? "f8" : NULL);
        if (i % 20 == 19) {
            CHECK(zarrcore_flush(array, &error) == ZARRCORE_OK);
        }
    }
    CHECK(zarrcore_close(array, &error) == ZARRCORE_OK);
    zarrcore_array *const again = open_handle(f, &arena);
    check_all(f, again, NULL);
    zarrcore_release(again);
    zc_arena_free(&arena);
}

static zarrcore_array *shared;
static fixture *shared_fixture;
static atomic_int next_column;

static void *write_columns(void *unused)
{
    uint16_t column[ROWS];
    zarrcore_error error = ZARRCORE_ERROR_INIT;

    (void)unused;
    for (int64_t k; (k = atomic_fetch_add(&next_column, 1)) < COLUMNS;) {
        for (int64_t i = 0; i < ROWS; i++) {
            const int64_t at[NDIM] = {i, k}, one[NDIM] = {1, 1}, top[NDIM] = {0, k}, all[NDIM] = {i + 1, 1};
            const uint16_t *const model = &shared_fixture->model[k];
            bool good = zarrcore_write(shared, at, NULL, one, &model[i * COLUMNS], NULL, 1, 0, &error) == ZARRCORE_OK &&
                        zarrcore_read(shared, top, NULL, all, column, NULL, 1, &error) == ZARRCORE_OK;
            for (int64_t r = 0; r <= i; r++) {
                good = good && column[r] == model[r * COLUMNS];
            }
            if (!good || (i == k && zarrcore_flush(shared, &error) != ZARRCORE_OK)) {
                return &shared;
            }
        }
    }
    return NULL;
}

static void exercise_threads(fixture *f, int64_t nbytes)
{
    test_thread threads[THREADS];
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zc_arena arena = {NULL};

    for (int i = 0; i < ROWS * COLUMNS; i++) {
        f->model[i] = (uint16_t)(i + 100);
    }
    shared = open_handle(f, &arena);
    shared_fixture = f;
    atomic_store(&next_column, 0);
    CHECK(zarrcore_set_write_buffer(shared, nbytes, &error) == ZARRCORE_OK);
    for (int i = 0; i < THREADS; i++) {
        CHECK(thread_start(&threads[i], write_columns, NULL));
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(thread_join(&threads[i]) == NULL);
    }
    CHECK(zarrcore_flush(shared, &error) == ZARRCORE_OK);
    check_all(f, shared, NULL);
    CHECK(zarrcore_close(shared, &error) == ZARRCORE_OK);
    zc_arena_free(&arena);
}

static void chunks_and_shards(void)
{
    static const int64_t limits[] = {1, 800, 3000, INT64_MAX};
    fixture f;
    char name[40];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "buffer%d/", i);
        open_fixture(&f, name, i < 4 ? 10 : 20, 12);
        if (i < 4) {
            add_stage(&f.chain, "zstd");
        } else {
            make_sharded(&f, 10, 4, false);
        }
        f.local.sync = i % 4 == 2;
        exercise_buffer(&f, limits[i % 4]);
        f.local.sync = false;
        exercise_threads(&f, limits[i % 4]);
    }
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    RUN(chunks_and_shards);
    return check_report("write_buffer") | !close_root();
}
