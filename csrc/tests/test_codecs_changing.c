/* SPDX-License-Identifier: MIT
 *
 * Values in memory that others write to while they are decoded (mapped files, buffers of other threads): whatever comes
 * out, nothing is written beyond the room for it.
 */
#include <stdatomic.h>

#include "check.h"
#include "codec_cases.h"
#include "threads.h"

enum { ROUNDS = 20000, ROOM = 64, GUARD = 64 };

/* A byte of a value that flips between two numbers. */
typedef struct flip {
    volatile uint8_t *at;
    uint8_t numbers[2];
    atomic_bool done;
} flip;

static void *keep_flipping(void *arg)
{
    flip *f = arg;

    while (!atomic_load_explicit(&f->done, memory_order_relaxed)) {
        *f->at = f->numbers[0];
        *f->at = f->numbers[1];
    }
    return NULL;
}

/* Decode a value into `cap` bytes again and again while its byte `at` flips between what it is and `other`. */
static void decode_while_it_flips(const zc_codec *codec, uint8_t *value, size_t n, size_t cap, size_t at, uint8_t other)
{
    uint8_t out[ROOM + GUARD];
    flip f = {.at = value + at, .numbers = {value[at], other}};
    zc_workspace *ws = zc_workspace_new();
    test_thread thread;
    zc_error err;
    bool kept = true;

    zc_error_clear(&err);
    atomic_init(&f.done, false);
    memset(out, 0xee, sizeof out);
    CHECK(cap <= ROOM && thread_start(&thread, keep_flipping, &f));
    for (int i = 0; i < ROUNDS && kept; i++) {
        size_t written = 0;
        const zc_status status = zc_codec_decode(codec, ws, value, n, out, cap, &written, &err);
        kept = status != ZC_OK || written <= cap;
        for (size_t k = cap; k < sizeof out; k++) {
            kept = kept && out[k] == 0xee;
        }
    }
    atomic_store(&f.done, true);
    thread_join(&thread);
    zc_workspace_free(ws);
    CHECK(kept);
}

/* Its first byte is how many bits of the last one are not used. */
static void unused_bits(void)
{
    zc_codec codec;
    uint8_t value[] = {7, 0xff, 0xff};

    CHECK(zc_codec_init(&codec, "packbits"));
    codec.bits.padding = ZC_PADDING_NUMCODECS;
    decode_while_it_flips(&codec, value, sizeof value, 9, 0, 0);
}

/* The type size, by which blocks are split, and the block size. */
static void headers_of_blosc(void)
{
    static const uint8_t bytes[ROOM] = {1, 2, 3};
    const zc_codec codec = case_codec("blosc", 5, false);
    zc_workspace *ws = zc_workspace_new();
    zc_error err;
    size_t n = 0;

    uint8_t *value = case_encode(&codec, ws, bytes, sizeof bytes, &n, &err);
    static const size_t places[] = {2, 3, 4, 8, 12};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        decode_while_it_flips(&codec, value, n, ROOM, places[i], 0);
    }
    free(value);
    zc_workspace_free(ws);
}

/* These tests race on purpose: ThreadSanitizer would report just that. */
#if defined(__SANITIZE_THREAD__)
#define MAY_RACE false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MAY_RACE false
#endif
#endif
#ifndef MAY_RACE
#define MAY_RACE true
#endif

int main(void)
{
    if (MAY_RACE) {
        RUN(unused_bits);
        RUN(headers_of_blosc);
    }
    return check_report("codecs_changing");
}
