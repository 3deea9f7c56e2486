/* SPDX-License-Identifier: MIT
 *
 * Region kernels against a naive loop over all index tuples, with random shapes, strides and items.
 */
#include "kernels/region.h"

#include <stdlib.h>

#include "kernels/item_loops.h"
#include "tests/every_cpu.h"

#define ARENA (1u << 18)

static uint8_t source[ARENA];
static uint8_t got[ARENA];
static uint8_t want[ARENA];
static uint64_t random_state = 20240601;

static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t below(int64_t n)
{
    return (int64_t)(random64() % (uint64_t)n);
}

static void randomise(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)random64();
    }
}

/* ---- the naive model ------------------------------------------------------------------------- */

static void swap_naive(uint8_t *p, size_t word)
{
    for (size_t i = 0; i < word / 2; i++) {
        const uint8_t t = p[i];
        p[i] = p[word - 1 - i];
        p[word - 1 - i] = t;
    }
}

static void item_naive(uint8_t *dst, const uint8_t *src, const zc_item *item)
{
    memcpy(dst, src, item->size);
    for (uint32_t f = 0; f < item->n_fields; f++) {
        const zc_swap_field *const field = &item->fields[f];
        for (uint32_t k = 0; k < field->count; k++) {
            swap_naive(dst + field->offset + (size_t)k * field->word, field->word);
        }
    }
    for (size_t at = 0; item->n_fields == 0 && item->word > 1 && at < item->size; at += item->word) {
        swap_naive(dst + at, item->word);
    }
}

static int64_t offset_of(const int64_t *table, int64_t stride, int64_t k)
{
    return table != NULL ? table[k] : k * stride;
}

static void gather_naive(int ndim, const int64_t *shape, uint8_t *dst, const int64_t *ds,
                         const int64_t *const *dt, const uint8_t *src, const int64_t *ss,
                         const int64_t *const *st, const zc_item *item)
{
    if (ndim == 0) {
        item_naive(dst, src, item);
        return;
    }
    for (int64_t k = 0; k < shape[0]; k++) {
        gather_naive(ndim - 1, shape + 1, dst + offset_of(dt[0], ds[0], k), ds + 1, dt + 1,
                     src + offset_of(st[0], ss[0], k), ss + 1, st + 1, item);
    }
}

/* ---- random cases ---------------------------------------------------------------------------- */

typedef struct layout {
    int64_t base;
    int64_t strides[8];
} layout;

typedef struct region_case {
    int ndim;
    int64_t shape[8];
    zc_item item;
    zc_swap_field fields[3];
    layout dst;
    layout src;
} region_case;

static int64_t extent(const region_case *c)
{
    int64_t n = (int64_t)c->item.size;
    for (int d = 0; d < c->ndim; d++) {
        n *= c->shape[d] > 0 ? c->shape[d] : 1;
    }
    return n;
}

/* Strides of an array whose axes lie in random order, with gaps, steps, some of them backwards. */
static layout random_layout(const region_case *c, int style, bool is_source)
{
    layout l = {.base = below(3)};
    int order[8];
    int64_t at = (int64_t)c->item.size;

    for (int d = 0; d < c->ndim; d++) {
        order[d] = c->ndim - 1 - d;
    }
    for (int d = c->ndim - 1; style >= 1 && d > 0; d--) {
        const int64_t other = below(d + 1);
        const int t = order[d];
        order[d] = order[other];
        order[other] = t;
    }
    for (int k = 0; k < c->ndim; k++) {
        const int d = order[k];
        if (style >= 2 && below(4) == 0) {
            at += below(2 * (int64_t)c->item.size + 2);
        }
        if (is_source && style >= 2 && below(6) == 0) {
            l.strides[d] = 0;
            continue;
        }
        l.strides[d] = at;
        at *= c->shape[d] > 0 ? c->shape[d] : 1;
        if (style >= 2 && below(3) == 0) {
            l.base += (c->shape[d] > 0 ? c->shape[d] - 1 : 0) * l.strides[d];
            l.strides[d] = -l.strides[d];
        }
    }
    return l;
}

static int64_t highest(const region_case *c, const layout *l)
{
    int64_t end = l->base + (int64_t)c->item.size;
    for (int d = 0; d < c->ndim; d++) {
        if (l->strides[d] > 0 && c->shape[d] > 0) {
            end += (c->shape[d] - 1) * l->strides[d];
        }
    }
    return end;
}

static zc_item random_item(region_case *c)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16, 1, 2, 4, 8, 3, 5, 6, 7, 12, 20, 24, 31, 40, 100, 130};
    static const uint32_t words[] = {0, 2, 4, 8};
    zc_item item = {.size = sizes[below(20)]};

    item.word = words[below(4)];
    if (item.word > 0 && item.size % item.word != 0) {
        item.word = 0;
    }
    if (item.size >= 7 && below(4) == 0) {
        item.word = 0;
        c->fields[0] = (zc_swap_field){1, 4, 1};
        c->fields[1] = (zc_swap_field){5, 2, 1};
        c->fields[2] = (zc_swap_field){8, 8, 2};
        item.fields = c->fields;
        item.n_fields = item.size >= 24 ? 3 : 2;
    }
    return item;
}

static bool random_case(region_case *c, int style, int64_t longest)
{
    c->ndim = (int)below(5);
    c->item = random_item(c);
    for (int d = 0; d < c->ndim; d++) {
        c->shape[d] = below(40) == 0 ? 0 : 1 + below(longest);
    }
    if (extent(c) > 16384) {
        return false;
    }
    c->dst = random_layout(c, style, false);
    c->src = random_layout(c, style, true);
    return highest(c, &c->dst) < ARENA && highest(c, &c->src) < ARENA;
}

static const int64_t *const no_tables[8];

static bool copies_right(const region_case *c)
{
    memset(got, 0xEE, ARENA);
    memset(want, 0xEE, ARENA);
    zc_region_copy(c->ndim, c->shape, got + c->dst.base, c->dst.strides, source + c->src.base, c->src.strides,
                   &c->item);
    gather_naive(c->ndim, c->shape, want + c->dst.base, c->dst.strides, no_tables, source + c->src.base,
                 c->src.strides, no_tables, &c->item);
    return memcmp(got, want, ARENA) == 0;
}

static void copy_random(void)
{
    randomise(source, ARENA);
    for (int i = 0; i < 6000; i++) {
        region_case c = {0};
        if (random_case(&c, i % 3, i % 5 ? 20 : 70)) {
            CHECK(copies_right(&c));
        }
    }
}

/* Planes around the block and tile sizes, all words, both directions. */
static void copy_transposed(void)
{
    static const int64_t edges[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100};
    static const size_t sizes[] = {1, 2, 4, 8, 16};

    randomise(source, ARENA);
    for (int s = 0; s < 5; s++) {
        for (int i = 0; i < 15 * 15; i++) {
            region_case c = {.ndim = 2, .shape = {edges[i / 15], edges[i % 15]}};
            const int64_t size = (int64_t)sizes[s];
            c.item.size = sizes[s];
            c.item.word = (uint32_t)(i % 2 && size > 1 && size <= 8 ? size : i % 3 && size > 2 ? 2 : 0);
            c.dst = (layout){1, {c.shape[1] * size, size}};
            c.src = (layout){3, {size, c.shape[0] * size}};
            if (i % 4 == 3) {
                c.src.base += (c.shape[0] - 1) * size;
                c.src.strides[0] = -size;
            }
            CHECK(copies_right(&c));
        }
    }
}

static void copy_many_dims(void)
{
    int64_t shape[ZC_MAX_DIMS], ds[ZC_MAX_DIMS], ss[ZC_MAX_DIMS];
    const int64_t *const tables[ZC_MAX_DIMS] = {NULL};
    const zc_item item = {.size = 2, .word = 2};

    randomise(source, ARENA);
    for (int d = 0; d < ZC_MAX_DIMS; d++) {
        shape[d] = d % 6 == 0 ? 2 : 1;
        ds[d] = 2 << (d / 6);
        ss[d] = 2 << (10 - d / 6);
    }
    memset(got, 0, 8192);
    memset(want, 0, 8192);
    zc_region_copy(ZC_MAX_DIMS, shape, got, ds, source, ss, &item);
    gather_naive(ZC_MAX_DIMS, shape, want, ds, tables, source, ss, tables, &item);
    CHECK(memcmp(got, want, 8192) == 0);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Positions of the dimension in random order (dst: each once; src: any), or an arithmetic progression. */
static const int64_t *random_table(const region_case *c, const layout *l, int d, bool repeat, int64_t *table)
{
    const int64_t n = c->shape[d];

    for (int64_t k = 0; k < n; k++) {
        table[k] = k * l->strides[d];
    }
    if (below(4) == 0) {
        return table;
    }
    for (int64_t k = n - 1; k > 0; k--) {
        const int64_t other = below(k + 1);
        const int64_t t = table[k];
        table[k] = table[other];
        table[other] = t;
        if (repeat && below(4) == 0) {
            table[k] = table[other];
        }
    }
    return table;
}

static void gather_random(void)
{
    static int64_t tables[2][8][80];

    randomise(source, ARENA);
    for (int i = 0; i < 4000; i++) {
        const int64_t *dt[8] = {NULL}, *st[8] = {NULL};
        region_case c = {0};
        if (!random_case(&c, i % 3, i % 5 ? 12 : 70)) {
            continue;
        }
        for (int d = 0; d < c.ndim; d++) {
            dt[d] = below(3) == 0 ? random_table(&c, &c.dst, d, false, tables[0][d]) : NULL;
            st[d] = below(2) == 0 ? random_table(&c, &c.src, d, true, tables[1][d]) : NULL;
        }
        memset(got, 0xEE, ARENA);
        memset(want, 0xEE, ARENA);
        const zc_side to = {(char *)got + c.dst.base, c.dst.strides, i % 7 ? dt : no_tables};
        const zc_side from = {(char *)source + c.src.base, c.src.strides, st};
        zc_region_gather(c.ndim, c.shape, &to, &from, &c.item);
        gather_naive(c.ndim, c.shape, want + c.dst.base, c.dst.strides, i % 7 ? dt : no_tables,
                     source + c.src.base, c.src.strides, st, &c.item);
        CHECK(memcmp(got, want, ARENA) == 0);
    }
}

/* Many short rows with a table: around the numbers at which they become one loop, with and without a dimension
 * after the table, and steps in the result. */
static void gather_short_rows(void)
{
    static const int64_t rows[] = {1, 2, 15, 16, 17, 64, 127, 128, 129, 511, 512, 513, 700, 1200};
    int64_t picked[40];

    randomise(source, ARENA);
    for (int i = 0; i < 14 * 40 * 4; i++) {
        const int64_t n = i / 14 % 40 + 1, after = i / (14 * 40) % 2 ? 2 : 1, step = i / (14 * 40 * 2) ? 3 : 2;
        const zc_item item = {.size = 2, .word = i % 3 ? 0 : 2};
        const int64_t shape[] = {2, rows[i % 14], n, after};
        const int64_t ss[] = {100 * 1200, 100, 2, -2};
        const int64_t ds[] = {step * shape[1] * n * after, step * n * after, step * after, step};
        const int64_t *const st[] = {NULL, NULL, picked, NULL};

        if (shape[0] * ds[0] > (int64_t)ARENA) {
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            picked[k] = 2 + 2 * below(48);
        }
        memset(got, 0xEE, ARENA);
        memset(want, 0xEE, ARENA);
        zc_region_gather(4, shape, &(zc_side){(char *)got, ds, no_tables}, &(zc_side){(char *)source, ss, st}, &item);
        gather_naive(4, shape, want, ds, no_tables, source, ss, st, &item);
        CHECK(memcmp(got, want, ARENA) == 0);
    }
}

static void points_random(void)
{
    int64_t to[200], from[200];

    randomise(source, ARENA);
    for (int i = 0; i < 400; i++) {
        region_case c = {0};
        const zc_item item = random_item(&c);
        const int64_t n = below(200);

        memset(got, 0xEE, ARENA);
        memset(want, 0xEE, ARENA);
        for (int64_t k = 0; k < n; k++) {
            to[k] = (n - 1 - k) * 140;
            from[k] = below(ARENA - 200);
            item_naive(want + to[k], source + from[k], &item);
        }
        zc_points_copy((size_t)n, got, to, source, from, &item);
        CHECK(memcmp(got, want, ARENA) == 0);
    }
}

/* ---- contiguous items ------------------------------------------------------------------------ */

static void items_copy(void)
{
    randomise(source, ARENA);
    for (int i = 0; i < 2000; i++) {
        region_case c = {0};
        const zc_item item = random_item(&c);
        const size_t n = (size_t)below(i % 10 ? 70 : 900);
        const size_t nbytes = n * item.size;
        const size_t shift = (size_t)below(4);

        memset(got, 0xEE, nbytes + 8);
        memset(want, 0xEE, nbytes + 8);
        for (size_t k = 0; k < n; k++) {
            item_naive(want + shift + k * item.size, source + 1 + k * item.size, &item);
        }
        zc_items_copy(n, got + shift, source + 1, &item);
        CHECK(memcmp(got, want, nbytes + 8) == 0);

        memset(got, 0xEE, nbytes + 8);
        memcpy(got + shift, source + 1, nbytes);
        zc_items_copy(n, got + shift, got + shift, &item);
        CHECK(memcmp(got, want, nbytes + 8) == 0);
    }
}

/* Every vector variant does a prefix of the work, apart and in place. */
static void swap_variants(void)
{
    randomise(source, 1000);
    for (const zc_swap_variant *v = zc_swap_variants(); v->name != NULL; v++) {
        for (uint32_t word = 2; word <= 8; word *= 2) {
            for (size_t n = 0; n <= 320; n += word) {
                const zc_item item = {.size = n, .word = word};
                item_naive(want, source + 1, &item);
                const size_t done = v->swap((char *)got + 3, (const char *)source + 1, n, word);
                CHECK(done <= n && memcmp(got + 3, want, done) == 0);
                memcpy(got, source + 1, n);
                CHECK(v->swap((char *)got, (const char *)got, n, word) == done);
                CHECK(memcmp(got, want, done) == 0);
            }
        }
    }
}

/* ---- fill and compare ------------------------------------------------------------------------ */

static void fill_and_compare(void)
{
    for (int i = 0; i < 3000; i++) {
        region_case c = {0};
        uint8_t fill[130];
        if (!random_case(&c, i % 3, i % 5 ? 20 : 70)) {
            continue;
        }
        randomise(fill, sizeof fill);
        if (i % 4 == 0) {
            memset(fill, i & 0xff, sizeof fill);
        }
        const zc_item plain = {.size = c.item.size};
        const int64_t nowhere[8] = {0};

        memset(got, 0xEE, ARENA);
        memset(want, 0xEE, ARENA);
        zc_region_fill(c.ndim, c.shape, got + c.dst.base, c.dst.strides, c.item.size, fill);
        gather_naive(c.ndim, c.shape, want + c.dst.base, c.dst.strides, no_tables, fill, nowhere, no_tables,
                     &plain);
        CHECK(memcmp(got, want, ARENA) == 0);
        CHECK(zc_region_equals_fill(c.ndim, c.shape, got + c.dst.base, c.dst.strides, c.item.size, fill));

        int64_t at = c.dst.base + below((int64_t)c.item.size);
        for (int d = 0; d < c.ndim; d++) {
            if (c.shape[d] == 0) {
                at = -1;
                break;
            }
            at += below(c.shape[d]) * c.dst.strides[d];
        }
        if (at >= 0) {
            got[at] ^= 1;
            CHECK(!zc_region_equals_fill(c.ndim, c.shape, got + c.dst.base, c.dst.strides, c.item.size,
                                         fill));
        }
    }
}

static void equals_contiguous(void)
{
    for (size_t size = 1; size <= 70; size++) {
        uint8_t fill[70];
        randomise(fill, size);
        for (size_t n = 0; n < 1500 / size; n += n < 5 ? 1 : 7) {
            for (size_t k = 0; k < n; k++) {
                memcpy(got + 1 + k * size, fill, size);
            }
            CHECK(zc_equals_fill(got + 1, n, size, fill));
            if (n > 0) {
                const size_t at = 1 + (size_t)below((int64_t)(n * size));
                got[at] ^= 0x80;
                CHECK(!zc_equals_fill(got + 1, n, size, fill));
                got[at] ^= 0x80;
                got[n * size] ^= 1;
                CHECK(!zc_equals_fill(got + 1, n, size, fill));
            }
        }
    }
}

/* A float of a kind by the top bits of its pattern: sign, exponent and first fraction bits as in float64. */
static void put_float(uint8_t *p, zc_float_kind kind, double value, uint64_t nan_payload)
{
    if (kind == ZC_FLOAT64) {
        uint64_t bits;
        memcpy(&bits, &value, 8);
        bits = nan_payload ? UINT64_C(0x7ff0000000000000) | nan_payload : bits;
        memcpy(p, &bits, 8);
    } else if (kind == ZC_FLOAT32) {
        const float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, 4);
        bits = nan_payload ? UINT32_C(0xff800000) | (uint32_t)nan_payload : bits;
        memcpy(p, &bits, 4);
    } else {
        uint16_t bits = value == 1 ? 0x3c00 : 0x7c00;
        if (nan_payload) {
            bits = (uint16_t)(0x7c00 | nan_payload);
        } else if (value == 0) {
            bits = 1 / value < 0 ? 0x8000 : 0;
        }
        memcpy(p, &bits, 2);
    }
}

static void equals_float(void)
{
    static const zc_float_kind kinds[] = {ZC_FLOAT16, ZC_FLOAT32, ZC_FLOAT64};

    for (int k = 0; k < 3; k++) {
        const zc_float_kind kind = kinds[k];
        const size_t size = (size_t)kind;
        uint8_t fill[16];
        uint8_t data[16 * 600];

        for (size_t n = 1; n < 600; n += 37) {
            for (size_t i = 0; i < n; i++) {
                put_float(data + i * size, kind, i % 2 ? -0.0 : 0.0, 0);
            }
            put_float(fill, kind, -0.0, 0);
            CHECK(zc_equals_fill_float(data, n, kind, fill, 1));
            put_float(data + (n - 1) * size, kind, 1, 0);
            CHECK(!zc_equals_fill_float(data, n, kind, fill, 1));

            for (size_t i = 0; i < n; i++) {
                put_float(data + i * size, kind, 0, 1 + i % 100);
            }
            put_float(fill, kind, 0, 3);
            CHECK(zc_equals_fill_float(data, n, kind, fill, 1));
            put_float(data + n / 2 * size, kind, 1.0e300 * 1.0e300, 0);        /* infinity */
            CHECK(!zc_equals_fill_float(data, n, kind, fill, 1));

            /* complex: NaN + 1j */
            for (size_t i = 0; i < 2 * (n / 2); i++) {
                put_float(data + i * size, kind, 1, i % 2 ? 0 : 7 + i % 50);
            }
            put_float(fill + size, kind, 1, 0);
            CHECK(zc_equals_fill_float(data, 2 * (n / 2), kind, fill, 2));
            if (n > 1) {
                put_float(data + size, kind, 0, 9);
                CHECK(!zc_equals_fill_float(data, 2 * (n / 2), kind, fill, 2));
            }

            for (size_t i = 0; i < n; i++) {
                put_float(data + i * size, kind, 1, 0);
            }
            put_float(fill, kind, 1, 0);
            CHECK(zc_equals_fill_float(data, n, kind, fill, 1));
            put_float(data + (n - 1) * size, kind, 0, 5);
            CHECK(!zc_equals_fill_float(data, n, kind, fill, 1));
        }
        CHECK(zc_equals_fill_float(data, 0, kind, fill, 1));
    }
}

/* Two fields of records of 12 bytes as records of 7, one of them swapped: regions, index tables and points alike. */
static void pieces(void)
{
    enum { N = 50, IN = 12, OUT = 7 };
    const zc_piece some[] = {
        {.from = 8, .to = 0, .item = {.size = 4, .word = 4}},
        {.from = 1, .to = 4, .item = {.size = 3}},
    };
    const zc_item item = {.size = OUT, .n_pieces = 2, .pieces = some};
    char source[N * IN], want[N * OUT], got[N * OUT];
    int64_t from[N], to[N], shape = N, in = IN, out = OUT;
    const int64_t *const in_table = from, *const out_table = to;

    for (int i = 0; i < N * IN; i++) {
        source[i] = (char)(i * 7 + i / 5);
    }
    for (int k = 0; k < N; k++) {
        from[k] = k * IN;
        to[k] = k * OUT;
        for (int b = 0; b < 4; b++) {
            want[k * OUT + b] = source[k * IN + 8 + 3 - b];
        }
        memcpy(want + k * OUT + 4, source + k * IN + 1, 3);
    }
    memset(got, 0, sizeof got);
    zc_region_copy(1, &shape, got, &out, source, &in, &item);
    CHECK(memcmp(got, want, sizeof got) == 0);
    memset(got, 0, sizeof got);
    zc_region_gather(1, &shape, &(zc_side){(char *)got, &out, &out_table}, &(zc_side){(char *)source, &in, &in_table}, &item);
    CHECK(memcmp(got, want, sizeof got) == 0);
    memset(got, 0, sizeof got);
    zc_points_copy(N, got, to, source, from, &item);
    CHECK(memcmp(got, want, sizeof got) == 0);
}

int main(void)
{
    RUN_ON_EVERY_CPU(copy_random);
    RUN_ON_EVERY_CPU(copy_transposed);
    RUN(copy_many_dims);
    RUN(gather_random);
    RUN(gather_short_rows);
    RUN(points_random);
    RUN(pieces);
    RUN_ON_EVERY_CPU(items_copy);
    RUN(swap_variants);
    RUN_ON_EVERY_CPU(fill_and_compare);
    RUN_ON_EVERY_CPU(equals_contiguous);
    RUN_ON_EVERY_CPU(equals_float);
    return check_report("region");
}
