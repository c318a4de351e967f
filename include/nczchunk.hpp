/*
 * nczchunk for C++17: hyperslabs of chunked n-dimensional arrays.
 *
 * Read and write hyperslabs with the C++ classes for nczchunk.h. The classes that open arrays by name are in
 * nczchunk_array.hpp. Both headers need only the library, its C headers and the standard library.
 *
 *     auto var = nczchunk::Variable::of<float>({90, 180}, {40, 50});          an array of floats, and a chunk of it
 *     auto store = nczchunk::ChunkStore::reading([&](nczchunk::Request request) {
 *         request.put(chunks[request.index(0)][request.index(1)]);            chunks is yours
 *     });
 *     std::vector<float> data = nczchunk::read<float>(var, store, {{10, 0}, {20, 60}, {1, 3}});
 *
 * examples/own_store.cpp is this example as a whole program. Rules for all classes and functions:
 * - Objects own their parts. They can be moved, but not copied. An object that was moved from can be destroyed and
 *   assigned to. In any other use it is a NULL of the C interface, which is refused with an Error.
 * - A failure throws an Error: the status, the message, the dimension and the chunk. Ranks and the sizes of memory are
 *   checked before the library is called.
 * - Callbacks are any callable objects, also those that can only be moved, or objects of classes derived from the base
 *   classes here. They live as long as the library needs them. The thread that releases them last destroys them.
 * - Callbacks may throw. The exception ends the library's call. The function that the program called throws it again in
 *   the program's thread, even if the callback ran in another thread: see call. A callable whose destructor may throw
 *   does not compile.
 * - Thread safety is as in nczchunk.h. Several threads may use variables, plans, stores (if their callbacks allow it)
 *   and caches as long as none changes them. A Context serves one call at a time, and an Odometer one thread.
 * - get() returns the C object for functions that are not here. The C++ object still owns it.
 */
#ifndef NCZCHUNK_HPP
#define NCZCHUNK_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif
#ifndef _WIN32
#include <unistd.h>
#endif

#include "nczchunk.h"

// Other shared libraries catch these errors, and find these exceptions again.
#if defined(__GNUC__) && !defined(_WIN32)
#define NCZCHUNK_NAMESPACE nczchunk __attribute__((visibility("default")))
#else
#define NCZCHUNK_NAMESPACE nczchunk
#endif

namespace NCZCHUNK_NAMESPACE {

// ---------------------------------------------------------------------------------------------------------------------
// ERRORS

// Statuses: written by tests/header.rs.
/// The library's own statuses by name; nczchunk.h says what each stands for.
enum class Status : int {
    ok = NCZCHUNK_NOERR,
    exists = NCZCHUNK_EEXIST,
    invalid = NCZCHUNK_EINVAL,
    read_only = NCZCHUNK_EPERM,
    coordinates = NCZCHUNK_EINVALCOORDS,
    no_attribute = NCZCHUNK_ENOTATT,
    max_rank = NCZCHUNK_EMAXDIMS,
    bad_type = NCZCHUNK_EBADTYPE,
    bad_dimension = NCZCHUNK_EBADDIM,
    not_an_array = NCZCHUNK_ENOTVAR,
    unknown_format = NCZCHUNK_ENOTNC,
    text = NCZCHUNK_ECHAR,
    edge = NCZCHUNK_EEDGE,
    stride = NCZCHUNK_ESTRIDE,
    range = NCZCHUNK_ERANGE,
    no_memory = NCZCHUNK_ENOMEM,
    variable_size = NCZCHUNK_EVARSIZE,
    dimension_size = NCZCHUNK_EDIMSIZE,
    io = NCZCHUNK_EIO,
    not_found = NCZCHUNK_ENOTFOUND,
    internal = NCZCHUNK_EINTERNAL,
    bad_chunk = NCZCHUNK_EBADCHUNK,
    not_built = NCZCHUNK_ENOTBUILT,
    cannot_extend = NCZCHUNK_ECANTEXTEND,
    filter = NCZCHUNK_EFILTER,
    no_filter = NCZCHUNK_ENOFILTER,
    bad_metadata = NCZCHUNK_ENCZARR,
    empty = NCZCHUNK_EEMPTY,
    object = NCZCHUNK_EOBJECT,
    no_object = NCZCHUNK_ENOOBJECT
};
// End of statuses.

namespace detail {

class Category final : public std::error_category {
  public:
    const char *name() const noexcept override { return "nczchunk"; }

    std::string message(int status) const override { return nczchunk_strerror(status); }

    std::error_condition default_error_condition(int status) const noexcept override
    {
        switch (static_cast<Status>(status)) {
        // Conditions: written by tests/header.rs.
        case Status::exists: return std::errc::file_exists;
        case Status::invalid: return std::errc::invalid_argument;
        case Status::read_only: return std::errc::operation_not_permitted;
        case Status::coordinates: return std::errc::invalid_argument;
        case Status::bad_dimension: return std::errc::invalid_argument;
        case Status::edge: return std::errc::invalid_argument;
        case Status::stride: return std::errc::invalid_argument;
        case Status::range: return std::errc::result_out_of_range;
        case Status::no_memory: return std::errc::not_enough_memory;
        case Status::io: return std::errc::io_error;
        case Status::not_found: return std::errc::no_such_file_or_directory;
        case Status::not_built: return std::errc::not_supported;
        // End of conditions.
        default: return {status, *this};
        }
    }
};

} // namespace detail

/// The category of the library's statuses, named "nczchunk". A status compares equal to the standard's condition of the
/// same meaning, if there is one: Status::not_found to std::errc::no_such_file_or_directory.
inline const std::error_category &category() noexcept
{
    static const detail::Category category;
    return category;
}

inline std::error_code make_error_code(Status status) noexcept
{
    return {static_cast<int>(status), category()};
}

/// The code for a status of the C interface. Positive statuses are errno values and have the generic category.
inline std::error_code make_error_code(int status) noexcept
{
    return {status, status > 0 ? std::generic_category() : category()};
}

/// An error: why and where a call failed.
class Error : public std::system_error {
  public:
    /// A status with a message, by default that of nczchunk_strerror. A callback may throw it like any other exception.
    explicit Error(Status status, const std::string &message = {}) : Error(static_cast<int>(status), message) {}

    /// The same for a status of the C interface.
    explicit Error(int status, const std::string &message = {})
        : std::system_error(make_error_code(status)), details_(std::make_shared<Details>())
    {
        details_->message = message.empty() ? nczchunk_strerror(status) : message;
    }

    /// The error of a context's last call, which ended with this status. NULL for context is allowed.
    Error(int status, const nczchunk_context *context) : Error(status, nczchunk_context_message(context))
    {
        if (context == nullptr)
            return;
        if (const int dimension = nczchunk_context_dimension(context); dimension >= 0)
            details_->dimension = static_cast<std::size_t>(dimension);
        std::size_t rank = 0;
        if (const std::ptrdiff_t *chunk = nczchunk_context_chunk(context, &rank); chunk != nullptr)
            details_->chunk.emplace(chunk, chunk + rank);
        details_->chunks_done = nczchunk_context_chunks_done(context);
    }

    // Copied, not moved, so that one that was moved from has its message, too.
    Error(const Error &) = default;
    Error &operator=(const Error &) = default;

    /// The status of the C interface.
    int status() const noexcept { return code().value(); }

    /// The message: "chunk (1, 0, 3): the stored chunk has 40 bytes, expected 4000". It names the array, object or
    /// file if the error concerns one.
    const char *what() const noexcept override { return details_->message.c_str(); }
    const std::string &message() const noexcept { return details_->message; }

    /// The dimension, counted from 0, if the error concerns one.
    std::optional<std::size_t> dimension() const noexcept { return details_->dimension; }

    /// The indices of the chunk, if the error concerns one; a scalar's chunk has none.
    const std::optional<std::vector<std::ptrdiff_t>> &chunk() const noexcept { return details_->chunk; }

    /// The number of chunks that the call had read or written: the first ones, in the plan's order.
    std::size_t chunks_done() const noexcept { return details_->chunks_done; }

  private:
    struct Details {
        std::string message;
        std::optional<std::size_t> dimension;
        std::optional<std::vector<std::ptrdiff_t>> chunk;
        std::size_t chunks_done = 0;
    };

    // Shared, because the copies of an exception must not throw.
    std::shared_ptr<Details> details_;
};

// ---------------------------------------------------------------------------------------------------------------------
// MEMORY AND HYPERSLABS

namespace detail {

template <class Container> using DataOf = decltype(std::data(std::declval<Container &>()));

/// The type of a contiguous container's elements. For a C array of several dimensions it is the innermost element.
template <class Container>
using ValueOf = std::remove_all_extents_t<std::remove_pointer_t<DataOf<Container>>>;

} // namespace detail

/// A pointer and a length: memory of the caller's. A Span can be made from any contiguous container or C array, also of
/// several dimensions, and from std::span. A std::span can be made from a Span.
template <class T> class Span {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = T *;

    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <class Container,
              class Reference = std::remove_reference_t<Container>,
              class = std::enable_if_t<std::is_convertible_v<detail::ValueOf<Reference> (*)[], T (*)[]> &&
                                       !std::is_same_v<std::remove_cv_t<Reference>, Span>>>
    constexpr Span(Container &&container) noexcept
        : data_(reinterpret_cast<T *>(std::data(container))),
          size_(std::size(container) * (sizeof *std::data(container) / sizeof(T)))
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// The span of a container: Span<float> of a std::vector<float>, Span<const float> of a const one.
template <class Container> constexpr auto as_span(Container &&container) noexcept
{
    return Span<detail::ValueOf<std::remove_reference_t<Container>>>(container);
}

/// The bytes of a container of trivially copyable elements.
template <class Container> Span<const std::byte> as_bytes(const Container &container) noexcept
{
    const auto span = as_span(container);
    static_assert(std::is_trivially_copyable_v<typename decltype(span)::value_type>, "these are more than their bytes");
    return {reinterpret_cast<const std::byte *>(span.data()), span.size_bytes()};
}

/// One number per dimension, the slowest first. Up to 8 need no heap memory.
template <class T> class PerDimension {
  public:
    PerDimension() noexcept = default;
    PerDimension(std::initializer_list<T> numbers) : PerDimension(numbers.begin(), numbers.size()) {}
    PerDimension(const T *numbers, std::size_t rank) : PerDimension(rank) { std::copy_n(numbers, rank, data()); }

    /// From a contiguous container of numbers of this type.
    template <class Container,
              class = std::enable_if_t<std::is_same_v<std::remove_cv_t<detail::ValueOf<const Container>>, T> &&
                                       !std::is_same_v<Container, std::initializer_list<T>>>>
    PerDimension(const Container &numbers) : PerDimension(std::data(numbers), std::size(numbers))
    {
    }

    /// The same number for each of rank dimensions.
    explicit PerDimension(std::size_t rank, T number = {}) : rank_(rank)
    {
        if (rank > few_.size())
            many_.resize(rank);
        std::fill_n(data(), rank, number);
    }

    PerDimension(const PerDimension &) = default;
    PerDimension &operator=(const PerDimension &) = default;
    ~PerDimension() = default;

    T *data() noexcept { return rank_ > few_.size() ? many_.data() : few_.data(); }
    const T *data() const noexcept { return rank_ > few_.size() ? many_.data() : few_.data(); }
    std::size_t size() const noexcept { return rank_; }
    bool empty() const noexcept { return rank_ == 0; }
    T &operator[](std::size_t dimension) noexcept { return data()[dimension]; }
    const T &operator[](std::size_t dimension) const noexcept { return data()[dimension]; }
    T *begin() noexcept { return data(); }
    const T *begin() const noexcept { return data(); }
    T *end() noexcept { return data() + rank_; }
    const T *end() const noexcept { return data() + rank_; }

    friend bool operator==(const PerDimension &a, const PerDimension &b)
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend bool operator!=(const PerDimension &a, const PerDimension &b) { return !(a == b); }

  private:
    std::array<T, 8> few_{};
    std::vector<T> many_;
    std::size_t rank_ = 0;
};

using Lengths = PerDimension<std::size_t>;
using Steps = PerDimension<std::ptrdiff_t>;

/// A hyperslab: along each dimension, count elements from start on, stride apart.
///
///     {{0, 10, 0}, {1, 20, 60}, {1, 1, 3}}        start, count and stride
///     {{0, 10, 0}, {1, 20, 60}}                   every element: stride is 1
///     {}                                          the whole array
///
/// An empty list has the default of the C interface: start 0, the length of each dimension as count, stride 1. Any
/// other has one number per dimension.
struct Hyperslab {
    Hyperslab() noexcept = default;
    Hyperslab(const Lengths &first, const Lengths &number, const Steps &step = {})
        : start(first), count(number), stride(step)
    {
    }

    Lengths start, count;
    Steps stride;
};

/// The layout of elements in memory that is not row-major without gaps. Strides and offset are in elements.
struct Layout {
    /// The distance from one element to the next, along each dimension; negative for backwards.
    Steps strides;
    /// The position of the first selected element, counted from the beginning of the memory.
    std::size_t offset = 0;

    /// A layout without gaps, with the dimensions in another order. order names each dimension once, the slowest in
    /// memory first: {0, 1, 2} is row-major, {2, 1, 0} is Fortran order. count is the hyperslab's.
    static Layout in_order(const Lengths &count, const Lengths &order)
    {
        Layout layout;
        layout.strides = Steps(count.size());
        if (order.size() != count.size())
            throw Error(Status::invalid, "the order of the dimensions in memory and count have different ranks");
        std::vector<bool> named(count.size(), false);
        std::ptrdiff_t stride = 1;
        for (std::size_t i = order.size(); i-- > 0;) {
            if (order[i] >= count.size() || named[order[i]])
                throw Error(Status::invalid, "the order of the dimensions in memory must name each exactly once");
            named[order[i]] = true;
            layout.strides[order[i]] = stride;
            if (count[order[i]] > 1) {
                if (static_cast<std::size_t>((std::numeric_limits<std::ptrdiff_t>::max)() / stride) < count[order[i]])
                    throw Error(Status::invalid, "the memory is larger than the address space");
                stride *= static_cast<std::ptrdiff_t>(count[order[i]]);
            }
        }
        return layout;
    }

    /// Fortran order: the first dimension varies fastest.
    static Layout fortran(const Lengths &count)
    {
        Lengths order(count.size());
        for (std::size_t i = 0; i < order.size(); i++)
            order[i] = order.size() - 1 - i;
        return in_order(count, order);
    }
};

/// For reading or for writing.
enum class Access : int { read = NCZCHUNK_READ, write = NCZCHUNK_WRITE };

/// The byte order of stored words.
enum class Endian : int {
    native = NCZCHUNK_ENDIAN_NATIVE,
    little = NCZCHUNK_ENDIAN_LITTLE,
    big = NCZCHUNK_ENDIAN_BIG
};

namespace detail {

template <class Handle, void (*Free)(Handle *)> struct Freer {
    void operator()(Handle *handle) const noexcept { Free(handle); }
};

template <class Handle, void (*Free)(Handle *)> using Owned = std::unique_ptr<Handle, Freer<Handle, Free>>;

/// Numbers that are computed one after another: the i-th is source[i].
template <class Source> class IndexIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::decay_t<decltype(std::declval<const Source &>()[0])>;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type *;
    using reference = value_type;

    IndexIterator() noexcept = default;
    IndexIterator(const Source *source, std::size_t i) noexcept : source_(source), i_(i) {}
    value_type operator*() const { return (*source_)[i_]; }
    IndexIterator &operator++() noexcept
    {
        i_++;
        return *this;
    }
    IndexIterator operator++(int) noexcept
    {
        IndexIterator old = *this;
        i_++;
        return old;
    }
    friend bool operator==(const IndexIterator &a, const IndexIterator &b) noexcept { return a.i_ == b.i_; }
    friend bool operator!=(const IndexIterator &a, const IndexIterator &b) noexcept { return a.i_ != b.i_; }

  private:
    const Source *source_ = nullptr;
    std::size_t i_ = 0;
};

} // namespace detail

// ---------------------------------------------------------------------------------------------------------------------
// CONTEXT: PROGRESS, THREADS, AND HOW THE LIBRARY IS CALLED

/// The progress of a call: see nczchunk.h.
using Progress = nczchunk_progress;

/// The threads and the progress callback of calls. Functions that can take long have a context as their last argument,
/// which may be left out. One context serves one call at a time.
class Context {
  public:
    Context()
    {
        nczchunk_context *context = nullptr;
        if (const int status = nczchunk_context_new(&context); status != 0)
            throw Error(status);
        context_.reset(context);
    }

    /// Sets the largest number of threads that a call may use, including the caller's: see
    /// nczchunk_context_set_threads. The callbacks of a store run in them only if the store's options set concurrent.
    Context &threads(std::size_t number)
    {
        if (const int status = nczchunk_context_set_threads(context_.get(), number); status != 0)
            throw Error(status, "the number of threads is 0, or the context was moved from");
        threads_ = number;
        return *this;
    }

    /// Sets whether threads stay between calls: see nczchunk_context_set_keeps_threads.
    Context &keeps_threads(bool keeps)
    {
        if (const int status = nczchunk_context_set_keeps_threads(context_.get(), keeps); status < 0)
            throw Error(status, "the context was moved from");
        return *this;
    }

    /// Sets whether reads use the cache of a store or array: see nczchunk_context_set_uses_cache.
    Context &uses_cache(bool uses)
    {
        if (const int status = nczchunk_context_set_uses_cache(context_.get(), uses); status < 0)
            throw Error(status, "the context was moved from");
        return *this;
    }

    /// Sets the progress callback: void or bool (const Progress &), in the calling thread. If it returns false, the
    /// call ends with an Error whose code is std::errc::operation_canceled.
    template <class Callable> Context &progress(Callable callable)
    {
        struct Owner final : Told {
            explicit Owner(Callable &&with) : tell(std::move(with)) {}
            bool operator()(const Progress &reached) override
            {
                if constexpr (std::is_same_v<std::invoke_result_t<Callable &, const Progress &>, bool>) {
                    return tell(reached);
                } else {
                    tell(reached);
                    return true;
                }
            }
            Callable tell;
        };
        set_progress(std::make_unique<Owner>(std::move(callable)));
        return *this;
    }

    /// Removes the progress callback.
    Context &no_progress()
    {
        set_progress(nullptr);
        return *this;
    }

    /// The number of chunks that the last call has read or written.
    std::size_t chunks_done() const noexcept { return nczchunk_context_chunks_done(context_.get()); }

    nczchunk_context *get() const noexcept { return context_.get(); }

  private:
    friend class ContextRef;

    struct Told {
        Told() = default;
        Told(const Told &) = delete;
        Told &operator=(const Told &) = delete;
        virtual ~Told() = default;
        virtual bool operator()(const Progress &reached) = 0;
    };

    void set_progress(std::unique_ptr<Told> told);

    std::unique_ptr<Told> told_;
    detail::Owned<nczchunk_context, nczchunk_context_free> context_;
    std::size_t threads_ = 1;
};

/// A context, or none. Functions take it as an argument: leave it out, or pass a Context.
class ContextRef {
  public:
    ContextRef() noexcept = default;
    ContextRef(const Context &context) noexcept : context_(context.get()), threads_(context.threads_) {}

    nczchunk_context *get() const noexcept { return context_; }
    std::size_t threads() const noexcept { return threads_; }

  private:
    nczchunk_context *context_ = nullptr;
    std::size_t threads_ = 1;
};

namespace detail {

/// A running call of the library, and the exceptions that its callbacks have thrown.
///
/// A callback that throws returns a ticket as its status: a unique number. The exception is kept by the innermost call
/// of its thread. In a thread that the library has spawned, it is kept by each call that may have spawned the thread.
/// When the call has returned, the exception whose ticket is its status is thrown again. If several were thrown in the
/// calling thread, it is the first of them.
class Call {
  public:
    explicit Call(ContextRef with) : context_(with.get()), threaded_(with.threads() > 1), outer_(innermost())
    {
        if (context_ == nullptr) {
            Spare &spare = this_threads_spare();
            if (!spare.gone && !spare.busy) {
                // Without memory for a context there is none, which is allowed.
                if (spare.context == nullptr)
                    spare.gone = nczchunk_context_new(&spare.context) != 0;
                spare.busy = borrowed_ = true;
                context_ = spare.context;
            } else if (nczchunk_context_new(&context_) == 0) {
                own_context_.reset(context_);
            }
        }
        if (threaded_) {
            const std::lock_guard<Registry> lock(registry());
            next_ = registry().first;
            registry().first = this;
        }
        innermost() = this;
    }

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    ~Call()
    {
        leave();
        if (borrowed_)
            this_threads_spare().busy = false;
    }

    nczchunk_context *context() const noexcept { return context_; }

    /// Throws the exception or Error for this status, after the library has returned it.
    void finish(int status)
    {
        leave();
        if (std::exception_ptr thrown = choose(status))
            std::rethrow_exception(std::move(thrown));
        if (status != 0)
            throw Error(status, context_);
    }

    /// Keeps the exception that a callback in this thread has thrown, and returns the callback's status.
    static int keep(std::exception_ptr thrown) noexcept
    {
        Call *const call = innermost();
        if (call == nullptr)
            return keep_of_other_thread(std::move(thrown));
        if (!call->first_) {
            call->first_ = std::move(thrown);
            call->first_ticket_ = new_ticket();
        }
        return call->first_ticket_;
    }

    /// The same for one that matters only if its ticket becomes the status of the call.
    static int keep_in_case(std::exception_ptr thrown) noexcept
    {
        Call *const call = innermost();
        if (call == nullptr)
            return keep_of_other_thread(std::move(thrown));
        const int ticket = new_ticket();
        std::unique_lock<Registry> lock(registry(), std::defer_lock);
        if (call->threaded_)
            lock.lock(); // other threads may add theirs
        return call->add({ticket, false, std::move(thrown)}) ? ticket : NCZCHUNK_ENOMEM;
    }

  private:
    struct Kept {
        int ticket;
        bool certain;
        std::exception_ptr thrown;
    };

    /// The running calls with several threads, and their lock. A forked child does not wait for the thread of its
    /// parent that holds the lock, and forgets the calls of others.
    struct Registry {
        Call *first = nullptr;

        void lock() noexcept
        {
            const long me = process();
            long holder = 0;
            // What another process holds is taken in the next turn.
            while (!holder_.compare_exchange_weak(holder, me, std::memory_order_acquire)) {
                if (holder == 0 || holder == me) {
                    holder = 0;
                    std::this_thread::yield();
                }
            }
            if (process_ != me) {
                if (process_ != 0)
                    forget_others();
                process_ = me;
            }
        }

        void unlock() noexcept { holder_.store(0, std::memory_order_release); }

      private:
        static long process() noexcept
        {
#ifdef _WIN32
            return 1; // no process is forked
#else
            return static_cast<long>(getpid());
#endif
        }

        /// Keeps the calls of this thread, of which the child may leave those in which it was forked. What threads of
        /// the parent were adding to them is left as it is.
        void forget_others() noexcept
        {
            Call **link = &first;
            for (Call *call = innermost(); call != nullptr; call = call->outer_) {
                if (!call->threaded_)
                    continue;
                new (&call->others_) std::vector<Kept>;
                *link = call;
                link = &call->next_;
            }
            *link = nullptr;
        }

        std::atomic<long> holder_{0}; // the process, or 0
        long process_ = 0;            // of the calls
    };

    /// The context that a thread keeps for calls without one.
    struct Spare {
        Spare() = default;
        Spare(const Spare &) = delete;
        Spare &operator=(const Spare &) = delete;
        ~Spare()
        {
            nczchunk_context_free(context);
            context = nullptr;
            gone = true;
        }
        nczchunk_context *context = nullptr;
        bool busy = false;
        bool gone = false;
    };

    static Call *&innermost() noexcept
    {
        static thread_local Call *call = nullptr;
        return call;
    }

    static Spare &this_threads_spare() noexcept
    {
        static thread_local Spare spare;
        return spare;
    }

    static Registry &registry() noexcept
    {
        static Registry registry;
        return registry;
    }

    /// Numbers that are neither netCDF's nor errno's.
    static int new_ticket() noexcept
    {
        static std::atomic<unsigned> last{0};
        return static_cast<int>(0x40000000U | (last.fetch_add(1, std::memory_order_relaxed) & 0x3fffffffU));
    }

    static int keep_of_other_thread(std::exception_ptr thrown) noexcept
    {
        const std::lock_guard<Registry> lock(registry());
        Call *const first = registry().first;
        if (first == nullptr)
            return status_of(thrown);
        const int ticket = new_ticket();
        for (Call *call = first; call != nullptr; call = call->next_)
            if (!call->add({ticket, first->next_ == nullptr, thrown}))
                return NCZCHUNK_ENOMEM;
        return ticket;
    }

    /// The status of an exception, if no running call of this header could throw it.
    static int status_of(const std::exception_ptr &thrown) noexcept
    {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::bad_alloc &) {
            return NCZCHUNK_ENOMEM;
        } catch (const std::system_error &error) {
            const int status = error.code().value();
            const bool is_status = error.code().category() == category() && status != 0;
            const bool is_errno = error.code().category() == std::generic_category() && status > 0;
            const bool is_absent = status == NCZCHUNK_EEMPTY || status == NCZCHUNK_ENOOBJECT;
            return (is_status && !is_absent) || is_errno ? status : NCZCHUNK_EINTERNAL;
        } catch (...) {
            return NCZCHUNK_EINTERNAL;
        }
    }

    bool add(Kept kept) noexcept
    {
        try {
            others_.push_back(std::move(kept));
            return true;
        } catch (...) {
            return false;
        }
    }

    std::exception_ptr choose(int status) const noexcept
    {
        if (first_ && first_ticket_ == status)
            return first_;
        for (const Kept &kept : others_)
            if (kept.ticket == status)
                return kept.thrown;
        if (first_)
            return first_;
        for (const Kept &kept : others_)
            if (kept.certain)
                return kept.thrown;
        return nullptr;
    }

    void leave() noexcept
    {
        if (left_)
            return;
        left_ = true;
        innermost() = outer_;
        if (!threaded_)
            return;
        const std::lock_guard<Registry> lock(registry());
        Call **link = &registry().first;
        while (*link != this)
            link = &(*link)->next_;
        *link = next_;
    }

    nczchunk_context *context_;
    Owned<nczchunk_context, nczchunk_context_free> own_context_;
    bool threaded_, borrowed_ = false, left_ = false;
    Call *outer_, *next_ = nullptr;
    std::exception_ptr first_;
    int first_ticket_ = 0;
    std::vector<Kept> others_; // of a threaded call: under the registry's lock
};

/// The body of a callback: what it returns, or a status if it throws.
template <class Body> int guarded(Body &&body) noexcept
{
    try {
        return body();
    } catch (...) {
        return Call::keep(std::current_exception());
    }
}

/// Destroys the callbacks' object. Classes derived from T have no destructors that throw, because that of T does not.
template <class T> void destroy(void *user) noexcept
{
    delete static_cast<T *>(user);
}

} // namespace detail

/// Calls a function of the C interface, as the classes here do: function takes a nczchunk_context * and returns a
/// status.
///
///     nczchunk::call([&](nczchunk_context *context) { return nczchunk_codec_zstd(&options, &codec, context); });
///
/// If a callback of a class here has thrown the exception that ended the call, throws that exception. Otherwise throws
/// an Error for a status other than 0. If several threads have thrown, it throws the exception at the first chunk in
/// order. A callback may also throw while a C function runs that was called in another way. Then the callback returns
/// the status of the exception: that of an Error, NCZCHUNK_ENOMEM for std::bad_alloc, NCZCHUNK_EINTERNAL for any other.
/// In a callback, call C functions in this way only: a call around the callback would throw what theirs throw.
template <class Function> void call(Function &&function, ContextRef context = {})
{
    detail::Call call(context);
    call.finish(function(call.context()));
}

namespace detail {

/// Makes an object with a function of the C interface: function(&handle, context). The object is freed, too, if a
/// callback has thrown and the library has gone on regardless.
template <class Handle, void (*Free)(Handle *), class Function>
Owned<Handle, Free> make(Function &&function, ContextRef with = {})
{
    Owned<Handle, Free> made;
    call(
        [&](nczchunk_context *context) {
            Handle *handle = nullptr;
            const int status = function(&handle, context);
            made.reset(handle);
            return status;
        },
        with);
    return made;
}

} // namespace detail

inline void Context::set_progress(std::unique_ptr<Told> told)
{
    const auto tell = [](void *user, const nczchunk_progress *reached) noexcept {
        return detail::guarded([&] {
            const bool go_on = (*static_cast<Told *>(user))(*reached);
            return go_on ? NCZCHUNK_NOERR : static_cast<int>(std::errc::operation_canceled);
        });
    };
    const int status = nczchunk_context_set_progress(context_.get(), told ? +tell : nullptr, told.get());
    if (status != 0)
        throw Error(status, "the context was moved from");
    told_ = std::move(told);
}

// ---------------------------------------------------------------------------------------------------------------------
// VARIABLE: WHAT IS STORED

namespace detail {

/// The bytes of the words that elements of a type consist of; 0 if the size of the element determines them.
template <class T> struct WordSize : std::integral_constant<std::size_t, 0> {};
template <class T> struct WordSize<std::complex<T>> : std::integral_constant<std::size_t, sizeof(T)> {};
template <class T, std::size_t N>
struct WordSize<std::array<T, N>>
    : std::integral_constant<std::size_t, WordSize<T>::value != 0 ? WordSize<T>::value : sizeof(T)> {};

inline std::string text(std::size_t number) { return std::to_string(number); }

/// Elements of T are read and written as bytes, so they must be trivially copyable.
template <class T> void check_element_size(std::size_t element_size)
{
    static_assert(std::is_trivially_copyable_v<T>, "elements have to be trivially copyable");
    if (element_size != sizeof(T))
        throw Error(Status::bad_type, "an element of the variable has " + text(element_size) + " bytes, one in memory "
                                          + text(sizeof(T)));
}

/// Where a chunk lies along a dimension, all in elements.
struct ChunkExtent {
    /// The first element of the dimension that it holds, and how many it holds.
    std::size_t start, length;
    /// How many it is stored with and decodes to.
    std::size_t encoded_length;
};

/// The properties of a variable, owned or not.
template <class Self> class VariableGetters {
  public:
    std::size_t rank() const noexcept { return nczchunk_var_rank(var()); }
    std::size_t dimlen(std::size_t dimension) const noexcept { return nczchunk_var_dimlen(var(), dimension); }
    std::size_t chunklen(std::size_t dimension) const noexcept { return nczchunk_var_chunklen(var(), dimension); }
    std::size_t write_chunklen(std::size_t dimension) const noexcept
    {
        return nczchunk_var_write_chunklen(var(), dimension);
    }
    std::ptrdiff_t origin(std::size_t dimension) const noexcept { return nczchunk_var_origin(var(), dimension); }
    std::size_t num_chunks(std::size_t dimension) const noexcept { return nczchunk_var_num_chunks(var(), dimension); }

    /// Whether the chunks along a dimension have one length.
    bool is_regular(std::size_t dimension) const noexcept { return nczchunk_var_is_regular(var(), dimension) != 0; }

    /// Where a chunk lies along a dimension.
    ChunkExtent chunk_extent(std::size_t dimension, std::ptrdiff_t chunk_index) const
    {
        ChunkExtent extent{};
        call([&](nczchunk_context *context) {
            return nczchunk_var_chunk_extent(var(), dimension, chunk_index, &extent.start, &extent.length,
                                             &extent.encoded_length, context);
        });
        return extent;
    }

    /// The current lengths of the dimensions, and the lengths of a chunk.
    Lengths shape() const { return lengths(nczchunk_var_dimlen); }
    Lengths chunk_shape() const { return lengths(nczchunk_var_chunklen); }

    std::size_t element_size() const noexcept { return nczchunk_var_element_size(var()); }
    std::size_t word_size() const noexcept { return nczchunk_var_word_size(var()); }
    Endian endian() const noexcept { return static_cast<Endian>(nczchunk_var_endian(var())); }
    std::size_t chunk_bytes() const noexcept { return nczchunk_var_chunk_bytes(var()); }

    /// The fill value, as which missing chunks read; nothing if none is set, which stands for zeros. Throws
    /// Status::bad_type if a T has another size than an element.
    template <class T> std::optional<T> fill_value() const
    {
        check_element_size<T>(element_size());
        const void *bytes = nczchunk_var_fill_value(var());
        if (bytes == nullptr)
            return std::nullopt;
        T value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }

  private:
    const nczchunk_var *var() const noexcept { return static_cast<const Self *>(this)->get(); }

    template <class Get> Lengths lengths(Get get) const
    {
        Lengths all(rank());
        for (std::size_t d = 0; d < all.size(); d++)
            all[d] = get(var(), d);
        return all;
    }
};

struct Copying {
    Copying() = default;
    Copying(const Copying &) = delete;
    Copying &operator=(const Copying &) = delete;
    virtual ~Copying() = default;
    virtual void copy(bool writing, std::size_t count, const void *source, void *destination) = 0;
};

} // namespace detail

/// A variable: how an array is divided into chunks and what its elements are. See nczchunk_var.
class Variable : public detail::VariableGetters<Variable> {
  public:
    /// shape and chunk_shape are the lengths of the array and of a chunk, in elements; element_size is the size of an
    /// element in bytes. Throws the errors of nczchunk_var_new, and Status::invalid if shape and chunk_shape have
    /// different ranks.
    Variable(const Lengths &shape, const Lengths &chunk_shape, std::size_t element_size)
    {
        if (shape.size() != chunk_shape.size())
            throw Error(Status::invalid, "the array has " + detail::text(shape.size()) + " dimensions, its chunks have "
                                             + detail::text(chunk_shape.size()));
        var_ = detail::make<nczchunk_var, nczchunk_var_free>([&](nczchunk_var **var, nczchunk_context *context) {
            return nczchunk_var_new(shape.size(), shape.data(), chunk_shape.data(), element_size, var, context);
        });
    }

    /// A variable whose elements are T: a number, a std::complex, a std::array of small things, or any trivially
    /// copyable type.
    template <class T> static Variable of(const Lengths &shape, const Lengths &chunk_shape)
    {
        static_assert(std::is_trivially_copyable_v<T>, "elements have to be trivially copyable");
        Variable variable(shape, chunk_shape, sizeof(T));
        if constexpr (detail::WordSize<T>::value > 0 && detail::WordSize<T>::value <= 8)
            variable.set_word_size(detail::WordSize<T>::value);
        return variable;
    }

    /// Sets the fill value, as which missing chunks read. Throws Status::bad_type if a T has another size than an
    /// element.
    template <class T> void set_fill_value(const T &value)
    {
        if (var_)
            detail::check_element_size<T>(element_size());
        call([&](nczchunk_context *context) { return nczchunk_var_set_fill_value(var_.get(), &value, context); });
    }

    void set_endian(Endian endian)
    {
        const int value = static_cast<int>(endian);
        call([&](nczchunk_context *context) { return nczchunk_var_set_endian(var_.get(), value, context); });
    }

    void set_word_size(std::size_t size)
    {
        call([&](nczchunk_context *context) { return nczchunk_var_set_word_size(var_.get(), size, context); });
    }

    /// Sets the order in which a chunk's elements are stored: its dimensions, the slowest first.
    void set_chunk_order(const Lengths &order)
    {
        check_rank(order.size());
        call([&](nczchunk_context *context) {
            return nczchunk_var_set_chunk_order(var_.get(), order.data(), context);
        });
    }

    /// Sets the coarser grid for writing the variable: the lengths of a shard.
    void set_write_grid(const Lengths &write_chunk_shape)
    {
        check_rank(write_chunk_shape.size());
        call([&](nczchunk_context *context) {
            return nczchunk_var_set_write_grid(var_.get(), write_chunk_shape.data(), context);
        });
    }

    /// Sets the lengths of the chunks along a dimension, where they differ; and, if they are more, the lengths that
    /// they decode to. No lengths stand for chunks of one length.
    void set_chunk_lengths(std::size_t dimension, const Lengths &lengths, const Lengths &encoded_lengths = {})
    {
        if (!encoded_lengths.empty() && encoded_lengths.size() != lengths.size())
            throw Error(Status::invalid, "there is not one encoded length per chunk");
        const std::size_t *const encoded = encoded_lengths.empty() ? nullptr : encoded_lengths.data();
        const std::size_t *const given = lengths.empty() ? nullptr : lengths.data();
        call([&](nczchunk_context *context) {
            return nczchunk_var_set_chunk_lengths(var_.get(), dimension, lengths.size(), given, encoded, context);
        });
    }

    void set_dimlen(std::size_t dimension, std::size_t dimlen)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_var_set_dimlen(var_.get(), dimension, dimlen, context);
        });
    }

    void set_origin(std::size_t dimension, std::ptrdiff_t origin)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_var_set_origin(var_.get(), dimension, origin, context);
        });
    }

    /// Sets a function that copies elements which own more than their bytes: void (bool writing, std::size_t count,
    /// const void *source, void *destination). See nczchunk_var_set_copier. Plans of the variable keep the callable
    /// alive.
    template <class Callable> void set_copier(Callable callable)
    {
        struct Owner final : detail::Copying {
            explicit Owner(Callable &&with) : function(std::move(with)) {}
            void copy(bool writing, std::size_t count, const void *source, void *destination) override
            {
                function(writing, count, source, destination);
            }
            Callable function;
        };
        const auto copy = [](void *user, int writing, std::size_t count, const void *from, void *to) noexcept {
            return detail::guarded([&] {
                static_cast<detail::Copying *>(user)->copy(writing != 0, count, from, to);
                return NCZCHUNK_NOERR;
            });
        };
        std::shared_ptr<detail::Copying> copier = std::make_shared<Owner>(std::move(callable));
        call([&](nczchunk_context *context) {
            return nczchunk_var_set_copier(var_.get(), +copy, copier.get(), context);
        });
        copier_ = std::move(copier);
    }

    nczchunk_var *get() const noexcept { return var_.get(); }

  private:
    friend class VariableRef;

    void check_rank(std::size_t given) const
    {
        if (var_ && given != rank())
            throw Error(Status::invalid, "the variable has " + detail::text(rank()) + " dimensions, not "
                                             + detail::text(given));
    }

    std::shared_ptr<detail::Copying> copier_;
    detail::Owned<nczchunk_var, nczchunk_var_free> var_;
};

/// A borrowed variable, such as that of an Array. Functions take it as an argument; a Variable converts to it
/// implicitly. It is valid as long as the variable.
class VariableRef : public detail::VariableGetters<VariableRef> {
  public:
    explicit VariableRef(const nczchunk_var *variable) noexcept : var_(variable) {}
    VariableRef(const Variable &variable) noexcept : var_(variable.get()), copier_(variable.copier_) {}

    const nczchunk_var *get() const noexcept { return var_; }

  private:
    friend class Plan;
    const nczchunk_var *var_;
    std::shared_ptr<detail::Copying> copier_;
};

// ---------------------------------------------------------------------------------------------------------------------
// CODECS AND CACHES

/// The input and output of a codec for one encoding or decoding. It and its memory are valid until the callback
/// returns.
class Coding {
  public:
    explicit Coding(nczchunk_coding *coding) noexcept : coding_(coding) {}

    /// The bytes to encode or decode.
    Span<const std::byte> source() const noexcept
    {
        return {static_cast<const std::byte *>(coding_->source), coding_->source_size};
    }

    /// The memory for the result: for decoding, as many bytes as are expected. It need not be aligned.
    Span<std::byte> destination() const noexcept
    {
        return {static_cast<std::byte *>(coding_->destination), coding_->capacity};
    }

    /// For decoding: the needed part of the result. The codec may leave out the bytes after it, but not those before
    /// it.
    std::size_t needed_offset() const noexcept { return coding_->needed_offset; }
    std::size_t needed_size() const noexcept { return coding_->needed_size; }

    /// Sets the number of bytes of the result, from the first on. A number larger than the destination is an error.
    void set_length(std::size_t nbytes) const noexcept { coding_->nbytes = nbytes; }

    /// Copies the result, as far as there is room, and sets its length.
    template <class Container> void put(const Container &result) const noexcept
    {
        const Span<const std::byte> bytes = as_bytes(result);
        if (const std::size_t size = (std::min)(bytes.size(), coding_->capacity); size > 0)
            std::memcpy(coding_->destination, bytes.data(), size);
        coding_->nbytes = bytes.size();
    }

    nczchunk_coding *get() const noexcept { return coding_; }

  private:
    nczchunk_coding *coding_;
};

/// A base class for a codec of your own. Override decode. Without encode, stores with this codec are read-only.
/// Overridden functions must be public and not overloaded.
class Coder {
  public:
    Coder(const Coder &) = delete;
    Coder &operator=(const Coder &) = delete;
    virtual ~Coder() = default;

    virtual void decode(Coding coding) = 0;
    virtual void encode(Coding) { throw Error(Status::filter); }

    /// The most bytes that decoded_size bytes take if they are encoded in one go. By default decoded_size.
    virtual std::size_t encoded_bound(std::size_t decoded_size) { return decoded_size; }

  protected:
    Coder() = default;
};

/// Options for the use of a codec.
struct CodecOptions {
    /// Whether the callbacks may run in several threads at the same time.
    bool concurrent = false;
};

/// A codec, to be handed over to a store.
class Codec {
  public:
    /// zstd with a level; checksum sets whether a checksum follows the data.
    static Codec zstd(int level = 0, bool checksum = true)
    {
        nczchunk_zstd_options options = NCZCHUNK_ZSTD_OPTIONS_INIT;
        options.level = level;
        options.no_checksum = checksum ? 0 : 1;
        return Codec(detail::make<nczchunk_codec, nczchunk_codec_free>(
            [&](nczchunk_codec **codec, nczchunk_context *context) {
                return nczchunk_codec_zstd(&options, codec, context);
            }));
    }

    /// A codec of your own. name is for messages.
    template <class T, class = std::enable_if_t<std::is_base_of_v<Coder, T>>>
    static Codec own(const std::string &name, std::unique_ptr<T> coder, CodecOptions options = {})
    {
        static_assert(!std::is_same_v<T, Coder>, "pass the derived class, whose functions are looked at");
        constexpr bool encodes = !std::is_same_v<decltype(&T::encode), void (Coder::*)(Coding)>;
        constexpr bool bounds = !std::is_same_v<decltype(&T::encoded_bound), std::size_t (Coder::*)(std::size_t)>;
        nczchunk_codec_callbacks callbacks = NCZCHUNK_CODEC_CALLBACKS_INIT;
        callbacks.user = static_cast<Coder *>(coder.get());
        callbacks.decode = coder ? decode : nullptr;
        callbacks.encode = encodes ? encode : nullptr;
        callbacks.encoded_bound = bounds ? encoded_bound : nullptr;
        callbacks.destroy = detail::destroy<Coder>;
        callbacks.concurrent = options.concurrent ? 1 : 0;
        Codec made(detail::make<nczchunk_codec, nczchunk_codec_free>(
            [&](nczchunk_codec **codec, nczchunk_context *context) {
                return nczchunk_codec_new(name.c_str(), &callbacks, codec, context);
            }));
        static_cast<void>(coder.release()); // it is the codec's now
        return made;
    }

    /// A codec of two callables, void (Coding), whose results are no longer than their input.
    template <class Decode, class Encode, class = std::enable_if_t<std::is_invocable_v<Decode &, Coding>>>
    static Codec own(const std::string &name, Decode decoding, Encode encoding, CodecOptions options = {})
    {
        struct Callables final : Coder {
            Callables(Decode &&one, Encode &&other) : decoding(std::move(one)), encoding(std::move(other)) {}
            void decode(Coding coding) override { decoding(coding); }
            void encode(Coding coding) override { encoding(coding); }
            Decode decoding;
            Encode encoding;
        };
        return own(name, std::make_unique<Callables>(std::move(decoding), std::move(encoding)), options);
    }

    nczchunk_codec *get() const noexcept { return codec_.get(); }

    /// Releases the C object to the caller, who must free it or hand it over.
    nczchunk_codec *release() noexcept { return codec_.release(); }

  private:
    using Owned = detail::Owned<nczchunk_codec, nczchunk_codec_free>;

    explicit Codec(Owned codec) noexcept : codec_(std::move(codec)) {}

    static int decode(void *user, nczchunk_coding *coding) noexcept
    {
        return detail::guarded([&] {
            static_cast<Coder *>(user)->decode(Coding(coding));
            return NCZCHUNK_NOERR;
        });
    }

    static int encode(void *user, nczchunk_coding *coding) noexcept
    {
        return detail::guarded([&] {
            static_cast<Coder *>(user)->encode(Coding(coding));
            return NCZCHUNK_NOERR;
        });
    }

    static std::size_t encoded_bound(void *user, std::size_t decoded_size) noexcept
    {
        std::size_t bound = decoded_size;
        // The result cannot be a status: the exception is thrown when the call is over.
        static_cast<void>(detail::guarded([&] {
            bound = static_cast<Coder *>(user)->encoded_bound(decoded_size);
            return NCZCHUNK_NOERR;
        }));
        return bound;
    }

    Owned codec_;
};

/// Whether the library was built with the codec of this name: see nczchunk_has_codec.
inline bool has_codec(const std::string &name) noexcept
{
    return nczchunk_has_codec(name.c_str()) != 0;
}

/// The statistics of a cache: its requests and its contents. See nczchunk.h.
using CacheStatistics = nczchunk_cache_statistics;

/// A cache of decoded chunks, for one store or array or for several. They can still use it when it is destroyed.
class Cache {
  public:
    /// A cache that keeps up to limit bytes.
    explicit Cache(std::size_t limit)
    {
        cache_ = detail::make<nczchunk_cache, nczchunk_cache_free>(
            [&](nczchunk_cache **cache, nczchunk_context *context) {
                return nczchunk_cache_new(limit, cache, context);
            });
    }

    CacheStatistics statistics() const
    {
        CacheStatistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;
        call([&](nczchunk_context *context) {
            return nczchunk_cache_get_statistics(cache_.get(), &statistics, context);
        });
        return statistics;
    }

    nczchunk_cache *get() const noexcept { return cache_.get(); }

  private:
    detail::Owned<nczchunk_cache, nczchunk_cache_free> cache_;
};

// ---------------------------------------------------------------------------------------------------------------------
// STORES OF YOUR OWN

/// A request to fetch or store one chunk. It refers to memory of the library's. It is valid until the callback returns
/// or, for a request that was started, until wait returns it. Copies refer to the same request.
class Request {
  public:
    explicit Request(nczchunk_request *request) noexcept : request_(request) {}

    /// The chunk's indices.
    Span<const std::ptrdiff_t> indices() const noexcept { return {request_->chunk_indices, request_->rank}; }
    std::ptrdiff_t index(std::size_t dimension) const noexcept { return request_->chunk_indices[dimension]; }

    /// Whether the chunk is fetched to be changed, or stored.
    bool writing() const noexcept { return request_->access == NCZCHUNK_WRITE; }

    /// The size of the whole decoded chunk in bytes.
    std::size_t chunk_bytes() const noexcept { return request_->chunk_bytes; }

    /// The first byte of the stored chunk that is requested; 0 unless the store serves ranges.
    std::size_t offset() const noexcept { return request_->offset; }

    /// For fetching: the memory to fill.
    Span<std::byte> buffer() const noexcept { return {static_cast<std::byte *>(request_->buffer), request_->size}; }

    /// The same memory as elements. Throws Status::invalid if the memory is not aligned for them, or is not a whole
    /// number of them.
    template <class T> Span<T> elements() const
    {
        static_assert(std::is_trivially_copyable_v<T>, "elements have to be trivially copyable");
        if (request_->size % sizeof(T) != 0 || reinterpret_cast<std::uintptr_t>(request_->buffer) % alignof(T) != 0)
            throw Error(Status::invalid, "the buffer is not aligned for these elements, or not a whole number of them");
        return {static_cast<T *>(request_->buffer), request_->size / sizeof(T)};
    }

    /// For storing: the bytes to store.
    Span<const std::byte> bytes() const noexcept
    {
        return {static_cast<const std::byte *>(request_->buffer), request_->size};
    }

    /// Answers with a whole stored chunk: copies the requested part of it. Takes any contiguous container.
    template <class Container> void put(const Container &stored) const noexcept
    {
        const Span<const std::byte> all = as_bytes(stored);
        const std::size_t rest = all.size() - (std::min)(request_->offset, all.size());
        if (const std::size_t size = (std::min)(rest, request_->size); size > 0)
            std::memcpy(request_->buffer, all.data() + request_->offset, size);
        request_->nbytes = rest;
    }

    /// Answers that the buffer is filled: the stored chunk has nbytes bytes from offset on, which may be more than
    /// there is room for.
    void set_length(std::size_t nbytes) const noexcept { request_->nbytes = nbytes; }

    /// Answers that the chunk is missing: it reads as the fill value.
    void set_absent() const noexcept { request_->status = NCZCHUNK_EEMPTY; }

    nczchunk_request *get() const noexcept { return request_; }

    friend bool operator==(Request a, Request b) noexcept { return a.request_ == b.request_; }
    friend bool operator!=(Request a, Request b) noexcept { return a.request_ != b.request_; }

  private:
    nczchunk_request *request_;
};

namespace detail {

template <class Which> struct EndedOf {
    EndedOf(Which which, std::exception_ptr why = nullptr) noexcept : request(which), failure(std::move(why)) {}

    Which request;
    /// The cause of the failure; NULL if it did not fail.
    std::exception_ptr failure;
};

} // namespace detail

/// A request that has ended, and the cause if it has failed: see ChunkReader::wait. A Request converts to it
/// implicitly.
using Ended = detail::EndedOf<Request>;

/// A base class for a store that reads chunks into a buffer. The overridden functions determine what the store can do.
/// Override fill, or start and wait. Overridden functions must be public and not overloaded. nczchunk_reader_callbacks
/// describes each of them.
class ChunkReader {
  public:
    ChunkReader(const ChunkReader &) = delete;
    ChunkReader &operator=(const ChunkReader &) = delete;
    virtual ~ChunkReader() = default;

    /// Fetches a chunk: answers the request with put, set_length or set_absent.
    virtual void fill(Request) { throw Error(Status::not_built); }

    /// Stores a chunk: the request's bytes.
    virtual void store(Request) { throw Error(Status::read_only); }

    /// Starts to fetch a chunk and returns. true: wait will return the request. false: the chunk is known to be
    /// missing.
    virtual bool start(Request) { throw Error(Status::not_built); }

    /// Waits until a request that this thread has started has ended, and returns it, answered. If a single request has
    /// failed, returns it with the cause. If wait throws, no request is in flight any more, and no buffer is touched.
    virtual Ended wait() { throw Error(Status::not_built); }

    /// Called when a request is no longer needed. wait still returns it.
    virtual void cancel(Request) {}

  protected:
    ChunkReader() = default;
};

/// A borrowed chunk. It is valid until the callback returns.
class Loan {
  public:
    explicit Loan(nczchunk_borrowed_chunk *loan) noexcept : loan_(loan) {}
    Loan(const Loan &) = delete;
    Loan &operator=(const Loan &) = delete;

    Span<const std::ptrdiff_t> indices() const noexcept { return {loan_->chunk_indices, loan_->rank}; }
    std::ptrdiff_t index(std::size_t dimension) const noexcept { return loan_->chunk_indices[dimension]; }

    /// Whether the chunk is borrowed to be changed.
    bool writing() const noexcept { return loan_->access == NCZCHUNK_WRITE; }

    /// Whether every element of the chunk inside the dimensions will be replaced.
    bool covered() const noexcept { return loan_->covered != 0; }

    std::size_t chunk_bytes() const noexcept { return loan_->chunk_bytes; }

    /// Lends the memory of a contiguous container, which must stay until the chunk is released. keep is kept until
    /// then, so a std::shared_ptr to the chunk keeps the chunk alive. ZeroCopyReader::release gets it as kept().
    template <class Container> void lend(Container &chunk, std::shared_ptr<void> keep = nullptr)
    {
        const Span<const std::byte> bytes = as_bytes(chunk);
        if (writing() && std::is_const_v<detail::ValueOf<Container>>)
            throw Error(Status::invalid, "a chunk that is lent to be changed must not be const");
        // Only a chunk that is borrowed to be changed is written to.
        loan_->data = const_cast<std::byte *>(bytes.data());
        loan_->nbytes = bytes.size();
        kept_ = std::move(keep);
    }

    /// Answers that the chunk is missing. For reading, a chunk that was lent before holds fill values, which are used
    /// instead of the variable's. For writing, a chunk that was lent before is a new chunk.
    void set_absent() noexcept { absent_ = true; }

    /// The keep argument of lend.
    const std::shared_ptr<void> &kept() const noexcept { return kept_; }

    nczchunk_borrowed_chunk *get() const noexcept { return loan_; }

  private:
    friend class ChunkStore;
    nczchunk_borrowed_chunk *loan_;
    std::shared_ptr<void> kept_;
    bool absent_ = false;
};

/// A base class for a store that lends chunks. Override lend. Without lend_to_write, the store is read-only. Overridden
/// functions must be public and not overloaded.
class ZeroCopyReader {
  public:
    ZeroCopyReader(const ZeroCopyReader &) = delete;
    ZeroCopyReader &operator=(const ZeroCopyReader &) = delete;
    virtual ~ZeroCopyReader() = default;

    virtual void lend(Loan &loan) = 0;
    virtual void lend_to_write(Loan &) { throw Error(Status::read_only); }

    /// Takes a chunk back; status is 0 after success: see nczchunk_zero_copy_callbacks.
    virtual void release(Loan &, int /* status */) {}

  protected:
    ZeroCopyReader() = default;
};

/// Options for the use of a store: see nczchunk_reader_callbacks. false or 0 stands for the default of the C interface.
struct StoreOptions {
    /// Whether the callbacks may run in several threads at the same time.
    bool concurrent = false;
    /// Whether a chunk may be longer than a full one.
    bool accept_longer = false;
    /// Whether fill serves ranges, and how many bytes between two parts are fetched with them. Not for stores that lend
    /// chunks.
    bool ranges = false;
    std::size_t gap = 0;
    /// With start: the largest number of requests in flight at the same time.
    std::size_t in_flight = 0;
};

/// The source and destination of chunks. It owns its callbacks and its codecs.
class ChunkStore {
  public:
    /// A store whose chunks a ChunkReader fills in.
    template <class T, class = std::enable_if_t<std::is_base_of_v<ChunkReader, T>>>
    static ChunkStore reading(std::unique_ptr<T> filler, StoreOptions options = {})
    {
        static_assert(!std::is_same_v<T, ChunkReader>, "pass the derived class, whose functions are looked at");
        constexpr bool fills = !std::is_same_v<decltype(&T::fill), void (ChunkReader::*)(Request)>;
        constexpr bool stores = !std::is_same_v<decltype(&T::store), void (ChunkReader::*)(Request)>;
        constexpr bool starts = !std::is_same_v<decltype(&T::start), bool (ChunkReader::*)(Request)>;
        constexpr bool waits = !std::is_same_v<decltype(&T::wait), Ended (ChunkReader::*)()>;
        static_assert(fills || starts, "override fill, or start and wait");
        static_assert(starts == waits, "override both start and wait, or none of them");
        nczchunk_reader_callbacks callbacks = NCZCHUNK_READER_CALLBACKS_INIT;
        callbacks.user = static_cast<ChunkReader *>(filler.get());
        callbacks.fill = fills ? fill : nullptr;
        callbacks.store = stores ? store : nullptr;
        callbacks.start = starts ? start : nullptr;
        callbacks.wait = waits ? wait : nullptr;
        callbacks.cancel = starts ? cancel : nullptr;
        callbacks.destroy = detail::destroy<ChunkReader>;
        callbacks.concurrent = options.concurrent ? 1 : 0;
        callbacks.accept_longer = options.accept_longer ? 1 : 0;
        callbacks.ranges = options.ranges ? 1 : 0;
        callbacks.gap = options.gap;
        callbacks.in_flight = options.in_flight;
        if (!filler)
            throw Error(Status::invalid, "the ChunkReader is null");
        ChunkStore made(detail::make<nczchunk_chunk_store, nczchunk_chunk_store_free>(
            [&](nczchunk_chunk_store **store, nczchunk_context *context) {
                return nczchunk_chunk_store_new(&callbacks, store, context);
            }));
        static_cast<void>(filler.release()); // it is the store's now
        return made;
    }

    /// A store whose chunks a callable fills in: void (Request). The store is read-only.
    template <class Fill, class = std::enable_if_t<std::is_invocable_v<Fill &, Request>>>
    static ChunkStore reading(Fill fills, StoreOptions options = {})
    {
        struct Callable final : ChunkReader {
            explicit Callable(Fill &&with) : fills(std::move(with)) {}
            void fill(Request request) override { fills(request); }
            Fill fills;
        };
        return reading(std::make_unique<Callable>(std::move(fills)), options);
    }

    /// A store whose chunks one callable fills in and another stores: void (Request).
    template <class Fill,
              class Write,
              class = std::enable_if_t<std::is_invocable_v<Fill &, Request> && std::is_invocable_v<Write &, Request>>>
    static ChunkStore reading(Fill fills, Write writes, StoreOptions options = {})
    {
        struct Callables final : ChunkReader {
            Callables(Fill &&one, Write &&other) : fills(std::move(one)), writes(std::move(other)) {}
            void fill(Request request) override { fills(request); }
            void store(Request request) override { writes(request); }
            Fill fills;
            Write writes;
        };
        return reading(std::make_unique<Callables>(std::move(fills), std::move(writes)), options);
    }

    /// A store whose chunks a ZeroCopyReader lends.
    template <class T, class = std::enable_if_t<std::is_base_of_v<ZeroCopyReader, T>>>
    static ChunkStore zero_copy(std::unique_ptr<T> lender, StoreOptions options = {})
    {
        static_assert(!std::is_same_v<T, ZeroCopyReader>, "pass the derived class, whose functions are looked at");
        constexpr bool writes = !std::is_same_v<decltype(&T::lend_to_write), void (ZeroCopyReader::*)(Loan &)>;
        nczchunk_zero_copy_callbacks callbacks = NCZCHUNK_ZERO_COPY_CALLBACKS_INIT;
        callbacks.user = static_cast<ZeroCopyReader *>(lender.get());
        callbacks.lend = lend;
        callbacks.lend_to_write = writes ? lend_to_write : nullptr;
        callbacks.release = release;
        callbacks.destroy = detail::destroy<ZeroCopyReader>;
        callbacks.concurrent = options.concurrent ? 1 : 0;
        callbacks.accept_longer = options.accept_longer ? 1 : 0;
        if (!lender)
            throw Error(Status::invalid, "the ZeroCopyReader is null");
        ChunkStore made(detail::make<nczchunk_chunk_store, nczchunk_chunk_store_free>(
            [&](nczchunk_chunk_store **store, nczchunk_context *context) {
                return nczchunk_chunk_store_new_zero_copy(&callbacks, store, context);
            }));
        static_cast<void>(lender.release()); // it is the store's now
        return made;
    }

    /// A store whose chunks a callable lends: void (Loan &). The store is read-only.
    template <class Lend, class = std::enable_if_t<std::is_invocable_v<Lend &, Loan &>>>
    static ChunkStore zero_copy(Lend lends, StoreOptions options = {})
    {
        struct Callable final : ZeroCopyReader {
            explicit Callable(Lend &&with) : lends(std::move(with)) {}
            void lend(Loan &loan) override { lends(loan); }
            Lend lends;
        };
        return zero_copy(std::make_unique<Callable>(std::move(lends)), options);
    }

    /// A store with one callable that lends chunks to be read and another that lends chunks to be changed: void (Loan
    /// &).
    template <class Lend,
              class Write,
              class = std::enable_if_t<std::is_invocable_v<Lend &, Loan &> && std::is_invocable_v<Write &, Loan &>>>
    static ChunkStore zero_copy(Lend lends, Write writes, StoreOptions options = {})
    {
        struct Callables final : ZeroCopyReader {
            Callables(Lend &&one, Write &&other) : lends(std::move(one)), writes(std::move(other)) {}
            void lend(Loan &loan) override { lends(loan); }
            void lend_to_write(Loan &loan) override { writes(loan); }
            Lend lends;
            Write writes;
        };
        return zero_copy(std::make_unique<Callables>(std::move(lends), std::move(writes)), options);
    }

    /// Adds a codec to the end of the chain, in the order of encoding. If it throws, the codec stays the caller's.
    void add_codec(Codec &&codec)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_chunk_store_add_codec(store_.get(), codec.get(), context);
        });
        static_cast<void>(codec.release());
    }

    /// Sets or removes the cache for decoded chunks. The store can still use a cache that is destroyed.
    void set_cache(const Cache &cache) { set_cache(cache.get()); }
    void set_no_cache() { set_cache(nullptr); }

    /// Sets whether every chunk is decoded completely.
    void set_verify(bool verify)
    {
        call([&](nczchunk_context *context) { return nczchunk_chunk_store_set_verify(store_.get(), verify, context); });
    }

    nczchunk_chunk_store *get() const noexcept { return store_.get(); }

  private:
    using Owned = detail::Owned<nczchunk_chunk_store, nczchunk_chunk_store_free>;

    explicit ChunkStore(Owned store) noexcept : store_(std::move(store)) {}

    void set_cache(const nczchunk_cache *cache)
    {
        call([&](nczchunk_context *context) { return nczchunk_chunk_store_set_cache(store_.get(), cache, context); });
    }

    static int fill(void *user, nczchunk_request *request) noexcept
    {
        return detail::guarded([&] {
            static_cast<ChunkReader *>(user)->fill(Request(request));
            return static_cast<int>(request->status); // set_absent has set it
        });
    }

    static int store(void *user, nczchunk_request *request) noexcept
    {
        return detail::guarded([&] {
            static_cast<ChunkReader *>(user)->store(Request(request));
            return NCZCHUNK_NOERR;
        });
    }

    static int start(void *user, nczchunk_request *request) noexcept
    {
        return detail::guarded([&] {
            return static_cast<ChunkReader *>(user)->start(Request(request)) ? NCZCHUNK_NOERR : NCZCHUNK_EEMPTY;
        });
    }

    static int wait(void *user, nczchunk_request **done) noexcept
    {
        return detail::guarded([&] {
            const Ended ended = static_cast<ChunkReader *>(user)->wait();
            if (ended.failure)
                ended.request.get()->status = detail::Call::keep_in_case(ended.failure);
            *done = ended.request.get();
            return NCZCHUNK_NOERR;
        });
    }

    static void cancel(void *user, nczchunk_request *request) noexcept
    {
        static_cast<void>(detail::guarded([&] {
            static_cast<ChunkReader *>(user)->cancel(Request(request));
            return NCZCHUNK_NOERR;
        }));
    }

    static int lend(void *user, nczchunk_borrowed_chunk *loan) noexcept
    {
        return lent<&ZeroCopyReader::lend>(user, loan);
    }
    static int lend_to_write(void *user, nczchunk_borrowed_chunk *loan) noexcept
    {
        return lent<&ZeroCopyReader::lend_to_write>(user, loan);
    }

    template <void (ZeroCopyReader::*Lend)(Loan &)> static int lent(void *user, nczchunk_borrowed_chunk *loan) noexcept
    {
        return detail::guarded([&] {
            Loan told(loan);
            (static_cast<ZeroCopyReader *>(user)->*Lend)(told);
            // Without data, or after an exception, it is not released.
            if (told.kept_ && loan->data != nullptr)
                loan->handle = new std::shared_ptr<void>(std::move(told.kept_));
            return told.absent_ ? NCZCHUNK_EEMPTY : NCZCHUNK_NOERR;
        });
    }

    static int release(void *user, nczchunk_borrowed_chunk *loan, int status) noexcept
    {
        return detail::guarded([&] {
            const std::unique_ptr<std::shared_ptr<void>> kept(static_cast<std::shared_ptr<void> *>(loan->handle));
            Loan told(loan);
            if (kept)
                told.kept_ = std::move(*kept);
            static_cast<ZeroCopyReader *>(user)->release(told, status);
            return NCZCHUNK_NOERR;
        });
    }

    Owned store_;
};

/// A borrowed store, such as that of an Array. Functions take it as an argument; a ChunkStore converts to it
/// implicitly.
class StoreRef {
  public:
    explicit StoreRef(const nczchunk_chunk_store *store) noexcept : store_(store) {}
    StoreRef(const ChunkStore &store) noexcept : store_(store.get()) {}

    const nczchunk_chunk_store *get() const noexcept { return store_; }

  private:
    const nczchunk_chunk_store *store_;
};

// ---------------------------------------------------------------------------------------------------------------------
// READING AND WRITING

namespace detail {

/// A hyperslab of a variable as the C functions take it, and the number of elements that it selects.
class Selection {
  public:
    Selection(VariableRef variable, const Hyperslab &hyperslab) : start_(hyperslab.start), stride_(hyperslab.stride)
    {
        if (variable.get() == nullptr) {
            is_refused_ = true;
            return;
        }
        const std::size_t rank = variable.rank();
        check(start_.size(), rank, "start");
        check(hyperslab.count.size(), rank, "count");
        check(stride_.size(), rank, "stride");
        if (start_.empty())
            start_ = Lengths(rank, 0);
        count_ = hyperslab.count.empty() ? variable.shape() : hyperslab.count;
        for (std::size_t d = 0; d < rank; d++) {
            const std::size_t count = count_[d];
            is_refused_ = is_refused_ || count > variable.dimlen(d);
            if (count != 0 && elements_ > (std::numeric_limits<std::size_t>::max)() / count)
                elements_ = (std::numeric_limits<std::size_t>::max)();
            else
                elements_ *= count;
        }
    }

    const std::size_t *start() const noexcept { return start_.data(); }
    const std::size_t *count() const noexcept { return count_.data(); }
    const std::ptrdiff_t *stride() const noexcept { return stride_.empty() ? nullptr : stride_.data(); }

    /// The number of elements; 0 if there are more than the variable has, which the library refuses.
    std::size_t elements() const noexcept { return is_refused_ ? 0 : elements_; }

    /// Checks that memory has as many elements as are selected. Hyperslabs that the library refuses are left to it,
    /// because it has the message.
    void check_memory(std::size_t given) const
    {
        if (!is_refused_ && given != elements_)
            throw Error(Status::invalid, text(elements_) + " elements are selected, and the memory has " + text(given));
    }

    /// The memory for the library: none if the hyperslab will be refused.
    template <class T> T *memory(T *data) const noexcept { return is_refused_ ? nullptr : data; }

  private:
    static void check(std::size_t given, std::size_t rank, const char *what)
    {
        if (given != 0 && given != rank)
            throw Error(Status::invalid, std::string(what) + " has " + text(given) + " numbers for " + text(rank)
                                             + " dimensions");
    }

    Lengths start_, count_;
    Steps stride_;
    std::size_t elements_ = 1;
    bool is_refused_ = false;
};

/// A layout as the C functions take it, in bytes.
class LayoutInBytes {
  public:
    LayoutInBytes(const Layout &layout, std::size_t rank, std::size_t element_size) : strides_(layout.strides)
    {
        const auto most = static_cast<std::size_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / element_size;
        if (strides_.size() != rank)
            throw Error(Status::invalid, "the layout of memory has " + text(strides_.size()) + " strides for "
                                             + text(rank) + " dimensions");
        bool fits = layout.offset <= most;
        for (std::ptrdiff_t &stride : strides_) {
            const auto limit = static_cast<std::ptrdiff_t>(most);
            fits = fits && stride <= limit && stride >= -limit;
            if (fits)
                stride *= static_cast<std::ptrdiff_t>(element_size);
        }
        if (!fits)
            throw Error(Status::invalid, "the layout of memory reaches beyond the address space");
        offset_ = layout.offset * element_size;
    }

    const std::ptrdiff_t *strides() const noexcept { return strides_.data(); }
    std::size_t offset() const noexcept { return offset_; }

  private:
    Steps strides_;
    std::size_t offset_ = 0;
};

/// A container that can be written to.
template <class Container> auto writable_span(Container &&container) noexcept
{
    const auto span = as_span(container);
    static_assert(!std::is_const_v<typename decltype(span)::element_type>, "this memory cannot be written to");
    return span;
}

} // namespace detail

/// Reads a hyperslab into memory of the caller's, row-major: any contiguous container, C array or span. It must have
/// exactly as many elements as are selected, of the variable's element size. See nczchunk_read_vars, also for the
/// errors.
template <class Container>
void read_into(VariableRef variable,
               StoreRef store,
               const Hyperslab &hyperslab,
               Container &&out,
               ContextRef context = {})
{
    const auto span = detail::writable_span(out);
    const detail::Selection selection(variable, hyperslab);
    if (variable.get() != nullptr)
        detail::check_element_size<typename decltype(span)::value_type>(variable.element_size());
    selection.check_memory(span.size());
    call(
        [&](nczchunk_context *with) {
            return nczchunk_read_vars(variable.get(), store.get(), selection.start(), selection.count(),
                                      selection.stride(), selection.memory(span.data()), with);
        },
        context);
}

/// Reads a hyperslab into a part of memory, which may be larger, in another order or backwards. Strides of the
/// hyperslab may be negative: then start is the last of the elements. Nothing outside the container is touched.
template <class Container>
void read_into(VariableRef variable,
               StoreRef store,
               const Hyperslab &hyperslab,
               Container &&out,
               const Layout &layout,
               ContextRef context = {})
{
    const auto span = detail::writable_span(out);
    using T = typename decltype(span)::value_type;
    const detail::Selection selection(variable, hyperslab);
    if (variable.get() != nullptr)
        detail::check_element_size<T>(variable.element_size());
    const detail::LayoutInBytes memory(layout, variable.rank(), sizeof(T));
    call(
        [&](nczchunk_context *with) {
            return nczchunk_read_strided(variable.get(), store.get(), selection.start(), selection.count(),
                                         selection.stride(), span.data(), span.size_bytes(), memory.offset(),
                                         memory.strides(), with);
        },
        context);
}

/// Reads a hyperslab and returns its elements, row-major.
template <class T>
std::vector<T> read(VariableRef variable, StoreRef store, const Hyperslab &hyperslab = {}, ContextRef context = {})
{
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements; read std::uint8_t");
    std::vector<T> data(detail::Selection(variable, hyperslab).elements());
    read_into(variable, store, hyperslab, data, context);
    return data;
}

/// Writes a hyperslab from memory of the caller's, row-major: see read_into and nczchunk_write_vars.
template <class Container>
void write(VariableRef variable,
           StoreRef store,
           const Hyperslab &hyperslab,
           const Container &data,
           ContextRef context = {})
{
    const auto span = as_span(data);
    const detail::Selection selection(variable, hyperslab);
    if (variable.get() != nullptr)
        detail::check_element_size<typename decltype(span)::value_type>(variable.element_size());
    selection.check_memory(span.size());
    call(
        [&](nczchunk_context *with) {
            return nczchunk_write_vars(variable.get(), store.get(), selection.start(), selection.count(),
                                       selection.stride(), selection.memory(span.data()), with);
        },
        context);
}

/// For each dimension a list of indices along it, in any order; nothing stands for the whole dimension.
using Lists = std::vector<std::optional<std::vector<std::size_t>>>;

namespace detail {

/// Lists as the C functions take them.
class ListsInC {
  public:
    ListsInC(VariableRef variable, const Lists &lists) : start_(variable.rank(), 0), count_(variable.shape())
    {
        const std::size_t rank = variable.rank();
        if (lists.size() != rank)
            throw Error(Status::invalid,
                        "there are " + text(lists.size()) + " lists for " + text(rank) + " dimensions");
        for (std::size_t d = 0; d < rank; d++) {
            // An empty list may have no address, which would stand for no list.
            const std::size_t *const none = &nothing_;
            lists_.push_back(!lists[d] ? nullptr : lists[d]->empty() ? none : lists[d]->data());
            if (lists[d])
                count_[d] = lists[d]->size();
            if (count_[d] != 0 && elements_ > (std::numeric_limits<std::size_t>::max)() / count_[d])
                throw Error(Status::invalid, "the lists select more elements than memory can hold");
            elements_ *= count_[d];
        }
    }

    const std::size_t *start() const noexcept { return start_.data(); }
    const std::size_t *count() const noexcept { return count_.data(); }
    const std::size_t *const *lists() const noexcept { return lists_.data(); }
    std::size_t elements() const noexcept { return elements_; }

  private:
    Lengths start_, count_;
    std::vector<const std::size_t *> lists_;
    std::size_t nothing_ = 0, elements_ = 1;
};

/// How many points there are: each has an index for every dimension.
inline std::size_t num_points(VariableRef variable, std::size_t indices)
{
    const std::size_t rank = variable.rank();
    if (rank == 0 || indices % rank != 0)
        throw Error(Status::invalid, text(indices) + " indices are not those of points in " + text(rank)
                                         + " dimensions");
    return indices / rank;
}

inline void check_number(std::size_t given, std::size_t selected)
{
    if (given != selected)
        throw Error(Status::invalid, text(selected) + " elements are selected, and there are " + text(given));
}

} // namespace detail

/// Reads single elements and returns them in the order of the points: of each an index along every dimension, one point
/// after another, in any contiguous container of std::size_t. See nczchunk_read_points, also for the errors.
template <class T, class Points>
std::vector<T> read_points(VariableRef variable, StoreRef store, const Points &points, ContextRef context = {})
{
    const auto indices = as_span(points);
    detail::check_element_size<T>(variable.element_size());
    std::vector<T> data(detail::num_points(variable, indices.size()));
    call(
        [&](nczchunk_context *with) {
            return nczchunk_read_points(variable.get(), store.get(), data.size(), indices.data(), data.data(), with);
        },
        context);
    return data;
}

/// Writes single elements: see read_points and nczchunk_write_points.
template <class Points, class Container>
void write_points(VariableRef variable,
                  StoreRef store,
                  const Points &points,
                  const Container &data,
                  ContextRef context = {})
{
    const auto indices = as_span(points);
    const auto span = as_span(data);
    detail::check_element_size<typename decltype(span)::value_type>(variable.element_size());
    detail::check_number(span.size(), detail::num_points(variable, indices.size()));
    call(
        [&](nczchunk_context *with) {
            return nczchunk_write_points(variable.get(), store.get(), span.size(), indices.data(), span.data(), with);
        },
        context);
}

/// Reads the elements that lists of indices select, each along its dimension, and returns them row-major. See
/// nczchunk_read_lists, also for the errors.
template <class T>
std::vector<T> read_lists(VariableRef variable, StoreRef store, const Lists &lists, ContextRef context = {})
{
    const detail::ListsInC selected(variable, lists);
    detail::check_element_size<T>(variable.element_size());
    std::vector<T> data(selected.elements());
    call(
        [&](nczchunk_context *with) {
            return nczchunk_read_lists(variable.get(), store.get(), selected.start(), selected.count(), nullptr,
                                       selected.lists(), data.data(), with);
        },
        context);
    return data;
}

/// Writes the elements that lists of indices select: see read_lists and nczchunk_write_lists.
template <class Container>
void write_lists(VariableRef variable,
                 StoreRef store,
                 const Lists &lists,
                 const Container &data,
                 ContextRef context = {})
{
    const detail::ListsInC selected(variable, lists);
    const auto span = as_span(data);
    detail::check_element_size<typename decltype(span)::value_type>(variable.element_size());
    detail::check_number(span.size(), selected.elements());
    call(
        [&](nczchunk_context *with) {
            return nczchunk_write_lists(variable.get(), store.get(), selected.start(), selected.count(), nullptr,
                                        selected.lists(), span.data(), with);
        },
        context);
}

/// Writes a hyperslab from a part of memory: see read_into.
template <class Container>
void write(VariableRef variable,
           StoreRef store,
           const Hyperslab &hyperslab,
           const Container &data,
           const Layout &layout,
           ContextRef context = {})
{
    const auto span = as_span(data);
    using T = typename decltype(span)::value_type;
    const detail::Selection selection(variable, hyperslab);
    if (variable.get() != nullptr)
        detail::check_element_size<T>(variable.element_size());
    const detail::LayoutInBytes memory(layout, variable.rank(), sizeof(T));
    call(
        [&](nczchunk_context *with) {
            return nczchunk_write_strided(variable.get(), store.get(), selection.start(), selection.count(),
                                          selection.stride(), span.data(), span.size_bytes(), memory.offset(),
                                          memory.strides(), with);
        },
        context);
}

// ---------------------------------------------------------------------------------------------------------------------
// PLANS

/// The totals of a plan, and the part of one chunk that a slice selects along one dimension: see nczchunk.h.
using Totals = nczchunk_totals;
using Projection = nczchunk_projection;

/// Consecutive chunks of a plan: see Plan::part.
struct Part {
    std::size_t first_chunk = 0;
    std::size_t num_chunks = NCZCHUNK_ALL;
};

/// One chunk of a plan.
struct PlannedChunk {
    /// One for each dimension.
    std::vector<Projection> projections;
    /// Whether every element of the chunk inside the dimensions is selected.
    bool covered = false;
};

/// A plan: which chunks a hyperslab touches, and where their elements go in memory. See nczchunk_plan. It is a range of
/// PlannedChunk. It can be executed any number of times, as a whole or in parts, by several threads at the same time.
class Plan {
  public:
    using const_iterator = detail::IndexIterator<Plan>;

    /// A plan for memory that is row-major without gaps.
    Plan(VariableRef variable, const Hyperslab &hyperslab, Access access = Access::read)
        : copier_(variable.copier_), element_size_(variable.element_size()), rank_(variable.rank()), access_(access)
    {
        const detail::Selection selection(variable, hyperslab);
        plan_ = detail::make<nczchunk_plan, nczchunk_plan_free>([&](nczchunk_plan **plan, nczchunk_context *context) {
            return nczchunk_plan_new(variable.get(), selection.start(), selection.count(), selection.stride(),
                                     static_cast<int>(access), plan, context);
        });
        memory_bytes_ = totals().selected_bytes;
    }

    /// A plan for a part of a block of memory, whose size is given in elements: see read_into.
    Plan(VariableRef variable,
         const Hyperslab &hyperslab,
         const Layout &layout,
         std::size_t memory_size,
         Access access = Access::read)
        : copier_(variable.copier_), element_size_(variable.element_size()), rank_(variable.rank()), access_(access)
    {
        const detail::Selection selection(variable, hyperslab);
        const detail::LayoutInBytes memory(layout, rank_, (std::max<std::size_t>)(element_size_, 1));
        if (element_size_ != 0 && memory_size > (std::numeric_limits<std::size_t>::max)() / element_size_)
            throw Error(Status::invalid, "the memory is larger than the address space");
        memory_bytes_ = memory_size * element_size_;
        plan_ = detail::make<nczchunk_plan, nczchunk_plan_free>([&](nczchunk_plan **plan, nczchunk_context *context) {
            return nczchunk_plan_new_strided(variable.get(), selection.start(), selection.count(), selection.stride(),
                                             memory_bytes_, memory.offset(), memory.strides(),
                                             static_cast<int>(access), plan, context);
        });
    }

    Totals totals() const
    {
        Totals totals = NCZCHUNK_TOTALS_INIT;
        call([&](nczchunk_context *context) { return nczchunk_plan_totals(plan_.get(), &totals, context); });
        return totals;
    }

    std::size_t rank() const noexcept { return rank_; }
    Access access() const noexcept { return access_; }

    /// The number of chunks, and the i-th chunk, which throws Status::coordinates if there is none.
    std::size_t size() const { return totals().chunks; }
    PlannedChunk operator[](std::size_t i) const
    {
        PlannedChunk chunk;
        int covered = 0;
        chunk.projections.resize(rank_);
        call([&](nczchunk_context *context) {
            return nczchunk_plan_chunk(plan_.get(), i, chunk.projections.data(), sizeof(Projection), &covered, context);
        });
        chunk.covered = covered != 0;
        return chunk;
    }
    const_iterator begin() const { return {this, 0}; }
    const_iterator end() const { return {this, size()}; }

    /// One of num_parts parts, counted from 0. Parts of a plan for writing touch different chunks.
    Part part(std::size_t number, std::size_t num_parts) const
    {
        Part part;
        call([&](nczchunk_context *context) {
            return nczchunk_plan_part(plan_.get(), number, num_parts, &part.first_chunk, &part.num_chunks, context);
        });
        return part;
    }

    /// Whether writes by two plans for the same variable would touch a chunk in common.
    bool shares_chunks(const Plan &other) const
    {
        int shared = 0;
        call([&](nczchunk_context *context) {
            return nczchunk_plan_shares_chunks(plan_.get(), other.plan_.get(), &shared, context);
        });
        return shared != 0;
    }

    /// The number of this plan's i-th chunk in another plan for the same variable; nothing if the other does not touch
    /// that chunk.
    std::optional<std::size_t> intersect(std::size_t i, const Plan &other) const
    {
        std::size_t there = 0;
        call([&](nczchunk_context *context) {
            return nczchunk_plan_intersect(plan_.get(), i, other.plan_.get(), &there, context);
        });
        return there == SIZE_MAX ? std::nullopt : std::optional<std::size_t>(there);
    }

    /// Which of several plans owns the i-th chunk of the one with number plan; see nczchunk_plan_owner.
    static std::size_t owner(const std::vector<const Plan *> &plans, std::size_t plan, std::size_t i)
    {
        std::vector<const nczchunk_plan *> handles;
        std::size_t owner = 0;
        for (const Plan *each : plans) handles.push_back(each ? each->plan_.get() : nullptr);
        call([&](nczchunk_context *context) {
            return nczchunk_plan_owner(handles.data(), handles.size(), plan, i, &owner, context);
        });
        return owner;
    }

    /// Reads all or a part of the plan into memory. The memory has as many elements as are selected or, for a plan with
    /// a layout, as the memory for which the plan was made. It is the same memory for every part.
    template <class Container> void read_into(StoreRef store, Container &&out, ContextRef context = {}) const
    {
        read_into(store, Part(), out, context);
    }

    template <class Container>
    void read_into(StoreRef store, Part part, Container &&out, ContextRef context = {}) const
    {
        const auto span = detail::writable_span(out);
        check<typename decltype(span)::value_type>(span.size_bytes());
        call(
            [&](nczchunk_context *with) {
                return nczchunk_plan_read(plan_.get(), store.get(), part.first_chunk, part.num_chunks, span.data(),
                                          with);
            },
            context);
    }

    /// Writes all or a part of the plan from memory: see read_into.
    template <class Container> void write(StoreRef store, const Container &data, ContextRef context = {}) const
    {
        write(store, Part(), data, context);
    }

    template <class Container>
    void write(StoreRef store, Part part, const Container &data, ContextRef context = {}) const
    {
        const auto span = as_span(data);
        check<typename decltype(span)::value_type>(span.size_bytes());
        call(
            [&](nczchunk_context *with) {
                return nczchunk_plan_write(plan_.get(), store.get(), part.first_chunk, part.num_chunks, span.data(),
                                           with);
            },
            context);
    }

    /// Copies the elements of the i-th chunk between memory and the chunk, which is the caller's: from the chunk if the
    /// plan is for reading, to the chunk if it is for writing. The chunk is a full one, decoded and in stored byte
    /// order.
    template <class Chunk, class Container> void copy_chunk(std::size_t i, Chunk &&chunk, Container &&data) const
    {
        const auto bytes = detail::writable_span(chunk);
        const auto span = detail::writable_span(data);
        check<typename decltype(span)::value_type>(span.size_bytes());
        call([&](nczchunk_context *context) {
            return nczchunk_plan_copy_chunk(plan_.get(), i, bytes.data(), bytes.size_bytes(), span.data(), context);
        });
    }

    nczchunk_plan *get() const noexcept { return plan_.get(); }

  private:
    template <class T> void check(std::size_t bytes) const
    {
        if (!plan_)
            return; // which the library refuses
        detail::check_element_size<T>(element_size_);
        if (bytes != memory_bytes_)
            throw Error(Status::invalid, "the plan is for memory of " + detail::text(memory_bytes_) + " bytes, not of "
                                             + detail::text(bytes));
    }

    std::shared_ptr<detail::Copying> copier_;
    detail::Owned<nczchunk_plan, nczchunk_plan_free> plan_;
    std::size_t element_size_ = 0, rank_ = 0, memory_bytes_ = 0;
    Access access_;
};

// ---------------------------------------------------------------------------------------------------------------------
// WHAT THESE ARE MADE OF

/// The chunks that a slice touches along one dimension: a range of Projection, each found in constant time.
///
///     for (const nczchunk::Projection &p : nczchunk::Projections(90, 40, 10, 20))
///
/// Throws the errors of nczchunk_projections.
class Projections {
  public:
    using const_iterator = detail::IndexIterator<Projections>;

    Projections(std::size_t dimlen,
                std::size_t chunklen,
                std::size_t start,
                std::size_t count,
                std::ptrdiff_t stride = 1)
        : dimlen_(dimlen), chunklen_(chunklen), start_(start), count_(count), stride_(stride)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_projections(dimlen, chunklen, start, count, stride, nullptr, sizeof(Projection), 0, &size_,
                                        context);
        });
    }

    std::size_t size() const noexcept { return size_; }

    /// The p-th projection. Throws Status::coordinates if there is none.
    Projection operator[](std::size_t p) const
    {
        Projection projection;
        call([&](nczchunk_context *context) {
            return nczchunk_projection_at(dimlen_, chunklen_, start_, count_, stride_, p, &projection,
                                          sizeof projection, context);
        });
        return projection;
    }
    const_iterator begin() const noexcept { return {this, 0}; }
    const_iterator end() const noexcept { return {this, size_}; }

  private:
    std::size_t dimlen_, chunklen_, start_, count_;
    std::ptrdiff_t stride_;
    std::size_t size_ = 0;
};

/// The position of an Odometer.
struct Position {
    /// One index per dimension. They belong to the odometer, and change with it.
    Span<const std::size_t> indices;
    /// The row-major offset in an array of the extents len, in elements.
    std::size_t offset = 0;
};

/// Walks a box in row-major order: see nczchunk_odometer. As a range it can be walked once; reset returns to the first
/// position.
///
///     nczchunk::Odometer odometer({0, 0}, {4, 6}, {1, 2}, {4, 6});
///     for (const nczchunk::Position &at : odometer)
///         use(at.indices, at.offset);
class Odometer {
  public:
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Position;
        using difference_type = std::ptrdiff_t;
        using pointer = const Position *;
        using reference = Position;

        Iterator() noexcept = default;
        explicit Iterator(Odometer *odometer) noexcept : odometer_(odometer) {}
        Position operator*() const noexcept { return odometer_->position(); }
        Iterator &operator++() noexcept
        {
            odometer_->next();
            return *this;
        }
        void operator++(int) noexcept { odometer_->next(); }
        friend bool operator==(const Iterator &a, const Iterator &b) noexcept { return a.at_end() == b.at_end(); }
        friend bool operator!=(const Iterator &a, const Iterator &b) noexcept { return !(a == b); }

      private:
        bool at_end() const noexcept { return odometer_ == nullptr || !odometer_->more(); }
        Odometer *odometer_ = nullptr;
    };

    /// Along each dimension start, start + stride, .. below stop, in an array of the extents len. Throws
    /// Status::invalid for lists of different lengths, and the errors of nczchunk_odometer_new.
    Odometer(const Lengths &start, const Lengths &stop, const Lengths &stride, const Lengths &len) : rank_(start.size())
    {
        if (stop.size() != rank_ || stride.size() != rank_ || len.size() != rank_)
            throw Error(Status::invalid, "start, stop, stride and len have different ranks");
        odometer_ = detail::make<nczchunk_odometer, nczchunk_odometer_free>(
            [&](nczchunk_odometer **odometer, nczchunk_context *context) {
                return nczchunk_odometer_new(rank_, start.data(), stop.data(), stride.data(), len.data(), odometer,
                                             context);
            });
    }

    bool more() const noexcept { return nczchunk_odometer_more(odometer_.get()) != 0; }
    void next() noexcept { nczchunk_odometer_next(odometer_.get()); }
    Position position() const noexcept
    {
        const std::size_t *const indices = nczchunk_odometer_indices(odometer_.get());
        return {{indices, indices == nullptr ? 0 : rank_}, nczchunk_odometer_offset(odometer_.get())};
    }

    /// The length of a row, and a function that skips to the beginning of the next row: see
    /// nczchunk_odometer_skipavail.
    std::size_t avail() const noexcept { return nczchunk_odometer_avail(odometer_.get()); }
    void skipavail() noexcept { nczchunk_odometer_skipavail(odometer_.get()); }

    /// Returns to the first position.
    void reset() noexcept { nczchunk_odometer_reset(odometer_.get()); }

    Iterator begin() noexcept { return Iterator(this); }
    Iterator end() noexcept { return Iterator(); }

    nczchunk_odometer *get() const noexcept { return odometer_.get(); }

  private:
    detail::Owned<nczchunk_odometer, nczchunk_odometer_free> odometer_;
    std::size_t rank_;
};

/// Copies a box of elements between two blocks of memory, each with its own layout, in elements. The blocks must not
/// overlap. word_size is 0, or the size of the words whose bytes are reversed during the copy. Nothing outside the
/// containers is touched: see nczchunk_copy_strided.
template <class Source, class Destination>
void copy_strided(const Lengths &count,
                  const Source &source,
                  const Layout &source_layout,
                  Destination &&destination,
                  const Layout &destination_layout,
                  std::size_t word_size = 0)
{
    const auto from = as_span(source);
    const auto to = detail::writable_span(destination);
    using T = typename decltype(from)::value_type;
    static_assert(std::is_same_v<T, typename decltype(to)::value_type>, "the elements have different types");
    static_assert(std::is_trivially_copyable_v<T>, "elements have to be trivially copyable");
    const detail::LayoutInBytes from_layout(source_layout, count.size(), sizeof(T));
    const detail::LayoutInBytes to_layout(destination_layout, count.size(), sizeof(T));
    call([&](nczchunk_context *context) {
        return nczchunk_copy_strided(count.size(), count.data(), sizeof(T), word_size, from.data(), from.size_bytes(),
                                     from_layout.offset(), from_layout.strides(), to.data(), to.size_bytes(),
                                     to_layout.offset(), to_layout.strides(), context);
    });
}

namespace detail {

/// A key, which write(key, capacity, &length, context) writes.
template <class Write> std::string key(Write write)
{
    std::string key;
    std::size_t length = 0;
    call([&](nczchunk_context *context) { return write(nullptr, std::size_t{0}, &length, context); });
    key.resize(length + 1); // with the NUL
    call([&](nczchunk_context *context) { return write(key.data(), key.size(), &length, context); });
    key.resize(length);
    return key;
}

} // namespace detail

/// The key of a chunk in Zarr v2: "2.1" or "2/1".
inline std::string key_zarr_v2(const Steps &chunk_indices, char separator = '.')
{
    return detail::key([&](char *key, std::size_t capacity, std::size_t *length, nczchunk_context *context) {
        return nczchunk_key_zarr_v2(chunk_indices.size(), chunk_indices.data(), separator, key, capacity, length,
                                    context);
    });
}

/// The key of a chunk in Zarr v3: "c/2/1" or "c.2.1".
inline std::string key_zarr_v3(const Steps &chunk_indices, char separator = '/')
{
    return detail::key([&](char *key, std::size_t capacity, std::size_t *length, nczchunk_context *context) {
        return nczchunk_key_zarr_v3(chunk_indices.size(), chunk_indices.data(), separator, key, capacity, length,
                                    context);
    });
}

/// The key of a chunk in cfdb: "sst!180.90".
inline std::string key_cfdb(const std::string &name, const Lengths &chunk_shape, const Steps &chunk_indices)
{
    if (chunk_shape.size() != chunk_indices.size())
        throw Error(Status::invalid, "the chunk's lengths and its indices have different ranks");
    return detail::key([&](char *key, std::size_t capacity, std::size_t *length, nczchunk_context *context) {
        return nczchunk_key_cfdb(name.c_str(), chunk_shape.size(), chunk_shape.data(), chunk_indices.data(), key,
                                 capacity, length, context);
    });
}

/// The chunk lengths that netCDF-C chooses; 0 in shape is an unlimited dimension: see nczchunk_chunkshape_netcdf.
inline Lengths chunkshape_netcdf(const Lengths &shape, std::size_t element_size, std::size_t target_bytes = 0)
{
    Lengths chunks(shape.size());
    call([&](nczchunk_context *context) {
        return nczchunk_chunkshape_netcdf(shape.size(), shape.data(), element_size, target_bytes, chunks.data(),
                                          context);
    });
    return chunks;
}

/// The chunk lengths that h5py guesses; 0 in shape is an unlimited dimension: see nczchunk_chunkshape_h5py.
inline Lengths chunkshape_h5py(const Lengths &shape, std::size_t element_size)
{
    Lengths chunks(shape.size());
    call([&](nczchunk_context *context) {
        return nczchunk_chunkshape_h5py(shape.size(), shape.data(), element_size, chunks.data(), context);
    });
    return chunks;
}

/// The chunk lengths that rechunkit guesses: see nczchunk_chunkshape_rechunkit.
inline Lengths chunkshape_rechunkit(const Lengths &shape, std::size_t element_size, std::size_t target_bytes = 0)
{
    Lengths chunks(shape.size());
    call([&](nczchunk_context *context) {
        return nczchunk_chunkshape_rechunkit(shape.size(), shape.data(), element_size, target_bytes, chunks.data(),
                                             context);
    });
    return chunks;
}

/// The size in bytes of a variable of a netCDF classic file, or of one record of it, without and with padding: see
/// nczchunk_classic_varsize.
struct ClassicSize {
    std::uint64_t size = 0, padded = 0;
};

inline ClassicSize classic_varsize(const Lengths &shape, std::size_t element_size)
{
    ClassicSize told;
    call([&](nczchunk_context *context) {
        return nczchunk_classic_varsize(shape.size(), shape.data(), element_size, &told.size, &told.padded, context);
    });
    return told;
}

/// The size of a record in bytes, from the sizes of the file's record variables: see nczchunk_classic_recsize.
inline std::uint64_t classic_recsize(Span<const std::uint64_t> sizes)
{
    std::uint64_t recsize = 0;
    call([&](nczchunk_context *context) {
        return nczchunk_classic_recsize(sizes.size(), sizes.data(), &recsize, context);
    });
    return recsize;
}

/// The byte offset of a value from the beginning of a netCDF classic file: see nczchunk_classic_offset.
inline std::uint64_t classic_offset(const Lengths &shape,
                                    std::size_t element_size,
                                    std::uint64_t begin,
                                    std::uint64_t recsize,
                                    const Lengths &indices)
{
    if (shape.size() != indices.size())
        throw Error(Status::invalid, "the variable's lengths and the indices have different ranks");
    std::uint64_t offset = 0;
    call([&](nczchunk_context *context) {
        return nczchunk_classic_offset(shape.size(), shape.data(), element_size, begin, recsize, indices.data(),
                                       &offset, context);
    });
    return offset;
}

/// The version of the library in use, such as "0.3.0".
inline std::string_view version() noexcept
{
    return nczchunk_version();
}

} // namespace NCZCHUNK_NAMESPACE

template <> struct std::is_error_code_enum<nczchunk::Status> : std::true_type {};

#if defined(__cpp_lib_span)
template <class T> inline constexpr bool std::ranges::enable_borrowed_range<nczchunk::Span<T>> = true;
#endif

#endif // NCZCHUNK_HPP
