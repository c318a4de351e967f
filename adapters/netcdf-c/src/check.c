/* What the adapter relies on in netCDF-C, one line each, for the compiler to check when netCDF-C is configured: what
 * differs is named in its messages. Nothing of this is ever run. */
#include "host.h"

#define FUNCTION(result, name, parameters, arguments)                \
    extern result(*const nczadapter_check_##name) parameters; \
    result(*const nczadapter_check_##name) parameters = name;
HOST_FUNCTIONS(FUNCTION)

#define MEMBER(structure, type, member, name)                                      \
    extern type* nczadapter_check_##structure##_##name(structure* s); \
    type* nczadapter_check_##structure##_##name(structure* s)         \
    {                                                                              \
        return &s->member;                                                         \
    }
#define MEMBERS(X)                                             \
    X(NC_VAR_INFO_T, char*, hdr.name, name)                    \
    X(NC_VAR_INFO_T, NC_GRP_INFO_T*, container, container)     \
    X(NC_VAR_INFO_T, size_t, ndims, ndims)                     \
    X(NC_VAR_INFO_T, NC_DIM_INFO_T**, dim, dim)                \
    X(NC_VAR_INFO_T, NC_TYPE_INFO_T*, type_info, type_info)    \
    X(NC_VAR_INFO_T, nc_bool_t, no_fill, no_fill)              \
    X(NC_VAR_INFO_T, void*, fill_value, fill_value)            \
    X(NC_VAR_INFO_T, size_t*, chunksizes, chunksizes)          \
    X(NC_VAR_INFO_T, int, endianness, endianness)              \
    X(NC_VAR_INFO_T, size_t, chunkcache.size, cache_size)      \
    X(NC_VAR_INFO_T, size_t, chunkcache.nelems, cache_nelems)  \
    X(NC_VAR_INFO_T, void*, format_var_info, format_var_info)  \
    X(NC_VAR_INFO_T, void*, filters, filters)                  \
    X(NC_DIM_INFO_T, size_t, len, len)                         \
    X(NC_GRP_INFO_T, NC_FILE_INFO_T*, nc4_info, nc4_info)      \
    X(NC_TYPE_INFO_T, size_t, size, size)                      \
    X(NC_FILE_INFO_T, NC*, controller, controller)             \
    X(NC_FILE_INFO_T, nc_bool_t, no_write, no_write)           \
    X(NC_FILE_INFO_T, void*, format_file_info, format_info)    \
    X(NCZ_VAR_INFO_T, NCZChunkCache*, cache, cache)            \
    X(NCZ_VAR_INFO_T, size_t, scalar, scalar)                  \
    X(NCZ_FILE_INFO_T, NCZMAP*, map, map)                      \
    X(NCZ_FILE_INFO_T, int, native_endianness, endianness)     \
    X(NCZMAP, NCZM_IMPL, format, format)                       \
    X(NCZMAP, struct NCZMAP_API*, api, api)                    \
    X(NCZCacheEntry, int, modified, modified)                  \
    X(NCZCacheEntry, size64_t, indices[0], indices)            \
    X(NCZCacheEntry, char*, key.varkey, varkey)                \
    X(NCZCacheEntry, char*, key.chunkkey, chunkkey)            \
    X(NCZCacheEntry, size64_t, hashkey, hashkey)               \
    X(NCZCacheEntry, int, isfiltered, isfiltered)              \
    X(NCZCacheEntry, int, isfixedstring, isfixedstring)        \
    X(NCZCacheEntry, size64_t, size, size)                     \
    X(NCZCacheEntry, void*, data, data)                        \
    X(NCZChunkCache, NC_VAR_INFO_T*, var, var)                 \
    X(NCZChunkCache, size64_t, ndims, ndims)                   \
    X(NCZChunkCache, size64_t, chunksize, chunksize)           \
    X(NCZChunkCache, size64_t, chunkcount, chunkcount)         \
    X(NCZChunkCache, size_t, used, used)                       \
    X(NCZChunkCache, NClist*, mru, mru)                        \
    X(NCZChunkCache, struct NCxcache*, xcache, xcache)         \
    X(NCxcache, NCxnode, lru, lru)                             \
    X(NCxnode, NCxnode*, next, next)                           \
    X(NCxnode, NCxnode*, prev, prev)                           \
    X(NClist, size_t, length, length)                          \
    X(NClist, size_t, alloc, alloc)                            \
    X(NClist, void**, content, content)
MEMBERS(MEMBER)

extern int (**nczadapter_check_NCZMAP_API_close(struct NCZMAP_API* s))(NCZMAP*, int);
int (**nczadapter_check_NCZMAP_API_close(struct NCZMAP_API* s))(NCZMAP*, int)
{
    return &s->close;
}

#if NETCDF_CACHE_COUNTS
MEMBER(NCZChunkCache, struct ChunkCache, params, params)
#else
MEMBER(NCZChunkCache, size_t, maxentries, maxentries)
MEMBER(NCZChunkCache, size_t, maxsize, maxsize)
#endif

/* An entry begins with the node by which the cache finds it, and has a place for the indices of all dimensions. */
_Static_assert(sizeof(((NCZCacheEntry*)0)->indices) == NC_MAX_VAR_DIMS * sizeof(size64_t), "NCZCacheEntry.indices");
_Static_assert(offsetof(NCZCacheEntry, list) == 0, "NCZCacheEntry.list");
