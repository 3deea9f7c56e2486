# SPDX-License-Identifier: MIT
"""libzarrcore in programs that load and unload it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zarrcore

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.skipif(bool(os.environ.get("ZARRCORE_SANITIZE")), reason="sanitizers must be loaded first"),
]

SOURCE = """\
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zarrcore.h>

static double values[64 * 64];

typedef int open_function(const char *, int, zarrcore_array **, zarrcore_error *);
typedef int read_function(const zarrcore_array *, const int64_t *, const int64_t *, const int64_t *, void *,
                          const int64_t *, int, zarrcore_error *);
typedef void release_function(const zarrcore_array *);

static int read_once(const char *library, const char *path)
{
    void *const loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_array *array = NULL;
    if (loaded == NULL) {
        return -1;
    }
    open_function *const open_array = (open_function *)dlsym(loaded, "zarrcore_open");
    read_function *const read_array = (read_function *)dlsym(loaded, "zarrcore_read");
    release_function *const release = (release_function *)dlsym(loaded, "zarrcore_release");
    int status = open_array(path, 0, &array, &error);
    if (status == 0) {
        status = read_array(array, NULL, NULL, NULL, values, NULL, 4, &error);
    }
    release(array);
    return dlclose(loaded) == 0 ? status : -1;
}

static int n_threads(void)
{
    DIR *const tasks = opendir("/proc/self/task");
    int n = -2;
    while (readdir(tasks) != NULL) {
        n++;
    }
    closedir(tasks);
    return n;
}

static long n_pages(void)
{
    long all, resident = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    const int n = fscanf(file, "%ld %ld", &all, &resident);
    fclose(file);
    return n == 2 ? resident : -1;
}

int main(int argc, char **argv)
{
    long before = 0;
    for (int i = 0; i < 1000 && argc == 3; i++) {
        const int status = read_once(argv[1], argv[2]);
        if (status != 0) {
            return 2;
        }
        before = i == 100 ? n_pages() : before;
    }
    const pid_t child = fork();
    if (child == 0) {
        _exit(read_once(argv[1], argv[2]) == 0 ? 0 : 1);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) {
        return 3;
    }
    printf("%d %ld\\n", n_threads(), n_pages() - before);
    fflush(stdout);
    raise(SIGSTOP);        /* which wakes what sleeps on a futex */
    usleep(100000);
    return values[1] == 1 ? 0 : 4;
}
"""


def test_a_thousand_cycles_of_loading_reading_and_unloading(prefix: Path, tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path / "a", shape=(64, 64), chunks=(8, 8), dtype="f8")
    array[...] = np.arange(64.0 * 64).reshape(64, 64)
    (tmp_path / "cycles.c").write_text(SOURCE, encoding="utf-8")
    command = ["cc", "-Wall", "-Wextra", f"-I{prefix / 'include'}", "cycles.c", "-o", "cycles", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = prefix / "lib" / "libzarrcore.so"
    command = [tmp_path / "cycles", library, tmp_path / "a"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    pid, status = os.waitpid(program.pid, os.WUNTRACED)
    assert pid == program.pid
    assert os.WIFSTOPPED(status), f"ended with {status}"
    os.kill(program.pid, signal.SIGCONT)
    output, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    threads, pages = map(int, output.split())
    assert threads <= 4
    assert pages < 1000  # 4 MB
