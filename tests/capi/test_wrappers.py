# SPDX-License-Identifier: MIT
"""What the C++ header and the Fortran module make of watches and allocators."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from capi_programs import compile_program, linked, run_program

import zarrcore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="libzarrcore is built by make"),
]

PROGRAM = r"""
#include <atomic>
#include <cassert>
#include <thread>

#include <zarrcore.hpp>

struct counting : std::pmr::memory_resource {
    std::atomic<long> bytes{0}, calls{0};
    bool refuses = false;

    void *do_allocate(std::size_t n, std::size_t alignment) override
    {
        if (refuses) {
            throw std::bad_alloc();
        }
        bytes += static_cast<long>(n), calls++;
        return std::pmr::new_delete_resource()->allocate(n, alignment);
    }
    void do_deallocate(void *memory, std::size_t n, std::size_t alignment) override
    {
        bytes -= static_cast<long>(n);
        std::pmr::new_delete_resource()->deallocate(memory, n, alignment);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

template <typename Call> static int status_of(Call call)
{
    try {
        call();
    } catch (const zarrcore::error &failure) {
        return failure.status();
    }
    return 0;
}

int main(int, char **argv)
{
    counting resource;
    zarrcore::set_allocator(&resource);
    {
        zarrcore::array array(argv[1]);
        const auto read = [&] { array.read<double>(1); };
        const auto all = array.read<double>();
        {
            zarrcore::watch outer;
            {
                zarrcore::watch inner;
                read();
                inner.cancel();
                assert(status_of(read) == ZARRCORE_ERR_CANCELLED);
            }
            read();      // the outer one is in its place again
            std::thread other([&] { read(), outer.cancel(), read(); });  // another thread is not watched
            other.join();
            assert(status_of(read) == ZARRCORE_ERR_CANCELLED);
        }
        read();
        resource.refuses = true;
        zarrcore_shutdown();
        assert(status_of(read) == ZARRCORE_ERR_MEMORY);
        resource.refuses = false;
        assert(array.read<double>() == all);
    }
    assert(resource.calls > 0);
    zarrcore_shutdown();
    zarrcore::set_allocator(nullptr);
    assert(resource.bytes == 0);

    zarrcore::store store(SLOW_STORE);
    zarrcore::watch thrower([](auto, auto) -> bool { throw std::string("enough"); });
    try {
        store.open("").read<double>(1);
        return 2;
    } catch (const std::string &text) {
        return text == "enough" ? 0 : 3;
    }
}
"""
SLOW = r"""
#include <zarrcore.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

static std::string document;

// Chunks that are there after 20 ms.
static int slow_get(void *, const zarrcore_request *request)
{
    if (std::strcmp(request->key, "zarr.json") == 0) {
        return zarrcore_reply_bytes(request->reply, document.data(), document.size());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return ZARRCORE_ERR_MISSING;
}

static const zarrcore_callbacks *slow_callbacks(const char *text)
{
    static zarrcore_callbacks callbacks;
    callbacks.struct_size = sizeof callbacks;
    callbacks.get = slow_get;
    document = text;
    return &callbacks;
}
#define SLOW_STORE *slow_callbacks(argv[2])
"""


@pytest.fixture
def flags(prefix: Path) -> list[str]:
    return linked(prefix)


@pytest.fixture
def values(tmp_path: Path) -> np.ndarray:
    values = np.random.default_rng(0).random((60, 50))
    zarrcore.create_array(tmp_path / "array", data=values, chunks=(6, 5))
    return values


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_watches_and_resources_in_cpp(
    flags: list[str], values: np.ndarray, tmp_path: Path, standard: str
) -> None:
    (tmp_path / "watch.cpp").write_text(SLOW + PROGRAM)
    program = compile_program(
        "c++", tmp_path / "watch", f"-std={standard}", "-Wpedantic", "watch.cpp", *flags
    )
    template = zarrcore.create_array({}, shape=(1000, 4), chunks=(1, 4), dtype="f8")
    done = run_program(program, tmp_path / "array", json.dumps(template.metadata.to_dict()))
    assert done.returncode == 0, done.stderr


def test_the_example_in_cpp(flags: list[str], values: np.ndarray, tmp_path: Path) -> None:
    source = str(EXAMPLES / "cpp" / "progress.cpp")
    program = compile_program("c++", tmp_path / "progress", "-std=c++17", "-Wpedantic", source, *flags)
    done = run_program(program, tmp_path / "array")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(values.sum())
    done = run_program(program, tmp_path / "nothing")
    assert (done.returncode, "there is no such directory" in done.stderr) == (1, True)


def test_the_example_in_fortran(flags: list[str], prefix: Path, values: np.ndarray, tmp_path: Path) -> None:
    sources = [str(prefix / "include" / "zarrcore.f90"), str(EXAMPLES / "fortran" / "progress.f90")]
    program = compile_program("gfortran", tmp_path / "progress", "-std=f2018", *sources, *flags)
    done = run_program(program, tmp_path / "array")
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "chunks" not in line]
    assert float(lines[0]) == pytest.approx(values.sum())
    assert lines[1] == "0 pieces of memory are left"
    done = run_program(program, tmp_path / "array", "cancel")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "interrupted")
