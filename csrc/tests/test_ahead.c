/* SPDX-License-Identifier: MIT
 *
 * Reading ahead: what is announced of an array whose files have to be waited for, and that nothing is of one in memory.
 */
#include "engine/ahead.h"
#include "engine_fixture.h"

enum { EDGE = 3, CHUNKS = 13 * 10 };

static fixture f;
static zc_store real;
static uint16_t values[ROWS * COLUMNS], got[ROWS * COLUMNS];
static zc_fault fault;
static zc_error err;

static atomic_int announced[CHUNKS], n_announced, n_read;
static atomic_bool wrong;            /* threads count no checks */
static int waits_from, waits_to;     /* these reads have to wait for a disk */
static bool cold;                    /* what is announced is not in memory */
static bool slow_clock;              /* they know only by the clock */

static int number_of(const char *key)
{
    int row, column;

    if (sscanf(key, "array/c/%d/%d", &row, &column) != 2) {
        atomic_store(&wrong, true);
        return 0;
    }
    return row * 10 + column;
}

static bool announce(const zc_store *store, const char *key, uint64_t n, uint64_t *size)
{
    if (store != &f.store || n != ZC_AHEAD_BYTES) {
        atomic_store(&wrong, true);
    }
    atomic_fetch_add(&announced[number_of(key)], 1);
    atomic_fetch_add(&n_announced, 1);
    *size = 100;
    return cold;
}

/* On a busy machine a file in memory is waited for, too: only what the tests say counts. */
static zc_status read_real(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *error)
{
    zc_value ready = *value;

    ready.waiting = NULL;
    return real.read(&ready, offset, dst, n, error);
}

static zc_status read_slowly(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *error)
{
    const int number = atomic_fetch_add(&n_read, 1);

    if (number >= waits_from && number < waits_to) {
        atomic_store(&value->waiting->blind, slow_clock);
        zc_waiting_wait(value->waiting, value, offset);
    }
    return read_real(value, offset, dst, n, error);
}

/* Read all of an array of 130 small chunks. */
static void read_with(int from, int to, bool is_cold, int threads)
{
    waits_from = from;
    waits_to = to;
    cold = is_cold;
    n_announced = n_read = 0;
    for (int i = 0; i < CHUNKS; i++) {
        announced[i] = 0;
    }
    memset(got, 0, sizeof got);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, got, threads, &fault, &err) == ZC_OK);
    CHECK(memcmp(got, values, sizeof got) == 0 && !wrong);
}

static void write_array(void)
{
    open_fixture(&f, "array/", EDGE, EDGE);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        values[i] = (uint16_t)(i + 100);
    }
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_OK);
    real = f.store;
    f.store.load = NULL;
    f.store.read = read_slowly;
    f.store.announce = announce;
}

static void files_in_memory_are_not_announced(void)
{
    read_with(0, 0, true, 1);
    CHECK(n_announced == 0);
    read_with(0, 0, true, 3);
    CHECK(n_announced == 0);
}

/* One thread begins with the first chunk and goes on in order. */
static void all_that_comes_after_a_wait_is_announced_once(void)
{
    read_with(0, 1, true, 1);
    CHECK(announced[0] == 0);
    for (int i = 1; i < CHUNKS; i++) {
        CHECK(announced[i] == 1);
    }
    read_with(60, 61, true, 1);
    int first = 0;
    while (first < CHUNKS && announced[first] == 0) {
        first++;
    }
    CHECK(first > 20 && first < 62);
    for (int i = first; i < CHUNKS; i++) {
        CHECK(announced[i] == 1);
    }
}

static void announcing_ends_where_files_are_in_memory(void)
{
    read_with(0, 1, false, 1);
    CHECK(n_announced == 16);
    read_with(0, CHUNKS, false, 1);
    CHECK(n_announced < CHUNKS);
}

/* A slow clock alone is a CPU that was taken away, more often than a disk. */
static void the_clock_alone_is_trusted_less(void)
{
    slow_clock = true;
    read_with(0, 1, false, 1);
    CHECK(n_announced == 2);
    read_with(0, 1, true, 1);
    CHECK(n_announced == CHUNKS - 1);
    slow_clock = false;
}

static void threads_announce_nothing_twice(void)
{
    for (int threads = 2; threads < 9; threads++) {
        read_with(0, threads, true, threads);
        for (int i = 0; i < CHUNKS; i++) {
            CHECK(announced[i] <= 1);
        }
        CHECK(n_announced > 0 && n_announced <= CHUNKS - 1);
    }
}

/* What is read of a chunk in part does not show what is needed of the next. */
static void chunks_wanted_in_part_are_not_announced(void)
{
    uint16_t row[COLUMNS];

    read_with(0, 0, true, 1);
    waits_to = 1000;
    CHECK(transfer(&f, false, 4, 1, 0, COLUMNS, row, 1, &fault, &err) == ZC_OK);
    CHECK(n_announced == 0 && memcmp(row, values + 4 * COLUMNS, sizeof row) == 0);
}

static void a_single_file_is_read_without_looking(void)
{
    uint16_t box[EDGE * EDGE];

    read_with(0, 0, true, 1);
    CHECK(transfer(&f, false, 0, EDGE, 0, EDGE, box, 1, &fault, &err) == ZC_OK);
    CHECK(n_announced == 0);
}

/* ---- within one shard ---- */

static zc_status wait_always(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *error)
{
    if (value->waiting != NULL) {
        zc_waiting_wait(value->waiting, value, offset);
    }
    return real.read(value, offset, dst, n, error);
}

static void open_shards(void)
{
    open_fixture(&f, "shards/", ROWS, COLUMNS);
    f.array.grid[0].chunk = 40;
    f.array.grid[1].chunk = 30;
    make_sharded(&f, 4, 3, false);
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_OK);
    real = f.store;
    f.store.read = wait_always;
}

static void shards_that_are_waited_for_are_read_as_usual(void)
{
    uint16_t box[20 * 20];

    open_shards();
    for (int threads = 1; threads <= 4; threads += 3) {
        memset(got, 0, sizeof got);
        CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, got, threads, &fault, &err) == ZC_OK);
        CHECK(memcmp(got, values, sizeof got) == 0);
        CHECK(transfer(&f, false, 5, 20, 3, 20, box, threads, &fault, &err) == ZC_OK);
        for (int i = 0; i < 20; i++) {
            CHECK(memcmp(box + i * 20, values + (5 + i) * COLUMNS + 3, 40) == 0);
        }
    }
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    write_array();
    RUN(files_in_memory_are_not_announced);
    RUN(all_that_comes_after_a_wait_is_announced_once);
    RUN(announcing_ends_where_files_are_in_memory);
    RUN(the_clock_alone_is_trusted_less);
    RUN(threads_announce_nothing_twice);
    RUN(chunks_wanted_in_part_are_not_announced);
    RUN(a_single_file_is_read_without_looking);
    RUN(shards_that_are_waited_for_are_read_as_usual);
    return check_report("ahead") | !close_root();
}
