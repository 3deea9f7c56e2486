/* What happens when ranks write to one chunk, and a cure where whole chunks for each rank (write.c) are not possible:
 *
 *     mpicc rows.c $(pkg-config --cflags --libs zarrcore) -o rows
 *     mpirun -n 4 ./rows /data/new.zarr             prints how many rows are lost
 *     mpirun -n 4 ./rows /data/other.zarr locks     prints 0
 *
 * Each rank writes every n-th row.  A chunk of 16 rows is read, patched and replaced as a whole by each rank, which so puts back the old rows
 * of the others, unless ranks that open the array with ZARRCORE_LOCKS wait for each other.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <zarrcore.h>

#define ROWS 128
#define COLUMNS 100

static const char *const FIELD =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [128, 100], \"data_type\": \"float64\","
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [16, 100]}},"
    " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0,"
    " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"zstd\"}]}";

static double field[ROWS][COLUMNS];

static int write_rows(const zarrcore_array *array, int ranks, int rank, zarrcore_error *error)
{
    const int64_t count[2] = {1, COLUMNS};
    double row[COLUMNS];
    int status = ZARRCORE_OK;

    for (int j = 0; j < COLUMNS; j++) {
        row[j] = 1;
    }
    for (int64_t i = rank; i < ROWS && status == ZARRCORE_OK; i += ranks) {
        const int64_t start[2] = {i, 0};
        status = zarrcore_write_as(array, "f8", 2, start, NULL, count, row, sizeof row, NULL, 1, 0, error);
    }
    return status;
}

static int print_lost(const zarrcore_array *array, zarrcore_error *error)
{
    int lost = 0;
    const int status = zarrcore_read_as(array, "f8", 2, NULL, NULL, NULL, field, sizeof field, NULL, 0, error);

    for (int i = 0; i < ROWS; i++) {
        lost += field[i][0] == 0;
    }
    if (status == ZARRCORE_OK) {
        printf("%d rows of %d are lost\n", lost, ROWS);
    }
    return status;
}

static int work(const char *directory, int flags, int ranks, int rank, zarrcore_error *error)
{
    zarrcore_store *store = NULL;
    zarrcore_array *array = NULL;
    int status = ZARRCORE_OK, written;

    if (rank == 0) {
        status = zarrcore_open_store(directory, ZARRCORE_READ_WRITE | ZARRCORE_CREATE, &store, error);
        status = status == ZARRCORE_OK ? zarrcore_create_array(store, "", FIELD, NULL, error) : status;
        zarrcore_release_store(store);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status != ZARRCORE_OK) {
        return status;
    }
    status = zarrcore_open(directory, ZARRCORE_READ_WRITE | flags, &array, error);
    status = status == ZARRCORE_OK ? write_rows(array, ranks, rank, error) : status;
    MPI_Allreduce(&status, &written, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (written == ZARRCORE_OK && rank == 0) {
        status = print_lost(array, error);
    }
    zarrcore_release(array);
    return status;
}

int main(int argc, char **argv)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    int ranks, rank, worst;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int flags = argc == 3 && strcmp(argv[2], "locks") == 0 ? ZARRCORE_LOCKS : 0;
    const int status = argc >= 2 ? work(argv[1], flags, ranks, rank, &error) : ZARRCORE_ERR_ARGUMENT;
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, zarrcore_status_name(status), error.message);
    }
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst == ZARRCORE_OK ? 0 : 1;
}
