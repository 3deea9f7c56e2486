/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <zarrcore.h>

#include "library.h"

static const char document[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [2000, 2000], \"data_type\": \"float32\", \"fill_value\": 0,"
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [500, 500]}},"
    " \"chunk_key_encoding\": {\"name\": \"default\"},"
    " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}},"
    "              {\"name\": \"gzip\", \"configuration\": {\"level\": 1}}]}";

static void check(int status, const zarrcore_error *error)
{
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "zarrcore: %s: %s\n", zarrcore_status_name(status), error->message);
        exit(1);
    }
}

static void *create_array(const char *path)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store;
    zarrcore_array *array;

    check(zarrcore_open_store(path, ZARRCORE_READ_WRITE | ZARRCORE_CREATE, &store, &error), &error);
    check(zarrcore_create_array(store, "", document, &array, &error), &error);
    check(zarrcore_set_write_buffer(array, CACHE, &error), &error);
    zarrcore_release_store(store);
    return array;
}

static void *open_array(const char *path)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_array *array;

    check(zarrcore_open(path, 0, &array, &error), &error);
    zarrcore_set_cache(array, CACHE);
    return array;
}

static void read_region(void *array, const long *start, const long *count, float *out)
{
    const int64_t from[] = {start[0], start[1]}, n[] = {count[0], count[1]};
    zarrcore_error error = ZARRCORE_ERROR_INIT;

    check(zarrcore_read_as(array, "f4", 2, from, NULL, n, out, sizeof *out * (size_t)(n[0] * n[1]), NULL, 0, &error), &error);
}

static void write_region(void *array, const long *start, const long *count, const float *values)
{
    const int64_t from[] = {start[0], start[1]}, n[] = {count[0], count[1]};
    zarrcore_error error = ZARRCORE_ERROR_INIT;

    check(zarrcore_write_as(array, "f4", 2, from, NULL, n, values, sizeof *values * (size_t)(n[0] * n[1]), NULL, 0, 0, &error),
          &error);
}

static void close_array(void *array)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;

    check(zarrcore_close(array, &error), &error);
}

const library with_zarrcore = {"zarrcore", false, create_array, open_array, read_region, write_region, close_array};
