/* SPDX-License-Identifier: MIT */
#include "engine/shapes.h"

#include <stdio.h>

#include "check.h"

static void known_shapes(void)
{
    const int64_t old[2] = {4, 9}, new[2] = {5, 9}, swapped[2] = {9, 4};

    CHECK(!zc_shape_is_stale(1, "a/", 2, old));
    zc_shape_renew(1, "a/", 2, new);             /* nothing was known of it */
    CHECK(!zc_shape_is_stale(1, "a/", 2, old));
    zc_shape_note(1, "a/", 2, new);
    CHECK(zc_shape_is_stale(1, "a/", 2, old));
    CHECK(zc_shape_is_stale(1, "a/", 2, swapped));
    CHECK(zc_shape_is_stale(1, "a/", 1, new));
    CHECK(!zc_shape_is_stale(1, "a/", 2, new));
    CHECK(!zc_shape_is_stale(2, "a/", 2, old));  /* in another store */
    CHECK(!zc_shape_is_stale(1, "b/", 2, old));
    zc_shape_renew(1, "a/", 2, old);
    CHECK(!zc_shape_is_stale(1, "a/", 2, old));
    CHECK(zc_shape_is_stale(1, "a/", 2, new));
}

static void no_change_is_forgotten(void)
{
    char name[32];

    for (int64_t i = 0; i < 60000; i++) {        /* more than there is room for */
        const int64_t length = i + 1;
        snprintf(name, sizeof name, "array-%d/", (int)i);
        zc_shape_note(3, name, 1, &length);
    }
    for (int64_t i = 0; i < 60000; i++) {
        const int64_t before = i;
        snprintf(name, sizeof name, "array-%d/", (int)i);
        CHECK(zc_shape_is_stale(3, name, 1, &before));
    }
}

int main(void)
{
    RUN(known_shapes);
    RUN(no_change_is_forgotten);
    return check_report("shapes");
}
