/* SPDX-License-Identifier: MIT
 *
 * blosc has threads of its own, which put blocks down in the order in which they happen to be ready.  Here runs of blocks
 * are encoded as buffers of their own, and their blocks then put together in their order.
 */
#include "codecs/blosc_shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "codecs/abi.h"
#include "codecs/blosc_encode.h"
#include "codecs/classes.h"
#include "kernels/long_copy.h"

enum { PIECE_NBYTES = 1 << 20 };

/* How many pieces of whole blocks, two at least in each, there can be. */
static size_t most_pieces(size_t nbytes, size_t nblocks)
{
    return nbytes / PIECE_NBYTES < nblocks / 2 ? nbytes / PIECE_NBYTES : nblocks / 2;
}

/* How many at a time are worth while; 1 or 0: none. */
static size_t count_pieces(size_t nbytes, size_t nblocks, int threads)
{
    const size_t pieces = 4 * (size_t)(threads > 0 ? threads : zc_pool_threads()), most = most_pieces(nbytes, nblocks);

    return threads == 1 ? 1 : pieces < most ? pieces : most;
}

static zc_status run(const zc_sharing *sharing, zc_task task, void *job, size_t pieces, zc_error *err)
{
    const zc_run all = {.task = task, .job = job, .n_items = pieces, .threads = sharing->threads,
                        .poll = sharing->poll, .poll_arg = sharing->poll_arg};

    return zc_pool_run(&all, NULL, err);
}

/* ---- decode --------------------------------------------------------------------------------- */

typedef struct decoding {
    const zc_codec *codec;
    zc_encoded encoded;
    size_t nbytes, blocksize, nblocks, pieces;
    uint8_t *dst;
} decoding;

static zc_status decode_piece(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const decoding *d = job;
    const size_t from = d->nblocks * item / d->pieces * d->blocksize;
    const size_t end = d->nblocks * (item + 1) / d->pieces * d->blocksize;
    const size_t to = end < d->nbytes ? end : d->nbytes;
    zc_blocks blocks;
    zc_status status = zc_blocks_open(d->codec, &d->encoded, d->nbytes, ws, &blocks, err);

    if (status == ZC_OK) {
        status = zc_blocks_decode(&blocks, from, to - from, d->dst + from, err);
        zc_blocks_close(&blocks);
    }
    return status;
}

/* A job of one item, for which there is a workspace on the calling thread. */
typedef struct whole {
    zc_coding coding;        /* without a workspace */
    size_t *written;
} whole;

static zc_status run_whole(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const whole *w = job;
    const zc_codec_class *const cls = w->coding.codec->cls;
    zc_coding c = w->coding;

    (void)item;
    c.ws = ws;
    c.err = err;
    return (c.decode ? cls->decode : cls->encode)(&c, w->written);
}

zc_status zc_blosc_decode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    zc_blosc_header h;
    const bool sound = zc_blosc_read_header(src, n, &h, NULL) == ZC_OK && h.nbytes > 0 && h.nbytes <= cap;
    decoding d = {.codec = codec, .encoded = zc_encoded_bytes(src, n), .dst = dst};

    if (sound) {
        d.nbytes = h.nbytes;
        d.blocksize = h.blocksize;
        d.nblocks = h.nblocks;
        d.pieces = count_pieces(h.nbytes, h.nblocks, sharing->threads);
    }
    if (d.pieces < 2) {              /* what is wrong with the header is said there */
        whole w = {{codec, true, NULL, src, n, dst, cap, NULL}, written};
        return run(sharing, run_whole, &w, 1, err);
    }
    *written = h.nbytes;
    return run(sharing, decode_piece, &d, d.pieces, err);
}

/* ---- encode --------------------------------------------------------------------------------- */

/* Pieces are encoded in waves; those of a wave are joined before the next one takes their room, which stays in caches. */
typedef struct encoding {
    const zc_codec *codec;
    const uint8_t *src;
    size_t n, blocksize, nblocks, pieces;
    size_t first, count;     /* pieces of the wave */
    uint8_t *slots;          /* where each piece of it is put */
    size_t *sizes;           /* what of it a piece took; 0: it is not as a run of the whole would be */
} encoding;

static size_t first_block(const encoding *e, size_t piece)
{
    return e->nblocks * piece / e->pieces;
}

static size_t place_of(const encoding *e, size_t block)
{
    return block < e->nblocks ? block * e->blocksize : e->n;
}

/* Of a piece of the wave.  Streams are stored as they are if they do not get smaller: most bytes of the blocks before. */
static size_t slot_of(const encoding *e, size_t i)
{
    const size_t start = first_block(e, e->first), block = first_block(e, e->first + i);

    return place_of(e, block) - place_of(e, start) + (block - start) * 4 * (1 + ZC_BLOSC_MOST_STREAMS) +
           i * ZC_BLOSC_HEADER;
}

static zc_status encode_piece(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const encoding *e = job;
    const size_t block = first_block(e, e->first + item), end = first_block(e, e->first + item + 1);
    const size_t from = place_of(e, block), nbytes = place_of(e, end) - from;
    const size_t slot = slot_of(e, item), room = slot_of(e, item + 1) - slot;
    zc_status status = zc_codec_poll(ws, err);
    zc_blosc_header h;
    int size;

    if (status == ZC_OK) {
        status = zc_blosc_compress(e->codec, ws, e->src + from, nbytes, e->slots + slot, room, &size, err);
    }
    if (status != ZC_OK) {
        return status;
    }
    const bool sound = size > 0 && zc_blosc_read_header(e->slots + slot, (size_t)size, &h, NULL) == ZC_OK &&
                       !h.stored && h.blocksize == e->blocksize && h.nblocks == end - block;
    e->sizes[item] = sound ? (size_t)size : 0;
    return ZC_OK;
}

/* Where the wave ends, were the room not limited, if it begins at `at`; 0 if a piece is not as it has to be. */
static size_t end_of_wave(const encoding *e, size_t at)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->sizes[i] == 0) {
            return 0;
        }
        at += e->sizes[i] - ZC_BLOSC_HEADER - 4 * (first_block(e, e->first + i + 1) - first_block(e, e->first + i));
    }
    return at;
}

static void write_header(const encoding *e, size_t total, uint8_t flags, uint8_t *dst)
{
    memcpy(dst, e->slots, ZC_BLOSC_HEADER);
    dst[2] |= flags;
    zc_store_le32(dst + 4, (uint32_t)e->n);
    zc_store_le32(dst + 12, (uint32_t)total);
}

/* Copy the blocks of a wave one after the other, with their new starts. */
static void join(const encoding *e, size_t at, uint8_t *dst)
{
    for (size_t i = 0; i < e->count; i++) {
        const uint8_t *const slot = e->slots + slot_of(e, i);
        const size_t block = first_block(e, e->first + i), count = first_block(e, e->first + i + 1) - block;
        const size_t before = ZC_BLOSC_HEADER + 4 * count, nbytes = e->sizes[i] - before;

        for (size_t k = 0; k < count; k++) {
            const uint32_t start = zc_load_le32(slot + ZC_BLOSC_HEADER + 4 * k);
            zc_store_le32(dst + ZC_BLOSC_HEADER + 4 * (block + k), (uint32_t)(start - before + at));
        }
        zc_long_copy(dst + at, slot + before, nbytes);
        at += nbytes;
    }
}

/* All waves, or as many as there is room for: *at is where they end, beyond the room if that was too little; 0 if one
 * thread has to do it all. */
static zc_status encode_waves(encoding *e, const zc_sharing *sharing, size_t wave, uint8_t *dst, size_t *at,
                              zc_error *err)
{
    const size_t most = e->n + ZC_BLOSC_HEADER;
    zc_status status = ZC_OK;

    *at = ZC_BLOSC_HEADER + 4 * e->nblocks;
    for (e->first = 0; e->first < e->pieces && status == ZC_OK && *at > 0 && *at <= most; e->first += wave) {
        const size_t begin = *at;
        e->count = e->pieces - e->first < wave ? e->pieces - e->first : wave;
        status = run(sharing, encode_piece, e, e->count, err);
        *at = status == ZC_OK ? end_of_wave(e, begin) : 0;
        if (*at > 0 && *at <= most) {
            join(e, begin, dst);
        }
    }
    return status;
}

/* The header; 0 if one thread has to do it all: the result would differ otherwise. */
static size_t finish(const encoding *e, size_t at, uint8_t *dst)
{
    const size_t most = e->n + ZC_BLOSC_HEADER;

    if (at > most) {                 /* as the library does where it has no room for the last blocks */
        write_header(e, most, ZC_BLOSC_FLAG_STORED, dst);
        zc_long_copy(dst + ZC_BLOSC_HEADER, e->src, e->n);
        return most;
    }
    if (at == 0 || at + e->blocksize > most) {
        return 0;                    /* near the end of its room the library may give up sooner */
    }
    write_header(e, at, 0, dst);
    return at;
}

/* Most bytes of the slots of a wave. */
static size_t room_for(const encoding *e, size_t wave)
{
    const size_t blocks = (e->nblocks / e->pieces + 1) * wave;

    return blocks * (e->blocksize + 4 * (1 + ZC_BLOSC_MOST_STREAMS)) + wave * ZC_BLOSC_HEADER;
}

/* *written is 0 where nothing came of it, for want of memory too. */
static zc_status encode_pieces(encoding *e, const zc_sharing *sharing, size_t wave, uint8_t *dst, size_t *written,
                               zc_error *err)
{
    zc_workspace *const ws = zc_pool_borrow(NULL);
    zc_status status = ZC_OK;
    size_t at;

    e->slots = ws != NULL ? zc_scratch_push(ws, room_for(e, wave), NULL) : NULL;
    e->sizes = calloc(wave, sizeof *e->sizes);
    if (e->slots != NULL && e->sizes != NULL) {
        status = encode_waves(e, sharing, wave, dst, &at, err);
        *written = status == ZC_OK ? finish(e, at, dst) : 0;
    }
    free(e->sizes);
    zc_pool_release(ws);
    return status;
}

zc_status zc_blosc_encode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    zc_assert(zc_codec_has_room(codec, n, cap));
    whole w = {{codec, false, NULL, src, n, dst, cap, NULL}, written};
    encoding e = {.codec = codec, .src = src, .n = n};
    const bool usual = codec->level > 0 && n <= zc_codec_blosc.max_decoded && n / PIECE_NBYTES > 1 &&
                       sharing->threads != 1;
    uint8_t header[ZC_BLOSC_HEADER];
    zc_blosc_header h;
    zc_status status = zc_codec_blosc.check(codec, err);

    *written = 0;
    if (status != ZC_OK) {
        return status;
    }
    if (usual && zc_blosc_plan(codec, src, n, header, &h)) {
        e.blocksize = h.blocksize;
        e.nblocks = h.nblocks;
        e.pieces = most_pieces(n, e.nblocks);
        const size_t wave = count_pieces(n, e.nblocks, sharing->threads);
        status = wave > 1 ? encode_pieces(&e, sharing, wave, dst, written, err) : ZC_OK;
    }
    return status != ZC_OK || *written > 0 ? status : run(sharing, run_whole, &w, 1, err);
}
