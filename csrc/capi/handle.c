/* SPDX-License-Identifier: MIT */
#include "capi/handle.h"

#include <stdlib.h>
#include <string.h>

zarrcore_array *zc_handle_new(const zc_array *array, const zc_backend *backend, void *owner, bool writable,
                              const char *typestr, const char *path)
{
    const size_t path_size = strlen(path) + 1;
    zarrcore_array *const out = strlen(typestr) < ZC_TYPESTR_SIZE ? malloc(sizeof *out + path_size) : NULL;

    if (out == NULL) {
        return NULL;
    }
    atomic_init(&out->references, 1);
    out->array = array;
    out->backend = backend;
    out->owner = owner;
    out->writable = writable;
    memcpy(out->typestr, typestr, strlen(typestr) + 1);
    memcpy(out->path, path, path_size);
    return out;
}

/* Counting is not what users call a change: their pointers to handles are const. */
static zarrcore_array *counted(const zarrcore_array *array)
{
    return (zarrcore_array *)array;
}

void zarrcore_retain(const zarrcore_array *array)
{
    if (array != NULL) {
        atomic_fetch_add_explicit(&counted(array)->references, 1, memory_order_relaxed);
    }
}

void zarrcore_release(const zarrcore_array *array)
{
    if (array == NULL ||
        atomic_fetch_sub_explicit(&counted(array)->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    array->backend->destroy(array->owner);
    free(counted(array));
}
