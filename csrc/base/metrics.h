/* SPDX-License-Identifier: MIT
 *
 * What the process has done since it began, as users see it.  Each thread counts for itself, without an atomic operation,
 * and hands over what it has when it hands its workspace back, to a place that it shares with few others or none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/os_thread.h"

typedef enum zc_metric {
    ZC_METRIC_REQUESTS,      /* values, or ranges of them, that stores were asked for */
    ZC_METRIC_BYTES_READ,    /* that came back */
    ZC_METRIC_WRITES,        /* values that were stored or removed */
    ZC_METRIC_BYTES_WRITTEN,
    ZC_METRIC_CHUNKS,        /* chunks, or inner chunks, whose elements were decoded, or taken as they are stored */
    ZC_METRIC_HITS,          /* that were found in a cache */
    ZC_METRIC_MISSES,
    ZC_METRIC_DECODE_NS,     /* in decompressors and filters, of all threads together */
    ZC_METRIC_KINDS
} zc_metric;

typedef struct zc_metrics {
    uint64_t n[ZC_METRIC_KINDS];
} zc_metrics;

extern _Thread_local zc_metrics zc_metrics_here;         /* workspace.c */

static inline void zc_metric_add(zc_metric kind, uint64_t n)
{
    zc_metrics_here.n[kind] += n;
}

/* Hand over what this thread has counted; for threads that have no workspace to give back. */
void zc_metrics_hand_over(void);

/* What all threads have handed over. */
void zc_metrics_get(zc_metrics *out);

/* A clock that runs while something of n bytes is decoded.  Of what is small one in 16 is timed, and stands for all: two
 * looks at the clock would cost a few per cent of it.  What decoders call is part of their own time. */
typedef struct zc_stopwatch {
    int64_t start_ns;
    unsigned weight;         /* 0: not timed */
} zc_stopwatch;

zc_stopwatch zc_stopwatch_start(size_t n);
void zc_stopwatch_stop(zc_stopwatch watch);
