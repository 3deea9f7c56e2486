/* SPDX-License-Identifier: MIT
 *
 * What fuzz targets share: numbers out of the input, and a check that stops where the fuzzer sees it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* An allocation that is refused is an error like others; what asks for gigabytes is refused. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

#define FUZZ_REQUIRE(condition, what)                                                            \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, what);                            \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

/* What is left of an input; reading beyond the end returns zeros. */
typedef struct fuzz_input {
    const uint8_t *at;
    size_t n;
} fuzz_input;

static inline uint8_t fuzz_byte(fuzz_input *in)
{
    if (in->n == 0) {
        return 0;
    }
    in->n--;
    return *in->at++;
}

static inline uint64_t fuzz_word(fuzz_input *in, int nbytes)
{
    uint64_t word = 0;

    for (int i = 0; i < nbytes; i++) {
        word |= (uint64_t)fuzz_byte(in) << 8 * i;
    }
    return word;
}

/* From 0 to `most`; mostly small numbers, and those next to powers of two. */
static inline int64_t fuzz_length(fuzz_input *in, int64_t most)
{
    const uint8_t choice = fuzz_byte(in);
    uint64_t n;

    if (choice < 160) {
        n = choice;
    } else if (choice < 224) {
        n = ((uint64_t)1 << (choice - 160)) + fuzz_byte(in) % 5 - 2;
    } else if (choice < 240) {
        n = fuzz_word(in, 2);
    } else if (choice < 250) {
        n = (uint64_t)most - fuzz_byte(in);
    } else {
        n = fuzz_word(in, 8);
    }
    return n <= (uint64_t)most ? (int64_t)n : (int64_t)(n % ((uint64_t)most + 1));
}
