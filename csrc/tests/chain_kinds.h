/* SPDX-License-Identifier: MIT
 *
 * Chains that tests and fuzz targets make by hand: their kinds, as zc_chain_compile would choose them.
 */
#pragma once

#include <stdlib.h>

#include "engine/chain_build.h"

/* Choose the kinds of a chain and of all chains in it, with memory of the arena. */
static inline void choose_kinds(zc_chain *chain, zc_arena *arena)
{
    const zc_chain *const inside[] = {chain->inner, chain->index, chain->block,
                                      chain->filtered != NULL ? chain->filtered->chain : NULL};

    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        if (inside[i] != NULL) {
            choose_kinds((zc_chain *)inside[i], arena);
        }
    }
    if (!zc_chain_choose_kind(chain, arena)) {
        abort();
    }
}
