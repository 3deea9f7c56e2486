/* SPDX-License-Identifier: MIT
 *
 * What the readers of this directory share: attributes one by one, and a plane of an array as an image.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zarrcore.h>

/* ---- texts -------------------------------------------------------------------------------------- */

/* "path/name", to be freed; at the root the name alone. */
static char *join(const char *path, const char *name)
{
    const size_t size = strlen(path) + strlen(name) + 2;
    char *const out = malloc(size);

    if (out != NULL) {
        snprintf(out, size, "%s%s%s", path, path[0] != '\0' ? "/" : "", name);
    }
    return out;
}

static int fail(const char *what, int status, const zarrcore_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", what, zarrcore_status_name(status), error->message);
    return 1;
}

/* The end of a JSON string that begins at a quotation mark. */
static const char *string_end(const char *at)
{
    for (at++; *at != '"' && *at != '\0'; at++) {
        at += *at == '\\' && at[1] != '\0';
    }
    return *at == '"' ? at + 1 : at;
}

/* The end of a JSON value. */
static const char *value_end(const char *at)
{
    int depth = 0;

    while (*at != '\0' && !(depth == 0 && (*at == ',' || *at == '}' || *at == '\n'))) {
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        at = *at == '"' ? string_end(at) : at + 1;
    }
    return at;
}

/* A JSON value on one line. */
static void print_value(const char *from, const char *to)
{
    while (from < to) {
        const char *const next = *from == '"' ? string_end(from) : from + 1;
        if (*from != '\n') {
            printf("%.*s", (int)(next - from), from);
            from = next;
        } else {
            from += strspn(from, "\n ");
            printf("%s", from < to && *from != ']' && *from != '}' && from[-1] == ' ' ? " " : "");
        }
    }
}

/* Print each member of a JSON object as libzarrcore writes it: before, the name, " = ", the value, after. */
static void print_members(const char *json, const char *before, const char *after)
{
    const char *at = strchr(json, '"');

    while (at != NULL && *at == '"') {
        const char *const name = at, *const end = string_end(name);
        const char *const value = end + strspn(end, ": "), *const stop = value_end(value);
        printf("%s%.*s = ", before, (int)(end - name - 2), name + 1);
        print_value(value, stop);
        printf("%s\n", after);
        at = stop + strspn(stop, ", \n");
    }
}

/* Attributes of a node; ZARRCORE_OK, or the failure. */
static int print_attributes(const zarrcore_store *store, const char *path, const char *before, const char *after, zarrcore_error *error)
{
    char *text = NULL;
    const int status = zarrcore_get_attribute(store, path, NULL, &text, error);

    if (status == ZARRCORE_OK) {
        print_members(text, before, after);
    }
    zarrcore_free(text);
    return status;
}

/* A number among the attributes, or NAN. */
static double number_attribute(const zarrcore_store *store, const char *path, const char *name)
{
    char *text = NULL, *end = NULL;
    double found = NAN;

    if (zarrcore_get_attribute(store, path, name, &text, NULL) == ZARRCORE_OK) {
        found = strtod(text, &end);
        found = end != text && *end == '\0' ? found : NAN;
    }
    zarrcore_free(text);
    return found;
}

/* ---- images ------------------------------------------------------------------------------------- */

#define WIDEST 1024                  /* pixels; what is larger is read in steps */

static int write_pgm(const char *path, const double *values, const int64_t *count, double missing)
{
    double low = INFINITY, high = -INFINITY;
    const int64_t n = count[0] * count[1];
    FILE *const file = fopen(path, "wb");

    if (file == NULL) {
        perror(path);
        return 1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && values[i] != missing) {
            low = values[i] < low ? values[i] : low;
            high = values[i] > high ? values[i] : high;
        }
    }
    fprintf(file, "P5\n%lld %lld\n255\n", (long long)count[1], (long long)count[0]);
    for (int64_t i = 0; i < n; i++) {
        const double share = high > low ? values[i] / (high - low) - low / (high - low) : 0;
        const int grey = !isfinite(values[i]) || values[i] == missing ? 0 : 1 + (int)(share * 254 + 0.5);
        putc(grey, file);
    }
    if (fclose(file) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

/* Draw a plane: the last two dimensions, at `index` of those before.  Black is what is missing, else from dark to light. */
static int draw(const zarrcore_array *array, const int64_t *index, double missing, const char *path, zarrcore_error *error)
{
    const int ndim = zarrcore_ndim(array);
    int64_t start[ZARRCORE_MAX_DIMS] = {0}, step[ZARRCORE_MAX_DIMS], count[ZARRCORE_MAX_DIMS];
    size_t n = 1;

    if (ndim < 2) {
        fprintf(stderr, "%s: an image needs two dimensions\n", zarrcore_path(array));
        return 1;
    }
    zarrcore_shape(array, count);
    for (int d = 0; d < ndim; d++) {
        const int is_image = d >= ndim - 2;
        start[d] = is_image ? 0 : index[d];
        step[d] = is_image ? count[d] / WIDEST + (count[d] % WIDEST != 0) : 1;
        step[d] = step[d] > 0 ? step[d] : 1;
        count[d] = is_image ? count[d] / step[d] + (count[d] % step[d] != 0) : 1;
        n *= (size_t)count[d];
    }
    double *const values = malloc(n * sizeof *values + 1);
    if (values == NULL) {
        perror("draw");
        return 1;
    }
    const int status = zarrcore_read_as(array, "f8", ndim, start, step, count, values, n * sizeof *values, NULL, 0, error);
    const int failed = status != ZARRCORE_OK ? fail(zarrcore_path(array), status, error)
                                             : write_pgm(path, values, count + ndim - 2, missing);
    free(values);
    return failed;
}
