/* SPDX-License-Identifier: MIT
 *
 * bytes -> bytes codecs: the configurations of formats 2 and 3.
 */
#include <string.h>

#include "document/document.h"

static const char *const compressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", NULL};
static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle", NULL};

#define BLOSC_TYPESIZE_MAX 255       /* blosc shuffles larger items as if they were bytes */

/* An optional integer member of a configuration. */
static zc_status optional_int(const zc_node *configuration, const char *name, int64_t low, int64_t high,
                              int64_t *inout)
{
    const zc_node node = zc_node_member(configuration, name);

    return node.value == NULL ? ZC_OK : zc_node_int(&node, low, high, inout);
}

static zc_status optional_bool(const zc_node *configuration, const char *name, bool *inout)
{
    const zc_node node = zc_node_member(configuration, name);

    return node.value == NULL ? ZC_OK : zc_node_bool(&node, inout);
}

/* One number that all but blosc have at most. */
static zc_status set_level(const zc_node *configuration, const char *name, int64_t low, int64_t high,
                           int64_t standard, zc_codec *out)
{
    int64_t level = standard;
    const zc_status status = optional_int(configuration, name, low, high, &level);

    out->level = (int)level;
    return status;
}

/* cname, clevel, blocksize and typesize; shuffle is written differently in the two formats. */
static zc_status set_blosc(const zc_node *configuration, const zc_dtype *dtype, int compressor,
                           int64_t shuffle, zc_codec *out)
{
    const zc_node cname = zc_node_member(configuration, "cname");
    int64_t typesize = (int64_t)dtype->size, blocksize = 0;
    zc_status status = cname.value != NULL ? zc_node_choice(&cname, compressors, &compressor) : ZC_OK;

    if (status == ZC_OK) {
        status = set_level(configuration, "clevel", 0, 9, 5, out);
    }
    if (status == ZC_OK) {
        status = optional_int(configuration, "typesize", 1, INT32_MAX, &typesize);
    }
    if (status == ZC_OK) {
        status = optional_int(configuration, "blocksize", 0, INT32_MAX, &blocksize);
    }
    out->blosc.compressor = (zc_blosc_compressor)compressor;
    out->blosc.typesize = typesize <= BLOSC_TYPESIZE_MAX ? (size_t)typesize : 1;
    out->blosc.blocksize = (size_t)blocksize;
    if (shuffle < 0) {
        shuffle = typesize == 1 ? ZC_BLOSC_BITSHUFFLE : ZC_BLOSC_BYTESHUFFLE;
    }
    out->blosc.shuffle = (zc_blosc_shuffle)shuffle;
    return status;
}

static zc_status blosc_v3(const zc_node *configuration, const zc_dtype *dtype, zc_codec *out)
{
    static const char *const members[] = {"cname", "clevel", "shuffle", "typesize", "blocksize", NULL};
    const zc_node shuffle = zc_node_member(configuration, "shuffle");
    int which = -1;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && shuffle.value != NULL) {
        status = zc_node_choice(&shuffle, shuffles, &which);
    }
    return status == ZC_OK ? set_blosc(configuration, dtype, ZC_BLOSC_ZSTD, which, out) : status;
}

static zc_status blosc_v2(const zc_node *configuration, const zc_dtype *dtype, zc_codec *out)
{
    int64_t shuffle = ZC_BLOSC_BYTESHUFFLE;
    const zc_status status = optional_int(configuration, "shuffle", -1, 2, &shuffle);

    return status == ZC_OK ? set_blosc(configuration, dtype, ZC_BLOSC_LZ4, shuffle, out) : status;
}

/* What the engine itself thinks of the configuration. */
static zc_status check(const zc_node *codec, const zc_codec *out)
{
    zc_error err;

    zc_error_clear(&err);
    return zc_codec_check(out, &err) == ZC_OK ? ZC_OK : zc_node_fail(codec, "%s", err.message);
}

zc_status zc_stage_v3(const zc_node *codec, const char *name, const zc_node *configuration,
                      const zc_dtype *dtype, zc_codec *out, bool *known)
{
    static const char *const level[] = {"level", NULL};
    static const char *const level_checksum[] = {"level", "checksum", NULL};
    static const char *const none[] = {NULL};
    zc_status status;

    *known = true;
    if (strcmp(name, "blosc") == 0) {
        zc_codec_init(out, name);
        status = blosc_v3(configuration, dtype, out);
    } else if (strcmp(name, "gzip") == 0) {
        zc_codec_init(out, name);
        status = zc_node_members(configuration, level, false);
        status = status == ZC_OK ? set_level(configuration, "level", 0, 9, 5, out) : status;
    } else if (strcmp(name, "zstd") == 0) {
        zc_codec_init(out, name);
        status = zc_node_members(configuration, level_checksum, false);
        status = status == ZC_OK ? set_level(configuration, "level", -131072, 22, 0, out) : status;
        status = status == ZC_OK ? optional_bool(configuration, "checksum", &out->checksum) : status;
    } else if (strcmp(name, "crc32c") == 0) {
        zc_codec_init(out, name);
        status = zc_node_members(configuration, none, false);
    } else {
        *known = false;
        return ZC_OK;
    }
    return status == ZC_OK ? check(codec, out) : status;
}

zc_status zc_compressor_v2(const zc_node *node, const zc_dtype *dtype, zc_chain *out)
{
    static const char *const members[] = {"id", "cname", "clevel", "shuffle", "typesize", "blocksize",
                                          "level", "checksum", "acceleration", NULL};
    static const char *const ids[] = {"blosc", "zlib", "gzip", "zstd", "lz4", NULL};
    const zc_node id = zc_node_member(node, "id");
    int which = 0;
    zc_codec *const codec = &out->stages[0];

    if (cJSON_IsNull(node->value)) {
        return ZC_OK;
    }
    zc_status status = zc_node_object(node);
    if (status == ZC_OK) {
        status = zc_node_choice(&id, ids, &which);
    }
    if (status == ZC_OK) {
        status = zc_node_members(node, members, false);
    }
    if (status != ZC_OK) {
        return status;
    }
    zc_codec_init(codec, ids[which]);
    if (which == 0) {
        status = blosc_v2(node, dtype, codec);
    } else if (which <= 2) {
        status = set_level(node, "level", -1, 9, 1, codec);
        codec->level = codec->level < 0 ? 6 : codec->level;      /* zlib's own default */
    } else if (which == 3) {
        status = set_level(node, "level", -131072, 22, 0, codec);
        status = status == ZC_OK ? optional_bool(node, "checksum", &codec->checksum) : status;
    } else {
        status = set_level(node, "acceleration", INT32_MIN, INT32_MAX, 1, codec);
        codec->level = codec->level < 1 ? 1 : codec->level;      /* as liblz4 takes it */
    }
    out->n_stages = 1;
    return status == ZC_OK ? check(node, codec) : status;
}
