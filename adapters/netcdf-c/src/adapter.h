/* What the files of the adapter share. They are compiled inside netCDF-C's tree, against its internal headers, in place
 * of libnczarr's zchunking.c, zodom.c and zwalk.c. */
#ifndef NCZCHUNK_NETCDF_ADAPTER_H
#define NCZCHUNK_NETCDF_ADAPTER_H

#include "zincludes.h"
#include "netcdf_meta.h"
#include "ncxcache.h"

#include <nczchunk.h>

/* The internal headers may change with any version of netCDF-C: an adapter that compiles is not yet one that works. */
#define NETCDF_VERSION (NC_VERSION_MAJOR * 10000 + NC_VERSION_MINOR * 100 + NC_VERSION_PATCH)
#if NETCDF_VERSION != 40902 && NETCDF_VERSION != 40903 && NETCDF_VERSION != 41001
#error "nczchunk's adapter is for netCDF-C 4.9.2, 4.9.3 and 4.10.1 only, and this is another version"
#endif

/*
 * netCDF-C's indices are size64_t, nczchunk's size_t and ptrdiff_t. Where all have 64 bits they can be passed as they
 * are.
 */
_Static_assert(sizeof(size_t) == sizeof(size64_t) && sizeof(ptrdiff_t) == sizeof(size64_t),
               "nczchunk's adapter is for machines with 64-bit addresses");

/* What the files share is not seen outside libnetcdf. */
#define ADAPTER_LOCAL __attribute__((visibility("hidden")))

/* One transfer between the chunks of a variable and memory. */
typedef struct Transfer {
    NC_FILE_INFO_T* file;
    NC_VAR_INFO_T* var;
    NCZChunkCache* cache;
    int reading;
    int swap;                    /* stored words have the other byte order */
    int spans_chunks;            /* goes through them from end to end */
    size_t chunks;               /* how many were fetched or made before this one */
    const struct Common* common; /* what describes it, if that is not netCDF's interface */
} Transfer;

/* ncz_cache.c: the entry of a chunk in NCZarr's cache, fetched if need be, in stored byte order and not filtered. It
 * may be longer than it should be, never shorter. */
ADAPTER_LOCAL int nczadapter_fetch(const Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp);

/* The same for a chunk whose old contents do not matter: it is not read, unless its length does. created tells that it
 * is a new one, without contents. */
ADAPTER_LOCAL int nczadapter_make(const Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp,
                                  int* created);

/* Takes an entry out of the cache, whatever it holds. */
ADAPTER_LOCAL void nczadapter_drop(NCZChunkCache* cache, NCZCacheEntry* entry);

/* Copies elements that may be strings. Overwritten strings are freed. */
ADAPTER_LOCAL int nczadapter_copy(const Transfer* transfer, int reading, size_t count, const void* source,
                                  void* destination);

/* ncz_transfer.c: the transfer that netCDF-C's internal structure describes. A scalar has rank 0. */
ADAPTER_LOCAL int nczadapter_transfer_common(struct Common* common, size_t rank, const size64_t* start,
                                             const size64_t* count, const size64_t* stride);

#endif
