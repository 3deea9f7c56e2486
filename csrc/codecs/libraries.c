/* SPDX-License-Identifier: MIT */
#include "codecs/libraries.h"

#include "codecs/abi.h"

#ifdef ZC_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

#define TEXT_OF(word) #word
#define TEXT(macro) TEXT_OF(macro)

#ifndef ZC_LIBS_ORIGIN
#define ZC_LIBS_ORIGIN unknown
#endif

static const char *libdeflate_version(void)
{
#ifdef ZC_HAVE_LIBDEFLATE
    return LIBDEFLATE_VERSION_STRING;    /* the library itself cannot be asked */
#else
    return NULL;
#endif
}

/* A build may take the encoder from a later release than the decoder. */
static const char *zstd_encoder_version(void)
{
#ifdef ZC_ZSTD_ENCODER
    return TEXT(ZC_ZSTD_ENCODER);
#else
    return ZSTD_versionString();
#endif
}

typedef struct entry {
    const char *name;
    const char *(*version)(void);
} entry;

static const entry entries[] = {
    {"blosc", blosc_get_version_string},
    {"zstd", ZSTD_versionString},
    {"zstd encoder", zstd_encoder_version},
    {"lz4", LZ4_versionString},
    {"zlib", zlibVersion},
    {"libdeflate", libdeflate_version},
};

bool zc_library_get(size_t i, zc_library *out)
{
    if (i >= sizeof(entries) / sizeof(entries[0])) {
        return false;
    }
    *out = (zc_library){entries[i].name, entries[i].version()};
    return true;
}

const char *zc_libraries_origin(void)
{
    return TEXT(ZC_LIBS_ORIGIN);
}
