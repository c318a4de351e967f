/* Chunks from NCZarr's cache, by the functions that zxcache.c has for it, or ncz_zxcache.c in its place: which of them
 * are there already, and what has to go before another comes. */
#include "adapter.h"

static int has_strings(const NCZChunkCache* cache)
{
    return cache->var->type_info->hdr.id == NC_STRING;
}

/* Waits until no other chunk with the same hash is on loan: it has to give way. */
static void wait_for_place(const Transfer* transfer, ncexhashkey_t hashkey)
{
    NCZCacheEntry* entry;

    while (transfer->lock != NULL &&
           ncxcachelookup(transfer->cache->xcache, hashkey, (void**)&entry) == NC_NOERR &&
           nczadapter_is_lent(transfer, entry))
        nczadapter_wait(transfer);
}

/* The entry of a chunk if it is in the cache, else NULL and the hash of its indices. */
static int find(Transfer* transfer, const size64_t* indices, ncexhashkey_t* hashkey, NCZCacheEntry** entryp)
{
    NCZChunkCache* cache = transfer->cache;
    /* Most often the chunk is the one that was used last, which is found without its hash. */
    NCZCacheEntry* last = ncxcachefirst(cache->xcache);
    size64_t* reused;
    int stat;

    *entryp = NULL;
    if (last != NULL && !last->isfiltered && !last->isfixedstring &&
        nczadapter_are_same(last->indices, indices, cache->ndims)) {
        *entryp = last;
        return NC_NOERR;
    }
    stat = last == NULL ? NC_ENOOBJECT : NCZ_cache_get(cache, indices, NCZ_PEEK, entryp);
    if (stat == NC_ENOOBJECT) {
        *hashkey = ncxcachekey(indices, cache->ndims * sizeof *indices);
        return NC_NOERR;
    }
    if (stat == NC_NOERR) {
        if ((reused = nczadapter_reused(cache, *entryp)) != NULL)
            *reused = 1;
        transfer->reused++;
    }
    return stat;
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

static NCZCacheEntry* victim(void* transfer)
{
    return nczadapter_victim(transfer);
}

/* Makes room for one more chunk, within the limits that nc_set_var_chunk_cache set. (The cache itself forgets them once
 * it is in use.) A size that nobody has set is the limit of what is worth keeping. */
static int make_room(const Transfer* transfer, ncexhashkey_t hashkey)
{
    NCZChunkCache* cache = transfer->cache;
    const struct ChunkCache limits = cache->var->chunkcache;
    int stat;

    cache->params = limits;
    if (limits.size == DEFAULT_CHUNK_CACHE_SIZE && (stat = nczadapter_keep(transfer, hashkey)) != NC_NOERR)
        return stat;
    return NCZ_cache_bound(cache, &limits, cache->chunksize, victim, (void*)transfer);
}
#else
static int make_room(const Transfer* transfer, ncexhashkey_t hashkey)
{
    (void)transfer;
    (void)hashkey;
    return NC_NOERR;
}
#endif

/* Reads a chunk that is not in the cache into it, decoded here. NULL if netCDF-C is to read it. */
static int read_decoded(Transfer* transfer, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    struct ChunkKey key = {0};
    void* data = NULL;
    int stat = NCZ_buildchunkpath(transfer->cache, indices, &key);

    if (stat == NC_NOERR)
        nczadapter_decode(transfer, &key, &data);
    free(key.varkey);
    free(key.chunkkey);
    if (data == NULL)
        return stat;
    /* Other threads were at the cache meanwhile. */
    wait_for_place(transfer, hashkey);
    if ((stat = NCZ_cache_get(transfer->cache, indices, NCZ_REPLACE, entryp)) != NC_NOERR) {
        *entryp = NULL;
        free(data);
        return stat;
    }
    free((*entryp)->data);
    (*entryp)->data = data;
    return NC_NOERR;
}

/* Reads a chunk that is not in the cache into it. */
static int read_entry(Transfer* transfer, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    NCZChunkCache* cache = transfer->cache;
    NCZCacheEntry* entry;
    int stat;

    *entryp = NULL;
    if ((stat = make_room(transfer, hashkey)) != NC_NOERR)
        return stat;
    if (transfer->threads > 0) {
        stat = read_decoded(transfer, indices, hashkey, entryp);
        if (stat != NC_NOERR || *entryp != NULL)
            return stat;
    }
    wait_for_place(transfer, hashkey);
    if ((stat = NCZ_cache_get(cache, indices, NCZ_READ, &entry)) != NC_NOERR)
        return stat;
    /* Too short, or not undone by its filter: fletcher32's tells a wrong checksum by a length beyond all memory. Of one
     * that is longer, the first bytes are used. It keeps its length, as in netCDF-C, when it is stored again. */
    if (entry->size < cache->chunksize || entry->size > PTRDIFF_MAX) {
        (void)NCZ_entry_drop(cache, entry);
        return NCZCHUNK_EBADCHUNK;
    }
    *entryp = entry;
    return NC_NOERR;
}

/* Moves a chunk from the shelf into the cache, if it is there. */
static int unshelve(Transfer* transfer, const size64_t* indices, ncexhashkey_t hashkey, NCZCacheEntry** entryp)
{
    Book* book;
    void* data;
    int stat;

    if (transfer->shelf == NULL || nczadapter_shelf_find(transfer->shelf, indices) == NULL)
        return NC_NOERR;
    if ((stat = make_room(transfer, hashkey)) != NC_NOERR)
        return stat;
    if ((book = nczadapter_shelf_find(transfer->shelf, indices)) == NULL)
        return NC_NOERR; /* it had to go itself */
    wait_for_place(transfer, hashkey);
    if ((stat = NCZ_cache_get(transfer->cache, indices, NCZ_REPLACE, entryp)) != NC_NOERR) {
        *entryp = NULL;
        return stat;
    }
    (void)NCZ_entry_length(*entryp, &data);
    memcpy(data, nczadapter_book_data(transfer->shelf, book), transfer->shelf->chunk);
    (void)nczadapter_shelf_drop(transfer->shelf, book);
    return NC_NOERR;
}

int nczadapter_fetch(Transfer* transfer, const size64_t* indices, NCZCacheEntry** entryp)
{
    ncexhashkey_t hashkey;
    int stat = find(transfer, indices, &hashkey, entryp);

    if (stat == NC_NOERR && *entryp == NULL)
        stat = unshelve(transfer, indices, hashkey, entryp);
    if (stat == NC_NOERR && *entryp == NULL)
        stat = read_entry(transfer, indices, hashkey, entryp);
    return stat;
}

int nczadapter_fetch_small(Transfer* transfer, const size64_t* indices, void** data, size_t* size)
{
    Shelf* shelf = transfer->shelf;
    const Book* newest = shelf->newest;
    Book* book = nczadapter_shelf_find(shelf, indices);
    NCZCacheEntry* entry;
    ncexhashkey_t hashkey;
    int stat;

    if (book == NULL) {
        stat = find(transfer, indices, &hashkey, &entry);
        if (stat == NC_NOERR && entry == NULL) {
            stat = read_entry(transfer, indices, hashkey, &entry);
            if (stat == NC_NOERR && entry->size == shelf->chunk)
                book = nczadapter_shelf_put(shelf, indices, entry->data);
            if (book != NULL)
                stat = NCZ_entry_drop(transfer->cache, entry);
        }
        if (stat != NC_NOERR)
            return stat;
    } else if (book != newest) {
        transfer->reused++;
    }
    if (book == NULL) {
        *size = (size_t)NCZ_entry_length(entry, data);
    } else {
        *size = shelf->chunk;
        *data = nczadapter_book_data(shelf, book);
    }
    return NC_NOERR;
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
    ncexhashkey_t hashkey;
    int longer, stat = find(transfer, indices, &hashkey, entryp);

    if (stat == NC_NOERR && *entryp == NULL)
        stat = unshelve(transfer, indices, hashkey, entryp);
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

    return NCZ_cache_get(cache, indices, NCZ_REPLACE, entryp);
}

int nczadapter_copy(const Transfer* transfer, int reading, size_t count, const void* source, void* destination)
{
#if NETCDF_CACHE_COUNTS
    return NCZ_copy_data(transfer->file, transfer->var, source, count, reading, destination);
#else
    return NCZ_copy_data(transfer->file, transfer->var->type_info, source, count, reading, destination);
#endif
}
