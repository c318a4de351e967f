/*
 * The array of sea surface temperatures, kept in a directory with one file per chunk, as Zarr does: the functions that
 * nczchunk calls to get at them, and a record of what they did.
 */
#ifndef SST_STORE_H
#define SST_STORE_H

#include <stddef.h>

#include "nczchunk.h"

/* What coads_sst.zarr/.zarray says. A general reader would parse it; this one knows its array. */
#define SST_RANK 3
#define SST_MONTHS 12      /* January to December */
#define SST_LATITUDES 90   /* every 2 degrees from 89S to 89N */
#define SST_LONGITUDES 180 /* every 2 degrees from 21E eastwards to 19E */
#define SST_SIZE (SST_MONTHS * SST_LATITUDES * SST_LONGITUDES)
#define SST_CHUNK_MONTHS 5
#define SST_CHUNK_LATITUDES 40
#define SST_CHUNK_LONGITUDES 50
#define SST_FILL_VALUE (-9.999999790214768e+33f) /* land, or nothing observed */

/* How many chunks there are along each dimension: 3 x 3 x 4, those at the far edges being partly outside the array. */
#define SST_CHUNKS(length, chunk_length) (((length) + (chunk_length) - 1) / (chunk_length))
#define SST_GRID_MONTHS SST_CHUNKS(SST_MONTHS, SST_CHUNK_MONTHS)
#define SST_GRID_LATITUDES SST_CHUNKS(SST_LATITUDES, SST_CHUNK_LATITUDES)
#define SST_GRID_LONGITUDES SST_CHUNKS(SST_LONGITUDES, SST_CHUNK_LONGITUDES)

/* What became of a chunk. */
typedef enum { SST_NOT_ASKED_FOR, SST_FETCHED, SST_ABSENT } sst_fate;

/* What was read from files since the record was last cleared. */
typedef struct {
    sst_fate fate[SST_GRID_MONTHS][SST_GRID_LATITUDES][SST_GRID_LONGITUDES];
    size_t fetched, absent; /* chunks */
    size_t bytes;           /* compressed, as they are in the files */
} sst_record;

/* The directory and the record. It must outlive the store that is made from it. */
typedef struct {
    const char *data_dir;
    sst_record record;
} sst_files;

/* Describes the array to nczchunk. Returns an nczchunk status; the variable is the caller's to free. */
int sst_var_new(nczchunk_var **var, nczchunk_context *context);

/* Makes a store that reads data_dir/coads_sst.zarr. Returns an nczchunk status; the store is the caller's to free. */
int sst_store_new(sst_files *files, nczchunk_store **store, nczchunk_context *context);

#endif
