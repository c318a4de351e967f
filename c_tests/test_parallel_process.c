/*
 * What a call's threads are to the program around it: after test_parallel.c.
 *
 * They begin and end with the call, so that a program may fork whenever no call is running. A program that may have no
 * more threads has its work done by fewer. Signals stay with the program's own threads, but for those of a fault, which
 * its handlers get in every thread. Callbacks may call the library themselves, and so may other threads of the program.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counted_threads.h"
#include "tasks.h"
#include "watched_array.h"

/* What is read. */
static unsigned char data[LARGE_ELEMENT * ELEMENTS];

/* --- How many there are. */

static void numbers_of_threads(void)
{
    const size_t length = 300, one = 1, none = 0;
    watched w;

    watched_open(&w, FILLING);
    watched_replace(&w, 1, &length, &one);
    CHECK_EQ(nczchunk_context_set_threads(NULL, 2), NCZCHUNK_EINVAL);

    /* A number that is refused changes nothing. */
    watched_expect_threads(&w, 3, 3);
    CHECK_EQ(nczchunk_context_set_threads(w.context, 0), NCZCHUNK_EINVAL);
    threads_begun = 0;
    CHECK_OK(watched_read(&w, data));
    CHECK_EQ(threads_begun, 2);

    /* Without a context there is one. */
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, NULL));
    CHECK_EQ(threads_begun, 2);

    /* A number that no machine has room for is no reason to take all there is. */
    threads_begun = 0;
    watched_expect_threads(&w, SIZE_MAX, 256);
    CHECK_OK(watched_read(&w, data));
    CHECK_EQ(threads_begun, 255);
    watched_check(&w, data);

    /* Nothing to do is for nobody. */
    threads_begun = 0;
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, &none, NULL, data, w.context));
    CHECK_EQ(threads_begun, 0);
    watched_close(&w);
}

/* Where the system refuses a thread, the others do the work, be it the caller alone. */
static void refused_threads(store_kind kind)
{
    watched w;

    watched_open_large(&w, kind);
    w.also = watched_take_a_while;
    for (long allowed = 0; allowed < 5; allowed++) {
        watched_expect_threads(&w, 8, 1 + (size_t)allowed);
        threads_allowed = allowed;
        threads_refused = 0;
        CHECK_OK(watched_read(&w, data));
        threads_allowed = -1;
        CHECK_EQ(threads_refused, 1);
        CHECK_EQ(w.num_threads, 1 + allowed);
        watched_check(&w, data);
    }
    watched_close(&w);
}

/* --- They begin and end with the call. */

static void no_thread_is_left(void)
{
    const struct timespec moment = {0, 1000000};
    const long before = count_tasks();
    watched w;

    watched_open(&w, FILLING);
    for (int failing = 0; failing <= 1; failing++) {
        w.array.chunks[5].status = failing ? 77 : NCZCHUNK_NOERR;
        threads_begun = 0;
        watched_expect_threads(&w, 8, 8);
        CHECK_EQ(watched_read(&w, data), failing ? 77 : NCZCHUNK_NOERR);
        CHECK_EQ(threads_begun, 7);
        /* The system may list a thread for a moment after it has ended. */
        while (count_tasks() > before)
            nanosleep(&moment, NULL);
        CHECK_EQ(count_tasks(), before);
    }
    watched_close(&w);
}

/* A child has none of its parent's threads, and needs none of them. */
static void after_a_fork(store_kind kind)
{
    int status;
    pid_t child;
    watched w;

    watched_open(&w, kind);
    watched_compress(&w);
    watched_expect_threads(&w, 4, 4);
    CHECK_OK(watched_read(&w, data));

    /* From here on in both. */
    child = fork();
    CHECK(child >= 0);
    memset(data, 0, sizeof data);
    watched_expect_threads(&w, 4, 4);
    CHECK_OK(watched_read(&w, data));
    CHECK_EQ(w.num_threads, 4);
    watched_check(&w, data);
    watched_close(&w);
    if (child == 0)
        _exit(42);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 42);
}

/* --- Signals: the program's handlers run in the program's threads. */

static void check_signals(watched *w, memory_chunk *chunk)
{
    static const int of_faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    const int is_caller = pthread_equal(w->threads[0], pthread_self());
    sigset_t blocked;

    (void)chunk;
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &blocked));
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        int is_of_fault = 0;

        /* Nobody can block the first two, and those before SIGRTMIN are the C library's own. */
        if (signal == SIGKILL || signal == SIGSTOP || (signal >= 32 && signal < SIGRTMIN))
            continue;
        for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
            is_of_fault |= signal == of_faults[i];
        CHECK_EQ(sigismember(&blocked, signal), signal == SIGUSR2 || (!is_caller && !is_of_fault));
    }
}

static void signals_are_for_the_caller(void)
{
    sigset_t before, after, one;
    watched w;

    watched_open_large(&w, LENDING);
    /* One that the caller has blocked stays so. */
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    CHECK_OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &before));
    watched_expect_threads(&w, 4, 4);
    w.threads[0] = pthread_self();
    w.num_threads = 1;
    w.also = check_signals;
    CHECK_OK(watched_read(&w, data));
    CHECK_EQ(w.num_threads, 4);
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &after));
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        CHECK_EQ(sigismember(&after, signal), sigismember(&before, signal));
    CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
    watched_close(&w);
}

/* Chunks on pages that are not there until they are looked at, when a handler provides them: as in a mapped file. All
 * together are 3.2 MB: work for four threads. */
enum { PAGED_CHUNKS = 8, LEAST_PAGED_CHUNK = 400 * 1024 };

static unsigned char *pages;
static size_t paged_chunk_size;
static int faults; /* of any thread */

static void provide_page(int signal, siginfo_t *info, void *machine)
{
    uintptr_t fault = (uintptr_t)info->si_addr, first = (uintptr_t)pages;

    (void)signal;
    (void)machine;
    if (fault < first || fault >= first + PAGED_CHUNKS * paged_chunk_size)
        abort();
    __atomic_store_n(&faults, 1, __ATOMIC_RELAXED);
    if (mprotect(pages + (fault - first) / paged_chunk_size * paged_chunk_size, paged_chunk_size, PROT_READ) != 0)
        abort();
}

/* Puts each chunk of the array on pages of its own, and hides the pages. */
static void move_to_pages(memory_array *array)
{
    pages = mmap(NULL, PAGED_CHUNKS * paged_chunk_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    for (size_t c = 0; c < PAGED_CHUNKS; c++) {
        unsigned char *page = pages + c * paged_chunk_size;

        memcpy(page, array->chunks[c].bytes, paged_chunk_size);
        free(array->chunks[c].bytes);
        array->chunks[c].bytes = page;
    }
    CHECK_OK(mprotect(pages, PAGED_CHUNKS * paged_chunk_size, PROT_NONE));
}

static void faults_are_handled_in_every_thread(void)
{
    struct sigaction provide = {.sa_flags = SA_SIGINFO}, before;
    size_t chunk, length;
    watched w;

    paged_chunk_size = (size_t)sysconf(_SC_PAGESIZE);
    paged_chunk_size *= (LEAST_PAGED_CHUNK - 1) / paged_chunk_size + 1;
    chunk = paged_chunk_size / sizeof(int);
    length = PAGED_CHUNKS * chunk;
    CHECK(PAGED_CHUNKS * paged_chunk_size <= sizeof data);
    watched_open(&w, LENDING);
    watched_replace(&w, 1, &length, &chunk);
    move_to_pages(&w.array);
    provide.sa_sigaction = provide_page;
    CHECK_OK(sigaction(SIGSEGV, &provide, &before));

    watched_expect_threads(&w, 4, 4);
    CHECK_OK(watched_read(&w, data));
    CHECK(__atomic_load_n(&faults, __ATOMIC_RELAXED));
    watched_check(&w, data);

    CHECK_OK(sigaction(SIGSEGV, &before, NULL));
    for (size_t c = 0; c < PAGED_CHUNKS; c++)
        w.array.chunks[c].bytes = NULL;
    CHECK_OK(munmap(pages, PAGED_CHUNKS * paged_chunk_size));
    watched_close(&w);
}

/* --- Calls within calls, and beside each other. */

static watched inner;

/* A callback may itself read on several threads, with a context of its own. */
static void read_inner(watched *w, memory_chunk *chunk)
{
    const size_t start[RANK] = {0, 4, 0}, count[RANK] = {12, 4, 8};
    int part[12 * 4 * 8];
    nczchunk_context *context;

    (void)w;
    (void)chunk;
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 3));
    CHECK_OK(nczchunk_read_vars(inner.var, inner.store, start, count, NULL, part, context));
    memory_array_expect(&inner.array, start, count, NULL, NULL, part);
    nczchunk_context_free(context);
}

static void calls_within_calls(void)
{
    watched outer;

    watched_open(&inner, FILLING);
    watched_open(&outer, FILLING);
    inner.also = watched_take_a_while;
    outer.also = read_inner;
    threads_begun = 0;
    watched_expect_threads(&outer, 3, 3);
    CHECK_OK(watched_read(&outer, data));
    watched_check(&outer, data);
    /* The outer call has begun two threads, and each of the 27 inner ones two. */
    CHECK_EQ(threads_begun, 2 + 27 * 2);
    watched_close(&outer);
    watched_close(&inner);
}

typedef struct caller {
    watched *w;
    pthread_t thread;
    nczchunk_context *context;
    int data[ELEMENTS];
} caller;

static void *call(void *argument)
{
    caller *c = argument;

    CHECK_OK(nczchunk_read_vars(c->w->var, c->w->store, zeros, NULL, NULL, c->data, c->context));
    return NULL;
}

/* Two threads of the program read with three threads each: six at the same time. */
static void calls_beside_each_other(store_kind kind)
{
    static caller callers[2];
    watched w;

    watched_open(&w, kind);
    watched_compress(&w);
    watched_expect_threads(&w, 1, 6);
    for (size_t i = 0; i < 2; i++) {
        callers[i].w = &w;
        CHECK_OK(nczchunk_context_new(&callers[i].context));
        CHECK_OK(nczchunk_context_set_threads(callers[i].context, 3));
        CHECK_OK(pthread_create(&callers[i].thread, NULL, call, &callers[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(pthread_join(callers[i].thread, NULL));
        watched_check(&w, callers[i].data);
        nczchunk_context_free(callers[i].context);
    }
    CHECK_EQ(w.num_threads, 6);
    watched_close(&w);
}

int main(void)
{
    alarm(600);
    numbers_of_threads();
    no_thread_is_left();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        refused_threads(store_kinds[i]);
        after_a_fork(store_kinds[i]);
        calls_beside_each_other(store_kinds[i]);
    }
    calls_within_calls();
    signals_are_for_the_caller();
    faults_are_handled_in_every_thread();
    return 0;
}
