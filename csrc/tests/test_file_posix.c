/* SPDX-License-Identifier: MIT
 *
 * The file layer: what only POSIX has, such as links, modes, limits and special files.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#ifdef _WIN32

int main(void)
{
    return check_report("file_posix (none)");
}

#else

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <utime.h>

#include "base/counts.h"
#include "file_cases.h"

static void nothing_else_is_missing(void)
{
    char longname[NAME_MAX + 10];
    zc_dir *none;

    CHECK(mkdir("directory", 0777) == 0);
    CHECK(failed_with(open_status("directory"), EISDIR));
    CHECK(strstr(err.message, "directory") != NULL);
    CHECK(symlink("loop", "loop") == 0);
    CHECK(failed_with(open_status("loop"), ELOOP));
    CHECK(symlink("content kept elsewhere", "dangling") == 0);
    CHECK(failed_with(open_status("dangling"), ENOENT));
    memset(longname, 'a', sizeof longname - 1);
    longname[sizeof longname - 1] = '\0';
    CHECK(failed_with(open_status(longname), ENAMETOOLONG));
    put("file", "x");
    CHECK(failed_with(zc_dir_open("file", strlen("file"), ZC_SYMLINKS_INSIDE, &none, &err), ENOTDIR));
    if (geteuid() != 0) {
        CHECK(chmod("file", 0) == 0);
        CHECK(failed_with(open_status("file"), EACCES));
        CHECK(strstr(err.message, strerror(EACCES)) != NULL);
    }
}

static void no_descriptors_left_is_an_error(void)
{
    struct rlimit before, none;

    if (check_emulated()) {
        return;
    }
    put("file", "x");
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    const zc_status status = open_status("file");
    const zc_status absent = open_status("absent");
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(failed_with(status, EMFILE));
    CHECK(failed_with(absent, EMFILE));
}

static void links_to_files_are_files(void)
{
    put("target", "content");
    CHECK(symlink("target", "link") == 0);
    CHECK(holds("link", "content"));
}

static void a_file_takes_the_place_of_emptied_directories(void)
{
    CHECK(mkdir("new", 0777) == 0);
    CHECK(zc_file_create(NULL, "new", "x", 1, false, &err) == ZC_OK && holds("new", "x"));
    CHECK(mkdir("a", 0777) == 0 && mkdir("a/b", 0777) == 0 && mkdir("a/b/c", 0777) == 0 && mkdir("a/d", 0777) == 0);
    put("a/b/file", "kept");
    CHECK(failed_with(zc_file_replace(NULL, "a", "x", 1, true, &err), EISDIR));
    CHECK(failed_with(zc_file_create(NULL, "a", "x", 1, true, &err), EEXIST));
    CHECK(failed_with(zc_file_remove(NULL, "a", true, NULL, &err), EISDIR));
    CHECK(holds("a/b/file", "kept"));
    CHECK(access("a/b/c", F_OK) == 0 && access("a/d", F_OK) == 0);       /* others that were written stay */
    CHECK(zc_file_remove(NULL, "a/b/file", true, NULL, &err) == ZC_OK);
    CHECK(symlink("d", "a/link") == 0);
    CHECK(failed_with(zc_file_replace(NULL, "a", "x", 1, true, &err), EISDIR));
    CHECK(unlink("a/link") == 0);
    CHECK(zc_file_replace(NULL, "a", "x", 1, true, &err) == ZC_OK);
    CHECK(holds("a", "x"));
    CHECK(mkdir("e", 0777) == 0 && mkdir("e/f", 0777) == 0);
    CHECK(zc_file_remove(NULL, "e", true, NULL, &err) == ZC_OK && access("e", F_OK) != 0);
    CHECK(mkdir("g", 0777) == 0 && symlink("g", "to_g") == 0);
    CHECK(zc_file_create(NULL, "to_g", "x", 1, false, &err) != ZC_OK);
    CHECK(access("g", F_OK) == 0);
}

static zc_status read_below(const zc_dir *root, const char *name)
{
    zc_file file;
    const zc_status status = zc_file_open(root, name, &file, &err);

    zc_file_close(&file);
    return status;
}

static void links_do_not_leave_the_root(void)
{
    static const zc_symlinks rules[] = {ZC_SYMLINKS_INSIDE, ZC_SYMLINKS_REFUSE, ZC_SYMLINKS_FOLLOW};
    zc_dir *root;

    put("outside/c", "kept");
    put("root/real/c", "inside");
    CHECK(symlink("../outside", "root/out") == 0 && symlink("real", "root/in") == 0);
    CHECK(symlink("../outside/c", "root/file") == 0 && symlink("root", "way") == 0);
    for (size_t i = 0; i < 12; i++) {
        static const char *const paths[] = {"root", "way", "root/", "way//"};
        const char *const path = paths[i % 4];
        const zc_symlinks links = rules[i / 4];
        const bool all = links == ZC_SYMLINKS_FOLLOW, none = links == ZC_SYMLINKS_REFUSE;

        CHECK(zc_dir_open(path, strcspn(path, "/"), links, &root, &err) == ZC_OK);
        CHECK(read_below(root, "real/c") == ZC_OK);
        CHECK(read_below(root, "in/c") == (none ? ZC_ERR_IO : ZC_OK));
        CHECK(read_below(root, "out/c") == (all ? ZC_OK : ZC_ERR_IO));
        CHECK(read_below(root, "out/absent") == (all ? ZC_ERR_MISSING : ZC_ERR_IO));
        CHECK(read_below(root, "in/absent") == (none ? ZC_ERR_IO : ZC_ERR_MISSING));
        CHECK(read_below(root, "file") == (all ? ZC_OK : ZC_ERR_IO));
        CHECK(failed_with(zc_file_replace(root, "out/c", "lost", 4, false, &err), EXDEV));
        CHECK(failed_with(zc_file_replace(root, "out/new/c", "lost", 4, true, &err), EXDEV));
        CHECK(failed_with(zc_file_create(root, "out/d", "lost", 4, false, &err), EXDEV));
        CHECK(failed_with(zc_file_remove(root, "out/c", false, NULL, &err), EXDEV));
        CHECK(zc_file_replace(root, "in/new/c", "x", 1, true, &err) == (none ? ZC_ERR_IO : ZC_OK));
        CHECK(zc_file_remove(root, "in/new/c", false, NULL, &err) == (none ? ZC_ERR_IO : ZC_OK));
        zc_dir_close(root);
    }
    CHECK(holds("outside/c", "kept") && entries("outside", true) == 1);
}

static void a_directory_outside_is_only_read(void)
{
    zc_dir *outside;

    put("outside/c", "kept");
    CHECK(mkdir("root", 0777) == 0 && symlink("../outside", "root/out") == 0);
    CHECK(failed_with(zc_dir_open("root/out", 4, ZC_SYMLINKS_INSIDE, &outside, &err), EXDEV));
    CHECK(zc_dir_open("root/out", 4, ZC_SYMLINKS_FOLLOW, &outside, &err) == ZC_OK);
    CHECK(read_below(outside, "c") == ZC_OK);
    CHECK(failed_with(zc_file_replace(outside, "c", "lost", 4, false, &err), EXDEV));
    CHECK(failed_with(zc_file_remove(outside, "c", false, NULL, &err), EXDEV));
    zc_dir_close(outside);
    CHECK(holds("outside/c", "kept"));
}

static int lowest_descriptor(void)
{
    const int fd = open("/dev/null", O_RDONLY);

    close(fd);
    return fd;
}

static size_t parents_opened(const zc_dir *root, int n, const char *const *names, int n_names)
{
    zc_counts_reset();
    for (int i = 0; i < n; i++) {
        CHECK(zc_file_replace(root, names[i % n_names], "x", 1, false, &err) == ZC_OK);
    }
    return zc_counted(ZC_COUNT_PARENTS);
}

static void directories_are_held_between_files(void)
{
    static const char *const names[] = {"c/0", "c/d/1", "e/2", "c/1"};
    const int lowest = lowest_descriptor();
    zc_dir *root = NULL;

    CHECK(mkdir("root", 0777) == 0 && mkdir("root/e", 0777) == 0 && mkdir("root/c", 0777) == 0);
    CHECK(mkdir("root/c/d", 0777) == 0 && zc_dir_open("root", 4, ZC_SYMLINKS_INSIDE, &root, &err) == ZC_OK);
    CHECK(parents_opened(root, 50, names, 1) == ZC_ASSERTIONS);
    CHECK(parents_opened(root, 50, names, 4) == 2 * ZC_ASSERTIONS);
    zc_dir_close(root);
    CHECK(lowest_descriptor() == lowest);
}

static void directories_of_whole_paths_are_held_for_one_call(void)
{
    static const char *const names[] = {"root/c/0", "root/d/0"};
    const int lowest = lowest_descriptor();
    zc_dir rules = zc_dir_none(4, ZC_SYMLINKS_INSIDE);

    CHECK(mkdir("root", 0777) == 0 && mkdir("root/c", 0777) == 0 && mkdir("root/d", 0777) == 0);
    CHECK(parents_opened(&rules, 10, names, 2) == 10 * ZC_ASSERTIONS && lowest_descriptor() == lowest);
    rules.holds = true;
    CHECK(parents_opened(&rules, 10, names, 2) == 2 * ZC_ASSERTIONS);
    zc_dir_let_go(&rules);
    CHECK(lowest_descriptor() == lowest);
    CHECK(parents_opened(&rules, 10, names, 2) == 10 * ZC_ASSERTIONS && lowest_descriptor() == lowest);
}

static void a_directory_that_goes_while_it_is_held_is_made_again(void)
{
    zc_dir *root;

    CHECK(mkdir("root", 0777) == 0 && mkdir("outside", 0777) == 0);
    CHECK(zc_dir_open("root", 4, ZC_SYMLINKS_INSIDE, &root, &err) == ZC_OK);
    CHECK(zc_file_replace(root, "c/d/0", "x", 1, false, &err) == ZC_OK);
    CHECK(unlink("root/c/d/0") == 0 && rmdir("root/c/d") == 0 && rmdir("root/c") == 0);
    CHECK(zc_file_replace(root, "c/d/1", "y", 1, false, &err) == ZC_OK);
    CHECK(holds("root/c/d/1", "y"));
    CHECK(rename("root/c/d", "root/c/e") == 0 && symlink("../../outside", "root/c/d") == 0);
    CHECK(zc_file_replace(root, "c/d/2", "z", 1, false, &err) == ZC_OK);
    CHECK(holds("root/c/e/2", "z") && entries("outside", true) == 0);      /* as it was when it was opened */
    zc_dir_close(root);
}

static void special_files_do_not_hang(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);

    alarm(20);
    CHECK(mkfifo("fifo", 0666) == 0);
    CHECK(open_status("fifo") == ZC_ERR_IO);
    CHECK(strstr(err.message, "FIFO") != NULL);
    CHECK(bind(s, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(open_status("socket") == ZC_ERR_IO);
    close(s);
    CHECK(zc_file_open(NULL, "/dev/null", &(zc_file){0}, &err) == ZC_ERR_IO);
    CHECK(strstr(err.message, "device") != NULL);
    alarm(0);
}

static void metadata_of_the_system(void)
{
    char buffer[16];
    zc_file file;
    struct stat st;

    put("ten", "0123456789");
    CHECK(zc_file_open(dir, "ten", &file, &err) == ZC_OK);
    CHECK(stat("ten", &st) == 0);
    CHECK(file.size == 10 && file.inode == st.st_ino && file.mtime_ns / 1000000000 == st.st_mtime);
    CHECK(file.ctime_ns / 1000000000 == st.st_ctime);
    CHECK(truncate("ten", 5) == 0);
    CHECK(zc_file_read(&file, 0, buffer, 10, &err) == ZC_ERR_CORRUPT);
    zc_file_close(&file);
}

/* The system's own answer, by whatever C library: one that lacks preadv2 had every read go by the clock. */
static void what_is_in_memory_is_read_without_waiting(void)
{
#if defined(__linux__) && defined(SYS_preadv2)
    char text[10] = "";
    bool refused = true;
    zc_file file;

    put("ready", "0123456789");
    CHECK(zc_file_open(dir, "ready", &file, &err) == ZC_OK);
    const struct iovec to = {text, 4};
    const long n = syscall(SYS_preadv2, (int)file.handle, &to, 1, 2L, 0L, 8 /* RWF_NOWAIT */);
    const bool denied = n < 0 && errno != EAGAIN;
    CHECK(zc_file_read_ready(&file, 2, text, 4, &refused) == (n > 0 ? (size_t)n : 0));
    CHECK(refused == denied && (n < 4 || memcmp(text, "2345", 4) == 0));
    CHECK(zc_file_read_ready(&file, (uint64_t)1 << 40, text, 4, &refused) == 0 && refused == denied);
    zc_file_close(&file);
#endif
}

static void modes_are_those_of_new_files(void)
{
    struct stat st;
    const mode_t mask = umask(027);

    put("new", "first");
    CHECK(stat("new", &st) == 0 && (st.st_mode & 0777) == 0640);
    umask(mask);
}

static void a_full_disk_leaves_no_trace(void)
{
    static const char big[1 << 16];
    struct rlimit before, small;

    put("plain", "kept");
    put("occupied/by", "this");
    CHECK(failed_with(zc_file_replace(dir, "occupied", "x", 1, false, &err), EISDIR));
    CHECK(failed_with(zc_file_replace(dir, "plain/below", "x", 1, false, &err), ENOTDIR));
    CHECK(failed_with(zc_file_replace(dir, "plain/b/e/low", "x", 1, false, &err), ENOTDIR));

    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const zc_status status = zc_file_replace(dir, "plain", big, sizeof big, false, &err);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(failed_with(status, EFBIG));
    CHECK(strstr(err.message, "plain") != NULL && strstr(err.message, strerror(EFBIG)) != NULL);
    CHECK(holds("plain", "kept"));
    CHECK(entries(".", false) == 0);
}

static void special_files_are_not_loaded(void)
{
    char text[16];
    zc_file file;
    size_t n;

    CHECK(mkfifo("fifo", 0666) == 0 && symlink("/dev/zero", "device") == 0);
    CHECK(failed_with(zc_file_load(dir, "fifo", text, 7, &n, &file, &err), EINVAL) && file.handle < 0);
    CHECK(failed_with(zc_file_load(dir, "device", text, 7, &n, &file, &err), EINVAL) && file.handle < 0);
}

static void a_link_is_not_created_over(void)
{
    CHECK(symlink("nothing at all", "taken") == 0);
    CHECK(failed_with(zc_file_create(dir, "taken", "x", 1, false, &err), EEXIST));
    CHECK(failed_with(zc_file_create(dir, ".", "x", 1, false, &err), EEXIST) || err.sys_errno == EBUSY);
    CHECK(entries(".", false) == 0);
}

/* ---- left-overs of killed writers ---- */

#define PID_MASK ((UINT64_C(1) << ZC_PID_BITS) - 1)

static pid_t pid_of_nobody(void)
{
    const pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return child;
}

/* Create a temporary file of an owner that was last written so many seconds ago; its name is put into `name`. */
static void leave(const char *directory, zc_owner owner, time_t age, char *name)
{
    const struct utimbuf then = {.actime = time(NULL) - age, .modtime = time(NULL) - age};
    const int n = snprintf(name, PATH_ROOM, "%s/", directory);

    zc_temporary_name(owner, (uint64_t)age, name + n);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL && fclose(file) == 0 && utime(name, &then) == 0);
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static const char *name_in(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Write to a directory with files of all kinds of owners; false if nothing of it was looked at. */
static bool clean_after(const char *directory)
{
    const zc_owner here = zc_this_process() & ~PID_MASK, gone = here | (zc_owner)pid_of_nobody();
    char dead[PATH_ROOM], young[PATH_ROOM], own[PATH_ROOM], alive[PATH_ROOM], remote[PATH_ROOM], forgotten[PATH_ROOM];
    char chunk[PATH_ROOM];

    snprintf(chunk, sizeof chunk, "%s/c", directory);
    CHECK(mkdir(directory, 0777) == 0);
    leave(directory, gone, 120, dead);
    leave(directory, gone, 10, young);
    leave(directory, zc_this_process(), 1000000, own);
    leave(directory, here | (zc_owner)getppid(), 1000000, alive);
    leave(directory, gone ^ UINT64_C(1) << ZC_PID_BITS, 3600, remote);
    leave(directory, gone ^ UINT64_C(1) << ZC_PID_BITS, 100000, forgotten);
    CHECK(zc_file_writer_lives(name_in(own)) == (here != 0) && zc_file_writer_lives(name_in(alive)) == (here != 0));
    CHECK(!zc_file_writer_lives(name_in(dead)) && !zc_file_writer_lives(name_in(remote)));
    put(chunk, "chunk");
    CHECK(is_there(young) && is_there(own) == (here != 0) && is_there(alive) == (here != 0) && is_there(remote));
    CHECK(holds(chunk, "chunk"));
    if (is_there(forgotten)) {
        CHECK(is_there(dead));
        return false;
    }
    CHECK(is_there(dead) == (here == 0));
    return true;
}

/* A directory may share its place among those that were looked at with one of the cases before: not several. */
static void the_next_write_removes_what_killed_writers_left(void)
{
    CHECK(clean_after("left") || clean_after("left again") || clean_after("left once more"));
}

static void only_files_are_left_overs(void)
{
    const zc_owner gone = (zc_this_process() & ~PID_MASK) | (zc_owner)pid_of_nobody();
    const struct utimbuf long_ago = {.actime = 1000, .modtime = 1000};
    char name[PATH_ROOM] = "new/";

    put("outside", "outside");
    CHECK(utime("outside", &long_ago) == 0 && mkdir("new", 0777) == 0);
    CHECK(mkdir("new/.zc-0000000000000002.partial", 0777) == 0);
    CHECK(utime("new/.zc-0000000000000002.partial", &long_ago) == 0);
    zc_temporary_name(gone, 0, name + 4);
    CHECK(symlink("../outside", name) == 0);
    put("new/c", "chunk");
    CHECK(entries("new", false) == 2 && holds("outside", "outside"));
}

static void a_directory_is_looked_at_once(void)
{
    const zc_owner gone = (zc_this_process() & ~PID_MASK) | (zc_owner)pid_of_nobody();
    char name[PATH_ROOM];

    put("once/c", "chunk");
    leave("once", gone, 1000000, name);
    put("once/c", "chunk");
    CHECK(is_there(name));
}

/* A call of many chunks names files below the directory of the array, one of few by whole paths: each looked. */
static void a_directory_is_looked_at_once_by_either_name(void)
{
    const zc_owner gone = (zc_this_process() & ~PID_MASK) | (zc_owner)pid_of_nobody();
    const zc_dir rules = zc_dir_none(3, ZC_SYMLINKS_INSIDE);
    char name[PATH_ROOM];
    zc_dir *all;

    CHECK(mkdir("all", 0777) == 0 && mkdir("all/c", 0777) == 0);
    CHECK(zc_dir_open("all/", 3, ZC_SYMLINKS_INSIDE, &all, &err) == ZC_OK);
    CHECK(zc_file_replace(all, "c/0", "x", 1, false, &err) == ZC_OK);
    zc_dir_close(all);
    leave("all/c", gone, 1000000, name);
    CHECK(zc_file_replace(&rules, "all/c/1", "y", 1, false, &err) == ZC_OK);
    CHECK(is_there(name) && holds("all/c/1", "y"));
}

/* The first case: none of these processes has made a name yet. */
static void names_cannot_be_guessed(void)
{
    enum { N = 3 };
    char names[N][ZC_TEMPORARY_LENGTH + 1];

    for (int i = 0; i < N; i++) {
        int ends[2];
        CHECK(pipe(ends) == 0);
        const pid_t child = fork();

        if (child == 0) {
            zc_temporary_name(1, 0, names[i]);
            _exit(write(ends[1], names[i], sizeof names[i]) != (ssize_t)sizeof names[i]);
        }
        CHECK(read(ends[0], names[i], sizeof names[i]) == (ssize_t)sizeof names[i]);
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
    }
    CHECK(strcmp(names[0], names[1]) != 0 || strcmp(names[0], names[2]) != 0);
}

int main(void)
{
    static const file_case cases[] = {
        {"names_cannot_be_guessed", names_cannot_be_guessed},
        {"nothing_else_is_missing", nothing_else_is_missing},
        {"no_descriptors_left_is_an_error", no_descriptors_left_is_an_error},
        {"a_file_takes_the_place_of_emptied_directories", a_file_takes_the_place_of_emptied_directories},
        {"links_to_files_are_files", links_to_files_are_files},
        {"links_do_not_leave_the_root", links_do_not_leave_the_root},
        {"a_directory_outside_is_only_read", a_directory_outside_is_only_read},
        {"directories_are_held_between_files", directories_are_held_between_files},
        {"directories_of_whole_paths_are_held_for_one_call", directories_of_whole_paths_are_held_for_one_call},
        {"a_directory_that_goes_while_it_is_held_is_made_again", a_directory_that_goes_while_it_is_held_is_made_again},
        {"special_files_do_not_hang", special_files_do_not_hang},
        {"metadata_of_the_system", metadata_of_the_system},
        {"what_is_in_memory_is_read_without_waiting", what_is_in_memory_is_read_without_waiting},
        {"modes_are_those_of_new_files", modes_are_those_of_new_files},
        {"a_full_disk_leaves_no_trace", a_full_disk_leaves_no_trace},
        {"special_files_are_not_loaded", special_files_are_not_loaded},
        {"a_link_is_not_created_over", a_link_is_not_created_over},
        {"the_next_write_removes_what_killed_writers_left", the_next_write_removes_what_killed_writers_left},
        {"only_files_are_left_overs", only_files_are_left_overs},
        {"a_directory_is_looked_at_once", a_directory_is_looked_at_once},
        {"a_directory_is_looked_at_once_by_either_name", a_directory_is_looked_at_once_by_either_name},
    };

    run_cases(cases, sizeof cases / sizeof *cases);
    return check_report("file_posix");
}

#endif
