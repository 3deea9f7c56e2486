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
    out->names = NULL;
    memcpy(out->typestr, typestr, strlen(typestr) + 1);
    memcpy(out->path, path, path_size);
    if (!zc_keep_begin(out)) {
        free(out);
        return NULL;
    }
    zc_buffer_begin(&out->buffer, out->kept.number);
    return out;
}

/* Counting is not what users call a change: their pointers to handles are const. */
void zarrcore_retain(const zarrcore_array *array)
{
    if (array != NULL) {
        atomic_fetch_add_explicit(&((zarrcore_array *)array)->references, 1, memory_order_relaxed);
    }
}

void zarrcore_release(const zarrcore_array *array)
{
    if (array == NULL ||
        atomic_fetch_sub_explicit(&((zarrcore_array *)array)->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    zc_flush_last((zarrcore_array *)array);
    zc_buffer_end(&((zarrcore_array *)array)->buffer);
    zc_keep_end((zarrcore_array *)array);
    array->backend->destroy(array->owner);
    free((zarrcore_array *)array);
}

int zarrcore_close(const zarrcore_array *array, zarrcore_error *error)
{
    zarrcore_array *const handle = (zarrcore_array *)array;
    const int status = zarrcore_flush(array, error);

    if (status != ZARRCORE_OK && array != NULL && atomic_load(&handle->references) == 1) {
        zc_buffer_end(&handle->buffer);              /* the caller knows what is lost */
        zc_buffer_begin(&handle->buffer, handle->kept.number);
    }
    zarrcore_release(array);
    return status;
}

void zc_api_fill(zarrcore_api *out, zarrcore_array *(*from_python)(void *), int (*raise)(const zarrcore_error *),
                 int (*open)(const char *, int, zarrcore_array **, zarrcore_error *))
{
    const zarrcore_api api = {
        .abi_version = ZARRCORE_ABI_VERSION,
        .struct_size = sizeof api,
        .n_slots = ZARRCORE_N_SLOTS,
        .version = zarrcore_version,
        .status_name = zarrcore_status_name,
        .get_num_threads = zarrcore_get_num_threads,
        .set_num_threads = zarrcore_set_num_threads,
        .from_python = from_python,
        .retain = zarrcore_retain,
        .release = zarrcore_release,
        .ndim = zarrcore_ndim,
        .shape = zarrcore_shape,
        .chunk_shape = zarrcore_chunk_shape,
        .inner_chunk_shape = zarrcore_inner_chunk_shape,
        .is_sharded = zarrcore_is_sharded,
        .grid_shape = zarrcore_grid_shape,
        .chunk_box = zarrcore_chunk_box,
        .itemsize = zarrcore_itemsize,
        .typestr = zarrcore_typestr,
        .kind = zarrcore_kind,
        .byte_order = zarrcore_byte_order,
        .fill_value = zarrcore_fill_value,
        .path = zarrcore_path,
        .is_writable = zarrcore_is_writable,
        .read = zarrcore_read,
        .write = zarrcore_write,
        .chunk_key = zarrcore_chunk_key,
        .chunk_sizes = zarrcore_chunk_sizes,
        .load_chunk = zarrcore_load_chunk,
        .decode_chunk = zarrcore_decode_chunk,
        .encode_chunk = zarrcore_encode_chunk,
        .decode_inner_chunk = zarrcore_decode_inner_chunk,
        .shard_index = zarrcore_shard_index,
        .find_inner_chunk = zarrcore_find_inner_chunk,
        .shutdown = zarrcore_shutdown,
        .raise = raise,
        .read_as = zarrcore_read_as,
        .write_as = zarrcore_write_as,
        .set_cache = zarrcore_set_cache,
        .set_write_buffer = zarrcore_set_write_buffer,
        .flush = zarrcore_flush,
        .close = zarrcore_close,
        .read_points = zarrcore_read_points,
        .read_many = zarrcore_read_many,
        .open = open,
        .dimension_name = zarrcore_dimension_name,
        .chunk_lengths = zarrcore_chunk_lengths,
        .decompose = zarrcore_decompose,
    };

    _Static_assert(sizeof(zarrcore_api) == 16 + ZARRCORE_N_SLOTS * sizeof(void (*)(void)), "count the slots");
    *out = api;
}
