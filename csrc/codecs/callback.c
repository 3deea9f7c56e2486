/* SPDX-License-Identifier: MIT */
#include "codecs/callback.h"

#include "base/arith.h"

#define HEADERS ((size_t)256)        /* bytes that an encoding of nothing may have */

static bool callback_bound(const zc_codec *codec, size_t n, size_t *out)
{
    const size_t factor = atomic_load_explicit(&codec->callback->factor, memory_order_relaxed);

    return zc_add_size(n, HEADERS, &n) && zc_mul_size(n, factor, out);
}

static zc_status callback_encode(const zc_coding *c, size_t *written)
{
    const zc_callback *const callback = c->codec->callback;

    return callback->encode(callback, c->ws, c->src, c->n, c->dst, c->cap, written, c->err);
}

static zc_status callback_decode(const zc_coding *c, size_t *written)
{
    const zc_callback *const callback = c->codec->callback;

    return callback->decode(callback, c->ws, c->src, c->n, c->dst, c->cap, c->cap, written, c->err);
}

/* Those that people bring compress harder than ours, and have what a call into Python costs on top. */
static double callback_byte_ns(const zc_codec *codec, bool encode)
{
    (void)codec, (void)encode;
    return 8;
}

void zc_callback_stage(zc_callback *callback, const char *name, zc_codec *out)
{
    callback->cls = (zc_codec_class){.name = name, .max_decoded = ZC_SIZE_MAX, .bound = callback_bound,
                                     .encode = callback_encode, .decode = callback_decode, .byte_ns = callback_byte_ns};
    atomic_init(&callback->factor, 2);
    *out = (zc_codec){.cls = &callback->cls, .callback = callback};
}

void zc_callback_grow(const zc_callback *callback, size_t n, size_t made)
{
    atomic_size_t *const factor = (atomic_size_t *)&callback->factor;
    const size_t wanted = made / (n + HEADERS) + 1;
    size_t known = atomic_load_explicit(factor, memory_order_relaxed);

    while (known < wanted && !atomic_compare_exchange_weak_explicit(factor, &known, wanted, memory_order_relaxed,
                                                                    memory_order_relaxed)) {
    }
}
