/* SPDX-License-Identifier: MIT
 *
 * Private to codecs/: fixedscaleoffset between floats and integers of at most 32 bits, where the machine has vectors
 * that do several of its steps at once.
 */
#pragma once

#include "codecs/numbers.h"

/* Put a faster map of the same results in place of the one that encodes, or that decodes, if there is one. */
void zc_scale_to_integers(const zc_codec *codec, zc_number_map *map);
void zc_scale_from_integers(const zc_codec *codec, zc_number_map *map);
