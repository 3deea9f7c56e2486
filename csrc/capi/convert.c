/* SPDX-License-Identifier: MIT */
#include "capi/convert.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/cast_checked.h"
#include "kernels/cast_numpy.h"

typedef struct named {
    const char *name;
    zc_number_kind kind;
} named;

static const named TYPES[] = {
    {"b1", ZC_NUMBER_BOOL}, {"i1", ZC_NUMBER_I8},   {"i2", ZC_NUMBER_I16}, {"i4", ZC_NUMBER_I32}, {"i8", ZC_NUMBER_I64},
    {"u1", ZC_NUMBER_U8},   {"u2", ZC_NUMBER_U16},  {"u4", ZC_NUMBER_U32}, {"u8", ZC_NUMBER_U64}, {"f2", ZC_NUMBER_F16},
    {"f4", ZC_NUMBER_F32},  {"f8", ZC_NUMBER_F64},  {"c8", ZC_NUMBER_C64}, {"c16", ZC_NUMBER_C128},
};

bool zc_typed_parse(const char *type, zc_numbers *out)
{
    const char order = strchr("<>=|", type[0]) != NULL && type[0] != '\0' ? *type++ : '=';

    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (strcmp(type, TYPES[i].name) == 0) {
            const size_t size = zc_number_size(TYPES[i].kind), word = zc_number_size(zc_number_part(TYPES[i].kind));
            *out = (zc_numbers){.kind = TYPES[i].kind, .item = {.size = size}};
            snprintf(out->name, sizeof out->name, "%s", type);
            if (word > 1 && order == (ZC_BIG_ENDIAN ? '<' : '>')) {
                out->item.word = (uint32_t)word;
            }
            return true;
        }
    }
    return false;
}

static bool is_complex(zc_number_kind kind)
{
    return zc_number_part(kind) != kind;
}

static bool is_float(zc_number_kind kind)
{
    return kind == ZC_NUMBER_F16 || kind == ZC_NUMBER_F32 || kind == ZC_NUMBER_F64;
}

bool zc_typed_convertible(const zc_numbers *from, const zc_numbers *to)
{
    return !is_complex(from->kind) || is_complex(to->kind);
}

bool zc_typed_may_fail(const zc_numbers *from, const zc_numbers *to)
{
    return from->kind != to->kind && from->kind != ZC_NUMBER_BOOL && !is_complex(to->kind) && !is_float(to->kind);
}

/* ---- one piece of native numbers ----------------------------------------------------------------- */

/* Name the number that the other type has not. */
static zc_status refuse(const char *src, zc_number_kind from, const zc_numbers *to, zc_error *err)
{
    char text[64];

    zc_real_print(from, zc_real_fetch(src, from), text, sizeof text);
    return zc_fail(err, ZC_ERR_VALUE, is_float(from) || to->kind == ZC_NUMBER_BOOL ? "value %s cannot be stored as %s without changing it"
                                                                                  : "value %s is out of range for %s",
                   text, to->name);
}

/* Exact numbers, one by one. */
static zc_status convert_exactly(char *dst, zc_number_kind kind, const char *src, const zc_numbers *from, size_t n,
                                 const zc_numbers *to, zc_error *err)
{
    const zc_real_type *const in = zc_real_type_of(from->kind), *const out = zc_real_type_of(kind);

    for (size_t i = 0; i < n; i++, src += from->item.size, dst += zc_number_size(kind)) {
        const zc_real real = zc_real_load(in, zc_real_fetch(src, from->kind));
        uint64_t bits;
        if (zc_real_store(out, &real, ZC_ROUND_TOWARDS_ZERO, &bits) != ZC_REAL_FITS) {
            return refuse(src, from->kind, to, err);
        }
        zc_real_put(dst, kind, bits);
    }
    return ZC_OK;
}

/* Floats that were cut, and numbers other than 0 and 1 as Booleans. */
static zc_status check_piece(const char *dst, zc_number_kind kind, const char *src, const zc_numbers *from, size_t n,
                             const zc_numbers *to, zc_error *err)
{
    char back[ZC_CAST_MAX * 8];

    for (size_t i = 0; to->kind == ZC_NUMBER_BOOL && i < n; i++) {
        if ((uint8_t)dst[i] > 1) {
            return refuse(src + i * from->item.size, from->kind, to, err);
        }
    }
    if (!is_float(from->kind)) {
        return ZC_OK;
    }
    zc_cast_numpy(back, from->kind, dst, kind, n);
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * from->item.size;
        /* Zero has two signs. */
        if (memcmp(back + at, src + at, from->item.size) != 0 &&
            zc_real_load(zc_real_type_of(from->kind), zc_real_fetch(src + at, from->kind)).size != 0) {
            return refuse(src + at, from->kind, to, err);
        }
    }
    return ZC_OK;
}

static zc_status convert_piece(char *dst, const zc_numbers *to, const char *src, const zc_numbers *from, size_t n,
                               zc_error *err)
{
    static const zc_cast_rules rules = {.rounding = ZC_ROUND_TOWARDS_ZERO};
    const zc_number_kind kind = to->kind == ZC_NUMBER_BOOL ? ZC_NUMBER_U8 : to->kind;
    zc_status status = ZC_OK;

    if (!zc_typed_may_fail(from, to)) {
        zc_cast_numpy(dst, to->kind, src, from->kind, n);
        return ZC_OK;
    }
    if (from->kind == kind) {
        memcpy(dst, src, n);             /* bytes as Booleans */
    } else if (!zc_cast_checked(dst, kind, src, from->kind, n, &rules)) {
        status = convert_exactly(dst, kind, src, from, n, to, err);
    }
    return status == ZC_OK ? check_piece(dst, kind, src, from, n, to, err) : status;
}

/* ---- regions ------------------------------------------------------------------------------------ */

static zc_status convert_row(char *dst, int64_t dst_stride, const zc_numbers *to, const char *src, int64_t src_stride,
                             const zc_numbers *from, int64_t n, zc_error *err)
{
    char in[ZC_CAST_MAX * 16], out[ZC_CAST_MAX * 16];
    const int64_t in_stride = (int64_t)from->item.size, out_stride = (int64_t)to->item.size;
    zc_status status = ZC_OK;

    for (int64_t k = 0; k < n && status == ZC_OK; k += ZC_CAST_MAX) {
        const int64_t m = n - k < ZC_CAST_MAX ? n - k : ZC_CAST_MAX;
        zc_region_copy(1, &m, in, &in_stride, src + k * src_stride, &src_stride, &from->item);
        status = convert_piece(out, to, in, from, (size_t)m, err);
        if (dst != NULL && status == ZC_OK) {
            zc_region_copy(1, &m, dst + k * dst_stride, &dst_stride, out, &out_stride, &to->item);
        }
    }
    return status;
}

zc_status zc_typed_convert(int ndim, const int64_t *shape, char *dst, const int64_t *dst_strides, const zc_numbers *to,
                             const char *src, const int64_t *src_strides, const zc_numbers *from, zc_error *err)
{
    const int last = ndim - 1;
    int64_t at[ZC_MAX_DIMS] = {0};
    zc_status status;
    int d;

    do {
        int64_t in = 0, out = 0;
        for (d = 0; d < last; d++) {
            in += at[d] * src_strides[d];
            out += dst != NULL ? at[d] * dst_strides[d] : 0;
        }
        status = convert_row(dst != NULL ? dst + out : NULL, dst != NULL && last >= 0 ? dst_strides[last] : 0, to,
                             src + in, last >= 0 ? src_strides[last] : 0, from, last >= 0 ? shape[last] : 1, err);
        for (d = last - 1; d >= 0 && ++at[d] == shape[d]; d--) {
            at[d] = 0;
        }
    } while (d >= 0 && status == ZC_OK);
    return status;
}
