/* SPDX-License-Identifier: MIT
 *
 * Write the valid inputs that fuzzing starts from: make_corpus DIRECTORY makes DIRECTORY/codecs, ...
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/arith.h"
#include "fuzz/array_table.h"
#include "kernels/shard_index.h"

static const char *directory;
static zc_workspace *ws;

static void save(const char *target, const char *name, const uint8_t *data, size_t n)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", directory, target);
    FUZZ_REQUIRE(mkdir(path, 0777) == 0 || errno == EEXIST, path);
    snprintf(path, sizeof path, "%s/%s/%s", directory, target, name);
    FILE *file = fopen(path, "wb");
    FUZZ_REQUIRE(file != NULL && fwrite(data, 1, n, file) == n && fclose(file) == 0, path);
}

/* A value of each codec. */
static void make_codecs(void)
{
    uint8_t input[4096], data[480];
    char name[64];
    zc_error err;

    for (int i = 0; i < FUZZ_CODECS; i++) {
        const zc_codec codec = fuzz_codec_at(i);
        const size_t nbytes = i % 5 == 0 ? sizeof data : 96;
        size_t n = 0;

        case_fill(data, sizeof data, (case_data)(i % 3));
        uint8_t *encoded = case_encode(&codec, ws, data, nbytes, &n, &err);
        if (encoded == NULL) {               /* cast_value: the data are out of range */
            encoded = case_exact(data, n = nbytes);
        }
        input[0] = (uint8_t)i;
        input[1] = 3;
        input[2] = (uint8_t)nbytes;
        input[3] = (uint8_t)(nbytes >> 8);
        memcpy(input + 4, encoded, n);
        snprintf(name, sizeof name, "%02d-%s", i, codec.cls->name);
        save("codecs", name, input, 4 + n);
        free(encoded);
    }
}

/* The last chunk that a write of a whole array stores. */
static uint8_t *store_chunk(int number, size_t *n)
{
    static uint8_t values[PIXELS * ITEM];
    zc_selection selection = {.ndim = NDIM, .memory = (char *)values};
    fuzz_array a;
    zc_fault fault;
    zc_error err;

    case_fill(values, sizeof values, number % 2 == 0 ? DATA_RAMP : DATA_NOISE);
    fuzz_array_open(&a, number, NULL, 0);
    selection.axis[0] = (zc_axis){.count = ROWS, .step = 1, .stride = COLUMNS * ITEM};
    selection.axis[1] = (zc_axis){.count = COLUMNS, .step = 1, .stride = ITEM};
    const zc_call call = {.array = &a.array, .store = &a.store, .selection = &selection, .threads = 1};
    const zc_status status = zc_write(&call, &fault, &err);
    FUZZ_REQUIRE(status == ZC_OK, err.message);
    *n = a.n_stored;
    return a.stored;
}

/* A chunk of each array, with several flags. */
static void make_chunks(void)
{
    static const uint8_t flags[] = {0x00, 0x2d, 0x0e, 0x30};
    uint8_t input[4096];
    char name[64];

    for (int i = 0; i < FUZZ_ARRAYS; i++) {
        size_t n;
        uint8_t *stored = store_chunk(i, &n);
        FUZZ_REQUIRE(n + 8 <= sizeof input, "a large chunk");
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
            const uint8_t head[8] = {(uint8_t)i, flags[f], (uint8_t)(5 + f), 3, 30, 4, 20, 2};
            memcpy(input, head, sizeof head);
            memcpy(input + sizeof head, stored, n);
            snprintf(name, sizeof name, "%02d-%zu", i, f);
            if (f < 2 || i % 2 == 0) {
                save("chunk", name, input, sizeof head + n);
            }
        }
        free(stored);
    }
}

static void put_big_endian(uint8_t **at, uint32_t value, int nbytes)
{
    for (int i = nbytes - 1; i >= 0; i--) {
        *(*at)++ = (uint8_t)(value >> 8 * i);
    }
}

/* Blocks of all modes, of the size of the chunk, smaller and larger. */
static void make_blocks(void)
{
    char name[64];

    for (int ndim = 1; ndim <= 3; ndim++) {
        for (int mode = 0; mode < 3; mode++) {
            for (int size = 1; size <= 3; size++) {
                uint8_t input[4096], *at = input;
                uint32_t items = 1;
                *at++ = (uint8_t)(ndim - 1 + (size == 2 ? 64 : 0));
                for (int d = 0; d < ndim; d++) {
                    *at++ = 3;               /* chunks of 4, */
                    *at++ = 6;               /* 7 in the array */
                }
                put_big_endian(&at, (uint32_t)mode, 2);
                put_big_endian(&at, (uint32_t)ndim, 2);
                for (int d = 0; d < ndim; d++) {
                    put_big_endian(&at, (uint32_t)(2 * size), 4);
                    items *= (uint32_t)(2 * size);
                }
                if (mode == 1) {
                    put_big_endian(&at, items, 4);
                }
                memset(at, 0x42, items * ITEM);
                at += items * ITEM;
                snprintf(name, sizeof name, "%d-%d-%d", ndim, mode, size);
                save("n5_block", name, input, (size_t)(at - input));
            }
        }
    }
}

static void make_indexes(void)
{
    char name[64];

    for (int i = 0; i < 8; i++) {
        uint8_t input[10 + 16 * 16] = {(uint8_t)(i % 2), (uint8_t)(2 * i + 1)};
        const size_t n = 2 * (size_t)i + 1;
        zc_extent extents[16];
        for (size_t e = 0; e < n; e++) {
            extents[e] = e % 3 == 2 ? (zc_extent){ZC_SHARD_EMPTY, ZC_SHARD_EMPTY} : (zc_extent){16 * e, 16};
        }
        zc_store_le64(input + 2, 16 * n);
        zc_shard_index_pack(extents, n, i % 2 != 0, input + 10);
        snprintf(name, sizeof name, "%d", i);
        save("shard_index", name, input, 10 + 16 * n);
    }
}

/* No form of its own: any bytes are a selection. */
static void make_selections(void)
{
    uint8_t input[96];
    char name[64];

    for (int i = 0; i < 32; i++) {
        uint64_t state = (uint64_t)i;
        input[0] = (uint8_t)i;
        for (size_t k = 1; k < sizeof input; k++) {
            input[k] = (uint8_t)(case_random(&state) % (i % 3 == 0 ? 20 : 256));
        }
        snprintf(name, sizeof name, "%02d", i);
        save("selections", name, input, sizeof input);
    }
}

int main(int argc, char **argv)
{
    FUZZ_REQUIRE(argc == 2, "usage: make_corpus DIRECTORY");
    directory = argv[1];
    ws = zc_workspace_new();
    make_codecs();
    make_chunks();
    make_blocks();
    make_indexes();
    make_selections();
    zc_workspace_free(ws);
    return 0;
}
