/* SPDX-License-Identifier: MIT
 *
 * Which shapes this process has given to arrays.
 *
 * A write that reaches the end of the array may replace the chunks there as a whole, as long as nothing lies beyond.
 * Somebody who has the array open with the shape that it had before must not: another handle has made the array grow,
 * and may have written there.
 */
#ifndef ZC_ENGINE_SHAPES_H
#define ZC_ENGINE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An array is getting a new shape; to be told before anything is written to it by that shape.  seed: of its store;
 * prefix: of its chunk keys, terminated.
 */
void zc_shape_note(uint64_t seed, const char *prefix, int ndim, const int64_t *lengths);

/* An array is being created: what was noted of one that was there before is out of date. */
void zc_shape_renew(uint64_t seed, const char *prefix, int ndim, const int64_t *lengths);

/* May the array have another shape than this one, by what this process has done?  Only "no" is certain. */
bool zc_shape_is_stale(uint64_t seed, const char *prefix, int ndim, const int64_t *lengths);

#endif
