/*
 * Reads and writes by the ranks of an MPI program: collectively with nczchunk_mpi, by each rank for itself, and with
 * parallel HDF5, all with shuffle and deflate. Prints a line of a table for each: the seconds of the slowest rank, the
 * bytes that all ranks read or wrote as the system counts them, and chunks decoded or encoded. scripts/bench-mpi runs
 * it.
 *
 *     mpirun -n 4 bench DIRECTORY
 */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nczchunk_array.h"
#include "nczchunk_mpi.h"

enum { DIMS = 3, REPEATS = 5 };

static const size_t shape[DIMS] = {96, 500, 512};
static const size_t chunk_shapes[2][DIMS] = {{1, 500, 512}, {16, 128, 128}};
static const char *const names[2] = {"maps", "tiles"};
static int rank, size;
static char path[4096];

static void failed(int line, const char *condition)
{
    fprintf(stderr, "bench.c:%d: %s\n", line, condition);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CHECK(condition) ((condition) ? (void)0 : failed(__LINE__, #condition))

typedef struct slab {
    size_t start[DIMS], count[DIMS];
    ptrdiff_t stride[DIMS];
} slab;

typedef struct scene {
    const char *name;
    int layout, writes;
} scene;

static const scene scenes[] = {{"columns of maps", 0, 0}, {"every nth column of maps", 0, 0},
                               {"rows of tiles with a halo of 2", 1, 0}, {"boxes of tiles at random", 1, 0},
                               {"columns of maps, written", 0, 1}};
enum { NUM_SCENES = sizeof scenes / sizeof *scenes };

static slab slab_of(int number)
{
    slab s = {{0, 0, 0}, {shape[0], shape[1], shape[2]}, {1, 1, 1}};
    const size_t r = (size_t)rank, n = (size_t)size;
    unsigned seed = 38u + (unsigned)rank;

    switch (number) {
    case 1:
        s.start[2] = r, s.count[2] = shape[2] / n, s.stride[2] = (ptrdiff_t)n;
        break;
    case 2: {
        size_t begin = shape[1] * r / n, end = shape[1] * (r + 1) / n;
        begin -= begin > 2 ? 2 : begin;
        end += end + 2 <= shape[1] ? 2 : 0;
        s.start[1] = begin, s.count[1] = end - begin;
        break;
    }
    case 3:
        for (int d = 0; d < DIMS; d++) {
            seed = seed * 1103515245u + 12345u;
            s.count[d] = shape[d] / 2;
            s.start[d] = (seed >> 8) % (shape[d] / 2);
        }
        break;
    default:
        s.start[2] = shape[2] * r / n, s.count[2] = shape[2] * (r + 1) / n - s.start[2];
    }
    return s;
}

static size_t elements_of(const slab *s)
{
    return s->count[0] * s->count[1] * s->count[2];
}

/* Smooth values with noise in the last four bits. */
static float value(size_t number)
{
    uint64_t noise = (uint64_t)number + 38;

    noise = (noise ^ noise >> 31) * 0x9E3779B97F4A7C15u;
    noise = (noise ^ noise >> 29) * 0xBF58476D1CE4E5B9u;
    return 280.0f + (float)(number % 512) / 64.0f + (float)(number / 512 % 500) / 100.0f +
           (float)(noise >> 60) / 256.0f;
}

/* The number of the i-th element of a slab in the array. */
static size_t number_of(const slab *s, size_t i)
{
    size_t index[DIMS];

    for (int d = DIMS; d-- > 0; i /= s->count[d]) index[d] = s->start[d] + i % s->count[d] * (size_t)s->stride[d];
    return (index[0] * shape[1] + index[1]) * shape[2] + index[2];
}

static void hdf5_name(char *name, int layout)
{
    snprintf(name, 4200, "%s/%s.h5", path, names[layout]);
}

static void zarr_name(char *name, int layout)
{
    snprintf(name, 4200, "%s/%s.zarr", path, names[layout]);
}

static hid_t open_hdf5(int layout, unsigned mode)
{
    char name[4200];
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;

    hdf5_name(name, layout);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    file = mode == H5F_ACC_TRUNC ? H5Fcreate(name, mode, H5P_DEFAULT, access) : H5Fopen(name, mode, access);
    CHECK(file >= 0);
    H5Pclose(access);
    return file;
}

/* One transfer with HDF5, collective. */
static void with_hdf5(hid_t set, const slab *s, float *data, int writes)
{
    hsize_t start[DIMS], count[DIMS], stride[DIMS];
    hid_t space = H5Dget_space(set), memory, how = H5Pcreate(H5P_DATASET_XFER);

    for (int d = 0; d < DIMS; d++) start[d] = s->start[d], count[d] = s->count[d], stride[d] = (hsize_t)s->stride[d];
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
    memory = H5Screate_simple(DIMS, count, NULL);
    H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
    CHECK((writes ? H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, how, data)
                  : H5Dread(set, H5T_NATIVE_FLOAT, memory, space, how, data)) >= 0);
    H5Pclose(how);
    H5Sclose(memory);
    H5Sclose(space);
}

/* Both files with the same values: each rank writes a band of columns. */
static void create(int layout, float *data)
{
    const nczchunk_codec_setting codecs[2] = {{"shuffle", "4"}, {"zlib", "4"}};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    slab s = slab_of(0);
    char name[4200];
    hsize_t lens[DIMS], chunk[DIMS];

    for (size_t i = 0; i < elements_of(&s); i++) data[i] = value(number_of(&s, i));
    zarr_name(name, layout);
    description.type = NCZCHUNK_FLOAT;
    description.format = NCZCHUNK_ZARR_V2;
    description.rank = DIMS;
    description.shape = shape;
    description.chunk_shape = chunk_shapes[layout];
    description.codecs = codecs;
    description.num_codecs = 2;
    description.overwrite = 1;
    if (rank == 0) {
        CHECK(nczchunk_array_create(name, NULL, &description, &array, NULL) == 0);
        nczchunk_array_close(array);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(nczchunk_array_open(name, NULL, NCZCHUNK_WRITE, &array, NULL) == 0);
    CHECK(nczchunk_mpi_write(MPI_COMM_WORLD, nczchunk_array_var(array), nczchunk_array_store(array), s.start, s.count,
                             NULL, data, NULL, NULL, NULL) == 0);
    nczchunk_array_close(array);

    hid_t file = open_hdf5(layout, H5F_ACC_TRUNC), properties = H5Pcreate(H5P_DATASET_CREATE);
    for (int d = 0; d < DIMS; d++) lens[d] = shape[d], chunk[d] = chunk_shapes[layout][d];
    hid_t space = H5Screate_simple(DIMS, lens, NULL);
    H5Pset_chunk(properties, DIMS, chunk);
    H5Pset_shuffle(properties);
    H5Pset_deflate(properties, 4);
    hid_t set = H5Dcreate2(file, "data", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    with_hdf5(set, &s, data, 1);
    H5Dclose(set);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
}

/* The bytes that this process has read, and written, by system calls. */
static void io(long long bytes[2])
{
    FILE *file = fopen("/proc/self/io", "r");

    CHECK(file != NULL);
    CHECK(fscanf(file, "rchar: %lld wchar: %lld", &bytes[0], &bytes[1]) == 2);
    fclose(file);
}

static int later(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef enum method { COLLECTIVE, EACH_FOR_ITSELF, HDF5, NUM_METHODS } method;
static const char *const methods[NUM_METHODS] = {"nczchunk_mpi", "nczchunk, each rank for itself", "parallel HDF5"};

static void measure(int number, method how, float *data)
{
    const scene *this = &scenes[number];
    const slab s = slab_of(number);
    double seconds[REPEATS];
    long long before[2], after[2], moved = 0, all_moved, chunks = 0, all_chunks, sent = 0, all_sent;
    nczchunk_array *array = NULL;
    hid_t file = -1, set = -1;
    char name[4200];

    for (size_t i = 0; this->writes && i < elements_of(&s); i++) data[i] = value(number_of(&s, i));
    for (int i = 0; i < REPEATS; i++) {
        nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

        if (how == HDF5) {
            file = open_hdf5(this->layout, this->writes ? H5F_ACC_RDWR : H5F_ACC_RDONLY);
            CHECK((set = H5Dopen2(file, "data", H5P_DEFAULT)) >= 0);
        } else {
            zarr_name(name, this->layout);
            CHECK(nczchunk_array_open(name, NULL, this->writes ? NCZCHUNK_WRITE : NCZCHUNK_READ, &array, NULL) == 0);
        }
        if (!this->writes) memset(data, 0, elements_of(&s) * sizeof *data);
        MPI_Barrier(MPI_COMM_WORLD);
        io(before);
        double begin = MPI_Wtime();
        if (how == HDF5) {
            with_hdf5(set, &s, data, this->writes);
        } else {
            const nczchunk_var *var = nczchunk_array_var(array);
            const nczchunk_chunk_store *store = nczchunk_array_store(array);

            if (how == EACH_FOR_ITSELF) {
                nczchunk_plan *plan;
                CHECK(nczchunk_array_read(array, s.start, s.count, s.stride, data, NULL) == 0);
                CHECK(nczchunk_plan_new(var, s.start, s.count, s.stride, NCZCHUNK_READ, &plan, NULL) == 0);
                CHECK(nczchunk_plan_totals(plan, &totals, NULL) == 0);
                chunks = (long long)totals.chunks;
                nczchunk_plan_free(plan);
            } else if (this->writes) {
                CHECK(nczchunk_mpi_write(MPI_COMM_WORLD, var, store, s.start, s.count, s.stride, data, NULL, &report,
                                         NULL) == 0);
                chunks = (long long)report.chunks_written;
            } else {
                CHECK(nczchunk_mpi_read(MPI_COMM_WORLD, var, store, s.start, s.count, s.stride, data, NULL, &report,
                                        NULL) == 0);
                chunks = (long long)report.chunks_read;
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[i] = MPI_Wtime() - begin;
        io(after);
        moved = after[this->writes] - before[this->writes];
        sent = (long long)report.bytes_sent;
        if (how == HDF5) H5Dclose(set), H5Fclose(file);
        else nczchunk_array_close(array);
    }
    /* All have the same values, and the right ones. */
    for (size_t i = 0; i < elements_of(&s); i++) CHECK(data[i] == value(number_of(&s, i)));
    qsort(seconds, REPEATS, sizeof *seconds, later);
    MPI_Reduce(&moved, &all_moved, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&chunks, &all_chunks, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sent, &all_sent, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    printf("| %d | %s | %s | %.3f s | %.1f MB | ", size, this->name, methods[how], seconds[REPEATS / 2],
           (double)all_moved / 1e6);
    if (how == HDF5) printf("| |\n");
    else printf("%lld | %.1f MB |\n", all_chunks, (double)all_sent / 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    float *data = malloc(shape[0] * shape[1] * shape[2] * sizeof *data);
    CHECK(data != NULL);
    for (int layout = 0; layout < 2; layout++) create(layout, data);
    for (int number = 0; number < NUM_SCENES; number++)
        for (int how = 0; how < NUM_METHODS; how++)
            if (!(scenes[number].writes && how == EACH_FOR_ITSELF)) measure(number, (method)how, data);
    free(data);
    MPI_Finalize();
    return 0;
}
