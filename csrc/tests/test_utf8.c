/* SPDX-License-Identifier: MIT
 *
 * UTF-8 and code points.
 */
#include "kernels/utf8.h"

#include <stdlib.h>

#include "codec_cases.h"
#include "tests/check.h"

static size_t valid(const char *text, size_t n)
{
    uint8_t *exact = case_exact((const uint8_t *)text, n);
    const size_t length = zc_utf8_valid(exact, n);

    free(exact);
    return length;
}

static void well_formed_beginnings(void)
{
    static const struct { const char *text; size_t n, valid; } cases[] = {
        {"", 0, 0}, {"plain text, longer than a word", 30, 30}, {"a\0b", 3, 3},
        {"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8e\x89", 9, 9}, {"abcdefg\xc3\xa9", 9, 9},
        {"\x80", 1, 0}, {"ab\xff", 3, 2}, {"\xc0\x80", 2, 0}, {"\xc1\xbf", 2, 0}, {"\xe0\x9f\xbf", 3, 0},
        {"\xed\xa0\x80", 3, 0}, {"\xed\x9f\xbf", 3, 3}, {"\xf0\x8f\xbf\xbf", 4, 0}, {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xf4\x90\x80\x80", 4, 0}, {"\xf5\x80\x80\x80", 4, 0}, {"12345678\xe6\x97", 10, 8}, {"\xc3", 1, 0},
        {"\xc3" "a", 2, 0}, {"\xf0\x9f\x8e", 3, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zc_utf8_text text;
        CHECK(valid(cases[i].text, cases[i].n) == cases[i].valid);
        CHECK(zc_utf8_measure((const uint8_t *)cases[i].text, cases[i].n, &text) == (cases[i].valid == cases[i].n));
    }
}

/* Every code point, at every place of a word, decoded and encoded again. */
static void every_code_point(void)
{
    static const uint32_t bounds[] = {0x7f, 0xff, 0xffff, 0x10ffff};
    static const int widths[] = {1, 1, 2, 4};

    for (uint32_t x = 0; x <= 0x10ffff; x += x < 0x3000 ? 1 : 251) {
        const bool surrogate = x >= 0xd800 && x <= 0xdfff;
        uint32_t points[9] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'};
        uint8_t encoded[9 * 4], again[9 * 4];
        uint32_t back[9];
        size_t size, same;
        zc_utf8_text text;
        int kind = 0;

        points[x % 9] = x;
        CHECK(zc_has_no_utf8(points, 4, 9) == surrogate);
        if (x <= 0xffff) {
            uint16_t narrow[9];
            for (size_t i = 0; i < 9; i++) {
                narrow[i] = (uint16_t)points[i];
            }
            CHECK(zc_has_no_utf8(narrow, 2, 9) == surrogate);
        }
        CHECK(zc_utf8_encode(encoded, points, 4, 9, &size) == !surrogate);
        CHECK(zc_utf8_measure(encoded, size, &text) == !surrogate);
        if (surrogate) {
            continue;
        }
        while (x > bounds[kind]) {
            kind++;
        }
        CHECK(text.count == 9 && text.bound == bounds[kind]);
        CHECK(zc_is_ascii(encoded, size) == (x < 0x80));
        zc_utf8_decode(back, 4, encoded, size);
        CHECK(memcmp(back, points, sizeof points) == 0);
        zc_utf8_decode(back, widths[kind], encoded, size);
        CHECK(zc_utf8_encode(again, back, widths[kind], 9, &same) && same == size);
        CHECK(memcmp(again, encoded, size) == 0);
    }
}

/* What text of fixed length can hold after the last code point. */
static void no_code_points(void)
{
    static const uint32_t none[] = {0x110000, 0x1fffff, 0x7fffffff, UINT32_C(0xffffd800), UINT32_MAX};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const uint32_t points[] = {'a', none[i], 'b'};
        uint8_t encoded[3 * 4];
        size_t size;
        CHECK(zc_has_no_utf8(points, 4, 3));
        CHECK(!zc_utf8_encode(encoded, points, 4, 3, &size) && size <= sizeof encoded);
    }
}

int main(void)
{
    RUN(well_formed_beginnings);
    RUN(every_code_point);
    RUN(no_code_points);
    return check_report("utf8");
}
