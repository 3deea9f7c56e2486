/* SPDX-License-Identifier: MIT
 *
 * ZIP archives as stores for reading (PKWARE's APPNOTE 6.3; entries that are stored or deflated, zip64).
 *
 * The directory is read when the archive is opened.  What it says of an entry is checked when that is read: nothing is read that belongs to
 * another entry or to the directory, no more is inflated than was announced, and what is read as a whole has to have its CRC.
 */
#include "document/archive.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/abi.h"
#include "document/archive_directory.h"
#include "document/tree.h"
#include "io/temporary.h"

#define NAME_ROOM ((size_t)65535 + 2)
#define MOST_INFLATED UINT64_C(1032)         /* bytes that one byte can stand for */
#define PIECE ((size_t)64 << 10)
#define MOST_COMPARED ((size_t)1 << 14)      /* entries whose names are compared with those of their headers, before a chunk is absent */

enum { RAW_WINDOW = -15 };

/* The names that local headers have and the directory has not. */
typedef struct lost_names {
    size_t n;
    uint64_t hashes[];       /* sorted */
} lost_names;

typedef struct archive {
    zc_file file;
    zc_zip_directory directory;
    _Atomic(lost_names *) lost;     /* NULL until a chunk is absent */
} archive;

/* ---- entries ------------------------------------------------------------------------------------ */

static bool is_named(const archive *a, size_t i, const char *name, size_t n)
{
    return i < a->directory.n && a->directory.entries[i].n == n && memcmp(a->directory.entries[i].name, name, n) == 0;
}

static bool begins_with(const archive *a, size_t i, const char *prefix, size_t n)
{
    return i < a->directory.n && a->directory.entries[i].n >= n && memcmp(a->directory.entries[i].name, prefix, n) == 0;
}

/* Where its data begin; all of them lie within its limit. */
static zc_status find_data(const archive *a, const zc_zip_entry *e, uint64_t *out, zc_error *err)
{
    uint8_t header[ZC_ZIP_HEADER_SIZE];
    const zc_status status = zc_file_read(&a->file, e->at, header, sizeof header, err);

    if (status != ZC_OK) {
        return status;
    }
    if (!zc_zip_is_record(header, 3, 4) || zc_zip_load_le16(header + 26) != e->n) {
        return zc_zip_malformed(err, "the entry has another header than its directory has");
    }
    *out = e->at + ZC_ZIP_HEADER_SIZE + e->n + zc_zip_load_le16(header + 28);
    if (*out > e->limit || e->stored > e->limit - *out) {
        return zc_zip_malformed(err, "the entry overlaps with another one, or with the directory");
    }
    char *const name = malloc(e->n + 1);
    zc_status named = name != NULL ? zc_file_read(&a->file, e->at + ZC_ZIP_HEADER_SIZE, name, e->n, err)
                                   : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    if (named == ZC_OK && memcmp(name, e->name, e->n) != 0) {
        named = zc_zip_malformed(err, "the entry has another name than its directory has");
    }
    free(name);
    return named;
}

static zc_status check_sum(const zc_zip_entry *e, const uint8_t *data, size_t n, zc_error *err)
{
    unsigned long sum = 0;

    for (size_t at = 0, step; at < n; at += step) {
        step = n - at < PIECE ? n - at : PIECE;
        sum = crc32(sum, data + at, (unsigned)step);
    }
    return sum == e->crc ? ZC_OK : zc_fail(err, ZC_ERR_CHECKSUM, "the entry of the ZIP archive does not have its CRC");
}

/* ---- inflating ---- */

typedef struct inflation {
    const archive *a;
    z_stream z;
    uint64_t at, left;       /* of the data: those that were not read yet */
    uint8_t in[PIECE], out[PIECE];
} inflation;

/* Inflate n bytes, to dst or (NULL) to nowhere. */
static zc_status inflate_bytes(inflation *i, uint8_t *dst, uint64_t n, zc_error *err)
{
    while (n > 0) {
        if (i->z.avail_in == 0 && i->left > 0) {
            const size_t step = i->left < PIECE ? (size_t)i->left : PIECE;
            const zc_status status = zc_file_read(&i->a->file, i->at, i->in, step, err);
            if (status != ZC_OK) {
                return status;
            }
            i->at += step;
            i->left -= step;
            i->z.next_in = i->in;
            i->z.avail_in = (unsigned)step;
        }
        const unsigned room = n < PIECE ? (unsigned)n : (unsigned)PIECE, before = i->z.avail_in;
        i->z.next_out = dst != NULL ? dst : i->out;
        i->z.avail_out = room;
        const int rc = inflate(&i->z, Z_NO_FLUSH);
        const unsigned made = room - i->z.avail_out;
        dst += dst != NULL ? made : 0;
        n -= made;
        if (rc == Z_MEM_ERROR) {
            return zc_fail(err, ZC_ERR_MEMORY, "out of memory in inflate");
        }
        if (n > 0 && (rc != Z_OK || (made == 0 && before == i->z.avail_in))) {
            return zc_fail(err, ZC_ERR_CORRUPT, "the entry of the ZIP archive cannot be inflated: %s",
                           rc == Z_STREAM_END ? "it is shorter than its directory has it" : i->z.msg != NULL ? i->z.msg : "it is cut off");
        }
    }
    return ZC_OK;
}

/* More than was announced? */
static zc_status check_stream_end(inflation *i, zc_error *err)
{
    zc_error unused = {0};

    return inflate_bytes(i, NULL, 1, &unused) == ZC_OK
               ? zc_fail(err, ZC_ERR_CORRUPT, "the entry of the ZIP archive inflates to more than its directory has")
               : ZC_OK;
}

static zc_status inflate_range(const archive *a, const zc_zip_entry *e, uint64_t at, uint64_t first, uint8_t *dst, size_t n, zc_error *err)
{
    inflation *const i = calloc(1, sizeof *i);

    if (i == NULL || inflateInit2_(&i->z, RAW_WINDOW, ZLIB_VERSION, (int)sizeof i->z) != Z_OK) {
        free(i);
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    i->a = a;
    i->at = at;
    i->left = e->stored;
    zc_status status = inflate_bytes(i, NULL, first, err);
    status = status == ZC_OK ? inflate_bytes(i, dst, n, err) : status;
    status = status == ZC_OK && n == e->size ? check_stream_end(i, err) : status;
    inflateEnd(&i->z);
    free(i);
    return status;
}

/* ---- reading ---- */

static zc_status check_readable(const zc_zip_entry *e, zc_error *err)
{
    if ((e->flags & (ZC_ZIP_ENCRYPTED | ZC_ZIP_PATCHED)) != 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "the entry of the ZIP archive is %s", e->flags & ZC_ZIP_PATCHED ? "a patch" : "encrypted");
    }
    if (e->method != ZC_ZIP_STORED && e->method != ZC_ZIP_DEFLATED) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "the entry of the ZIP archive is compressed by method %u", e->method);
    }
    if (e->method == ZC_ZIP_STORED ? e->size != e->stored : e->size / MOST_INFLATED > e->stored) {
        return zc_zip_malformed(err, "the entry cannot have the size that its directory has");
    }
    return ZC_OK;
}

static zc_status read_value(const archive *a, const zc_zip_entry *e, const zarrcore_request *request, zc_error *err)
{
    const bool from_end = request->offset == ZARRCORE_FROM_END;
    const uint64_t first = !from_end ? (request->offset < e->size ? request->offset : e->size)
                                     : request->nbytes < e->size ? e->size - request->nbytes : 0;
    const uint64_t n = request->nbytes < e->size - first ? request->nbytes : e->size - first;
    uint64_t at = 0;
    zc_status status = check_readable(e, err);

    status = status == ZC_OK ? find_data(a, e, &at, err) : status;
    uint8_t *const dst = status == ZC_OK && n > 0 ? zc_reply_room(request->reply, n) : NULL;
    if (dst == NULL) {
        return status;                       /* what is wrong with the room is noted */
    }
    status = e->method == ZC_ZIP_STORED ? zc_file_read(&a->file, at + first, dst, (size_t)n, err)
                                 : inflate_range(a, e, at, first, dst, (size_t)n, err);
    return status == ZC_OK && n == e->size ? check_sum(e, dst, (size_t)n, err) : status;
}

/* ---- names that are absent ---------------------------------------------------------------------- */

static uint64_t hash_name(const void *name, size_t n)
{
    return zc_hash_text(ZC_HASH_BASIS, name, n);
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Has the header of an entry another name?  room: for a header with the longest one. */
static bool has_other_name(const archive *a, const zc_zip_entry *e, uint8_t *room, uint64_t *hash)
{
    zc_error unused = {0};

    if (zc_file_read(&a->file, e->at, room, ZC_ZIP_HEADER_SIZE + e->n, &unused) != ZC_OK || !zc_zip_is_record(room, 3, 4)) {
        return false;                        /* it fails when it is read */
    }
    const size_t n = zc_zip_load_le16(room + 26);
    if (n == e->n ? memcmp(room + ZC_ZIP_HEADER_SIZE, e->name, n) == 0
                  : zc_file_read(&a->file, e->at, room, ZC_ZIP_HEADER_SIZE + n, &unused) != ZC_OK) {
        return false;
    }
    *hash = hash_name(room + ZC_ZIP_HEADER_SIZE, n);
    return true;
}

static lost_names *find_lost_names(const archive *a)
{
    const size_t most = a->directory.n <= MOST_COMPARED ? a->directory.n : 0;
    lost_names *const out = malloc(sizeof *out + most * sizeof out->hashes[0]);
    uint8_t *const room = malloc(ZC_ZIP_HEADER_SIZE + NAME_ROOM);

    for (size_t i = out != NULL && room != NULL ? out->n = 0 : most; i < most; i++) {
        out->n += has_other_name(a, &a->directory.entries[i], room, &out->hashes[out->n]);
    }
    if (out != NULL && room != NULL) {
        qsort(out->hashes, out->n, sizeof out->hashes[0], compare_hashes);
        free(room);
        return out;
    }
    free(out);
    free(room);
    return NULL;
}

/* A chunk that is absent has fill values; one whose name in the directory is damaged is not absent. */
static zc_status check_absent(archive *a, const char *name, size_t n, zc_error *err)
{
    lost_names *lost = atomic_load(&a->lost);

    if (lost == NULL) {
        lost_names *const found = find_lost_names(a);
        if (found == NULL) {
            return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        }
        if (atomic_compare_exchange_strong(&a->lost, &lost, found)) {
            lost = found;
        } else {
            free(found);                     /* another thread was faster */
        }
    }
    const uint64_t hash = hash_name(name, n);
    return bsearch(&hash, lost->hashes, lost->n, sizeof hash, compare_hashes) == NULL
               ? ZC_OK
               : zc_zip_malformed(err, "the header of an entry has this name, and its directory another one");
}

static bool is_document(const char *name)
{
    const char *const slash = strrchr(name, '/'), *const last = slash != NULL ? slash + 1 : name;

    return strcmp(last, ZC_ZARR_JSON) == 0 || strncmp(last, ".z", 2) == 0;
}

/* ---- the store ---------------------------------------------------------------------------------- */

static int get(void *user, const zarrcore_request *request)
{
    archive *const a = user;
    const size_t n = strlen(request->key), i = zc_zip_find(&a->directory, request->key, n);
    zc_error err = {0};

    if (is_named(a, i, request->key, n)) {
        return read_value(a, &a->directory.entries[i], request, &err) == ZC_OK ? ZARRCORE_OK : zc_reply_fail(request->reply, &err);
    }
    return is_document(request->key) || check_absent(a, request->key, n, &err) == ZC_OK ? ZARRCORE_ERR_MISSING
                                                                                       : zc_reply_fail(request->reply, &err);
}

/* The number of the first entry that does not lie below the n bytes of `path` and a slash. */
static size_t after(const archive *a, char *path, size_t n)
{
    path[n] = '/' + 1;
    return zc_zip_find(&a->directory, path, n + 1);
}

/* path, name: room for the longest one. */
static int list_names(const archive *a, const char *prefix, char *path, char *name, zarrcore_reply *reply)
{
    const size_t n = strlen(prefix);
    int status = ZARRCORE_OK;

    for (size_t i = zc_zip_find(&a->directory, prefix, n); status == ZARRCORE_OK && begins_with(a, i, prefix, n);) {
        const zc_zip_entry *const e = &a->directory.entries[i];
        const char *const slash = memchr(e->name + n, '/', e->n - n);
        const size_t length = (slash != NULL ? (size_t)(slash - e->name) : e->n) - n;
        memcpy(path, e->name, n + length);
        memcpy(name, e->name + n, length);
        name[length] = '\0';
        path[n + length] = '/';
        const size_t below = zc_zip_find(&a->directory, path, n + length + 1);
        const bool is_below = begins_with(a, below, path, n + length + 1);
        const size_t same = zc_zip_find(&a->directory, path, n + length);
        /* Between a key and those below it there may be others: "a", "a-b", "a/b". */
        if (length > 0 && (slash == NULL || !is_named(a, same, path, n + length))) {
            status = zarrcore_reply_name(reply, name, is_below);
        }
        i = slash != NULL ? after(a, path, n + length) : i + 1;
    }
    return status;
}

static int list(void *user, const char *prefix, zarrcore_reply *reply)
{
    char *const path = malloc(2 * NAME_ROOM);
    const int status = path != NULL ? list_names(user, prefix, path, path + NAME_ROOM, reply) : ZARRCORE_ERR_MEMORY;

    free(path);
    return status;
}

static void free_archive(void *user)
{
    archive *const a = user;

    zc_file_close(&a->file);
    zc_zip_directory_free(&a->directory);
    free(atomic_load(&a->lost));
    free(a);
}

zc_status zc_open_archive(const char *path, int flags, zarrcore_store **out, zc_error *err)
{
    archive *const a = calloc(1, sizeof *a);
    const zarrcore_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = a, .name = path, .get = get, .list = list, .close = free_archive};
    zc_status status = a != NULL ? zc_file_open(NULL, path, &a->file, err) : zc_fail(err, ZC_ERR_MEMORY, "out of memory");

    if (status != ZC_OK) {
        free(a);
        return status;
    }
    status = zc_zip_directory_read(&a->file, &a->directory, err);
    if (status == ZC_OK && (flags & ZARRCORE_READ_WRITE) != 0) {
        status = zc_fail(err, ZC_ERR_UNSUPPORTED, "%.200s: ZIP archives are only read", path);
    }
    status = status == ZC_OK ? zc_open_source(&callbacks, flags & ZARRCORE_MISSING_IS_ERROR, true, out, err) : status;
    if (status != ZC_OK) {
        free_archive(a);
    }
    return status;
}
