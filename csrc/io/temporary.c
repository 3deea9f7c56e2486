/* SPDX-License-Identifier: MIT */
#include "io/temporary.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"

#define PREFIX ".zc-"
#define SUFFIX ".partial"
#define DIGITS 16
#define UNIQUE_BITS 18

_Static_assert(sizeof PREFIX - 1 + DIGITS + sizeof SUFFIX - 1 == ZC_TEMPORARY_LENGTH, "name length");

static const char hex_digits[] = "0123456789abcdef";

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every digit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Names need not be secret: they are opened with O_EXCL, so that a clash costs another try. */
void zc_temporary_name(zc_owner owner, uint64_t unique, char *out)
{
    static _Atomic uint64_t counter;
    const uint64_t here = mix(unique + atomic_fetch_add(&counter, 1) * UINT64_C(0x9e3779b97f4a7c15));
    const uint64_t x = owner << UNIQUE_BITS | here >> (64 - UNIQUE_BITS);

    memcpy(out, PREFIX, sizeof PREFIX - 1);
    out += sizeof PREFIX - 1;
    for (int i = 0; i < DIGITS; i++) {
        *out++ = hex_digits[x >> 4 * (DIGITS - 1 - i) & 15];
    }
    memcpy(out, SUFFIX, sizeof SUFFIX);
}

zc_owner zc_temporary_owner(const char *component)
{
    return strtoull(component + sizeof PREFIX - 1, NULL, 16) >> UNIQUE_BITS;
}

bool zc_file_is_temporary(const char *component)
{
    if (strncmp(component, PREFIX, sizeof PREFIX - 1) != 0) {
        return false;
    }
    component += sizeof PREFIX - 1;
    return strspn(component, hex_digits) == DIGITS && strcmp(component + DIGITS, SUFFIX) == 0;
}
