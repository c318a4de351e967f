/*
 * Several processes, and several threads, write one array while somebody reads it.
 *
 * Each may write chunks of its own, or shards of its own if the array has shards. Of those that write the same whole
 * chunk the last one wins. A reader finds every chunk as it was or as it is, never a part of both.
 *
 *     if (fork() == 0)
 *         status = nczchunk_array_write(array, start, count, NULL, data, NULL);     to a chunk that no other writes
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

/* A chunk (or a shard, which has two chunks) is a row, so that each writer has one. */
enum { WRITERS = 4, COLUMNS = 3000, NOTHING = -1 };

/* How often each writes its row. */
static int rounds = 60;

static const size_t shape[2] = {WRITERS, COLUMNS}, row[2] = {1, COLUMNS}, half_row[2] = {1, COLUMNS / 2},
                    origin[2] = {0, 0};

/* What is written where: by every writer a row of its own, or by all of them the first. */
typedef struct scene {
    const char *name, *path;
    int is_sharded, is_compressed, is_same_row;
} scene;

static const scene scenes[] = {
    {"chunks of their own", "chunks.zarr", 0, 0, 0},
    {"compressed chunks of their own", "compressed.zarr", 0, 1, 0},
    {"the same chunk", "same.zarr", 0, 0, 1},
    {"the same compressed chunk", "same_compressed.zarr", 0, 1, 1},
    {"shards of their own", "shards.zarr", 1, 1, 0},
    {"the same shard", "same_shard.zarr", 1, 0, 1},
};

static nczchunk_array *create(const scene *of)
{
    const int nothing = NOTHING;
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = of->is_sharded ? half_row : row;
    description.shard_shape = of->is_sharded ? row : NULL;
    description.fill_value = &nothing;
    description.uncompressed = !of->is_compressed;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(of->path, NULL, &description, &array, NULL));
    return array;
}

static nczchunk_array *open_array(const scene *of, int mode)
{
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_array_open(of->path, NULL, mode, &array, NULL));
    return array;
}

/* What writer number w writes in a round: the same number everywhere, from which writer and round follow. */
static int value_of(int w, int round)
{
    return round * WRITERS + w;
}

static void write_rows(const scene *of, nczchunk_array *array, int w)
{
    const size_t start[2] = {of->is_same_row ? 0 : (size_t)w, 0};
    int *data = malloc(COLUMNS * sizeof *data);

    CHECK(data != NULL);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < COLUMNS; i++)
            data[i] = value_of(w, round);
        CHECK_OK(nczchunk_array_write(array, start, row, NULL, data, NULL));
    }
    free(data);
}

/* Every row is of one write, and later than what was read before if it has one writer. */
static void check_rows(const scene *of, const nczchunk_array *array, int last[WRITERS])
{
    int *data = malloc(WRITERS * COLUMNS * sizeof *data);

    CHECK(data != NULL);
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, data, NULL));
    for (int w = 0; w < WRITERS; w++) {
        const int *values = data + w * COLUMNS;
        /* The chunks of a shard are read one after another, so the second may be newer. */
        const int parts = of->is_sharded ? 2 : 1;

        for (int i = 0; i < COLUMNS; i++)
            if (values[i] != values[i / (COLUMNS / parts) * (COLUMNS / parts)])
                CHECK_FAILED("%s: row %d has %d and %d", of->name, w, values[0], values[i]);
        if (values[0] != NOTHING && !of->is_same_row) {
            CHECK_EQ(values[0] % WRITERS, w);
            CHECK(values[0] >= last[w]);
        }
        last[w] = values[0];
    }
    free(data);
}

/* What is there in the end is what was written last, by one of those who wrote it. */
static void check_end(const scene *of)
{
    nczchunk_array *array = open_array(of, NCZCHUNK_READ);
    int last[WRITERS] = {NOTHING, NOTHING, NOTHING, NOTHING};

    check_rows(of, array, last);
    for (int w = 0; w < WRITERS; w++) {
        if (of->is_same_row && w > 0)
            CHECK_EQ(last[w], NOTHING);
        else if (of->is_same_row)
            CHECK(last[w] >= value_of(0, rounds - 1));
        else
            CHECK_EQ(last[w], value_of(w, rounds - 1));
    }
    nczchunk_array_close(array);
}

/* --- Processes. Each opens the array for itself. */

static pid_t begin_process(void (*body)(const scene *of, int w), const scene *of, int w)
{
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        body(of, w);
        _exit(0);
    }
    return child;
}

static void write_as_process(const scene *of, int w)
{
    nczchunk_array *array = open_array(of, NCZCHUNK_WRITE);

    write_rows(of, array, w);
    nczchunk_array_close(array);
}

/* Reads until it is ended. What others write does not come into its cache, so it has none. */
static void read_as_process(const scene *of, int w)
{
    nczchunk_array *array = open_array(of, NCZCHUNK_READ);
    int last[WRITERS] = {NOTHING, NOTHING, NOTHING, NOTHING};

    (void)w;
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    for (;;)
        check_rows(of, array, last);
}

static void processes_write(const scene *of)
{
    pid_t writers[WRITERS], reader;
    int status;

    nczchunk_array_close(create(of));
    reader = begin_process(read_as_process, of, 0);
    for (int w = 0; w < WRITERS; w++)
        writers[w] = begin_process(write_as_process, of, w);
    for (int w = 0; w < WRITERS; w++) {
        CHECK_EQ(waitpid(writers[w], &status, 0), writers[w]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK_OK(kill(reader, SIGKILL));
    CHECK_EQ(waitpid(reader, &status, 0), reader);
    CHECK(WIFSIGNALED(status)); /* it had found nothing wrong till then */
    check_end(of);
}

/* --- Threads. All have the same array. */

typedef struct thread {
    pthread_t thread;
    const scene *of;
    nczchunk_array *array;
    int w, *is_over;
} thread;

static void *write_as_thread(void *argument)
{
    thread *t = argument;

    write_rows(t->of, t->array, t->w);
    return NULL;
}

static void *read_as_thread(void *argument)
{
    thread *t = argument;
    int last[WRITERS] = {NOTHING, NOTHING, NOTHING, NOTHING};

    do
        check_rows(t->of, t->array, last);
    while (!__atomic_load_n(t->is_over, __ATOMIC_RELAXED));
    return NULL;
}

static void threads_write(const scene *of)
{
    nczchunk_array *array = create(of);
    int is_over = 0;
    thread threads[WRITERS + 1];

    for (int w = 0; w <= WRITERS; w++) {
        thread *t = &threads[w];

        *t = (thread){.of = of, .array = array, .w = w, .is_over = &is_over};
        CHECK_OK(pthread_create(&t->thread, NULL, w < WRITERS ? write_as_thread : read_as_thread, t));
    }
    for (int w = 0; w <= WRITERS; w++) {
        if (w == WRITERS)
            __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
        CHECK_OK(pthread_join(threads[w].thread, NULL));
    }
    nczchunk_array_close(array);
    check_end(of);
}

/* test_processes DATA [ROUNDS]: so many rounds instead of a few (scripts/soak). */
int main(int argc, char **argv)
{
    if (argc > 2)
        rounds = atoi(argv[2]);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        processes_write(&scenes[i]);
        threads_write(&scenes[i]);
    }
    printf("%d processes, then %d threads, have written %d times each, %zu times over\n", WRITERS, WRITERS, rounds,
           sizeof scenes / sizeof *scenes);
    return 0;
}
