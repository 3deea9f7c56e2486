/* SPDX-License-Identifier: MIT
 *
 * Write the valid inputs that fuzzing starts from: make_corpus DIRECTORY makes DIRECTORY/codecs, ...
 */
#include <errno.h>
#include <sys/stat.h>

#include "fuzz/codec_table.h"
#include "fuzz/fuzz.h"

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

int main(int argc, char **argv)
{
    FUZZ_REQUIRE(argc == 2, "usage: make_corpus DIRECTORY");
    directory = argv[1];
    ws = zc_workspace_new();
    make_codecs();
    zc_workspace_free(ws);
    return 0;
}
