/* SPDX-License-Identifier: MIT
 *
 * Run a fuzz target without libFuzzer: every input of the corpus once, then random changes of them until the time is
 * up.  The flags are those of libFuzzer, as far as they are needed:
 *
 *     fuzz_x [-max_total_time=SECONDS] [-runs=N] [-seed=N] [-max_len=N] [-timeout=SECONDS] [-artifact_prefix=PATH]
 *            FILE_OR_DIRECTORY...
 *
 * -runs=0 runs the corpus alone.  An input that ends the process is written to PATHcrash-SEED-NUMBER (timeout-... if
 * it took too long), and running the program with that file repeats the failure.  All is determined by the seed and the
 * corpus but how many inputs fit into the time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

typedef struct input {
    uint8_t *data;
    size_t n;
} input;

static struct {
    double seconds;
    long runs;               /* -1: until the time is up */
    uint64_t seed;
    size_t max_len;
    unsigned timeout;
    const char *artifacts;
} options = {.seconds = 10, .runs = -1, .seed = 1, .max_len = 4096, .timeout = 25, .artifacts = "./"};

static input *corpus;
static size_t n_corpus;

/* What is running now, for the handlers. */
static input current;
static volatile uint64_t executed;

/* ---- inputs that end the process -------------------------------------------------------------- */

static void save_current(const char *kind)
{
    char path[1024];

    snprintf(path, sizeof path, "%s%s-%llu-%llu", options.artifacts, kind, (unsigned long long)options.seed,
             (unsigned long long)executed);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, current.data, current.n) != (ssize_t)current.n) {
        fprintf(stderr, "the input could not be saved to %s: %s\n", path, strerror(errno));
        return;
    }
    close(file);
    fprintf(stderr, "input saved to %s (%zu bytes)\n", path, current.n);
}

static void on_death(void)
{
    save_current("crash");
}

static void on_abort(int number)
{
    (void)number;
    save_current("crash");
    _exit(77);
}

/* Rings once a second. */
static void on_alarm(int number)
{
    static uint64_t seen;
    static unsigned waited;

    (void)number;
    waited = seen == executed ? waited + 1 : 0;
    seen = executed;
    if (waited >= options.timeout) {
        fprintf(stderr, "one input ran for more than %u seconds\n", options.timeout);
        save_current("timeout");
        _exit(70);
    }
    alarm(1);
}

static void run(const uint8_t *data, size_t n)
{
    /* Memory of exactly this size, so that a sanitizer sees the first byte beyond it. */
    current.data = malloc(n > 0 ? n : 1);
    current.n = n;
    if (current.data == NULL) {
        abort();
    }
    memcpy(current.data, data, n);
    LLVMFuzzerTestOneInput(current.data, n);
    executed++;
    free(current.data);
    current.data = NULL;
    current.n = 0;
}

/* ---- corpus ----------------------------------------------------------------------------------- */

static void add_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(options.max_len);

    if (file == NULL || data == NULL) {
        perror(path);
        exit(2);
    }
    const size_t n = fread(data, 1, options.max_len, file);
    fclose(file);
    corpus = realloc(corpus, (n_corpus + 1) * sizeof *corpus);
    if (corpus == NULL) {
        abort();
    }
    corpus[n_corpus++] = (input){data, n};
}

static void add_path(const char *path)
{
    struct dirent **entries;
    struct stat info;

    if (stat(path, &info) != 0) {
        perror(path);
        exit(2);
    }
    if (!S_ISDIR(info.st_mode)) {
        add_file(path);
        return;
    }
    const int n = scandir(path, &entries, NULL, alphasort);   /* sorted: the order counts for what is made of them */
    for (int i = 0; i < n; i++) {
        char name[2048];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            add_file(name);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
}

/* ---- changes ---------------------------------------------------------------------------------- */

static uint64_t random_state;

/* splitmix64 */
static uint64_t random_word(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t random_below(size_t n)
{
    return n > 0 ? (size_t)(random_word() % n) : 0;
}

/* Put a number that decoders stumble over, of 1, 2, 4 or 8 bytes in either byte order. */
static void put_number(uint8_t *data, size_t n)
{
    const size_t width = (size_t)1 << random_below(4);
    const int bit = (int)random_below(8 * width);
    uint64_t number = ((uint64_t)1 << bit) + (uint64_t)random_below(5) - 2;
    const bool big = random_below(2) == 0;

    if (random_below(4) == 0) {
        number = n + random_below(9) - 4;        /* near the length of the input */
    }
    if (width > n) {
        return;
    }
    const size_t at = random_below(n - width + 1);
    for (size_t i = 0; i < width; i++) {
        data[at + i] = (uint8_t)(number >> 8 * (big ? width - 1 - i : i));
    }
}

static size_t remove_range(uint8_t *data, size_t n)
{
    const size_t at = random_below(n), some = 1 + random_below(n - at < 32 ? n - at : 32);
    const size_t gone = some < n - at ? some : n - at;

    memmove(data + at, data + at + gone, n - at - gone);
    return n - gone;
}

/* Insert bytes: random ones, or some of another input. */
static size_t insert_range(uint8_t *data, size_t n)
{
    const input *other = &corpus[random_below(n_corpus)];
    const size_t at = random_below(n + 1), room = options.max_len - n;
    const bool copies = random_below(2) == 0 && other->n > 0;
    const size_t from = copies ? random_below(other->n) : 0, most = copies ? other->n - from : 16;
    const size_t count = random_below((most < room ? most : room) + 1);

    memmove(data + at + count, data + at, n - at);
    for (size_t i = 0; i < count; i++) {
        data[at + i] = copies ? other->data[from + i] : (uint8_t)random_word();
    }
    return n + count;
}

/* Put a stretch of another input, or of this one, over some bytes. */
static void overwrite_range(uint8_t *data, size_t n)
{
    const input *other = &corpus[random_below(n_corpus)];
    const bool own = random_below(2) == 0 || other->n == 0;
    const uint8_t *source = own ? data : other->data;
    const size_t length = own ? n : other->n, from = random_below(length), to = random_below(n);
    const size_t most = length - from < n - to ? length - from : n - to;

    memmove(data + to, source + from, random_below(most + 1));
}

/* Half of all changes are near the start, where headers are. */
static size_t change(uint8_t *data, size_t n)
{
    const size_t near = n > 40 && random_below(2) == 0 ? 40 : n;

    if (n == 0) {
        return insert_range(data, n);
    }
    switch (random_below(8)) {
    case 0:
        data[random_below(near)] ^= (uint8_t)(1u << random_below(8));
        return n;
    case 1:
        data[random_below(near)] = (uint8_t)random_word();
        return n;
    case 2:
        data[random_below(near)] += (uint8_t)(random_below(9) - 4);
        return n;
    case 3:
    case 4:
        put_number(data, near);
        return n;
    case 5:
        return random_below(4) == 0 ? 1 + random_below(n) : remove_range(data, n);
    case 6:
        return insert_range(data, n);
    default:
        overwrite_range(data, n);
        return n;
    }
}

static void run_changed(uint8_t *data)
{
    const input *parent = &corpus[random_below(n_corpus)];
    size_t n = parent->n;

    memcpy(data, parent->data, n);
    for (size_t changes = 1 + random_below(5); changes > 0; changes--) {
        n = change(data, n);
    }
    run(data, n);
}

/* ---- the program ------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The text after "-name=", or NULL. */
static const char *flag(const char *argument, const char *name)
{
    const size_t n = strlen(name);

    return argument[0] == '-' && strncmp(argument + 1, name, n) == 0 && argument[n + 1] == '=' ? argument + n + 2
                                                                                              : NULL;
}

/* False if the argument is no flag. */
static bool parse_flag(const char *argument)
{
    const char *value;

    if ((value = flag(argument, "max_total_time")) != NULL) {
        options.seconds = strtod(value, NULL);
    } else if ((value = flag(argument, "runs")) != NULL) {
        options.runs = strtol(value, NULL, 10);
    } else if ((value = flag(argument, "seed")) != NULL) {
        options.seed = strtoull(value, NULL, 10);
    } else if ((value = flag(argument, "max_len")) != NULL) {
        options.max_len = strtoull(value, NULL, 10);
    } else if ((value = flag(argument, "timeout")) != NULL) {
        options.timeout = (unsigned)strtoul(value, NULL, 10);
    } else if ((value = flag(argument, "artifact_prefix")) != NULL) {
        options.artifacts = value;
    } else if (argument[0] == '-') {
        fprintf(stderr, "unknown flag %s\n", argument);
        exit(2);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const double start = now();

    for (int i = 1; i < argc; i++) {
        parse_flag(argv[i]);
    }
    for (int i = 1; i < argc; i++) {
        if (!parse_flag(argv[i])) {
            add_path(argv[i]);
        }
    }
    if (LLVMFuzzerInitialize != NULL) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(on_death);
    }
    signal(SIGABRT, on_abort);
    signal(SIGALRM, on_alarm);
    alarm(1);
    for (size_t i = 0; i < n_corpus; i++) {
        run(corpus[i].data, corpus[i].n);
    }
    if (n_corpus == 0) {
        corpus = malloc(sizeof *corpus);         /* start from nothing */
        *corpus = (input){malloc(1), 0};
        n_corpus = 1;
    }
    uint8_t *data = malloc(options.max_len + 1);
    random_state = options.seed;
    for (long i = 0; i != options.runs && (options.runs >= 0 || now() - start < options.seconds); i++) {
        run_changed(data);
    }
    free(data);
    printf("%llu inputs in %.1f s\n", (unsigned long long)executed, now() - start);
    for (size_t i = 0; i < n_corpus; i++) {
        free(corpus[i].data);
    }
    free(corpus);
    return 0;
}
