/* SPDX-License-Identifier: MIT
 *
 * What reading and writing chunks costs at least: open, pread, one call of the decompressor, a copy into
 * place; and the same backwards.  No metadata, no checks beyond those of the decompressor, no array library.
 * The benchmark loads this as a shared library; plans come ready-made from libraries/floor.py.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codecs/abi.h"
#ifdef ZC_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

enum { RAW, BLOSC, ZSTD, GZIP };
enum { MAX_THREADS = 64, BLOCK = 256 << 10 }; /* blocks of raw chunks stay in the L2 cache */
enum { BATCHES = 64 };                        /* in which a thread takes its range, or another's rest */

typedef struct {
    int32_t codec, level, itemsize, swap; /* swap: stored in the other byte order */
    int32_t shuffle, threads;
    int32_t indexed, whole_planes;        /* files are shards; planes of the first axis follow one another */
    char cname[16];                       /* of blosc */
    int64_t chunk_bytes;
    int64_t stored[3], placed[3];         /* strides in bytes: in a decoded chunk, in the caller's array */
} layout;

typedef struct {             /* a box of one chunk */
    int64_t file;            /* its number */
    int64_t offset, nbytes;  /* where the chunk lies in the file */
    int64_t from, to;        /* where the box begins in the decoded chunk and in the caller's array */
    int64_t count[3];
} piece;

typedef struct {             /* a file, or the bytes of one; `first` and `count` of its pieces */
    const char *path;
    const uint8_t *data;
    int64_t first, count;
} source;

typedef struct {             /* a thread's own, kept between calls */
    uint8_t *memory[2];
    size_t room[2];
    ZSTD_DCtx *unzstd;
    ZSTD_CCtx *zstd;
#ifdef ZC_HAVE_LIBDEFLATE
    struct libdeflate_decompressor *inflater;
    struct libdeflate_compressor *deflater;
#endif
} worker;

typedef struct { /* pieces or files that no thread has taken yet */
    _Alignas(64) _Atomic int64_t next;
    int64_t end, step;
} share;

typedef struct {
    const layout *shape;
    const source *sources;
    const piece *pieces;
    uint8_t *array;
    worker *own;
    share *shares; /* one for each thread */
    int threads, index;
    int failed;
} part;

static worker workers[MAX_THREADS];

static uint8_t *scratch(worker *own, int which, size_t size) {
    if (own->room[which] < size) {
        free(own->memory[which]);
        own->memory[which] = malloc(size);
        own->room[which] = own->memory[which] ? size : 0;
    }
    return own->memory[which];
}

/* ---- copies ---- */

/* In blocks of 16 by 8, which transpose without throwing lines out of the cache that are needed again. */
static inline __attribute__((always_inline)) void
copy_items(uint8_t *to, const int64_t *ts, const uint8_t *from, const int64_t *fs, const int64_t *n, size_t z)
{
    for (int64_t i0 = 0; i0 < n[0]; i0 += 16)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k0 = 0; k0 < n[2]; k0 += 8)
                for (int64_t i = i0; i < n[0] && i < i0 + 16; i++) {
                    uint8_t *row = to + i * ts[0] + j * ts[1];
                    const uint8_t *origin = from + i * fs[0] + j * fs[1];
                    for (int64_t k = k0; k < n[2] && k < k0 + 8; k++)
                        memcpy(row + k * ts[2], origin + k * fs[2], z);
                }
}

/* A box from one strided place to another. */
static void copy_box(uint8_t *to, const int64_t *ts, const uint8_t *from, const int64_t *fs, const int64_t *n,
                     int size) {
    if (ts[2] == size && fs[2] == size)
        for (int64_t i = 0; i < n[0]; i++)
            for (int64_t j = 0; j < n[1]; j++)
                memcpy(to + i * ts[0] + j * ts[1], from + i * fs[0] + j * fs[1], (size_t)(n[2] * size));
    else if (size == 2)
        copy_items(to, ts, from, fs, n, 2);
    else if (size == 4)
        copy_items(to, ts, from, fs, n, 4);
    else
        copy_items(to, ts, from, fs, n, (size_t)size);
}

/* The arrays with another byte order have items of 4 bytes. */
static void swap_bytes(uint8_t *data, int64_t nbytes) {
    for (int64_t i = 0; i < nbytes; i += 4) {
        uint32_t x;
        memcpy(&x, data + i, 4);
        x = __builtin_bswap32(x);
        memcpy(data + i, &x, 4);
    }
}

/* Whether a box is one run of bytes under these strides. */
static int is_run(const int64_t *strides, const int64_t *n, int size) {
    return (n[2] == 1 || strides[2] == size) && (n[1] == 1 || strides[1] == n[2] * size) &&
           (n[0] == 1 || strides[0] == n[1] * n[2] * size);
}

static int64_t box_bytes(const piece *p, int size) { return p->count[0] * p->count[1] * p->count[2] * size; }

/* ---- codecs ---- */

static int decode(worker *own, const layout *l, const uint8_t *from, size_t n, uint8_t *to) {
    size_t size = (size_t)l->chunk_bytes;
    if (l->codec == BLOSC)
        return blosc_decompress_ctx(from, to, size, 1) == (int)size;
    if (l->codec == ZSTD) {
        if (!own->unzstd)
            own->unzstd = ZSTD_createDCtx();
        return ZSTD_decompressDCtx(own->unzstd, to, size, from, n) == size;
    }
#ifdef ZC_HAVE_LIBDEFLATE
    if (!own->inflater)
        own->inflater = libdeflate_alloc_decompressor();
    return libdeflate_gzip_decompress(own->inflater, from, n, to, size, NULL) == LIBDEFLATE_SUCCESS;
#else
    z_stream z = {.next_in = (void *)from, .next_out = to, .avail_in = (unsigned)n};
    z.avail_out = (unsigned)size;
    if (inflateInit2_(&z, 31, ZLIB_VERSION, (int)sizeof z) != Z_OK)
        return 0;
    int status = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return status == Z_STREAM_END;
#endif
}

static size_t bound(size_t size) { return size + size / 64 + 4096; }

/* Bytes written to `to`, which has room for bound(chunk_bytes); 0 on failure. */
static size_t encode(worker *own, const layout *l, const uint8_t *from, uint8_t *to) {
    size_t size = (size_t)l->chunk_bytes, room = bound(size);
    if (l->codec == RAW) {
        memcpy(to, from, size);
        return size;
    }
    if (l->codec == BLOSC) {
        size_t item = (size_t)l->itemsize;
        int n = blosc_compress_ctx(l->level, l->shuffle, item, size, from, to, room, l->cname, 0, 1);
        return n > 0 ? (size_t)n : 0;
    }
    if (l->codec == ZSTD) {
        if (!own->zstd)
            own->zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(own->zstd, ZSTD_c_compressionLevel, l->level);
        size_t n = ZSTD_compress2(own->zstd, to, room, from, size);
        return ZSTD_isError(n) ? 0 : n;
    }
#ifdef ZC_HAVE_LIBDEFLATE
    if (!own->deflater)
        own->deflater = libdeflate_alloc_compressor(l->level);
    return libdeflate_gzip_compress(own->deflater, from, size, to, room);
#else
    z_stream z = {.next_in = (void *)from, .next_out = to, .avail_in = (unsigned)size};
    z.avail_out = (unsigned)room;
    if (deflateInit2_(&z, l->level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof z))
        return 0;
    int status = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return status == Z_STREAM_END ? (size_t)z.total_out : 0;
#endif
}

static uint32_t crc32c(const uint8_t *data, size_t n) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* ---- dealing out ---- */

/* The next of a thread's own range, then of what another has left: no core is idle before the end. */
static int take(const part *p, int64_t *begin, int64_t *end) {
    for (int t = 0; t < p->threads; t++) {
        share *from = &p->shares[(p->index + t) % p->threads];
        int64_t at = atomic_load_explicit(&from->next, memory_order_relaxed);
        if (at < from->end && (at = atomic_fetch_add(&from->next, from->step)) < from->end) {
            *begin = at;
            *end = at + from->step < from->end ? at + from->step : from->end;
            return 1;
        }
    }
    return 0;
}

/* ---- reading ---- */

/* The wanted bytes: in memory already, or read into the thread's first buffer. */
static const uint8_t *fetch(worker *own, const source *s, int fd, int64_t offset, int64_t n) {
    if (s->data)
        return s->data + offset;
    uint8_t *to = scratch(own, 0, (size_t)n);
    return to && pread(fd, to, (size_t)n, offset) == n ? to : NULL;
}

static int read_raw(part *p, const piece *x, const source *s, int fd) {
    const layout *l = p->shape;
    int size = l->itemsize;
    if (is_run(l->stored, x->count, size) && is_run(l->placed, x->count, size)) {
        int64_t n = box_bytes(x, size), offset = x->offset + x->from;
        uint8_t *to = p->array + x->to;
        if (s->data)
            memcpy(to, s->data + offset, (size_t)n);
        else if (pread(fd, to, (size_t)n, offset) != n)
            return 0;
        if (l->swap)
            swap_bytes(to, n);
        return 1;
    }
    int64_t extent = (x->count[1] - 1) * l->stored[1] + (x->count[2] - 1) * l->stored[2] + size;
    int64_t step = x->count[0];
    if (l->whole_planes && l->stored[0] * step > BLOCK) /* planes that are not wanted whole: one by one */
        step = extent == l->stored[0] && BLOCK > extent ? BLOCK / extent : 1;
    for (int64_t i = 0; i < x->count[0]; i += step) {
        int64_t count[3] = {x->count[0] - i < step ? x->count[0] - i : step, x->count[1], x->count[2]};
        int64_t from = x->from + i * l->stored[0], n = (count[0] - 1) * l->stored[0] + extent;
        const uint8_t *data = fetch(p->own, s, fd, x->offset + from, n);
        if (!data)
            return 0;
        if (l->swap)
            swap_bytes((uint8_t *)data, n);
        copy_box(p->array + x->to + i * l->placed[0], l->placed, data, l->stored, count, size);
    }
    return 1;
}

static int read_coded(part *p, const piece *x, const source *s, int fd) {
    const layout *l = p->shape;
    const uint8_t *data = fetch(p->own, s, fd, x->offset, x->nbytes);
    int64_t span = l->itemsize;
    for (int d = 0; d < 3; d++)
        span += (x->count[d] - 1) * l->stored[d];
    if (l->codec == BLOSC && span < l->chunk_bytes / 2) { /* decodes only the blocks that hold it */
        uint8_t *to = scratch(p->own, 1, (size_t)span);
        int from = (int)(x->from / l->itemsize), n = (int)(span / l->itemsize);
        if (!data || !to || blosc_getitem(data, from, n, to) != span)
            return 0;
        copy_box(p->array + x->to, l->placed, to, l->stored, x->count, l->itemsize);
        return 1;
    }
    int direct = box_bytes(x, l->itemsize) == l->chunk_bytes && is_run(l->stored, x->count, l->itemsize) &&
                 is_run(l->placed, x->count, l->itemsize);
    uint8_t *to = direct ? p->array + x->to : scratch(p->own, 1, (size_t)l->chunk_bytes);
    if (!data || !to || !decode(p->own, l, data, (size_t)x->nbytes, to))
        return 0;
    if (!direct)
        copy_box(p->array + x->to, l->placed, to + x->from, l->stored, x->count, l->itemsize);
    return 1;
}

static void *read_part(void *argument) {
    part *p = argument;
    int64_t opened = -1;
    int fd = -1;
    for (int64_t i, end = i = 0; !p->failed && (i < end || take(p, &i, &end)); i++) {
        const piece *x = &p->pieces[i];
        const source *s = &p->sources[x->file];
        if (x->file != opened && !s->data) {
            if (fd >= 0)
                close(fd);
            fd = open(s->path, O_RDONLY | O_CLOEXEC);
            opened = x->file;
            p->failed = fd < 0;
        }
        if (!p->failed)
            p->failed = !(p->shape->codec == RAW ? read_raw(p, x, s, fd) : read_coded(p, x, s, fd));
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* ---- writing ---- */

static int put(int fd, const uint8_t *data, int64_t n) {
    while (n > 0) {
        ssize_t done = write(fd, data, (size_t)n);
        if (done <= 0)
            return 0;
        data += done;
        n -= done;
    }
    return 1;
}

/* Chunks as they are, gathered and written block by block. */
static int write_raw(part *p, const piece *x, int fd) {
    const layout *l = p->shape;
    int size = l->itemsize;
    const uint8_t *from = p->array + x->to;
    if (!l->swap && is_run(l->placed, x->count, size) && is_run(l->stored, x->count, size))
        return put(fd, from, l->chunk_bytes);
    int64_t step = !l->whole_planes ? x->count[0] : BLOCK > l->stored[0] ? BLOCK / l->stored[0] : 1;
    for (int64_t i = 0; i < x->count[0]; i += step) {
        int64_t count[3] = {x->count[0] - i < step ? x->count[0] - i : step, x->count[1], x->count[2]};
        int64_t n = count[0] * count[1] * count[2] * size;
        uint8_t *block = scratch(p->own, 0, (size_t)n);
        if (!block)
            return 0;
        copy_box(block, l->stored, from + i * l->placed[0], l->placed, count, size);
        if (l->swap)
            swap_bytes(block, n);
        if (!put(fd, block, n))
            return 0;
    }
    return 1;
}

/* All chunks of a file compressed into one buffer, with the index if it is a shard. */
static int write_coded(part *p, const source *s, int fd) {
    const layout *l = p->shape;
    size_t index = l->indexed ? (size_t)s->count * 16 + 4 : 0, at = 0;
    uint8_t *chunk = scratch(p->own, 0, (size_t)l->chunk_bytes);
    uint8_t *file = scratch(p->own, 1, (size_t)s->count * bound((size_t)l->chunk_bytes) + 2 * index);
    if (!chunk || !file)
        return 0;
    uint8_t *entry = file + p->own->room[1] - index, *entries = entry;
    for (int64_t i = s->first; i < s->first + s->count; i++) {
        const piece *x = &p->pieces[i];
        const uint8_t *from = p->array + x->to;
        if (!is_run(l->placed, x->count, l->itemsize)) {
            copy_box(chunk, l->stored, from, l->placed, x->count, l->itemsize);
            from = chunk;
        }
        uint64_t n = encode(p->own, l, from, file + at), range[2] = {at, n};
        if (!n)
            return 0;
        if (index)
            memcpy(entry, range, sizeof range);
        entry += sizeof range;
        at += n;
    }
    if (index) {
        uint32_t sum = crc32c(entries, index - 4);
        memcpy(entry, &sum, 4);
        memmove(file + at, entries, index);
    }
    return put(fd, file, (int64_t)(at + index));
}

static void *write_part(void *argument) {
    part *p = argument;
    for (int64_t f, end = f = 0; !p->failed && (f < end || take(p, &f, &end)); f++) {
        const source *s = &p->sources[f];
        int fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        int plain = p->shape->codec == RAW && !p->shape->indexed;
        p->failed = fd < 0 || !(plain ? write_raw(p, &p->pieces[s->first], fd) : write_coded(p, s, fd));
        if (fd >= 0 && close(fd))
            p->failed = 1;
    }
    return NULL;
}

/* ---- threads ---- */

/* `work` on 0..n; each thread begins with an equal range, the caller with the first one. */
static int divide(void *(*work)(void *), const layout *l, const source *sources, const piece *pieces,
                  uint8_t *array, int64_t n) {
    int threads = l->threads > MAX_THREADS ? MAX_THREADS : l->threads > n ? (int)n : l->threads;
    part parts[MAX_THREADS];
    share shares[MAX_THREADS];
    pthread_t started[MAX_THREADS];
    int failed = 0;
    for (int t = 0; t < threads; t++) {
        shares[t].end = n * (t + 1) / threads;
        shares[t].step = n / threads / BATCHES + 1;
        atomic_init(&shares[t].next, n * t / threads);
        parts[t] = (part){l, sources, pieces, array, &workers[t], shares, threads, t, 0};
    }
    for (int t = 1; t < threads; t++)
        if (pthread_create(&started[t], NULL, work, &parts[t]))
            abort(); /* a benchmark with fewer threads than it says would lie */
    work(&parts[0]);
    for (int t = 0; t < threads; t++) {
        if (t > 0)
            pthread_join(started[t], NULL);
        failed |= parts[t].failed;
    }
    return failed;
}

/* 0 when all pieces have come into `array`. */
int floor_read(const layout *l, const source *sources, const piece *pieces, int64_t n, uint8_t *array) {
    return divide(read_part, l, sources, pieces, array, n);
}

/* 0 when all files have been written from `array`; their directories exist. */
int floor_write(const layout *l, const source *sources, const piece *pieces, int64_t n, uint8_t *array) {
    return divide(write_part, l, sources, pieces, array, n);
}
