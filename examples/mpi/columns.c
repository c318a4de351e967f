/*
 * An array of maps that all ranks of an MPI program write and read, of which each has a part of every map: each map is
 * encoded and decoded once.
 *
 *     mpicc columns.c -lnczchunk_mpi -lnczchunk && mpirun -n 4 ./a.out
 */
#include <stdio.h>
#include <stdlib.h>

#include "nczchunk_array.h"
#include "nczchunk_mpi.h"

enum { TIMES = 40, LATS = 60, LONS = 80 };

static int rank, size;

/* The bounds of the share of a rank, of so many elements. */
static size_t begin_of(size_t len, int of)
{
    return len * (size_t)of / (size_t)size;
}

static void finish(int status, const char *what, const char *message)
{
    if (rank == 0 && status != NCZCHUNK_NOERR) fprintf(stderr, "%s: %s %s\n", what, nczchunk_strerror(status), message);
    MPI_Finalize();
    exit(status != NCZCHUNK_NOERR);
}

/* Rank 0 creates the array before the others open it. */
static int create(void)
{
    const size_t shape[3] = {TIMES, LATS, LONS}, maps[3] = {1, LATS, LONS};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int status = NCZCHUNK_NOERR;

    description.type = NCZCHUNK_FLOAT;
    description.rank = 3;
    description.shape = shape;
    description.chunk_shape = maps;
    description.overwrite = 1;
    if (rank == 0) status = nczchunk_array_create("columns.zarr", NULL, &description, &array, NULL);
    nczchunk_array_close(array);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return status;
}

int main(int argc, char **argv)
{
    nczchunk_array *array = NULL;
    nczchunk_mpi_report report = NCZCHUNK_MPI_REPORT_INIT;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int status = create();
    if (status != NCZCHUNK_NOERR) finish(status, "create", "");

    /* Each rank has a band of latitudes at all times, and so a part of each chunk. */
    size_t start[3] = {0, begin_of(LATS, rank), 0};
    size_t count[3] = {TIMES, begin_of(LATS, rank + 1) - start[1], LONS};
    float *data = malloc(TIMES * LATS * LONS * sizeof *data); /* more than enough */
    if (!data) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < count[0] * count[1] * count[2]; i++)
        data[i] = (float)((i / LONS / count[1] * LATS + start[1] + i / LONS % count[1]) * LONS + i % LONS);
    /* A rank that cannot open the array takes part, with NULL for its variable: then the call fails on all ranks. */
    (void)!nczchunk_array_open("columns.zarr", NULL, NCZCHUNK_WRITE, &array, NULL);
    status = nczchunk_mpi_write(MPI_COMM_WORLD, nczchunk_array_var(array), nczchunk_array_store(array), start, count,
                                NULL, data, NULL, &report, NULL);
    if (status != NCZCHUNK_NOERR) finish(status, "write", report.message);
    printf("rank %d stored %zu chunks\n", rank, report.chunks_written);

    /* And now a band of longitudes, every second of them. */
    const ptrdiff_t stride[3] = {1, 1, 2};
    start[1] = 0, start[2] = begin_of(LONS, rank);
    count[1] = LATS, count[2] = (begin_of(LONS, rank + 1) - start[2] + 1) / 2;
    status = nczchunk_mpi_read(MPI_COMM_WORLD, nczchunk_array_var(array), nczchunk_array_store(array), start, count,
                               stride, data, NULL, &report, NULL);
    if (status != NCZCHUNK_NOERR) finish(status, "read", report.message);
    printf("rank %d decoded %zu chunks, sent %zu bytes and received %zu\n", rank, report.chunks_read, report.bytes_sent,
           report.bytes_received);
    for (size_t i = 0; i < count[0] * count[1] * count[2]; i++)
        if (data[i] != (float)((i / count[2]) * LONS + start[2] + 2 * (i % count[2]))) MPI_Abort(MPI_COMM_WORLD, 1);
    nczchunk_array_close(array);
    free(data);
    finish(NCZCHUNK_NOERR, "", "");
}
