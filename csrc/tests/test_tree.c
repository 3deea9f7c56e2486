/* SPDX-License-Identifier: MIT
 *
 * Trees while the first, second, third, ... allocation or call of the system fails, that one alone or all from there on: each
 * operation reports it and leaks nothing, nodes are as they were or as they were to become, and the next attempt works.
 */
#include "include/zarrcore.h"
#include "tests/check.h"
#include "tests/files.h"

#if defined ZC_WRAPPED_MALLOC && !defined _WIN32

#include "tests/failing_calls.h"

#define ROWS 6
#define COLUMNS 4

static const char *const ARRAYS[] = {
    "{\"zarr_format\": 2, \"shape\": [6, 4], \"chunks\": [4, 2], \"dtype\": \"<f4\", \"order\": \"C\", \"filters\": null,"
    " \"compressor\": null, \"fill_value\": 0, \"attributes\": {\"x\": 1}}",
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [6, 4], \"data_type\": \"float32\","
    " \"chunk_grid\": {\"name\": \"rectilinear\", \"configuration\": {\"kind\": \"inline\", \"chunk_shapes\": [[4, 2], 2]}},"
    " \"chunk_key_encoding\": \"default\", \"fill_value\": 0, \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}], \"attributes\": {\"x\": 1},"
    " \"dimension_names\": [\"t\", null]}",
};
static const char *const GROUPS[] = {
    "{\"zarr_format\": 2}",
    "{\"zarr_format\": 3, \"node_type\": \"group\", \"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false,"
    " \"metadata\": {}}}",
};

static char root[200];
static int format;               /* 0: 2, 1: 3 */
static zarrcore_error error;
static const float ones[ROWS * COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static zarrcore_store *open_tree(void)
{
    zarrcore_store *store = NULL;
    zarrcore_open_store(root, ZARRCORE_READ_WRITE | ZARRCORE_CREATE | ZARRCORE_SYNC, &store, &error);
    return store;
}

static void put_file(const char *name, const char *text)
{
    char path[300];

    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *const file = fopen(path, "wb");
    CHECK(file != NULL && fputs(text, file) >= 0);
    fclose(file);
}

/* A group with consolidated metadata, and in it g/a, full of ones. */
static void make_tree(void)
{
    char path[300];
    zarrcore_array *array = NULL;

    snprintf(path, sizeof path, "%s", root);
    if (access(root, F_OK) == 0) {
        CHECK(remove_tree(path, sizeof path));
    }
    zarrcore_store *const store = open_tree();
    CHECK(store != NULL && zarrcore_create_group(store, "", GROUPS[format], &error) == ZARRCORE_OK);
    if (format == 0) {
        put_file(".zmetadata", "{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": {\"zarr_format\": 2}}}");
    }
    CHECK(zarrcore_create_array(store, "g/a", ARRAYS[format], &array, &error) == ZARRCORE_OK);
    CHECK(zarrcore_write(array, NULL, NULL, NULL, ones, NULL, 1, 0, &error) == ZARRCORE_OK);
    zarrcore_release(array);
    zarrcore_release_store(store);
}

/* ---- operations --------------------------------------------------------------------------------- */

static int create_group(zarrcore_store *store) { return zarrcore_create_group(store, "x/y", NULL, &error); }
static int create_array(zarrcore_store *store)
{
    zarrcore_array *array = NULL;
    const int status = zarrcore_create_array(store, "x/y/z", ARRAYS[format], &array, &error);
    CHECK((array != NULL) == (status == ZARRCORE_OK));
    zarrcore_release(array);
    return status;
}
static int set_attribute(zarrcore_store *store) { return zarrcore_set_attribute(store, "g/a", "y", "[1, {}]", &error); }
static int set_all(zarrcore_store *store) { return zarrcore_set_attribute(store, "g/a", NULL, "{\"x\": 1, \"y\": 2}", &error); }
static int delete_attribute(zarrcore_store *store) { return zarrcore_delete_attribute(store, "g/a", "x", &error); }
static int shrink(zarrcore_store *store) { return zarrcore_resize(store, "g/a", 2, (int64_t[]){3, 3}, &error); }
static int grow(zarrcore_store *store) { return zarrcore_resize(store, "g/a", 2, (int64_t[]){9, 5}, &error); }
static int grow_far(zarrcore_store *store) { return zarrcore_resize(store, "g/a", 2, (int64_t[]){9, 500}, &error); }
static int append(zarrcore_store *store)
{
    return zarrcore_append(store, "g/a", 0, "f4", 2, (int64_t[]){3, COLUMNS}, ones, 3 * COLUMNS * sizeof(float), NULL, 1, 0, &error);
}
static int erase(zarrcore_store *store) { return zarrcore_erase(store, "g", &error); }
static int open_group(zarrcore_store *store)
{
    zarrcore_store *group = NULL;
    const int status = zarrcore_open_group(store, "g", &group, &error);
    CHECK((group != NULL) == (status == ZARRCORE_OK));
    zarrcore_release_store(group);
    return status;
}
static int list_all(zarrcore_store *store)
{
    zarrcore_nodes *nodes = NULL;
    zarrcore_array *array = NULL;
    int status = zarrcore_list(store, "g", 0, &nodes, &error);
    CHECK((nodes != NULL) == (status == ZARRCORE_OK));
    if (status == ZARRCORE_OK) {
        status = zarrcore_open_node(nodes, 0, &array, &error);
        CHECK(zarrcore_count_nodes(nodes) == 1 && strcmp(zarrcore_node_name(nodes, 0), "a") == 0);
    }
    zarrcore_free_nodes(nodes);
    CHECK(array == NULL || format == 0 || strcmp(zarrcore_dimension_name(array, 0), "t") == 0);
    zarrcore_release(array);
    return status;
}
static int list_consolidated(zarrcore_store *store)
{
    zarrcore_nodes *nodes = NULL;
    const int status = zarrcore_list(store, "", ZARRCORE_CONSOLIDATED, &nodes, &error);
    CHECK(status != ZARRCORE_OK || zarrcore_count_nodes(nodes) == 2);
    zarrcore_free_nodes(nodes);
    return status;
}
static int texts(zarrcore_store *store)
{
    char *document = NULL, *attribute = NULL;
    int status = zarrcore_get_document(store, "g/a", &document, &error);
    status = status == ZARRCORE_OK ? zarrcore_get_attribute(store, "g/a", "x", &attribute, &error) : status;
    CHECK(status != ZARRCORE_OK || (document != NULL && strcmp(attribute, "1") == 0));
    zarrcore_free(document);
    zarrcore_free(attribute);
    return status;
}

static const struct { const char *name; int (*run)(zarrcore_store *store); int done; } OPERATIONS[] = {
    {"create_group", create_group, ZARRCORE_ERR_EXISTS}, {"create_array", create_array, ZARRCORE_ERR_EXISTS},
    {"set_attribute", set_attribute, 0}, {"set_all", set_all, 0}, {"delete_attribute", delete_attribute, ZARRCORE_ERR_MISSING},
    {"shrink", shrink, 0}, {"grow", grow, 0}, {"grow_far", grow_far, 0}, {"append", append, 0},
    {"erase", erase, ZARRCORE_ERR_MISSING}, {"open_group", open_group, 0}, {"list", list_all, 0},
    {"list_consolidated", list_consolidated, 0}, {"texts", texts, 0},
};

/* ---- what is left ------------------------------------------------------------------------------- */

/* Values are ones, where the array had some, and nothing but the fill value or what was appended elsewhere. */
static bool is_sound(zarrcore_store *store)
{
    zarrcore_array *array = NULL;
    int64_t shape[2];
    const int status = zarrcore_open_array(store, "g/a", &array, &error);

    if (status != ZARRCORE_OK) {
        return status == ZARRCORE_ERR_MISSING;
    }
    zarrcore_shape(array, shape);
    float *const values = calloc((size_t)(shape[0] * shape[1]) + 1, sizeof *values);
    bool good = values != NULL && zarrcore_read(array, NULL, NULL, NULL, values, NULL, 1, &error) == ZARRCORE_OK;
    for (int64_t i = 0; good && i < shape[0] * shape[1]; i++) {
        const bool inside = i / shape[1] < ROWS && i % shape[1] < COLUMNS;
        const bool appended = shape[0] > ROWS && shape[1] == COLUMNS;        /* maybe twice */
        good = values[i] == (inside || appended ? 1 : 0);
    }
    free(values);
    zarrcore_release(array);
    return good;
}

static bool is_listed(const zarrcore_nodes *nodes, const char *path)
{
    bool found = false;

    for (size_t i = 0; i < zarrcore_count_nodes(nodes); i++) {
        found = found || strcmp(zarrcore_node_name(nodes, i), path) == 0;
    }
    return found;
}

/* Do consolidated metadata show the nodes that are there, and no others? */
static bool is_shown(zarrcore_store *store)
{
    static const char *const paths[] = {"g", "g/a"};
    zarrcore_nodes *nodes = NULL;
    bool good = zarrcore_list(store, "", ZARRCORE_CONSOLIDATED, &nodes, &error) == ZARRCORE_OK;

    for (size_t i = 0; good && i < 2; i++) {
        char key[32];
        char place[600];
        snprintf(key, sizeof key, "%s/%s", paths[i], format == 1 ? "zarr.json" : i == 0 ? ".zgroup" : ".zarray");
        snprintf(place, sizeof place, "%s/%s", root, key);
        good = (access(place, F_OK) == 0) == is_listed(nodes, paths[i]);
    }
    zarrcore_free_nodes(nodes);
    return good;
}

/* One attempt; returns whether something failed. */
static bool attempt(size_t operation, long n, bool after, int code)
{
    make_tree();
    zarrcore_store *const store = open_tree();
    failing_with = code;
    fail_from(n, after);
    const int status = OPERATIONS[operation].run(store);
    const bool failed = has_failed();
    const bool reported = failed ? status != 0 || code != EIO || !after : status == 0;
    const bool shown = after || OPERATIONS[operation].run != erase || is_shown(store);
    const int again = OPERATIONS[operation].run(store);
    const bool repeated = again == 0 || (again == OPERATIONS[operation].done && again != 0);
    const bool sound = is_sound(store);

    CHECK(reported && repeated && sound && shown);
    if (!reported || !repeated || !sound || !shown) {
        fprintf(stderr, "  %s, format %d, call %ld%s: status %d, again %d: %s\n", OPERATIONS[operation].name, format + 2, n,
                after ? " and later ones" : "", status, again, error.message);
    }
    zarrcore_release_store(store);
    return failed;
}

static void operations(void)
{
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++) {
        for (int mode = 0; mode < 3; mode++) {
            long n = 0;
            while (n < 1000 && attempt(i, n, mode == 1, mode == 2 ? ENOSPC : EIO)) {
                n++;
            }
            CHECK(n > 5 && n < 1000);
        }
    }
}

static void operations_of_format_2(void)
{
    format = 0;
    operations();
}

static void operations_of_format_3(void)
{
    format = 1;
    operations();
}

static void opening_stores(void)
{
    bool failed = true;

    for (long n = 0; n < 100 && failed; n++) {
        zarrcore_store *store = NULL;
        fail_from(n, false);
        const int status = zarrcore_open_store(root, ZARRCORE_READ_WRITE, &store, &error);
        failed = has_failed();
        CHECK((store != NULL) == (status == ZARRCORE_OK) && (status != ZARRCORE_OK) == failed);
        zarrcore_release_store(store);
    }
}

int main(void)
{
    if (!make_temporary_in_memory(root, sizeof root)) {
        perror("no directory for the tests");
        return 1;
    }
    RUN(operations_of_format_2);
    RUN(operations_of_format_3);
    RUN(opening_stores);
    const bool removed = remove_tree(root, sizeof root);
    return check_report("tree") || !removed;
}

#else

int main(void)
{
    return check_report("tree");         /* no linker that replaces functions */
}

#endif
