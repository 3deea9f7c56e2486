/* SPDX-License-Identifier: MIT */
#include "engine/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"

#define DIGITS_MOST 18

/* ---- keys ------------------------------------------------------------------------------------ */

/* A number as zc_chunk_key writes it; where it ends, or NULL. */
static const char *read_number(const char *at, const char *end, int64_t *out)
{
    const char *const begin = at;
    int64_t number = 0;

    while (at < end && *at >= '0' && *at <= '9' && at - begin < DIGITS_MOST) {
        number = number * 10 + (*at++ - '0');
    }
    *out = number;
    return at == begin || (*begin == '0' && at - begin > 1) ? NULL : at;
}

bool zc_chunk_of_key(const zc_array *array, const char *name, size_t n, int64_t *chunk)
{
    const bool v2 = array->keys.v2;
    const int ndim = array->ndim;
    const char *at = name, *const end = name + n;

    if (!v2 || ndim == 0) {
        if (at == end || *at++ != (v2 ? '0' : 'c')) {
            return false;
        }
    }
    for (int d = 0; d < ndim; d++) {
        if ((d > 0 || !v2) && (at == end || *at++ != array->keys.separator)) {
            return false;
        }
        at = read_number(at, end, &chunk[array->keys.reversed ? ndim - 1 - d : d]);
        if (at == NULL) {
            return false;
        }
    }
    return at == end;
}

/* ---- listing --------------------------------------------------------------------------------- */

typedef struct listing {
    const zc_array *array;
    zc_stored *out;
    size_t most;
    zc_on_pause pause;
    void *pause_arg;
} listing;

static int add_other(zc_stored *out, const char *path, size_t n)
{
    char *const others = zc_grow(out->others, out->others_n + n + 1, &out->others_room, 1);

    if (others == NULL) {
        return ENOMEM;
    }
    out->others = others;
    memcpy(out->others + out->others_n, path, n + 1);
    out->others_n += n + 1;
    return 0;
}

static int on_entry(void *arg, const char *path, size_t n, int64_t size)
{
    const listing *const l = arg;
    zc_stored *const out = l->out;
    const size_t ndim = (size_t)l->array->ndim;
    int64_t chunk[ZC_MAX_DIMS];

    if (l->most == 0 || out->n >= l->most || out->others_n / 2 >= l->most) {
        return EFBIG;
    }
    if (!zc_chunk_of_key(l->array, path, n, chunk)) {
        return add_other(out, path, n);
    }
    size_t room = out->room;
    int64_t *const sizes = zc_grow(out->sizes, out->n + 1, &room, sizeof *sizes);
    out->sizes = sizes != NULL ? sizes : out->sizes;
    int64_t *const chunks =
        sizes != NULL ? zc_grow(out->chunks, out->n + 1, &out->room, sizeof *chunks * (ndim > 0 ? ndim : 1)) : NULL;
    if (chunks == NULL) {
        return ENOMEM;
    }
    out->chunks = chunks;
    memcpy(out->chunks + out->n * ndim, chunk, ndim * sizeof *chunk);
    out->sizes[out->n++] = size;
    return 0;
}

static int on_pause(void *arg)
{
    const listing *const l = arg;

    return l->pause(l->pause_arg);
}

int zc_list_stored(const zc_array *array, const zc_local *local, bool sizes, size_t most, zc_on_pause pause, void *pause_arg,
                   zc_stored *out)
{
    const zc_dir rules = zc_dir_none(local->root_len, local->links);
    listing l = {.array = array, .out = out, .most = most, .pause = pause, .pause_arg = pause_arg};
    const zc_walk walk = {.on_entry = on_entry, .on_pause = pause != NULL ? on_pause : NULL, .arg = &l, .sizes = sizes};
    const size_t n = array->prefix_len > 0 ? array->prefix_len - 1 : 0;      /* without the slash at its end */
    char *const path = malloc(local->root_len + n + 2);

    *out = (zc_stored){0};
    if (path == NULL) {
        return ENOMEM;
    }
    memcpy(path, local->root, local->root_len);
    path[local->root_len] = n > 0 ? '/' : '\0';
    memcpy(path + local->root_len + 1, array->prefix, n);
    path[local->root_len + 1 + n] = '\0';
#ifdef _WIN32
    (void)rules, (void)walk;
    const int code = ELOOP;
#else
    const int code = zc_walk_below(&rules, path, &walk);
#endif
    free(path);
    return code;
}

void zc_stored_free(zc_stored *stored)
{
    free(stored->chunks);
    free(stored->sizes);
    free(stored->others);
    *stored = (zc_stored){0};
}
