/* Create a tree, append to an array in it, and print what is there:  ./tree /tmp/station.zarr */
#include <stdio.h>
#include <zarrcore.h>

static const char *const TEMPERATURE =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [0, 3], \"data_type\": \"float64\","
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [100, 3]}},"
    " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": \"NaN\","
    " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"zstd\"}],"
    " \"dimension_names\": [\"time\", \"station\"]}";

static int make(zarrcore_store *store, zarrcore_error *error)
{
    const double day[2][3] = {{21.5, 19.0, 18.25}, {20.0, 18.5, 17.75}};
    const int64_t count[2] = {2, 3};

    int status = zarrcore_create_group(store, "", NULL, error);
    if (status == ZARRCORE_OK) {
        status = zarrcore_create_array(store, "summer/temperature", TEMPERATURE, NULL, error);
    }
    if (status == ZARRCORE_OK) {
        status = zarrcore_set_attribute(store, "summer/temperature", "units", "\"degC\"", error);
    }
    for (int i = 0; i < 2 && status == ZARRCORE_OK; i++) {
        status = zarrcore_append(store, "summer/temperature", 0, "f8", 2, count, day, sizeof day, NULL, 0, 0, error);
    }
    return status;
}

static int print(const zarrcore_store *store, const char *path, zarrcore_error *error)
{
    zarrcore_nodes *nodes;
    char *attributes = NULL;

    int status = zarrcore_list(store, path, 0, &nodes, error);
    if (status != ZARRCORE_OK) {
        return status;
    }
    for (size_t i = 0; i < zarrcore_count_nodes(nodes) && status == ZARRCORE_OK; i++) {
        char below[512];
        snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "/" : "", zarrcore_node_name(nodes, i));
        status = zarrcore_get_attribute(store, below, NULL, &attributes, error);
        printf("%s %s\n", below, status == ZARRCORE_OK ? attributes : "");
        zarrcore_free(attributes);
        if (status == ZARRCORE_OK && zarrcore_node_kind(nodes, i) == ZARRCORE_NODE_GROUP) {
            status = print(store, below, error);
        }
    }
    zarrcore_free_nodes(nodes);
    return status;
}

int main(int argc, char **argv)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    int status = zarrcore_open_store(argv[1], ZARRCORE_READ_WRITE | ZARRCORE_CREATE, &store, &error);
    status = status == ZARRCORE_OK ? make(store, &error) : status;
    status = status == ZARRCORE_OK ? print(store, "", &error) : status;
    zarrcore_release_store(store);
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "%s: %s\n", zarrcore_status_name(status), error.message);
    }
    return status == ZARRCORE_OK ? 0 : 1;
}
