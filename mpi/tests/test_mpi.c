/*
 * Collective reads and writes against what is known of every element: every chunk is fetched once and written once,
 * whatever the slabs and the rounds, and an error on one rank is an error on all.
 *
 *     mpirun -n 4 test_mpi
 *
 * Each rank has an array in memory of its own that counts what it is asked for: together they are the shared one.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <limits.h>
#include <unistd.h>

#include "memory_array.h"
#include "nczchunk_mpi.h"
#ifdef WITH_ARRAYS
#include "nczchunk_array.h"
#endif

enum { DIMS = 3, MOST_RANKS = 16 };

static const size_t dimlens[DIMS] = {12, 21, 18}, chunklens[DIMS] = {2, 4, 5};
enum { ELEMENTS = 12 * 21 * 18, NEW = 1000000 };
static MPI_Comm world;
static int rank, size;

typedef struct slab {
    size_t start[DIMS], count[DIMS];
    ptrdiff_t stride[DIMS];
} slab;

/* The slab of a rank in each scene. */
enum { COLUMNS, ROWS, HALOS, STRIDES, SAME, ONE_NEEDS_ALL, SPARSE, RANDOM, NUM_SCENES = RANDOM + 6 };

static slab slab_of(int scene, int of)
{
    slab s = {{0, 0, 0}, {12, 21, 18}, {1, 1, 1}};
    const size_t r = (size_t)of, n = (size_t)size;
    unsigned seed = (unsigned)(scene * 100 + of);

    switch (scene) {
    case COLUMNS: /* all ranks need all chunks along the first two dimensions */
        s.start[2] = 18 * r / n;
        s.count[2] = 18 * (r + 1) / n - s.start[2];
        break;
    case ROWS: /* whose borders lie within chunks */
        s.start[1] = 21 * r / n;
        s.count[1] = 21 * (r + 1) / n - s.start[1];
        break;
    case HALOS:
        s.start[1] = 20 * r / n;
        s.count[1] = 20 * (r + 1) / n - s.start[1] + 1;
        if (r > 0) s.start[1]--, s.count[1]++;
        break;
    case STRIDES: /* one after another: together they have everything */
        s.start[0] = r % 12;
        s.stride[0] = (ptrdiff_t)n;
        s.count[0] = r < 12 ? (12 - r + n - 1) / n : 0;
        break;
    case SAME:
        s.start[1] = 3, s.count[1] = 9;
        break;
    case ONE_NEEDS_ALL: /* the others need nothing, or one element */
        if (of != size - 1)
            for (int d = 0; d < DIMS; d++) s.count[d] = r % 2;
        break;
    case SPARSE: /* strides that leave out chunks */
        s.start[1] = r % 8, s.count[1] = 2, s.stride[1] = 11;
        s.start[2] = 1, s.count[2] = 2, s.stride[2] = 13;
        break;
    default:
        for (int d = 0; d < DIMS; d++) {
            size_t most;
            seed = seed * 1103515245u + 12345u;
            s.start[d] = (seed >> 8) % dimlens[d];
            seed = seed * 1103515245u + 12345u;
            s.stride[d] = 1 + (ptrdiff_t)((seed >> 8) % 6);
            most = (dimlens[d] - s.start[d] + (size_t)s.stride[d] - 1) / (size_t)s.stride[d];
            seed = seed * 1103515245u + 12345u;
            s.count[d] = 1 + (seed >> 8) % most;
        }
    }
    return s;
}

/* The index of the k-th element of a slab. */
static void index_of(const slab *s, size_t k, size_t *index)
{
    for (int d = DIMS; d-- > 0; k /= s->count[d]) index[d] = s->start[d] + k % s->count[d] * (size_t)s->stride[d];
}

/* For each element of a slab, with its number in the slab and its index. */
#define FOR_EACH_ELEMENT(s, k, index)                                                                    \
    for (size_t k = 0, index[DIMS], k##_num = (s).count[0] * (s).count[1] * (s).count[2];                \
         k < k##_num && (index_of(&(s), k, index), 1); k++)

static size_t number_of(const size_t *index)
{
    return (index[0] * dimlens[1] + index[1]) * dimlens[2] + index[2];
}

static size_t chunk_of(const size_t *index)
{
    return (index[0] / 2 * 6 + index[1] / 4) * 4 + index[2] / 5;
}

/* What all slabs of a scene touch together, element by element. */
typedef struct touched {
    char elements[ELEMENTS];
    long chunks, covered; /* chunks with a touched element, and those with all */
} touched;

static void touch(int scene, touched *t)
{
    long of_chunk[6 * 6 * 4] = {0}, in_chunk[6 * 6 * 4] = {0};
    slab all = {{0, 0, 0}, {12, 21, 18}, {1, 1, 1}};

    memset(t, 0, sizeof *t);
    for (int r = 0; r < size; r++) {
        slab s = slab_of(scene, r);
        FOR_EACH_ELEMENT(s, k, index) t->elements[number_of(index)] = 1;
    }
    FOR_EACH_ELEMENT(all, k, index) {
        in_chunk[chunk_of(index)]++;
        of_chunk[chunk_of(index)] += t->elements[number_of(index)];
    }
    for (int c = 0; c < 6 * 6 * 4; c++) {
        t->chunks += of_chunk[c] > 0;
        t->covered += of_chunk[c] == in_chunk[c];
    }
}

static long sum(long mine)
{
    long all;

    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, world);
    return all;
}

static void read_everything(int scene, size_t memory)
{
    memory_array array;
    touched expected;
    slab s = slab_of(scene, rank);
    int32_t *data = calloc(ELEMENTS, sizeof *data);
    nczchunk_mpi_options options = NCZCHUNK_MPI_OPTIONS_INIT;
    nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;

    memory_array_init(&array, DIMS, dimlens, chunklens, sizeof *data);
    nczchunk_var *var = memory_array_var(&array);
    nczchunk_chunk_store *store = memory_array_store(&array, memory ? FILLING : LENDING);
    options.memory = memory;
    touch(scene, &expected);
    CHECK_OK(nczchunk_mpi_read(world, var, store, s.start, s.count, s.stride, data, &options, &report, NULL));
    FOR_EACH_ELEMENT(s, k, index) CHECK_EQ(data[k], number_of(index));

    /* Each chunk of the union is fetched by one rank, and by none a second time. */
    CHECK_EQ(report.chunks_read, array.asked);
    CHECK_EQ(sum(array.asked), expected.chunks);
    CHECK_EQ(sum((long)report.bytes_sent), sum((long)report.bytes_received));
    CHECK_EQ(report.failed_rank, -1);
    CHECK_STR(report.message, "");
    /* Room for one chunk at a time takes as many rounds as the rank that has most chunks. */
    if (memory == 1) {
        long most;
        MPI_Allreduce(&array.asked, &most, 1, MPI_LONG, MPI_MAX, world);
        CHECK_EQ(report.rounds, most);
    }
    /* Chunks that all need are divided. */
    if (scene == SAME)
        CHECK(array.asked == expected.chunks / size || array.asked == (expected.chunks + size - 1) / size);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    free(data);
}

static void write_everything(int scene, size_t memory)
{
    memory_array array;
    touched expected;
    slab s = slab_of(scene, rank);
    int32_t *data = calloc(ELEMENTS, sizeof *data), *all = calloc(ELEMENTS, sizeof *all);
    nczchunk_mpi_options options = NCZCHUNK_MPI_OPTIONS_INIT;
    nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;
    const size_t start[DIMS] = {0, 0, 0};
    long asked;

    memory_array_init(&array, DIMS, dimlens, chunklens, sizeof *data);
    nczchunk_var *var = memory_array_var(&array);
    nczchunk_chunk_store *store = memory_array_store(&array, FILLING);
    options.memory = memory;
    touch(scene, &expected);
    FOR_EACH_ELEMENT(s, k, index) data[k] = (int32_t)number_of(index) + NEW;
    CHECK_OK(nczchunk_mpi_write(world, var, store, s.start, s.count, s.stride, data, &options, &report, NULL));
    CHECK_EQ(report.chunks_written, array.written);
    CHECK_EQ(report.chunks_read, array.asked);
    asked = sum(array.asked);
    CHECK_EQ(sum(array.written), expected.chunks);
    /* What is covered need not be read; where slabs overlap, that may not be seen. */
    CHECK(asked >= expected.chunks - expected.covered && asked <= expected.chunks);
    if (scene == COLUMNS || scene == ROWS || scene == STRIDES) CHECK_EQ(asked, expected.chunks - expected.covered);

    /* Each chunk was written to one of the arrays: new values are larger than old ones. */
    CHECK_OK(nczchunk_read_vars(var, store, start, dimlens, NULL, data, NULL));
    MPI_Allreduce(data, all, ELEMENTS, MPI_INT32_T, MPI_MAX, world);
    for (int i = 0; i < ELEMENTS; i++) CHECK_EQ(all[i], i + (expected.elements[i] ? NEW : 0));
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    free(all);
    free(data);
}

/* What fails on one rank fails on all, with the same status and the same message, in a read and in a write. */
static void fail_everywhere(int culprit)
{
    memory_array array;
    int32_t *data = calloc(ELEMENTS, sizeof *data);
    const size_t start[DIMS] = {0, 0, 0}, beyond[DIMS] = {0, 30, 0}, other_chunklens[DIMS] = {3, 4, 5};
    char expected[64], first[512];
    enum { CHUNK, LAST_CHUNK, WRITTEN, START, NO_COUNT, NO_DATA, NO_VAR, NO_STORE, NO_SIZE, NO_REPORT_SIZE, OTHER };
    enum { NUM = OTHER + 1 };
    const int statuses[NUM] = {NCZCHUNK_EIO,    NCZCHUNK_EIO,    NCZCHUNK_EPERM,  NCZCHUNK_EINVALCOORDS,
                               NCZCHUNK_EINVAL, NCZCHUNK_EINVAL, NCZCHUNK_EINVAL, NCZCHUNK_EINVAL,
                               NCZCHUNK_EINVAL, NCZCHUNK_EINVAL, NCZCHUNK_EINVAL};

    snprintf(expected, sizeof expected, "rank %d: ", culprit);
    for (int what = 0; what < NUM; what++) {
        for (int write = 0; write < 2; write++) {
            const int guilty = rank == culprit;
            nczchunk_mpi_options options = NCZCHUNK_MPI_OPTIONS_INIT;
            nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;
            int status;

            if ((what == WRITTEN && !write) || ((what == CHUNK || what == LAST_CHUNK) && write)) continue;
            if (what == OTHER && size == 1) continue;
            memory_array_init(&array, DIMS, dimlens, what == OTHER && guilty ? other_chunklens : chunklens, 4);
            for (size_t c = 0; guilty && c < array.num_chunks; c++) {
                if (what == CHUNK || (what == LAST_CHUNK && c % 36 > 30)) array.chunks[c].status = NCZCHUNK_EIO;
                if (what == WRITTEN) array.chunks[c].write_status = NCZCHUNK_EPERM;
            }
            nczchunk_var *var = memory_array_var(&array);
            nczchunk_chunk_store *store = memory_array_store(&array, FILLING);
            options.memory = 1; /* many rounds */
            if (guilty && what == NO_SIZE) options.struct_size = 0;
            if (guilty && what == NO_REPORT_SIZE) report.struct_size = 0;
            {
                const nczchunk_var *v = guilty && what == NO_VAR ? NULL : var;
                const nczchunk_chunk_store *from = guilty && what == NO_STORE ? NULL : store;
                const size_t *begin = guilty && what == START ? beyond : start;
                const size_t *count = guilty && what == NO_COUNT ? NULL : dimlens;
                void *memory = guilty && what == NO_DATA ? NULL : data;

                if (write)
                    status = nczchunk_mpi_write(world, v, from, begin, count, NULL, memory, &options, &report, NULL);
                else
                    status = nczchunk_mpi_read(world, v, from, begin, count, NULL, memory, &options, &report, NULL);
            }
            CHECK_EQ(status, statuses[what]);
            if (!(guilty && what == NO_REPORT_SIZE)) {
                CHECK_EQ(report.failed_rank, what == OTHER ? 0 : culprit);
                if (what != OTHER) CHECK(strncmp(report.message, expected, strlen(expected)) == 0);
                CHECK(strlen(report.message) > strlen(expected));
                memcpy(first, report.message, sizeof first);
                MPI_Bcast(first, sizeof first, MPI_CHAR, culprit ? 0 : size - 1, world);
                if (what != NO_REPORT_SIZE) CHECK_STR(report.message, first);
            } else {
                MPI_Bcast(first, sizeof first, MPI_CHAR, culprit ? 0 : size - 1, world);
            }
            nczchunk_chunk_store_free(store);
            nczchunk_var_free(var);
            memory_array_clear(&array);
        }
    }
    CHECK_EQ(nczchunk_mpi_read(MPI_COMM_NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    free(data);
}

/* Lists of chunk lengths that differ from rank to rank, in nothing but their order. */
static void other_lists(void)
{
    memory_array array;
    static double data[200000];
    const size_t lens[1] = {200000}, start[1] = {0};
    const size_t lists[2][3] = {{100000, 99999, 1}, {100000, 1, 99999}}, encoded[3] = {100000, 100000, 100000};
    nczchunk_var *var;

    memory_array_init(&array, 1, lens, encoded, sizeof *data);
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_var_set_chunk_lengths(var, 0, 3, lists[rank % 2], encoded, NULL));
    nczchunk_chunk_store *store = memory_array_store(&array, FILLING);
    CHECK_EQ(nczchunk_mpi_read(world, var, store, start, lens, NULL, data, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_mpi_write(world, var, store, start, lens, NULL, data, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

static int copy_nothing(void *user, int writing, size_t count, const void *source, void *destination)
{
    (void)user, (void)writing, (void)count, (void)source, (void)destination;
    return NCZCHUNK_NOERR;
}

static void refused(const nczchunk_var *var, const nczchunk_chunk_store *store)
{
    const size_t start[1] = {0}, count[1] = {2};
    char *data[2] = {NULL, NULL};
    nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;

    CHECK_EQ(nczchunk_mpi_read(world, var, store, start, count, NULL, data, NULL, &report, NULL), NCZCHUNK_EINVAL);
    CHECK(strstr(report.message, "strings") != NULL);
    CHECK_EQ(nczchunk_mpi_write(world, var, store, start, count, NULL, data, NULL, &report, NULL), NCZCHUNK_EINVAL);
    CHECK(strstr(report.message, "strings") != NULL);
    CHECK(data[0] == NULL && data[1] == NULL);
}

/* Elements that are more than their bytes are refused: the pointers of one rank are none of another. */
static void pointers_are_refused(void)
{
    memory_array array;
    const size_t lens[1] = {2};

    memory_array_init(&array, 1, lens, lens, sizeof(char *));
    nczchunk_var *var = memory_array_var(&array);
    CHECK_OK(nczchunk_var_set_copier(var, copy_nothing, NULL, NULL));
    nczchunk_chunk_store *store = memory_array_store(&array, LENDING);
    refused(var, store);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
#ifdef WITH_ARRAYS
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *strings = NULL;

    description.type = NCZCHUNK_STRING;
    description.rank = 1;
    description.shape = description.chunk_shape = lens;
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_array_create_in(storage, "", &description, &strings, NULL));
    refused(nczchunk_array_var(strings), nczchunk_array_store(strings));
    nczchunk_array_close(strings);
    nczchunk_storage_free(storage);
#endif
}

#ifdef WITH_ARRAYS
/* What a rank has read before is in the cache of its handle. Reads and writes find what is stored nevertheless. */
static void others_have_written(void)
{
    enum { LEN = 8, HALF = LEN / 2 };
    const size_t lens[1] = {LEN}, most[1] = {LEN - 1}, nothing[1] = {0}, half[1] = {HALF};
    char path[] = "/tmp/nczchunk-mpi-XXXXXX";
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int32_t line[LEN], mine[HALF];

    if (rank == 0) {
        CHECK(mkdtemp(path) != NULL);
        description.type = NCZCHUNK_INT;
        description.rank = 1;
        description.shape = description.chunk_shape = lens;
        CHECK_OK(nczchunk_array_create(path, NULL, &description, &array, NULL));
        nczchunk_array_close(array);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, world);
    CHECK_OK(nczchunk_array_open(path, NULL, NCZCHUNK_WRITE, &array, NULL));
    const nczchunk_var *var = nczchunk_array_var(array);
    const nczchunk_chunk_store *store = nczchunk_array_store(array);

    for (int32_t round = 1; round <= 2 * size; round++) {
        const int writer = round % size;
        const size_t start[1] = {round % 2 ? 0 : HALF};

        /* A cache keeps a chunk of which a part is read a second time. The rank that reads more owns the chunk. */
        for (int time = 0; time < 3; time++) {
            const size_t *count = rank == (writer + 1) % size ? most : half;

            CHECK_OK(nczchunk_mpi_read(world, var, store, nothing, count, NULL, line, NULL, NULL, NULL));
            CHECK_EQ(line[0], round == 1 ? 0 : round % 2 ? round - 2 : round - 1);
        }
        for (size_t i = 0; i < HALF; i++) mine[i] = round;
        CHECK_OK(nczchunk_mpi_write(world, var, store, start, rank == writer ? half : nothing, NULL, mine, NULL, NULL,
                                    NULL));
    }
    CHECK_OK(nczchunk_mpi_read(world, var, store, nothing, lens, NULL, line, NULL, NULL, NULL));
    for (size_t i = 0; i < LEN; i++) CHECK_EQ(line[i], i < HALF ? 2 * size - 1 : 2 * size);
    nczchunk_array_close(array);
    MPI_Barrier(world);
    if (rank == 0) {
        const char *const names[] = {"/c/0", "/c", "/zarr.json", ""};
        char object[sizeof path + 16];

        for (int i = 0; i < 4; i++) {
            snprintf(object, sizeof object, "%s%s", path, names[i]);
            CHECK_EQ(remove(object), 0);
        }
    }
}
#endif

/* A variable without dimensions: one rank fetches its element. And shards: each is written by one rank. */
static void scalars_and_shards(void)
{
    memory_array array;
    int32_t one = -1, line[24];
    const size_t lens[1] = {24}, chunks[1] = {6}, inner[1] = {2};
    size_t start[1], count[1];
    nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;

    memory_array_init(&array, 0, NULL, NULL, sizeof one);
    nczchunk_var *var = memory_array_var(&array);
    nczchunk_chunk_store *store = memory_array_store(&array, FILLING);
    CHECK_OK(nczchunk_mpi_read(world, var, store, NULL, NULL, NULL, &one, NULL, &report, NULL));
    CHECK_EQ(one, 0);
    CHECK_EQ(sum(array.asked), 1);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);

    memory_array_init_absent(&array, 1, lens, chunks, sizeof one);
    CHECK_OK(nczchunk_var_new(1, lens, inner, sizeof one, &var, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, chunks, NULL));
    store = memory_array_store(&array, FILLING);
    start[0] = 24 * (size_t)rank / (size_t)size;
    count[0] = 24 * (size_t)(rank + 1) / (size_t)size - start[0];
    for (size_t i = 0; i < count[0]; i++) line[i] = (int32_t)(start[0] + i);
    CHECK_OK(nczchunk_mpi_write(world, var, store, start, count, NULL, line, NULL, &report, NULL));
    CHECK_EQ(sum(array.written), 4);
    CHECK_EQ(sum(array.asked), 0);
    for (size_t c = 0; c < 4; c++)
        for (size_t i = 0; array.chunks[c].bytes && i < 6; i++)
            CHECK_EQ(((int32_t *)(void *)array.chunks[c].bytes)[i], 6 * c + i);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(size <= MOST_RANKS);
    alarm(240); /* Nothing may wait for ever. */
    for (int scene = 0; scene < NUM_SCENES; scene++) {
        /* Rounds of one chunk, of a few, and one round. */
        const size_t memories[] = {1, 3 * 700, 0};
        for (int m = 0; m < 3; m++) {
            read_everything(scene, memories[m]);
            write_everything(scene, memories[m]);
        }
    }
    for (int culprit = 0; culprit < size; culprit++) fail_everywhere(culprit);
    scalars_and_shards();
    if (size > 1) other_lists();
    pointers_are_refused();
#ifdef WITH_ARRAYS
    others_have_written();
#endif
    MPI_Finalize();
    return 0;
}
