/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

const zc_chunk_ops zc_any_chunk = {.read = zc_chunk_read, .decode = zc_chunk_decode, .write = zc_chunk_write};
