/* What zxcache.c could offer, from outside: stands in for functions of netCDF-C that adapter.h declares, where its
 * zcache.h does not. docs/netcdf-maintainers.md has their contracts, and zxcache.patch adds them to netCDF-C.
 *
 * The cache, zxcache.c, has one way in, NCZ_read_cache_chunk, which finds a chunk or reads it. It is used here for
 * reading only, because with it alone
 * - the length of a chunk is not known, so that one that is too short is not noticed;
 * - a chunk that is to be overwritten is read first;
 * - an absent chunk, which is made of fill values in native byte order, cannot be told from a stored one, and is stored
 *   even if it was only read;
 * - the cache gives up as many bytes as it takes in, however many it may hold;
 * - chunks that a flush left filtered, or strings it left as fixed-length text, are lent as they are;
 * - chunks are found by the hash of their indices alone.
 *
 * So entries are put on the cache's two lists, and taken off them, here. */
#include "adapter.h"

#if !NETCDF_CACHE_OFFERS

static int has_strings(const NCZChunkCache* cache)
{
    return cache->var->type_info->hdr.id == NC_STRING;
}

/* Whether an entry holds elements, and not what is in the file. */
static int is_decoded(const NCZChunkCache* cache, const NCZCacheEntry* entry)
{
    return !entry->isfiltered && !(has_strings(cache) && entry->isfixedstring);
}

static int reclaim(NCZChunkCache* cache, void* data)
{
    NC_FILE_INFO_T* file = cache->var->container->nc4_info;
    nc_type type = cache->var->type_info->hdr.id;

#if NETCDF_CACHE_COUNTS
    return NC_reclaim_data_all(file->controller, type, data, (size_t)cache->chunkcount);
#else
    return nc_reclaim_data_all(file->controller->ext_ncid, type, data, (size_t)cache->chunkcount);
#endif
}

static void free_entry(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    if (has_strings(cache) && is_decoded(cache, entry) && entry->data != NULL)
        (void)reclaim(cache, entry->data);
    else
        free(entry->data);
    free(entry->key.varkey);
    free(entry->key.chunkkey);
    free(entry);
}

/* Adds to the bytes that the cache counts. Only 4.9.2 does not count them: there a number above 0 would empty it. */
static void count_bytes(NCZChunkCache* cache, size64_t bytes)
{
    cache->used = NETCDF_CACHE_COUNTS ? cache->used + (size_t)bytes : 0;
}

/* Takes an entry off the list of all. Its order means nothing, in spite of its name: so that the others need not be
 * moved up, which is done byte by byte, the last takes the entry's place. */
static void forget(NCZChunkCache* cache, const NCZCacheEntry* entry)
{
    void** entries = nclistcontents(cache->mru);
    size_t i = 0;

    while (i < nclistlength(cache->mru) && entries[i] != entry)
        i++;
    if (i < nclistlength(cache->mru))
        entries[i] = nclistpop(cache->mru);
}

int NCZ_entry_drop(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    void* removed;

    (void)ncxcacheremove(cache->xcache, (ncexhashkey_t)entry->hashkey, &removed);
    forget(cache, entry);
    count_bytes(cache, -entry->size);
    free_entry(cache, entry);
    return NC_NOERR;
}

/* Stores an entry that has changed, and no other: a flush stores what is in the list of all, so this one is, as long as
 * it takes. What is stored is left encoded. */
static int store(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    void* content = entry;
    NClist one = *cache->mru, *all = cache->mru;
    const size_t used = cache->used;
    const size64_t size = entry->size;
    int stat;

    one.content = &content;
    one.alloc = one.length = 1;
    cache->mru = &one;
#if NETCDF_CACHE_COUNTS
    {
        const struct ChunkCache limits = cache->params;

        cache->params.size = SIZE_MAX;
        cache->params.nelems = SIZE_MAX;
        stat = NCZ_flush_chunk_cache(cache);
        cache->params = limits;
    }
#else
    stat = NCZ_flush_chunk_cache(cache);
#endif
    cache->mru = all;
    cache->used = used;
    count_bytes(cache, entry->size - size);
    return stat;
}

int NCZ_entry_evict(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    int stat;

    if (entry->modified && (stat = store(cache, entry)) != NC_NOERR)
        return stat;
    return NCZ_entry_drop(cache, entry);
}

int NCZ_entry_modify(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    (void)cache;
    entry->modified = 1;
    return NC_NOERR;
}

size64_t NCZ_entry_length(const NCZCacheEntry* entry, void** data)
{
    *data = entry->data;
    return entry->size;
}

int NCZ_cache_bound(NCZChunkCache* cache, const struct ChunkCache* limits, size64_t coming, NCZ_victim* victim,
                    void* user)
{
    NCZCacheEntry* entry;
    int stat;

    while (nclistlength(cache->mru) >= limits->nelems || cache->used > limits->size ||
           coming > limits->size - cache->used) {
        if ((entry = victim == NULL ? ncxcachelast(cache->xcache) : victim(user)) == NULL)
            break;
        if ((stat = NCZ_entry_evict(cache, entry)) != NC_NOERR)
            return stat;
    }
    return NC_NOERR;
}

/* Puts an entry into the cache. On an error it is freed. */
static int insert(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    int stat;

    if (!nclistpush(cache->mru, entry)) {
        free_entry(cache, entry);
        return NC_ENOMEM;
    }
    if ((stat = ncxcacheinsert(cache->xcache, (ncexhashkey_t)entry->hashkey, entry)) != NC_NOERR) {
        forget(cache, entry);
        free_entry(cache, entry);
        return stat;
    }
    count_bytes(cache, entry->size);
    return NC_NOERR;
}

/* A new entry, without contents. */
static int make_entry(NCZChunkCache* cache, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    NCZCacheEntry* entry = calloc(1, sizeof *entry);
    int stat;

    if (entry == NULL)
        return NC_ENOMEM;
    memcpy(entry->indices, indices, cache->ndims * sizeof *indices);
    entry->hashkey = hashkey;
    entry->size = cache->chunksize;
    stat = NCZ_buildchunkpath(cache, indices, &entry->key);
    /* Strings are freed when they are overwritten, so there must not be any. */
    if (stat == NC_NOERR &&
        (entry->data = has_strings(cache) ? calloc(1, (size_t)entry->size) : malloc((size_t)entry->size)) == NULL)
        stat = NC_ENOMEM;
    if (stat != NC_NOERR)
        free_entry(cache, entry);
    else if ((stat = insert(cache, entry)) == NC_NOERR)
        *entryp = entry;
    return stat;
}

static int read_entry(NCZChunkCache* cache, const size64_t* indices, NCZCacheEntry** entryp)
{
    NC_FILE_INFO_T* file = cache->var->container->nc4_info;
    const NCZ_FILE_INFO_T* zfile = file->format_file_info;
    const nc_bool_t no_write = file->no_write;
    NCZCacheEntry* entry;
    void* data;
    int stat;

    /* An entry of a file that can be written to begins as modified if the chunk is absent: that is how it is told. */
    file->no_write = NC_FALSE;
#if NETCDF_CACHE_COUNTS
    {
        /* The cache would give up something: it does not if it believes to be empty. */
        const struct ChunkCache limits = cache->params;
        const size_t used = cache->used;

        cache->used = 0;
        cache->params.size = SIZE_MAX;
        cache->params.nelems = SIZE_MAX;
        stat = NCZ_read_cache_chunk(cache, indices, &data);
        cache->params = limits;
        /* After an error the entry is gone, but the cache may have counted it. */
        cache->used = stat == NC_NOERR ? used + cache->used : used;
    }
#else
    stat = NCZ_read_cache_chunk(cache, indices, &data);
#endif
    file->no_write = no_write;
    if (stat != NC_NOERR)
        return stat;

    entry = ncxcachefirst(cache->xcache);
    if (entry == NULL || entry->data != data)
        return NC_EINTERNAL; /* not the cache that this was compiled for */
    /* Filters that do not know how long a chunk will be, as deflate, take up to twice its memory. */
    if (FILTERED(cache) && !has_strings(cache) && entry->size > 0 && entry->size <= PTRDIFF_MAX &&
        (data = realloc(data, (size_t)entry->size)) != NULL)
        entry->data = data;
    if (entry->modified) {
        entry->modified = 0; /* reading changes no file */
        if (cache->var->type_info->hdr.id < NC_STRING && cache->var->endianness != zfile->native_endianness)
            NCZ_swapatomicdata((size_t)entry->size, entry->data, (int)cache->var->type_info->size);
    }
    *entryp = entry;
    return NC_NOERR;
}

/* Makes an entry the one that was used last, as ncxcachetouch does, which looks it up once more. */
static void touch(NCxcache* xcache, NCZCacheEntry* entry)
{
    NCxnode *node = (NCxnode*)&entry->list, *head = &xcache->lru;

    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = head;
    node->next = head->next;
    head->next->prev = node;
    head->next = node;
}

int NCZ_cache_get(NCZChunkCache* cache, const size64_t* indices, int how, NCZCacheEntry** entryp)
{
    const ncexhashkey_t hashkey = ncxcachekey(indices, cache->ndims * sizeof *indices);
    NCZCacheEntry* entry;
    int stat;

    if (ncxcachelookup(cache->xcache, hashkey, (void**)&entry) == NC_NOERR) {
        if (is_decoded(cache, entry) && nczadapter_are_same(entry->indices, indices, cache->ndims)) {
            touch(cache->xcache, entry);
            *entryp = entry;
            return NC_NOERR;
        }
        /* Another chunk with the same hash has to give way, and so has what a flush has encoded in place. */
        if (how != NCZ_PEEK && (stat = NCZ_entry_evict(cache, entry)) != NC_NOERR)
            return stat;
    }
    if (how == NCZ_PEEK)
        return NC_ENOOBJECT;
    return how == NCZ_REPLACE ? make_entry(cache, indices, hashkey, entryp) : read_entry(cache, indices, entryp);
}

#endif
