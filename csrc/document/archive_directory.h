/* SPDX-License-Identifier: MIT
 *
 * The directory of a ZIP archive (PKWARE's APPNOTE 6.3, zip64), and its records.
 */
#pragma once

#include "io/file.h"

#define ZC_ZIP_HEADER_SIZE ((size_t)30)      /* of the header before the data of an entry, without name and extra field */

enum { ZC_ZIP_STORED = 0, ZC_ZIP_DEFLATED = 8 };
enum { ZC_ZIP_ENCRYPTED = 0x2041, ZC_ZIP_PATCHED = 0x20, ZC_ZIP_NAME_IS_UTF8 = 0x800 };

/* A key. */
typedef struct zc_zip_entry {
    const char *name;        /* in the directory; n bytes, not terminated */
    size_t n;
    uint64_t at, limit;      /* of its header; of what follows the entry */
    uint64_t stored, size;   /* bytes in the archive, and of the value */
    uint32_t crc;
    unsigned method, flags, number;
} zc_zip_entry;

typedef struct zc_zip_directory {
    uint8_t *bytes;
    zc_zip_entry *entries;   /* by name, each once */
    size_t n;
} zc_zip_directory;

/* Read and check all of it; ZC_ERR_MISSING if the file is no archive.  What is in *out is to be freed if this fails, too. */
zc_status zc_zip_directory_read(const zc_file *file, zc_zip_directory *out, zc_error *err);

void zc_zip_directory_free(zc_zip_directory *directory);

/* The first entry whose name is not before the n bytes of `name`. */
size_t zc_zip_find(const zc_zip_directory *directory, const char *name, size_t n);

zc_status zc_zip_malformed(zc_error *err, const char *what);

bool zc_zip_is_record(const uint8_t *p, char a, char b);

unsigned zc_zip_load_le16(const uint8_t *p);
