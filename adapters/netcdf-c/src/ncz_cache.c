/* Chunks from NCZarr's cache.
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
 */
#include "adapter.h"

static int has_strings(const NCZChunkCache* cache)
{
    return cache->var->type_info->hdr.id == NC_STRING;
}

static int is_chunk(const NCZChunkCache* cache, const NCZCacheEntry* entry, const size64_t* indices)
{
    return memcmp(entry->indices, indices, cache->ndims * sizeof *indices) == 0;
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

void nczadapter_drop(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    void* removed;

    (void)ncxcacheremove(cache->xcache, (ncexhashkey_t)entry->hashkey, &removed);
    forget(cache, entry);
    count_bytes(cache, -entry->size);
    free_entry(cache, entry);
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

int nczadapter_evict(NCZChunkCache* cache, NCZCacheEntry* entry)
{
    int stat;

    if (entry->modified && (stat = store(cache, entry)) != NC_NOERR)
        return stat;
    nczadapter_drop(cache, entry);
    return NC_NOERR;
}

/* Makes way for a chunk with this hash: another chunk with the same goes, once it is not on loan any more. */
static int make_way(const Transfer* transfer, ncexhashkey_t hashkey)
{
    NCZCacheEntry* entry;

    while (ncxcachelookup(transfer->cache->xcache, hashkey, (void**)&entry) == NC_NOERR) {
        if (!nczadapter_is_lent(transfer, entry))
            return nczadapter_evict(transfer->cache, entry);
        nczadapter_wait(transfer);
    }
    return NC_NOERR;
}

/* The entry of a chunk if it is in the cache, else NULL and the hash of its indices. */
static int find(Transfer* transfer, const size64_t* indices, ncexhashkey_t* hashkey, NCZCacheEntry** entryp)
{
    NCZChunkCache* cache = transfer->cache;
    /* Most often the chunk is the one that was used last, which is found without its hash. */
    NCZCacheEntry* entry = ncxcachefirst(cache->xcache);
    size64_t* reused;
    int stat;

    *entryp = NULL;
    if (entry == NULL || !is_chunk(cache, entry, indices)) {
        *hashkey = ncxcachekey(indices, cache->ndims * sizeof *indices);
        if (ncxcachelookup(cache->xcache, *hashkey, (void**)&entry) != NC_NOERR)
            return NC_NOERR;
        if ((stat = ncxcachetouch(cache->xcache, *hashkey)) != NC_NOERR)
            return stat;
        if ((reused = nczadapter_reused(cache, entry)) != NULL)
            *reused = 1;
        transfer->reused++;
    }
    /* Another chunk with the same hash has to give way, and so has what a flush has encoded in place. */
    if (!is_decoded(cache, entry) || !is_chunk(cache, entry, indices)) {
        *hashkey = (ncexhashkey_t)entry->hashkey;
        return make_way(transfer, *hashkey);
    }
    *entryp = entry;
    return NC_NOERR;
}

#if NETCDF_CACHE_COUNTS
NCZCacheEntry* nczadapter_victim(const Transfer* transfer)
{
    const NCZChunkCache* cache = transfer->cache;
    const size_t length = nclistlength(cache->mru);
    /* The least recently used goes. But if that is one of this transfer's, which is larger than the cache, then the
     * chunk before this one goes: so the first are still there if the same is read again. */
    const int is_last = transfer->chunks < length;
    NCZCacheEntry* entry = is_last ? ncxcachelast(cache->xcache) : ncxcachefirst(cache->xcache);

    /* What is on loan stays: the next one that came before or after it goes, as far as the list of all tells. */
    for (size_t i = 0; entry != NULL && nczadapter_is_lent(transfer, entry); i++)
        entry = i < length ? nclistcontents(cache->mru)[is_last ? i : length - 1 - i] : NULL;
    return entry;
}

/* Makes room for one more chunk, within the limits that nc_set_var_chunk_cache set. (The cache itself forgets them once
 * it is in use.) A size that nobody has set is the limit of what is worth keeping. */
static int make_room(const Transfer* transfer, ncexhashkey_t hashkey)
{
    NCZChunkCache* cache = transfer->cache;
    const struct ChunkCache limits = cache->var->chunkcache;
    const size_t chunk = (size_t)cache->chunksize;
    NCZCacheEntry* entry;
    int stat;

    cache->params = limits;
    if (limits.size == DEFAULT_CHUNK_CACHE_SIZE && (stat = nczadapter_keep(transfer, hashkey)) != NC_NOERR)
        return stat;
    while (nclistlength(cache->mru) >= limits.nelems || cache->used > limits.size ||
           chunk > limits.size - cache->used) {
        if ((entry = nczadapter_victim(transfer)) == NULL)
            break; /* a chunk larger than the cache, or all on loan */
        if ((stat = nczadapter_evict(cache, entry)) != NC_NOERR)
            return stat;
    }
    return NC_NOERR;
}
#else
static int make_room(const Transfer* transfer, ncexhashkey_t hashkey)
{
    (void)transfer;
    (void)hashkey;
    return NC_NOERR;
}
#endif

/* Fill values come in native byte order: puts a chunk of them in stored order. */
static void swap_chunk(const Transfer* transfer, NCZCacheEntry* entry)
{
    NCZ_swapatomicdata((size_t)entry->size, entry->data, (int)transfer->var->type_info->size);
}

/* A new entry for a chunk, without data, that is not in the cache; NULL without memory. */
static int new_entry(NCZChunkCache* cache, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    NCZCacheEntry* entry = calloc(1, sizeof *entry);
    int stat;

    if (entry == NULL)
        return NC_ENOMEM;
    memcpy(entry->indices, indices, cache->ndims * sizeof *indices);
    entry->hashkey = hashkey;
    entry->size = cache->chunksize;
    if ((stat = NCZ_buildchunkpath(cache, indices, &entry->key)) != NC_NOERR) {
        free_entry(cache, entry);
        return stat;
    }
    *entryp = entry;
    return NC_NOERR;
}

/* Puts it into the cache. On an error it is freed. */
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

/* Reads a chunk that is not in the cache into it, decoded here. NULL if netCDF-C is to read it. */
static int read_decoded(Transfer* transfer, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    NCZCacheEntry* entry;
    int stat = new_entry(transfer->cache, indices, hashkey, &entry);

    if (stat != NC_NOERR)
        return stat;
    nczadapter_decode(transfer, &entry->key, &entry->data);
    /* Other threads were at the cache meanwhile. */
    if ((stat = make_way(transfer, hashkey)) != NC_NOERR || entry->data == NULL) {
        free_entry(transfer->cache, entry);
        return stat;
    }
    if ((stat = insert(transfer->cache, entry)) == NC_NOERR)
        *entryp = entry;
    return stat;
}

/* Reads a chunk that is not in the cache into it. */
static int read_entry(Transfer* transfer, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    NCZChunkCache* cache = transfer->cache;
    NC_FILE_INFO_T* file = transfer->file;
    const nc_bool_t no_write = file->no_write;
    NCZCacheEntry* entry;
    void* data;
    int stat;

    if ((stat = make_room(transfer, hashkey)) != NC_NOERR)
        return stat;
    if (transfer->threads > 0) {
        stat = read_decoded(transfer, indices, hashkey, entryp);
        if (stat != NC_NOERR || *entryp != NULL)
            return stat;
    }
    /* An entry of a file that can be written to begins as modified if the chunk is absent: that is how it is told. */
    file->no_write = NC_FALSE;
#if NETCDF_CACHE_COUNTS
    {
        /* There is room, but the cache would give up something: it does not if it believes to be empty. */
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
    /* Too short, or not undone by its filter: fletcher32's tells a wrong checksum by a length beyond all memory. Of one
     * that is longer, the first bytes are used. It keeps its length, as in netCDF-C, when it is stored again. */
    if (entry->size < cache->chunksize || entry->size > PTRDIFF_MAX) {
        nczadapter_drop(cache, entry);
        return NCZCHUNK_EBADCHUNK;
    }
    /* Filters that do not know how long a chunk will be, as deflate, take up to twice its memory. */
    if (FILTERED(cache) && !has_strings(cache) && (data = realloc(data, (size_t)entry->size)) != NULL)
        entry->data = data;
    if (entry->modified) {
        entry->modified = 0; /* reading changes no file */
        if (transfer->swap)
            swap_chunk(transfer, entry);
    }
    *entryp = entry;
    return NC_NOERR;
}

int nczadapter_fetch(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp)
{
    ncexhashkey_t hashkey;
    int stat = find(transfer, indices, &hashkey, entryp);

    if (stat == NC_NOERR && *entryp == NULL)
        stat = read_entry(transfer, indices, hashkey, entryp);
    return stat;
}

/* Whether the file of a filtered chunk has more bytes than a chunk. If one of the usual length were to take its place,
 * a rest would stay, for zmap_file.c does not cut files off; and filters that do not know where their input ends
 * (shuffle, fletcher32) would take it for a part of the chunk. */
static int is_stored_longer(const Transfer* transfer, const size64_t* indices, int* longer)
{
    NCZChunkCache* cache = transfer->cache;
    const NCZ_FILE_INFO_T* zfile = transfer->file->format_file_info;
    struct ChunkKey key = {0};
    size64_t length;
    char* path;
    int stat;

    *longer = 0;
    if (!FILTERED(cache) || has_strings(cache) || zfile->map->format != NCZM_FILE)
        return NC_NOERR;
    if ((stat = NCZ_buildchunkpath(cache, indices, &key)) != NC_NOERR)
        return stat;
    if ((path = NCZ_chunkpath(key)) == NULL)
        stat = NC_ENOMEM;
    else
        *longer = nczmap_len(zfile->map, path, &length) == NC_NOERR && length > cache->chunksize;
    free(path);
    free(key.varkey);
    free(key.chunkkey);
    return stat;
}

int nczadapter_make(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp, int* created)
{
    NCZChunkCache* cache = transfer->cache;
    NCZCacheEntry* entry;
    ncexhashkey_t hashkey;
    int longer, stat = find(transfer, indices, &hashkey, entryp);

    *created = *entryp == NULL;
    if (stat != NC_NOERR || *entryp != NULL)
        return stat;
    if ((stat = is_stored_longer(transfer, indices, &longer)) != NC_NOERR)
        return stat;
    if (longer) {
        /* It is read, and keeps its length; what cannot be read is replaced. */
        stat = read_entry(transfer, indices, hashkey, entryp);
        *created = stat != NC_NOERR;
        if (stat == NC_NOERR || stat == NC_ENOMEM)
            return stat;
    }
    transfer->replaces = 1;
    stat = make_room(transfer, hashkey);
    transfer->replaces = 0;
    if (stat != NC_NOERR)
        return stat;

    if ((stat = new_entry(cache, indices, hashkey, &entry)) != NC_NOERR)
        return stat;
    /* Strings are freed when they are overwritten, so there must not be any. */
    entry->data = has_strings(cache) ? calloc(1, (size_t)entry->size) : malloc((size_t)entry->size);
    if (entry->data == NULL) {
        free_entry(cache, entry);
        return NC_ENOMEM;
    }
    if ((stat = insert(cache, entry)) == NC_NOERR)
        *entryp = entry;
    return stat;
}

int nczadapter_copy(const Transfer* transfer, int reading, size_t count, const void* source, void* destination)
{
#if NETCDF_CACHE_COUNTS
    return NCZ_copy_data(transfer->file, transfer->var, source, count, reading, destination);
#else
    return NCZ_copy_data(transfer->file, transfer->var->type_info, source, count, reading, destination);
#endif
}
