// Arrays that are opened by name, in C++: read and written with their types, created, with attributes, in storages of
// every kind, and listed. After test_cpp.cpp.
#include "check.hpp"
#include "nczchunk_array.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <type_traits>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

namespace {

using nczchunk::Access;
using nczchunk::Array;
using nczchunk::Description;
using nczchunk::Layout;
using nczchunk::Lengths;
using nczchunk::Storage;
using nczchunk::Status;

/// Whether a type is one that the header knows.
template <class T, class = void> struct IsKnown : std::false_type {};
template <class T> struct IsKnown<T, std::void_t<decltype(nczchunk::Element<T>::type)>> : std::true_type {};
static_assert(IsKnown<float>::value && IsKnown<char>::value && IsKnown<std::complex<float>>::value, "");
static_assert(!IsKnown<bool>::value && !IsKnown<long double>::value && !IsKnown<void *>::value, "");
#ifdef __STDCPP_FLOAT16_T__
static_assert(!IsKnown<std::float16_t>::value, "a type without a number in netCDF fits no other");
#endif
#ifdef __STDCPP_BFLOAT16_T__
static_assert(!IsKnown<std::bfloat16_t>::value, "");
#endif

std::string coads; // the array of the sea surface temperatures, as files
std::vector<float> raw; // and as it is

void a_first_read()
{
    auto array = Array::open(coads);
    std::vector<float> sst = array.read<float>({{0, 10, 0}, {1, 20, 60}, {1, 1, 3}});
    CHECK_EQ(sst.size(), 20 * 60);
    for (std::size_t row = 0; row < 20; row++)
        for (std::size_t column = 0; column < 60; column++)
            CHECK(sst[60 * row + column] == raw[180 * (10 + row) + 3 * column]);
    CHECK(array.read<float>() == raw);

    CHECK_EQ(array.rank(), 3);
    CHECK(array.shape() == Lengths({12, 90, 180}));
    CHECK(array.chunk_shape() == Lengths({5, 40, 50}));
    CHECK_EQ(array.type(), NCZCHUNK_FLOAT);
    CHECK(array.type_name() == "float32" && array.format() == "Zarr v2");
    const auto codecs = array.codecs();
    CHECK(codecs.size() == 1 && codecs[0].first == "zstd" && codecs[0].second == R"({"level":3})");
    CHECK(array.dimension_name(0) == "TIME");
    CHECK_EQ(array.dimension_names().size(), 3);
    CHECK(array.fill_value<float>() == -1e34f);
    CHECK(array.attribute<std::string>("units") == "Deg C");
    CHECK(array.variable().dimlen(1) == 90);
}

void memory_of_the_callers()
{
    const Array array = Array::open(coads);
    static float map[90][180];
    array.read_into({{3, 0, 0}, {1, 90, 180}}, map);
    CHECK(map[45][90] == raw[(3 * 90 + 45) * 180 + 90]);
    std::vector<float> columns(180 * 90);
    array.read_into({{3, 0, 0}, {1, 90, 180}}, columns, Layout::fortran({1, 90, 180}));
    CHECK(columns[90 * 90 + 45] == map[45][90]);
    std::vector<float> year(12);
    nczchunk::Context context;
    context.threads(2);
    array.read_into({{0, 45, 90}, {12, 1, 1}}, year, context);
    CHECK(year[3] == map[45][90]);

    // It is a variable and a store for plans, too.
    const nczchunk::Plan plan(array.variable(), {{0, 45, 90}, {12, 1, 1}});
    std::vector<float> again(12);
    plan.read_into(array.store(), again);
    CHECK(again == year);

    // What is not as it should be is refused in words.
    std::vector<float> small(11);
    CHECK_THROWS(array.read_into({{0, 45, 90}, {12, 1, 1}}, small), Status::invalid, "12 elements");
    CHECK_THROWS(array.read<double>(), Status::bad_type, "the elements of the array are float32, not float64");
    CHECK_THROWS(array.read<int>(), Status::bad_type, "are float32, not int32");
    CHECK_THROWS(array.read<std::string>(), Status::bad_type, "are float32, not string");
    CHECK_THROWS(array.read_into({}, small, {{1, 1, 1}, 0}), Status::invalid, "44 bytes");
    CHECK_THROWS(array.fill_value<int>(), Status::bad_type, "not int32");
    CHECK_THROWS(array.read<float>({{0, 0}, {1, 1}}), Status::invalid, "start has 2 numbers for 3");
    CHECK_THROWS(array.read<float>({{0, 0, 0}, {1, 91, 1}}), Status::edge, "dimension 1");
    CHECK_THROWS(array.write({{0, 0, 0}, {1, 1, 1}}, std::vector<float>(1)), Status::read_only, "");
}

void what_is_not_there()
{
    CHECK_THROWS(Array::open("no/such/directory"), Status::not_found, "no/such/directory");
    CHECK_THROWS(Array::open("no/such/directory"), std::errc::no_such_file_or_directory, "");
    CHECK(!Array::find("no/such/directory"));
    CHECK(Array::find(coads).value().rank() == 3);
    CHECK_THROWS(Array::find(coads, "../x"), Status::invalid, "name"); // that is no array which may be missing
    CHECK_THROWS(Array::open(std::string("a\0b", 3)), Status::invalid, "NUL");
    CHECK(!Array::find(Storage::memory(), "sst"));

    Array array = Array::open(coads);
    Array moved = std::move(array);
    CHECK(array.get() == nullptr); // NOLINT
    CHECK_THROWS(array.read<float>(), Status::invalid, "was moved from");
    CHECK_THROWS(array.set_verify(true), Status::invalid, "array is NULL");
    array = std::move(moved);
    CHECK_EQ(array.rank(), 3);
    array.close();
    array.close();
    CHECK_THROWS(array.write({}, std::vector<float>()), Status::invalid, "closed");
}

// What is written is read again, with every type.
template <class T> void is_kept(const Storage &storage, const std::vector<T> &values, const char *type_name)
{
    const std::string name = std::string("types/") + type_name;
    {
        const Array array = Array::create(storage, name, Description::of<T>({values.size()}).chunks({2}));
        CHECK(array.type_name() == type_name);
        array.write({}, values);
    }
    CHECK(Array::open(storage, name).read<T>() == values);
}

void types()
{
    const Storage storage = Storage::memory();
    is_kept<signed char>(storage, {-1, 2, 3}, "int8");
    is_kept<unsigned char>(storage, {1, 2, 255}, "uint8");
    is_kept<short>(storage, {-1, 2, 3}, "int16");
    is_kept<unsigned short>(storage, {1, 2, 3}, "uint16");
    is_kept<int>(storage, {-1, 2, 3}, "int32");
    is_kept<unsigned>(storage, {1, 2, 3}, "uint32");
    is_kept<long long>(storage, {-1, 2, 3}, "int64");
    is_kept<std::uint64_t>(storage, {1, 2, UINT64_MAX}, "uint64");
    is_kept<float>(storage, {-1, 2, 3}, "float32");
    is_kept<double>(storage, {-1, 2, 3}, "float64");
    is_kept<std::complex<float>>(storage, {{1, -1}, {2, 0}}, "complex64");
    is_kept<std::complex<double>>(storage, {{1, -1}, {2, 0}}, "complex128");
    is_kept<std::array<char, 3>>(storage, {{'a', 'b', 'c'}, {'d', 'e', 'f'}}, "S3");
    is_kept<std::array<char32_t, 2>>(storage, {{U'a', U'ß'}, {U'c', U'd'}}, "U2");
    is_kept<std::string>(storage, {"one", "", "drei"}, "string");
    static_assert(sizeof(long) != 8 || nczchunk::Element<long>::type == NCZCHUNK_INT64, "");

    // Types without a counterpart are read as what they are made of.
    const Array times = Array::create(storage, "times", Description("datetime64[s]", {2}).fill_value(std::int64_t{-5}));
    times.write({{1}, {1}}, std::vector<std::int64_t>{1000});
    CHECK(times.read<std::int64_t>() == (std::vector<std::int64_t>{-5, 1000}));
    CHECK_THROWS(times.read<std::uint64_t>(), Status::bad_type, "datetime64[s], not uint64");
    const Array flags = Array::create(storage, "flags", Description("bool", {2}).fill_value(std::uint8_t{1}));
    CHECK(flags.read<std::uint8_t>() == (std::vector<std::uint8_t>{1, 1}));
    const Array halves = Array::create(storage, "halves", Description("float16", {2}));
    CHECK_EQ((halves.read<std::array<std::byte, 2>>().size()), 2);
    CHECK_THROWS((halves.read<std::array<std::byte, 4>>()), Status::bad_type, "float16, not V4");
    CHECK(!halves.has_elements<std::uint16_t>());
    const Array text = Array::open(storage, "types/S3");
    CHECK_THROWS(text.read<std::string>(), Status::bad_type, "S3, not string");
    CHECK_THROWS((text.read<std::array<char, 4>>()), Status::bad_type, "S3, not S4");
}

void texts()
{
    const Storage storage = Storage::memory();
    const Array names =
        Array::create(storage, "names", Description::of<std::string>({4}).chunks({2}).fill_value("nobody"));
    names.write({{0}, {2}}, std::vector<std::string_view>{"Ada", "Grace"});
    names.write({{3}, {1}}, std::array<const char *, 1>{"Jean"});
    CHECK(names.read<std::string>() == (std::vector<std::string>{"Ada", "Grace", "nobody", "Jean"}));
    CHECK(names.read<std::string>({{3}, {0}}).empty());
    names.write({{2}, {1}}, std::array<const char *, 1>{nullptr});
    CHECK(names.read<std::string>({{2}, {1}}).at(0).empty());
    std::array<std::string, 2> two;
    names.read_into({{0}, {2}, {3}}, two);
    CHECK(two[1] == "Jean");
    CHECK_THROWS(names.read<std::string>({{3}, {2}}), Status::edge, "");
    CHECK_THROWS(names.read_into({}, two), Status::invalid, "4 elements");
    CHECK_THROWS(names.write({{0}, {1}}, std::vector<std::string>{std::string("a\0b", 3)}), Status::invalid, "NUL");
    CHECK_THROWS(names.write({{0}, {2}}, std::vector<std::string>{"a"}), Status::invalid, "2 elements");
    CHECK_THROWS(Array::open(coads).write({{0, 0, 0}, {1, 1, 1}}, std::vector<std::string>{"a"}), Status::bad_type, "");
}

void creating()
{
    const auto description = [] {
        auto all = Description::of<std::int16_t>({4, 6});
        if (nczchunk::has_codec("gzip"))
            all.codec("gzip", R"({"level": 1})");
        return all.chunks({2, 3})
            .shards({4, 3})
            .dimension_names({"y", ""})
            .fill_value(std::int16_t{-9})
            .attributes_json(R"({"title": "everything"})")
            .attribute("valid_range", std::array<double, 2>{-1, 1.5})
            .attribute("authors", std::vector<std::string>{"Ada", "Grace"})
            .attribute("units", "m")
            .attribute("none", std::vector<int>())
            .attribute("nobody", std::vector<std::string>())
            .attribute("count", 7);
    };
    // In a directory, which is made.
    const Array array = Array::create("cpp.zarr", "group/all", description().overwrite());
    CHECK_THROWS(Array::create("cpp.zarr", "group/all", description()), Status::exists, "");
    CHECK(array.variable().write_chunklen(0) == 4);
    CHECK(array.dimension_names() == (std::vector<std::string>{"y", ""}));
    CHECK(array.fill_value<std::int16_t>() == std::int16_t{-9});
    array.write({{0, 0}, {1, 2}}, std::vector<std::int16_t>{1, 2});
    std::vector<std::int16_t> columns = {3, 4};
    array.write({{2, 0}, {1, 2}}, columns, {{2, 1}, 0});
    CHECK(array.read<std::int16_t>({{0, 0}, {3, 2}}) == (std::vector<std::int16_t>{1, 2, -9, -9, 3, 4}));

    const Array opened = Array::open("cpp.zarr", "group/all");
    CHECK(opened.attribute<std::string>("title") == "everything");
    CHECK(opened.attribute<std::vector<double>>("valid_range") == (std::vector<double>{-1, 1.5}));
    CHECK(opened.attribute<std::vector<std::string>>("authors") == (std::vector<std::string>{"Ada", "Grace"}));
    CHECK_EQ(opened.attribute<int>("count"), 7);
    CHECK(opened.attributes_json().find(R"("none":[],"nobody":[])") != std::string::npos);

    const Array v2 = Array::create(
        "cpp-v2.zarr", "v2",
        Description::of<int>({4}).format(nczchunk::Format::zarr_v2).separator('/').endian(nczchunk::Endian::big)
            .uncompressed().overwrite());
    v2.write({}, std::vector<int>{1, 2, 3, 4});
    std::ifstream chunk("cpp-v2.zarr/v2/0", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(chunk), {}};
    CHECK(bytes == std::string("\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4", 16));
    CHECK(v2.variable().endian() == nczchunk::Endian::big);

    // A description that cannot be is refused as it is made.
    CHECK_THROWS(Description::of<int>({4}).chunks({2, 2}), Status::invalid, "1 dimensions, its chunk 2");
    CHECK_THROWS(Description::of<int>({4}).shards({}), Status::invalid, "its shard 0");
    CHECK_THROWS(Description::of<int>({4}).dimension_names({"a", "b"}), Status::invalid, "list of names 2");
    CHECK_THROWS(Description::of<int>({4}).fill_value(1.0), Status::bad_type, "are int32, its fill value is float64");
    CHECK_THROWS(Description::of<int>({4}).fill_value("1"), Status::bad_type, "is string");
    CHECK_THROWS(Description("float16", {4}).fill_value(std::array<std::byte, 2>{}), Status::bad_type, "is V2");
    CHECK_THROWS(Array::create("cpp.zarr", "x", Description("float17", {4})), Status::bad_type, "float17");
    CHECK_THROWS(Array::create("cpp.zarr", "x", Description::of<int>({4}).codec("rot13")), Status::no_filter, "rot13");
}

void attributes()
{
    const Storage storage = Storage::memory();
    Array array = Array::create(storage, "a", Description::of<int>({4}).attributes_json(R"({"big": 1e300, "n": 300})"));

    CHECK_EQ(array.attribute<int>("n"), 300);
    CHECK(array.attribute<double>("n") == 300);
    CHECK_THROWS(array.attribute<signed char>("n"), Status::range, "n is 300, which is out of the range of int8");
    CHECK_THROWS(array.attribute<float>("big"), Status::range, "big");
    CHECK_THROWS(array.attribute<int>("big"), Status::range, "big");
    CHECK_THROWS(array.attribute<std::string>("n"), Status::bad_type, "n is not a string");
    CHECK_THROWS(array.attribute("none"), Status::no_attribute, "");
    CHECK(!array.find_attribute("none"));
    CHECK(array.find_attribute("n")->as<short>() == 300);

    array.set_attribute("units", std::string("m"));
    array.set_attribute("empty", "");
    array.set_attribute("half", 0.5);
    array.set_attribute("minus", -1);
    array.set_attribute("many", std::uint64_t{UINT64_MAX});
    array.set_attribute("range", std::vector<float>{-2, 2});
    array.set_attribute("texts", std::array<const char *, 2>{"one", "two"});
    CHECK(array.attribute<std::string>("units") == "m");
    CHECK(array.attribute<std::string>("empty").empty());
    CHECK(array.attribute<float>("half") == 0.5f);
    CHECK_THROWS(array.attribute<int>("half"), Status::range, "half");
    CHECK_THROWS(array.attribute<unsigned>("minus"), Status::range, "minus");
    CHECK_EQ(array.attribute<long>("minus"), -1);
    CHECK_THROWS(array.attribute<double>("many"), Status::range, "many");
    CHECK(array.attribute<std::uint64_t>("many") == UINT64_MAX);
    CHECK_THROWS(array.attribute<std::int64_t>("many"), Status::range, "many");
    CHECK_THROWS(array.attribute<float>("range"), Status::invalid, "has 2 values");
    CHECK(array.attribute<std::vector<int>>("range") == (std::vector<int>{-2, 2}));
    CHECK(array.attribute<std::vector<std::string>>("texts")[1] == "two");
    CHECK(array.attribute<std::vector<std::string>>("units") == std::vector<std::string>{"m"});
    CHECK_THROWS(array.attribute<int>("units"), Status::text, "units is a string");

    array.remove_attribute("big");
    CHECK_THROWS(array.remove_attribute("big"), Status::no_attribute, "");
    std::vector<std::string> names;
    for (const nczchunk::Attribute &attribute : array.attributes())
        names.emplace_back(attribute.name());
    CHECK_EQ(names.size(), 8);
    CHECK(names.front() == "n" && names.back() == "texts");
    CHECK_EQ(array.attributes()[0].type(), NCZCHUNK_INT);
    CHECK(array.attributes_json().find("\"units\":\"m\"") != std::string::npos);
}

void resizing_and_caches()
{
    const Storage storage = Storage::memory();
    Array array = Array::create(storage, "a", Description::of<int>({4}).chunks({2}).fill_value(-1));
    array.write({}, std::vector<int>{1, 2, 3, 4});
    array.resize({5});
    CHECK(array.read<int>() == (std::vector<int>{1, 2, 3, 4, -1}));
    CHECK_THROWS(array.resize({5, 1}), Status::invalid, "1 dimensions, not 2");
    nczchunk::Cache cache(1000);
    array.set_verify(true);
    array.set_cache(cache);
    for (std::size_t i = 0; i < 4; i++)
        CHECK_EQ(array.read<int>({{i}, {1}})[0], i + 1);
    if (nczchunk::has_codec("zstd"))
        CHECK_EQ(cache.statistics().chunks, 2);
    array.set_no_cache();
    CHECK_EQ(array.read<int>({{1}, {1}})[0], 2);
}

// A storage of the program's own: objects in a map, by a class.
struct Table final : nczchunk::ObjectStore {
    using ObjectStore = std::map<std::string, std::vector<std::byte>, std::less<>>;
    Table(ObjectStore &with, int &count) : objects(with), destroyed(count) {}
    ~Table() override { destroyed++; }
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;

    void read(nczchunk::ObjectRequest request) override
    {
        const auto found = objects.find(request.name());
        found == objects.end() ? request.set_absent() : request.put(found->second);
    }
    void list(std::string_view prefix, const nczchunk::Found &found) override
    {
        std::string beginning(prefix);
        if (!beginning.empty())
            beginning += '/';
        std::set<std::string> prefixes;
        for (const auto &[name, bytes] : objects) {
            if (name.compare(0, beginning.size(), beginning) != 0)
                continue;
            const std::string rest = name.substr(beginning.size());
            const std::size_t end = rest.find('/');
            if (end == std::string::npos)
                found(rest, false);
            else if (prefixes.insert(rest.substr(0, end)).second)
                found(rest.substr(0, end), true);
        }
    }
    void write(std::string_view name, nczchunk::Span<const std::byte> bytes) override
    {
        if (name == forbidden)
            throw std::logic_error("that may not be written");
        objects[std::string(name)].assign(bytes.begin(), bytes.end());
    }
    void remove(std::string_view name) override { objects.erase(std::string(name)); }

    ObjectStore &objects;
    int &destroyed;
    std::string forbidden;
};

void places_of_ones_own()
{
    Table::ObjectStore objects;
    int destroyed = 0;
    {
        auto table = std::make_unique<Table>(objects, destroyed);
        table->forbidden = "a/sst/c/1";
        std::optional<Array> array;
        {
            const Storage storage = Storage::own(std::move(table));
            const auto description = Description::of<int>({6}).chunks({2}).shards({4}).overwrite();
            if (nczchunk::has_codec("sharding_indexed"))
                Array::create(storage, "shards", description).write({{1}, {3}}, std::vector<int>{1, 2, 3});
            array = Array::create(storage, "a/sst", Description::of<int>({6}).chunks({2}).overwrite());
        }
        CHECK_EQ(destroyed, 0); // the array goes on using it
        array->write({{0}, {2}}, std::vector<int>{1, 2});
        try {
            array->write({}, std::vector<int>(6));
            CHECK_FAILED("one object may not be written");
        } catch (const std::logic_error &error) {
            CHECK_STR(error.what(), "that may not be written");
        }
        array->resize({1});
        CHECK(objects.count("a/sst/c/0") == 1);
    }
    CHECK_EQ(destroyed, 1);
    {
        const Storage storage = Storage::own(std::make_unique<Table>(objects, destroyed));
        CHECK(Array::open(storage, "a/sst").read<int>() == std::vector<int>{0});
        CHECK(Array::open(storage, "shards").read<int>() == (std::vector<int>{0, 1, 2, 3, 0, 0}));
        std::vector<std::string> names;
        for (const nczchunk::Node &node : nczchunk::list(storage))
            names.push_back(node.name);
        CHECK(names == (std::vector<std::string>{"", "a", "a/sst", "shards"}));
    }

    // By callables: to read, and to write. Exceptions come through, whatever is read.
    const auto read = [&](nczchunk::ObjectRequest request) {
        if (request.name() == "a/sst/c/0")
            throw std::out_of_range("gone");
        const auto found = objects.find(request.name());
        if (found == objects.end())
            return request.set_absent();
        request.put(found->second);
    };
    const Array array = Array::open(Storage::own(read), "a/sst");
    try {
        array.read<int>();
        CHECK_FAILED("the chunk cannot be read");
    } catch (const std::out_of_range &error) {
        CHECK_STR(error.what(), "gone");
    }
    CHECK_THROWS(Array::create(Storage::own(read), "b", Description::of<int>({1})), Status::read_only, "");
    int written = 0;
    nczchunk::StorageOptions options;
    options.gap = 100;
    const auto write = [&](std::string_view, nczchunk::Span<const std::byte>) { written++; };
    Array::create(Storage::own(read, write, options), "b",
                  Description::of<int>({1}));
    CHECK(written > 0);
    const Storage throws = Storage::own([](nczchunk::ObjectRequest) { throw std::out_of_range("all gone"); });
    try {
        Array::open(throws, "a/sst");
        CHECK_FAILED("nothing can be read");
    } catch (const std::out_of_range &error) {
        CHECK_STR(error.what(), "all gone");
    }
    CHECK_THROWS(Storage::own(std::unique_ptr<Table>()), Status::invalid, "ObjectStore is null");
}

// A storage with latency: many reads in flight. Here the last one is answered first.
struct Far final : nczchunk::ObjectStore {
    explicit Far(const Table::ObjectStore &with) : objects(with) {}
    bool start(nczchunk::ObjectRequest request) override
    {
        const auto found = objects.find(request.name());
        if (found == objects.end())
            return false;
        requests_in_flight.push_back(request);
        most = std::max(most, requests_in_flight.size());
        return true;
    }
    nczchunk::ObjectEnded wait() override
    {
        const nczchunk::ObjectRequest request = requests_in_flight.back();
        CHECK(request == requests_in_flight.back() && !(request != requests_in_flight.back()));
        requests_in_flight.pop_back();
        if (request.name() == failing)
            return {request, std::make_exception_ptr(std::out_of_range(std::string(request.name())))};
        const auto found = objects.find(request.name());
        if (request.from_end() || request.offset() > 0)
            request.put(found->second);
        else {
            const std::size_t size = std::min(request.buffer().size(), found->second.size());
            std::copy_n(found->second.begin(), size, request.buffer().begin());
            request.set_length(size, found->second.size());
        }
        return request;
    }
    void cancel(nczchunk::ObjectRequest) override { cancelled++; }

    const Table::ObjectStore &objects;
    std::vector<nczchunk::ObjectRequest> requests_in_flight;
    std::size_t most = 0;
    int cancelled = 0;
    std::string failing;
};

void places_with_latency()
{
    Table::ObjectStore objects;
    int destroyed = 0;
    std::vector<int> values(40);
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<int>(i);
    const Storage table = Storage::own(std::make_unique<Table>(objects, destroyed));
    Array::create(table, "a", Description::of<int>({40}).chunks({2}))
        .write({}, values);

    auto far = std::make_unique<Far>(objects);
    Far &looked_at = *far;
    nczchunk::StorageOptions options;
    options.in_flight = 8;
    const Array array = Array::open(Storage::own(std::move(far), options), "a");
    CHECK(array.read<int>() == values);
    CHECK(looked_at.most > 1 && looked_at.most <= 8);
    looked_at.failing = "a/c/7";
    array.read<int>({{0}, {10}});
    Array without_cache = Array::open(Storage::own(std::make_unique<Table>(objects, destroyed)), "a");
    without_cache.set_no_cache();
    CHECK(without_cache.read<int>() == values);

    auto failing = std::make_unique<Far>(objects);
    failing->failing = "a/c/7";
    const Array fails = Array::open(Storage::own(std::move(failing), options), "a");
    try {
        fails.read<int>();
        CHECK_FAILED("chunk 7 cannot be read");
    } catch (const std::out_of_range &error) {
        CHECK_STR(error.what(), "a/c/7");
    }
}

void the_librarys_places()
{
    const Storage memory = Storage::memory();
    CHECK_THROWS(memory.write("../x", std::string("no")), Status::invalid, "");
    memory.write("a/.zarray", std::string(R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2",)"
                                          R"( "compressor": null, "fill_value": -1, "order": "C", "filters": null})"));
    memory.write("a/0", std::vector<std::int16_t>{1, 2});
    memory.write("empty", std::string());
    CHECK(Array::open(memory, "a").read<short>() == (std::vector<short>{1, 2, -1, -1}));

    Storage directory = Storage::create("cpp-storage");
    Array::create(directory, "a", Description::of<int>({1}).overwrite()).write({}, std::vector<int>{5});
    directory.finish();
    CHECK_EQ(Array::open(Storage::at("cpp-storage"), "a").read<int>()[0], 5);
    CHECK_THROWS(Storage::at("no/such/storage"), Status::not_found, "");
    directory.allow_partial(true);
    directory.allow_external_links(true);

    Storage moved = std::move(directory);
    CHECK(directory.get() == nullptr); // NOLINT
    CHECK_THROWS(directory.finish(), Status::invalid, "storage is NULL");
    CHECK_THROWS(directory.file("x"), Status::invalid, "storage is NULL");
    CHECK_THROWS(directory.add_codec("x", [](nczchunk::CodecUse) { return nczchunk::Codec::zstd(); }), Status::invalid,
                 "storage is NULL");
    directory = std::move(moved);
    CHECK_EQ(Array::open(directory, "a").read<int>()[0], 5);

    try {
        Storage zip = Storage::create_zip("cpp.zip");
        Array::create(zip, "a", Description::of<int>({1})).write({}, std::vector<int>{6});
        CHECK(!Array::find("cpp-none.zip", "a"));
        zip.finish();
        CHECK_EQ(Array::open("cpp.zip", "a").read<int>()[0], 6);
    } catch (const nczchunk::Error &error) {
        CHECK(error.code() == Status::not_built); // without zip files
    }
}

// How much memory may be taken for what is stored; what would take more is refused, and the message names the limit.
void limits_of_memory()
{
    Storage storage = Storage::memory();
    storage.memory_limits({0, 1000, 0});
    const Array array = Array::create(storage, "a", Description::of<std::string>({1}).uncompressed());
    array.write({}, std::vector<std::string>{std::string(2000, 'x')});
    CHECK_THROWS(array.read<std::string>(), Status::no_memory,
                 "chunk (0): 2008 bytes of memory are needed, above the limit string_chunk_bytes = 1000; raise it by "
                 "nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust");
    storage.memory_limits({0, 3000, 0});
    CHECK_EQ(Array::open(storage, "a").read<std::string>()[0].size(), 2000);
    storage.memory_limits({0, 0, 100});
    CHECK_THROWS(Array::open(storage, "a"), Status::no_memory, "");
    storage.memory_limits({1000, 0, 0});
    const Array bytes =
        Array::create(storage, "b", Description::of<unsigned char>({2000}).chunks({2000}).codec("zstd"));
    bytes.write({}, std::vector<unsigned char>(2000, 'x'));
    CHECK_THROWS(bytes.read<unsigned char>({{0}, {2}, {1999}}), Status::no_memory, "");
    storage.memory_limits({});
    CHECK(Array::open(storage, "b").read<unsigned char>({{0}, {2}, {1999}}) == std::vector<unsigned char>(2, 'x'));
}

// A file that holds arrays is a storage, and may be an object of another.
void files_in_places(const std::string &data)
{
    std::ifstream stream(data + "/coads_sst.nc", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    const Storage storage = Storage::memory();
    storage.write("2020/sst.nc", bytes);
    const Storage file = storage.file("2020/sst.nc");
    CHECK(Array::open(file, "SST").read<float>() == Array::open(data + "/coads_sst.nc", "SST").read<float>());
}

// A codec that the library does not have: what a byte is more than the key.
void codecs_of_ones_own()
{
    auto key = std::make_shared<int>(3);
    std::optional<Array> array;
    {
        Storage storage = Storage::memory();
        storage.add_codec("caesar", [key](nczchunk::CodecUse use) {
            CHECK(use.type_name() == "uint8");
            CHECK_EQ(use.element_size(), 1);
            if (use.name() != "caesar" || use.configuration() != "{}")
                throw nczchunk::Error(Status::no_filter, "no such key");
            const auto by = [key](int sign) {
                return [key, sign](nczchunk::Coding coding) {
                    std::vector<std::byte> turned;
                    for (const std::byte byte : coding.source())
                        turned.push_back(static_cast<std::byte>(std::to_integer<int>(byte) + sign * *key));
                    coding.put(turned);
                };
            };
            return nczchunk::Codec::own("caesar", by(-1), by(1));
        });
        const auto description = [] { return Description::of<unsigned char>({3}).format(nczchunk::Format::zarr_v2); };
        array = Array::create(storage, "a", description().codec("caesar"));
        CHECK_THROWS(Array::create(storage, "b", description().codec("caesar", R"({"key": 4})")), Status::no_filter,
                     "no such key");
        CHECK_THROWS(storage.add_codec("", [](nczchunk::CodecUse) { return nczchunk::Codec::zstd(); }), Status::invalid,
                     "");
    }
    CHECK(key.use_count() > 1);
    array->write({}, std::string("abc").substr(0, 0).empty() ? std::vector<unsigned char>{'a', 'b', 'c'}
                                                             : std::vector<unsigned char>());
    CHECK(array->read<unsigned char>() == (std::vector<unsigned char>{'a', 'b', 'c'}));
    // Another array in its place: the first one's codec goes with it.
    *array = Array::open(coads);
    CHECK_EQ(key.use_count(), 1);
}

void groups()
{
    const Storage storage = Storage::memory();
    nczchunk::create_group(storage, "ocean", R"({"title": "Ocean"})", nczchunk::Format::zarr_v2);
    nczchunk::create_group(storage, "ocean/deep");
    nczchunk::set_group_attribute(storage, "ocean", "range", std::vector<int>{1, 2});
    nczchunk::set_group_attributes_json(storage, "ocean", R"({"by": {"name": "me"}})");
    nczchunk::remove_group_attribute(storage, "ocean", "title");
    nczchunk::consolidate(storage);
    const nczchunk::Node node = nczchunk::node(storage, "ocean");
    CHECK(node.is_group && node.format == "Zarr v2");
    CHECK(node.attributes_json == R"({"range":[1,2],"by":{"name":"me"}})");
    CHECK(nczchunk::node(storage, "ocean/deep").format == "Zarr v2");
    CHECK_THROWS(nczchunk::create_group(storage, "ocean"), Status::exists, "ocean");
    CHECK_THROWS(nczchunk::remove_group_attribute(storage, "ocean", "title"), Status::no_attribute, "title");
    CHECK_THROWS(nczchunk::create_group(coads), Status::exists, "the storage");
    CHECK(nczchunk::group_dimensions(storage, "ocean").empty());
    const char *dimensions = R"({"_nczarr_group": {"dimensions": {"x": 4, "t": {"size": 2, "unlimited": 1}}}})";
    storage.write("ocean/.zattrs", std::string(dimensions));
    const std::vector<nczchunk::GroupDimension> all = nczchunk::group_dimensions(storage, "ocean");
    CHECK(all.size() == 2 && all[0].name == "x" && all[0].len == 4 && all[1].is_unlimited);

    storage.write("a/0", std::string("abc"));
    const char *document = R"({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|u1", "fill_value": 0,
        "order": "C", "compressor": null, "filters": null})";
    const Array array = Array::open_document(storage, "a", document);
    CHECK(array.read<unsigned char>() == (std::vector<unsigned char>{'a', 'b', 'c'}));
}

void listing()
{
    const Storage storage = Storage::memory();
    Array::create(storage, "ocean/sst",
                  Description::of<float>({90, 180}).chunks({30, 60}).dimension_names({"lat", "lon"}).attribute("n", 1));
    Array::create(storage, "mask", Description("bool", {90, 180}).chunks({30, 60}).shards({90, 180}));
    storage.write("broken/zarr.json", std::string(R"({"zarr_format": 3, "node_type": "array", "shape": "long"})"));

    const std::vector<nczchunk::Node> nodes = nczchunk::list(storage);
    CHECK_EQ(nodes.size(), 5);
    CHECK(nodes[0].name.empty() && nodes[0].is_group);
    CHECK(nodes[1].name == "broken");
    CHECK_EQ(nodes[1].status, NCZCHUNK_ENCZARR);
    CHECK(nodes[1].message.find("$.shape") != std::string::npos);
    CHECK(nodes[2].type_name == "bool");
    CHECK(nodes[2].shard_shape == Lengths({90, 180}));
    CHECK(nodes[4].name == "ocean/sst" && !nodes[4].is_group);
    CHECK(nodes[4].shape == Lengths({90, 180}) && nodes[4].chunk_shape == Lengths({30, 60}));
    CHECK(!nodes[4].shard_shape);
    CHECK_EQ(nodes[4].type, NCZCHUNK_FLOAT);
    CHECK(nodes[4].dimension_names[1] == "lon" && !nodes[4].is_unlimited[1]);
    CHECK(nodes[4].attributes_json == R"({"n":1})");
    CHECK_EQ(nczchunk::list(storage, "", false).size(), 4);
    CHECK_EQ(nczchunk::list(coads).size(), 1);
    CHECK_THROWS(nczchunk::list(storage, "none"), Status::not_found, "");
    CHECK_THROWS(nczchunk::list("no/such/path"), Status::not_found, "");

    // One after another, until it is enough; or something is wrong.
    int calls = 0;
    nczchunk::list_each(storage, "", true, [&](nczchunk::NodeRef node) {
        CHECK(node.status() == 0 || !node.message().empty());
        return ++calls < 3;
    });
    CHECK_EQ(calls, 3);
    nczchunk::list_each(coads, "", true, [&](nczchunk::NodeRef node) {
        CHECK(!node.is_group() && node.name().empty() && node.type() == NCZCHUNK_FLOAT);
        CHECK(node.type_name() == "float32" && node.dimension_name(0) == "TIME" && node.shape()[2] == 180);
        for (const nczchunk::Attribute &attribute : node.attributes())
            calls += attribute.name() == "units" && attribute.as<std::string>() == "Deg C" ? 10 : 0;
    });
    CHECK_EQ(calls, 13);
    try {
        nczchunk::list_each(storage, "", true, [](nczchunk::NodeRef) { throw std::domain_error("enough"); });
        CHECK_FAILED("the callable throws");
    } catch (const std::domain_error &error) {
        CHECK_STR(error.what(), "enough");
    }
}

/// What an HDF5 file has and a copy of it does not: see test_netcdf.c.
void what_a_copy_does_not_have(const std::string &data)
{
    using Told = std::vector<std::pair<std::string, std::string>>;
    const std::string path = data + "/../tests/vectors/left_out.h5";
    CHECK(Array::open(coads).left_out().empty());
    CHECK(nczchunk::list(coads)[0].left_out.empty());
    const Storage storage = Storage::at(path);
    try {
        const Told told = Array::open(storage, "enumeration").left_out();
        CHECK_EQ(told.size(), 2);
        CHECK(told[0].first == "origin" && told[0].second.find("compound") != std::string::npos);
        CHECK(told[1].first.empty() && told[1].second == "not supported: the names of an enumeration's values");
    } catch (const nczchunk::Error &error) {
        CHECK(error.code() == Status::not_built); // a library without HDF5 files
        return;
    }
    const Told of_group = nczchunk::node(storage, "group").left_out;
    CHECK(of_group.size() == 1 && of_group[0].first == "key");
    Told of_array;
    nczchunk::list_each(storage, "group/plain", false, [&](nczchunk::NodeRef node) { of_array = node.left_out(); });
    CHECK(of_array.size() == 2 && of_array[0].first == "colour" && of_array[1].first == "reference");
}

/// Which bytes of which object a chunk is, all at once or one after another.
void where_chunks_are()
{
    const Array array = Array::open(coads);
    const std::vector<nczchunk::Located> all = array.locate();
    CHECK_EQ(all.size(), 36);
    CHECK(all[1].indices == std::vector<std::ptrdiff_t>({0, 0, 1}) && all[1].object == "0.0.1" && all[1].is_stored);
    std::ifstream file(coads + "/0.0.1", std::ios::binary | std::ios::ate);
    CHECK_EQ(all[1].len, static_cast<std::uint64_t>(file.tellg()));
    CHECK_EQ(all[1].offset, 0);
    CHECK_EQ(std::count_if(all.begin(), all.end(), [](const auto &chunk) { return chunk.is_stored; }), 34);
    CHECK_EQ(array.locate({{0, 80, 40}, {1, 10, 110}}).size(), 3);

    int calls = 0;
    array.locate_each({}, [&](nczchunk::LocatedRef chunk) {
        CHECK(chunk.indices().size() == 3 && !chunk.object().empty());
        return ++calls < 5;
    });
    CHECK_EQ(calls, 5);
    try {
        array.locate_each({}, [](nczchunk::LocatedRef) { throw std::domain_error("enough"); });
        CHECK_FAILED("the callable throws");
    } catch (const std::domain_error &error) {
        CHECK_STR(error.what(), "enough");
    }
}

} // namespace

/// An array gets other chunks, and tells how far it is.
void rechunking()
{
    const Storage storage = Storage::memory();
    const Array maps = Array::create(storage, "maps", Description::of<int>({40, 6, 6}).chunks({1, 6, 6}));
    std::vector<int> values(40 * 36);
    for (std::size_t i = 0; i < values.size(); i++) values[i] = static_cast<int>(i);
    maps.write({}, values);

    const nczchunk::RechunkOptions series =
        nczchunk::RechunkOptions().chunks({40, 3, 3}).codec("zstd", "1").memory(std::size_t(64) << 20);
    const nczchunk::RechunkReport planned = nczchunk::rechunk_plan(maps, series);
    CHECK(planned.num_passes == 1 && planned.chunks_read == 40 && planned.memory <= (std::size_t(64) << 20));
    nczchunk::Context context;
    std::size_t calls = 0;
    nczchunk::Progress last{};
    context.threads(2).progress([&](const nczchunk::Progress &far) {
        last = far;
        calls++;
    });
    const nczchunk::RechunkReport done = nczchunk::rechunk(maps, storage, "series", series, context);
    CHECK(done.chunks_read == 40 && calls > 0 && last.chunks_done == last.num_chunks);
    CHECK(last.bytes_done == last.num_bytes && last.num_bytes > 0);
    const Array found = Array::open(storage, "series");
    CHECK(found.read<int>() == values);
    CHECK_EQ(nczchunk_var_chunklen(found.variable().get(), 0), 40u);

    CHECK_THROWS(nczchunk::rechunk(maps, storage, "series", series), Status::exists, "series");
    CHECK_THROWS(nczchunk::rechunk(maps, storage, "x", nczchunk::RechunkOptions().chunks({1, 1})), Status::invalid,
                 "for each dimension");
    CHECK_THROWS(nczchunk::rechunk_plan(maps, nczchunk::RechunkOptions().memory(1)), Status::no_memory, "at least");
    // A callback ends the call.
    context.progress([](const nczchunk::Progress &) { return false; });
    CHECK_THROWS(nczchunk::rechunk(maps, storage, "ended", series, context), std::errc::operation_canceled, "");
    CHECK(!Array::find(storage, "ended"));
}

int main(int argc, char **argv)
{
    const std::string data = argc > 1 ? argv[1] : "data";
    coads = data + "/coads_sst.zarr";
    std::ifstream stream(data + "/coads_sst.f32", std::ios::binary);
    raw.resize(12 * 90 * 180);
    stream.read(reinterpret_cast<char *>(raw.data()), static_cast<std::streamsize>(raw.size() * sizeof(float)));
    CHECK(stream.good());

    a_first_read();
    memory_of_the_callers();
    what_is_not_there();
    types();
    texts();
    creating();
    attributes();
    resizing_and_caches();
    places_of_ones_own();
    places_with_latency();
    the_librarys_places();
    limits_of_memory();
    files_in_places(data);
    codecs_of_ones_own();
    listing();
    groups();
    what_a_copy_does_not_have(data);
    where_chunks_are();
    rechunking();
    return 0;
}
