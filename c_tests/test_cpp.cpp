// The C++ interface from the first read on: variables, stores of any callable, layouts of memory, plans, codecs,
// caches, and what all of these are made of. What callbacks throw is in test_cpp_exceptions.cpp, arrays that are opened
// by name are in test_cpp_array.cpp.
#include "check.hpp"

#include <deque>
#include <list>
#include <map>
#include <numeric>
#include <thread>
#if defined(__cpp_lib_span)
#include <ranges>
#include <span>
#endif

namespace {

using nczchunk::Access;
using nczchunk::Hyperslab;
using nczchunk::Layout;
using nczchunk::Lengths;
using nczchunk::Request;
using nczchunk::Status;
using nczchunk::Steps;
using nczchunk::ChunkStore;
using nczchunk::Variable;

using Index = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
using Chunks = std::map<Index, std::vector<int>>;

// 4 x 6 ints in chunks of 2 x 3. Each tells its row and column: 14 is in row 1, column 4.
Chunks make_chunks()
{
    Chunks chunks;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 6; column++)
            chunks[{row / 2, column / 3}].push_back(10 * row + column);
    return chunks;
}

Variable make_variable()
{
    return Variable::of<int>({4, 6}, {2, 3});
}

Index at(Request request)
{
    return {request.index(0), request.index(1)};
}

// A store over these chunks, which are the caller's.
ChunkStore make_store(Chunks &chunks)
{
    return ChunkStore::reading(
        [&chunks](Request request) {
            const auto chunk = chunks.find(at(request));
            chunk == chunks.end() ? request.set_absent() : request.put(chunk->second);
        },
        [&chunks](Request request) {
            auto &chunk = chunks[at(request)];
            chunk.resize(request.bytes().size() / sizeof(int));
            std::memcpy(chunk.data(), request.bytes().data(), request.bytes().size());
        });
}

void a_first_read()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);

    // Rows 1 and 3, columns 1 and 4.
    CHECK(nczchunk::read<int>(var, store, {{1, 1}, {2, 2}, {2, 3}}) == (std::vector<int>{11, 14, 31, 34}));
    CHECK(nczchunk::read<int>(var, store, {{3, 0}, {1, 6}}) == (std::vector<int>{30, 31, 32, 33, 34, 35}));
    CHECK_EQ(nczchunk::read<int>(var, store).size(), 24);
    CHECK(nczchunk::read<int>(var, store, {{4, 0}, {0, 6}}).empty());

    // Numbers per dimension come from whatever holds them.
    const std::vector<std::size_t> start = {1, 1};
    const std::size_t count[] = {1, 2};
    const std::array<std::ptrdiff_t, 2> stride = {1, 3};
    CHECK(nczchunk::read<int>(var, store, {start, count, stride}) == (std::vector<int>{11, 14}));
}

void points_and_lists()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);

    const std::size_t points[3][2] = {{3, 5}, {0, 0}, {3, 5}};
    const nczchunk::Span<const std::size_t> indices(&points[0][0], 6);
    CHECK(nczchunk::read_points<int>(var, store, indices) == (std::vector<int>{35, 0, 35}));
    nczchunk::write_points(var, store, indices, std::vector<int>{-1, -2, -3});
    CHECK(nczchunk::read_points<int>(var, store, indices) == (std::vector<int>{-3, -2, -3}));
    CHECK_THROWS(nczchunk::read_points<int>(var, store, std::vector<std::size_t>(3)), Status::invalid, "3 indices");
    CHECK_THROWS(nczchunk::read_points<int>(var, store, std::vector<std::size_t>{0, 6}), Status::coordinates,
                 "dimension 1: index 6");
    CHECK_THROWS(nczchunk::write_points(var, store, indices, std::vector<int>(2)), Status::invalid, "3 elements");

    // Rows 2 and 1, and of each the columns 4 and 0; or the whole row.
    const nczchunk::Lists both = {{{2, 1}}, {{4, 0}}};
    const nczchunk::Lists rows = {{{2}}, std::nullopt};
    CHECK(nczchunk::read_lists<int>(var, store, both) == (std::vector<int>{24, 20, 14, 10}));
    CHECK(nczchunk::read_lists<int>(var, store, rows) == (std::vector<int>{20, 21, 22, 23, 24, 25}));
    nczchunk::write_lists(var, store, both, std::vector<int>{1, 2, 3, 4});
    CHECK(nczchunk::read_lists<int>(var, store, both) == (std::vector<int>{1, 2, 3, 4}));
    const nczchunk::Lists none = {std::vector<std::size_t>(), std::nullopt};
    CHECK(nczchunk::read_lists<int>(var, store, none).empty());
    CHECK_THROWS(nczchunk::read_lists<int>(var, store, {std::nullopt}), Status::invalid, "1 lists for 2 dimensions");
}

void memory_of_the_callers()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);
    const Hyperslab corner = {{2, 4}, {2, 2}};
    const std::vector<int> expected = {24, 25, 34, 35};

    std::vector<int> vector(4);
    nczchunk::read_into(var, store, corner, vector);
    CHECK(vector == expected);
    std::array<int, 4> array{};
    nczchunk::read_into(var, store, corner, array);
    CHECK(std::equal(array.begin(), array.end(), expected.begin()));
    int matrix[2][2];
    nczchunk::read_into(var, store, corner, matrix);
    CHECK(matrix[1][0] == 34);
    std::vector<int> larger(6);
    nczchunk::read_into(var, store, corner, nczchunk::Span<int>(larger.data() + 1, 4));
    CHECK(larger == (std::vector<int>{0, 24, 25, 34, 35, 0}));
#if defined(__cpp_lib_span)
    std::vector<int> more(6);
    nczchunk::read_into(var, store, corner, std::span(more).subspan(2));
    CHECK(more == (std::vector<int>{0, 0, 24, 25, 34, 35}));
    const std::span<int> back = nczchunk::Span<int>(more);
    CHECK_EQ(back.size(), 6);
#endif

    // Sizes are checked before anything is read.
    std::vector<int> small(3);
    CHECK_THROWS(nczchunk::read_into(var, store, corner, small), Status::invalid,
                 "4 elements are selected, and the memory has 3");
    std::vector<double> wide(4);
    CHECK_THROWS(nczchunk::read_into(var, store, corner, wide), Status::bad_type, "has 4 bytes, one in memory 8");
    CHECK_THROWS(nczchunk::read<short>(var, store, corner), Status::bad_type, "has 4 bytes, one in memory 2");
    CHECK_THROWS(nczchunk::write(var, store, corner, small), Status::invalid, "4 elements");
    CHECK(chunks == make_chunks());
}

void spans_are_made_of_what_is_contiguous()
{
    const std::vector<short> values = {1, 2, 3};
    const nczchunk::Span<const short> span = values;
    CHECK_EQ(std::accumulate(span.begin(), span.end(), 0), 6);
    CHECK_EQ(span[2], 3);
    CHECK_EQ(span.size_bytes(), 6);
    CHECK(!span.empty() && nczchunk::Span<int>().empty());
    CHECK_EQ(nczchunk::as_bytes(values).size(), 6);
    CHECK_EQ(nczchunk::as_span(values).size(), 3);
    static_assert(std::is_convertible_v<std::vector<int> &, nczchunk::Span<int>>, "");
    static_assert(std::is_convertible_v<nczchunk::Span<int>, nczchunk::Span<const int>>, "");
    static_assert(!std::is_convertible_v<const std::vector<int> &, nczchunk::Span<int>>, "const stays const");
    static_assert(!std::is_convertible_v<std::vector<long> &, nczchunk::Span<int>>, "another type");
    static_assert(!std::is_constructible_v<nczchunk::Span<int>, std::deque<int> &>, "not contiguous");

    // More than 8 dimensions need the heap, which nobody sees.
    Lengths many(10, 7);
    many[9] = 3;
    const Lengths copy = many;
    many = {1, 2};
    CHECK_EQ(copy.size(), 10);
    CHECK_EQ(copy[9], 3);
    CHECK(many == Lengths({1, 2}));
    CHECK(many != copy && !many.empty() && Lengths().empty());
}

void lists_of_another_rank_are_refused()
{
    Chunks chunks = make_chunks();
    Variable var = make_variable();
    const ChunkStore store = make_store(chunks);

    CHECK_THROWS(nczchunk::read<int>(var, store, {{0}, {1, 1}}), Status::invalid, "start has 1 numbers for 2 dim");
    CHECK_THROWS(nczchunk::read<int>(var, store, {{0, 0}, {1, 1, 1}}), Status::invalid, "count has 3 numbers");
    CHECK_THROWS(nczchunk::read<int>(var, store, {{0, 0}, {1, 1}, {1}}), Status::invalid, "stride has 1 numbers");
    CHECK_THROWS(nczchunk::write(var, store, {{0}, {1}}, std::vector<int>(1)), Status::invalid, "start has 1");
    CHECK_THROWS(nczchunk::Plan(var, {{0, 0, 0}, {1, 1, 1}}), Status::invalid, "start has 3");
    CHECK_THROWS(Variable::of<int>({4, 6}, {2}), Status::invalid, "2 dimensions, its chunks have 1");
    CHECK_THROWS(var.set_chunk_order({0}), Status::invalid, "2 dimensions, not 1");
    CHECK_THROWS(var.set_write_grid({4, 6, 1}), Status::invalid, "2 dimensions, not 3");
    CHECK_THROWS(nczchunk::Odometer({0}, {1}, {1, 1}, {1}), Status::invalid, "different ranks");
    CHECK_THROWS(nczchunk::key_cfdb("sst", {1}, {0, 0}), Status::invalid, "different ranks");
    CHECK_THROWS(nczchunk::classic_offset({1}, 4, 0, 0, {0, 0}), Status::invalid, "different ranks");

    // What fits a variable's rank and not its lengths is the library's to refuse: with the dimension.
    try {
        nczchunk::read<int>(var, store, {{0, 0}, {1, 7}});
        CHECK_FAILED("more columns than there are");
    } catch (const nczchunk::Error &error) {
        CHECK(error.code() == Status::edge);
        CHECK(error.code() == std::errc::invalid_argument);
        CHECK_EQ(error.status(), NCZCHUNK_EEDGE);
        CHECK(error.dimension() == std::size_t{1});
        CHECK(!error.chunk());
    }
    CHECK_THROWS(nczchunk::read<int>(var, store, {{0, 0}, {SIZE_MAX, SIZE_MAX}}), Status::edge, "");
    CHECK_THROWS(nczchunk::read<int>(var, store, {{0, 0}, {1, 1}, {1, 0}}), Status::stride, "");
    CHECK_THROWS(nczchunk::read<int>(var, store, {{5, 0}, {1, 1}}), Status::coordinates, "");
}

void errors_tell_where()
{
    Chunks chunks = make_chunks();
    chunks[{1, 0}].pop_back();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);

    try {
        nczchunk::read<int>(var, store);
        CHECK_FAILED("a chunk is too short");
    } catch (const std::system_error &thrown) {
        const auto &error = dynamic_cast<const nczchunk::Error &>(thrown);
        CHECK(error.code() == Status::bad_chunk);
        CHECK(error.code().category() == nczchunk::category());
        CHECK_STR(error.code().category().name(), "nczchunk");
        CHECK_STR(error.what(), "chunk (1, 0): the stored chunk has 20 bytes, expected 24");
        CHECK(error.chunk() == (std::vector<std::ptrdiff_t>{1, 0}));
        CHECK_EQ(error.chunks_done(), 2);
        nczchunk::Error copy = error;
        const nczchunk::Error moved = std::move(copy);
        CHECK(moved.message() == error.message() && copy.message() == error.message()); // NOLINT
        CHECK_STR(copy.what(), error.what());
    }

    // A status of errno's is of the generic category, and words are found for a status without.
    CHECK(nczchunk::Error(ENOENT).code() == std::errc::no_such_file_or_directory);
    CHECK(nczchunk::Error(Status::not_found).code() == std::errc::no_such_file_or_directory);
    CHECK(make_error_code(Status::no_memory) == std::errc::not_enough_memory);
    CHECK(make_error_code(Status::exists) == std::errc::file_exists);
    CHECK(make_error_code(Status::read_only) == std::errc::operation_not_permitted);
    CHECK(make_error_code(Status::not_built) == std::errc::not_supported);
    CHECK(make_error_code(Status::io) == std::errc::io_error);
    CHECK(make_error_code(Status::range) == std::errc::result_out_of_range);
    CHECK(make_error_code(Status::filter) == std::error_condition(NCZCHUNK_EFILTER, nczchunk::category()));
    const std::error_code code = Status::edge;
    CHECK(code.message() == nczchunk_strerror(NCZCHUNK_EEDGE));
    CHECK(nczchunk::Error(Status::edge).message() == code.message());
}

void a_first_write()
{
    Chunks chunks;
    Variable var = make_variable();
    var.set_fill_value(-1);
    const ChunkStore store = make_store(chunks);

    nczchunk::write(var, store, {{0, 2}, {1, 2}}, std::vector<int>{2, 3});
    CHECK(chunks == (Chunks{{{0, 0}, {-1, -1, 2, -1, -1, -1}}, {{0, 1}, {3, -1, -1, -1, -1, -1}}}));
    CHECK(var.fill_value<int>() == -1);
    CHECK(nczchunk::read<int>(var, store, {{3, 5}, {1, 1}})[0] == -1);

    // A store of one callable is read-only.
    const ChunkStore only_read = ChunkStore::reading([](Request request) { request.set_absent(); });
    CHECK_THROWS(nczchunk::write(var, only_read, {{0, 2}, {1, 1}}, std::vector<int>{2}), Status::read_only, "");
}

void variables_tell_what_they_are()
{
    Variable var({4, 6}, {2, 3}, 4);
    CHECK_EQ(var.rank(), 2);
    CHECK(var.shape() == Lengths({4, 6}));
    CHECK(var.chunk_shape() == Lengths({2, 3}));
    CHECK_EQ(var.dimlen(1), 6);
    CHECK_EQ(var.chunklen(0), 2);
    CHECK_EQ(var.element_size(), 4);
    CHECK_EQ(var.word_size(), 4);
    CHECK_EQ(var.chunk_bytes(), 24);
    CHECK(!var.fill_value<float>());
    CHECK_THROWS(var.fill_value<double>(), Status::bad_type, "4 bytes");
    CHECK_THROWS(var.set_fill_value(1.0), Status::bad_type, "4 bytes");
    var.set_fill_value(1.5f);
    CHECK(var.fill_value<float>() == 1.5f);
    var.set_endian(nczchunk::Endian::big);
    CHECK(var.endian() == nczchunk::Endian::big);
    var.set_word_size(2);
    CHECK_EQ(var.word_size(), 2);
    var.set_write_grid({4, 3});
    CHECK_EQ(var.write_chunklen(0), 4);
    var.set_dimlen(0, 8);
    var.set_origin(0, -4);
    CHECK_EQ(var.dimlen(0), 8);
    CHECK_EQ(var.origin(0), -4);
    CHECK_THROWS(var.set_dimlen(2, 1), Status::bad_dimension, "");

    // Complex numbers are two words, text has none.
    CHECK_EQ(Variable::of<std::complex<float>>({2}, {2}).word_size(), 4);
    CHECK_EQ((Variable::of<std::array<char, 8>>({2}, {2}).word_size()), 1);
    CHECK_EQ((Variable::of<std::array<std::complex<float>, 2>>({2}, {2}).word_size()), 4);
    CHECK_EQ((Variable::of<std::array<std::array<float, 2>, 3>>({2}, {2}).word_size()), 4);
    CHECK_EQ(Variable::of<double>({}, {}).rank(), 0);

    // Chunks in Fortran order, in the other byte order.
    Variable fortran = Variable::of<std::uint16_t>({2, 2}, {2, 2});
    fortran.set_chunk_order({1, 0});
    fortran.set_endian(nczchunk::Endian::big);
    const unsigned char chunk[] = {0, 1, 0, 3, 0, 2, 0, 4};
    const ChunkStore store = ChunkStore::reading([&](Request request) { request.put(chunk); });
    CHECK(nczchunk::read<std::uint16_t>(fortran, store) == (std::vector<std::uint16_t>{1, 2, 3, 4}));
}

void other_layouts_of_memory()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);
    const Lengths count = {2, 3};
    const Hyperslab some = {{1, 1}, count, {2, 2}}; // 11 13 15, 31 33 35

    std::vector<int> fortran(6);
    nczchunk::read_into(var, store, some, fortran, Layout::fortran(count));
    CHECK(fortran == (std::vector<int>{11, 31, 13, 33, 15, 35}));
    std::vector<int> row_major(6);
    nczchunk::read_into(var, store, some, row_major, Layout::in_order(count, {0, 1}));
    CHECK(row_major == (std::vector<int>{11, 13, 15, 31, 33, 35}));

    // A part of a larger matrix, flipped: the first row last, and the columns backwards.
    std::vector<int> matrix(4 * 5, 0);
    nczchunk::read_into(var, store, some, matrix, {{-5, -1}, 13});
    CHECK(matrix == (std::vector<int>{0, 0, 0, 0, 0, 0, 35, 33, 31, 0, 0, 15, 13, 11, 0, 0, 0, 0, 0, 0}));
    // Backwards in the variable: then start is the last.
    std::vector<int> backwards(2);
    nczchunk::read_into(var, store, {{3, 5}, {1, 2}, {1, -5}}, backwards, {{2, 1}, 0});
    CHECK(backwards == (std::vector<int>{35, 30}));

    // From there it is written, too.
    for (int &value : matrix)
        value = -value;
    nczchunk::write(var, store, some, matrix, {{-5, -1}, 13});
    CHECK(nczchunk::read<int>(var, store, some) == (std::vector<int>{-11, -13, -15, -31, -33, -35}));

    CHECK_THROWS(nczchunk::read_into(var, store, some, matrix, {{5, 1}, 13}), Status::invalid, "");
    CHECK_THROWS(nczchunk::read_into(var, store, some, matrix, {{5}, 0}), Status::invalid, "1 strides for 2");
    CHECK_THROWS(nczchunk::read_into(var, store, some, matrix, {{PTRDIFF_MAX / 2, 1}, 0}), Status::invalid, "beyond");
    CHECK_THROWS(nczchunk::read_into(var, store, some, matrix, {{5, 1}, SIZE_MAX / 2}), Status::invalid, "beyond");
    CHECK_THROWS(Layout::in_order(count, {0, 0}), Status::invalid, "must name each exactly once");
    CHECK_THROWS(Layout::in_order(count, {0}), Status::invalid, "different ranks");
    CHECK_THROWS(Layout::fortran({SIZE_MAX / 2, 4}), Status::invalid, "address space");

    std::vector<int> copy(6);
    nczchunk::copy_strided({2, 3}, row_major, Layout::in_order(count, {0, 1}), copy, Layout::fortran(count));
    CHECK(copy == fortran);
    nczchunk::copy_strided({2, 3}, row_major, Layout::in_order(count, {0, 1}), copy, Layout::fortran(count), 4);
    CHECK_EQ(copy[0], 11 << 24);
    CHECK_THROWS(nczchunk::copy_strided({2, 4}, row_major, {{3, 1}, 0}, copy, {{4, 1}, 0}), Status::invalid, "");
}

// Callables may hold what cannot be copied, and live as long as their store.
void stores_own_their_callables()
{
    const Variable var = Variable::of<float>({4}, {2});
    auto chunk = std::make_shared<std::vector<float>>(2, 1.5f);
    {
        ChunkStore store = ChunkStore::reading([chunk, own = std::make_unique<float>(2)](Request request) {
            CHECK_EQ(request.chunk_bytes(), 8);
            CHECK_EQ(request.indices().size(), 1);
            CHECK(!request.writing());
            for (float &value : request.elements<float>())
                value = *own * (*chunk)[0];
            request.set_length(request.buffer().size());
        });
        CHECK_EQ(chunk.use_count(), 2);
        CHECK(nczchunk::read<float>(var, store) == std::vector<float>(4, 3.0f));
        ChunkStore other = std::move(store);
        CHECK_EQ(chunk.use_count(), 2);
        CHECK(nczchunk::read<float>(var, other) == std::vector<float>(4, 3.0f));
        // What was moved from is nothing, which is refused.
        CHECK(store.get() == nullptr); // NOLINT
        CHECK_THROWS(nczchunk::read<float>(var, store), Status::invalid, "store is NULL");
        CHECK_THROWS(store.set_verify(true), Status::invalid, "store is NULL");
        store = std::move(other);
        CHECK(nczchunk::read<float>(var, store).size() == 4);
    }
    CHECK_EQ(chunk.use_count(), 1);
}

// A store can be asked for parts of a chunk.
void ranges_of_chunks()
{
    const Variable var = Variable::of<std::uint8_t>({1000000}, {1000000});
    std::vector<std::uint8_t> chunk(1000000);
    std::iota(chunk.begin(), chunk.end(), std::uint8_t{0});
    std::size_t largest = 0;
    nczchunk::StoreOptions options;
    options.ranges = true;
    options.gap = 100;
    const ChunkStore store = ChunkStore::reading(
        [&](Request request) {
            CHECK(request.offset() > 0);
            largest = std::max(largest, request.buffer().size());
            request.put(chunk);
        },
        options);
    CHECK(nczchunk::read<std::uint8_t>(var, store, {{1000}, {2}, {500000}}) ==
          (std::vector<std::uint8_t>{chunk[1000], chunk[501000]}));
    CHECK(largest < 1000);

    nczchunk::StoreOptions longer;
    longer.accept_longer = true;
    const Variable few = Variable::of<std::uint8_t>({3}, {3});
    const auto put = [&](Request request) { request.put(chunk); };
    CHECK_EQ(nczchunk::read<std::uint8_t>(few, ChunkStore::reading(put, longer))[2], 2);
    CHECK_THROWS(nczchunk::read<std::uint8_t>(few, ChunkStore::reading(put)), Status::bad_chunk, "1000000 bytes");
}

// Chunks that are in memory already are lent. Who lends a std::shared_ptr has it back when the chunk is not used.
void lent_chunks()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = ChunkStore::zero_copy([&](nczchunk::Loan &loan) {
        CHECK(!loan.writing());
        const auto &chunk = chunks[{loan.index(0), loan.index(1)}];
        CHECK_EQ(loan.chunk_bytes(), chunk.size() * sizeof(int));
        loan.lend(chunk);
    });
    CHECK(nczchunk::read<int>(var, store, {{1, 1}, {2, 2}, {2, 3}}) == (std::vector<int>{11, 14, 31, 34}));
    CHECK_THROWS(nczchunk::write(var, store, {{0, 0}, {1, 1}}, std::vector<int>{1}), Status::read_only, "");

    using Chunk = std::shared_ptr<std::vector<int>>;
    struct Keeper final : nczchunk::ZeroCopyReader {
        Keeper(std::map<Index, Chunk> &with, int &count) : chunks(with), given_back(count) {}

        void lend(nczchunk::Loan &loan) override
        {
            const auto found = chunks.find({loan.index(0), loan.index(1)});
            if (found == chunks.end())
                return loan.set_absent();
            loan.lend(*found->second, found->second);
            CHECK_EQ(loan.indices().size(), 2);
        }
        void lend_to_write(nczchunk::Loan &loan) override
        {
            CHECK(loan.writing());
            Chunk &chunk = chunks[{loan.index(0), loan.index(1)}];
            if (!chunk) {
                chunk = std::make_shared<std::vector<int>>(loan.chunk_bytes() / sizeof(int));
                loan.set_absent();
            }
            covered += loan.covered() ? 1 : 0;
            loan.lend(*chunk, chunk);
        }
        void release(nczchunk::Loan &loan, int status) override
        {
            CHECK_EQ(status, 0);
            CHECK(loan.kept() != nullptr);
            CHECK(loan.kept() == chunks[std::make_pair(loan.index(0), loan.index(1))]);
            CHECK(loan.kept().use_count() == 2);
            given_back++;
        }

        std::map<Index, Chunk> &chunks;
        int &given_back, covered = 0;
    };
    std::map<Index, Chunk> kept;
    int given_back = 0;
    {
        const ChunkStore lending = ChunkStore::zero_copy(std::make_unique<Keeper>(kept, given_back));
        nczchunk::write(var, lending, {{0, 0}, {2, 4}}, std::vector<int>{0, 1, 2, 3, 10, 11, 12, 13});
        CHECK_EQ(given_back, 2);
        CHECK(nczchunk::read<int>(var, lending, {{1, 1}, {2, 3}}) == (std::vector<int>{11, 12, 13, 0, 0, 0}));
        CHECK_EQ(given_back, 4);
    }
    CHECK_EQ(kept.size(), 2);
    CHECK_EQ((kept[Index(0, 0)].use_count()), 1);

    // Two callables; a const chunk is not lent to be changed.
    int changed[6] = {0, 1, 2, 10, 11, 12};
    const auto &constant = changed;
    const Variable one = Variable::of<int>({2, 3}, {2, 3});
    const ChunkStore both = ChunkStore::zero_copy([&](nczchunk::Loan &loan) { loan.lend(constant); },
                                      [&](nczchunk::Loan &loan) { loan.lend(changed); });
    nczchunk::write(one, both, {{1, 1}, {1, 1}}, std::vector<int>{7});
    CHECK_EQ(changed[4], 7);
    CHECK_EQ(nczchunk::read<int>(one, both)[4], 7);
    const ChunkStore wrong = ChunkStore::zero_copy([&](nczchunk::Loan &loan) { loan.lend(constant); },
                                       [&](nczchunk::Loan &loan) { loan.lend(constant); });
    CHECK_THROWS(nczchunk::write(one, wrong, {{1, 1}, {1, 1}}, std::vector<int>{8}), Status::invalid, "const");
    CHECK_EQ(changed[4], 7);
}

// Many requests in flight from one thread: here they are answered last in, first out.
struct Slow final : nczchunk::ChunkReader {
    bool start(Request request) override
    {
        if (request.index(0) == 2)
            return false; // absent at once
        requests_in_flight.push_back(request);
        most = std::max(most, requests_in_flight.size());
        return true;
    }
    nczchunk::Ended wait() override
    {
        const Request request = requests_in_flight.back();
        CHECK(request == requests_in_flight.back() && !(request != requests_in_flight.back()));
        requests_in_flight.pop_back();
        const auto index = static_cast<int>(request.index(0));
        if (index == 3)
            request.set_absent();
        else
            request.put(std::array<int, 2>{2 * index, 2 * index + 1});
        return request;
    }
    void cancel(Request) override { CHECK_FAILED("nothing fails here"); }

    std::vector<Request> requests_in_flight;
    std::size_t most = 0;
};

void many_requests_under_way()
{
    Variable var = Variable::of<int>({20}, {2});
    var.set_fill_value(-1);
    auto slow = std::make_unique<Slow>();
    const Slow &looked_at = *slow;
    nczchunk::StoreOptions options;
    options.in_flight = 4;
    const ChunkStore store = ChunkStore::reading(std::move(slow), options);
    std::vector<int> expected(20);
    std::iota(expected.begin(), expected.end(), 0);
    std::fill_n(expected.begin() + 4, 4, -1);
    CHECK(nczchunk::read<int>(var, store) == expected);
    CHECK_EQ(looked_at.most, 4);
    CHECK_THROWS(ChunkStore::reading(std::unique_ptr<Slow>()), Status::invalid, "ChunkReader is null");
}

void plans()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);
    const nczchunk::Plan plan(var, {{1, 1}, {3, 2}, {1, 3}});

    const nczchunk::Totals totals = plan.totals();
    CHECK_EQ(totals.chunks, 4);
    CHECK_EQ(totals.elements, 6);
    CHECK_EQ(plan.size(), 4);
    CHECK_EQ(plan.rank(), 2);
    CHECK(plan.access() == Access::read);

    // It is a range of chunks, in row-major order.
    std::vector<Index> order;
    for (const nczchunk::PlannedChunk &chunk : plan) {
        order.emplace_back(chunk.projections[0].chunk_index, chunk.projections[1].chunk_index);
        CHECK(!chunk.covered);
    }
    CHECK(order == (std::vector<Index>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
    CHECK_EQ(plan[2].projections[0].iocount, 2);
    CHECK_THROWS(plan[4], Status::coordinates, "");

    std::vector<int> data(6), again(6);
    plan.read_into(store, data);
    CHECK(data == (std::vector<int>{11, 14, 21, 24, 31, 34}));
    for (std::size_t number = 0; number < 3; number++)
        plan.read_into(store, plan.part(number, 3), again);
    CHECK(again == data);
    CHECK_THROWS(plan.part(3, 3), Status::coordinates, "");
    std::vector<int> small(5);
    CHECK_THROWS(plan.read_into(store, small), Status::invalid, "24 bytes, not of 20");
    CHECK_THROWS(plan.read_into(store, std::vector<short>(12)), Status::bad_type, "");
    CHECK_THROWS(plan.write(store, data), Status::invalid, "");

    // The plan keeps what it was made from. Parts are written by threads of the program's own.
    Chunks written;
    const ChunkStore other = make_store(written);
    std::optional<nczchunk::Plan> writing;
    {
        const Variable passing = make_variable();
        writing.emplace(passing, Hyperslab{}, Access::write);
    }
    CHECK(writing->access() == Access::write);
    std::vector<int> all = nczchunk::read<int>(var, store);
    writing->write(other, all);
    CHECK(written == chunks);
    writing->write(other, writing->part(1, 2), std::vector<int>(24, 5));
    CHECK_EQ((written[Index(0, 0)][0]), 0);
    CHECK_EQ((written[Index(1, 1)][0]), 5);
    CHECK(writing->shares_chunks(nczchunk::Plan(var, {{0, 0}, {1, 1}}, Access::write)));
    CHECK(!nczchunk::Plan(var, {{2, 0}, {1, 1}}, Access::write)
               .shares_chunks(nczchunk::Plan(var, {{0, 0}, {1, 6}}, Access::write)));

    // Which of several plans fetches a chunk, and what number it has in another.
    const nczchunk::Plan top(var, {{0, 0}, {2, 6}}, Access::write);
    CHECK(writing->intersect(0, top) == std::optional<std::size_t>(0));
    CHECK(!writing->intersect(3, top));
    CHECK_EQ(nczchunk::Plan::owner({&top, &*writing}, 1, 3), 1u);
    CHECK_THROWS(nczchunk::Plan::owner({&top, nullptr}, 0, 0), Status::invalid, "");

    // Without a store: the chunk is the caller's.
    std::vector<int> from_chunk(6, -1);
    plan.copy_chunk(3, chunks[{1, 1}], from_chunk);
    CHECK(from_chunk == (std::vector<int>{-1, -1, -1, 24, -1, 34}));
    CHECK_THROWS(plan.copy_chunk(3, small, from_chunk), Status::bad_chunk, "");

    // A plan for a part of a block of memory checks that it gets such a block.
    const nczchunk::Plan transposed(var, {{0, 0}, {4, 6}}, Layout::fortran({4, 6}), 24);
    std::vector<int> columns(24);
    transposed.read_into(store, columns);
    CHECK(columns[0] == 0 && columns[1] == 10 && columns[4] == 1);
    CHECK_THROWS(transposed.read_into(store, data), Status::invalid, "96 bytes, not of 24");
    CHECK_THROWS(nczchunk::Plan(var, {{0, 0}, {4, 6}}, Layout::fortran({4, 6}), 23), Status::invalid, "");
    CHECK_THROWS(nczchunk::Plan(var, {}, {{6, 1}, 0}, SIZE_MAX), Status::invalid, "address space");
}

// Elements that are more than their bytes: texts, which are copied one by one.
void copiers()
{
    using Text = char *;
    const auto duplicate = [](const char *text) {
        return text == nullptr ? nullptr : std::strcpy(static_cast<char *>(std::malloc(std::strlen(text) + 1)), text);
    };
    char words[3][6] = {"zero", "one", "two"};
    Text chunk[3] = {words[0], words[1], words[2]};
    const ChunkStore store = ChunkStore::zero_copy([&](nczchunk::Loan &loan) { loan.lend(chunk); });
    std::vector<Text> texts(2);
    auto counted = std::make_shared<int>(0);
    std::optional<nczchunk::Plan> plan;
    {
        Variable var = Variable::of<Text>({3}, {3});
        var.set_copier([counted, duplicate](bool writing, std::size_t count, const void *source, void *destination) {
            CHECK(!writing);
            for (std::size_t i = 0; i < count; i++, ++*counted)
                static_cast<Text *>(destination)[i] = duplicate(static_cast<const Text *>(source)[i]);
        });
        plan.emplace(var, Hyperslab{{1}, {2}});
    }
    plan->read_into(store, texts); // after the variable, which had the callable
    CHECK_EQ(*counted, 2);
    CHECK_STR(texts[0], "one");
    CHECK_STR(texts[1], "two");
    for (Text text : texts)
        std::free(text);
    plan.reset();
    CHECK_EQ(counted.use_count(), 1);
}

// A codec that turns all bits.
void turn(nczchunk::Coding coding)
{
    std::vector<std::byte> turned(coding.source().begin(), coding.source().end());
    for (std::byte &byte : turned)
        byte = ~byte;
    coding.put(turned);
}

// One with a header of one byte, by a class.
struct Headed final : nczchunk::Coder {
    explicit Headed(std::shared_ptr<int> with) : alive(std::move(with)) {}
    void decode(nczchunk::Coding coding) override
    {
        const auto source = coding.source();
        CHECK(source[0] == std::byte{0x7e});
        CHECK(coding.needed_offset() + coding.needed_size() <= coding.destination().size());
        const std::size_t size = std::min(source.size() - 1, coding.destination().size());
        std::memcpy(coding.destination().data(), source.data() + 1, size);
        coding.set_length(source.size() - 1);
    }
    void encode(nczchunk::Coding coding) override
    {
        coding.destination()[0] = std::byte{0x7e};
        std::memcpy(coding.destination().data() + 1, coding.source().data(), coding.source().size());
        coding.set_length(coding.source().size() + 1);
    }
    std::size_t encoded_bound(std::size_t decoded_size) override { return decoded_size + 1; }
    std::shared_ptr<int> alive;
};

struct OnlyDecodes final : nczchunk::Coder {
    void decode(nczchunk::Coding coding) override { turn(coding); }
};

void codecs_and_caches()
{
    Chunks chunks;
    Variable var = make_variable();
    auto alive = std::make_shared<int>();
    {
        std::map<Index, std::vector<std::byte>> encoded;
        int fetched = 0;
        ChunkStore store = ChunkStore::reading(
            [&](Request request) {
                fetched++;
                const auto found = encoded.find(at(request));
                found == encoded.end() ? request.set_absent() : request.put(found->second);
            },
            [&](Request request) { encoded[at(request)].assign(request.bytes().begin(), request.bytes().end()); });
        store.add_codec(nczchunk::Codec::own("turn", turn, turn));
        store.add_codec(nczchunk::Codec::own("headed", std::make_unique<Headed>(alive)));
        if (nczchunk::has_codec("zstd"))
            store.add_codec(nczchunk::Codec::zstd(9, false));
        CHECK_EQ(alive.use_count(), 2);
        std::vector<int> data(24);
        std::iota(data.begin(), data.end(), 100);
        nczchunk::write(var, store, {}, data);
        CHECK(nczchunk::read<int>(var, store) == data);
        CHECK_EQ(fetched, 4);
        if (!nczchunk::has_codec("zstd"))
            CHECK((encoded[Index(0, 0)][0]) == std::byte{0x7e});

        // With a cache they are decoded once.
        nczchunk::Cache cache(1 << 20);
        store.set_cache(cache);
        store.set_verify(true);
        fetched = 0;
        for (int i = 0; i < 3; i++)
            CHECK_EQ(nczchunk::read<int>(var, store, {{1, 1}, {1, 1}})[0], 107);
        CHECK_EQ(fetched, 1);
        CHECK_EQ(cache.statistics().hits, 2);
        CHECK_EQ(cache.statistics().limit, 1 << 20);
        store.set_no_cache();
        CHECK_EQ(nczchunk::read<int>(var, store, {{1, 1}, {1, 1}})[0], 107);
        CHECK_EQ(fetched, 2);

        ChunkStore reader = ChunkStore::reading([](Request request) { request.set_absent(); }, [](Request) {});
        reader.add_codec(nczchunk::Codec::own("only decodes", std::make_unique<OnlyDecodes>()));
        CHECK_THROWS(nczchunk::write(var, reader, {}, data), Status::read_only, "");
    }
    CHECK_EQ(alive.use_count(), 1);
    // A codec that no store has taken frees itself.
    {
        nczchunk::Codec codec = nczchunk::Codec::own("headed", std::make_unique<Headed>(alive));
        nczchunk::Codec moved = std::move(codec);
        CHECK(codec.get() == nullptr); // NOLINT
        ChunkStore store = make_store(chunks);
        CHECK_THROWS(store.add_codec(std::move(codec)), Status::invalid, "codec is NULL");
        CHECK_EQ(alive.use_count(), 2);
    }
    CHECK_EQ(alive.use_count(), 1);
    CHECK_THROWS(nczchunk::Codec::own("none", std::unique_ptr<Headed>()), Status::invalid, "");
}

void contexts()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);
    nczchunk::Context context;
    std::vector<std::size_t> told;
    context.threads(2).progress([&, own = std::make_unique<int>(3)](const nczchunk::Progress &far) {
        CHECK_EQ(far.num_chunks, 4);
        told.push_back(far.chunks_done);
        return far.chunks_done < static_cast<std::size_t>(*own);
    });
    std::vector<int> data(24);
    CHECK_THROWS(nczchunk::read_into(var, store, {}, data, context), std::errc::operation_canceled, "");
    CHECK(told == (std::vector<std::size_t>{0, 1, 2, 3}));
    CHECK_EQ(context.chunks_done(), 3);

    int calls = 0;
    context.progress([&](const nczchunk::Progress &) { calls++; });
    CHECK_EQ(nczchunk::read<int>(var, store, {}, context)[23], 35);
    CHECK_EQ(calls, 5);
    context.no_progress();
    nczchunk::write(var, store, {}, std::vector<int>(24, 1), context);
    nczchunk::Plan(var, {}).read_into(store, data, context);
    CHECK_EQ(calls, 5);
    CHECK_EQ(data[3], 1);
    CHECK_THROWS(context.threads(0), Status::invalid, "0");

    // A context that was moved from is none, which serves, too.
    nczchunk::Context moved = std::move(context);
    CHECK_EQ(nczchunk::read<int>(var, store, {}, context)[0], 1); // NOLINT
    CHECK_EQ(nczchunk::read<int>(var, store, {}, moved)[0], 1);
}

// A callback may call the library.
void calls_within_calls()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore below = make_store(chunks);
    const ChunkStore store = ChunkStore::reading([&](Request request) {
        const auto row = static_cast<std::size_t>(2 * request.index(0)), column = std::size_t(3 * request.index(1));
        CHECK_THROWS(nczchunk::read<int>(var, below, {{9, 9}, {1, 1}}), Status::coordinates, "");
        request.put(nczchunk::read<int>(var, below, {{row, column}, {2, 3}}));
    });
    CHECK(nczchunk::read<int>(var, store) == nczchunk::read<int>(var, below));
    // And what has no class is called by call.
    const auto without_place = [](nczchunk_context *context) { return nczchunk_codec_zstd(nullptr, nullptr, context); };
    CHECK_THROWS(nczchunk::call(without_place), Status::invalid, "the pointer to the new object is NULL");
}

template <class T> void can_be_moved_from(T object)
{
    static_assert(!std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>, "move only");
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>, "");
    T moved = std::move(object);
    CHECK(object.get() == nullptr); // NOLINT
    object = std::move(moved);
    CHECK(object.get() != nullptr);
    T twice = std::move(object);
    T thrice = std::move(object); // NOLINT: what was moved from can be moved
    CHECK(thrice.get() == nullptr);
    thrice = std::move(twice);
    CHECK(thrice.get() != nullptr);
}

void objects_are_moved()
{
    Chunks chunks = make_chunks();
    can_be_moved_from(make_variable());
    can_be_moved_from(make_store(chunks));
    can_be_moved_from(nczchunk::Plan(make_variable(), {}));
    can_be_moved_from(nczchunk::Cache(100));
    can_be_moved_from(nczchunk::Context());
    can_be_moved_from(nczchunk::Codec::own("turn", turn, turn));
    can_be_moved_from(nczchunk::Odometer({0}, {1}, {1}, {1}));

    // None of them does anything but refuse.
    Variable var = make_variable();
    const Variable kept = std::move(var);
    CHECK_THROWS(nczchunk::read<int>(var, make_store(chunks)), Status::invalid, "var is NULL"); // NOLINT
    CHECK_THROWS(nczchunk::read<int>(var, make_store(chunks), {{1, 1}, {2, 2}}), Status::invalid, "var is NULL");
    CHECK_THROWS(nczchunk::Plan(var, {{1, 1}, {2, 2}}), Status::invalid, "var is NULL");
    CHECK_THROWS(var.set_fill_value(1), Status::invalid, "var is NULL");
    CHECK_THROWS(var.set_chunk_order({0}), Status::invalid, "var is NULL");
    CHECK_EQ(var.rank(), 0);
    nczchunk::Plan plan(kept, {});
    const nczchunk::Plan kept_plan = std::move(plan);
    CHECK_THROWS(plan.read_into(make_store(chunks), std::vector<int>(24)), Status::invalid, "plan is NULL"); // NOLINT
    CHECK_THROWS(plan.size(), Status::invalid, "plan is NULL");
    nczchunk::Cache cache(1);
    const nczchunk::Cache kept_cache = std::move(cache);
    CHECK_THROWS(cache.statistics(), Status::invalid, "cache is NULL"); // NOLINT
    nczchunk::Odometer odometer({0}, {1}, {1}, {1});
    const nczchunk::Odometer kept_odometer = std::move(odometer);
    for (const nczchunk::Position &position : odometer) // NOLINT
        CHECK_FAILED("there is no position %zu", position.offset);
    CHECK_EQ(odometer.position().indices.size(), 0);
}

void what_these_are_made_of()
{
    // Chunks of 40 along a dimension of 90 that 10, 13, .. 67 touch.
    const nczchunk::Projections projections(90, 40, 10, 20, 3);
    CHECK_EQ(projections.size(), 2);
    std::size_t elements = 0;
    for (const nczchunk::Projection &projection : projections)
        elements += projection.iocount;
    CHECK_EQ(elements, 20);
    CHECK_EQ(projections[1].chunk_index, 1);
    CHECK_EQ(projections[1].iopos, 10);
    CHECK_THROWS(projections[2], Status::coordinates, "");
    CHECK_THROWS(nczchunk::Projections(90, 40, 10, 81), Status::edge, "");
#if defined(__cpp_lib_ranges) && !(defined(__clang__) && __clang_major__ < 16)
    auto counts = projections | std::views::transform([](const nczchunk::Projection &p) { return p.iocount; });
    CHECK_EQ(*counts.begin(), 10);
#endif

    nczchunk::Odometer odometer({0, 1}, {2, 6}, {1, 2}, {2, 6});
    std::vector<std::size_t> offsets;
    for (const nczchunk::Position &position : odometer) {
        CHECK_EQ(position.offset, 6 * position.indices[0] + position.indices[1]);
        offsets.push_back(position.offset);
    }
    CHECK(offsets == (std::vector<std::size_t>{1, 3, 5, 7, 9, 11}));
    odometer.reset();
    CHECK_EQ(odometer.avail(), 5);
    odometer.skipavail();
    odometer.next();
    CHECK(odometer.more());
    CHECK_EQ(odometer.position().offset, 7);
    CHECK_THROWS(nczchunk::Odometer({2}, {1}, {1}, {1}), Status::coordinates, "");

    CHECK(nczchunk::key_zarr_v2({2, 1}) == "2.1");
    CHECK(nczchunk::key_zarr_v2({2, 1}, '/') == "2/1");
    CHECK(nczchunk::key_zarr_v3({2, 1}) == "c/2/1");
    CHECK(nczchunk::key_zarr_v3({}) == "c");
    CHECK(nczchunk::key_cfdb("sst", {90, 90}, {2, -1}) == "sst!180.-90");
    CHECK_THROWS(nczchunk::key_zarr_v2({-1}), Status::invalid, "");
    CHECK(nczchunk::chunkshape_netcdf({12, 90, 180}, 4) == Lengths({12, 90, 180}));
    CHECK(nczchunk::chunkshape_h5py({365, 721, 1440}, 4) == Lengths({12, 46, 90}));
    CHECK_THROWS(nczchunk::chunkshape_h5py({365}, 0), Status::invalid, "");
    CHECK_EQ(nczchunk::chunkshape_rechunkit({365, 90, 180}, 4).size(), 3);
    CHECK_THROWS(nczchunk::chunkshape_rechunkit({0}, 4), Status::dimension_size, "");
    CHECK_EQ(nczchunk::classic_varsize({3}, 2).size, 6);
    CHECK_EQ(nczchunk::classic_varsize({3}, 2).padded, 8);
    const std::uint64_t sizes[] = {6, 4};
    CHECK_EQ(nczchunk::classic_recsize(sizes), 12);
    CHECK_EQ(nczchunk::classic_offset({0, 3}, 2, 100, 12, {2, 1}), 126);
    CHECK(nczchunk::version() == NCZCHUNK_VERSION);
}

// Callers in several threads, without a context of their own.
void threads_of_the_program()
{
    Chunks chunks = make_chunks();
    const Variable var = make_variable();
    const ChunkStore store = make_store(chunks);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int round = 0; round < 100; round++) {
                CHECK_EQ(nczchunk::read<int>(var, store, {{1, 1}, {1, 1}})[0], 11);
                CHECK_THROWS(nczchunk::read<int>(var, store, {{1, 9}, {1, 1}}), Status::coordinates, "dimension 1");
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

} // namespace

int main()
{
    a_first_read();
    points_and_lists();
    memory_of_the_callers();
    spans_are_made_of_what_is_contiguous();
    lists_of_another_rank_are_refused();
    errors_tell_where();
    a_first_write();
    variables_tell_what_they_are();
    other_layouts_of_memory();
    stores_own_their_callables();
    ranges_of_chunks();
    lent_chunks();
    many_requests_under_way();
    plans();
    copiers();
    codecs_and_caches();
    contexts();
    calls_within_calls();
    objects_are_moved();
    what_these_are_made_of();
    threads_of_the_program();
    return 0;
}
