/* Decoding chunks here, by nczchunk's codecs, instead of by netCDF-C's filters: only if netCDF's rc file asks for it,
 *
 *     NCZCHUNK.DECODE=1
 *     NCZCHUNK.THREADS=2      (1 if nothing is said)
 *
 * and for variables all of whose filters are known here. What is stored is read through netCDF-C as ever. A codec gives
 * a whole chunk, neither shorter nor longer, whose checksums are right, or it gives nothing, and netCDF-C reads the
 * chunk: so what is absent, longer, shorter or corrupt is what it is without this.
 *
 * With several threads a transfer has a lock, which is held by whoever uses the cache or calls netCDF-C, and by nobody
 * while he decodes or copies. */
#include "adapter.h"

#include "netcdf_filter.h"

#ifndef _WIN32
#include <sched.h>
#endif

void nczadapter_lock(const Transfer* transfer)
{
    if (transfer->lock == NULL)
        return;
#ifdef _WIN32
    AcquireSRWLockExclusive(transfer->lock);
#else
    (void)pthread_mutex_lock(transfer->lock);
#endif
#ifdef NCZADAPTER_PRELOADED
    nczadapter_set_host(transfer->host);
#endif
}

void nczadapter_unlock(const Transfer* transfer)
{
    if (transfer->lock == NULL)
        return;
#ifdef _WIN32
    ReleaseSRWLockExclusive(transfer->lock);
#else
    (void)pthread_mutex_unlock(transfer->lock);
#endif
}

void nczadapter_wait(const Transfer* transfer)
{
    nczadapter_unlock(transfer);
#ifdef _WIN32
    (void)SwitchToThread();
#else
    (void)sched_yield();
#endif
    nczadapter_lock(transfer);
}

/* A thread's chunk, as it is stored. */
typedef struct Slot {
    int is_taken;
    size_t size, room;
    void* stored;
} Slot;

/* What decodes: a store of the chunks in the slots, as a variable of two dimensions, the slots and their bytes. Without
 * a store the filters are not known. */
struct Decoder {
    nczchunk_var* var;
    nczchunk_chunk_store* store;
    size_t slots;
    Slot slot[];
};

static int lend_stored(void* user, nczchunk_borrowed_chunk* loan)
{
    const Decoder* decoder = user;
    const Slot* slot = &decoder->slot[loan->chunk_indices[0]];

    loan->data = slot->stored;
    loan->nbytes = slot->size;
    return NC_NOERR;
}

/* Adds the codec of a filter. The parameters that a filter has are not those that it is called with: the codec of
 * netCDF-C's shuffle has none, and is told the size of an element. */
static int add_filter(const NC_VAR_INFO_T* var, int ncid, unsigned id, nczchunk_chunk_store* store)
{
    enum { SHUFFLE = 2, MOST = 16 };
    unsigned parameters[MOST];
    nczchunk_codec* codec;
    size_t number;
    int stat = nc_inq_var_filter_info(ncid, var->hdr.id, id, &number, NULL);

    if (stat != NC_NOERR || number > MOST)
        return NC_ENOFILTER;
    if ((stat = nc_inq_var_filter_info(ncid, var->hdr.id, id, &number, parameters)) != NC_NOERR)
        return stat;
    if (id == SHUFFLE) {
        number = 1;
        parameters[0] = (unsigned)var->type_info->size;
    }
    if ((stat = nczchunk_codec_filter(id, number, parameters, &codec, NULL)) != NC_NOERR)
        return stat;
    if ((stat = nczchunk_chunk_store_add_codec(store, codec, NULL)) != NC_NOERR)
        nczchunk_codec_free(codec);
    return stat;
}

static int add_filters(const NC_VAR_INFO_T* var, nczchunk_chunk_store* store)
{
    enum { MOST = 8 };
    const int ncid = var->container->nc4_info->controller->ext_ncid | var->container->hdr.id;
    unsigned ids[MOST];
    size_t number;
    int stat = nc_inq_var_filter_ids(ncid, var->hdr.id, &number, NULL);

    if (stat != NC_NOERR || number > MOST || number != nclistlength((NClist*)var->filters))
        return NC_ENOFILTER;
    stat = nc_inq_var_filter_ids(ncid, var->hdr.id, &number, ids);
    for (size_t i = 0; stat == NC_NOERR && i < number; i++)
        stat = add_filter(var, ncid, ids[i], store);
    return stat;
}

static Decoder* new_decoder(const Transfer* transfer)
{
    const size_t slots = transfer->lock == NULL ? 1 : transfer->threads;
    const size_t lens[2] = {slots, (size_t)transfer->cache->chunksize}, chunks[2] = {1, lens[1]};
    Decoder* decoder = calloc(1, sizeof *decoder + slots * sizeof *decoder->slot);
    const nczchunk_zero_copy_callbacks stored = {.struct_size = sizeof stored, .user = decoder, .lend = lend_stored,
                                               .concurrent = 1};

    if (decoder == NULL)
        return NULL;
    decoder->slots = slots;
    if (nczchunk_var_new(2, lens, chunks, 1, &decoder->var, NULL) != NC_NOERR ||
        nczchunk_chunk_store_new_zero_copy(&stored, &decoder->store, NULL) != NC_NOERR ||
        add_filters(transfer->var, decoder->store) != NC_NOERR) {
        nczchunk_chunk_store_free(decoder->store);
        decoder->store = NULL;
    }
    return decoder;
}

void nczadapter_free_decoder(Decoder* decoder)
{
    if (decoder == NULL)
        return;
    for (size_t i = 0; i < decoder->slots; i++)
        free(decoder->slot[i].stored);
    nczchunk_chunk_store_free(decoder->store);
    nczchunk_var_free(decoder->var);
    free(decoder);
}

/* Reads a stored chunk into a slot; 0 if there is none, or it cannot be read. */
static int read_stored(const Transfer* transfer, const struct ChunkKey* key, Slot* slot)
{
    const NCZ_FILE_INFO_T* zfile = transfer->file->format_file_info;
    char* path = NCZ_chunkpath(*key);
    size64_t length = 0;
    void* larger;
    int stat = path == NULL ? NC_ENOMEM : nczmap_len(zfile->map, path, &length);

    if (stat == NC_NOERR && length > slot->room) {
        if (length > PTRDIFF_MAX || (larger = malloc((size_t)length)) == NULL) {
            stat = NC_ENOMEM;
        } else {
            free(slot->stored);
            slot->stored = larger;
            slot->room = (size_t)length;
        }
    }
    if (stat == NC_NOERR && length > 0)
        stat = nczmap_read(zfile->map, path, 0, length, slot->stored);
    free(path);
    slot->size = (size_t)length;
    return stat == NC_NOERR && length > 0;
}

void nczadapter_decode(Transfer* transfer, const struct ChunkKey* key, void** data)
{
    const size_t size = (size_t)transfer->cache->chunksize, count[2] = {1, size};
    Decoder* decoder = transfer->decoder;
    size_t i = 0;
    int stat;

    *data = NULL;
    if (decoder == NULL && (decoder = transfer->decoder = new_decoder(transfer)) == NULL)
        return;
    if (decoder->store == NULL)
        return;
    while (i < decoder->slots && decoder->slot[i].is_taken)
        i++;
    if (i == decoder->slots || !read_stored(transfer, key, &decoder->slot[i]))
        return;
    decoder->slot[i].is_taken = 1;
    nczadapter_unlock(transfer);
    if ((*data = malloc(size)) != NULL) {
        stat = nczchunk_read_vars(decoder->var, decoder->store, (const size_t[2]){i, 0}, count, NULL, *data, NULL);
        if (stat != NC_NOERR) {
            free(*data);
            *data = NULL;
        }
    }
    nczadapter_lock(transfer);
    decoder->slot[i].is_taken = 0;
}
