/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hdf5.h>

#include "library.h"

typedef struct file {
    hid_t file, data;
} file;

static hid_t check(hid_t id)
{
    if (id < 0) {                            /* HDF5 has printed why */
        exit(1);
    }
    return id;
}

/* Slots for a hundred times as many chunks as there are, as its manual has it. */
static hid_t cached(void)
{
    const hid_t access = check(H5Pcreate(H5P_DATASET_ACCESS));

    check(H5Pset_chunk_cache(access, 1601, CACHE, H5D_CHUNK_CACHE_W0_DEFAULT));
    return access;
}

static void *create_array(const char *path)
{
    const hsize_t shape[] = {N, N}, chunk[] = {CHUNK, CHUNK};
    const hid_t space = check(H5Screate_simple(2, shape, NULL)), options = check(H5Pcreate(H5P_DATASET_CREATE)), access = cached();
    file *const out = malloc(sizeof *out);

    check(H5Pset_chunk(options, 2, chunk));
    check(H5Pset_deflate(options, 1));
    out->file = check(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    out->data = check(H5Dcreate2(out->file, "data", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, options, access));
    H5Pclose(options);
    H5Pclose(access);
    H5Sclose(space);
    return out;
}

static void *open_array(const char *path)
{
    const hid_t access = cached();
    file *const out = malloc(sizeof *out);

    out->file = check(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    out->data = check(H5Dopen2(out->file, "data", access));
    H5Pclose(access);
    return out;
}

static void transfer(const file *f, const long *start, const long *count, float *out, const float *values)
{
    const hsize_t from[] = {(hsize_t)start[0], (hsize_t)start[1]}, n[] = {(hsize_t)count[0], (hsize_t)count[1]};
    const hid_t space = check(H5Dget_space(f->data)), memory = check(H5Screate_simple(2, n, NULL));

    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, n, NULL));
    check(values != NULL ? H5Dwrite(f->data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values)
                         : H5Dread(f->data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, out));
    H5Sclose(memory);
    H5Sclose(space);
}

static void read_region(void *array, const long *start, const long *count, float *out)
{
    transfer(array, start, count, out, NULL);
}

static void write_region(void *array, const long *start, const long *count, const float *values)
{
    transfer(array, start, count, NULL, values);
}

static void close_array(void *array)
{
    file *const f = array;

    check(H5Dclose(f->data));
    check(H5Fclose(f->file));
    free(f);
}

const library with_hdf5 = {"HDF5", true, create_array, open_array, read_region, write_region, close_array};
