/* SPDX-License-Identifier: MIT
 *
 * ZIP archives as stores for reading (PKWARE's APPNOTE 6.3; entries that are stored or deflated, zip64).
 *
 * The directory is read when the archive is opened, and refused as a whole if anything in it cannot be: a chunk that is not found would be
 * one of fill values.  What it says of an entry is checked when that is read: nothing is read that belongs to another entry or to the
 * directory, no more is inflated than was announced, and what is read as a whole has to have its CRC.
 */
#include "document/archive.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/memory.h"
#include "codecs/abi.h"
#include "document/tree.h"
#include "io/file.h"
#include "io/temporary.h"
#include "kernels/utf8.h"

#define END_SIZE ((size_t)22)                /* of the record at the end, without a comment */
#define END64_SIZE ((size_t)56)
#define LOCATOR_SIZE ((size_t)20)
#define ENTRY_SIZE ((size_t)46)              /* in the directory, without name, extra field and comment */
#define HEADER_SIZE ((size_t)30)             /* before the data, without name and extra field */
#define MOST_COMMENT ((size_t)65535)
#define NAME_ROOM ((size_t)65535 + 2)
#define MOST_DIRECTORY ((size_t)256 << 20)
#define MOST_INFLATED UINT64_C(1032)         /* bytes that one byte can stand for */
#define PIECE ((size_t)64 << 10)

#define MOST_COMPARED ((size_t)1 << 14)      /* entries whose names are compared with those of their headers, before a chunk is absent */

enum { STORED = 0, DEFLATED = 8, RAW_WINDOW = -15 };
enum { ENCRYPTED = 0x2041, PATCHED = 0x20, NAME_IS_UTF8 = 0x800 };

/* A key. */
typedef struct entry {
    const char *name;        /* in the directory; n bytes, not terminated */
    size_t n;
    uint64_t at, limit;      /* of its header; of what follows the entry */
    uint64_t stored, size;   /* bytes in the archive, and of the value */
    uint32_t crc;
    unsigned method, flags, number;
} entry;

/* The names that local headers have and the directory has not. */
typedef struct lost_names {
    size_t n;
    uint64_t hashes[];       /* sorted */
} lost_names;

typedef struct archive {
    zc_file file;
    uint8_t *directory;
    entry *entries;          /* by name, each once */
    size_t n;
    _Atomic(lost_names *) lost;     /* NULL until a chunk is absent */
} archive;

/* Where the directory lies. */
typedef struct span {
    uint64_t start, size, before;    /* before: bytes that precede the archive, which its own offsets leave out */
    uint64_t n, most;                /* entries, as far as a number up to `most` says that: larger ones were cut off by some writers */
} span;

static unsigned load_le16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static bool is_signature(const uint8_t *p, char a, char b)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

static zc_status malformed(zc_error *err, const char *what)
{
    return zc_fail(err, ZC_ERR_CORRUPT, "the ZIP archive is damaged: %s", what);
}

/* ---- the directory ------------------------------------------------------------------------------ */

static zc_status read_end64(const zc_file *file, uint64_t locator_at, uint64_t *end, span *out, zc_error *err)
{
    uint8_t record[END64_SIZE];

    if (locator_at < END64_SIZE) {
        return malformed(err, "a zip64 record is missing");
    }
    *end = locator_at - END64_SIZE;
    const zc_status status = zc_file_read(file, *end, record, sizeof record, err);
    if (status == ZC_OK && !is_signature(record, 6, 6)) {
        return malformed(err, "a zip64 record is missing");
    }
    out->n = zc_load_le64(record + 32);
    out->most = UINT64_MAX;
    out->size = zc_load_le64(record + 40);
    out->start = zc_load_le64(record + 48);
    return status;
}

/* The span that the record at the end names; ZC_ERR_MISSING if there is no such record. */
static zc_status find_directory(const zc_file *file, span *out, zc_error *err)
{
    const size_t most = LOCATOR_SIZE + END_SIZE + MOST_COMMENT, n = file->size < most ? (size_t)file->size : most;
    uint8_t *const tail = malloc(n + 1);
    size_t at = n >= END_SIZE ? n - END_SIZE + 1 : 0;
    zc_status status = tail != NULL ? zc_file_read(file, file->size - n, tail, n, err) : zc_fail(err, ZC_ERR_MEMORY, "out of memory");

    while (status == ZC_OK && at > 0 && !is_signature(tail + at - 1, 5, 6)) {
        at--;
    }
    if (status == ZC_OK && at-- == 0) {
        status = zc_fail(err, ZC_ERR_MISSING, "the file is no ZIP archive");
    }
    if (status == ZC_OK) {
        uint64_t end = file->size - n + at;
        out->n = load_le16(tail + at + 10);
        out->most = UINT16_MAX;
        out->size = zc_load_le32(tail + at + 12);
        out->start = zc_load_le32(tail + at + 16);
        if (at >= LOCATOR_SIZE && is_signature(tail + at - LOCATOR_SIZE, 6, 7)) {
            status = read_end64(file, end - LOCATOR_SIZE, &end, out, err);
        } else if (load_le16(tail + at + 4) != 0 || load_le16(tail + at + 6) != 0) {
            status = zc_fail(err, ZC_ERR_UNSUPPORTED, "the ZIP archive has several volumes");
        }
        if (status == ZC_OK && (out->size > end || out->start > end - out->size)) {
            status = malformed(err, "its directory has no room");
        }
        out->before = status == ZC_OK ? end - out->size - out->start : 0;
        out->start += out->before;
    }
    free(tail);
    return status;
}

/* Is it a key, or (with a slash at its end) a prefix of keys? */
static bool is_key(const char *name, size_t n)
{
    const size_t end = n > 0 && name[n - 1] == '/' ? n - 1 : n;

    for (size_t from = 0, to; from <= end; from = to + 1) {
        for (to = from; to < end && name[to] != '/';) {
            to++;
        }
        if (to == from || (to - from <= 2 && name[from] == '.' && name[to - 1] == '.')) {
            return false;
        }
    }
    return memchr(name, '\0', n) == NULL;
}

static zc_status check_name(const entry *e, zc_error *err)
{
    const uint8_t *const name = (const uint8_t *)e->name;

    if ((e->flags & NAME_IS_UTF8) == 0 && !zc_is_ascii(name, e->n)) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "entry %u of the ZIP archive has a name that is not in UTF-8", e->number);
    }
    if (zc_utf8_valid(name, e->n) != e->n || !is_key(e->name, e->n)) {
        return zc_fail(err, ZC_ERR_CORRUPT, "entry %u of the ZIP archive has a name that is no key", e->number);
    }
    return ZC_OK;
}

/* One of the numbers that stand in the zip64 field where they do not fit. */
static bool take_large(uint64_t *value, const uint8_t **field, size_t *n)
{
    if (*value != UINT32_MAX) {
        return true;
    }
    if (*n < 8) {
        return false;
    }
    *value = zc_load_le64(*field);
    *field += 8;
    *n -= 8;
    return true;
}

static zc_status read_extra(entry *e, const uint8_t *extra, size_t n, zc_error *err)
{
    const uint8_t *large = NULL;
    size_t n_large = 0;

    while (n >= 4) {
        const size_t size = load_le16(extra + 2);
        if (size > n - 4) {
            return malformed(err, "an extra field is cut off");
        }
        if (load_le16(extra) == 1 && large == NULL) {
            large = extra + 4;
            n_large = size;
        }
        extra += 4 + size;
        n -= 4 + size;
    }
    if (!take_large(&e->size, &large, &n_large) || !take_large(&e->stored, &large, &n_large) || !take_large(&e->at, &large, &n_large)) {
        return malformed(err, "a zip64 field is missing");
    }
    return ZC_OK;
}

/* The entry at p, of whose directory `left` bytes are left; *taken: how many it has. */
static zc_status read_entry(const uint8_t *p, size_t left, const span *where, entry *e, size_t *taken, zc_error *err)
{
    if (left < ENTRY_SIZE || !is_signature(p, 1, 2)) {
        return malformed(err, "its directory ends within an entry");
    }
    const size_t n = load_le16(p + 28), extra = load_le16(p + 30);
    *taken = ENTRY_SIZE + n + extra + load_le16(p + 32);
    if (*taken > left) {
        return malformed(err, "its directory ends within an entry");
    }
    e->flags = load_le16(p + 8);
    e->method = load_le16(p + 10);
    e->crc = zc_load_le32(p + 16);
    e->stored = zc_load_le32(p + 20);
    e->size = zc_load_le32(p + 24);
    e->at = zc_load_le32(p + 42);
    e->name = (const char *)p + ENTRY_SIZE;
    e->n = n;
    const zc_status status = read_extra(e, p + ENTRY_SIZE + n, extra, err);
    if (status == ZC_OK && e->at >= where->start - where->before) {
        return malformed(err, "an entry lies outside of it");
    }
    e->at += where->before;
    return status == ZC_OK ? check_name(e, err) : status;
}

static int compare_offsets(const void *a, const void *b)
{
    const entry *const x = a, *const y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* By name; of entries with one name, the one that was written last comes last. */
static int compare_names(const void *a, const void *b)
{
    const entry *const x = a, *const y = b;
    const size_t n = x->n < y->n ? x->n : y->n;
    const int order = memcmp(x->name, y->name, n);

    return order != 0 ? order : x->n != y->n ? (x->n > y->n) - (x->n < y->n) : (x->number > y->number) - (x->number < y->number);
}

/* An entry ends where the next one begins; overlapping entries make small archives large. */
static zc_status limit_entries(archive *a, uint64_t end, zc_error *err)
{
    qsort(a->entries, a->n, sizeof *a->entries, compare_offsets);
    for (size_t i = a->n; i-- > 0;) {
        if (a->entries[i].at == end) {
            return malformed(err, "its directory has two entries that begin at one place");
        }
        a->entries[i].limit = end;
        end = a->entries[i].at;
    }
    return ZC_OK;
}

static void keep_last_of_each(archive *a)
{
    size_t n = 0;

    qsort(a->entries, a->n, sizeof *a->entries, compare_names);
    for (size_t i = 0; i < a->n; i++) {
        const entry *const e = &a->entries[i];
        if (n > 0 && a->entries[n - 1].n == e->n && memcmp(a->entries[n - 1].name, e->name, e->n) == 0) {
            n--;
        }
        a->entries[n++] = *e;
    }
    a->n = n;
}

static zc_status parse_directory(archive *a, const span *where, size_t room, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t at = 0, taken = 0; at < where->size && status == ZC_OK; at += taken) {
        entry *const e = &a->entries[a->n];
        if (zc_check_cancelled(err) != ZC_OK) {
            return ZC_ERR_CANCELLED;
        }
        if (a->n == room) {
            return malformed(err, "its directory has more entries than it has room for");
        }
        e->number = (unsigned)a->n;
        status = read_entry(a->directory + at, (size_t)where->size - at, where, e, &taken, err);
        a->n++;
    }
    if (status == ZC_OK && ((a->n ^ where->n) & where->most) != 0) {
        return malformed(err, "its directory has another number of entries than its end has");
    }
    status = status == ZC_OK ? limit_entries(a, where->start, err) : status;
    if (status == ZC_OK) {
        keep_last_of_each(a);
    }
    return status;
}

static zc_status read_directory(archive *a, zc_error *err)
{
    span where;
    zc_status status = find_directory(&a->file, &where, err);

    if (status != ZC_OK) {
        return status;
    }
    if (where.size > MOST_DIRECTORY) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%llu bytes are too many for the directory of a ZIP archive", (unsigned long long)where.size);
    }
    const size_t room = (size_t)where.size / ENTRY_SIZE;
    a->directory = zc_memory_new((size_t)where.size);
    a->entries = zc_memory_new(room * sizeof *a->entries);
    if (a->directory == NULL || a->entries == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    status = zc_file_read(&a->file, where.start, a->directory, (size_t)where.size, err);
    return status == ZC_OK ? parse_directory(a, &where, room, err) : status;
}

/* ---- entries ------------------------------------------------------------------------------------ */

/* The first entry whose name is not before the n bytes of `name`. */
static size_t find_from(const archive *a, const char *name, size_t n)
{
    const entry wanted = {.name = name, .n = n};
    size_t low = 0, high = a->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_names(&a->entries[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_named(const archive *a, size_t i, const char *name, size_t n)
{
    return i < a->n && a->entries[i].n == n && memcmp(a->entries[i].name, name, n) == 0;
}

static bool begins_with(const archive *a, size_t i, const char *prefix, size_t n)
{
    return i < a->n && a->entries[i].n >= n && memcmp(a->entries[i].name, prefix, n) == 0;
}

/* Where its data begin; all of them lie within its limit. */
static zc_status find_data(const archive *a, const entry *e, uint64_t *out, zc_error *err)
{
    uint8_t header[HEADER_SIZE];
    const zc_status status = zc_file_read(&a->file, e->at, header, sizeof header, err);

    if (status != ZC_OK) {
        return status;
    }
    if (!is_signature(header, 3, 4) || load_le16(header + 26) != e->n) {
        return malformed(err, "the entry has another header than its directory has");
    }
    *out = e->at + HEADER_SIZE + e->n + load_le16(header + 28);
    if (*out > e->limit || e->stored > e->limit - *out) {
        return malformed(err, "the entry overlaps with another one, or with the directory");
    }
    char *const name = malloc(e->n + 1);
    zc_status named = name != NULL ? zc_file_read(&a->file, e->at + HEADER_SIZE, name, e->n, err)
                                   : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    if (named == ZC_OK && memcmp(name, e->name, e->n) != 0) {
        named = malformed(err, "the entry has another name than its directory has");
    }
    free(name);
    return named;
}

static zc_status check_sum(const entry *e, const uint8_t *data, size_t n, zc_error *err)
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

static zc_status inflate_range(const archive *a, const entry *e, uint64_t at, uint64_t first, uint8_t *dst, size_t n, zc_error *err)
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

static zc_status check_readable(const entry *e, zc_error *err)
{
    if ((e->flags & (ENCRYPTED | PATCHED)) != 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "the entry of the ZIP archive is %s", e->flags & PATCHED ? "a patch" : "encrypted");
    }
    if (e->method != STORED && e->method != DEFLATED) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "the entry of the ZIP archive is compressed by method %u", e->method);
    }
    if (e->method == STORED ? e->size != e->stored : e->size / MOST_INFLATED > e->stored) {
        return malformed(err, "the entry cannot have the size that its directory has");
    }
    return ZC_OK;
}

static zc_status read_value(const archive *a, const entry *e, const zarrcore_request *request, zc_error *err)
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
    status = e->method == STORED ? zc_file_read(&a->file, at + first, dst, (size_t)n, err)
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
static bool has_other_name(const archive *a, const entry *e, uint8_t *room, uint64_t *hash)
{
    zc_error unused = {0};

    if (zc_file_read(&a->file, e->at, room, HEADER_SIZE + e->n, &unused) != ZC_OK || !is_signature(room, 3, 4)) {
        return false;                        /* it fails when it is read */
    }
    const size_t n = load_le16(room + 26);
    if (n == e->n ? memcmp(room + HEADER_SIZE, e->name, n) == 0
                  : zc_file_read(&a->file, e->at, room, HEADER_SIZE + n, &unused) != ZC_OK) {
        return false;
    }
    *hash = hash_name(room + HEADER_SIZE, n);
    return true;
}

static lost_names *find_lost_names(const archive *a)
{
    const size_t most = a->n <= MOST_COMPARED ? a->n : 0;
    lost_names *const out = malloc(sizeof *out + most * sizeof out->hashes[0]);
    uint8_t *const room = malloc(HEADER_SIZE + NAME_ROOM);

    for (size_t i = out != NULL && room != NULL ? out->n = 0 : most; i < most; i++) {
        out->n += has_other_name(a, &a->entries[i], room, &out->hashes[out->n]);
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
               : malformed(err, "the header of an entry has this name, and its directory another one");
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
    const size_t n = strlen(request->key), i = find_from(a, request->key, n);
    zc_error err = {0};

    if (is_named(a, i, request->key, n)) {
        return read_value(a, &a->entries[i], request, &err) == ZC_OK ? ZARRCORE_OK : zc_reply_fail(request->reply, &err);
    }
    return is_document(request->key) || check_absent(a, request->key, n, &err) == ZC_OK ? ZARRCORE_ERR_MISSING
                                                                                       : zc_reply_fail(request->reply, &err);
}

/* The number of the first entry that does not lie below the n bytes of `path` and a slash. */
static size_t after(const archive *a, char *path, size_t n)
{
    path[n] = '/' + 1;
    return find_from(a, path, n + 1);
}

/* path, name: room for the longest one. */
static int list_names(const archive *a, const char *prefix, char *path, char *name, zarrcore_reply *reply)
{
    const size_t n = strlen(prefix);
    int status = ZARRCORE_OK;

    for (size_t i = find_from(a, prefix, n); status == ZARRCORE_OK && begins_with(a, i, prefix, n);) {
        const entry *const e = &a->entries[i];
        const char *const slash = memchr(e->name + n, '/', e->n - n);
        const size_t length = (slash != NULL ? (size_t)(slash - e->name) : e->n) - n;
        memcpy(path, e->name, n + length);
        memcpy(name, e->name + n, length);
        name[length] = '\0';
        path[n + length] = '/';
        const size_t below = find_from(a, path, n + length + 1);
        const bool is_below = begins_with(a, below, path, n + length + 1);
        const size_t same = find_from(a, path, n + length);
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
    zc_memory_delete(a->directory);
    zc_memory_delete(a->entries);
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
    status = read_directory(a, err);
    if (status == ZC_OK && (flags & ZARRCORE_READ_WRITE) != 0) {
        status = zc_fail(err, ZC_ERR_UNSUPPORTED, "%.200s: ZIP archives are only read", path);
    }
    status = status == ZC_OK ? zc_open_source(&callbacks, flags & ZARRCORE_MISSING_IS_ERROR, true, out, err) : status;
    if (status != ZC_OK) {
        free_archive(a);
    }
    return status;
}
