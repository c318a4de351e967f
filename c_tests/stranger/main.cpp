// A program of somebody who installed the library. Argument: the version that was installed.
#include <nczchunk.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

// Eight ints in chunks of four.
using Chunks = std::vector<std::vector<int>>;

int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    auto &chunk = (*static_cast<Chunks *>(user))[static_cast<size_t>(loan->chunk_indices[0])];
    loan->data = chunk.data();
    loan->nbytes = chunk.size() * sizeof(int);
    return NCZCHUNK_NOERR;
}

using Var = std::unique_ptr<nczchunk_var, decltype(&nczchunk_var_free)>;
using ChunkStore = std::unique_ptr<nczchunk_chunk_store, decltype(&nczchunk_chunk_store_free)>;

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2 || nczchunk_version() != std::string(argv[1])) {
        std::cerr << "the library is version " << nczchunk_version() << '\n';
        return 1;
    }
    Chunks chunks = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    const size_t dimlens[] = {8}, chunklens[] = {4}, start[] = {1}, count[] = {3};
    const ptrdiff_t stride[] = {3};

    nczchunk_var *new_var = nullptr;
    int status = nczchunk_var_new(1, dimlens, chunklens, sizeof(int), &new_var, nullptr);
    const Var var(new_var, nczchunk_var_free);

    nczchunk_zero_copy_callbacks callbacks = NCZCHUNK_ZERO_COPY_CALLBACKS_INIT;
    callbacks.user = &chunks;
    callbacks.lend = lend;
    nczchunk_chunk_store *new_store = nullptr;
    if (!status) status = nczchunk_chunk_store_new_zero_copy(&callbacks, &new_store, nullptr);
    const ChunkStore store(new_store, nczchunk_chunk_store_free);

    std::vector<int> data(3);
    if (!status) status = nczchunk_read_vars(var.get(), store.get(), start, count, stride, data.data(), nullptr);
    std::cout << data[0] << ' ' << data[1] << ' ' << data[2] << ": " << nczchunk_strerror(status) << '\n';
    return status;
}
