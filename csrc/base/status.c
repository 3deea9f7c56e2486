/* SPDX-License-Identifier: MIT */
#ifndef _WIN32
#undef _GNU_SOURCE                      /* its strerror_r is another one */
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* strerror is not thread-safe. */
static const char *describe_errno(int sys_errno, char *buf, size_t cap)
{
#ifdef _WIN32
    return strerror_s(buf, cap, sys_errno) == 0 ? buf : NULL;
#else
    return strerror_r(sys_errno, buf, cap) == 0 ? buf : NULL;
#endif
}

/* Bytes of the sequence that begins with two bytes; 0 where none does (RFC 3629: no overlong forms, no surrogates). */
static size_t sequence_length(unsigned char first, unsigned char second)
{
    const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;

    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4 || ((second & 0xC0) == 0x80 && (second < least || second > most))) {
        return 0;
    }
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

void zc_mend_utf8(char *text)
{
    while (*text != '\0') {
        const size_t want = sequence_length((unsigned char)text[0], (unsigned char)text[1]);
        size_t have = 1;
        while (((unsigned char)text[have] & 0xC0) == 0x80) {
            have++;
        }
        if (want > 0 && want <= have) {
            text += want;
        } else if (want > have && text[have] == '\0') {
            *text = '\0';
        } else {
            *text++ = '?';
        }
    }
}

static void record(zc_error *err, zc_status status, int sys_errno, const char *format, va_list args) ZC_PRINTF(4, 0);

static void record(zc_error *err, zc_status status, int sys_errno, const char *format, va_list args)
{
    err->status = status;
    err->sys_errno = sys_errno;
    if (vsnprintf(err->message, sizeof err->message, format, args) < 0) {
        err->message[0] = '\0';
    }
    zc_mend_utf8(err->message);
}

zc_status zc_fail(zc_error *err, zc_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (err != NULL) {
        record(err, status, 0, format, args);
    }
    va_end(args);
    return status;
}

zc_status zc_fail_errno(zc_error *err, int sys_errno, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (err != NULL) {
        char buf[128] = "";
        const char *text = describe_errno(sys_errno, buf, sizeof buf);
        record(err, ZC_ERR_IO, sys_errno, format, args);
        char why[sizeof buf + 8];
        if (text != NULL) {
            snprintf(why, sizeof why, ": %s", text);
        } else {
            snprintf(why, sizeof why, ": error %d", sys_errno);
        }
        /* Rather a part of a long path is missing than the reason. */
        const size_t used = strlen(err->message), most = sizeof err->message - 1 - strlen(why);
        memcpy(err->message + (used < most ? used : most), why, strlen(why) + 1);
        zc_mend_utf8(err->message);
    }
    va_end(args);
    return ZC_ERR_IO;
}

void zc_error_set_codec(zc_error *err, const char *codec)
{
    if (err == NULL || err->codec[0] != '\0') {
        return;
    }
    snprintf(err->codec, sizeof err->codec, "%s", codec);
}

void zc_error_clear(zc_error *err)
{
    if (err != NULL) {
        memset(err, 0, sizeof *err);
    }
}
