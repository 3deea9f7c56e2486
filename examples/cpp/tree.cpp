// SPDX-License-Identifier: MIT
//
// Create an array in a tree, append to it, and list what is there.
//
//     c++ -std=c++17 tree.cpp $(pkg-config --cflags --libs zarrcore) -o tree && ./tree /tmp/new.zarr
#include <cstdio>
#include <zarrcore.hpp>

int main(int argc, char **argv)
try {
    zarrcore::store store(argc > 1 ? argv[1] : "", ZARRCORE_READ_WRITE | ZARRCORE_CREATE);

    store.create_group("");
    zarrcore::array counts = store.create_array("a/counts", R"({
        "zarr_format": 3, "node_type": "array", "shape": [0], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": "default",
        "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"], "dimension_names": ["time"]})");
    store.append<std::int64_t>("a/counts", 0, {6}, {1, 2, 3, 4, 5, 6});
    store.set_attribute("a/counts", "by", "\"hand\"");
    store.group("a").resize("counts", {5});
    for (const zarrcore::node &node : store.list("a")) {
        std::printf("%s %d %s\n", node.name.c_str(), node.kind, store.attribute("a/" + node.name, "by").c_str());
    }
    counts = store.open("a/counts");
    std::printf("%s, %zu chunks:", counts.dimension_name(0).c_str(), counts.chunk_lengths(0).size());
    for (int value : counts.read<int>()) {
        std::printf(" %d", value);
    }
    store.erase("a");
    std::printf("\n%zu left\n", store.list().size());
    return 0;
} catch (const zarrcore::error &error) {
    std::fprintf(stderr, "%s (status %d)\n", error.what(), error.status());
    return 1;
}
