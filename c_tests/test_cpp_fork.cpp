// A child that is forked while other threads have calls in several threads in flight can make such calls at once, and
// gets what its own callbacks throw.
#include "check.hpp"

#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using nczchunk::ChunkStore;
using nczchunk::Request;
using nczchunk::Variable;

constexpr int FORKS = 300, THREADS = 3;

void read(const Variable &var, const ChunkStore &store)
{
    nczchunk::Context context;
    context.threads(2);
    std::vector<int> data(16);
    nczchunk::read_into(var, store, {}, data, context);
    for (int i = 0; i < 16; i++)
        CHECK_EQ(data[i], i / 2);
}

void be_the_child(const Variable &var, const ChunkStore &store, std::atomic<bool> &throws)
{
    alarm(60);
    read(var, store);
    throws = true;
    bool is_thrown = false;
    try {
        read(var, store);
    } catch (const std::ptrdiff_t &index) {
        is_thrown = index == 7;
    }
    CHECK(is_thrown);
    // No memory checker counts what the other threads held as lost.
    raise(SIGKILL);
}

} // namespace

int main()
{
    std::atomic<bool> throws{false}, is_over{false};
    const Variable var = Variable::of<int>({16}, {2});
    const ChunkStore store = ChunkStore::reading(
        [&](Request request) {
            const std::ptrdiff_t index = request.index(0);
            if (throws && index == 7)
                throw index;
            const int chunk[2] = {static_cast<int>(index), static_cast<int>(index)};
            request.put(chunk);
        },
        {true});
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++) {
        threads.emplace_back([&] {
            while (!is_over)
                read(var, store);
        });
    }
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            be_the_child(var, store, throws);
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    is_over = true;
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}
