/* SPDX-License-Identifier: MIT
 *
 * Regions of several arrays in one call, so that all their chunks are shared among the threads.
 */
#include <stdlib.h>

#include "base/arith.h"
#include "capi/regions.h"

/* One call.  Regions that need more than the engine does, conversion or what is pending, are read one by one. */
typedef struct many {
    const zarrcore_region *regions;
    size_t n, n_calls, n_sessions;
    zc_call *calls;
    zc_selection *selections;
    size_t *region_of;               /* a call */
    zc_session *sessions;
    const zarrcore_array **arrays;   /* of the sessions */
    bool *alone;
} many;

static void free_many(many *m)
{
    free(m->calls);
    free(m->selections);
    free(m->region_of);
    free(m->sessions);
    free(m->arrays);
    free(m->alone);
}

static bool allocate(many *m)
{
    m->calls = zc_alloc_array(m->n, sizeof *m->calls);
    m->selections = zc_alloc_array(m->n, sizeof *m->selections);
    m->region_of = zc_alloc_array(m->n, sizeof *m->region_of);
    m->sessions = zc_alloc_array(m->n, sizeof *m->sessions);
    m->arrays = zc_alloc_array(m->n, sizeof *m->arrays);
    m->alone = calloc(m->n, sizeof *m->alone);
    return m->calls != NULL && m->selections != NULL && m->region_of != NULL && m->sessions != NULL && m->arrays != NULL &&
           m->alone != NULL;
}

/* Calls on one array share its store. */
static zc_status find_session(many *m, const zarrcore_array *array, zc_session **out, zc_error *err)
{
    size_t i = 0;

    while (i < m->n_sessions && m->arrays[i] != array) {
        i++;
    }
    *out = &m->sessions[i];
    if (i < m->n_sessions) {
        return ZC_OK;
    }
    m->arrays[m->n_sessions++] = array;
    return zc_session_begin(array, false, *out, err);
}

static zc_status add_region(many *m, size_t i, zc_error *err)
{
    const zarrcore_region *const r = &m->regions[i];
    zc_selection *const selection = &m->selections[m->n_calls];
    const int ndim = r->ndim >= 0 && r->ndim <= ZC_MAX_DIMS ? (int)r->ndim : -1;
    zc_session *session;
    zc_types types;
    bool empty;
    zc_status status = zc_region_types(r->array, r->type, ndim, false, &types, err);

    if (status != ZC_OK) {
        return status;
    }
    zarrcore_array *const handle = (zarrcore_array *)r->array;
    zc_buffer_follow_fork(&handle->buffer);
    m->alone[i] = types.differ || atomic_load(&handle->buffer.n) > 0;
    const zc_region region = {r->start, r->step, r->count, r->strides, r->memory, 0, r->nbytes, types.differ ? &types.memory : NULL, NULL};
    status = zc_region_select(handle->array, &region, selection, &empty, err);
    if (status == ZC_OK && !m->alone[i] && !empty && (status = find_session(m, handle, &session, err)) == ZC_OK) {
        m->calls[m->n_calls] = (zc_call){.array = handle->array, .store = &session->store, .selection = selection};
        m->region_of[m->n_calls++] = i;
    }
    return status;
}

/* True: it has to be done again, as one of the arrays may have been replaced. */
static bool read_once(many *m, int threads, size_t *failed, zc_fault *fault, int *attempts, zc_error *err)
{
    zc_status status = ZC_OK;
    bool again = false;

    zc_error_clear(err);
    *fault = (zc_fault){.in_chunk = false, .call = SIZE_MAX};
    m->n_calls = m->n_sessions = 0;
    for (size_t i = 0; i < m->n && status == ZC_OK; i++) {
        status = add_region(m, i, err);
        *failed = status != ZC_OK ? i : SIZE_MAX;
    }
    if (status == ZC_OK && m->n_calls > 0) {
        status = zc_read_many(m->calls, m->n_calls, threads, m->sessions[0].poll, m->sessions[0].poll_arg, fault, err);
        *failed = fault->call < m->n_calls ? m->region_of[fault->call] : SIZE_MAX;
    }
    const zarrcore_array *const array = *failed < m->n ? m->regions[*failed].array : NULL;
    for (size_t i = m->n_sessions; i-- > 0;) {           /* the first one may have let go of something for all */
        zc_error unused = {0};
        const bool own = status != ZC_OK && (array == NULL || m->arrays[i] == array);
        zc_session_end(m->arrays[i], &m->sessions[i], own ? status : ZC_OK, own ? err : &unused);
    }
    for (size_t i = 0; i < m->n_sessions && array != NULL && !again; i++) {
        again = m->arrays[i] == array && zc_session_again(array, &m->sessions[i], attempts, &status, err);
    }
    err->status = status == ZC_OK ? ZC_OK : err->status;
    return again;
}

/* Those that the engine reads at once. */
static int read_together(many *m, int threads, size_t *failed, zarrcore_error *error)
{
    zc_fault fault;
    zc_error err;
    int attempts = 0;

    while (read_once(m, threads, failed, &fault, &attempts, &err)) {
    }
    const zarrcore_array *const array = *failed < m->n ? m->regions[*failed].array : NULL;
    return zc_report(error, &err, array, fault.in_chunk && array != NULL ? fault.chunk : NULL);
}

int zarrcore_read_many(const zarrcore_region *regions, size_t n, int threads, size_t *failed, zarrcore_error *error)
{
    many m = {.regions = regions, .n = n};
    size_t at = SIZE_MAX;
    int status = ZARRCORE_OK;
    zc_error err = {0};

    if (regions == NULL || threads < 0) {
        return zc_report_argument(error, threads < 0 ? "threads is negative" : "regions is NULL");
    }
    if (n == 0) {
        return zc_report(error, &err, NULL, NULL);
    }
    if (!allocate(&m)) {
        zc_fail(&err, ZC_ERR_MEMORY, "out of memory");
        status = zc_report(error, &err, NULL, NULL);
    } else {
        status = read_together(&m, threads, &at, error);
    }
    for (size_t i = 0; i < n && status == ZARRCORE_OK; i++) {
        const zarrcore_region *const r = &regions[i];
        if (m.alone[i]) {
            status = zarrcore_read_as(r->array, r->type, (int)r->ndim, r->start, r->step, r->count, r->memory, r->nbytes, r->strides,
                                      threads, error);
            at = status != ZARRCORE_OK ? i : SIZE_MAX;
        }
    }
    free_many(&m);
    if (failed != NULL) {
        *failed = at;
    }
    return status;
}
