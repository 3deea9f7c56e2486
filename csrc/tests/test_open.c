/* SPDX-License-Identifier: MIT
 *
 * zarrcore_open while its first, second, third, ... allocation fails, that one alone or all from there on: it reports
 * that memory has run out, hands out nothing, loses nothing, and the next call works.
 */
#include "include/zarrcore.h"
#include "tests/check.h"
#include "tests/failing_malloc.h"
#include "tests/files.h"

#ifdef CAN_FAIL

typedef struct document {
    const char *name, *text;
} document;

static const document DOCUMENTS[] = {
    {"zarr.json",
     "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [24, 32], \"data_type\": \"float32\","
     " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [12, 16]}},"
     " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": \"NaN\", \"codecs\": ["
     "  {\"name\": \"transpose\", \"configuration\": {\"order\": [1, 0]}},"
     "  {\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [4, 3], \"codecs\": ["
     "   {\"name\": \"cast_value\", \"configuration\": {\"data_type\": \"int16\","
     "     \"scalar_map\": {\"encode\": [[\"NaN\", -1]], \"decode\": [[-1, \"NaN\"]]}}},"
     "   {\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}},"
     "   {\"name\": \"conditional\", \"configuration\": {\"codecs\": [{\"name\": \"zstd\"}, \"crc32c\"]}}],"
     "   \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, \"crc32c\"]}}]}"},
    {"zarr.json",
     "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [10, 6], \"chunk_key_encoding\": \"default\","
     " \"data_type\": {\"name\": \"struct\", \"configuration\": {\"fields\": [[\"a\", \"int16\"],"
     "   [\"b\", {\"name\": \"struct\", \"configuration\": {\"fields\": [[\"c\", \"float64\"], [\"d\", \"uint8\"]]}}]]}},"
     " \"chunk_grid\": {\"name\": \"rectilinear\", \"configuration\": {\"kind\": \"inline\","
     "   \"chunk_shapes\": [[[3, 2], 4], 5]}}, \"fill_value\": {\"a\": 1, \"b\": {\"c\": \"NaN\"}}, \"codecs\": ["
     "  {\"name\": \"reshape\", \"configuration\": {\"shape\": [[0, 1]]}},"
     "  {\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}]}"},
    {".zarray",
     "{\"zarr_format\": 2, \"shape\": [10, 4], \"chunks\": [4, 4], \"dtype\": \">f8\", \"order\": \"F\", \"fill_value\": 0,"
     " \"filters\": [{\"id\": \"fixedscaleoffset\", \"offset\": 1, \"scale\": 10, \"dtype\": \">f8\", \"astype\": \"<i2\"},"
     "  {\"id\": \"delta\", \"dtype\": \"<i2\"}], \"compressor\": {\"id\": \"blosc\", \"cname\": \"lz4\"}}"},
    {".zarray",
     "{\"zarr_format\": 2, \"shape\": [10], \"chunks\": [4], \"order\": \"C\", \"filters\": null, \"compressor\": null,"
     " \"dtype\": [[\"a\", \">i2\"], [\"b\", [[\"c\", \"<f8\"], [\"d\", \"|S3\"]], [2, 3]]], \"fill_value\": 0}"},
};

static char root[200];

static void put_document(const document *d, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", root, d->name);
    FILE *const file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(d->text, 1, strlen(d->text), file) == strlen(d->text));
    fclose(file);
}

/* One attempt; returns whether an allocation failed. */
static bool attempt(long n, bool after)
{
    zarrcore_array *array = NULL;
    zarrcore_error error = {.struct_size = sizeof error};

    fail_from(n, after);
    const int status = zarrcore_open(root, 0, &array, &error);
    const bool failed = has_failed();
    const bool sound = status == ZARRCORE_OK ? array != NULL : failed && status == ZARRCORE_ERR_MEMORY && array == NULL;
    CHECK(sound);
    if (!sound) {
        fprintf(stderr, "  allocation %ld%s: status %d: %s\n", n, after ? " and later ones" : "", status, error.message);
    }
    if (array != NULL) {
        zarrcore_release(array);
    }
    return failed;
}

static void opening(void)
{
    for (size_t i = 0; i < sizeof DOCUMENTS / sizeof *DOCUMENTS; i++) {
        char path[300];
        put_document(&DOCUMENTS[i], path, sizeof path);
        for (int after = 0; after < 2; after++) {
            long n = 0;
            while (n < 1000 && attempt(n, after != 0)) {
                n++;
            }
            CHECK(n > 10 && n < 1000);
            CHECK(!attempt(-1, false));
        }
        CHECK(unlink(path) == 0);
    }
}

int main(void)
{
    if (!make_temporary(root, sizeof root)) {
        perror("no directory for the tests");
        return 1;
    }
    RUN(opening);
    const bool removed = remove_tree(root, sizeof root);
    return check_report("open") || !removed;
}

#else

int main(void)
{
    return check_report("open");         /* no linker that replaces malloc */
}

#endif
