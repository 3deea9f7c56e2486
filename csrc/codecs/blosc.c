/* SPDX-License-Identifier: MIT
 *
 * blosc, format version 2 (c-blosc 1.x; README_CHUNK_FORMAT.rst there).
 *
 *     byte 0    format version           4..7    nbytes, the decoded size
 *          1    compressor's version     8..11   blocksize
 *          2    flags                   12..15   cbytes, the size of all of this
 *          3    typesize                16..     where each block starts, one int32 per block
 *
 * A block is one or, if it is split, typesize streams, each after its length.  The library trusts parts of
 * this; here every number is checked first.
 */
#include <stdlib.h>

#include "base/arith.h"
#include "base/counts.h"
#include "codecs/abi.h"
#include "codecs/blosc_block.h"
#include "codecs/blosc_encode.h"
#include "codecs/classes.h"
#include "kernels/long_copy.h"

#define MAX_DECODED ((size_t)INT32_MAX - ZC_BLOSC_HEADER)        /* BLOSC_MAX_BUFFERSIZE */

/* ---- decode --------------------------------------------------------------------------------- */

#define NO_BLOCK SIZE_MAX
#define STEP ((size_t)32 << 10)

typedef struct blosc_state {
    zc_blosc_header h;
    const uint8_t *starts;   /* of the blocks */
    uint8_t *fetched;        /* room for the encoded bytes of a block, where these are read by ranges */
    uint8_t *plain;          /* block `held`, decompressed */
    size_t held;
    zc_blosc_shuffle shuffle;        /* what is still to be undone in it */
} blosc_state;

static zc_status encoded_bytes(const zc_encoded *encoded, size_t offset, uint8_t *buffer, size_t n,
                               const uint8_t **out, zc_error *err)
{
    if (encoded->data != NULL) {
        *out = encoded->data + offset;
        return ZC_OK;
    }
    *out = buffer;
    return encoded->read(encoded->source, offset, buffer, n, err);
}

static zc_status read_header(const zc_encoded *encoded, zc_blosc_header *h, zc_error *err)
{
    uint8_t buffer[ZC_BLOSC_HEADER] = {0};
    const uint8_t *src = encoded->data;

    if (src == NULL && encoded->n >= ZC_BLOSC_HEADER) {
        const zc_status status = encoded_bytes(encoded, 0, buffer, ZC_BLOSC_HEADER, &src, err);
        if (status != ZC_OK) {
            return status;
        }
    }
    return zc_blosc_read_header(src != NULL ? src : buffer, encoded->n, h, err);
}

static void *push(zc_blocks *blocks, size_t n, zc_error *err)
{
    void *buffer = zc_scratch_push(blocks->ws, n, err);

    blocks->pushed += buffer != NULL;
    return buffer;
}

/* The table of starts, and room for one block. */
static zc_status open_table(zc_blocks *blocks, blosc_state *state, zc_error *err)
{
    const zc_encoded *encoded = blocks->encoded;
    const zc_blosc_header *h = &state->h;
    const bool in_memory = encoded->data != NULL;
    const size_t table = in_memory ? 0 : 4 * h->nblocks;
    const size_t fetched = in_memory ? 0 : zc_blosc_block_bound(h, 0);
    uint8_t *room = push(blocks, h->blocksize + table + fetched, err);

    if (room == NULL) {
        return ZC_ERR_MEMORY;
    }
    state->plain = room;
    state->fetched = room + h->blocksize;
    return encoded_bytes(encoded, ZC_BLOSC_HEADER, state->fetched + fetched, table, &state->starts, err);
}

/* Parts of a shuffled block are put together at once as they are asked for; they need not leave the L1 or L2 cache. */
static size_t step_of(const zc_blosc_header *h)
{
    const size_t group = 8 * h->typesize;

    if (h->nbytes == 0) {
        return 1;
    }
    return h->shuffle != ZC_BLOSC_NOSHUFFLE && h->blocksize > STEP ? STEP - STEP % group : h->blocksize;
}

static zc_status blosc_open_blocks(zc_blocks *blocks, size_t decoded, zc_error *err)
{
    blosc_state *state = push(blocks, sizeof *state, err);
    zc_blosc_header *h;

    if (state == NULL) {
        return ZC_ERR_MEMORY;
    }
    blocks->state = state;
    state->held = NO_BLOCK;
    h = &state->h;
    zc_status status = read_header(blocks->encoded, h, err);
    if (status != ZC_OK) {
        return status;
    }
    if (h->nbytes != decoded) {
        return zc_fail(err, ZC_ERR_SIZE, "the header states %zu bytes, the metadata demand %zu", h->nbytes,
                       decoded);
    }
    blocks->nbytes = decoded;
    blocks->step = step_of(h);
    blocks->block = h->stored || decoded == 0 ? blocks->step : h->blocksize;
    if (decoded == 0 || h->stored) {
        return ZC_OK;
    }
    status = zc_blosc_check_compressor(h, err);
    return status == ZC_OK ? open_table(blocks, state, err) : status;
}

/* Where the encoded bytes of a block are: up to the next one, as far as they may belong to it. */
static zc_status block_range(zc_blocks *blocks, size_t index, size_t *start, size_t *n, zc_error *err)
{
    const blosc_state *state = blocks->state;
    const zc_blosc_header *h = &state->h;
    const zc_status status = zc_blosc_block_start(h, state->starts, index, start, err);

    if (status != ZC_OK) {
        return status;
    }
    const size_t most = zc_blosc_block_bound(h, index);
    const size_t next = index + 1 < h->nblocks ? zc_load_le32(state->starts + 4 * index + 4) : h->cbytes;
    const size_t end = *start < next && next < h->cbytes ? next : h->cbytes;     /* blocks may lie in any order */
    *n = end - *start < most ? end - *start : most;
    return ZC_OK;
}

/* Read the block into the end of the room for it, and decompress it over its own bytes. */
static bool decompress_over(zc_blocks *blocks, size_t index, size_t start, size_t n)
{
    blosc_state *state = blocks->state;
    const zc_encoded *encoded = blocks->encoded;
    const size_t slack = encoded->data == NULL ? zc_blosc_slack(&state->h, index, n) : 0;

    if (slack == 0) {
        return false;
    }
    uint8_t *const at = state->plain + zc_blosc_block_nbytes(&state->h, index) + slack - n;
    state->shuffle = state->h.shuffle;
    return encoded->read(encoded->source, start, at, n, NULL) == ZC_OK &&
           zc_blosc_decompress_over(&state->h, at, n, index, state->plain);
}

/* Have the block in state->plain. */
static zc_status decompress(zc_blocks *blocks, size_t index, size_t start, size_t n, zc_error *err)
{
    blosc_state *state = blocks->state;
    const uint8_t *src;

    if (decompress_over(blocks, index, start, n)) {
        return ZC_OK;
    }
    const zc_status status = encoded_bytes(blocks->encoded, start, state->fetched, n, &src, err);
    return status != ZC_OK ? status
                           : zc_blosc_decompress(&state->h, blocks->ws, src, n, index, state->plain, &state->shuffle,
                                                 err);
}

/* Bytes [from, to) of a block.  A whole one is not kept. */
static zc_status decode_in_block(zc_blocks *blocks, size_t index, size_t from, size_t to, uint8_t *dst,
                                 zc_error *err)
{
    blosc_state *state = blocks->state;
    const zc_blosc_header *h = &state->h;
    const size_t nbytes = zc_blosc_block_nbytes(h, index);
    const uint8_t *src;
    size_t start, n;

    if (state->held != index) {
        state->held = NO_BLOCK;
        zc_count_add(ZC_COUNT_BLOCKS, 1);
        zc_status status = zc_codec_poll(blocks->ws, err);
        if (status == ZC_OK) {
            status = block_range(blocks, index, &start, &n, err);
        }
        if (status == ZC_OK && from == 0 && to == nbytes) {
            status = encoded_bytes(blocks->encoded, start, state->fetched, n, &src, err);
            return status != ZC_OK
                       ? status
                       : zc_blosc_decode_block(h, blocks->ws, src, n, index, state->plain, dst, err);
        }
        if (status == ZC_OK) {
            status = decompress(blocks, index, start, n, err);
        }
        if (status != ZC_OK) {
            return status;
        }
        state->held = index;
    }
    zc_blosc_unshuffle(h, state->shuffle, state->plain, nbytes, from, to, dst);
    return ZC_OK;
}

static zc_status blosc_decode_range(zc_blocks *blocks, size_t offset, size_t nbytes, uint8_t *dst, zc_error *err)
{
    const blosc_state *state = blocks->state;
    const size_t stop = offset + nbytes, block = state->h.blocksize;
    const uint8_t *src;
    zc_status status = ZC_OK;

    if (state->h.stored) {
        status = encoded_bytes(blocks->encoded, ZC_BLOSC_HEADER + offset, dst, nbytes, &src, err);
        if (status == ZC_OK && src != dst) {
            zc_long_copy(dst, src, nbytes);
        }
        return status;
    }
    while (status == ZC_OK && offset < stop) {
        const size_t index = offset / block, start = index * block;
        const size_t to = stop - start < block ? stop - start : block;

        status = decode_in_block(blocks, index, offset - start, to, dst, err);
        dst += start + to - offset;
        offset = start + to;
    }
    return status;
}

static zc_status blosc_decode(const zc_coding *c, size_t *written)
{
    const zc_encoded encoded = zc_encoded_bytes(c->src, c->n);
    zc_blosc_header h;
    zc_blocks blocks;
    zc_status status = read_header(&encoded, &h, c->err);

    if (status != ZC_OK) {
        return status;
    }
    if (h.nbytes > c->cap) {
        return zc_fail(c->err, ZC_ERR_SIZE, "the header states %zu bytes, at most %zu expected", h.nbytes, c->cap);
    }
    status = zc_blocks_open(c->codec, &encoded, h.nbytes, c->ws, &blocks, c->err);
    if (status != ZC_OK) {
        return status;
    }
    status = zc_blocks_decode(&blocks, 0, h.nbytes, c->dst, c->err);
    zc_blocks_close(&blocks);
    *written = h.nbytes;
    return status;
}

/* ---- encode --------------------------------------------------------------------------------- */

static bool blosc_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    if (n > MAX_DECODED) {
        return false;
    }
    *out = n + ZC_BLOSC_HEADER;
    return true;
}

static zc_status blosc_check(const zc_codec *codec, zc_error *err)
{
    const char *name = zc_blosc_compressor_name(codec->blosc.compressor);

    if (name == NULL) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "unknown blosc compressor %d", (int)codec->blosc.compressor);
    }
    if (blosc_compname_to_compcode(name) < 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "cname: this build of blosc lacks the compressor %s", name);
    }
    if (codec->level < 0 || codec->level > 9) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "clevel: expected 0 to 9, got %d", codec->level);
    }
    if ((unsigned)codec->blosc.shuffle > ZC_BLOSC_BITSHUFFLE) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shuffle: expected 0 to 2, got %d", (int)codec->blosc.shuffle);
    }
    if (codec->blosc.typesize < 1 || codec->blosc.typesize > BLOSC_MAX_TYPESIZE) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "typesize: expected 1 to %d, got %zu", BLOSC_MAX_TYPESIZE,
                       codec->blosc.typesize);
    }
    return ZC_OK;
}

static zc_status blosc_encode(const zc_coding *c, size_t *written)
{
    int size;

    if (c->n > MAX_DECODED) {
        return zc_fail(c->err, ZC_ERR_ARGUMENT, "cannot encode %zu bytes, blosc's limit is %zu", c->n, MAX_DECODED);
    }
    const size_t room = c->n + ZC_BLOSC_HEADER;
    if (c->cap < room) {     /* with less the library writes the first block's start beyond the end */
        return zc_fail(c->err, ZC_ERR_ARGUMENT, "%zu bytes are not enough room to encode %zu", c->cap, c->n);
    }
    const zc_status status = zc_blosc_compress(c->codec, c->ws, c->src, c->n, c->dst, room, &size, c->err);
    if (status != ZC_OK) {
        return status;
    }
    if (size <= 0) {
        return zc_fail(c->err, ZC_ERR_ENCODE, "blosc failed (%d) for %zu bytes into %zu", size, c->n, c->cap);
    }
    *written = (size_t)size;
    return ZC_OK;
}

static double blosc_byte_ns(const zc_codec *codec, bool encode)
{
    switch (codec->blosc.compressor) {
    case ZC_BLOSC_LZ4HC:
        return encode ? 10 : 0.3;
    case ZC_BLOSC_ZLIB:
        return encode ? 10 : 2;
    case ZC_BLOSC_ZSTD:
        return encode ? 8 : 1;
    case ZC_BLOSC_LZ4:
        return encode ? 0.4 : 0.3;
    default:
        return encode ? 0.8 : 0.3;
    }
}

const zc_codec_class zc_codec_blosc = {
    .name = "blosc",
    .max_decoded = MAX_DECODED,
    .bound = blosc_bound,
    .encode = blosc_encode,
    .decode = blosc_decode,
    .open_blocks = blosc_open_blocks,
    .decode_range = blosc_decode_range,
    .check = blosc_check,
    .byte_ns = blosc_byte_ns,
    .defaults = {
        .level = 5,
        .blosc = {.compressor = ZC_BLOSC_LZ4, .shuffle = ZC_BLOSC_BYTESHUFFLE, .typesize = 1},
    },
};
