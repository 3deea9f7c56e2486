/* SPDX-License-Identifier: MIT
 *
 * One array read and written in pieces and as a whole, by several libraries in turns.
 *
 *     compare DIRECTORY ROUNDS
 *
 * Prints a line for each case, library and round: the seconds that it took, and those of the CPU.  What was read is compared with what
 * was written before anything is measured.  Each round opens the array: nothing is decoded at first.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library.h"

#define MOST_THREADS 2
#define ITEMS 200000             /* reads of a few bytes */

static const library *const libraries[] = {&with_zarrcore, &with_hdf5, &with_netcdf};
#define N_LIBRARIES ((int)(sizeof libraries / sizeof *libraries))

static float values[N * N], found[N * N];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Smooth, and noise in the lower bits, as measurements are. */
static void make_values(void)
{
    uint32_t random = 1;

    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            random = random * 1664525U + 1013904223U;
            values[i * N + k] = (float)(200 + i / 8 % 50 + k / 16) + (float)(random >> 27) / 32;
        }
    }
}

/* ---- what is measured ---- */

typedef enum { ROWS, COLUMNS, WHOLE } pieces;

typedef struct work {
    const library *by;
    void *array;
    pieces what;
    int first, step;         /* of the rows, or columns */
    bool write, shared;
    float *memory;
} work;

static void do_piece(const work *w, int i)
{
    const long start[] = {w->what == ROWS ? i : 0, w->what == COLUMNS ? i : 0};
    const long count[] = {w->what == ROWS ? 1 : N, w->what == COLUMNS ? 1 : N};
    const bool locks = w->shared && w->by->locked;

    if (locks) {
        pthread_mutex_lock(&lock);
    }
    if (w->write) {
        w->by->write(w->array, start, count, w->memory + (size_t)i * N);
    } else {
        w->by->read(w->array, start, count, w->memory + (size_t)i * N);
    }
    if (locks) {
        pthread_mutex_unlock(&lock);
    }
}

static void *do_pieces(void *arg)
{
    const work *const w = arg;

    for (int i = w->first; i < (w->what == WHOLE ? 1 : N); i += w->step) {
        do_piece(w, i);
    }
    return NULL;
}

static void in_threads(const work *all, int threads)
{
    pthread_t ids[MOST_THREADS];
    work own[MOST_THREADS];

    for (int t = 0; t < threads; t++) {
        own[t] = *all;
        own[t].first = t;
        own[t].step = threads;
        own[t].shared = threads > 1;
        if (t > 0 && pthread_create(&ids[t], NULL, do_pieces, &own[t]) != 0) {
            exit(1);
        }
    }
    do_pieces(&own[0]);
    for (int t = 1; t < threads; t++) {
        pthread_join(ids[t], NULL);
    }
}

typedef struct timing {
    double wall, cpu;
} timing;

static timing run(const library *by, const char *path, pieces what, bool write, int threads)
{
    char command[4200];
    const timing start = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
    const work w = {.by = by, .array = write ? by->create(path) : by->open(path), .what = what, .write = write,
                    .memory = write ? values : found};

    in_threads(&w, threads);
    by->close(w.array);
    const timing spent = {seconds(CLOCK_MONOTONIC) - start.wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - start.cpu};
    if (write) {
        snprintf(command, sizeof command, "rm -rf '%s'", path);
        if (system(command) != 0) {
            exit(1);
        }
    }
    return spent;
}

/* Two neighbours of a chunk that has been read before; the time of all, so of one of them in microseconds. */
static timing run_items(const library *by, const char *path)
{
    void *const array = by->open(path);
    const long start[] = {7, 9}, count[] = {1, 2};

    for (int i = 0; i < 3; i++) {
        by->read(array, start, count, found);
    }
    const timing begin = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
    for (int i = 0; i < ITEMS; i++) {
        by->read(array, start, count, found);
    }
    const timing spent = {seconds(CLOCK_MONOTONIC) - begin.wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - begin.cpu};
    if (memcmp(found, &values[start[0] * N + start[1]], 2 * sizeof *found) != 0) {
        exit(1);
    }
    by->close(array);
    return spent;
}

/* ---- all of it ---- */

static void check_values(const library *by, const char *path, const char *what)
{
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            if (found[i * N + k] != values[what[0] == 'c' ? k * N + i : i * N + k]) {
                fprintf(stderr, "%s: %s: %s: another value at %d, %d\n", path, by->name, what, i, k);
                exit(1);
            }
        }
    }
}

typedef struct test_case {
    const char *name;
    pieces what;
    bool write;
    int threads;
} test_case;

static const test_case cases[] = {
    {"rows, read", ROWS, false, 1},    {"columns, read", COLUMNS, false, 1},  {"rows, read by 2 threads", ROWS, false, 2},
    {"whole, read", WHOLE, false, 1},  {"rows, written", ROWS, true, 1},      {"columns, written", COLUMNS, true, 1},
    {"whole, written", WHOLE, true, 1},
};

static void report(const char *name, const library *by, timing t)
{
    printf("%s\t%s\t%.6f\t%.6f\n", name, by->name, t.wall, t.cpu);
}

static void run_round(const char (*paths)[4096], bool checks)
{
    char made[4100];

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int l = 0; l < N_LIBRARIES; l++) {
            snprintf(made, sizeof made, "%s.new", paths[l]);
            memset(found, 0, checks && !cases[c].write ? sizeof found : 0);
            const timing t = run(libraries[l], cases[c].write ? made : paths[l], cases[c].what, cases[c].write, cases[c].threads);
            if (!checks) {
                report(cases[c].name, libraries[l], t);
            } else if (!cases[c].write) {
                check_values(libraries[l], paths[l], cases[c].name);
            }
        }
    }
    for (int l = 0; l < N_LIBRARIES && !checks; l++) {
        report("8 bytes, read 200,000 times", libraries[l], run_items(libraries[l], paths[l]));
    }
}

int main(int argc, char **argv)
{
    char paths[N_LIBRARIES][4096];

    if (argc != 3) {
        fprintf(stderr, "usage: compare DIRECTORY ROUNDS\n");
        return 2;
    }
    make_values();
    for (int l = 0; l < N_LIBRARIES; l++) {
        snprintf(paths[l], sizeof paths[l], "%s/%s", argv[1], libraries[l]->name);
        void *const array = libraries[l]->create(paths[l]);
        libraries[l]->write(array, (long[]){0, 0}, (long[]){N, N}, values);
        libraries[l]->close(array);
    }
    run_round((const char (*)[4096])paths, true);
    for (int i = 0; i < atoi(argv[2]); i++) {
        run_round((const char (*)[4096])paths, false);
    }
    return 0;
}
