// SPDX-License-Identifier: MIT
//
// An extension module with pybind11: a region of an array as an array of NumPy, read without the GIL.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#define ZARRCORE_PYTHON_API
#include <zarrcore.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace py = pybind11;

struct release {
    void operator()(zarrcore_array *array) const { zarrcore_release(array); }
};

// The region that begins at `start` and has `count` elements along each dimension, as float64.
static py::array_t<double> read_region(const py::object &object, const std::vector<std::int64_t> &start,
                                       const std::vector<std::int64_t> &count)
{
    const std::unique_ptr<zarrcore_array, release> array(zarrcore_from_python(object.ptr()));
    if (array == nullptr) {
        throw py::error_already_set();
    }
    if (start.size() != count.size()) {
        throw py::value_error("start and count have different lengths");
    }
    for (const std::int64_t n : count) {
        if (n < 0) {
            throw py::value_error("count is negative");
        }
    }
    py::array_t<double> out(std::vector<py::ssize_t>(count.begin(), count.end()));
    double *const memory = out.mutable_data();
    const auto nbytes = static_cast<std::size_t>(out.nbytes());
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    int status;
    {
        const py::gil_scoped_release released;
        status = zarrcore_read_as(array.get(), "f8", static_cast<int>(count.size()), start.data(), nullptr, count.data(), memory,
                                  nbytes, nullptr, 0, &error);
    }
    if (status != ZARRCORE_OK) {
        zarrcore_raise(&error);
        throw py::error_already_set();
    }
    return out;
}

PYBIND11_MODULE(region, module)
{
    if (import_zarrcore() < 0) {
        throw py::error_already_set();
    }
    module.def("read_region", &read_region, py::arg("array"), py::arg("start"), py::arg("count"));
}
