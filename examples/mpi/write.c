/* Four ranks write one array:  mpicc write.c $(pkg-config --cflags --libs zarrcore) -o write && mpirun -n 4 ./write /data/new.zarr
 *
 * Each rank writes the region of whole chunks that zarrcore_decompose returns for it.  Ranks that write to one chunk would lose each
 * other's elements, for a chunk is read, patched and replaced as a whole: rows.c shows it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <zarrcore.h>

static const char *const FIELD =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [1000, 700], \"data_type\": \"float64\","
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [128, 100]}},"
    " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0,"
    " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"zstd\"}]}";

/* Write this rank's region of field[i, j] = 1000 i + j. */
static int write_region(const zarrcore_array *array, int ranks, int rank, zarrcore_error *error)
{
    int64_t start[2], count[2];

    int status = zarrcore_decompose(array, ranks, rank, start, count);
    if (status != ZARRCORE_OK) {
        return status;
    }
    const size_t nbytes = (size_t)count[0] * (size_t)count[1] * sizeof(double);
    double *const values = malloc(nbytes + 1);
    if (values == NULL) {
        return ZARRCORE_ERR_MEMORY;
    }
    for (int64_t i = 0; i < count[0]; i++) {
        for (int64_t j = 0; j < count[1]; j++) {
            values[i * count[1] + j] = 1000.0 * (double)(start[0] + i) + (double)(start[1] + j);
        }
    }
    status = zarrcore_write_as(array, "f8", 2, start, NULL, count, values, nbytes, NULL, 1, 0, error);
    free(values);
    return status;
}

static int work(const char *directory, int ranks, int rank, zarrcore_error *error)
{
    zarrcore_store *store = NULL;
    zarrcore_array *array = NULL;
    int status = ZARRCORE_OK;

    if (rank == 0) {                         /* one rank creates the array; metadata have one writing process */
        status = zarrcore_open_store(directory, ZARRCORE_READ_WRITE | ZARRCORE_CREATE, &store, error);
        status = status == ZARRCORE_OK ? zarrcore_create_array(store, "field", FIELD, NULL, error) : status;
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status == ZARRCORE_OK && rank > 0) {
        status = zarrcore_open_store(directory, ZARRCORE_READ_WRITE, &store, error);
    }
    status = status == ZARRCORE_OK ? zarrcore_open_array(store, "field", &array, error) : status;
    status = status == ZARRCORE_OK ? write_region(array, ranks, rank, error) : status;
    zarrcore_release(array);
    zarrcore_release_store(store);
    return status;
}

int main(int argc, char **argv)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    int ranks, rank, worst;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int status = argc == 2 ? work(argv[1], ranks, rank, &error) : ZARRCORE_ERR_ARGUMENT;
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, zarrcore_status_name(status), error.message);
    }
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst == ZARRCORE_OK ? 0 : 1;
}
