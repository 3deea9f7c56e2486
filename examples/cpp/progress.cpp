// SPDX-License-Identifier: MIT
//
// Read an array of numbers under a watch, with memory from a resource, and print their sum.
//
//     c++ -std=c++17 progress.cpp $(pkg-config --cflags --libs zarrcore) -o progress && ./progress ARRAY [CHUNKS]
//
// After so many chunks it is cancelled.
#include <cstdlib>
#include <iostream>
#include <memory_resource>
#include <numeric>

#include <zarrcore.hpp>

static double sum_of(const char *path, std::uint64_t most)
{
    const zarrcore::watch watch([most](std::uint64_t done, std::uint64_t expected) {
        std::cerr << done << " of " << expected << " chunks\n";
        return most == 0 || done < most;
    });
    const std::vector<double> values = zarrcore::array(path).read<double>();

    return std::accumulate(values.begin(), values.end(), 0.0);
}

int main(int argc, char **argv)
{
    std::pmr::synchronized_pool_resource pool;

    try {
        zarrcore::set_allocator(&pool);
        std::cout.precision(17);
        std::cout << sum_of(argc > 1 ? argv[1] : "", argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0) << '\n';
        zarrcore_shutdown();                 // nothing of the pool is in use any more
        zarrcore::set_allocator(nullptr);
    } catch (const std::exception &failure) {
        std::cerr << failure.what() << '\n';
        return 1;
    }
    return 0;
}
