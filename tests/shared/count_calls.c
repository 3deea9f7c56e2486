/* SPDX-License-Identifier: MIT
 *
 * Run a program, and print how many system calls its first thread makes between one SIGSTOP that it sends itself and the next.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSED 77

/* Print the counts; returns the status of the program. */
static int watch(pid_t child)
{
    const int of_call = SIGTRAP | 0x80;
    long calls = -1;                 /* entries and exits; -1: before the first SIGSTOP */
    bool attached = false;
    int status;

    while (waitpid(child, &status, __WALL) == child) {
        if (!WIFSTOPPED(status)) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        }
        int signal = WSTOPSIG(status);
        if (!attached) {             /* the trap at exec */
            ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
            attached = true;
            signal = 0;
        } else if (signal == of_call) {
            calls++;
            signal = 0;
        } else if (signal == SIGSTOP) {
            if (calls >= 0) {
                printf("%ld\n", calls / 2);
            }
            calls = 0;
            signal = 0;
        }
        ptrace(calls >= 0 ? PTRACE_SYSCALL : PTRACE_CONT, child, NULL, (void *)(long)signal);
    }
    return 1;
}

int main(int argc, char **argv)
{
    const pid_t child = fork();

    if (child == 0) {
        if (argc < 2 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(REFUSED);
        }
        execvp(argv[1], argv + 1);
        _exit(1);
    }
    return child < 0 ? 1 : watch(child);
}
