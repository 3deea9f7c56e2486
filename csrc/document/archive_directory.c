/* SPDX-License-Identifier: MIT
 *
 * It is refused as a whole if anything in it cannot be: a chunk that is not found would be one of fill values.
 */
#include "document/archive_directory.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/memory.h"
#include "document/tree.h"
#include "kernels/utf8.h"

#define END_SIZE ((size_t)22)                /* of the record at the end, without a comment */
#define END64_SIZE ((size_t)56)
#define LOCATOR_SIZE ((size_t)20)
#define ENTRY_SIZE ((size_t)46)              /* in the directory, without name, extra field and comment */
#define MOST_COMMENT ((size_t)65535)
#define MOST_DIRECTORY ((size_t)256 << 20)

/* Where the directory lies. */
typedef struct span {
    uint64_t start, size, before;    /* before: bytes that precede the archive, which its own offsets leave out */
    uint64_t n, most;                /* entries, as far as a number up to `most` says that: larger ones were cut off by some writers */
} span;

unsigned zc_zip_load_le16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

bool zc_zip_is_record(const uint8_t *p, char a, char b)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

zc_status zc_zip_malformed(zc_error *err, const char *what)
{
    return zc_fail(err, ZC_ERR_CORRUPT, "the ZIP archive is damaged: %s", what);
}

static zc_status read_end64(const zc_file *file, uint64_t locator_at, uint64_t *end, span *out, zc_error *err)
{
    uint8_t record[END64_SIZE];

    if (locator_at < END64_SIZE) {
        return zc_zip_malformed(err, "a zip64 record is missing");
    }
    *end = locator_at - END64_SIZE;
    const zc_status status = zc_file_read(file, *end, record, sizeof record, err);
    if (status == ZC_OK && !zc_zip_is_record(record, 6, 6)) {
        return zc_zip_malformed(err, "a zip64 record is missing");
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

    while (status == ZC_OK && at > 0 && !zc_zip_is_record(tail + at - 1, 5, 6)) {
        at--;
    }
    if (status == ZC_OK && at-- == 0) {
        status = zc_fail(err, ZC_ERR_MISSING, "the file is no ZIP archive");
    }
    if (status == ZC_OK) {
        uint64_t end = file->size - n + at;
        out->n = zc_zip_load_le16(tail + at + 10);
        out->most = UINT16_MAX;
        out->size = zc_load_le32(tail + at + 12);
        out->start = zc_load_le32(tail + at + 16);
        if (at >= LOCATOR_SIZE && zc_zip_is_record(tail + at - LOCATOR_SIZE, 6, 7)) {
            status = read_end64(file, end - LOCATOR_SIZE, &end, out, err);
        } else if (zc_zip_load_le16(tail + at + 4) != 0 || zc_zip_load_le16(tail + at + 6) != 0) {
            status = zc_fail(err, ZC_ERR_UNSUPPORTED, "the ZIP archive has several volumes");
        }
        if (status == ZC_OK && (out->size > end || out->start > end - out->size)) {
            status = zc_zip_malformed(err, "its directory has no room");
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

static zc_status check_name(const zc_zip_entry *e, zc_error *err)
{
    const uint8_t *const name = (const uint8_t *)e->name;

    if ((e->flags & ZC_ZIP_NAME_IS_UTF8) == 0 && !zc_is_ascii(name, e->n)) {
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

static zc_status read_extra(zc_zip_entry *e, const uint8_t *extra, size_t n, zc_error *err)
{
    const uint8_t *large = NULL;
    size_t n_large = 0;

    while (n >= 4) {
        const size_t size = zc_zip_load_le16(extra + 2);
        if (size > n - 4) {
            return zc_zip_malformed(err, "an extra field is cut off");
        }
        if (zc_zip_load_le16(extra) == 1 && large == NULL) {
            large = extra + 4;
            n_large = size;
        }
        extra += 4 + size;
        n -= 4 + size;
    }
    if (!take_large(&e->size, &large, &n_large) || !take_large(&e->stored, &large, &n_large) || !take_large(&e->at, &large, &n_large)) {
        return zc_zip_malformed(err, "a zip64 field is missing");
    }
    return ZC_OK;
}

/* The entry at p, of whose directory `left` bytes are left; *taken: how many it has. */
static zc_status read_entry(const uint8_t *p, size_t left, const span *where, zc_zip_entry *e, size_t *taken, zc_error *err)
{
    if (left < ENTRY_SIZE || !zc_zip_is_record(p, 1, 2)) {
        return zc_zip_malformed(err, "its directory ends within an entry");
    }
    const size_t n = zc_zip_load_le16(p + 28), extra = zc_zip_load_le16(p + 30);
    *taken = ENTRY_SIZE + n + extra + zc_zip_load_le16(p + 32);
    if (*taken > left) {
        return zc_zip_malformed(err, "its directory ends within an entry");
    }
    e->flags = zc_zip_load_le16(p + 8);
    e->method = zc_zip_load_le16(p + 10);
    e->crc = zc_load_le32(p + 16);
    e->stored = zc_load_le32(p + 20);
    e->size = zc_load_le32(p + 24);
    e->at = zc_load_le32(p + 42);
    e->name = (const char *)p + ENTRY_SIZE;
    e->n = n;
    const zc_status status = read_extra(e, p + ENTRY_SIZE + n, extra, err);
    if (status == ZC_OK && e->at >= where->start - where->before) {
        return zc_zip_malformed(err, "an entry lies outside of it");
    }
    e->at += where->before;
    return status == ZC_OK ? check_name(e, err) : status;
}

static int compare_offsets(const void *a, const void *b)
{
    const zc_zip_entry *const x = a, *const y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* By name; of entries with one name, the one that was written last comes last. */
static int compare_names(const void *a, const void *b)
{
    const zc_zip_entry *const x = a, *const y = b;
    const size_t n = x->n < y->n ? x->n : y->n;
    const int order = memcmp(x->name, y->name, n);

    return order != 0 ? order : x->n != y->n ? (x->n > y->n) - (x->n < y->n) : (x->number > y->number) - (x->number < y->number);
}

/* An entry ends where the next one begins; overlapping entries make small archives large. */
static zc_status limit_entries(zc_zip_directory *directory, uint64_t end, zc_error *err)
{
    qsort(directory->entries, directory->n, sizeof *directory->entries, compare_offsets);
    for (size_t i = directory->n; i-- > 0;) {
        if (directory->entries[i].at == end) {
            return zc_zip_malformed(err, "its directory has two entries that begin at one place");
        }
        directory->entries[i].limit = end;
        end = directory->entries[i].at;
    }
    return ZC_OK;
}

static void keep_last_of_each(zc_zip_directory *directory)
{
    size_t n = 0;

    qsort(directory->entries, directory->n, sizeof *directory->entries, compare_names);
    for (size_t i = 0; i < directory->n; i++) {
        const zc_zip_entry *const e = &directory->entries[i];
        if (n > 0 && directory->entries[n - 1].n == e->n && memcmp(directory->entries[n - 1].name, e->name, e->n) == 0) {
            n--;
        }
        directory->entries[n++] = *e;
    }
    directory->n = n;
}

static zc_status parse_directory(zc_zip_directory *directory, const span *where, size_t room, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t at = 0, taken = 0; at < where->size && status == ZC_OK; at += taken) {
        zc_zip_entry *const e = &directory->entries[directory->n];
        if (zc_check_cancelled(err) != ZC_OK) {
            return ZC_ERR_CANCELLED;
        }
        if (directory->n == room) {
            return zc_zip_malformed(err, "its directory has more entries than it has room for");
        }
        e->number = (unsigned)directory->n;
        status = read_entry(directory->bytes + at, (size_t)where->size - at, where, e, &taken, err);
        directory->n++;
    }
    if (status == ZC_OK && ((directory->n ^ where->n) & where->most) != 0) {
        return zc_zip_malformed(err, "its directory has another number of entries than its end has");
    }
    status = status == ZC_OK ? limit_entries(directory, where->start, err) : status;
    if (status == ZC_OK) {
        keep_last_of_each(directory);
    }
    return status;
}

zc_status zc_zip_directory_read(const zc_file *file, zc_zip_directory *out, zc_error *err)
{
    span where;
    zc_status status = find_directory(file, &where, err);

    if (status != ZC_OK) {
        return status;
    }
    if (where.size > MOST_DIRECTORY) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%llu bytes are too many for the directory of a ZIP archive", (unsigned long long)where.size);
    }
    const size_t room = (size_t)where.size / ENTRY_SIZE;
    out->bytes = zc_memory_new((size_t)where.size);
    out->entries = zc_memory_new(room * sizeof *out->entries);
    if (out->bytes == NULL || out->entries == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    status = zc_file_read(file, where.start, out->bytes, (size_t)where.size, err);
    return status == ZC_OK ? parse_directory(out, &where, room, err) : status;
}

void zc_zip_directory_free(zc_zip_directory *directory)
{
    zc_memory_delete(directory->bytes);
    zc_memory_delete(directory->entries);
}

size_t zc_zip_find(const zc_zip_directory *directory, const char *name, size_t n)
{
    const zc_zip_entry wanted = {.name = name, .n = n};
    size_t low = 0, high = directory->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_names(&directory->entries[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
