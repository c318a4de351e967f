/*
 * A child that is forked while other threads read can read at once.
 *
 * After a fork the child has one thread, and whatever the others held at that moment they hold for ever. So the library
 * holds nothing that another call would have to wait for: no lock, in no store, and not for its decoders either.
 *
 *     if (fork() == 0)
 *         status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);     whatever others were doing
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "zstd_frame.h"

enum { RANK = 3, ELEMENTS = 12 * 10 * 8 };
enum { READERS = 8, FORKS = 300, AT_A_TIME = 10, MOST_SECONDS = 100, LONG_ENOUGH = 4 };

static const size_t dimlens[RANK] = {12, 10, 8}, chunklens[RANK] = {5, 4, 3}, zeros[RANK] = {0, 0, 0};

typedef struct shared {
    memory_array plain, compressed;
    nczchunk_var *var;
    /* One that fills in chunks, one that decodes them as well, and one that decodes what it is lent. */
    nczchunk_store *stores[3];
    nczchunk_plan *plan;
    int is_over;
    long reads;
} shared;

/* --- The stores are used by all. So the callbacks count nothing, for several threads would count at once. */

static int fill(void *user, nczchunk_request *request)
{
    const memory_chunk *chunk = memory_array_chunk(user, request->chunk_indices);

    request->nbytes = chunk->nbytes;
    memcpy(request->buffer, chunk->bytes, chunk->nbytes < request->size ? chunk->nbytes : request->size);
    return chunk->status;
}

static int lend(void *user, nczchunk_loan *loan)
{
    const memory_chunk *chunk = memory_array_chunk(user, loan->chunk_indices);

    loan->data = chunk->bytes;
    loan->nbytes = chunk->nbytes;
    return chunk->status;
}

static void open_shared(shared *s)
{
    nczchunk_filling_callbacks filling = {.struct_size = sizeof filling, .user = &s->plain, .fill = fill,
                                          .concurrent = 1};
    const nczchunk_lending_callbacks lending = {.struct_size = sizeof lending, .user = &s->compressed, .lend = lend,
                                                .concurrent = 1};

    memset(s, 0, sizeof *s);
    memory_array_init(&s->plain, RANK, dimlens, chunklens, sizeof(int));
    memory_array_init(&s->compressed, RANK, dimlens, chunklens, sizeof(int));
    memory_array_compress(&s->compressed);
    s->var = memory_array_var(&s->plain);
    CHECK_OK(nczchunk_store_filling(&filling, &s->stores[0], NULL));
    filling.user = &s->compressed;
    CHECK_OK(nczchunk_store_filling(&filling, &s->stores[1], NULL));
    CHECK_OK(nczchunk_store_lending(&lending, &s->stores[2], NULL));
    store_add_zstd(s->stores[1]);
    store_add_zstd(s->stores[2]);
    CHECK_OK(nczchunk_plan_new(s->var, zeros, NULL, NULL, NCZCHUNK_READ, &s->plan, NULL));
}

static void close_shared(shared *s)
{
    nczchunk_plan_free(s->plan);
    for (size_t i = 0; i < 3; i++)
        nczchunk_store_free(s->stores[i]);
    nczchunk_var_free(s->var);
    memory_array_clear(&s->plain);
    memory_array_clear(&s->compressed);
}

/* Reads all of each store, directly and by the plan, and a part that does not land in one piece. */
static void read_everything(const shared *s, nczchunk_context *context)
{
    const size_t count[RANK] = {6, 5, 4};
    const ptrdiff_t stride[RANK] = {2, 2, 2};
    int data[ELEMENTS];

    for (size_t i = 0; i < 3; i++) {
        memset(data, 0, sizeof data);
        CHECK_OK(nczchunk_read_vars(s->var, s->stores[i], zeros, NULL, NULL, data, context));
        memory_array_expect(&s->plain, zeros, NULL, NULL, NULL, data);
        CHECK_OK(nczchunk_read_vars(s->var, s->stores[i], zeros, count, stride, data, context));
        memory_array_expect(&s->plain, zeros, count, stride, NULL, data);
        CHECK_OK(nczchunk_plan_read(s->plan, s->stores[i], 0, NCZCHUNK_ALL, data, context));
        memory_array_expect(&s->plain, zeros, NULL, NULL, NULL, data);
    }
}

static const struct timespec moment = {0, 20000};

static void *keep_reading(void *argument)
{
    shared *s = argument;
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    while (!__atomic_load_n(&s->is_over, __ATOMIC_RELAXED)) {
        read_everything(s, context);
        nanosleep(&moment, NULL); /* lets the children have a processor */
        __atomic_fetch_add(&s->reads, 1, __ATOMIC_RELAXED);
    }
    nczchunk_context_free(context);
    return NULL;
}

/* --- The child. If it has to wait for anybody, the alarm ends it; if something is wrong, the check does. Otherwise it
 * ends itself by a signal, so that no memory checker counts what the other threads held as lost. */

static void be_the_child(shared *s, int frees)
{
    nczchunk_context *context;

    alarm(MOST_SECONDS);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 2));
    read_everything(s, context);
    /* What the other threads hold of the stores is lost, but stores can be freed, and others made. */
    if (frees) {
        close_shared(s);
        open_shared(s);
        read_everything(s, context);
        close_shared(s);
    }
    nczchunk_context_free(context);
    raise(SIGKILL);
}

/* test_fork DATA [FORKS]: that many children, however long it takes (scripts/soak). */
int main(int argc, char **argv)
{
    static shared s;
    pthread_t readers[READERS];
    const time_t begun = time(NULL);
    const int is_long = argc > 2, wanted = is_long ? atoi(argv[2]) : FORKS;
    int forks = 0;

    open_shared(&s);
    for (size_t i = 0; i < READERS; i++)
        CHECK_OK(pthread_create(&readers[i], NULL, keep_reading, &s));
    while (__atomic_load_n(&s.reads, __ATOMIC_RELAXED) < READERS)
        CHECK_OK(nanosleep(&moment, NULL));
    /* Fewer under a memory checker, where all takes longer. */
    while (forks < wanted && (is_long || forks < 2 * AT_A_TIME || time(NULL) < begun + LONG_ENOUGH)) {
        pid_t children[AT_A_TIME];

        for (int i = 0; i < AT_A_TIME; i++) {
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0)
                be_the_child(&s, i % 2);
        }
        for (int i = 0; i < AT_A_TIME; i++, forks++) {
            int status;

            CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                CHECK_FAILED("child %d did not read: its status is %#x", forks, (unsigned)status);
        }
    }
    __atomic_store_n(&s.is_over, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < READERS; i++)
        CHECK_OK(pthread_join(readers[i], NULL));
    close_shared(&s);
    printf("%d children have read beside %d threads\n", forks, READERS);
    return 0;
}
