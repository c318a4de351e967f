// What callbacks throw comes out of the function that the program has called, as it was thrown: in one thread and in
// those that the library spawns, whatever kind of callback it was, and with nothing left behind.
#include "check.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

namespace {

using nczchunk::Request;
using nczchunk::Status;
using nczchunk::ChunkStore;
using nczchunk::Variable;

// An exception that knows where it was thrown, and how many of its kind there are.
struct Oops {
    explicit Oops(std::ptrdiff_t at) : index(at), thread(std::this_thread::get_id()) { alive++; }
    Oops(const Oops &other) : index(other.index), thread(other.thread) { alive++; }
    ~Oops() { alive--; }
    std::ptrdiff_t index;
    std::thread::id thread;
    static std::atomic<int> alive;
};
std::atomic<int> Oops::alive{0};

// That a call throws an Oops with this index, and what thread it comes from.
template <class Call> std::thread::id expect_oops(std::ptrdiff_t index, Call call)
{
    std::thread::id thread;
    try {
        call();
        CHECK_FAILED("nothing is thrown");
    } catch (const Oops &oops) {
        CHECK_EQ(oops.index, index);
        thread = oops.thread;
    }
    return thread;
}

// 32 chunks of 4 ints.
enum { CHUNKS = 32 };
Variable make_variable()
{
    return Variable::of<int>({4 * CHUNKS}, {4});
}

void put(Request request)
{
    const auto index = static_cast<int>(request.index(0));
    request.put(std::array<int, 4>{index, index, index, index});
}

nczchunk::StoreOptions concurrent()
{
    nczchunk::StoreOptions options;
    options.concurrent = true;
    return options;
}

// Work enough for threads to be spawned.
void nap()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void of_every_kind_of_callback()
{
    const Variable var = make_variable();
    std::vector<int> data(4 * CHUNKS);

    const ChunkStore fills = ChunkStore::reading([](Request request) { throw Oops(request.index(0)); });
    CHECK(expect_oops(0, [&] { nczchunk::read<int>(var, fills); }) == std::this_thread::get_id());
    const ChunkStore stores = ChunkStore::reading(put, [](Request request) { throw Oops(100 + request.index(0)); });
    expect_oops(102, [&] { nczchunk::write(var, stores, {{8}, {4}}, std::vector<int>(4)); });
    const ChunkStore lends = ChunkStore::zero_copy([](nczchunk::Loan &loan) { throw Oops(loan.index(0)); },
                                       [](nczchunk::Loan &loan) { throw Oops(10 + loan.index(0)); });
    expect_oops(0, [&] { nczchunk::read<int>(var, lends); });
    expect_oops(10, [&] { nczchunk::write(var, lends, {}, data); });

    struct Releases final : nczchunk::ZeroCopyReader {
        void lend(nczchunk::Loan &loan) override { loan.lend(chunk, alive); }
        void release(nczchunk::Loan &loan, int) override { throw Oops(20 + loan.index(0)); }
        std::array<int, 4> chunk{};
        std::shared_ptr<int> alive = std::make_shared<int>();
    };
    auto releases = std::make_unique<Releases>();
    const std::weak_ptr<int> alive = releases->alive;
    {
        const ChunkStore lending = ChunkStore::zero_copy(std::move(releases));
        expect_oops(20, [&] { nczchunk::read<int>(var, lending); });
        CHECK_EQ(alive.use_count(), 1); // what was kept with the loan is not kept any more
    }
    CHECK(alive.expired());

    nczchunk::Context context;
    const ChunkStore fine = ChunkStore::reading(put, [](Request) {});
    context.progress([](const nczchunk::Progress &far) {
        if (far.chunks_done == 5)
            throw Oops(5);
    });
    expect_oops(5, [&] { nczchunk::read<int>(var, fine, {}, context); });
    // Also where the answer does not matter any more: when all is done.
    context.progress([](const nczchunk::Progress &far) {
        if (far.chunks_done == CHUNKS)
            throw Oops(CHUNKS);
    });
    expect_oops(CHUNKS, [&] { nczchunk::read<int>(var, fine, {}, context); });
    expect_oops(CHUNKS, [&] { nczchunk::Plan(var, {}).read_into(fine, data, context); });
    expect_oops(CHUNKS, [&] { nczchunk::Plan(var, {}, nczchunk::Access::write).write(fine, data, context); });
    context.no_progress();

    Variable copied = make_variable();
    copied.set_copier([](bool writing, std::size_t, const void *, void *) { throw Oops(writing ? 31 : 30); });
    std::array<int, 4> chunk{};
    const auto lend = [&](nczchunk::Loan &loan) { loan.lend(chunk); };
    expect_oops(30, [&] { nczchunk::read<int>(copied, ChunkStore::zero_copy(lend)); });
    expect_oops(31, [&] { nczchunk::write(copied, ChunkStore::zero_copy(lend, lend), {}, data); });
    expect_oops(30, [&] { nczchunk::Plan(copied, {}).copy_chunk(0, chunk, data); });

    const auto coder = [](std::ptrdiff_t index) { return [index](nczchunk::Coding) { throw Oops(index); }; };
    ChunkStore coded = ChunkStore::reading(put, [](Request) {});
    coded.add_codec(nczchunk::Codec::own("throws", coder(40), coder(41)));
    expect_oops(40, [&] { nczchunk::read<int>(var, coded); });
    expect_oops(41, [&] { nczchunk::write(var, coded, {}, data); });
    struct Bounds final : nczchunk::Coder {
        void decode(nczchunk::Coding coding) override { coding.put(coding.source()); }
        std::size_t encoded_bound(std::size_t) override { throw Oops(42); }
    };
    ChunkStore bounded = ChunkStore::reading(put);
    bounded.add_codec(nczchunk::Codec::own("bounds", std::make_unique<Bounds>()));
    expect_oops(42, [&] { nczchunk::read<int>(var, bounded); });

    CHECK_EQ(Oops::alive, 0);
}

// Many requests in flight: it may fail to start, while waiting, and for one request alone.
struct Slow final : nczchunk::ChunkReader {
    explicit Slow(std::string where) : throws(std::move(where)) {}
    bool start(Request request) override
    {
        if (throws == "start" && request.index(0) == 3)
            throw Oops(3);
        requests_in_flight.push_back(request);
        return true;
    }
    nczchunk::Ended wait() override
    {
        if (throws == "wait" && ++waits == 3) {
            requests_in_flight.clear();
            throw Oops(50);
        }
        const Request request = requests_in_flight.front();
        requests_in_flight.erase(requests_in_flight.begin());
        put(request);
        if (throws == "request" && (request.index(0) == 6 || cancelled.count(request.get()) > 0))
            return {request, std::make_exception_ptr(Oops(request.index(0)))};
        if (throws == "short" && request.index(0) == 2)
            request.set_length(1);
        if (cancelled.count(request.get()) > 0)
            return {request, std::make_exception_ptr(Oops(99))};
        return request;
    }
    void cancel(Request request) override
    {
        cancelled.insert(request.get());
        if (throws == "cancel")
            throw Oops(51);
    }
    std::string throws;
    int waits = 0;
    std::vector<Request> requests_in_flight;
    std::set<nczchunk_request *> cancelled;
};

void of_requests_under_way()
{
    const Variable var = make_variable();
    const auto read = [&](const char *throws) {
        nczchunk::StoreOptions options;
        options.in_flight = 5;
        const ChunkStore store = ChunkStore::reading(std::make_unique<Slow>(throws), options);
        return nczchunk::read<int>(var, store);
    };
    CHECK_EQ(read("nothing").back(), CHUNKS - 1);
    expect_oops(3, [&] { read("start"); });
    expect_oops(50, [&] { read("wait"); });
    expect_oops(6, [&] { read("request"); });
    // Requests that are given up because another has failed do not hide why.
    CHECK_THROWS(read("short"), Status::bad_chunk, "chunk (2)");
    CHECK_EQ(Oops::alive, 0);
}

// Four threads, and every chunk from number 5 on throws, in whichever thread it is. The exception of the first chunk in
// order comes out, as with one thread, and the others are destroyed.
void of_several_threads()
{
    const Variable var = make_variable();
    const ChunkStore store = ChunkStore::reading(
        [](Request request) {
            nap();
            if (request.index(0) >= 5)
                throw Oops(request.index(0));
            put(request);
        },
        concurrent());
    nczchunk::Context context;
    context.threads(4);
    for (int round = 0; round < 20; round++) {
        expect_oops(5, [&] { nczchunk::read<int>(var, store, {}, context); });
        CHECK_EQ(context.chunks_done(), 5);
        CHECK_EQ(Oops::alive, 0);
    }
    // The same call without the fault.
    CHECK_EQ(nczchunk::read<int>(var, store, {{0}, {20}}, context)[19], 4);
}

// What comes out was thrown in a thread that the library has spawned. Chunk 0 is read before there is one. Of chunks 1
// to 4 this thread gets one, because the three others wait for it with theirs, and waits with it for chunk 5.
void of_another_thread()
{
    const Variable var = make_variable();
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> caller_waits{false}, is_thrown{false};
    const auto wait_for = [](const std::atomic<bool> &what) {
        for (int naps = 0; !what && naps < 10'000; naps++)
            nap();
        CHECK(what);
    };
    const ChunkStore store = ChunkStore::reading(
        [&](Request request) {
            const auto chunk = request.index(0);
            if (chunk == 5) {
                is_thrown = true;
                throw Oops(5);
            }
            if (chunk == 0) {
                nap();
            } else if (chunk < 5 && std::this_thread::get_id() == caller) {
                caller_waits = true;
                wait_for(is_thrown);
            } else if (chunk < 5) {
                wait_for(caller_waits);
            }
            put(request);
        },
        concurrent());
    nczchunk::Context context;
    context.threads(4);
    CHECK(expect_oops(5, [&] { nczchunk::read<int>(var, store, {}, context); }) != caller);
    CHECK_EQ(Oops::alive, 0);
}

// Two threads of the program use a store at the same time, each with two threads of the library's: each gets the
// exception of its own call.
void of_two_calls_at_the_same_time()
{
    const Variable var = make_variable();
    const ChunkStore store = ChunkStore::reading(
        [](Request request) {
            nap();
            if (request.index(0) == 7 || request.index(0) == 23)
                throw Oops(request.index(0));
            put(request);
        },
        concurrent());
    const auto work = [&](std::size_t start, std::ptrdiff_t failing) {
        nczchunk::Context context;
        context.threads(2);
        for (int round = 0; round < 10; round++)
            expect_oops(failing, [&] { nczchunk::read<int>(var, store, {{start}, {2 * CHUNKS}}, context); });
    };
    std::thread other(work, 2 * CHUNKS, 23);
    work(0, 7);
    other.join();
    CHECK_EQ(Oops::alive, 0);
}

// In threads, bounds and progress throw, too; nothing of it is lost.
void of_bounds_in_threads()
{
    const Variable var = make_variable();
    struct Bounds final : nczchunk::Coder {
        void decode(nczchunk::Coding coding) override
        {
            nap();
            coding.put(coding.source());
        }
        std::size_t encoded_bound(std::size_t) override { throw Oops(1); }
    };
    ChunkStore store = ChunkStore::reading(put, concurrent());
    nczchunk::CodecOptions options;
    options.concurrent = true;
    store.add_codec(nczchunk::Codec::own("bounds", std::make_unique<Bounds>(), options));
    nczchunk::Context context;
    context.threads(4);
    expect_oops(1, [&] { nczchunk::read<int>(var, store, {}, context); });
    CHECK_EQ(Oops::alive, 0);
}

// A callback of one call makes another, whose exception it lets through, or keeps to itself.
void of_calls_within_calls()
{
    const Variable var = make_variable();
    const ChunkStore below = ChunkStore::reading([](Request request) {
        if (request.index(0) == 2)
            throw Oops(2);
        put(request);
    });
    bool is_kept = false;
    const ChunkStore store = ChunkStore::reading([&](Request request) {
        const auto index = static_cast<std::size_t>(request.index(0));
        try {
            request.put(nczchunk::read<int>(var, below, {{4 * index}, {4}}));
        } catch (const Oops &) {
            if (!is_kept)
                throw;
            request.set_absent();
        }
    });
    expect_oops(2, [&] { nczchunk::read<int>(var, store); });
    is_kept = true;
    CHECK_EQ(nczchunk::read<int>(var, store)[8], 0);
    CHECK_EQ(Oops::alive, 0);
}

// An Error comes out as it was thrown; statuses that would say that a chunk is absent do not.
void of_the_librarys_own_kind()
{
    const Variable var = make_variable();
    const ChunkStore store = ChunkStore::reading([](Request request) {
        if (request.index(0) == 0)
            throw nczchunk::Error(Status::io, "the disk is on fire");
        throw nczchunk::Error(Status::empty, "no answer");
    });
    CHECK_THROWS(nczchunk::read<int>(var, store), Status::io, "the disk is on fire");
    CHECK_THROWS(nczchunk::read<int>(var, store, {{4}, {4}}), Status::empty, "no answer");

    // A C function that is called without nczchunk::call gets a status. None of them is that of an absent chunk.
    const std::size_t start[1] = {4}, count[1] = {4};
    int data[4];
    const auto status_of = [&](auto thrown) {
        const ChunkStore throws = ChunkStore::reading([&](Request) { throw thrown; });
        return nczchunk_read_vars(var.get(), throws.get(), start, count, nullptr, data, nullptr);
    };
    CHECK_EQ(status_of(nczchunk::Error(Status::io)), NCZCHUNK_EIO);
    CHECK_EQ(status_of(nczchunk::Error(Status::empty)), NCZCHUNK_EINTERNAL);
    CHECK_EQ(status_of(nczchunk::Error(Status::no_object)), NCZCHUNK_EINTERNAL);
    CHECK_EQ(status_of(std::bad_alloc()), NCZCHUNK_ENOMEM);
    CHECK_EQ(status_of(std::system_error(std::make_error_code(std::errc::timed_out))), ETIMEDOUT);
    CHECK_EQ(status_of(Oops(1)), NCZCHUNK_EINTERNAL);
    CHECK_EQ(status_of(7), NCZCHUNK_EINTERNAL);
    // With it, the exception.
    const ChunkStore throws = ChunkStore::reading([](Request) { throw Oops(60); });
    expect_oops(60, [&] {
        nczchunk::call([&](nczchunk_context *context) {
            return nczchunk_read_vars(var.get(), throws.get(), start, count, nullptr, data, context);
        });
    });
    CHECK_EQ(Oops::alive, 0);
}

} // namespace

int main()
{
    of_every_kind_of_callback();
    of_requests_under_way();
    of_several_threads();
    of_another_thread();
    of_two_calls_at_the_same_time();
    of_bounds_in_threads();
    of_calls_within_calls();
    of_the_librarys_own_kind();
    return 0;
}
