/* SPDX-License-Identifier: MIT
 *
 * A reader of data sets, as netCDF sees them: groups with dimensions, variables and attributes, in the notation of ncdump (CDL).
 *
 *     dump STORE                              print what is there
 *     dump STORE VARIABLE                     and the values of a variable
 *     dump STORE VARIABLE OUT.pgm [INDEX ...] draw its last two dimensions, at an index of each one before (0 if it is left out)
 */
#include "common.h"

#define INDENTED 64

static const char *indent(int depth)
{
    static const char spaces[] = "                                                                ";

    return spaces + (depth * 2 < INDENTED ? INDENTED - depth * 2 : 0);
}

/* The name of netCDF for a type, or numpy's. */
static const char *type_name(const zarrcore_array *array)
{
    static const struct { const char *numpy, *netcdf; } names[] = {
        {"f4", "float"}, {"f8", "double"}, {"i1", "byte"}, {"i2", "short"}, {"i4", "int"}, {"i8", "int64"},
        {"u1", "ubyte"}, {"u2", "ushort"}, {"u4", "uint"}, {"u8", "uint64"}, {"S1", "char"},
    };
    const char *const type = zarrcore_typestr(array);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(type + 1, names[i].numpy) == 0) {
            return names[i].netcdf;
        }
    }
    return type;
}

/* ---- one group ---------------------------------------------------------------------------------- */

/* The arrays of a group, those that can be read. */
typedef struct group {
    const zarrcore_store *store;
    const char *path;
    zarrcore_nodes *nodes;
    zarrcore_array **arrays;         /* one for each node; NULL: none, or it cannot be read */
    size_t n;
    int depth;
} group;

static void close_group(group *g)
{
    for (size_t i = 0; i < g->n && g->arrays != NULL; i++) {
        zarrcore_release(g->arrays[i]);
    }
    free(g->arrays);
    zarrcore_free_nodes(g->nodes);
}

static int open_group(group *g, zarrcore_error *error)
{
    int status = zarrcore_list(g->store, g->path, 0, &g->nodes, error);

    if (status != ZARRCORE_OK) {
        return fail(g->path, status, error);
    }
    g->n = zarrcore_count_nodes(g->nodes);
    g->arrays = calloc(g->n + 1, sizeof *g->arrays);
    for (size_t i = 0; i < g->n && g->arrays != NULL; i++) {
        if (zarrcore_node_kind(g->nodes, i) == ZARRCORE_NODE_ARRAY) {
            status = zarrcore_open_node(g->nodes, i, &g->arrays[i], error);
            if (status != ZARRCORE_OK && status != ZARRCORE_ERR_UNSUPPORTED) {
                return fail(zarrcore_node_name(g->nodes, i), status, error);
            }
        }
    }
    return g->arrays == NULL;
}

/* The name of a dimension; those without one have one of their length. */
static void dimension_name(const zarrcore_array *array, int d, int64_t length, char *out, size_t room)
{
    const char *const name = zarrcore_dimension_name(array, d);

    if (name != NULL) {
        snprintf(out, room, "%s", name);
    } else {
        snprintf(out, room, "dim_%lld", (long long)length);
    }
}

/* Has a dimension before this one the same name? */
static int is_known(const group *g, size_t i, int d, const char *name)
{
    int64_t shape[ZARRCORE_MAX_DIMS];
    char other[256];

    for (size_t k = 0; k <= i; k++) {
        const int ndim = g->arrays[k] != NULL ? zarrcore_ndim(g->arrays[k]) : 0;
        if (ndim > 0) {
            zarrcore_shape(g->arrays[k], shape);
        }
        for (int e = 0; e < (k < i ? ndim : d); e++) {
            dimension_name(g->arrays[k], e, shape[e], other, sizeof other);
            if (strcmp(other, name) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

static void print_dimensions(const group *g)
{
    int64_t shape[ZARRCORE_MAX_DIMS];
    char name[256];

    printf("%sdimensions:\n", indent(g->depth));
    for (size_t i = 0; i < g->n; i++) {
        const int ndim = g->arrays[i] != NULL ? zarrcore_ndim(g->arrays[i]) : 0;
        if (ndim > 0) {
            zarrcore_shape(g->arrays[i], shape);
        }
        for (int d = 0; d < ndim; d++) {
            dimension_name(g->arrays[i], d, shape[d], name, sizeof name);
            if (!is_known(g, i, d, name)) {
                printf("%s  %s = %lld ;\n", indent(g->depth), name, (long long)shape[d]);
            }
        }
    }
}

static int print_variable(const group *g, size_t i, zarrcore_error *error)
{
    const zarrcore_array *const array = g->arrays[i];
    const char *const own = zarrcore_node_name(g->nodes, i);
    char *const path = join(g->path, own);
    int64_t shape[ZARRCORE_MAX_DIMS];
    char name[256], before[400];
    int status = ZARRCORE_ERR_MEMORY;

    printf("%s  %s %s", indent(g->depth), array != NULL ? type_name(array) : "opaque", own);
    const int ndim = array != NULL && zarrcore_shape(array, shape) == ZARRCORE_OK ? zarrcore_ndim(array) : 0;
    for (int d = 0; d < ndim; d++) {
        dimension_name(array, d, shape[d], name, sizeof name);
        printf("%s%s%s", d == 0 ? "(" : ", ", name, d == ndim - 1 ? ")" : "");
    }
    printf(" ;\n");
    snprintf(before, sizeof before, "%s    %.300s:", indent(g->depth), own);
    if (path != NULL) {
        status = print_attributes(g->store, path, before, " ;", error);
    }
    free(path);
    return status != ZARRCORE_OK ? fail(own, status, error) : 0;
}

static int print_group(const zarrcore_store *store, const char *path, int depth, zarrcore_error *error)
{
    group g = {.store = store, .path = path, .depth = depth};
    char before[INDENTED + 8];
    int failed = open_group(&g, error);

    if (!failed) {
        print_dimensions(&g);
        printf("%svariables:\n", indent(depth));
    }
    for (size_t i = 0; i < g.n && !failed; i++) {
        failed = zarrcore_node_kind(g.nodes, i) == ZARRCORE_NODE_ARRAY ? print_variable(&g, i, error) : 0;
    }
    if (!failed) {
        printf("%s// attributes:\n", indent(depth));
        snprintf(before, sizeof before, "%s    :", indent(depth));
        const int status = print_attributes(store, path, before, " ;", error);
        failed = status != ZARRCORE_OK && status != ZARRCORE_ERR_MISSING ? fail(path, status, error) : 0;
    }
    for (size_t i = 0; i < g.n && !failed; i++) {
        if (zarrcore_node_kind(g.nodes, i) == ZARRCORE_NODE_GROUP) {
            char *const below = join(path, zarrcore_node_name(g.nodes, i));
            printf("%sgroup: %s {\n", indent(depth), zarrcore_node_name(g.nodes, i));
            failed = below == NULL || print_group(store, below, depth + 1, error);
            printf("%s}\n", indent(depth));
            free(below);
        }
    }
    close_group(&g);
    return failed;
}

/* ---- one variable ------------------------------------------------------------------------------- */

#define AT_ONCE 4096                         /* values in memory */

/* Print all values, in C order, through a buffer: runs along the last dimension. */
static int print_values(const zarrcore_array *array, zarrcore_error *error)
{
    int64_t shape[ZARRCORE_MAX_DIMS], start[ZARRCORE_MAX_DIMS] = {0}, count[ZARRCORE_MAX_DIMS];
    const int ndim = zarrcore_ndim(array), last = ndim - 1;
    double values[AT_ONCE];
    int d = 0;

    zarrcore_shape(array, shape);
    for (d = 0; d < ndim; d++) {
        count[d] = 1;
        if (shape[d] == 0) {
            return 0;
        }
    }
    do {
        const int64_t rest = ndim > 0 ? shape[last] - start[last] : 1, n = rest < AT_ONCE ? rest : AT_ONCE;
        if (ndim > 0) {
            count[last] = n;
        }
        const int status = zarrcore_read_as(array, "f8", ndim, start, NULL, count, values, sizeof values, NULL, 0, error);
        if (status != ZARRCORE_OK) {
            return fail(zarrcore_path(array), status, error);
        }
        for (int64_t i = 0; i < n; i++) {
            printf(" %.17g%s", values[i], n == rest && i == n - 1 ? "\n" : ",");
        }
        for (d = last; d >= 0 && (start[d] += d == last ? n : 1) >= shape[d]; d--) {
            start[d] = 0;
        }
    } while (d >= 0);
    return 0;
}

static int use_variable(const zarrcore_store *store, int argc, char **argv, zarrcore_error *error)
{
    int64_t index[ZARRCORE_MAX_DIMS] = {0};
    zarrcore_array *array = NULL;
    int failed;

    const int status = zarrcore_open_array(store, argv[2], &array, error);
    if (status != ZARRCORE_OK) {
        return fail(argv[2], status, error);
    }
    zarrcore_set_cache(array, 64 << 20);     /* rows of the same chunks follow each other */
    if (argc == 3) {
        printf("data:\n  %s =\n", argv[2]);
        failed = print_values(array, error);
    } else {
        for (int i = 4; i < argc && i - 4 < ZARRCORE_MAX_DIMS; i++) {
            index[i - 4] = strtoll(argv[i], NULL, 10);
        }
        failed = draw(array, index, number_attribute(store, argv[2], "_FillValue"), argv[3], error);
    }
    zarrcore_release(array);
    return failed;
}

int main(int argc, char **argv)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store = NULL;

    if (argc < 2) {
        fprintf(stderr, "usage: %s STORE [VARIABLE [OUT.pgm [INDEX ...]]]\n", argv[0]);
        return 2;
    }
    const int status = zarrcore_open_store(argv[1], 0, &store, &error);
    if (status != ZARRCORE_OK) {
        return fail(argv[1], status, &error);
    }
    int failed = 0;
    if (argc < 4) {
        printf("netcdf %s {\n", argv[1]);
        failed = print_group(store, "", 1, &error);
    }
    failed = failed || (argc > 2 && use_variable(store, argc, argv, &error));
    if (argc < 4) {
        printf("}\n");
    }
    zarrcore_release_store(store);
    return failed;
}
