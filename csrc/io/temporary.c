/* SPDX-License-Identifier: MIT */
#include "io/temporary.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "io/file.h"

#define PREFIX ".zc-"
#define SUFFIX ".partial"
#define DIGITS 16

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
void zc_temporary_name(uint64_t unique, char *out)
{
    static _Atomic uint64_t counter;
    const uint64_t here = (uint64_t)(uintptr_t)&counter;     /* address space randomisation */
    uint64_t x = mix(mix(unique) ^ here);

    x = mix(x + (atomic_fetch_add(&counter, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15));
    memcpy(out, PREFIX, sizeof PREFIX - 1);
    out += sizeof PREFIX - 1;
    for (int i = 0; i < DIGITS; i++, x >>= 4) {
        *out++ = hex_digits[x & 15];
    }
    memcpy(out, SUFFIX, sizeof SUFFIX);
}

bool zc_file_is_temporary(const char *component)
{
    if (strncmp(component, PREFIX, sizeof PREFIX - 1) != 0) {
        return false;
    }
    component += sizeof PREFIX - 1;
    return strspn(component, hex_digits) == DIGITS && strcmp(component + DIGITS, SUFFIX) == 0;
}
