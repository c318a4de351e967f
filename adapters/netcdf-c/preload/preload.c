/* The adapter for an installed libnetcdf, to be preloaded: libnetcdf's own calls of NCZ_transferslice come here
 * instead.
 *
 * Who calls is found by the address that the call returns to. If that lies in a libnetcdf whose structures are laid out
 * as where this was compiled, the adapter does the work, with the internal functions of that very library, which need
 * not be visible to others: Python loads it RTLD_LOCAL. For any other the original function is called, and a line on
 * the standard error stream says what differs. Several libnetcdf in a process are each served by their own functions.
 *
 * A libnetcdf that binds its own functions (-Bsymbolic-functions) never calls here. That is seen by its relocations,
 * and said when the process ends.
 */
#define _GNU_SOURCE
#include "adapter.h"
#include "host.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int transfer_function(NC_VAR_INFO_T*, int, size64_t*, size64_t*, size64_t*, void*, nc_type);

/* The adapter's own, under the name that it is compiled with here. */
extern transfer_function nczadapter_transferslice;

/* The internal functions of one library. */
typedef struct Host {
#define MEMBER(result, name, parameters, arguments) result(*name) parameters;
    HOST_FUNCTIONS(MEMBER)
} Host;

/* A library that calls, and what does its transfers: the adapter for those that it fits, for others what they have
 * themselves. */
typedef struct Caller {
    struct Caller* next;
    uintptr_t begin, end;
    transfer_function* transfer;
    Host host;
    char name[];
} Caller;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Caller* callers; /* only ever grows, at its head: it can be read without the lock */

/* The library that the adapter works for, in this thread. A library that is preloaded has its place from the start. */
static __thread const Host* host __attribute__((tls_model("initial-exec")));

const void* nczadapter_host(void)
{
    return host;
}

void nczadapter_set_host(const void* of_transfer)
{
    host = of_transfer;
}

/* What the adapter calls goes to the library that it works for. These are not visible outside. */
#define FORWARD(result, name, parameters, arguments) \
    result name parameters                           \
    {                                                \
        return host->name arguments;                 \
    }
HOST_FUNCTIONS(FORWARD)

/* Says what became of a library; nczchunk-preload --check asks for it in a file. */
static void report(const char* word, const char* library, const char* reason)
{
    const char* path = getenv("NCZCHUNK_NETCDF_REPORT");
    FILE* file = path == NULL ? NULL : fopen(path, "a");

    if (file != NULL) {
        fprintf(file, "%s %s%s%s\n", word, library, *reason == '\0' ? "" : ": ", reason);
        fclose(file);
    } else if (strcmp(word, "adapted") != 0) {
        fprintf(stderr, "nczchunk: %s is left as it is: %s\n", library, reason);
    }
}

/* --- Whether a library's structures are laid out as they were where this was compiled */

/* Whether memory can be read. */
static int is_there(const void* memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory & ~(page - 1);

    return memory != NULL && ((uintptr_t)memory & (sizeof(void*) - 1)) == 0 &&
           msync((void*)begin, (uintptr_t)memory + size - begin, MS_ASYNC) == 0;
}

/* What glibc gives for a size. */
static size_t usable(size_t size)
{
    return ((size + 23) & ~(size_t)15) - 8;
}

/* Whether memory that was allocated for one structure has its size, as far as the allocator tells. */
static int has_size(void* memory, size_t size)
{
    void* sample = malloc(size);
    const int is_glibc = sample != NULL && malloc_usable_size(sample) == usable(size);
    size_t found;

    free(sample);
    if (!is_there(memory, size))
        return 0;
    found = malloc_usable_size(memory);
    /* glibc leaves a rest that is too small to be of use to others. */
    return is_glibc ? found >= usable(size) && found <= usable(size) + 16 : found >= size;
}

/* The same for what is part of another structure. */
#define IS_THERE(pointer) is_there(pointer, sizeof *(pointer))

/* The public functions that tell what is in a variable's structure. */
#define PUBLIC_FUNCTIONS(X)                                                                      \
    X(const char*, nc_inq_libvers, (void))                                                       \
    X(int, nc_get_var_chunk_cache, (int ncid, int varid, size_t* size, size_t* nelems, float*))  \
    X(int, nc_inq_dimlen, (int ncid, int dimid, size_t* len))                                    \
    X(int, nc_inq_var_chunking, (int ncid, int varid, int* storage, size_t* chunklens))          \
    X(int, nc_inq_var_endian, (int ncid, int varid, int* endian))                                \
    X(int, nc_inq_var_fill, (int ncid, int varid, int* no_fill, void* value))                    \
    X(int, nc_inq_varndims, (int ncid, int varid, int* ndims))                                   \
    X(size64_t, NCZ_cache_size, (NCZChunkCache * cache))

typedef struct Public {
#define PUBLIC_MEMBER(result, name, parameters) result(*name) parameters;
    PUBLIC_FUNCTIONS(PUBLIC_MEMBER)
} Public;

/* Whether the group, the type and the file of a variable are where they should be. */
static const char* strange_neighbours(NC_VAR_INFO_T* var)
{
    NC_GRP_INFO_T* group = var->container;
    NC_FILE_INFO_T* file;
    size_t size;

    if (!IS_THERE(group) || group->hdr.sort != NCGRP)
        return "NC_GRP_INFO_T";
    file = group->nc4_info;
    if (!IS_THERE(var->type_info) || var->type_info->hdr.sort != NCTYP ||
        host->NC4_inq_atomic_type(var->type_info->hdr.id, NULL, &size) != NC_NOERR || var->type_info->size != size)
        return "NC_TYPE_INFO_T";
    /* A library with parallel I/O has two members more. */
    if (!has_size(file, sizeof *file) || file->hdr.sort != NCFIL || !IS_THERE(file->root_grp) ||
        file->root_grp->hdr.sort != NCGRP || file->root_grp->nc4_info != file || !IS_THERE(file->controller) ||
        file->controller->dispatchdata != file || file->no_write > 1)
        return "NC_FILE_INFO_T";
    return NULL;
}

/* Whether a variable's structure holds what the public functions say. */
static const char* strange_variable(NC_VAR_INFO_T* var, const Public* public)
{
    const int ncid = var->container->nc4_info->controller->ext_ncid | var->container->hdr.id, varid = var->hdr.id;
    int ndims, storage, endian, no_fill;
    size_t len, size, nelems, chunklens[NC_MAX_VAR_DIMS];
    float preemption;

    if (public->nc_inq_varndims(ncid, varid, &ndims) != NC_NOERR || var->ndims != (size_t)ndims ||
        public->nc_inq_var_chunking(ncid, varid, &storage, chunklens) != NC_NOERR ||
        public->nc_inq_var_endian(ncid, varid, &endian) != NC_NOERR || var->endianness != endian ||
        public->nc_inq_var_fill(ncid, varid, &no_fill, NULL) != NC_NOERR || (var->no_fill != 0) != (no_fill != 0) ||
        public->nc_get_var_chunk_cache(ncid, varid, &size, &nelems, &preemption) != NC_NOERR ||
        var->chunkcache.size != size || var->chunkcache.nelems != nelems)
        return "NC_VAR_INFO_T";
    if (ndims > 0 && (!is_there(var->chunksizes, var->ndims * sizeof *var->chunksizes) ||
                      !is_there(var->dim, var->ndims * sizeof *var->dim)))
        return "NC_VAR_INFO_T";
    for (size_t d = 0; d < var->ndims; d++) {
        if (storage == NC_CHUNKED && var->chunksizes[d] != chunklens[d])
            return "NC_VAR_INFO_T";
        if (!IS_THERE(var->dim[d]) || public->nc_inq_dimlen(ncid, var->dim[d]->hdr.id, &len) != NC_NOERR ||
            var->dim[d]->len != len)
            return "NC_DIM_INFO_T";
    }
    return NULL;
}

/* Whether NCZarr's own structures refer to each other as they should. */
static const char* strange_zarr(NC_VAR_INFO_T* var, const Public* public, const Caller* caller)
{
    NCZ_VAR_INFO_T* zvar = var->format_var_info;
    NC_FILE_INFO_T* file = var->container->nc4_info;
    NCZ_FILE_INFO_T* zfile = file->format_file_info;
    NCZChunkCache* cache;
    size64_t elements = 1;
    uintptr_t function;

    if (!has_size(zvar, sizeof *zvar) || zvar->common.file != file || zvar->scalar > 1)
        return "NCZ_VAR_INFO_T";
    if (!has_size(zfile, sizeof *zfile) || zfile->common.file != file ||
        (zfile->native_endianness != NC_ENDIAN_LITTLE && zfile->native_endianness != NC_ENDIAN_BIG))
        return "NCZ_FILE_INFO_T";
    if (!IS_THERE(zfile->map) || !IS_THERE(zfile->map->api))
        return "NCZMAP";
    function = (uintptr_t)zfile->map->api->close;
    if (function < caller->begin || function >= caller->end)
        return "NCZMAP_API";
    for (size_t d = 0; d < var->ndims; d++)
        elements *= var->chunksizes[d];
    cache = zvar->cache;
    if (!has_size(cache, sizeof *cache) || cache->var != var || cache->ndims != var->ndims + zvar->scalar ||
        cache->chunkcount != elements || cache->chunksize != elements * var->type_info->size)
        return "NCZChunkCache";
    if (!IS_THERE(cache->mru) || nclistlength(cache->mru) != public->NCZ_cache_size(cache))
        return "NClist";
    return NULL;
}

/* Whether an entry of the cache is what it should be: a chunk is fetched for trial, and forgotten. (Not strings, which
 * take many pieces of memory.) */
static const char* strange_entry(NC_VAR_INFO_T* var, const size64_t* start)
{
    const NCZ_VAR_INFO_T* zvar = var->format_var_info;
    NC_FILE_INFO_T* file = var->container->nc4_info;
    const nc_bool_t no_write = file->no_write;
    size64_t indices[NC_MAX_VAR_DIMS] = {0};
    NCZCacheEntry* entry;
    void* data;
    int stat;

    if (var->type_info->hdr.id == NC_STRING)
        return NULL;
    for (size_t d = 0; d < var->ndims; d++)
        indices[d] = start[d] / var->chunksizes[d];
    file->no_write = NC_TRUE; /* what is absent stays so */
    stat = host->NCZ_read_cache_chunk(zvar->cache, indices, &data);
    file->no_write = no_write;
    if (stat != NC_NOERR)
        return NULL; /* it will be said to who asked for it */
    entry = host->ncxcachefirst(zvar->cache->xcache);
    if (!has_size(entry, sizeof *entry) || entry->data != data ||
        entry->hashkey != host->ncxcachekey(indices, zvar->cache->ndims * sizeof *indices) ||
        memcmp(entry->indices, indices, zvar->cache->ndims * sizeof *indices) != 0)
        return "NCZCacheEntry";
    if (!entry->modified)
        (void)NCZ_entry_drop(zvar->cache, entry);
    return NULL;
}

/* What keeps the adapter from working for a library: a function that it has not, or a structure that differs, as far as
 * a variable tells; NULL if nothing does. */
static const char* difference(void* library, Caller* caller, NC_VAR_INFO_T* var, const size64_t* start)
{
    Public public;
    const char* name;

#define FIND(result, name, parameters, arguments)                         \
    if ((*(void**)&caller->host.name = dlsym(library, #name)) == NULL) \
        return #name;
    HOST_FUNCTIONS(FIND)
#define FIND_PUBLIC(result, name, parameters)                        \
    if ((*(void**)&public.name = dlsym(library, #name)) == NULL) \
        return #name;
    PUBLIC_FUNCTIONS(FIND_PUBLIC)

    host = &caller->host;
    if (!has_size(var, sizeof *var) || var->hdr.sort != NCVAR)
        return "NC_VAR_INFO_T";
    if ((name = strange_neighbours(var)) == NULL && (name = strange_variable(var, &public)) == NULL &&
        (name = strange_zarr(var, &public, caller)) == NULL)
        name = strange_entry(var, start);
    return name;
}

/* --- The libraries that call */

/* The library whose code an address lies in. */
typedef struct Search {
    uintptr_t address;
    uintptr_t begin, end;
} Search;

static int find_library(struct dl_phdr_info* info, size_t size, void* user)
{
    Search* search = user;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && search->address - begin < segment->p_memsz) {
            search->begin = begin;
            search->end = begin + segment->p_memsz;
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
static Caller* meet(void* address, NC_VAR_INFO_T* var, const size64_t* start)
{
    Search search = {(uintptr_t)address, 0, 0};
    char reason[200];
    const char *differing, *(*version)(void);
    Caller* caller;
    void* library;
    Dl_info info;

    if (!dl_iterate_phdr(find_library, &search) || dladdr(address, &info) == 0 ||
        (library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) == NULL) /* stays open, and so where it is */
        return NULL;
    if ((caller = calloc(1, sizeof *caller + strlen(info.dli_fname) + 1)) == NULL)
        return NULL;
    caller->begin = search.begin;
    caller->end = search.end;
    strcpy(caller->name, info.dli_fname);
    if ((differing = difference(library, caller, var, start)) == NULL) {
        caller->transfer = nczadapter_transferslice;
        report("adapted", caller->name, "");
    } else {
        *(void**)&caller->transfer = dlsym(library, "NCZ_transferslice");
        *(void**)&version = dlsym(library, "nc_inq_libvers");
        snprintf(reason, sizeof reason,
                 "its %s is not that of netCDF-C " NC_VERSION " as the adapter was built for (it is %.20s)", differing,
                 version == NULL ? "no netCDF" : version());
        report("stock", caller->name, reason);
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
            caller = meet(address, var, start);
        (void)pthread_mutex_unlock(&lock);
    }
    if (caller == NULL || caller->transfer == NULL)
        return NC_EINTERNAL;
    host = &caller->host;
    return caller->transfer(var, reading, start, count, stride, memory, typecode);
}

/* What a program can ask for, with dlsym(RTLD_DEFAULT, ...): the path of the library that was met last, if the adapter
 * works for it; otherwise NULL. */
extern const char* nczchunk_netcdf_adapted(void);

__attribute__((visibility("default"))) const char* nczchunk_netcdf_adapted(void)
{
    const Caller* caller = __atomic_load_n(&callers, __ATOMIC_ACQUIRE);

    return caller != NULL && caller->transfer == nczadapter_transferslice ? caller->name : NULL;
}

/* --- Libraries that do not call */

/* A libnetcdf that is in the process: what the dynamic linker knows of it. */
typedef struct Library {
    const char* name;
    uintptr_t base;
    const ElfW(Dyn)* dynamic;
} Library;

typedef struct Libraries {
    Library library[16];
    size_t number;
} Libraries;

static int note_library(struct dl_phdr_info* info, size_t size, void* user)
{
    Libraries* all = user;
    const char* name = strrchr(info->dlpi_name, '/');

    (void)size;
    /* Not libnetcdff or libnetcdf_c++4. */
    if (name == NULL || strncmp(name, "/libnetcdf", 10) != 0 || (name[10] != '.' && name[10] != '-') ||
        all->number == sizeof all->library / sizeof *all->library)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            all->library[all->number++] = (Library){info->dlpi_name, info->dlpi_addr,
                                                    (const void*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr)};
    return 0;
}

static uintptr_t entry_of(const Library* library, ElfW(Sxword) tag)
{
    const ElfW(Dyn)* dynamic = library->dynamic;

    while (dynamic->d_tag != DT_NULL && dynamic->d_tag != tag)
        dynamic++;
    return dynamic->d_tag == tag ? dynamic->d_un.d_ptr : 0;
}

/* Whether one of a library's tables of relocations has NCZ_transferslice, so that its calls can be led elsewhere. */
static int is_relocated(const Library* library, ElfW(Sxword) table_tag, ElfW(Sxword) size_tag)
{
    const ElfW(Rela)* table = (const void*)entry_of(library, table_tag);
    const ElfW(Sym)* symbols = (const void*)entry_of(library, DT_SYMTAB);
    const char* names = (const void*)entry_of(library, DT_STRTAB);

    if (table == NULL || symbols == NULL || names == NULL)
        return 0;
    for (size_t i = 0; i < entry_of(library, size_tag) / sizeof *table; i++)
        if (strcmp(names + symbols[ELF64_R_SYM(table[i].r_info)].st_name, "NCZ_transferslice") == 0)
            return 1;
    return 0;
}

/* Says what was not met: a libnetcdf that binds its own functions, or that nothing was read with. */
static void look_at(const Library* library)
{
    void* handle = dlopen(library->name, RTLD_LAZY | RTLD_NOLOAD);
    void* function = handle == NULL ? NULL : dlsym(handle, "NCZ_transferslice");
    Dl_info info;

    /* What only looks like libnetcdf may have a libnetcdf behind it, with the function. */
    if (function == NULL || dladdr(function, &info) == 0 || (uintptr_t)info.dli_fbase != library->base)
        return;
    if (!is_relocated(library, DT_JMPREL, DT_PLTRELSZ) && !is_relocated(library, DT_RELA, DT_RELASZ))
        report("stock", library->name, "it binds its own functions (-Bsymbolic-functions): its calls stay inside");
    else if (find((uintptr_t)function) == NULL && getenv("NCZCHUNK_NETCDF_REPORT") != NULL)
        report("unused", library->name, "nothing was read or written with NCZarr");
}

__attribute__((destructor)) static void look_back(void)
{
    Libraries all = {.number = 0};

    (void)dl_iterate_phdr(note_library, &all);
    for (size_t i = 0; i < all.number; i++)
        look_at(&all.library[i]);
}
