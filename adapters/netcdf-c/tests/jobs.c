/* What users do with a data set, job by job: each in a process of its own, with a stock or an adapted libnetcdf.
 *
 *   jobs                        prints the names of the jobs
 *   jobs make SIZE DIRECTORY    makes the files that are read
 *   jobs JOB SIZE DIRECTORY     does a job and prints: name, seconds, CPU seconds (of them in the system), KiB of the
 *                               largest resident set, page faults, sum of what was read
 *
 * SIZE is full or small.
 */
#include "check.h"

#include <math.h>
#include <netcdf_filter.h>
#include <stdint.h>
#include <sys/resource.h>

/* A cube of float32, time first, in zstd chunks; and as many variables of another shape in deflate chunks. */
typedef struct sizes {
    const char *name;
    size_t len[3], chunk[3];           /* of the cube */
    size_t maps, series, steps;        /* maps and steps that are read or written, and time series */
    size_t many, many_len[3], many_maps;
} sizes;

static const sizes all_sizes[] = {
    {"full", {730, 360, 720}, {24, 90, 180}, 96, 40, 48, 100, {72, 180, 360}, 12},
    {"small", {72, 90, 180}, {24, 45, 90}, 48, 10, 24, 6, {24, 90, 180}, 6},
};

static const sizes *size;
static const char *directory;
static double sum;

static float *memory(size_t elements)
{
    float *data = malloc(elements * sizeof *data);

    EXPECT(data != NULL);
    return data;
}

static void add_up(const float *data, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        sum += data[i];
}

/* Numbers that compress about as a field of the weather does. */
static void invent(float *data, size_t elements, size_t at)
{
    static uint32_t random = 1;

    for (size_t i = 0; i < elements; i++) {
        random = random * 1664525 + 1013904223;
        data[i] = roundf(1000 * sinf((float)(at + i) / 700)) / 100 + (float)(random >> 29) / 8;
    }
}

static int open_file(const char *name)
{
    int ncid;

    OK(nc_open(url_of(directory, name), NC_NOWRITE, &ncid));
    return ncid;
}

static int define(const char *name, int variables, const size_t *len, const size_t *chunk, int zstd)
{
    static const char *const dims[] = {"time", "lat", "lon"};
    int ncid, dimids[3], varid;

    OK(nc_create(url_of(directory, name), NC_NETCDF4 | NC_CLOBBER, &ncid));
    OK(nc_set_fill(ncid, NC_NOFILL, NULL));
    for (int d = 0; d < 3; d++)
        OK(nc_def_dim(ncid, dims[d], len[d], &dimids[d]));
    for (int v = 0; v < variables; v++) {
        char variable[20];

        snprintf(variable, sizeof variable, "v%d", v);
        OK(nc_def_var(ncid, variable, NC_FLOAT, 3, dimids, &varid));
        OK(nc_def_var_chunking(ncid, varid, NC_CHUNKED, chunk));
        if (!zstd || nc_def_var_zstandard(ncid, varid, 3) != NC_NOERR)
            OK(nc_def_var_deflate(ncid, varid, 1, 1, 1));
    }
    OK(nc_enddef(ncid));
    return ncid;
}

/* Writes a variable some steps at a time. */
static void write_steps(int ncid, int varid, const size_t *len, size_t steps, size_t at_once)
{
    const size_t map = len[1] * len[2];
    float *data = memory(at_once * map);

    for (size_t t = 0; t < steps; t += at_once) {
        const size_t n = at_once < steps - t ? at_once : steps - t;

        invent(data, n * map, t * map);
        OK(nc_put_vara_float(ncid, varid, (size_t[]){t, 0, 0}, (size_t[]){n, len[1], len[2]}, data));
    }
    free(data);
}

static void make(void)
{
    int ncid = define("cube", 1, size->len, size->chunk, 1);

    write_steps(ncid, 0, size->len, size->len[0], size->chunk[0]);
    OK(nc_close(ncid));
    ncid = define("many", (int)size->many, size->many_len, size->chunk, 0);
    for (size_t v = 0; v < size->many; v++)
        write_steps(ncid, (int)v, size->many_len, size->many_len[0], size->chunk[0]);
    OK(nc_close(ncid));
}

static void read_maps(int ncid, int varid, const size_t *len, size_t maps)
{
    float *map = memory(len[1] * len[2]);

    for (size_t t = 0; t < maps; t++) {
        OK(nc_get_vara_float(ncid, varid, (size_t[]){t, 0, 0}, (size_t[]){1, len[1], len[2]}, map));
        add_up(map, len[1] * len[2]);
    }
    free(map);
}

static void maps(void)
{
    int ncid = open_file("cube");

    read_maps(ncid, 0, size->len, size->maps);
    OK(nc_close(ncid));
}

static void strided_sample(void)
{
    const ptrdiff_t stride[3] = {6, 4, 4};
    size_t count[3], elements = 1;
    float *data;
    int ncid = open_file("cube");

    for (int d = 0; d < 3; d++)
        elements *= count[d] = (size->len[d] - 1) / (size_t)stride[d] + 1;
    data = memory(elements);
    OK(nc_get_vars_float(ncid, 0, (size_t[]){0, 0, 0}, count, stride, data));
    add_up(data, elements);
    free(data);
    OK(nc_close(ncid));
}

static void whole_array(void)
{
    const size_t elements = size->len[0] * size->len[1] * size->len[2];
    float *data = memory(elements);
    int ncid = open_file("cube");

    OK(nc_get_var_float(ncid, 0, data));
    add_up(data, elements);
    free(data);
    OK(nc_close(ncid));
}

/* Ten steps at a time, which chunks of 24 do not fit. */
static void mean_by_slabs(void)
{
    enum { STEPS = 10 };
    const size_t map = size->len[1] * size->len[2];
    float *data = memory(STEPS * map);
    int ncid = open_file("cube");

    for (size_t t = 0; t + STEPS <= size->maps; t += STEPS) {
        OK(nc_get_vara_float(ncid, 0, (size_t[]){t, 0, 0}, (size_t[]){STEPS, size->len[1], size->len[2]}, data));
        add_up(data, STEPS * map);
    }
    free(data);
    OK(nc_close(ncid));
}

static void random_series(void)
{
    float *data = memory(size->len[0]);
    int ncid = open_file("cube");

    srand(7);
    for (size_t i = 0; i < size->series; i++) {
        const size_t y = (size_t)rand() % size->len[1], x = (size_t)rand() % size->len[2];

        OK(nc_get_vara_float(ncid, 0, (size_t[]){0, y, x}, (size_t[]){size->len[0], 1, 1}, data));
        add_up(data, size->len[0]);
    }
    free(data);
    OK(nc_close(ncid));
}

static void series_on_a_line(void)
{
    float *data = memory(size->len[0]);
    int ncid = open_file("cube");

    for (size_t x = 0; x < size->series; x++) {
        OK(nc_get_vara_float(ncid, 0, (size_t[]){0, 30, x}, (size_t[]){size->len[0], 1, 1}, data));
        add_up(data, size->len[0]);
    }
    free(data);
    OK(nc_close(ncid));
}

static void box_a_step(void)
{
    float box[100];
    int ncid = open_file("cube");

    for (size_t t = 0; t < size->len[0]; t++) {
        OK(nc_get_vara_float(ncid, 0, (size_t[]){t, 50, 100}, (size_t[]){1, 10, 10}, box));
        add_up(box, 100);
    }
    OK(nc_close(ncid));
}

/* One element a step of each variable, then maps of each. */
static void variables(size_t number)
{
    int ncid = open_file("many");

    for (size_t t = 0; t < size->many_len[0]; t++) {
        for (size_t v = 0; v < number && v < size->many; v++) {
            float value;

            OK(nc_get_var1_float(ncid, (int)v, (size_t[]){t, 30, 60}, &value));
            sum += value;
        }
    }
    for (size_t v = 0; v < number && v < size->many; v++)
        read_maps(ncid, (int)v, size->many_len, size->many_maps);
    OK(nc_close(ncid));
}

static void one_variable(void)
{
    variables(1);
}

static void variables_20(void)
{
    variables(20);
}

static void variables_100(void)
{
    variables(100);
}

/* With a cache of 26 MB, in which all chunks of some steps have room. */
static void write_cube(size_t at_once)
{
    const size_t len[3] = {at_once == 1 ? size->steps : size->len[0] / 3, size->len[1], size->len[2]};
    int ncid = define("written", 1, len, size->chunk, 0);

    OK(nc_set_var_chunk_cache(ncid, 0, 26000000, 1009, 0.75f));
    write_steps(ncid, 0, len, len[0], at_once);
    OK(nc_close(ncid));
}

static void write_by_steps(void)
{
    write_cube(1);
}

static void write_by_slabs(void)
{
    write_cube(size->chunk[0]);
}

static void write_default_cache(void)
{
    const size_t len[3] = {size->steps, size->len[1], size->len[2]};
    int ncid = define("written", 1, len, size->chunk, 0);

    write_steps(ncid, 0, len, len[0], 1);
    OK(nc_close(ncid));
}

static const struct {
    const char *name;
    void (*run)(void);
} jobs[] = {
    {"maps, one by one", maps},
    {"strided sample, (6, 4, 4)", strided_sample},
    {"whole array", whole_array},
    {"mean by slabs of 10 steps", mean_by_slabs},
    {"time series at random points", random_series},
    {"time series at the points of a line", series_on_a_line},
    {"a box of 10 x 10, each step", box_a_step},
    {"an element each step, then maps: 1 variable", one_variable},
    {"the same: 20 variables", variables_20},
    {"the same: 100 variables", variables_100},
    {"writing step by step", write_default_cache},
    {"writing step by step, cache of 26 MB", write_by_steps},
    {"writing by slabs of chunks, cache of 26 MB", write_by_slabs},
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* The most memory that this program has taken, in KiB. What getrusage tells on Linux includes the program that started
 * it. */
static long most_memory(const struct rusage *used)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long most = used->ru_maxrss;

    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmHWM: %ld", &most) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return most;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
            puts(jobs[j].name);
        return argc == 1 ? 0 : 2;
    }
    for (size_t s = 0; s < sizeof all_sizes / sizeof *all_sizes; s++)
        if (strcmp(argv[2], all_sizes[s].name) == 0)
            size = &all_sizes[s];
    directory = argv[3];
    if (size == NULL)
        return 2;
    if (strcmp(argv[1], "make") == 0) {
        make();
        return 0;
    }
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        struct rusage used;
        double begin = now();

        if (strcmp(argv[1], jobs[j].name) != 0)
            continue;
        jobs[j].run();
        begin = now() - begin;
        EXPECT(getrusage(RUSAGE_SELF, &used) == 0);
        printf("%s\t%.6f\t%.6f\t%.6f\t%ld\t%ld\t%.17g\n", jobs[j].name, begin,
               seconds(used.ru_utime) + seconds(used.ru_stime), seconds(used.ru_stime), most_memory(&used),
               used.ru_minflt, sum);
        return 0;
    }
    return 2;
}
