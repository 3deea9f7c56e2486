/* SPDX-License-Identifier: MIT
 *
 * The one place that asks which kind a chain is.
 */
#ifndef ZC_ENGINE_CHAIN_KIND_H
#define ZC_ENGINE_CHAIN_KIND_H

#include "base/arena.h"
#include "engine/chain.h"

/* Set `ops` of a chain whose other members are set, and `bare` where it needs one, in memory of the arena; false without
 * memory. */
bool zc_chain_choose_kind(zc_chain *chain, zc_arena *arena);

#endif
