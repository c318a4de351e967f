// Chunks of the program's own, by lambdas: an array of 4 x 6 ints in chunks of 2 x 3, which are kept in a map. Two rows
// are written, and every third column is read.
//
//     c++ -std=c++17 own_store.cpp -lnczchunk && ./a.out
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "nczchunk.hpp"

int main()
{
    std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, std::vector<int>> chunks;

    // What is stored: the lengths of the array and of a chunk, and what absent chunks read as.
    auto var = nczchunk::Variable::of<int>({4, 6}, {2, 3});
    var.set_fill_value(-1);

    // Where it comes from and goes to. What is thrown here comes out of read and write below.
    const auto store = nczchunk::ChunkStore::reading(
        [&](nczchunk::Request request) {
            const auto chunk = chunks.find({request.index(0), request.index(1)});
            if (chunk == chunks.end())
                request.set_absent();
            else
                request.put(chunk->second);
        },
        [&](nczchunk::Request request) {
            std::vector<int> chunk(6);
            std::memcpy(chunk.data(), request.bytes().data(), request.bytes().size());
            chunks[{request.index(0), request.index(1)}] = std::move(chunk);
        });

    try {
        nczchunk::write(var, store, {{0, 0}, {2, 6}}, std::vector<int>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
        const auto columns = nczchunk::read<int>(var, store, {{1, 1}, {2, 2}, {1, 3}});

        std::printf("%zu chunks\n%d %d\n%d %d\n", chunks.size(), columns[0], columns[1], columns[2], columns[3]);
        return columns == std::vector<int>{11, 14, -1, -1} ? 0 : 1;
    } catch (const nczchunk::Error &error) {
        std::fprintf(stderr, "own_store: %s\n", error.what());
        return 1;
    }
}
