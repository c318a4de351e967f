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

/* Whether zxcache.c offers what docs/netcdf-maintainers.md proposes. check.c finds out, too; where nobody has asked it,
 * zcache.h tells by NCZ_PEEK. If it does not, ncz_zxcache.c stands in. */
#ifndef NETCDF_CACHE_OFFERS
#ifdef NCZ_PEEK
#define NETCDF_CACHE_OFFERS 1
#else
#define NETCDF_CACHE_OFFERS 0
#endif
#endif

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

/* A lock, which C11 has not everywhere. */
#ifdef _WIN32
#include <windows.h>
typedef SRWLOCK Lock;
#define LOCK_INIT SRWLOCK_INIT
#else
#include <pthread.h>
typedef pthread_mutex_t Lock;
#define LOCK_INIT PTHREAD_MUTEX_INITIALIZER
#endif

/* netCDF-C's log, which NCLOGGING in the environment turns on. The library that is preloaded does not write there. */
#ifdef NCZADAPTER_PRELOADED
#define ADAPTER_LOG(...) ((void)0)
#else
#define ADAPTER_LOG nclog
#endif

typedef struct Decoder Decoder;
typedef struct Book Book;

/* The small chunks of a variable that were read: ncz_shelf.c. */
typedef struct Shelf {
    size_t ndims, chunk; /* numbers of indices and bytes */
    size_t length;
    size_t places; /* in the table by which a chunk is found: a power of two, or 0 */
    Book **table, *newest, *oldest;
} Shelf;

/* A part of a variable, by its first element and its lengths. */
enum { AHEAD_RANK = 8 };
typedef struct Box {
    size_t rank;
    size64_t start[AHEAD_RANK], len[AHEAD_RANK];
} Box;

/* What was read ahead of a variable: ncz_ahead.c. */
typedef struct Ahead {
    Box last;            /* what was read last */
    Box box;             /* what is in data, in stored byte order, dense */
    size_t size;         /* of the box in bytes; 0: there is none */
    size_t filled;       /* how many of them were copied to data */
    size_t used, room;   /* the most bytes of data that were in use, and all of them */
    unsigned char* data;
} Ahead;

/* One transfer between the chunks of a variable and memory. */
typedef struct Transfer {
    NC_FILE_INFO_T* file;
    NC_VAR_INFO_T* var;
    NCZChunkCache* cache;
    Shelf* shelf; /* for what is read, if its chunks are small; else NULL */
    int reading;
    int swap;                    /* stored words have the other byte order */
    size_t chunks;               /* how many were fetched or made before this one */
    int spans_chunks;            /* goes through them from end to end */
    int replaces;                /* makes a chunk without reading it */
    size_t reused;               /* how many of them were in the cache, though not the last one used */
    const struct Common* common; /* what describes it, if that is not netCDF's interface */
    size_t threads;              /* how many may decode here; 0: netCDF-C decodes */
    Decoder* decoder;            /* made with the first chunk that is to be decoded */
    Lock* lock;                  /* of all above and of netCDF-C, if there are several threads; else NULL */
    Ahead* ahead;                /* where chunks that are read are copied to, in part; or NULL */
    const void* host;            /* nczadapter_host() of the thread that began */
} Transfer;

#if !NETCDF_CACHE_OFFERS
#undef NCZ_READ
#undef NCZ_REPLACE
#undef NCZ_PEEK
#define NCZ_cache_get nczadapter_cache_get
#define NCZ_cache_bound nczadapter_cache_bound
#define NCZ_entry_length nczadapter_entry_length
#define NCZ_entry_modify nczadapter_entry_modify
#define NCZ_entry_evict nczadapter_entry_evict
#define NCZ_entry_drop nczadapter_entry_drop
#define NCZ_victim nczadapter_victim_function
enum { NCZ_READ, NCZ_REPLACE, NCZ_PEEK };
typedef NCZCacheEntry* NCZ_victim(void* user);
ADAPTER_LOCAL int NCZ_cache_get(NCZChunkCache* cache, const size64_t* indices, int how, NCZCacheEntry** entry);
ADAPTER_LOCAL int NCZ_cache_bound(NCZChunkCache* cache, const struct ChunkCache* limits, size64_t coming,
                                  NCZ_victim* victim, void* user);
ADAPTER_LOCAL size64_t NCZ_entry_length(const NCZCacheEntry* entry, void** data);
ADAPTER_LOCAL int NCZ_entry_modify(NCZChunkCache* cache, NCZCacheEntry* entry);
ADAPTER_LOCAL int NCZ_entry_evict(NCZChunkCache* cache, NCZCacheEntry* entry);
ADAPTER_LOCAL int NCZ_entry_drop(NCZChunkCache* cache, NCZCacheEntry* entry);
#endif

/* Whether these are the indices of one chunk. Of chunks in turn the last index differs most often. */
static inline int nczadapter_are_same(const size64_t* one, const size64_t* other, size_t ndims)
{
    while (ndims > 0 && one[ndims - 1] == other[ndims - 1])
        ndims--;
    return ndims == 0;
}

/* ncz_cache.c: the entry of a chunk in NCZarr's cache, fetched if need be, in stored byte order and not filtered. It
 * may be longer than it should be, never shorter. */
ADAPTER_LOCAL int nczadapter_fetch(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp);

/* Where a chunk is that is to be read, for a transfer that has a shelf and one thread. */
ADAPTER_LOCAL int nczadapter_fetch_small(Transfer* transfer, const size64_t* indices, void** data, size_t* size);

/* The same as nczadapter_fetch for a chunk whose old contents do not matter: it is not read, unless its length does.
 * created tells that it is a new one, without contents. */
ADAPTER_LOCAL int nczadapter_make(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp, int* created);

/* Whether a chunk was used again since it came into the cache, after another one was used. The last index, which no
 * variable of fewer dimensions has, is where this is noted. */
static inline size64_t* nczadapter_reused(const NCZChunkCache* cache, NCZCacheEntry* entry)
{
    return cache->ndims < NC_MAX_VAR_DIMS ? &entry->indices[NC_MAX_VAR_DIMS - 1] : NULL;
}

/* Whether a chunk is on loan to one of several threads, so that it must stay where it is. The last index but one, which
 * no variable of such a transfer has, is where this is noted. */
static inline size64_t* nczadapter_lent(NCZCacheEntry* entry)
{
    return &entry->indices[NC_MAX_VAR_DIMS - 2];
}

static inline int nczadapter_is_lent(const Transfer* transfer, NCZCacheEntry* entry)
{
    return transfer->lock != NULL && *nczadapter_lent(entry) != 0;
}

#if NETCDF_CACHE_COUNTS
/* The entry that a transfer can do without best; NULL if the cache is empty, or all is on loan. */
ADAPTER_LOCAL NCZCacheEntry* nczadapter_victim(const Transfer* transfer);

/* ncz_keep.c: makes room for a chunk in a cache whose size nobody has set. */
ADAPTER_LOCAL int nczadapter_keep(const Transfer* transfer, ncexhashkey_t hashkey);

/* How many threads may decode chunks of a file here, as netCDF's rc file says; 0: netCDF-C decodes. */
ADAPTER_LOCAL size_t nczadapter_threads(const NC_FILE_INFO_T* file);

/* What was read ahead of a variable that is about to be read, of a file that is not written; NULL if nothing may be:
 * the size of the variable's cache was set, it has strings, or there is no memory. */
ADAPTER_LOCAL Ahead* nczadapter_ahead(NC_FILE_INFO_T* file, NC_VAR_INFO_T* var);

/* How many bytes, of those that are wanted, may be read ahead in a transfer of this part of its variable; 0 if its
 * chunks can be kept instead. */
ADAPTER_LOCAL size_t nczadapter_room_ahead(const Transfer* transfer, const Box* box, size_t wanted);

/* Counts anew what the variable of a transfer keeps. */
ADAPTER_LOCAL void nczadapter_count(const Transfer* transfer);

/* ncz_ahead.c: 1 if all that is to be read is in transfer->ahead. If not, transfer->ahead is not NULL if each chunk
 * that is read is to be given to nczadapter_ahead_take, and at the end nczadapter_ahead_end is to be called. */
ADAPTER_LOCAL int nczadapter_ahead_begin(Transfer* transfer, size_t rank, const size64_t* start, const size64_t* count,
                                         const size64_t* stride);
ADAPTER_LOCAL void nczadapter_ahead_take(const Transfer* transfer, const size64_t* indices, const void* chunk);
ADAPTER_LOCAL void nczadapter_ahead_end(const Transfer* transfer, int status);
ADAPTER_LOCAL void nczadapter_ahead_drop(Ahead* ahead);
#endif

/* ncz_keep.c: the shelf of a variable; NULL if its chunks are not small, or somebody has set the size of its cache. */
ADAPTER_LOCAL Shelf* nczadapter_shelf(NC_FILE_INFO_T* file, NC_VAR_INFO_T* var);

/* ncz_shelf.c: a chunk that is there, or NULL; one that was not the newest is noted as reused. */
ADAPTER_LOCAL Book* nczadapter_shelf_find(Shelf* shelf, const size64_t* indices);

/* Puts a copy of a chunk there that is not; NULL without memory. */
ADAPTER_LOCAL Book* nczadapter_shelf_put(Shelf* shelf, const size64_t* indices, const void* chunk);

/* Takes one away, and tells whether it was reused. */
ADAPTER_LOCAL int nczadapter_shelf_drop(Shelf* shelf, Book* book);
ADAPTER_LOCAL void nczadapter_shelf_empty(Shelf* shelf);
ADAPTER_LOCAL void* nczadapter_book_data(const Shelf* shelf, Book* book);

/* How many bytes of memory one takes. */
ADAPTER_LOCAL size_t nczadapter_book_size(const Shelf* shelf);

/* ncz_decode.c: decodes a stored chunk here, into memory for it, if the variable's filters are known and what is stored
 * is a chunk; if not, data is NULL, and netCDF-C is to read it. With a lock, which the caller holds, it is released
 * while the chunk is decoded. */
ADAPTER_LOCAL void nczadapter_decode(Transfer* transfer, const struct ChunkKey* key, void** data);
ADAPTER_LOCAL void nczadapter_free_decoder(Decoder* decoder);

/* For transfers without a lock these do nothing. */
ADAPTER_LOCAL void nczadapter_lock(const Transfer* transfer);
ADAPTER_LOCAL void nczadapter_unlock(const Transfer* transfer);

/* Lets the other threads of a transfer go on. */
ADAPTER_LOCAL void nczadapter_wait(const Transfer* transfer);

/* Which libnetcdf is worked for in this thread: the library that is preloaded may have several. */
#ifdef NCZADAPTER_PRELOADED
ADAPTER_LOCAL const void* nczadapter_host(void);
ADAPTER_LOCAL void nczadapter_set_host(const void* host);
#endif

/* Copies elements that may be strings. Overwritten strings are freed. */
ADAPTER_LOCAL int nczadapter_copy(const Transfer* transfer, int reading, size_t count, const void* source,
                                  void* destination);

/* ncz_transfer.c: the transfer that netCDF-C's internal structure describes. A scalar has rank 0. */
ADAPTER_LOCAL int nczadapter_transfer_common(struct Common* common, size_t rank, const size64_t* start,
                                             const size64_t* count, const size64_t* stride);

#endif
