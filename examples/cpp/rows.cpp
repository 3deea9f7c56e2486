// SPDX-License-Identifier: MIT
//
// Double every row of a two-dimensional array, row by row through a write buffer, and print the sum.
//
//     c++ -std=c++17 rows.cpp $(pkg-config --cflags --libs zarrcore) -o rows && ./rows /data/temperature.zarr
#include <cstdio>
#include <zarrcore.hpp>

int main(int argc, char **argv)
try {
    zarrcore::array array(argc > 1 ? argv[1] : "", ZARRCORE_READ_WRITE);
    const zarrcore::indices shape = array.shape();
    double sum = 0;

    if (shape.size() != 2) {
        std::fprintf(stderr, "the array has %zu dimensions, not 2\n", shape.size());
        return 1;
    }
    array.set_write_buffer(64 << 20);
    for (std::int64_t i = 0; i < shape[0]; i++) {
        std::vector<double> row = array.read<double>({i, 0}, {1, shape[1]});
        for (double &x : row) {
            x *= 2;
            sum += x;
        }
        array.write({i, 0}, {1, shape[1]}, row);
    }
    array.close();
    std::printf("%.17g\n", sum);
    return 0;
} catch (const zarrcore::error &error) {
    std::fprintf(stderr, "%s (status %d)\n", error.what(), error.status());
    return 1;
}
