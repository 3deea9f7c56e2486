/* SPDX-License-Identifier: MIT
 *
 * How many threads a call is worth: the only place where that is decided, by the time that one thread would take.  That is
 * an estimate in nanoseconds, from what was measured at 2.5 GHz; a factor of two does no harm.
 */
#include "base/arith.h"
#include "engine/chunk.h"

/* Work that one thread has done by then is not shared: to wake another one takes up to half of it. */
#define SHARED_FROM_NS 128e3

/* A byte: copied (which memory bounds), decoded or encoded by most codecs, or put into a file as it is; an element that is
 * copied alone. */
#define COPIED_NS 0.1
#define ELEMENT_NS 2.0
#define DECODED_NS 1.0
#define ENCODED_NS 2.0
#define STORED_NS 0.5

/* A chunk in memory, or in a file, which is opened; an inner chunk; a file that is written. */
#define CHUNK_NS 1e3
#define FILE_NS 2e3
#define INNER_NS 500.0
#define WRITTEN_NS 8e3

/* A point, or a row far from others, that is read out of a file. */
#define POINT_NS 400.0
#define ROW_NS 3e3

/* Of a compressed chunk at least about so many bytes are decoded for a single element. */
#define DECODED_MIN 65536.0

/* As long as less than that is written, threads that encode nothing wait for each other in the system: sharing pays later. */
#define STORED_MIN 262144.0
#define STORED_SHARED_FROM_NS (3 * SHARED_FROM_NS)

/* With fewer bytes in each chunk, threads wait longer for a store that serves one at a time than they copy. */
#define COPIED_MIN 65536.0

static int given_or_usual(int threads)
{
    return threads > 0 ? threads : zc_pool_threads();
}

bool zc_has_more_threads(const zc_call *call, size_t n)
{
    return n < (size_t)given_or_usual(call->threads);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* ---- what a call moves ----------------------------------------------------------------------------- */

/* The chain of the chunks that hold the elements. */
static const zc_chain *innermost(const zc_chain *chain)
{
    while (chain->ops->list != NULL) {
        chain = chain->inner;
    }
    return chain;
}

/* Are the stored bytes copied, after no more than a look at their checksums? */
static bool is_copied(const zc_chain *chain)
{
    chain = innermost(chain);
    for (int s = 0; s < chain->n_stages; s++) {
        if (chain->stages[s].cls->strip == NULL) {
            return false;
        }
    }
    return chain->filtered == NULL && chain->block == NULL && !chain->sharded;
}

/* Nanoseconds for each byte that the stages of a chain decode or encode: those of the slowest. */
static double coded_ns(const zc_chain *chain, bool encode)
{
    double ns = encode ? ENCODED_NS : DECODED_NS;

    chain = innermost(chain);
    for (int s = 0; s < chain->n_stages; s++) {
        const zc_codec *codec = &chain->stages[s];
        ns = codec->cls->byte_ns != NULL ? most(ns, codec->cls->byte_ns(codec, encode)) : ns;
    }
    return ns;
}

/* Bytes of the elements of a selection. */
static double bytes_of(const zc_selection *selection, size_t itemsize)
{
    double bytes = (double)itemsize;

    if (selection->kind == ZC_SELECT_POINTS || selection->kind == ZC_SELECT_PICKED) {
        return bytes * (double)(selection->kind == ZC_SELECT_POINTS ? selection->n_points : selection->window->picked->count);
    }
    for (int d = 0; d < selection->ndim; d++) {
        bytes *= (double)selection->axis[d].count;
    }
    return bytes;
}

/* To copy the elements of a selection: as rows, where these lie as they are in the chunk. */
static double copy_ns(const zc_selection *selection, const zc_chain *chain)
{
    const zc_axis *last = selection->ndim > 0 ? &selection->axis[selection->ndim - 1] : NULL;
    const double bytes = bytes_of(selection, chain->item.size);
    const bool rows = selection->kind == ZC_SELECT_REGION && chain->order_ndim == 0 &&
                      (last == NULL || (last->index == NULL && last->step == 1 && last->count > 1));

    return COPIED_NS * bytes + (rows ? 0 : ELEMENT_NS * bytes / (double)chain->item.size);
}

/* Bytes of a chunk, or of an inner one where these are read and written one by one. */
static double bytes_of_chunk(const zc_array *array, bool inner)
{
    double bytes = (double)array->chain->item.size;

    for (int d = 0; d < array->ndim; d++) {
        bytes *= (double)(inner ? array->chain->inner_shape[d] : array->grid[d].chunk);
    }
    return bytes;
}

/* How far along a dimension the elements of a selection reach. */
static double reach(const zc_axis *axis)
{
    const int64_t last = axis->count - 1;

    return 1 + (double)(axis->index != NULL ? axis->index[last] - axis->index[0] : last * axis->step);
}

/* To read a selection out of files without codecs: what lies between rows in a chunk is read too, where that is not
 * much. */
static double ns_of_files(const zc_selection *selection, const zc_array *array)
{
    double rows = ROW_NS, span = COPIED_NS * (double)array->chain->item.size;

    if (selection->kind == ZC_SELECT_POINTS) {
        return POINT_NS * (double)selection->n_points;
    }
    for (int d = 0; d < selection->ndim; d++) {
        span *= d == 0 ? (double)selection->axis[d].count
                       : most(reach(&selection->axis[d]), (double)array->grid[d].chunk);
        rows *= d < selection->ndim - 1 ? (double)selection->axis[d].count : 1;
    }
    return least(span, rows);
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* To decode what a call wants of n chunks.  Where there is a single one, how much of it is worth sharing is decided where it
 * is read. */
static double read_ns(const zc_call *call, size_t n)
{
    const zc_array *array = call->array;
    const zc_chain *chain = array->chain;
    const double wanted = bytes_of(call->selection, chain->item.size), copied = copy_ns(call->selection, chain);

    if (chain->ops->is_plain) {
        return most(copied, call->store->values_in_memory || wanted == 0 ? 0
                                : ns_of_files(call->selection, array));
    }
    if (is_copied(chain)) {
        return copied + (chain->ops->list != NULL ? wanted / (double)chain->inner_size * INNER_NS : 0);
    }
    const double chunk = bytes_of_chunk(array, n > 1 && chain->ops->list != NULL);
    return coded_ns(chain, false) * most(wanted, n == 1 ? chunk : (double)n * least(chunk, DECODED_MIN));
}

bool zc_copies_alone(const zc_call *call)
{
    return copy_ns(call->selection, call->array->chain) < SHARED_FROM_NS;
}

bool zc_shares_parts(const zc_context *ctx, const zc_chain *chain, size_t n, size_t nbytes, bool encode)
{
    return ctx->split && n > 1 && (is_copied(chain) ? COPIED_NS * (double)nbytes + INNER_NS * (double)n
                                                    : coded_ns(chain, encode) * (double)nbytes) >= SHARED_FROM_NS;
}

int zc_read_threads(const zc_call *calls, size_t n_calls, size_t n, int threads)
{
    double ns = (double)n * (calls->store->values_in_memory ? CHUNK_NS : FILE_NS);

    for (size_t i = 0; i < n_calls && ns < SHARED_FROM_NS; i++) {
        ns += read_ns(&calls[i], n_calls == 1 ? n : 1);
    }
    return ns < SHARED_FROM_NS ? 1 : given_or_usual(threads);
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* Threads for a store that is waited for: many, whatever the number of CPUs, if their chunks fit into the window.  One encodes
 * a chunk while another one sends its own. */
static int waiting_threads(const zc_call *call, size_t n)
{
    const zc_array *array = call->array;
    const size_t usual = (size_t)zc_pool_threads();
    double bytes = (double)array->chain->item.size;      /* of the largest chunk, or of more */

    for (int d = 0; d < array->ndim; d++) {
        bytes *= (double)(array->grid[d].edges == NULL ? array->grid[d].chunk : array->grid[d].length);
    }
    const double fitting = (double)call->store->window / most(bytes, 1);
    const size_t waiting = n < (size_t)call->store->waits ? n : (size_t)call->store->waits;
    const size_t threads = (double)waiting < fitting ? waiting : (size_t)fitting;
    return (int)(threads > usual ? threads : usual);
}

int zc_write_threads(const zc_call *call, size_t n)
{
    const zc_chain *chain = call->array->chain;
    const double given = bytes_of(call->selection, chain->item.size), chunks = (double)n;

    if (call->threads == 0 && call->store->waits > 0 && n > 1) {
        return waiting_threads(call, n);
    }
    if (chain->ops->is_plain && call->store->fetch != NULL && given < COPIED_MIN * chunks) {
        return 1;
    }
    /* A chunk that is written in part is decoded and encoded as a whole, or copied. */
    const bool copied = is_copied(chain);
    const double chunk = bytes_of_chunk(call->array, n > 1 && chain->ops->list != NULL);
    const double bytes = most(given, n == 1 || copied ? chunks * chunk : chunks * least(chunk, DECODED_MIN));
    const double ns = (copied ? STORED_NS : coded_ns(chain, true)) * bytes + WRITTEN_NS * chunks;
    return ns < (copied && given < STORED_MIN ? STORED_SHARED_FROM_NS : SHARED_FROM_NS) ? 1 : given_or_usual(call->threads);
}
