/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <netcdf.h>

#include "library.h"

typedef struct file {
    int file, data;
} file;

static void check(int status)
{
    if (status != NC_NOERR) {
        fprintf(stderr, "netCDF: %s\n", nc_strerror(status));
        exit(1);
    }
}

static void *create_array(const char *path)
{
    const size_t chunk[] = {CHUNK, CHUNK};
    file *const out = malloc(sizeof *out);
    int dimensions[2];

    check(nc_create(path, NC_NETCDF4, &out->file));
    check(nc_def_dim(out->file, "y", N, &dimensions[0]));
    check(nc_def_dim(out->file, "x", N, &dimensions[1]));
    check(nc_def_var(out->file, "data", NC_FLOAT, 2, dimensions, &out->data));
    check(nc_def_var_chunking(out->file, out->data, NC_CHUNKED, chunk));
    check(nc_def_var_deflate(out->file, out->data, 0, 1, 1));
    check(nc_set_var_chunk_cache(out->file, out->data, CACHE, 1601, 0.75F));
    check(nc_enddef(out->file));
    return out;
}

static void *open_array(const char *path)
{
    file *const out = malloc(sizeof *out);

    check(nc_open(path, NC_NOWRITE, &out->file));
    check(nc_inq_varid(out->file, "data", &out->data));
    check(nc_set_var_chunk_cache(out->file, out->data, CACHE, 1601, 0.75F));
    return out;
}

static void read_region(void *array, const long *start, const long *count, float *out)
{
    const file *const f = array;

    check(nc_get_vara_float(f->file, f->data, (size_t[]){(size_t)start[0], (size_t)start[1]},
                            (size_t[]){(size_t)count[0], (size_t)count[1]}, out));
}

static void write_region(void *array, const long *start, const long *count, const float *values)
{
    const file *const f = array;

    check(nc_put_vara_float(f->file, f->data, (size_t[]){(size_t)start[0], (size_t)start[1]},
                            (size_t[]){(size_t)count[0], (size_t)count[1]}, values));
}

static void close_array(void *array)
{
    file *const f = array;

    check(nc_close(f->file));
    free(f);
}

const library with_netcdf = {"netCDF-C", true, create_array, open_array, read_region, write_region, close_array};
