/* SPDX-License-Identifier: MIT */
#include "capi/handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(ZARRCORE_MAX_DIMS == ZC_MAX_DIMS, "one limit");
_Static_assert((int)ZARRCORE_ERR_ARGUMENT == (int)ZC_ERR_ARGUMENT, "one numbering");
_Static_assert((int)ZARRCORE_ERR_IO == (int)ZC_ERR_IO, "one numbering");
_Static_assert((int)ZARRCORE_ERR_MISSING == (int)ZC_ERR_MISSING, "one numbering");
_Static_assert((int)ZARRCORE_ERR_ENCODE == (int)ZC_ERR_ENCODE, "one numbering");
_Static_assert((int)ZARRCORE_ERR_LOCKED == (int)ZC_ERR_LOCKED, "one numbering");
_Static_assert((int)ZARRCORE_ERR_VALUE == (int)ZC_ERR_VALUE, "one numbering");
_Static_assert((int)ZARRCORE_ERR_STALE == (int)ZC_ERR_STALE, "one numbering");
_Static_assert(sizeof(((zarrcore_error *)0)->message) == sizeof(((zc_error *)0)->message), "nothing is cut");
_Static_assert(sizeof(((zarrcore_error *)0)->codec) == sizeof(((zc_error *)0)->codec), "nothing is cut");

/* Bytes that no structure will ever have: such a size was not set by the caller. */
#define STRUCT_MOST 4096

/* Bytes of the error record of ABI version 1: a smaller one is left alone. */
#define ERROR_SIZE_1 ((size_t)(offsetof(zarrcore_error, message) + sizeof(((zarrcore_error *)0)->message)))

char *zc_new_key(const zarrcore_array *array, const int64_t *chunk)
{
    char *const key = malloc(zc_chunk_key_size(array->array));

    if (key != NULL) {
        zc_chunk_key(array->array, chunk, key);
    }
    return key;
}

static void put_key(const zarrcore_array *array, const int64_t *chunk, char *out, size_t capacity)
{
    char *const key = zc_new_key(array, chunk);

    snprintf(out, capacity, "%s", key != NULL ? key : "");
    zc_mend_utf8(out);
    free(key);
}

/* Bytes of a caller's record that may be filled, 0 where there is none. */
static size_t room_of(const zarrcore_error *out)
{
    if (out == NULL || (out->struct_size != 0 && out->struct_size < ERROR_SIZE_1)) {
        return 0;
    }
    const size_t given = out->struct_size != 0 ? out->struct_size : ERROR_SIZE_1;      /* 0: zero bytes */
    return given < sizeof *out ? given : sizeof *out;
}

int zc_report_record(zarrcore_error *out, const zarrcore_error *record)
{
    const size_t room = room_of(out);

    if (room > 0) {
        const uint32_t given = out->struct_size;
        memcpy(out, record, room);
        out->struct_size = given != 0 ? given : (uint32_t)room;
    }
    return record->status;
}

/* Most calls succeed, and short ones should not be long for that: what the last one has cleared is so still. */
static int report_success(zarrcore_error *out)
{
    const size_t room = room_of(out);

    if (room > 0 && (out->status != ZARRCORE_OK || out->chunk_ndim != -1)) {
        const uint32_t given = out->struct_size;
        memset(out, 0, room);
        out->struct_size = given != 0 ? given : (uint32_t)room;
        out->chunk_ndim = -1;
    }
    return ZARRCORE_OK;
}

int zc_report(zarrcore_error *out, const zc_error *err, const zarrcore_array *array, const int64_t *chunk)
{
    if (out == NULL || err->status == ZC_OK) {
        return err->status == ZC_OK ? report_success(out) : err->status;
    }
    zarrcore_error full = {.status = err->status, .chunk_ndim = -1, .sys_errno = err->sys_errno};
    memcpy(full.codec, err->codec, sizeof full.codec);
    memcpy(full.message, err->message, sizeof full.message);
    full.in_shard = err->in_shard;
    full.reserved = (int32_t)(err->cause & INT32_MAX);
    full.inner_chunk = err->inner_chunk;
    full.offset = err->offset;
    full.nbytes = err->nbytes;
    if (array != NULL && chunk != NULL) {
        full.chunk_ndim = array->array->ndim;
        for (int d = 0; d < full.chunk_ndim; d++) {
            full.chunk[d] = chunk[d];
        }
        put_key(array, chunk, full.key, sizeof full.key);
    }
    return zc_report_record(out, &full);
}

int zc_report_status(zarrcore_error *out, zc_error *err, zc_status status)
{
    err->status = status;
    return zc_report(out, err, NULL, NULL);
}

bool zc_take_struct(void *out, size_t size, const void *given, size_t least)
{
    uint32_t n;

    memcpy(&n, given, sizeof n);
    if (n < least || n > STRUCT_MOST || n % _Alignof(void *) != 0) {     /* no structure of pointers has another size */
        return false;
    }
    memset(out, 0, size);
    memcpy(out, given, n < size ? n : size);
    for (size_t i = size; i < n; i++) {
        if (((const char *)given)[i] != 0) {
            return false;
        }
    }
    return true;
}

int zc_report_argument(zarrcore_error *out, const char *message)
{
    zc_error err = {0};

    zc_fail(&err, ZC_ERR_ARGUMENT, "%s", message);
    return zc_report(out, &err, NULL, NULL);
}

int64_t zc_grid_chunks(const zc_grid_axis *axis)
{
    if (axis->edges != NULL) {
        return axis->n_edges;
    }
    return axis->length / axis->chunk + (axis->length % axis->chunk != 0);
}

bool zc_has_chunk(const zc_array *array, const int64_t *chunk)
{
    for (int d = 0; d < array->ndim; d++) {
        if (chunk[d] < 0 || chunk[d] >= zc_grid_chunks(&array->grid[d])) {
            return false;
        }
    }
    return true;
}
