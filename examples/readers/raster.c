/* SPDX-License-Identifier: MIT
 *
 * A reader of rasters, as GDAL sees them: arrays of numbers whose last two dimensions are rows and columns, with bands before them.
 *
 *     raster STORE                    list the rasters
 *     raster STORE PATH               describe one
 *     raster STORE PATH BAND OUT.pgm  draw a band
 */
#include "common.h"

static int is_raster(const zarrcore_array *array)
{
    const int ndim = zarrcore_ndim(array), kind = zarrcore_kind(array);

    return (ndim == 2 || ndim == 3) && (kind == 'i' || kind == 'u' || kind == 'f' || kind == 'b');
}

/* Bands, rows and columns. */
static void get_size(const zarrcore_array *array, int64_t *out)
{
    const int ndim = zarrcore_ndim(array);
    int64_t shape[ZARRCORE_MAX_DIMS];

    zarrcore_shape(array, shape);
    out[0] = ndim == 3 ? shape[0] : 1;
    out[1] = shape[ndim - 2];
    out[2] = shape[ndim - 1];
}

/* ---- listing ------------------------------------------------------------------------------------ */

static int list_array(const zarrcore_nodes *nodes, size_t i, const char *path, zarrcore_error *error)
{
    zarrcore_array *array = NULL;
    int64_t size[3];

    const int status = zarrcore_open_node(nodes, i, &array, error);
    if (status != ZARRCORE_OK) {             /* what cannot be read, such as strings, is no raster */
        return status == ZARRCORE_ERR_UNSUPPORTED ? 0 : fail(path, status, error);
    }
    if (is_raster(array)) {
        get_size(array, size);
        printf("%s: %lld x %lld, %lld band%s, %s\n", path, (long long)size[2], (long long)size[1], (long long)size[0],
               size[0] == 1 ? "" : "s", zarrcore_typestr(array));
    }
    zarrcore_release(array);
    return 0;
}

static int list_group(const zarrcore_store *store, const char *path, zarrcore_error *error)
{
    zarrcore_nodes *nodes = NULL;
    const int status = zarrcore_list(store, path, 0, &nodes, error);
    int failed = status != ZARRCORE_OK ? fail(path, status, error) : 0;

    for (size_t i = 0; i < zarrcore_count_nodes(nodes) && !failed; i++) {
        char *const below = join(path, zarrcore_node_name(nodes, i));
        const int kind = zarrcore_node_kind(nodes, i);
        if (below == NULL) {
            failed = 1;
        } else if (kind == ZARRCORE_NODE_UNREADABLE) {
            fprintf(stderr, "%s: its metadata are not valid\n", below);
        } else {
            failed = kind == ZARRCORE_NODE_ARRAY ? list_array(nodes, i, below, error) : list_group(store, below, error);
        }
        free(below);
    }
    zarrcore_free_nodes(nodes);
    return failed;
}

/* ---- one raster --------------------------------------------------------------------------------- */

static void print_block(const char *what, const int64_t *lengths, int ndim)
{
    printf("%s: %lld x %lld\n", what, (long long)lengths[ndim - 1], (long long)lengths[ndim - 2]);
}

/* The fill value of a number, as text. */
static void print_fill(const zarrcore_array *array)
{
    const int kind = zarrcore_kind(array);
    const int64_t n = zarrcore_itemsize(array);
    union { unsigned char bytes[16]; float f4; double f8; int8_t i1; int16_t i2; int32_t i4; int64_t i8; uint8_t u1; uint16_t u2;
            uint32_t u4; uint64_t u8; } value;

    memset(&value, 0, sizeof value);
    if (zarrcore_fill_value(array, value.bytes, sizeof value.bytes) != ZARRCORE_OK) {
        return;
    }
    printf("Fill value: ");
    if (kind == 'f') {
        n == 8 ? printf("%.17g\n", value.f8) : n == 4 ? printf("%.9g\n", (double)value.f4) : printf("half 0x%04x\n", value.u2);
    } else if (kind == 'i') {
        printf("%lld\n", (long long)(n == 8 ? value.i8 : n == 4 ? value.i4 : n == 2 ? value.i2 : value.i1));
    } else {
        printf("%llu\n", (unsigned long long)(n == 8 ? value.u8 : n == 4 ? value.u4 : n == 2 ? value.u2 : value.u1));
    }
}

static int describe(const zarrcore_store *store, const char *path, const zarrcore_array *array, zarrcore_error *error)
{
    const int ndim = zarrcore_ndim(array);
    int64_t size[3], lengths[ZARRCORE_MAX_DIMS];

    get_size(array, size);
    printf("Driver: Zarr (libzarrcore %s)\nRaster: %s\n", zarrcore_version(), path[0] != '\0' ? path : "/");
    printf("Size is %lld, %lld\nBands: %lld\nType: %s\n", (long long)size[2], (long long)size[1], (long long)size[0],
           zarrcore_typestr(array));
    zarrcore_chunk_shape(array, lengths);
    print_block(zarrcore_is_sharded(array) ? "Shard" : "Block", lengths, ndim);
    if (zarrcore_is_sharded(array) && zarrcore_inner_chunk_shape(array, lengths) == ZARRCORE_OK) {
        print_block("Block", lengths, ndim);
    }
    for (int d = 0; d < ndim; d++) {
        const char *const name = zarrcore_dimension_name(array, d);
        printf("%s", d == 0 ? "Dimensions:" : "");
        printf(" %s%s", name != NULL ? name : "?", d == ndim - 1 ? "\n" : "");
    }
    print_fill(array);
    printf("Metadata:\n");
    const int status = print_attributes(store, path, "  ", "", error);
    return status != ZARRCORE_OK ? fail(path, status, error) : 0;
}

static int use_raster(const zarrcore_store *store, int argc, char **argv, zarrcore_error *error)
{
    zarrcore_array *array = NULL;
    int failed = 1;
    char *end;

    const int status = zarrcore_open_array(store, argv[2], &array, error);
    if (status != ZARRCORE_OK) {
        return fail(argv[2], status, error);
    }
    if (!is_raster(array)) {
        fprintf(stderr, "%s is no raster: it needs two or three dimensions of numbers\n", argv[2]);
    } else if (argc == 3) {
        failed = describe(store, argv[2], array, error);
    } else {
        const int64_t band = strtoll(argv[3], &end, 10);
        if (end == argv[3] || *end != '\0' || (zarrcore_ndim(array) == 2 && band != 0)) {
            fprintf(stderr, "there is no band %s\n", argv[3]);
        } else {
            failed = draw(array, &band, number_attribute(store, argv[2], "_FillValue"), argv[4], error);
        }
    }
    zarrcore_release(array);
    return failed;
}

int main(int argc, char **argv)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store = NULL;

    if (argc != 2 && argc != 3 && argc != 5) {
        fprintf(stderr, "usage: %s STORE [PATH [BAND OUT.pgm]]\n", argv[0]);
        return 2;
    }
    const int status = zarrcore_open_store(argv[1], 0, &store, &error);
    if (status != ZARRCORE_OK) {
        return fail(argv[1], status, &error);
    }
    const int failed = argc == 2 ? list_group(store, "", &error) : use_raster(store, argc, argv, &error);
    zarrcore_release_store(store);
    return failed;
}
