/* SPDX-License-Identifier: MIT
 *
 * Numbers stored as another type, by stated rules (Zarr extensions, "cast_value").
 *
 * Tiles of numbers go through the loops of kernels/cast_checked.c.  A tile with a number that these cannot do (one that
 * is to be refused, above all) is done again, number by number, by kernels/exact_number.c, which also reports what is wrong with
 * it; types of one byte have few enough numbers for a table.
 */
#include <string.h>

#include "codecs/numbers.h"
#include "kernels/cast_checked.h"
#include "kernels/float16.h"

enum { TABLE = 256, TABLE_WORTH = 1024, MOST_MARKS = 255 };

/* One of the two directions. */
typedef struct direction {
    zc_number in, out;
    zc_number_pairs pairs;
    zc_rounding rounding;
    zc_out_of_range out_of_range;
} direction;

/* A number that has no place in the other type. */
typedef struct fault {
    zc_real_fit fit;
    uint64_t bits;
} fault;

/* ---- one number ------------------------------------------------------------------------------- */

static bool same_number(const zc_real *a, const zc_real *b)
{
    if (a->cls != b->cls || a->cls == ZC_REAL_NAN) {
        return a->cls == b->cls;
    }
    /* Of one type: equal numbers have equal parts, but for the sign of zero. */
    const bool zero = a->cls == ZC_REAL_FINITE && a->size == 0 && b->size == 0;
    return zero || (a->negative == b->negative && a->size == b->size && a->exponent == b->exponent);
}

static const zc_number_pair *find_pair(const direction *way, const zc_real *real)
{
    for (size_t i = 0; i < way->pairs.n; i++) {
        const zc_real from = zc_real_load(zc_real_type_of(way->in.kind), way->pairs.pairs[i].from);
        if (same_number(real, &from)) {
            return &way->pairs.pairs[i];
        }
    }
    return NULL;
}

static zc_real_fit cast_one(const direction *way, uint64_t bits, uint64_t *out)
{
    const zc_real_type *const type = zc_real_type_of(way->out.kind);
    const zc_real real = zc_real_load(zc_real_type_of(way->in.kind), bits);
    const zc_number_pair *const pair = find_pair(way, &real);

    *out = pair != NULL ? pair->to : bits;
    if (pair != NULL || way->in.kind == way->out.kind) {
        return ZC_REAL_FITS;
    }
    const zc_real_fit fit = zc_real_store(type, &real, way->rounding, out);
    if (fit != ZC_REAL_OUT_OF_RANGE || way->out_of_range == ZC_RANGE_ERROR) {
        return fit;
    }
    if (way->out_of_range == ZC_RANGE_CLAMP) {
        *out = zc_real_limit(type, &real);
        return ZC_REAL_FITS;
    }
    return type->is_float ? fit : ZC_REAL_FITS;      /* integers have been wrapped */
}

/* ---- tiles ------------------------------------------------------------------------------------ */

static bool cast_each(const direction *way, void *dst, const void *src, size_t n, fault *bad)
{
    const size_t in = zc_number_size(way->in.kind), out = zc_number_size(way->out.kind);

    for (size_t i = 0; i < n; i++) {
        uint64_t made;
        bad->bits = zc_real_fetch((const char *)src + i * in, way->in.kind);
        bad->fit = cast_one(way, bad->bits, &made);
        if (bad->fit != ZC_REAL_FITS) {
            return false;
        }
        zc_real_put((char *)dst + i * out, way->out.kind, made);
    }
    return true;
}

static bool plain(const direction *way, void *dst, const void *src, zc_number_kind from, size_t n)
{
    const zc_cast_rules rules = {way->rounding, .wraps = way->out_of_range == ZC_RANGE_WRAP,
                                 .clamps = way->out_of_range == ZC_RANGE_CLAMP};

    return zc_cast_checked(dst, way->out.kind, src, from, n, &rules);
}

/* With the numbers that are exchanged as zeros in between. */
static bool plain_but_pairs(const direction *way, void *dst, const void *src, size_t n)
{
    const bool half = way->in.kind == ZC_NUMBER_F16 || way->in.kind == ZC_NUMBER_BF16;
    const zc_number_kind kind = half ? ZC_NUMBER_F32 : way->in.kind;
    const size_t size = zc_number_size(way->out.kind);
    uint64_t numbers[ZC_TILE];
    uint8_t marks[ZC_TILE] = {0};
    uint16_t marked[ZC_TILE];
    size_t n_marked = 0;

    if (kind >= ZC_NUMBER_KINDS || way->pairs.n > MOST_MARKS) {
        return false;
    }
    if (half) {
        zc_halves_to_floats((float *)numbers, src, way->in.kind, n);
    } else {
        memcpy(numbers, src, n * zc_number_size(kind));
    }
    for (size_t i = 0; i < way->pairs.n; i++) {
        uint64_t key = way->pairs.pairs[i].from;
        uint8_t word[8];
        if (half) {
            const uint16_t bits = (uint16_t)key;
            zc_halves_to_floats((float *)&key, &bits, way->in.kind, 1);
            memcpy(word, &key, sizeof word);
        } else {
            zc_real_put(word, kind, key);
        }
        zc_numbers_blank(numbers, kind, n, word, (uint8_t)(i + 1), marks);
    }
    if (!plain(way, dst, numbers, kind, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {         /* without a branch, which half of the numbers would mislead */
        marked[n_marked] = (uint16_t)i;
        n_marked += marks[i] != 0;
    }
    for (size_t i = 0; i < n_marked; i++) {
        const size_t at = marked[i];
        zc_real_put((char *)dst + at * size, way->out.kind, way->pairs.pairs[marks[at] - 1].to);
    }
    return true;
}

static bool cast_tile(const direction *way, void *dst, const void *src, size_t n, fault *bad)
{
    const bool done =
        way->pairs.n > 0 ? plain_but_pairs(way, dst, src, n) : plain(way, dst, src, way->in.kind, n);

    return done || cast_each(way, dst, src, n, bad);
}

/* ---- tables ----------------------------------------------------------------------------------- */

typedef struct table {
    uint64_t made[TABLE];
    uint8_t fits[TABLE];
} table;

static void make_table(const direction *way, table *out)
{
    for (unsigned code = 0; code < TABLE; code++) {
        const uint8_t byte = (uint8_t)code;
        out->fits[code] = cast_one(way, zc_real_fetch(&byte, way->in.kind), &out->made[code]) == ZC_REAL_FITS;
    }
}

#define STAMP_LOOK_UP(BITS)                                                                      \
    static bool look_up_##BITS(const table *all, char *restrict dst, const uint8_t *restrict src, size_t n) \
    {                                                                                            \
        uint8_t fits = 1;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                         \
            const uint##BITS##_t made = (uint##BITS##_t)all->made[src[i]];                       \
            fits &= all->fits[src[i]];                                                           \
            memcpy(dst + i * sizeof made, &made, sizeof made);                                   \
        }                                                                                        \
        return fits != 0;                                                                        \
    }

STAMP_LOOK_UP(8)
STAMP_LOOK_UP(16)
STAMP_LOOK_UP(32)
STAMP_LOOK_UP(64)

static bool look_up(const direction *way, const table *all, void *dst, const void *src, size_t n, fault *bad)
{
    bool fits;

    switch (zc_number_size(way->out.kind)) {
    case 1: fits = look_up_8(all, dst, src, n); break;
    case 2: fits = look_up_16(all, dst, src, n); break;
    case 4: fits = look_up_32(all, dst, src, n); break;
    default: fits = look_up_64(all, dst, src, n);
    }
    return fits || cast_each(way, dst, src, n, bad);     /* which finds the first that does not */
}

/* Integers of 8 bits have loops, unless some are exchanged. */
static bool wants_table(const direction *way, size_t count)
{
    return count >= TABLE_WORTH && zc_number_size(way->in.kind) == 1 &&
           (way->pairs.n > 0 || way->in.kind >= ZC_NUMBER_KINDS || way->out.kind >= ZC_NUMBER_KINDS);
}

/* ---- the codec -------------------------------------------------------------------------------- */

static zc_status complain(const direction *way, const fault *bad, zc_status status, zc_error *err)
{
    const char *const type = zc_real_type_of(way->out.kind)->name;
    char text[64];

    zc_real_print(way->in.kind, bad->bits, text, sizeof text);
    return bad->fit == ZC_REAL_NO_VALUE ? zc_fail(err, status, "the item %s has no value in %s", text, type)
                                        : zc_fail(err, status, "the item %s does not fit into %s", text, type);
}

/* count numbers of src; ZC_ERR_RANGE with *bad set if a number has no place. */
static zc_status cast_all(const direction *way, const zc_coding *c, size_t count, fault *bad)
{
    const size_t in = zc_number_size(way->in.kind), out = zc_number_size(way->out.kind);
    const bool with_table = wants_table(way, count);
    uint64_t before[ZC_TILE], after[ZC_TILE];
    table all;

    if (with_table) {
        make_table(way, &all);
    }
    for (size_t at = 0; at < count; at += ZC_TILE) {
        const size_t n = count - at < ZC_TILE ? count - at : ZC_TILE;
        const void *from = c->src + at * in;
        void *const to = way->out.swapped ? (void *)after : c->dst + at * out;

        if (way->in.swapped) {
            zc_numbers_swap(before, from, &way->in, n);
            from = before;
        }
        if (!(with_table ? look_up(way, &all, to, from, n, bad) : cast_tile(way, to, from, n, bad))) {
            return ZC_ERR_RANGE;
        }
        if (way->out.swapped) {
            zc_numbers_swap(c->dst + at * out, after, &way->out, n);
        }
        if (at * in % ZC_CODEC_PIECE == 0 && zc_codec_poll(c->ws, c->err) != ZC_OK) {
            return ZC_ERR_CANCELLED;
        }
    }
    return ZC_OK;
}

static zc_status cast_value_run(const zc_coding *c, size_t *written)
{
    const zc_codec *const codec = c->codec;
    const direction way = {c->decode ? codec->encoded : codec->decoded, c->decode ? codec->decoded : codec->encoded,
                           c->decode ? codec->cast.decode : codec->cast.encode, codec->cast.rounding,
                           codec->cast.out_of_range};
    fault bad = {ZC_REAL_FITS, 0};
    size_t count;
    zc_status status = zc_numbers_count(c, way.in.kind, way.out.kind, &count, written);

    if (status == ZC_OK) {
        status = cast_all(&way, c, count, &bad);
    }
    return bad.fit == ZC_REAL_FITS ? status : complain(&way, &bad, c->decode ? ZC_ERR_CORRUPT : ZC_ERR_ENCODE, c->err);
}

static zc_status cast_value_check(const zc_codec *codec, zc_error *err)
{
    if (codec->cast.out_of_range == ZC_RANGE_WRAP && zc_real_type_of(codec->encoded.kind)->is_float) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "out_of_range: floating-point numbers do not wrap around");
    }
    return ZC_OK;
}

const zc_codec_class zc_codec_cast_value = {
    .name = "cast_value",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .numbers = ZC_NUMBERS_REAL,
    .bound = zc_numbers_bound,
    .encode = cast_value_run,
    .decode = cast_value_run,
    .check = cast_value_check,
    .defaults = {.decoded = {.kind = ZC_NUMBER_F64}, .encoded = {.kind = ZC_NUMBER_F64}},
};
