// SPDX-License-Identifier: MIT
//
// zarrcore for C++17: handles that release themselves, exceptions in place of statuses, vectors for regions.  Header-only, over
// zarrcore.h, whose rules hold: it may be included in programs and, after Python.h and ZARRCORE_PYTHON_API, in extension modules.
//
//     zarrcore::array a("/data/temperature.zarr");
//     std::vector<double> row = a.read<double>({0, 0}, {1, a.shape()[1]});     // converted if it is another type
#ifndef ZARRCORE_HPP
#define ZARRCORE_HPP

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "zarrcore.h"

namespace zarrcore {

// A call that failed: its status and the whole record; what() is the message, with the key of the chunk.
class error : public std::runtime_error {
public:
    explicit error(const zarrcore_error &record) : std::runtime_error(text(record)), record_(record) {}
    int status() const noexcept { return record_.status; }
    const zarrcore_error &record() const noexcept { return record_; }

private:
    static std::string text(const zarrcore_error &record)
    {
        const std::string message = record.message[0] != '\0' ? record.message : zarrcore_status_name(record.status);
        return record.key[0] != '\0' ? std::string(record.key) + ": " + message : message;
    }

    zarrcore_error record_;
};

namespace detail {

// The name of a type of numbers in the machine's byte order, as zarrcore_read_as takes it.
template <typename T> struct name;
#define ZARRCORE_NAME(type, text) \
    template <> struct name<type> { static constexpr const char *value = text; };
ZARRCORE_NAME(bool, "b1")
ZARRCORE_NAME(std::int8_t, "i1")
ZARRCORE_NAME(std::int16_t, "i2")
ZARRCORE_NAME(std::int32_t, "i4")
ZARRCORE_NAME(std::int64_t, "i8")
ZARRCORE_NAME(std::uint8_t, "u1")
ZARRCORE_NAME(std::uint16_t, "u2")
ZARRCORE_NAME(std::uint32_t, "u4")
ZARRCORE_NAME(std::uint64_t, "u8")
ZARRCORE_NAME(float, "f4")
ZARRCORE_NAME(double, "f8")
ZARRCORE_NAME(std::complex<float>, "c8")
ZARRCORE_NAME(std::complex<double>, "c16")
#undef ZARRCORE_NAME

// A status without a record.
inline void check(int status)
{
    if (status < 0) {
        zarrcore_error record = ZARRCORE_ERROR_INIT;
        record.status = status;
        throw error(record);
    }
}

// What a function that watches calls of this thread has thrown.
inline thread_local std::exception_ptr thrown;

template <typename Call> void run(Call call)
{
    zarrcore_error record = ZARRCORE_ERROR_INIT;
    if (call(&record) != ZARRCORE_OK) {
        if (thrown) {
            std::rethrow_exception(std::exchange(thrown, nullptr));
        }
        throw error(record);
    }
}

} // namespace detail

using indices = std::vector<std::int64_t>;

#ifndef ZARRCORE_PYTHON_API

// While it lives, the calls of the thread that made it are watched; one inside of another takes its place meanwhile.  It goes in the same
// thread.  A call that is cancelled throws an error with ZARRCORE_ERR_CANCELLED, or what the function has thrown.
class watch {
public:
    // Called with the chunks that are done and expected, about every 50 ms; false cancels the call.
    using function = std::function<bool(std::uint64_t done, std::uint64_t expected)>;

    explicit watch(function progress = nullptr) : progress_(std::move(progress)), outer_(current())
    {
        start();
        current() = this;
    }
    watch(const watch &) = delete;
    watch &operator=(const watch &) = delete;
    ~watch()
    {
        current() = outer_;
        outer_ != nullptr ? outer_->start() : static_cast<void>(zarrcore_set_watch(nullptr, nullptr));
    }

    // End what runs and what comes; by any thread, or a handler of a signal.
    void cancel() noexcept { cancelled_.store(1, std::memory_order_relaxed); }

private:
    static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

    static watch *&current() noexcept
    {
        static thread_local watch *innermost = nullptr;
        return innermost;
    }
    void start()
    {
        zarrcore_watch given = {sizeof given, 0, reinterpret_cast<const volatile int *>(&cancelled_), nullptr, this};
        given.progress = progress_ ? report : nullptr;
        detail::run([&](zarrcore_error *e) { return zarrcore_set_watch(&given, e); });
    }
    static int report(void *self, std::uint64_t done, std::uint64_t expected) noexcept
    {
        try {
            return static_cast<watch *>(self)->progress_(done, expected) ? 0 : 1;
        } catch (...) {
            detail::thrown = std::current_exception();
            return 1;
        }
    }

    std::atomic<int> cancelled_{0};
    function progress_;
    watch *outer_;
};

namespace detail {

// Resources are told the size of what they take back: it is kept in front.
inline void *allocate(void *resource, std::size_t nbytes, std::size_t alignment) noexcept
{
    if (nbytes > SIZE_MAX - alignment) {
        return nullptr;
    }
    const std::size_t all = nbytes + alignment;
    try {
        char *const memory = static_cast<char *>(static_cast<std::pmr::memory_resource *>(resource)->allocate(all, alignment));
        std::memcpy(memory, &all, sizeof all);
        return memory + alignment;
    } catch (...) {
        return nullptr;
    }
}

inline void release(void *resource, void *memory) noexcept
{
    char *const begin = static_cast<char *>(memory) - ZARRCORE_ALIGNMENT;
    std::size_t all;

    std::memcpy(&all, begin, sizeof all);
    static_cast<std::pmr::memory_resource *>(resource)->deallocate(begin, all, ZARRCORE_ALIGNMENT);
}

} // namespace detail

// Memory that grows with the data comes from a resource, which any number of threads use at once; nullptr: from the system.  When that
// may be called: see zarrcore_set_allocator.
inline void set_allocator(std::pmr::memory_resource *resource)
{
    const zarrcore_allocator given = {sizeof given, 0, resource, detail::allocate, detail::release};

    detail::run([&](zarrcore_error *e) { return zarrcore_set_allocator(resource != nullptr ? &given : nullptr, e); });
}

#endif

// One owner of a handle.  Copies are owners of the same one.
class array {
public:
    // Takes over a handle, such as one of zarrcore_from_python.
    explicit array(zarrcore_array *handle) : handle_(handle)
    {
        if (handle == nullptr) {
            throw std::invalid_argument("zarrcore::array: the handle is null");
        }
    }

#ifndef ZARRCORE_PYTHON_API
    // Opens the array in a local directory; flags as of zarrcore_open.
    explicit array(const std::string &path, int flags = 0)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_open(path.c_str(), flags, &handle_, e); });
    }
#endif

    array(const array &other) noexcept : handle_(other.handle_) { zarrcore_retain(handle_); }
    array(array &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    array &operator=(array other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~array() { zarrcore_release(handle_); }

    zarrcore_array *get() const noexcept { return handle_; }

    indices shape() const { return lengths(zarrcore_shape); }
    indices chunk_shape() const { return lengths(zarrcore_chunk_shape); }
    // Lengths of the chunks along a dimension.
    indices chunk_lengths(int dimension) const
    {
        indices counts = lengths(zarrcore_grid_shape);
        if (dimension < 0 || static_cast<std::size_t>(dimension) >= counts.size()) {
            throw std::invalid_argument("zarrcore::array: there is no such dimension");
        }
        indices out(static_cast<std::size_t>(counts[static_cast<std::size_t>(dimension)]) + 1);
        detail::check(zarrcore_chunk_lengths(handle_, dimension, out.data(), out.size()));
        out.pop_back();
        return out;
    }
    // The region of one of several ranks, whole chunks: first element and lengths.
    std::pair<indices, indices> decompose(int ranks, int rank) const
    {
        const std::size_t ndim = shape().size();
        indices start(ndim + 1), count(ndim + 1);
        detail::check(zarrcore_decompose(handle_, ranks, rank, start.data(), count.data()));
        start.pop_back();
        count.pop_back();
        return {start, count};
    }
    // Name of a dimension, "" if it has none.
    std::string dimension_name(int dimension) const
    {
        const char *const text = zarrcore_dimension_name(handle_, dimension);
        return text != nullptr ? text : "";
    }
    std::string typestr() const
    {
        const char *const text = zarrcore_typestr(handle_);
        return text != nullptr ? text : "";
    }

    // Read count elements from start on, in C order; without arguments all.
    template <typename T> std::vector<T> read(const indices &start, const indices &count, int threads = 0) const
    {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes: read std::uint8_t");
        check_dimensions(start, count);
        std::vector<T> out(size(count));
        detail::run([&](zarrcore_error *e) {
            return zarrcore_read_as(handle_, detail::name<T>::value, static_cast<int>(count.size()), start.data(), nullptr,
                                    count.data(), out.data(), out.size() * sizeof(T), nullptr, threads, e);
        });
        return out;
    }
    template <typename T> std::vector<T> read(int threads = 0) const
    {
        const indices count = shape();
        return read<T>(indices(count.size()), count, threads);
    }

    // Write them.
    template <typename T>
    void write(const indices &start, const indices &count, const std::vector<T> &values, int threads = 0, int flags = 0)
    {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes: write std::uint8_t");
        check_dimensions(start, count);
        detail::run([&](zarrcore_error *e) {
            return zarrcore_write_as(handle_, detail::name<T>::value, static_cast<int>(count.size()), start.data(), nullptr,
                                     count.data(), values.data(), values.size() * sizeof(T), nullptr, threads, flags, e);
        });
    }

    void set_cache(std::int64_t nbytes) { detail::check(zarrcore_set_cache(handle_, nbytes)); }
    void set_write_buffer(std::int64_t nbytes)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_set_write_buffer(handle_, nbytes, e); });
    }
    void flush()
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_flush(handle_, e); });
    }

    // Flush and release; the destructor, which cannot throw, would only print a failure.
    void close()
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_close(std::exchange(handle_, nullptr), e); });
    }

private:
    template <typename Function> indices lengths(Function function) const
    {
        const int ndim = zarrcore_ndim(handle_);
        detail::check(ndim);
        indices out(static_cast<std::size_t>(ndim) + 1);         // never without memory
        detail::check(function(handle_, out.data()));
        out.pop_back();
        return out;
    }

    static void check_dimensions(const indices &start, const indices &count)
    {
        if (start.size() != count.size()) {
            throw std::invalid_argument("zarrcore::array: start and count have different numbers of dimensions");
        }
    }

    // Elements; of what the library refuses anyway, any number.
    std::size_t size(const indices &count) const
    {
        const indices lengths = shape();
        std::size_t n = 1;
        for (std::size_t d = 0; d < count.size(); d++) {
            if (d >= lengths.size() || count[d] < 0 || count[d] > lengths[d]) {
                throw std::invalid_argument("zarrcore::array: the region leaves the array");
            }
            n *= static_cast<std::size_t>(count[d]);
        }
        return n;
    }

    zarrcore_array *handle_ = nullptr;
};

#ifndef ZARRCORE_PYTHON_API

// One array or group of a list.  document: its metadata as JSON, "" if they are not readable.
struct node {
    std::string name;
    int kind;                        // ZARRCORE_NODE_*
    std::string document;
};

// A tree of arrays and groups; paths as of zarrcore_open_store.  Copies are owners of the same one.
class store {
public:
    // Opens a local directory.
    explicit store(const std::string &path, int flags = 0)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_open_store(path.c_str(), flags, &handle_, e); });
    }
    // Opens a store of callbacks.
    explicit store(const zarrcore_callbacks &callbacks, int flags = 0)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_open_callbacks(&callbacks, flags, &handle_, e); });
    }
    // Takes over a handle.
    explicit store(zarrcore_store *handle) : handle_(handle)
    {
        if (handle == nullptr) {
            throw std::invalid_argument("zarrcore::store: the handle is null");
        }
    }
    store(const store &other) noexcept : handle_(other.handle_) { zarrcore_retain_store(handle_); }
    store(store &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    store &operator=(store other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~store() { zarrcore_release_store(handle_); }

    zarrcore_store *get() const noexcept { return handle_; }

    // The same store with paths that begin at a group.
    store group(const std::string &path) const
    {
        zarrcore_store *out = nullptr;
        detail::run([&](zarrcore_error *e) { return zarrcore_open_group(handle_, path.c_str(), &out, e); });
        return store(out);
    }
    array open(const std::string &path) const
    {
        zarrcore_array *out = nullptr;
        detail::run([&](zarrcore_error *e) { return zarrcore_open_array(handle_, path.c_str(), &out, e); });
        return array(out);
    }
    array create_array(const std::string &path, const std::string &document)
    {
        zarrcore_array *out = nullptr;
        detail::run([&](zarrcore_error *e) {
            return zarrcore_create_array(handle_, path.c_str(), document.c_str(), &out, e);
        });
        return array(out);
    }
    void create_group(const std::string &path)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_create_group(handle_, path.c_str(), nullptr, e); });
    }
    void create_group(const std::string &path, const std::string &document)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_create_group(handle_, path.c_str(), document.c_str(), e); });
    }
    void resize(const std::string &path, const indices &shape)
    {
        detail::run([&](zarrcore_error *e) {
            return zarrcore_resize(handle_, path.c_str(), static_cast<int>(shape.size()), shape.data(), e);
        });
    }
    // Append count elements along an axis, in C order.
    template <typename T>
    void append(const std::string &path, int axis, const indices &count, const std::vector<T> &values, int threads = 0)
    {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes: append std::uint8_t");
        static const T none{};       // memory is not NULL
        const T *const data = values.empty() ? &none : values.data();
        detail::run([&](zarrcore_error *e) {
            return zarrcore_append(handle_, path.c_str(), axis, detail::name<T>::value, static_cast<int>(count.size()),
                                   count.data(), data, values.size() * sizeof(T), nullptr, threads, 0, e);
        });
    }
    void erase(const std::string &path)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_erase(handle_, path.c_str(), e); });
    }
    std::string document(const std::string &path) const
    {
        return text([&](char **out, zarrcore_error *e) { return zarrcore_get_document(handle_, path.c_str(), out, e); });
    }

    // Attributes as JSON: all of them, or one.
    std::string attributes(const std::string &path) const
    {
        return text([&](char **out, zarrcore_error *e) {
            return zarrcore_get_attribute(handle_, path.c_str(), nullptr, out, e);
        });
    }
    std::string attribute(const std::string &path, const std::string &name) const
    {
        return text([&](char **out, zarrcore_error *e) {
            return zarrcore_get_attribute(handle_, path.c_str(), name.c_str(), out, e);
        });
    }
    void set_attribute(const std::string &path, const std::string &name, const std::string &json)
    {
        detail::run([&](zarrcore_error *e) {
            return zarrcore_set_attribute(handle_, path.c_str(), name.c_str(), json.c_str(), e);
        });
    }
    void delete_attribute(const std::string &path, const std::string &name)
    {
        detail::run([&](zarrcore_error *e) { return zarrcore_delete_attribute(handle_, path.c_str(), name.c_str(), e); });
    }

    // The nodes directly below a group, or those that its consolidated metadata describe.
    std::vector<node> list(const std::string &path = "", int flags = 0) const
    {
        struct owner {
            zarrcore_nodes *nodes = nullptr;
            ~owner() { zarrcore_free_nodes(nodes); }
        } found;
        detail::run([&](zarrcore_error *e) { return zarrcore_list(handle_, path.c_str(), flags, &found.nodes, e); });
        std::vector<node> out;
        for (std::size_t i = 0; i < zarrcore_count_nodes(found.nodes); i++) {
            const char *const document = zarrcore_node_document(found.nodes, i);
            out.push_back({zarrcore_node_name(found.nodes, i), zarrcore_node_kind(found.nodes, i),
                           document != nullptr ? document : ""});
        }
        return out;
    }

private:
    template <typename Call> static std::string text(Call call)
    {
        struct owner {
            char *text = nullptr;
            ~owner() { zarrcore_free(text); }
        } found;
        detail::run([&](zarrcore_error *e) { return call(&found.text, e); });
        return found.text;
    }

    zarrcore_store *handle_ = nullptr;
};

#endif

} // namespace zarrcore

#endif
