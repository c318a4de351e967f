/* What the adapter calls in netCDF-C: checked when netCDF-C is configured, and looked for by the library that is
 * preloaded. */
#ifndef NCZCHUNK_NETCDF_HOST_H
#define NCZCHUNK_NETCDF_HOST_H

#include "adapter.h"

#include "netcdf_filter.h"

/* The internal functions of libnetcdf that the adapter calls: result, name, parameters, arguments. */
#define HOST_FUNCTIONS(X)                                                                                              \
    X(char*, NC_rclookup, (const char* key, const char* server, const char* path), (key, server, path))                \
    X(int, NC4_inq_atomic_type, (nc_type type, char* name, size_t* size), (type, name, size))                          \
    X(int, NCZ_buildchunkpath, (NCZChunkCache * cache, const size64_t* indices, struct ChunkKey* key),                 \
      (cache, indices, key))                                                                                           \
    X(char*, NCZ_chunkpath, (struct ChunkKey key), (key))                                                              \
    X(int, NCZ_ensure_fill_value, (NC_VAR_INFO_T * var), (var))                                                        \
    X(int, NCZ_read_cache_chunk, (NCZChunkCache * cache, const size64_t* indices, void** data),                        \
      (cache, indices, data))                                                                                          \
    X(int, nc4_find_grp_h5_var,                                                                                        \
      (int ncid, int varid, NC_FILE_INFO_T** file, NC_GRP_INFO_T** group, NC_VAR_INFO_T** var),                        \
      (ncid, varid, file, group, var))                                                                                 \
    X(int, nc_inq_var_filter_ids, (int ncid, int varid, size_t* number, unsigned* ids), (ncid, varid, number, ids))    \
    X(int, nc_inq_var_filter_info,                                                                                     \
      (int ncid, int varid, unsigned id, size_t* number, unsigned* parameters),                                        \
      (ncid, varid, id, number, parameters))                                                                           \
    X(int, nczmap_len, (NCZMAP * map, const char* key, size64_t* length), (map, key, length))                          \
    X(int, nczmap_read,                                                                                                \
      (NCZMAP * map, const char* key, size64_t start, size64_t count, void* content),                                  \
      (map, key, start, count, content))                                                                               \
    X(void*, ncxcachefirst, (NCxcache * cache), (cache))                                                               \
    X(ncexhashkey_t, ncxcachekey, (const void* key, size_t size), (key, size))                                         \
    X(void*, ncxcachelast, (NCxcache * cache), (cache))                                                                \
    X(int, ncxcachelookup, (NCxcache * cache, ncexhashkey_t key, void** object), (cache, key, object))                 \
    HOST_COPY(X)                                                                                                       \
    HOST_FUNCTIONS_OF_CACHE(X)

/* What it gets chunks from the cache with. */
#if NETCDF_CACHE_OFFERS
#define HOST_FUNCTIONS_OF_CACHE(X)                                                                                     \
    X(int, NCZ_cache_get, (NCZChunkCache * cache, const size64_t* indices, int how, NCZCacheEntry** entry),            \
      (cache, indices, how, entry))                                                                                    \
    X(int, NCZ_cache_bound,                                                                                            \
      (NCZChunkCache * cache, const struct ChunkCache* limits, size64_t coming, NCZ_victim* victim, void* user),       \
      (cache, limits, coming, victim, user))                                                                           \
    X(size64_t, NCZ_entry_length, (const NCZCacheEntry* entry, void** data), (entry, data))                            \
    X(int, NCZ_entry_modify, (NCZChunkCache * cache, NCZCacheEntry* entry), (cache, entry))                            \
    X(int, NCZ_entry_evict, (NCZChunkCache * cache, NCZCacheEntry* entry), (cache, entry))                             \
    X(int, NCZ_entry_drop, (NCZChunkCache * cache, NCZCacheEntry* entry), (cache, entry))
#else
#define HOST_FUNCTIONS_OF_CACHE(X)                                                                                     \
    X(int, NCZ_flush_chunk_cache, (NCZChunkCache * cache), (cache))                                                    \
    X(int, NCZ_swapatomicdata, (size_t length, void* data, int typesize), (length, data, typesize))                    \
    X(void*, nclistpop, (NClist * list), (list))                                                                       \
    X(int, nclistpush, (NClist * list, const void* element), (list, element))                                          \
    X(int, ncxcacheinsert, (NCxcache * cache, const ncexhashkey_t key, void* object), (cache, key, object))            \
    X(int, ncxcacheremove, (NCxcache * cache, ncexhashkey_t key, void** object), (cache, key, object))                 \
    HOST_RECLAIM(X)
#endif

/* What differs between the forms. */
#if NETCDF_CACHE_COUNTS
#define HOST_COPY(X)                                                                                                   \
    X(int, NCZ_copy_data,                                                                                              \
      (NC_FILE_INFO_T * file, NC_VAR_INFO_T * var, const void* memory, size_t count, int reading, void* copy),         \
      (file, var, memory, count, reading, copy))
#define HOST_RECLAIM(X)                                                                                                \
    X(int, NC_reclaim_data_all, (NC * nc, nc_type type, void* data, size_t count), (nc, type, data, count))
#else
#define HOST_COPY(X)                                                                                                   \
    X(int, NCZ_copy_data,                                                                                              \
      (NC_FILE_INFO_T * file, NC_TYPE_INFO_T * type, const void* memory, size_t count, int noclear, void* copy),       \
      (file, type, memory, count, noclear, copy))
#define HOST_RECLAIM(X)                                                                                                \
    X(int, nc_reclaim_data_all, (int ncid, nc_type type, void* data, size_t count), (ncid, type, data, count))
#endif

#endif
