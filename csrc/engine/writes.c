/* SPDX-License-Identifier: MIT
 *
 * A list of the writes under way, which lie in the frames of their threads.
 */
#include "engine/writes.h"

#include "base/lock_order.h"

#define LOOK_AGAIN_NS INT64_C(50000000)      /* how often a waiting thread asks whether to go on waiting */

static _Thread_local char this_thread;
static zc_mutex guard = ZC_MUTEX_INIT;
static zc_cond ended;                        /* made by the first write */
static zc_writing *under_way;
static uint64_t begun;                       /* writes */
static int waiting;                          /* threads */
static unsigned forks;
static atomic_int registered;
static _Atomic uint64_t losses;

/* The threads that were writing are not in the child. */
static void start_child(void)
{
    zc_mutex_init(&guard);
    zc_cond_init(&ended);
    under_way = NULL;
    waiting = 0;
    forks++;
}

void zc_writing_begin(const zc_place *array, zc_writing *out)
{
    zc_at_fork_once(&registered, start_child);
    zc_rank_lock(&guard, ZC_RANK_WAITS);
    if (begun == 0) {
        zc_cond_init(&ended);
    }
    *out = (zc_writing){.array = array, .owner = &this_thread, .next = under_way, .number = ++begun, .forks = forks};
    under_way = out;
    zc_rank_unlock(&guard, ZC_RANK_WAITS);
}

void zc_writing_end(zc_writing *writing)
{
    zc_writing **at = &under_way;

    if (writing->array == NULL || writing->forks != forks) {
        return;                              /* begun before a fork, in a process that is not this one */
    }
    zc_rank_lock(&guard, ZC_RANK_WAITS);
    while (*at != writing) {
        at = &(*at)->next;
    }
    *at = writing->next;
    if (waiting > 0) {
        zc_cond_broadcast(&ended);
    }
    zc_rank_unlock(&guard, ZC_RANK_WAITS);
}

/* May the array lie at the place or below it?  "No" is certain. */
static bool may_be_at(const zc_place *array, const zc_place *place)
{
    return place->n > ZC_PLACE_DEPTH ||
           (array->n >= place->n && array->slots[place->n - 1] == place->slots[place->n - 1]);
}

/* Under the guard: is one of the first writes under way there, by another thread? */
static bool is_written_to(const zc_place *place, uint64_t last)
{
    const zc_writing *w = under_way;

    while (w != NULL && (w->number > last || w->owner == &this_thread || !may_be_at(w->array, place))) {
        w = w->next;
    }
    return w != NULL;
}

zc_status zc_wait_for_writes(const zc_place *place, const zc_workspace *ws, bool *waited)
{
    zc_status status = ZC_OK;

    zc_rank_lock(&guard, ZC_RANK_WAITS);
    const uint64_t last = begun;
    *waited = is_written_to(place, last);
    waiting++;
    while (status == ZC_OK && is_written_to(place, last)) {
        zc_cond_wait_for(&ended, &guard, LOOK_AGAIN_NS);
        zc_rank_unlock(&guard, ZC_RANK_WAITS);
        if (zc_workspace_cancelled(ws)) {            /* which may run a signal handler */
            status = ZC_ERR_CANCELLED;
        }
        zc_rank_lock(&guard, ZC_RANK_WAITS);
    }
    waiting--;
    zc_rank_unlock(&guard, ZC_RANK_WAITS);
    return status;
}

uint64_t zc_losses(void)
{
    return atomic_load(&losses);
}

void zc_note_loss(void)
{
    atomic_fetch_add(&losses, 1);
}
