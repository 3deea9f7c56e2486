/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <errno.h>

#include "base/cpu.h"
#include "tests/check.h"

static void records(void)
{
    zc_error err = {0};

    CHECK(zc_fail(&err, ZC_ERR_SIZE, "expected %d bytes, found %s", 4, "five") == ZC_ERR_SIZE);
    CHECK(err.status == ZC_ERR_SIZE && err.sys_errno == 0);
    CHECK(strcmp(err.message, "expected 4 bytes, found five") == 0);
    zc_error_clear(&err);
    CHECK(err.status == ZC_OK && err.message[0] == '\0' && err.codec[0] == '\0');
}

static void without_record(void)
{
    CHECK(zc_fail(NULL, ZC_ERR_RANGE, "no") == ZC_ERR_RANGE);
    CHECK(zc_fail_errno(NULL, ENOENT, "no") == ZC_ERR_IO);
    zc_error_set_codec(NULL, "zstd");
    zc_error_clear(NULL);
}

static void system_errors(void)
{
    zc_error err = {0};

    CHECK(zc_fail_errno(&err, ENOENT, "open %s", "c/0/0") == ZC_ERR_IO);
    CHECK(err.sys_errno == ENOENT);
    CHECK(strncmp(err.message, "open c/0/0: ", 12) == 0);
    CHECK(strcmp(err.message + 12, strerror(ENOENT)) == 0);
    zc_fail(&err, ZC_ERR_CORRUPT, "later");
    CHECK(err.sys_errno == 0);
}

static void innermost_codec_wins(void)
{
    zc_error err = {0};

    zc_error_set_codec(&err, "zstd");
    zc_error_set_codec(&err, "sharding_indexed");
    zc_fail(&err, ZC_ERR_CORRUPT, "bad");
    CHECK(strcmp(err.codec, "zstd") == 0);
    zc_error_clear(&err);
    zc_error_set_codec(&err, "a name that is far longer than the room for it");
    CHECK(strlen(err.codec) == sizeof err.codec - 1);
}

static void long_messages(void)
{
    char text[400];
    zc_error err;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memset(&err, 0xff, sizeof err);
    zc_fail(&err, ZC_ERR_IO, "%s", text);
    CHECK(strlen(err.message) == sizeof err.message - 1);
    zc_fail_errno(&err, EACCES, "%s", text);
    CHECK(strlen(err.message) == sizeof err.message - 1);
    CHECK(strstr(err.message, "xxx: ") != NULL && strstr(err.message, strerror(EACCES)) != NULL);
}

/* A cut must never leave half of a character, wherever it falls. */
static void torn_utf8(void)
{
    for (int shift = 0; shift < 5; shift++) {
        char text[401];
        zc_error err = {0};

        memset(text, 'x', (size_t)shift);
        for (size_t i = (size_t)shift; i + 4 < sizeof text; i += 4) {
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        }
        zc_fail(&err, ZC_ERR_IO, "%s", text);
        const size_t length = strlen(err.message);
        CHECK((length - (size_t)shift) % 4 == 0);
        CHECK(length >= sizeof err.message - 4);
    }
}

static void mended_utf8(void)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"\xC3\xA9 \xE4\xB8\x96 \xF0\x9F\x98\x80", "\xC3\xA9 \xE4\xB8\x96 \xF0\x9F\x98\x80"},
        {"\"\xE4\xB8\" is", "\"??\" is"},          /* cut by a precision in the middle of the message */
        {"\xA9" "a\xC3" "b", "?a?b"},
        {"\xC3\xA9\xA9", "\xC3\xA9?"},
        {"end \xF0\x9F\x98", "end "},
        {"\xC0\x80 \xC1\xBF \xF8\x88\x80\x80\x80", "?? ?? ?????"},
        {"\xE0\x9F\xBF \xED\xA0\x80 \xED\x9F\xBF", "??? ??? \xED\x9F\xBF"},
        {"\xF0\x8F\xBF\xBF \xF4\x90\x80\x80 \xF4\x8F\xBF\xBF", "???? ???? \xF4\x8F\xBF\xBF"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        strcpy(text, cases[i][0]);
        zc_mend_utf8(text);
        CHECK(strcmp(text, cases[i][1]) == 0);
    }
}

static void cpu_features_are_stable(void)
{
    CHECK(zc_cpu_features() == zc_cpu_features());
#if defined(ZC_ARM64)
    CHECK(zc_cpu_features() & ZC_CPU_NEON);
#endif
}

int main(void)
{
    RUN(records);
    RUN(without_record);
    RUN(system_errors);
    RUN(innermost_codec_wins);
    RUN(long_messages);
    RUN(torn_utf8);
    RUN(mended_utf8);
    RUN(cpu_features_are_stable);
    return check_report("status");
}
