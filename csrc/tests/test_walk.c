/* SPDX-License-Identifier: MIT
 *
 * Everything below a directory (io/walk.h), and what ends the walk.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#ifdef _WIN32

int main(void)
{
    return check_report("walk (POSIX only)");
}

#else

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "io/walk.h"
#include "tests/failing_malloc.h"
#ifdef CAN_FAIL
#include "tests/failing_calls.h"
#endif

enum { MOST = 40, LEVELS = 32, PAUSE = 4096, NOT_VISITED = -9 };

static char root[300];

/* A path below the root of the tests; good until the fourth call from now. */
static const char *below(const char *name)
{
    static char paths[4][600];
    static unsigned turn;
    char *const path = paths[turn++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void put_directory(const char *name)
{
    CHECK(mkdir(below(name), 0777) == 0);
}

static void put_file(const char *name, size_t n)
{
    const int fd = open(below(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    CHECK(fd >= 0 && ftruncate(fd, (off_t)n) == 0);
    close(fd);
}

static void take_away(const char *name)
{
    char path[600];

    snprintf(path, sizeof path, "%s", below(name));
    CHECK(remove_tree(path, sizeof path));
}

static int lowest_descriptor(void)
{
    const int fd = open("/dev/null", O_RDONLY);

    close(fd);
    return fd;
}

/* ---- walks ---- */

typedef struct visited {
    char names[MOST][64];
    int64_t sizes[MOST];
    size_t n;
    int code;                        /* of the entry at which the walk is to end; 0: of none */
    void (*at_first)(const char *);  /* what happens at the first entry */
    int pauses, pauses_end;          /* those that were asked; the one that ends the walk */
} visited;

static int note(void *arg, const char *path, size_t n, int64_t size)
{
    visited *const v = arg;

    CHECK(strlen(path) == n);
    if (v->n < MOST) {
        snprintf(v->names[v->n], sizeof v->names[0], "%s", path);
        v->sizes[v->n] = size;
    }
    if (v->n++ == 0 && v->at_first != NULL) {
        v->at_first(path);
    }
    return v->code;
}

static int count_pause(void *arg)
{
    visited *const v = arg;

    return ++v->pauses == v->pauses_end;
}

static int walk(const char *name, zc_symlinks links, bool sizes, visited *v)
{
    const zc_dir rules = zc_dir_none(strlen(root), links);
    const zc_walk how = {.on_entry = note, .on_pause = count_pause, .arg = v, .sizes = sizes};
    const int lowest = lowest_descriptor();
    const int code = zc_walk_below(&rules, below(name), &how);

    CHECK(lowest_descriptor() == lowest);
    return code;
}

/* The size that was reported of a name; each is reported once. */
static int64_t size_of(const visited *v, const char *name)
{
    int64_t size = NOT_VISITED;

    for (size_t i = 0; i < v->n && i < MOST; i++) {
        if (strcmp(v->names[i], name) == 0) {
            CHECK(size == NOT_VISITED);
            size = v->sizes[i];
        }
    }
    return size;
}

/* ---- what is visited ---- */

static void files_of_all_levels_and_empty_directories(void)
{
    put_directory("a");
    put_directory("a/d");
    put_directory("a/d/e");
    put_directory("a/empty");
    put_directory("a/d/e/hollow");
    put_file("a/f", 0);
    put_file("a/d/g", 7);
    put_file("a/d/e/.hidden", 300);
    for (int sizes = 0; sizes < 2; sizes++) {
        visited v = {.n = 0};

        CHECK(walk("a", ZC_SYMLINKS_INSIDE, sizes != 0, &v) == 0);
        CHECK(v.n == 5);
        CHECK(size_of(&v, "f") == (sizes ? 0 : ZC_SIZE_NOT_ASKED));
        CHECK(size_of(&v, "d/g") == (sizes ? 7 : ZC_SIZE_NOT_ASKED));
        CHECK(size_of(&v, "d/e/.hidden") == (sizes ? 300 : ZC_SIZE_NOT_ASKED));
        CHECK(size_of(&v, "empty/") == ZC_SIZE_NONE);
        CHECK(size_of(&v, "d/e/hollow/") == ZC_SIZE_NONE);
    }
    take_away("a");
}

static void a_directory_without_entries_has_none(void)
{
    visited v = {.n = 0};

    put_directory("a");
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, true, &v) == 0 && v.n == 0);
    take_away("a");
}

static void what_is_no_file_has_no_size(void)
{
    visited v = {.n = 0};

    put_directory("a");
    CHECK(mkfifo(below("a/fifo"), 0666) == 0);
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == 0 && v.n == 1 && size_of(&v, "fifo") == ZC_SIZE_NONE);
    take_away("a");
}

/* A directory with nothing but them is one without entries. */
static void files_for_locks_are_none(void)
{
    static const char *const locks[] = {".zc-locks", ".zc-locks-0", ".zc-locks-f", ".zc-locks-d", ".zc-locks-d7", ".zc-locks-da"};
    static const char *const others[] = {".zc-lock", ".zc-locks-", ".zc-locks0", ".zc-locks-g", ".zc-locks-dg", ".zc-locks-10",
                                         ".zc-locks-d10", ".zc-locks-A", "zc-locks", "c"};
    char name[64];
    visited v = {.n = 0};

    put_directory("a");
    put_directory("a/b");
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        snprintf(name, sizeof name, "a/b/%s", locks[i]);
        put_file(name, 0);
    }
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, true, &v) == 0 && v.n == 1 && size_of(&v, "b/") == ZC_SIZE_NONE);
    v = (visited){.n = 0};
    CHECK(walk("a/b", ZC_SYMLINKS_INSIDE, true, &v) == 0 && v.n == 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(name, sizeof name, "a/b/%s", others[i]);
        put_file(name, i);
    }
    v = (visited){.n = 0};
    CHECK(walk("a/b", ZC_SYMLINKS_INSIDE, true, &v) == 0 && v.n == sizeof others / sizeof *others);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK(size_of(&v, others[i]) == (int64_t)i);
    }
    take_away("a");
}

/* ---- what is not walked ---- */

static void links_are_left_to_others(void)
{
    visited v = {.n = 0};

    put_directory("a");
    put_directory("outside");
    put_file("outside/f", 1);
    CHECK(symlink("../outside", below("a/link")) == 0);
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == ELOOP && v.n == 0);
    CHECK(walk("a", ZC_SYMLINKS_FOLLOW, false, &v) == ELOOP && v.n == 0);
    /* On the way to the directory, rules hold as for any path. */
    CHECK(walk("a/link", ZC_SYMLINKS_REFUSE, false, &v) != 0 && v.n == 0);
    CHECK(walk("a/link", ZC_SYMLINKS_INSIDE, false, &v) == 0 && v.n == 1 && size_of(&v, "f") == ZC_SIZE_NOT_ASKED);
    take_away("a");
    take_away("outside");
}

static void a_link_out_of_the_root_is_not_entered(void)
{
    visited v = {.n = 0};

    put_directory("a");
    CHECK(symlink("/", below("a/link")) == 0);
    CHECK(walk("a/link", ZC_SYMLINKS_INSIDE, false, &v) == EXDEV && v.n == 0);
    take_away("a");
}

static void what_is_no_directory_is_not_walked(void)
{
    visited v = {.n = 0};

    put_file("file", 1);
    CHECK(walk("absent", ZC_SYMLINKS_INSIDE, false, &v) == ENOENT);
    CHECK(walk("file", ZC_SYMLINKS_INSIDE, false, &v) == ENOTDIR);
    CHECK(walk("file/below", ZC_SYMLINKS_INSIDE, false, &v) == ENOTDIR);
    CHECK(v.n == 0);
    take_away("file");
}

static void levels_have_an_end(void)
{
    char name[4 + 2 * LEVELS + 8] = "a";
    visited v = {.n = 0};

    put_directory("a");
    for (int level = 0; level < LEVELS; level++) {
        strcat(name, "/d");
        put_directory(name);
    }
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == 0 && v.n == 1);
    strcat(name, "/d");
    put_directory(name);
    v = (visited){.n = 0};
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == ELOOP && v.n == 0);
    take_away("a");
}

/* No path of the system is as long, but directories within each other can be. */
static void a_path_that_is_too_long_ends_the_walk(void)
{
    enum { LONG = 250, DEEP = PATH_MAX / LONG + 2 };
    int fds[DEEP + 1];
    char name[LONG + 1];
    visited v = {.n = 0};

    memset(name, 'n', LONG);
    name[LONG] = '\0';
    put_directory("a");
    fds[0] = open(below("a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEEP; i++) {
        CHECK(mkdirat(fds[i], name, 0777) == 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(fds[i + 1] >= 0);
    }
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == ENAMETOOLONG && v.n == 0);
    for (int i = DEEP; i > 0; i--) {
        close(fds[i]);
        CHECK(unlinkat(fds[i - 1], name, AT_REMOVEDIR) == 0);
    }
    close(fds[0]);
    take_away("a");
}

/* ---- what ends a walk ---- */

static void an_entry_may_end_it(void)
{
    visited v = {.code = EFBIG};

    put_directory("a");
    put_directory("a/b");
    put_file("a/b/c", 1);
    put_file("a/d", 1);
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == EFBIG && v.n == 1);
    take_away("a/d");
    take_away("a/b/c");
    v = (visited){.code = ENOMEM};                   /* an empty directory is an entry */
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == ENOMEM && v.n == 1);
    take_away("a");
}

static void a_pause_may_end_it(void)
{
    visited v = {.n = 0};
    char name[32];

    put_directory("a");
    for (int i = 0; i < PAUSE; i++) {
        snprintf(name, sizeof name, "a/%d", i);
        put_file(name, 0);
    }
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == 0 && v.n == PAUSE && v.pauses == 1);
    v = (visited){.pauses_end = 1};
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, false, &v) == ECANCELED && v.pauses == 1 && v.n < PAUSE);
    take_away("a");
}

/* ---- what changes meanwhile ---- */

static void remove_the_other(const char *path)
{
    CHECK(unlink(below(path[0] == 'f' ? "a/g" : "a/f")) == 0);
}

static void a_file_that_is_removed_meanwhile_is_none(void)
{
    visited v = {.at_first = remove_the_other};

    put_directory("a");
    put_file("a/f", 3);
    put_file("a/g", 3);
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, true, &v) == 0 && v.n == 1 && v.sizes[0] == 3);
    take_away("a");
}

static void link_the_other(const char *path)
{
    const char *const other = path[0] == 'd' ? "a/e" : "a/d";
    char file[64];

    snprintf(file, sizeof file, "%s/f", other);
    take_away(file);
    CHECK(rmdir(below(other)) == 0 && symlink("../outside", below(other)) == 0);
}

static void a_directory_that_becomes_a_link_is_not_entered(void)
{
    visited v = {.at_first = link_the_other};

    put_directory("outside");
    put_file("outside/stranger", 3);
    put_directory("a");
    put_directory("a/d");
    put_directory("a/e");
    put_file("a/d/f", 3);
    put_file("a/e/f", 3);
    CHECK(walk("a", ZC_SYMLINKS_INSIDE, true, &v) != 0 && v.n == 1);
    CHECK(strstr(v.names[0], "stranger") == NULL);
    take_away("a");
    take_away("outside");
}

/* ---- calls of the system that fail ---- */

#ifdef CAN_FAIL
static void every_call_that_fails_ends_it(void)
{
    static const int codes[] = {EIO, EACCES, EMFILE, ESTALE, ENOENT};
    long calls = 0;

    put_directory("a");
    put_directory("a/b");
    put_directory("a/b/e");
    put_file("a/b/c", 1);
    put_file("a/d", 1);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        const zc_dir rules = zc_dir_none(strlen(root), ZC_SYMLINKS_INSIDE);
        bool failed = true;

        failing_with = codes[c];
        for (calls = 0; failed && calls < 1000; calls++) {
            visited v = {.n = 0};
            const zc_walk how = {.on_entry = note, .arg = &v};
            const char *const path = below("a");
            const int lowest = lowest_descriptor();

            fail_from(calls, false);
            const int code = zc_walk_below(&rules, path, &how);
            failed = has_failed();
            CHECK(code == (failed ? codes[c] : 0));
            CHECK(failed || v.n == 3);
            CHECK(lowest_descriptor() == lowest);
        }
        CHECK(calls > 10 && calls < 1000);           /* three directories, each opened, read to its end */
    }
    take_away("a");
}
#endif

int main(void)
{
    if (!make_temporary_in_memory(root, sizeof root)) {
        perror("no directory for the tests");
        return 1;
    }
    RUN(files_of_all_levels_and_empty_directories);
    RUN(a_directory_without_entries_has_none);
    RUN(what_is_no_file_has_no_size);
    RUN(files_for_locks_are_none);
    RUN(links_are_left_to_others);
    RUN(a_link_out_of_the_root_is_not_entered);
    RUN(what_is_no_directory_is_not_walked);
    RUN(levels_have_an_end);
    RUN(a_path_that_is_too_long_ends_the_walk);
    RUN(an_entry_may_end_it);
    RUN(a_pause_may_end_it);
    RUN(a_file_that_is_removed_meanwhile_is_none);
    RUN(a_directory_that_becomes_a_link_is_not_entered);
#ifdef CAN_FAIL
    RUN(every_call_that_fails_ends_it);
#endif
    CHECK(remove_tree(root, sizeof root));
    return check_report("walk");
}

#endif
