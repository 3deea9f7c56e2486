/* SPDX-License-Identifier: MIT
 *
 * How many threads a call is worth: the only place where that is decided, by the time that one thread would take.  That is
 * an estimate in nanoseconds, from what was measured at 2.5 GHz; a factor of two does no harm.
 */
#include "engine/chunk.h"

/* Work that one thread has done by then is not shared: to wake another one takes up to half of it.  Each that is woken gets at
 * least EACH_NS of it. */
#define SHARED_FROM_NS 128e3
#define EACH_NS 32e3

/* A byte: copied (which memory bounds), looked at for a checksum, decoded or encoded by most codecs, or put into a file as it
 * is; an element that is copied alone. */
#define COPIED_NS 0.08
#define CHECKED_NS 0.05
#define ELEMENT_NS 2.0
#define DECODED_NS 1.0
#define ENCODED_NS 2.0
#define STORED_NS 0.5

/* More for each byte of chunks that outgrow the cache of a core. */
#define CACHED_MAX 524288.0
#define UNCACHED_NS 0.2

/* What a codec takes for a chunk of nothing, as if it had so many bytes. */
#define CODED_MORE 3072.0

/* A chunk in memory, or in a file, which is opened; an inner chunk; a file that is written. */
#define CHUNK_NS 100.0
#define FILE_NS 2e3
#define INNER_NS 500.0
#define WRITTEN_NS 8e3

/* Of these, what the threads of a process do one after the other in the system, and the more slowly the more wait for it: files
 * are opened and closed under one lock, and made under one of their directory. */
#define OPENED_ALONE_NS 700.0
#define MADE_ALONE_NS 6e3

/* One more is worth it where all takes longer, whatever waits for what. */
#define LONG_NS 1e6

/* What is over by then is done sooner than threads of a language that one of them runs at a time have taken turns twice. */
#define SHORT_NS 5e3

/* Of many calls, what so many want stands for what all want. */
#define LOOKED_AT 16

/* Inner chunks without codecs: moved into a shard, or out of one. */
#define MOVED_FROM_NS (5 * SHARED_FROM_NS)
#define COPIES_FROM_NS (2 * SHARED_FROM_NS)

/* So many items that take longer than was thought are begun by threads that wait for a slow file system, not for each other. */
#define SLOW_FROM 32

/* Shorter rows are copied element by element. */
#define ROW_MIN 32.0

/* A point, or a row far from others, that is read out of a file. */
#define POINT_NS 400.0
#define ROW_NS 3e3

/* Of a compressed chunk at least about so many bytes are decoded for a single element. */
#define DECODED_MIN 65536.0

/* Threads that encode nothing wait for each other in the system: sharing pays later. */
#define STORED_SHARED_FROM_NS (3 * SHARED_FROM_NS)

/* With fewer bytes in each chunk, threads wait longer for a store that serves one at a time than they copy. */
#define COPIED_MIN 65536.0

static int given_or_usual(int threads)
{
    return threads > 0 ? threads : zc_pool_threads();
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Is work in n items too little for a second thread?  Of two items one thread has done the first by the time that another has begun
 * with the second; of many there is always something left. */
static bool is_little(double ns, double n, double from)
{
    return ns < (n > 1 ? from * (1 + 1 / n) : from);
}

/* As many threads as work is worth that one would do in so many nanoseconds, in `items` pieces with `alone` nanoseconds of each
 * that are done one after the other. */
static zc_threads threads_for(double ns, double items, double alone, int threads)
{
    const int usual = given_or_usual(threads);
    const double worth = least(ns / EACH_NS, alone > 0 ? ns / (items * alone) : ZC_MAX_THREADS);
    const double limited = ns > LONG_NS ? most(worth, 2) : most(worth, 1);
    const int n = limited < usual ? (int)limited : usual;

    return (zc_threads){.n = n, .most = n < usual && items >= SLOW_FROM ? usual : n, .item_ns = ns / items, .split = items < n};
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

/* Nanoseconds for each byte that the stages of a chain decode or encode, of chunks of so many bytes: those of the slowest. */
static double coded_ns(const zc_chain *chain, bool encode, double chunk)
{
    const double usual = encode ? ENCODED_NS : DECODED_NS;
    double ns = 0;

    chain = innermost(chain);
    for (int s = 0; s < chain->n_stages; s++) {
        const zc_codec *codec = &chain->stages[s];
        ns = most(ns, codec->cls->strip != NULL ? 0 : codec->cls->byte_ns != NULL ? codec->cls->byte_ns(codec, encode) : usual);
    }
    ns = chain->filtered != NULL || chain->block != NULL || ns == 0 ? most(ns, usual) : ns;
    return chunk > CACHED_MAX ? ns + UNCACHED_NS : ns;
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

/* Bytes that are decoded of *chunks chunks; of shards *chunks is set to how many of their inner chunks. */
static double decoded_bytes(const zc_call *call, double *chunks)
{
    const zc_array *array = call->array;
    const zc_chain *chain = array->chain;
    const zc_selection *selection = call->selection;
    const bool sharded = chain->ops->list != NULL;
    const double chunk = bytes_of_chunk(array, sharded);
    double touched = 1, share = 1;

    if (selection->kind != ZC_SELECT_REGION) {
        return *chunks * (innermost(chain)->blocks != NULL ? least(chunk, DECODED_MIN) : chunk);
    }
    for (int d = 0; d < selection->ndim; d++) {
        const double length = (double)(sharded ? chain->inner_shape[d] : array->grid[d].chunk);
        const double along = least((double)selection->axis[d].count, most(reach(&selection->axis[d]) / length, 1));
        share = d == 0 ? least(reach(&selection->axis[d]) / (along * length), 1) : share;
        touched *= along;
    }
    *chunks = sharded ? touched : *chunks;
    return *chunks * (innermost(chain)->blocks != NULL ? most(least(chunk, DECODED_MIN), share * chunk) : chunk);
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* To look at the checksums of n chunks, which are read whole for that, however little is wanted of them. */
static double checked_ns(const zc_call *call, size_t n)
{
    const zc_array *array = call->array;
    double chunks = (double)n;

    if (innermost(array->chain)->n_stages == 0) {
        return 0;
    }
    const double bytes = n == 1 ? bytes_of_chunk(array, false) : decoded_bytes(call, &chunks);
    return (CHECKED_NS + (call->store->values_in_memory ? 0 : COPIED_NS)) * bytes;
}

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
        return copied + checked_ns(call, n) +
               (chain->ops->list != NULL ? wanted / (double)chain->inner_size * INNER_NS : 0);
    }
    if (wanted == 0) {
        return 0;
    }
    double chunks = (double)n;
    const double bytes = n == 1 ? bytes_of_chunk(array, false) : decoded_bytes(call, &chunks);
    return coded_ns(chain, false, bytes / chunks) * (CODED_MORE * chunks + most(wanted, bytes));
}

bool zc_copies_alone(const zc_call *call)
{
    return copy_ns(call->selection, call->array->chain) < SHARED_FROM_NS;
}

/* To move each byte of the inner chunks of a call, one by one where their rows are short. */
static double moved_ns(const zc_call *call)
{
    const zc_array *array = call->array;
    const zc_chain *chain = array->chain;
    const double item = (double)chain->item.size;
    const int last = array->ndim - 1;
    const bool rows = chain->order_ndim == 0 && innermost(chain)->order_ndim == 0 &&
                      (last < 0 || (double)chain->inner_shape[last] * item >= ROW_MIN);

    return COPIED_NS + (rows ? 0 : ELEMENT_NS / item);
}

int zc_part_threads(const zc_context *ctx, const zc_chain *chain, size_t n, size_t nbytes, bool encode)
{
    const bool copied = is_copied(chain);
    const double parts = (double)n, bytes = (double)nbytes;

    if (n < 2 || !(ctx->split || zc_pool_may_lend())) {
        return 1;
    }
    const double moved = ctx->call->array->chain->sharded ? moved_ns(ctx->call) : COPIED_NS;
    const double ns = copied ? moved * bytes + (encode ? 0 : INNER_NS * parts)
                             : coded_ns(chain, encode, bytes / parts) * (bytes + CODED_MORE * parts);
    const double from = !copied ? SHARED_FROM_NS : encode ? MOVED_FROM_NS : COPIES_FROM_NS;
    return is_little(ns, parts, from) ? 1 : threads_for(ns, parts, 0, ctx->call->threads).n;
}

zc_threads zc_read_threads(const zc_call *calls, size_t n_calls, size_t n, int threads)
{
    const double opened = (double)n * (calls->store->values_in_memory ? CHUNK_NS : FILE_NS);
    double read = 0;
    size_t i = 0;

    for (; i < n_calls && (i < LOOKED_AT || opened + read < SHARED_FROM_NS); i++) {
        read += read_ns(&calls[i], n_calls == 1 ? n : 1);
    }
    const double ns = opened + read * (double)n_calls / (double)i;
    if (is_little(ns, (double)n, SHARED_FROM_NS)) {
        return (zc_threads){.n = 1, .most = 1};
    }
    if (n == 1 && calls->store->is_local && threads == 0) {      /* it may be in a cache: the system is not asked before it is known */
        return (zc_threads){.n = 1, .most = 1, .split = true};
    }
    return threads_for(ns, (double)n, calls->store->is_local ? OPENED_ALONE_NS : 0, threads);
}

bool zc_read_is_short(const zc_call *call)
{
    const zc_array *array = call->array;
    const zc_selection *selection = call->selection;
    double chunks = 1;

    if (!call->store->values_in_memory || array->cache != NULL || array->chain->ops->list != NULL ||
        selection->kind != ZC_SELECT_REGION) {
        return false;
    }
    for (int d = 0; d < selection->ndim; d++) {
        chunks *= least((double)selection->axis[d].count, reach(&selection->axis[d]) / (double)array->grid[d].chunk + 1);
    }
    return chunks * CHUNK_NS < SHORT_NS && chunks * CHUNK_NS + read_ns(call, (size_t)chunks) < SHORT_NS;
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

/* In how many directories the chunks of a call are: all of a row are in one. */
static double directories(const zc_call *call, double chunks)
{
    const zc_array *array = call->array;
    const zc_selection *selection = call->selection;

    if (array->keys.separator != '/' || selection->ndim < 2 || selection->kind == ZC_SELECT_POINTS) {
        return 1;
    }
    const int last = selection->ndim - 1;
    return most(chunks / (1 + reach(&selection->axis[last]) / (double)array->grid[last].chunk), 1);
}

zc_threads zc_write_threads(const zc_call *call, size_t n)
{
    const zc_chain *chain = call->array->chain;
    const double given = bytes_of(call->selection, chain->item.size), chunks = (double)n;

    if (call->threads == 0 && call->store->waits > 0 && n > 1) {
        const int waiting = waiting_threads(call, n);
        return (zc_threads){.n = waiting, .most = waiting};
    }
    if (chain->ops->is_plain && call->store->fetch != NULL && given < COPIED_MIN * chunks) {
        return (zc_threads){.n = 1, .most = 1};
    }
    /* A chunk that is written in part is decoded and encoded as a whole, or copied. */
    const bool copied = is_copied(chain);
    const double chunk = bytes_of_chunk(call->array, n > 1 && chain->ops->list != NULL), bytes = most(given, chunks * chunk);
    const double made = copied ? STORED_NS * bytes : coded_ns(chain, true, chunk) * (bytes + CODED_MORE * chunks);
    const double ns = made + WRITTEN_NS * chunks;
    const double alone = most(MADE_ALONE_NS / directories(call, chunks), 2 * OPENED_ALONE_NS);
    return is_little(ns, chunks, copied ? STORED_SHARED_FROM_NS : SHARED_FROM_NS)
               ? (zc_threads){.n = 1, .most = 1}
               : threads_for(ns, chunks, call->store->is_local ? alone : 0, call->threads);
}
