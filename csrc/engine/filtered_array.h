/* SPDX-License-Identifier: MIT
 *
 * Chunks that hold an array with a chain of its own: after filters (zc_chain.body), or as a block of N5
 * (zc_chain.block).
 */
#ifndef ZC_ENGINE_FILTERED_ARRAY_H
#define ZC_ENGINE_FILTERED_ARRAY_H

#include "engine/engine.h"

/* The elements of a chunk that has a body, as they are before the filters. */
zc_status zc_body_decode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                         const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                         zc_workspace *ws, zc_error *err);

/* Encode such elements, from memory. */
zc_status zc_body_encode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                         const uint8_t *elements, size_t size, uint8_t *dst, size_t cap, size_t *written,
                         zc_workspace *ws, zc_error *err);

/* The elements of a chunk that is a block, as the block stores them; those that it lacks are the fill value. */
zc_status zc_block_decode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                          const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                          zc_workspace *ws, zc_error *err);

/* Decode what is selected (in stored order) of a chunk that is a block: nothing else, as far as its codecs allow. */
zc_status zc_block_read(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                        const zc_selection *selection, const zc_value *value, uint64_t offset, uint64_t nbytes,
                        zc_workspace *ws, zc_error *err);

/* Encode a chunk as a block: the elements of the selection, all others being the fill value. */
zc_status zc_block_write(const zc_scope *scope, const zc_chain *chain, const int64_t *stored, const int64_t *bounds,
                         const zc_selection *selection, uint8_t *dst, size_t cap, size_t *written, zc_workspace *ws,
                         zc_error *err);

/* The same from elements in memory, as the block stores them. */
zc_status zc_block_encode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                          const uint8_t *elements, uint8_t *dst, size_t cap, size_t *written, zc_workspace *ws,
                          zc_error *err);

#endif
