/* SPDX-License-Identifier: MIT */
#include "base/features.h"
#include "io/temporary.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

/* What others cannot know, from the system; 0 if it has none to spare. */
static uint64_t make_secret(void)
{
    uint64_t secret = 0;

#if defined(__linux__)
    if (syscall(SYS_getrandom, &secret, sizeof secret, 1) < 0) {     /* GRND_NONBLOCK */
        secret = 0;
    }
#elif defined(__APPLE__)
    arc4random_buf(&secret, sizeof secret);
#endif
    return secret;
}

static uint64_t this_secret(void)
{
    static _Atomic uint64_t known;
    uint64_t secret = atomic_load_explicit(&known, memory_order_relaxed);

    if (secret == 0) {
        secret = make_secret() | 1;
        atomic_store_explicit(&known, secret, memory_order_relaxed);
    }
    return secret;
}

/* Nobody can guess a name and be there first; who was costs another try, for files are opened with O_EXCL. */
void zc_temporary_name(zc_owner owner, uint64_t unique, char *out)
{
    static _Atomic uint64_t counter;
    const uint64_t here = mix(this_secret() + unique + atomic_fetch_add(&counter, 1) * UINT64_C(0x9e3779b97f4a7c15));
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
