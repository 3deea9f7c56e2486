/* SPDX-License-Identifier: MIT
 *
 * bytes -> bytes codecs of format 3.
 */
#include <string.h>

#include "document/document.h"

#define BLOSC_TYPESIZE_MAX 255       /* blosc shuffles larger items as if they were bytes */

static zc_status blosc_v3(const zc_node *configuration, size_t item_size, zc_codec *out)
{
    static const char *const members[] = {"cname", "clevel", "shuffle", "typesize", "blocksize", NULL};
    static const char *const compressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", NULL};
    static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle", NULL};
    const zc_node cname = zc_node_member(configuration, "cname");
    const zc_node shuffle = zc_node_member(configuration, "shuffle");
    int64_t typesize = (int64_t)item_size, blocksize = 0, level = 5;
    int compressor = ZC_BLOSC_ZSTD, which = -1;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && shuffle.value != NULL) {
        status = zc_node_choice(&shuffle, shuffles, &which);
    }
    if (status == ZC_OK && cname.value != NULL) {
        status = zc_node_choice(&cname, compressors, &compressor);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_int(configuration, "clevel", 0, 9, &level);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_int(configuration, "typesize", 1, INT32_MAX, &typesize);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_int(configuration, "blocksize", 0, INT32_MAX, &blocksize);
    }
    out->level = (int)level;
    out->blosc.compressor = (zc_blosc_compressor)compressor;
    out->blosc.typesize = typesize <= BLOSC_TYPESIZE_MAX ? (size_t)typesize : 1;
    out->blosc.blocksize = (size_t)blocksize;
    if (which < 0) {
        which = typesize == 1 ? ZC_BLOSC_BITSHUFFLE : ZC_BLOSC_BYTESHUFFLE;
    }
    out->blosc.shuffle = (zc_blosc_shuffle)which;
    return status;
}

static zc_status level_v3(const zc_node *configuration, int64_t low, int64_t high, zc_codec *out)
{
    int64_t level = out->level;
    const zc_status status = zc_node_optional_int(configuration, "level", low, high, &level);

    out->level = (int)level;
    return status;
}

zc_status zc_stage_check(const zc_node *codec, const zc_codec *stage)
{
    zc_error err;

    zc_error_clear(&err);
    return zc_codec_check(stage, &err) == ZC_OK ? ZC_OK : zc_node_fail(codec, "%s", err.message);
}

zc_status zc_stage_v3(const zc_node *codec, const char *name, const zc_node *configuration, size_t item_size,
                      zc_codec *out, bool *known)
{
    static const char *const names[] = {"blosc", "gzip", "zstd", "crc32c"};
    static const char *const level[] = {"level", NULL};
    static const char *const level_checksum[] = {"level", "checksum", NULL};
    static const char *const none[] = {NULL};
    size_t which = 0;
    zc_status status;

    while (which < sizeof names / sizeof names[0] && strcmp(names[which], name) != 0) {
        which++;
    }
    *known = which < sizeof names / sizeof names[0];
    if (!*known) {
        return ZC_OK;
    }
    zc_codec_init(out, name);
    switch (which) {
    case 0:
        status = blosc_v3(configuration, item_size, out);
        break;
    case 1:
        status = zc_node_members(configuration, level, false);
        status = status == ZC_OK ? level_v3(configuration, 0, 9, out) : status;
        break;
    case 2:
        out->level = 0;
        status = zc_node_members(configuration, level_checksum, false);
        status = status == ZC_OK ? level_v3(configuration, -131072, 22, out) : status;
        status = status == ZC_OK ? zc_node_optional_bool(configuration, "checksum", &out->checksum) : status;
        break;
    default:
        status = zc_node_members(configuration, none, false);
    }
    return status == ZC_OK ? zc_stage_check(codec, out) : status;
}
