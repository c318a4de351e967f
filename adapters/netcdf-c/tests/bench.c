/* What reads and writes through netCDF's interface cost. The same program is run with a stock and with an adapted
 * libnetcdf.
 *
 *   bench DIRECTORY    makes its files in DIRECTORY, then prints a line for each workload: name, seconds for one time
 */
#include "check.h"

/* An array of float32 in a file of its own. */
typedef struct array {
    const char *name;
    int rank;
    size_t dimlens[3], chunklens[3];
} array;

static const array square = {"square", 2, {4096, 4096}, {512, 512}};
static const array series = {"series", 3, {365, 180, 360}, {73, 45, 90}};
static const array tiny = {"tiny", 2, {1024, 1024}, {16, 16}};
static const array sparse = {"sparse", 1, {100000000}, {1000}};

typedef struct workload {
    const char *name;
    const array *array;
    size_t start[3], count[3];
    ptrdiff_t stride[3];
    /* SINGLE: one element a call; FRESH: the file is opened before and closed after; USUAL: with the default cache */
    enum { CACHED, SINGLE, FRESH, USUAL } kind;
} workload;

static const workload workloads[] = {
    {"all", &square, {0, 0}, {4096, 4096}, {1, 1}, CACHED},
    {"strides (2, 2)", &square, {0, 0}, {2048, 2048}, {2, 2}, CACHED},
    {"strides (1, 7)", &square, {0, 0}, {4096, 586}, {1, 7}, CACHED},
    {"a column", &square, {0, 1777}, {4096, 1}, {1, 1}, CACHED},
    {"one whole chunk", &square, {512, 1024}, {512, 512}, {1, 1}, CACHED},
    {"a time series", &series, {0, 91, 200}, {365, 1, 1}, {1, 1, 1}, CACHED},
    {"a map", &series, {100, 0, 0}, {1, 180, 360}, {1, 1, 1}, CACHED},
    {"strides (7, 2, 2)", &series, {0, 0, 0}, {53, 90, 180}, {7, 2, 2}, CACHED},
    {"chunks of 16 x 16", &tiny, {0, 0}, {1024, 1024}, {1, 1}, CACHED},
    {"chunks of 16 x 16, strides (2, 2)", &tiny, {0, 0}, {512, 512}, {2, 2}, CACHED},
    {"100 elements, stride 1000000", &sparse, {0}, {100}, {1000000}, CACHED},
    {"one element of a cached chunk", &square, {700, 700}, {1, 1}, {1, 1}, SINGLE},
    {"all, from the files", &square, {0, 0}, {4096, 4096}, {1, 1}, FRESH},
    {"strides (2, 2), from the files", &square, {0, 0}, {2048, 2048}, {2, 2}, FRESH},
    {"chunks of 16 x 16, from the files", &tiny, {0, 0}, {1024, 1024}, {1, 1}, FRESH},
    {"chunks of 16 x 16, default cache", &tiny, {0, 0}, {1024, 1024}, {1, 1}, USUAL},
};

static void create(const char *directory, const array *a, float *data)
{
    int ncid = create_file(url_of(directory, a->name), NC_FLOAT, a->rank, a->dimlens, a->chunklens);

    OK(nc_enddef(ncid));
    if (a == &sparse) {
        const size_t start = 0, count = 100;
        const ptrdiff_t stride = 1000000;

        OK(nc_put_vars_float(ncid, 0, &start, &count, &stride, data));
    } else {
        OK(nc_put_var_float(ncid, 0, data));
    }
    OK(nc_close(ncid));
}

static int open_again(const char *directory, const array *a, int mode)
{
    int ncid;

    OK(nc_open(url_of(directory, a->name), mode, &ncid));
    return ncid;
}

static void transfer(int ncid, const workload *w, int writing, float *data)
{
    if (writing)
        OK(nc_put_vars_float(ncid, 0, w->start, w->count, w->stride, data));
    else
        OK(nc_get_vars_float(ncid, 0, w->start, w->count, w->stride, data));
}

/* What one transfer takes. */
static double once(const char *directory, int ncid, const workload *w, int writing, float *data)
{
    enum { CALLS = 10000 };
    double begin;

    switch (w->kind) {
    case SINGLE:
        begin = now();
        for (size_t i = 0; i < CALLS; i++) {
            const size_t at[2] = {w->start[0] + i % 100, w->start[1] + i / 100};

            if (writing)
                OK(nc_put_var1_float(ncid, 0, at, data));
            else
                OK(nc_get_var1_float(ncid, 0, at, data));
        }
        return (now() - begin) / CALLS;
    case FRESH:
        ncid = open_again(directory, w->array, writing ? NC_WRITE : NC_NOWRITE);
        begin = now();
        transfer(ncid, w, writing, data);
        OK(nc_close(ncid));
        return now() - begin;
    default:
        begin = now();
        transfer(ncid, w, writing, data);
        return now() - begin;
    }
}

/* The least time of at least 3 runs, and of as many as fit into a while. */
static void run(const char *directory, int ncid, const workload *w, int writing, float *data)
{
    double best = 1e9, begin;

    /* A cache of the default size keeps what has come back. */
    for (int i = 0; w->kind == USUAL && i < 4; i++)
        transfer(ncid, w, writing, data);
    begin = now();
    for (int i = 0; i < 3 || now() - begin < 0.15; i++) {
        double t = once(directory, ncid, w, writing, data);

        if (t < best)
            best = t;
    }
    printf("%s\t%s\t%.9f\n", writing ? "put" : "get", w->name, best);
    fflush(stdout);
}

/* Whether a workload is for a file that is open with a cache of some kind, or (-1) is opened by the workload itself. */
static int suits(const workload *w, int ncid, int is_usual)
{
    return ncid == -1 ? w->kind == FRESH : is_usual ? w->kind == USUAL : w->kind == CACHED || w->kind == SINGLE;
}

static void run_all(const char *directory, const array *a, int ncid, int is_usual, float *data)
{
    for (int writing = 0; writing < 2; writing++)
        for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
            if (workloads[w].array == a && suits(&workloads[w], ncid, is_usual))
                run(directory, ncid, &workloads[w], writing, data);
}

int main(int argc, char **argv)
{
    const array *arrays[] = {&square, &series, &tiny, &sparse};
    const size_t elements = (size_t)365 * 180 * 360;
    float *data = malloc(elements * sizeof *data);

    if (argc != 2 || data == NULL)
        return 2;
    for (size_t i = 0; i < elements; i++)
        data[i] = (float)(i % 1000);
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
        int ncid;

        create(argv[1], arrays[a], data);
        run_all(argv[1], arrays[a], -1, 0, data);
        /* After these, which want memory that is new to the process: what follows leaves it memory to use again. */
        ncid = open_again(argv[1], arrays[a], NC_WRITE);
        run_all(argv[1], arrays[a], ncid, 1, data);
        OK(nc_set_var_chunk_cache(ncid, 0, (size_t)256 << 20, 10007, 0.75f)); /* room for all of it */
        run_all(argv[1], arrays[a], ncid, 0, data);
        OK(nc_close(ncid));
    }
    free(data);
    return 0;
}
