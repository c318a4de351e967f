/* What the files of the adapter share. They are compiled inside netCDF-C's tree, against its internal headers, in place
 * of libnczarr's zchunking.c, zodom.c and zwalk.c. */
#ifndef NCZCHUNK_NETCDF_ADAPTER_H
#define NCZCHUNK_NETCDF_ADAPTER_H

#include "zincludes.h"
#include "ncrc.h"
#include "netcdf_meta.h"
#include "ncxcache.h"

#include <nczchunk.h>

/* netCDF-C's internals come in two forms: in 4.9.2, and since 4.9.3. nczchunk-netcdf.cmake finds out which, and whether
 * it is one of them at all (check.c); where nobody has, the version tells. */
#ifndef NETCDF_CACHE_COUNTS
#define NETCDF_CACHE_COUNTS (NC_VERSION_MAJOR * 10000 + NC_VERSION_MINOR * 100 + NC_VERSION_PATCH >= 40903)
#endif
/* Named for one of the differences: 4.9.2's cache does not count its bytes, and gives up nothing. */

/*
 * netCDF-C's indices are size64_t, nczchunk's size_t and ptrdiff_t. Where all have 64 bits they can be passed as they
 * are.
 */
_Static_assert(sizeof(size_t) == sizeof(size64_t) && sizeof(ptrdiff_t) == sizeof(size64_t),
               "nczchunk's adapter is for machines with 64-bit addresses");

/* What the files share is not seen outside libnetcdf, as it is with MSVC anyway. */
#ifdef __GNUC__
#define ADAPTER_LOCAL __attribute__((visibility("hidden")))
#else
#define ADAPTER_LOCAL
#endif

/* One transfer between the chunks of a variable and memory. */
typedef struct Transfer {
    NC_FILE_INFO_T* file;
    NC_VAR_INFO_T* var;
    NCZChunkCache* cache;
    int reading;
    int swap;                    /* stored words have the other byte order */
    size_t chunks;               /* how many were fetched or made before this one */
    int spans_chunks;            /* goes through them from end to end */
    int replaces;                /* makes a chunk without reading it */
    size_t reused;               /* how many of them were in the cache, though not the last one used */
    const struct Common* common; /* what describes it, if that is not netCDF's interface */
} Transfer;

/* ncz_cache.c: the entry of a chunk in NCZarr's cache, fetched if need be, in stored byte order and not filtered. It
 * may be longer than it should be, never shorter. */
ADAPTER_LOCAL int nczadapter_fetch(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp);

/* The same for a chunk whose old contents do not matter: it is not read, unless its length does. created tells that it
 * is a new one, without contents. */
ADAPTER_LOCAL int nczadapter_make(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp, int* created);

/* Takes an entry out of the cache, whatever it holds. */
ADAPTER_LOCAL void nczadapter_drop(NCZChunkCache* cache, NCZCacheEntry* entry);

/* The same for one that is to be kept: what has changed is stored first. */
ADAPTER_LOCAL int nczadapter_evict(NCZChunkCache* cache, NCZCacheEntry* entry);

/* Whether a chunk was used again since it came into the cache, after another one was used. The last index, which no
 * variable of fewer dimensions has, is where this is noted. */
static inline size64_t* nczadapter_reused(const NCZChunkCache* cache, NCZCacheEntry* entry)
{
    return cache->ndims < NC_MAX_VAR_DIMS ? &entry->indices[NC_MAX_VAR_DIMS - 1] : NULL;
}

#if NETCDF_CACHE_COUNTS
/* The entry that a transfer can do without best; NULL if the cache is empty. */
ADAPTER_LOCAL NCZCacheEntry* nczadapter_victim(const Transfer* transfer);

/* ncz_keep.c: makes room for a chunk in a cache whose size nobody has set. */
ADAPTER_LOCAL int nczadapter_keep(const Transfer* transfer, ncexhashkey_t hashkey);
#endif

/* Copies elements that may be strings. Overwritten strings are freed. */
ADAPTER_LOCAL int nczadapter_copy(const Transfer* transfer, int reading, size_t count, const void* source,
                                  void* destination);

/* ncz_transfer.c: the transfer that netCDF-C's internal structure describes. A scalar has rank 0. */
ADAPTER_LOCAL int nczadapter_transfer_common(struct Common* common, size_t rank, const size64_t* start,
                                             const size64_t* count, const size64_t* stride);

#endif
