// A program in C++17 of somebody who installed the library. Argument: the version that was installed.
#include <nczchunk.hpp>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    if (argc != 2 || nczchunk::version() != argv[1]) {
        std::cerr << "the library is version " << nczchunk::version() << '\n';
        return 1;
    }
    // Eight ints in chunks of four; there is no third chunk.
    const std::vector<std::vector<int>> chunks = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    const auto var = nczchunk::Variable::of<int>({12}, {4});
    const auto store = nczchunk::ChunkStore::reading(
        [&](nczchunk::Request request) { request.put(chunks.at(static_cast<std::size_t>(request.index(0)))); });

    const std::vector<int> data = nczchunk::read<int>(var, store, {{1}, {3}, {3}});
    try {
        nczchunk::read<int>(var, store);
    } catch (const std::out_of_range &) {
        std::cout << data[0] << ' ' << data[1] << ' ' << data[2] << ": " << nczchunk_strerror(0) << '\n';
    }
    return 0;
}
