// Arrays at URLs, in C++: wherever the library takes a path, it takes a URL. `servers.py` runs this with the URL of a
// group that zarr-python has written, of two arrays of 60 x 50 float32, `plain` and `sharded`, whose elements are their
// own numbers; and with a URL where there is nothing yet:
//
//     at_url s3://ocean/z.zarr s3://ocean/cpp.zarr
//
// The server and the credentials are named by the environment, as everywhere: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...
#include "check.hpp"
#include "nczchunk_array.hpp"

#include <numeric>
#include <set>

namespace {

using nczchunk::Array;
using nczchunk::Description;
using nczchunk::Lengths;
using nczchunk::Status;
using nczchunk::Storage;

// An array is opened by the group's URL and its name in the group, and read by hyperslabs like any other.
void reading(const std::string &group, const std::vector<float> &all)
{
    for (const char *name : {"plain", "sharded"}) {
        const auto array = Array::open(group, name);
        CHECK(array.shape() == Lengths({60, 50}) && array.chunk_shape() == Lengths({10, 10}));
        CHECK(array.dimension_name(0) == "y");
        CHECK(array.read<float>() == all);
        const auto every_third = array.read<float>({{5, 0}, {55, 17}, {1, 3}});
        for (std::size_t row = 0; row < 55; row++)
            for (std::size_t column = 0; column < 17; column++)
                CHECK(every_third[17 * row + column] == all[50 * (5 + row) + 3 * column]);
    }
}

// Who opens more than one array of a group opens the group's storage, and the server is connected to once.
void a_group(const std::string &group, const std::vector<float> &all)
{
    const auto storage = Storage::at(group);
    std::set<std::string> names;
    for (const auto &node : nczchunk::list(storage))
        names.insert(node.name);
    CHECK((names == std::set<std::string>{"", "plain", "sharded"}));

    // What a read costs is known before: a row of chunks, each of which is one request.
    const auto plain = Array::open(storage, "plain");
    const auto cost = plain.read_cost({{0, 0}, {1, 50}});
    CHECK_EQ(cost.requests, 5);

    // The requests of one call are in flight together, and threads decode what has come.
    nczchunk::Context context;
    context.threads(2);
    std::vector<float> values(all.size());
    Array::open(storage, "sharded").read_into({}, values, context);
    CHECK(values == all);
}

// Chunks are written as they are written to files. What is there is there for the next who opens it.
void writing(const std::string &own)
{
    const auto description = Description::of<double>({4, 5}).chunks({2, 5}).attribute("units", "K");
    std::vector<double> values(20);
    std::iota(values.begin(), values.end(), 0.5);
    {
        auto array = Array::create(own, "a", description);
        array.write({}, values);
        array.write({{3, 4}, {1, 1}}, std::vector<double>{-1});
    }
    values.back() = -1;
    const auto array = Array::open(own, "a");
    CHECK(array.read<double>() == values);
    CHECK(array.attribute<std::string>("units") == "K");

    // Nothing is replaced unless that is wished.
    CHECK_THROWS(Array::create(own, "a", description), Status::exists, "exists");
}

// What is not there is told, with the URL. Object stores have no directories: where no objects are, there is no array.
void what_is_not_there(const std::string &group)
{
    CHECK(!Array::find(group, "none"));
    CHECK_THROWS(Array::open(group, "none"), Status::not_found, "none");
    CHECK_THROWS(Array::open("s3://no-such-bucket/z.zarr"), Status::not_found, "no such bucket");
}

} // namespace

int main(int argc, char **argv)
{
    CHECK_EQ(argc, 3);
    std::vector<float> all(60 * 50);
    std::iota(all.begin(), all.end(), 0.0f);

    reading(argv[1], all);
    a_group(argv[1], all);
    writing(argv[2]);
    what_is_not_there(argv[1]);
    return 0;
}
