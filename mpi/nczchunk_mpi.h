/**
 * @file
 * Collective reads and writes of chunked arrays by the ranks of an MPI program.
 *
 * Each rank names the hyperslab that it needs. Every chunk that any of them touches is fetched and decoded by one rank,
 * its owner, which sends the others what they need of it: so a chunk that all ranks need is decoded once, and not once
 * by each. When writing, every chunk is encoded and stored by its owner, which gets the values from the others.
 *
 *     nczchunk_array_open("sst.zarr", NULL, NCZCHUNK_READ, &array, NULL);
 *     status = nczchunk_mpi_read(MPI_COMM_WORLD, nczchunk_array_var(array), nczchunk_array_store(array), start, count,
 *                                NULL, data, NULL, NULL, NULL);
 *
 * Who owns a chunk is what nczchunk_plan_owner says. docs/mpi.md has more, examples/mpi a whole program.
 */
#ifndef NCZCHUNK_MPI_H
#define NCZCHUNK_MPI_H

#include <mpi.h>
#include <stddef.h>

#include "nczchunk.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a call may use. Set struct_size, or begin with NCZCHUNK_MPI_OPTIONS_INIT; what is 0 has its default.
 */
typedef struct nczchunk_mpi_options {
    /** sizeof(nczchunk_mpi_options). */
    size_t struct_size;
    /**
     * The most bytes that the rank's buffers of elements take at the same time: decoded chunks, and what is sent and
     * received. What does not fit is done in several rounds. A round has one chunk at least, so three chunks are the
     * least that it comes to. 0 stands for 48 MiB. If the ranks differ, the least counts for all.
     */
    size_t memory;
} nczchunk_mpi_options;

#define NCZCHUNK_MPI_OPTIONS_INIT \
    {sizeof(nczchunk_mpi_options), 0}

/**
 * What a call did. Set struct_size, or begin with NCZCHUNK_MPI_REPORT_INIT; the call sets the other fields, also if it
 * fails.
 */
typedef struct nczchunk_mpi_report {
    /** sizeof(nczchunk_mpi_report). */
    size_t struct_size;
    /** Chunks that this rank fetched and decoded; of a write, those that the slabs of all ranks do not cover. */
    size_t chunks_read;
    /** Chunks that this rank encoded and stored. */
    size_t chunks_written;
    /** Bytes that this rank sent to others, and that it received from them. */
    size_t bytes_sent, bytes_received;
    /** The rounds that it took, which are as many on every rank. */
    size_t rounds;
    /** The rank at which the call failed, the same on every rank; -1 if it did not fail. */
    int failed_rank;
    /** The message for the error, which names that rank, the same on every rank; empty if it did not fail. */
    char message[512];
} nczchunk_mpi_report;

#define NCZCHUNK_MPI_REPORT_INIT \
    {sizeof(nczchunk_mpi_report), 0, 0, 0, 0, 0, -1, ""}

/**
 * Reads the hyperslab of each rank into its data: row-major, without gaps, in native byte order, as nczchunk_read_vars
 * does. Collective: all ranks of comm call it with the same variable. A rank that needs nothing has a count of 0. Slabs
 * may overlap.
 *
 * comm is duplicated for the call, so its messages do not meet the program's. Only the calling thread calls MPI. start,
 * count and stride have one entry per dimension; a NULL stride stands for ones. options, report and context may be
 * NULL. context is for the chunks that this rank reads: its threads are used, and its progress counts those of one
 * call of many.
 *
 * All ranks return the same status: if the call fails at one of them, it fails at all, none waits for another, and what
 * is in data is unspecified. If it fails at several, the lowest rank is reported.
 *
 * The elements are sent as bytes. So elements with a copier (nczchunk_var_set_copier) and variable-length strings are
 * refused.
 *
 * Errors: those of nczchunk_read_vars; NCZCHUNK_EINVAL also for a struct_size that is not set, a NULL count of a
 * variable with dimensions, MPI_COMM_NULL, elements with a copier, variable-length strings, and variables that differ
 * from rank to rank; NCZCHUNK_EIO if comm returns errors of MPI and there is one.
 */
NCZCHUNK_MUST_USE
int nczchunk_mpi_read(MPI_Comm comm,
                      const nczchunk_var *var,
                      const nczchunk_chunk_store *store,
                      const size_t *start,
                      const size_t *count,
                      const ptrdiff_t *stride,
                      void *data,
                      const nczchunk_mpi_options *options,
                      nczchunk_mpi_report *report,
                      nczchunk_context *context);

/**
 * Writes the hyperslab of each rank from its data. It is nczchunk_mpi_read in the other direction. Every chunk (or
 * shard) that any rank touches is written once, by its owner; it is read first only if the slabs of all ranks together
 * do not cover it. The ranks need not take care that their slabs share no chunks. Where slabs overlap, the value of one
 * of them is stored.
 *
 * If the call fails, some chunks are written and some are not; no chunk has a part of its new values.
 *
 * Errors: those of nczchunk_write_vars, and those of nczchunk_mpi_read.
 */
NCZCHUNK_MUST_USE
int nczchunk_mpi_write(MPI_Comm comm,
                       const nczchunk_var *var,
                       const nczchunk_chunk_store *store,
                       const size_t *start,
                       const size_t *count,
                       const ptrdiff_t *stride,
                       const void *data,
                       const nczchunk_mpi_options *options,
                       nczchunk_mpi_report *report,
                       nczchunk_context *context);

#ifdef __cplusplus
}
#endif

#endif
