/* The adapter for an installed libnetcdf, to be preloaded: libnetcdf's own calls of NCZ_transferslice come here
 * instead.
 *
 * Who calls is found by the address that the call returns to. If that lies in a libnetcdf of the version this was built
 * for, the adapter does the work, with the internal functions of that very library, which need not be visible to
 * others: Python loads it RTLD_LOCAL. For any other the original function is called, and a line on the standard error
 * stream says so.
 */
#define _GNU_SOURCE
#include "adapter.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

/* The internal functions of libnetcdf that the adapter calls: result, name, parameters, arguments. */
#define HOST_FUNCTIONS(X)                                                                                              \
    X(int, NC4_inq_atomic_type, (nc_type type, char* name, size_t* size), (type, name, size))                          \
    X(int, NCZ_buildchunkpath, (NCZChunkCache * cache, const size64_t* indices, struct ChunkKey* key),                 \
      (cache, indices, key))                                                                                           \
    X(char*, NCZ_chunkpath, (struct ChunkKey key), (key))                                                              \
    X(int, NCZ_ensure_fill_value, (NC_VAR_INFO_T * var), (var))                                                        \
    X(int, NCZ_flush_chunk_cache, (NCZChunkCache * cache), (cache))                                                    \
    X(int, NCZ_read_cache_chunk, (NCZChunkCache * cache, const size64_t* indices, void** data),                        \
      (cache, indices, data))                                                                                          \
    X(int, NCZ_swapatomicdata, (size_t length, void* data, int typesize), (length, data, typesize))                    \
    X(int, nc4_find_grp_h5_var,                                                                                        \
      (int ncid, int varid, NC_FILE_INFO_T** file, NC_GRP_INFO_T** group, NC_VAR_INFO_T** var),                        \
      (ncid, varid, file, group, var))                                                                                 \
    X(int, nczmap_len, (NCZMAP * map, const char* key, size64_t* length), (map, key, length))                          \
    X(void*, nclistpop, (NClist * list), (list))                                                                       \
    X(int, nclistpush, (NClist * list, const void* element), (list, element))                                          \
    X(void*, ncxcachefirst, (NCxcache * cache), (cache))                                                               \
    X(int, ncxcacheinsert, (NCxcache * cache, const ncexhashkey_t key, void* object), (cache, key, object))            \
    X(ncexhashkey_t, ncxcachekey, (const void* key, size_t size), (key, size))                                         \
    X(void*, ncxcachelast, (NCxcache * cache), (cache))                                                                \
    X(int, ncxcachelookup, (NCxcache * cache, ncexhashkey_t key, void** object), (cache, key, object))                 \
    X(int, ncxcacheremove, (NCxcache * cache, ncexhashkey_t key, void** object), (cache, key, object))                 \
    X(int, ncxcachetouch, (NCxcache * cache, ncexhashkey_t key), (cache, key))                                         \
    HOST_FUNCTIONS_OF_VERSION(X)

#if NETCDF_VERSION >= 40903
#define HOST_FUNCTIONS_OF_VERSION(X)                                                                                   \
    X(int, NC_reclaim_data_all, (NC * nc, nc_type type, void* data, size_t count), (nc, type, data, count))            \
    X(int, NCZ_copy_data,                                                                                              \
      (NC_FILE_INFO_T * file, NC_VAR_INFO_T * var, const void* memory, size_t count, int reading, void* copy),         \
      (file, var, memory, count, reading, copy))
#else
#define HOST_FUNCTIONS_OF_VERSION(X)                                                                                   \
    X(int, nc_reclaim_data_all, (int ncid, nc_type type, void* data, size_t count), (ncid, type, data, count))         \
    X(int, NCZ_copy_data,                                                                                              \
      (NC_FILE_INFO_T * file, NC_TYPE_INFO_T * type, const void* memory, size_t count, int noclear, void* copy),       \
      (file, type, memory, count, noclear, copy))
#endif

typedef int transfer_function(NC_VAR_INFO_T*, int, size64_t*, size64_t*, size64_t*, void*, nc_type);

/* The adapter's own, under the name that it is compiled with here. */
extern transfer_function nczadapter_transferslice;

/*
 * A library that calls, and what does its transfers: the adapter for one of them, for others what they have themselves.
 */
typedef struct Caller {
    struct Caller* next;
    uintptr_t begin, end;
    transfer_function* transfer;
} Caller;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Caller* callers; /* only ever grows, at its head: it can be read without the lock */

static struct {
    int is_bound;
#define MEMBER(result, name, parameters, arguments) result(*name) parameters;
    HOST_FUNCTIONS(MEMBER)
} host;

/* What the adapter calls goes to the library that it works for. These are not visible outside. */
#define FORWARD(result, name, parameters, arguments) \
    result name parameters                           \
    {                                                \
        return host.name arguments;                  \
    }
HOST_FUNCTIONS(FORWARD)

/*
 * Whether the structures are laid out as they were where this was compiled, as far as what refers to each other tells.
 */
static int is_laid_out(NC_VAR_INFO_T* var)
{
    const NCZ_VAR_INFO_T* zvar = var->format_var_info;
    const NC_FILE_INFO_T* file = var->container->nc4_info;
    const NCZ_FILE_INFO_T* zfile;

    if (zvar == NULL || file == NULL || zvar->common.file != file || zvar->cache == NULL || zvar->cache->var != var)
        return 0;
    zfile = file->format_file_info;
    return zfile != NULL && zfile->common.file == file && zvar->cache->ndims == var->ndims + zvar->scalar;
}

/* Whether a library is the one that this was built for. */
static int is_version(void* library)
{
    const char* (*libvers)(void);
    const size_t length = strlen(NC_VERSION);

    *(void**)&libvers = dlsym(library, "nc_inq_libvers");
    return libvers != NULL && strncmp(libvers(), NC_VERSION, length) == 0 && strchr(" ", libvers()[length]) != NULL;
}

static int bind(void* library)
{
#define FIND(result, name, parameters, arguments)                         \
    if ((*(void**)&host.name = dlsym(library, #name)) == NULL) \
        return 0;
    HOST_FUNCTIONS(FIND)
    return host.is_bound = 1;
}

/* The library whose code an address lies in. */
typedef struct Search {
    uintptr_t address;
    Caller* caller;
} Search;

static int find_library(struct dl_phdr_info* info, size_t size, void* user)
{
    Search* search = user;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && search->address - begin < segment->p_memsz) {
            search->caller->begin = begin;
            search->caller->end = begin + segment->p_memsz;
            return 1;
        }
    }
    return 0;
}

static Caller* find(uintptr_t address)
{
    Caller* caller = __atomic_load_n(&callers, __ATOMIC_ACQUIRE);

    while (caller != NULL && (address < caller->begin || address >= caller->end))
        caller = caller->next;
    return caller;
}

/* Gets to know a library that calls for the first time. NULL if it cannot be found, or there is no memory. */
static Caller* meet(void* address, NC_VAR_INFO_T* var)
{
    Caller* caller = calloc(1, sizeof *caller);
    Search search = {(uintptr_t)address, caller};
    void* library = NULL;
    Dl_info info;

    if (caller != NULL && dl_iterate_phdr(find_library, &search) && dladdr(address, &info) != 0)
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); /* stays open, so that it stays where it is */
    if (library == NULL) {
        free(caller);
        return NULL;
    }
    if (!host.is_bound && is_version(library) && is_laid_out(var) && bind(library)) {
        caller->transfer = nczadapter_transferslice;
    } else {
        *(void**)&caller->transfer = dlsym(library, "NCZ_transferslice");
        fprintf(stderr, "nczchunk: %s is not netCDF-C " NC_VERSION " as it was built for: left as it is\n",
                info.dli_fname);
    }
    caller->next = callers;
    __atomic_store_n(&callers, caller, __ATOMIC_RELEASE);
    return caller;
}

__attribute__((visibility("default"))) int NCZ_transferslice(NC_VAR_INFO_T* var, int reading, size64_t* start,
                                                             size64_t* count, size64_t* stride, void* memory,
                                                             nc_type typecode)
{
    void* address = __builtin_return_address(0);
    Caller* caller = find((uintptr_t)address);

    if (caller == NULL) {
        (void)pthread_mutex_lock(&lock);
        caller = find((uintptr_t)address);
        if (caller == NULL)
            caller = meet(address, var);
        (void)pthread_mutex_unlock(&lock);
    }
    if (caller == NULL || caller->transfer == NULL)
        return NC_EINTERNAL;
    return caller->transfer(var, reading, start, count, stride, memory, typecode);
}
