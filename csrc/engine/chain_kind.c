/* SPDX-License-Identifier: MIT */
#include "engine/chain_kind.h"

#include "base/assert.h"
#include "engine/chunk.h"

/* The stages come after the bytes of a shard or of a block: a chain without them does the rest. */
static bool wrap(zc_chain *chain, zc_arena *arena)
{
    zc_chain *const bare = zc_arena_alloc(arena, sizeof *bare);

    if (bare == NULL) {
        return false;
    }
    *bare = *chain;
    bare->n_stages = 0;
    bare->order_ndim = 0;
    chain->bare = bare;
    chain->ops = bare->ops->decode != NULL ? &zc_wrapped_ops : &zc_wrapped_shard_ops;
    return true;
}

bool zc_chain_choose_kind(zc_chain *chain, zc_arena *arena)
{
    zc_assert(chain->n_stages >= 0 && chain->n_stages <= ZC_MAX_STAGES && chain->item.size >= 1);
    if (chain->filtered != NULL) {
        chain->ops = &zc_filtered_ops;
        return true;
    }
    if (chain->sharded || chain->block != NULL) {
        chain->ops = chain->sharded ? &zc_shard_ops : &zc_n5_block_ops;
        return chain->n_stages == 0 || wrap(chain, arena);
    }
    chain->ops = chain->n_stages > 0 ? &zc_staged_ops : &zc_plain_ops;
    return true;
}
