/* SPDX-License-Identifier: MIT
 *
 * The file layer, where POSIX and Windows are the same.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdatomic.h>
#include <utime.h>

#include "file_cases.h"
#include "threads.h"

/* ---- reading ---- */

static void missing_is_missing(void)
{
    zc_dir *none = dir;

    put("plain", "x");
    CHECK(open_status("nothing") == ZC_ERR_MISSING);
    CHECK(strstr(err.message, "nothing") != NULL);
    CHECK(open_status("no/such/parents") == ZC_ERR_MISSING);
    CHECK(failed_with(open_status("plain/below"), ENOTDIR));
    CHECK(failed_with(open_status("plain/below/more"), ENOTDIR));
    CHECK(failed_with(zc_file_remove(NULL, "plain/below", false, NULL, &err), ENOTDIR));
    CHECK(zc_dir_open("nowhere", strlen("nowhere"), ZC_SYMLINKS_INSIDE, &none, &err) == ZC_ERR_MISSING && none == NULL);
    CHECK(failed_with(zc_dir_open("plain/below", strlen("plain/below"), ZC_SYMLINKS_INSIDE, &none, &err), ENOTDIR));
}

static void read_is_exact(void)
{
    char buffer[17] = "................";
    zc_file file;

    put("ten", "0123456789");
    CHECK(zc_file_open(dir, "ten", &file, &err) == ZC_OK);
    CHECK(file.size == 10 && zc_file_age_ns(&file) < INT64_C(3600000000000));
    CHECK(file.mtime_ns / 1000000000 > 1577836800);                        /* seconds since 1970, so past 2020 */
    CHECK(zc_file_read(&file, 3, buffer, 4, &err) == ZC_OK && memcmp(buffer, "3456.", 5) == 0);
    CHECK(zc_file_read(&file, 10, buffer, 0, &err) == ZC_OK);
    CHECK(zc_file_read(&file, 8, buffer, 3, &err) == ZC_ERR_CORRUPT);
    CHECK(strstr(err.message, "ends after 10 bytes") != NULL);
    CHECK(zc_file_read(&file, 99, buffer, 1, &err) == ZC_ERR_CORRUPT);
    CHECK(zc_file_read(&file, UINT64_MAX, buffer, 1, &err) == ZC_ERR_CORRUPT);
    CHECK(zc_file_read(&file, INT64_MAX, buffer, 16, &err) == ZC_ERR_CORRUPT);
    if (SIZE_MAX > UINT32_MAX) {       /* else it is no more than a file could have */
        CHECK(zc_file_read(&file, 1, buffer, SIZE_MAX, &err) == ZC_ERR_CORRUPT);
    }
    zc_file_close(&file);
    CHECK(file.handle == -1);
    CHECK(zc_file_read(&(zc_file){.handle = -1}, 0, buffer, 1, &err) == ZC_ERR_IO && err.sys_errno == EBADF);
}

/* ---- writing ---- */

static void replace_makes_and_replaces(void)
{
    put("new", "first");
    CHECK(holds("new", "first"));
    put("new", "2nd");
    CHECK(holds("new", "2nd"));
    put("new", "");
    CHECK(holds("new", ""));
    CHECK(entries(".", false) == 0);
}

/* Windows before 10, its file systems other than NTFS, and some that emulate it do not replace what somebody reads. */
#ifdef _WIN32
enum { MAY_BE_IN_USE = true };
#else
enum { MAY_BE_IN_USE = false };
#endif

static void open_file_keeps_its_version(void)
{
    char buffer[4] = "";
    zc_file file;

    put("version", "old");
    CHECK(zc_file_open(dir, "version", &file, &err) == ZC_OK);
    const zc_status status = zc_file_replace(dir, "version", "new version", 11, false, &err);
    CHECK(status == ZC_OK || (MAY_BE_IN_USE && failed_with(status, EACCES)));
    CHECK(zc_file_read(&file, 0, buffer, 3, &err) == ZC_OK && strcmp(buffer, "old") == 0);
    zc_file_close(&file);
    CHECK(holds("version", status == ZC_OK ? "new version" : "old") && entries(".", false) == 0);
}

static void parents_are_made(void)
{
    char absolute[PATH_ROOM];

    put("a/b/c/0/1/2", "deep");
    CHECK(holds("a/b/c/0/1/2", "deep"));
    CHECK(entries("a/b/c/0/1", true) == 1);
    CHECK(zc_file_replace(dir, "s/y/n/c", "synced", 6, true, &err) == ZC_OK);
    CHECK(holds("s/y/n/c", "synced"));
    CHECK(zc_file_replace(dir, "synced", "1", 1, true, &err) == ZC_OK);
    CHECK(zc_file_create(dir, "p//q/r", "twice", 5, true, &err) == ZC_OK);
    CHECK(holds("p/q/r", "twice"));
    CHECK(getcwd(absolute, sizeof absolute - 20) != NULL);
    strcat(absolute, "/abs/o/lute");
    CHECK(zc_file_replace(NULL, absolute, "path", 4, true, &err) == ZC_OK);
    CHECK(holds("abs/o/lute", "path"));
}

static void failure_leaves_no_trace(void)
{
    put("plain", "kept");
    put("occupied/by", "this");
    CHECK(zc_file_replace(dir, "occupied", "x", 1, false, &err) == ZC_ERR_IO);
    CHECK(strstr(err.message, "occupied") != NULL);
    CHECK(zc_file_replace(dir, "plain/below", "x", 1, false, &err) == ZC_ERR_IO);
    CHECK(zc_file_replace(dir, "plain/b/e/low", "x", 1, false, &err) == ZC_ERR_IO);
    CHECK(holds("plain", "kept"));
    CHECK(entries(".", false) == 0);
}

static void loads(void)
{
    char text[16];
    zc_file file;
    size_t n;

    put("seven", "letters");
    put("empty", "");
    CHECK(make_directory("folder"));
    CHECK(zc_file_load(dir, "seven", text, sizeof text, &n, &file, &err) == ZC_OK);
    CHECK(n == 7 && memcmp(text, "letters", 7) == 0 && file.handle < 0);
    CHECK(zc_file_load(dir, "seven", text, 8, &n, &file, &err) == ZC_OK && n == 7 && file.handle < 0);
    CHECK(zc_file_load(dir, "seven", text, 7, &n, &file, &err) == ZC_OK && n == 0 && file.size == 7);
    zc_file_close(&file);
    CHECK(zc_file_load(dir, "empty", text, 7, &n, &file, &err) == ZC_OK && n == 0 && file.size == 0);
    zc_file_close(&file);
    CHECK(zc_file_load(dir, "absent", text, 7, &n, &file, &err) == ZC_ERR_MISSING);
    CHECK(failed_with(zc_file_load(dir, "folder", text, 7, &n, &file, &err), EISDIR) && file.handle < 0);
}

/* Pieces of two letters each; fails at fail_at. */
typedef struct letters {
    const char *text;
    uint64_t fail_at;
} letters;

static zc_status next_letters(void *self, uint64_t offset, const void **data, size_t *n, zc_error *e)
{
    const letters *l = self;

    if (offset == l->fail_at) {
        return zc_fail(e, ZC_ERR_CANCELLED, "interrupted");
    }
    *data = l->text + offset;
    *n = strlen(l->text + offset) < 2 ? strlen(l->text + offset) : 2;
    return ZC_OK;
}

static void pieces(void)
{
    letters l = {"abcdefg", UINT64_MAX};
    const zc_file_source source = {.total = strlen(l.text), .piece = next_letters, .self = &l};
    const zc_file_source nothing = {.piece = next_letters, .self = &l};
    const int before = entries(".", false);

    CHECK(zc_file_put(dir, "pie/ces", &source, true, NULL, false, &err) == ZC_OK);
    CHECK(holds("pie/ces", "abcdefg"));
    for (l.fail_at = 0; l.fail_at < 8; l.fail_at += 2) {
        l.text = "ABCDEFG";
        CHECK(zc_file_put(dir, "pie/ces", &source, false, NULL, false, &err) == ZC_ERR_CANCELLED);
        CHECK(strcmp(err.message, "interrupted") == 0);
        CHECK(holds("pie/ces", "abcdefg") && entries("pie", true) == 1);
    }
    CHECK(zc_file_put(dir, "pie/ces", &nothing, false, NULL, false, &err) == ZC_OK);
    CHECK(holds("pie/ces", "") && entries(".", false) == before);
}

static void too_long_names_are_refused(void)
{
    static char name[3 * PATH_ROOM];

    for (size_t i = 0; i < sizeof name - 1; i++) {
        name[i] = i % 2 ? '/' : 'd';
    }
    CHECK(failed_with(zc_file_replace(dir, name, "x", 1, false, &err), ENAMETOOLONG));
    CHECK(failed_with(zc_file_create(dir, name, "x", 1, false, &err), ENAMETOOLONG));
    CHECK(failed_with(open_status(name), ENAMETOOLONG));
}

/* Longer than the 260 characters that Windows allows unless it is asked in another way. */
static void long_paths(void)
{
    char name[300];

    memset(name, 'p', sizeof name);
    name[80] = '/';
    name[sizeof name - 1] = '\0';
    if (dir != NULL) {
        put(name, "far below");
        CHECK(holds(name, "far below"));
        CHECK(zc_file_remove(dir, name, false, NULL, &err) == ZC_OK && open_status(name) == ZC_ERR_MISSING);
    }
}

static void create_is_exclusive(void)
{
    CHECK(zc_file_create(dir, "once", "first", 5, false, &err) == ZC_OK);
    CHECK(failed_with(zc_file_create(dir, "once", "2nd", 3, false, &err), EEXIST));
    CHECK(holds("once", "first"));
    CHECK(entries(".", false) == 0);
}

static void remove_tolerates_absence(void)
{
    put("gone", "x");
    put("full/of", "this");
    CHECK(zc_file_remove(dir, "gone", true, NULL, &err) == ZC_OK);
    CHECK(open_status("gone") == ZC_ERR_MISSING);
    CHECK(zc_file_remove(dir, "gone", false, NULL, &err) == ZC_OK);
    CHECK(zc_file_remove(dir, "no/parents", false, NULL, &err) == ZC_OK);
    CHECK(zc_file_remove(dir, "full", false, NULL, &err) == ZC_ERR_IO);
}

/* ---- several threads ---- */

enum { VERSIONS = 400, LARGEST = 3 * 4096 };

/* A version is one byte, many times; its length determines which byte. */
static void *write_versions(void *arg)
{
    static char buffers[2][LARGEST];
    char *buffer = buffers[*(const int *)arg];
    bool good = true;

    for (int i = 0; i < VERSIONS; i++) {
        const size_t n = (size_t)(i * 31 % LARGEST) + 1;

        memset(buffer, (int)(n % 251), n);
        zc_error failed;
        const zc_status status = zc_file_replace(dir, "versions/file", buffer, n, false, &failed);
        good = good && (status == ZC_OK || (MAY_BE_IN_USE && failed.sys_errno == EACCES));
    }
    return good ? arg : NULL;
}

static bool version_is_whole(void)
{
    static unsigned char buffer[LARGEST];
    zc_file file;

    if (zc_file_open(dir, "versions/file", &file, &err) != ZC_OK) {
        return false;
    }
    bool good = file.size <= LARGEST && zc_file_read(&file, 0, buffer, (size_t)file.size, &err) == ZC_OK;
    for (size_t i = 0; good && i < file.size; i++) {
        good = buffer[i] == file.size % 251;
    }
    zc_file_close(&file);
    return good;
}

static void readers_see_whole_versions(void)
{
    test_thread writers[2];
    int ids[2] = {0, 1};
    int broken = 0;

    put("versions/file", "\x01");
    for (int i = 0; i < 2; i++) {
        CHECK(thread_start(&writers[i], write_versions, &ids[i]));
    }
    for (int i = 0; i < 2000; i++) {
        broken += !version_is_whole();
    }
    for (int i = 0; i < 2; i++) {
        CHECK(thread_join(&writers[i]) != NULL);
    }
    CHECK(broken == 0);
    CHECK(entries("versions", true) == 1);
}

static atomic_int winners;

static void *create_all(void *arg)
{
    for (int i = 0; i < 50; i++) {
        char name[32];

        snprintf(name, sizeof name, "race/%d/%d", i % 7, i);
        if (zc_file_create(dir, name, "x", 1, false, NULL) == ZC_OK) {
            atomic_fetch_add(&winners, 1);
        }
    }
    return arg;
}

static void one_creator_wins(void)
{
    test_thread callers[4];

    atomic_store(&winners, 0);
    for (int i = 0; i < 4; i++) {
        CHECK(thread_start(&callers[i], create_all, NULL));
    }
    for (int i = 0; i < 4; i++) {
        thread_join(&callers[i]);
    }
    CHECK(winners == 50);
    CHECK(entries("race/0", false) == 0);
}

/* ---- temporary names ---- */

static void temporary_names_are_known(void)
{
    char a[ZC_TEMPORARY_LENGTH + 1], b[ZC_TEMPORARY_LENGTH + 1];

    zc_temporary_name(0x123456789abULL, 1, a);
    zc_temporary_name(0x123456789abULL, 1, b);
    CHECK(strlen(a) == ZC_TEMPORARY_LENGTH && strcmp(a, b) != 0);
    CHECK(zc_file_is_temporary(a) && zc_file_is_temporary(b));
    CHECK(zc_temporary_owner(a) == 0x123456789abULL && zc_temporary_owner(b) == zc_temporary_owner(a));
    CHECK(zc_file_is_temporary(".zc-0123456789abcdef.partial"));
    CHECK(!zc_file_is_temporary(""));
    CHECK(!zc_file_is_temporary("c/.zc-0123456789abcdef.partial"));
    CHECK(!zc_file_is_temporary(".zc-0123456789abcdef"));
    CHECK(!zc_file_is_temporary(".zc-0123456789abcde.partial"));
    CHECK(!zc_file_is_temporary(".zc-0123456789abcdef0.partial"));
    CHECK(!zc_file_is_temporary(".zc-0123456789abcdeF.partial"));
    CHECK(!zc_file_is_temporary(".zc-0123456789abcdef.partial2"));
    CHECK(!zc_file_is_temporary("zc-0123456789abcdef.partial"));
}

int main(void)
{
    static const file_case cases[] = {
        {"missing_is_missing", missing_is_missing},
        {"read_is_exact", read_is_exact},
        {"replace_makes_and_replaces", replace_makes_and_replaces},
        {"open_file_keeps_its_version", open_file_keeps_its_version},
        {"parents_are_made", parents_are_made},
        {"failure_leaves_no_trace", failure_leaves_no_trace},
        {"pieces", pieces},
        {"loads", loads},
        {"too_long_names_are_refused", too_long_names_are_refused},
        {"long_paths", long_paths},
        {"create_is_exclusive", create_is_exclusive},
        {"remove_tolerates_absence", remove_tolerates_absence},
        {"readers_see_whole_versions", readers_see_whole_versions},
        {"one_creator_wins", one_creator_wins},
        {"temporary_names_are_known", temporary_names_are_known},
    };

    run_cases(cases, sizeof cases / sizeof *cases);
    return check_report("file");
}
