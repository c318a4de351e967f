/* Moving hyperslabs between chunks and memory: in place of zwalk.c.
 *
 * nczchunk does the work. What is here tells it what a variable looks like, and lends it chunks. */
#include "adapter.h"

extern int NCZ_read_chunk(int ncid, int varid, size64_t* zindices, void* chunkdata);

/* A scalar has rank 0 for nczchunk; for NCZarr it has one dimension, and its chunk the index 0. */
static const size64_t* indices_of(const nczchunk_borrowed_chunk* loan)
{
    static const size64_t scalar = 0;

    return loan->rank == 0 ? &scalar : (const size64_t*)loan->chunk_indices;
}

/* The entry itself is the handle: it comes back when the chunk does. */
static void give(Transfer* transfer, nczchunk_borrowed_chunk* loan, NCZCacheEntry* entry)
{
    transfer->chunks++;
    loan->nbytes = (size_t)NCZ_entry_length(entry, &loan->data);
    loan->handle = entry;
}

/* Lends a chunk to be read. */
static int lend(void* user, nczchunk_borrowed_chunk* loan)
{
    Transfer* transfer = user;
    NCZCacheEntry* entry;
    int stat;

    if (transfer->reading && transfer->shelf != NULL && transfer->lock == NULL) {
        stat = nczadapter_fetch_small(transfer, indices_of(loan), &loan->data, &loan->nbytes);
        transfer->chunks++;
    } else if ((stat = nczadapter_fetch(transfer, indices_of(loan), &entry)) == NC_NOERR) {
        give(transfer, loan, entry);
    }
#if NETCDF_CACHE_COUNTS
    if (stat == NC_NOERR && transfer->ahead != NULL)
        nczadapter_ahead_take(transfer, indices_of(loan), loan->data);
#endif
    return stat;
}

/* Lends what was read ahead, as the one chunk of a variable. */
static int lend_ahead(void* user, nczchunk_borrowed_chunk* loan)
{
    const Ahead* ahead = ((const Transfer*)user)->ahead;

    loan->data = ahead->data;
    loan->nbytes = ahead->size;
    return NC_NOERR;
}

/* Lends a chunk to be changed. One that is to be replaced is not read. */
static int lend_to_write(void* user, nczchunk_borrowed_chunk* loan)
{
    Transfer* transfer = user;
    NCZCacheEntry* entry;
    int stat, created;

    if (!loan->covered)
        return lend(user, loan);
    if ((stat = nczadapter_make(transfer, indices_of(loan), &entry, &created)) != NC_NOERR)
        return stat;
    give(transfer, loan, entry);
    return created ? NC_EEMPTY : NC_NOERR;
}

/* Lends a chunk to be read to one of several threads, to which it belongs until it is taken back. */
static int lend_to_thread(void* user, nczchunk_borrowed_chunk* loan)
{
    Transfer* transfer = user;
    int stat;

    nczadapter_lock(transfer);
    if ((stat = lend(user, loan)) == NC_NOERR)
        *nczadapter_lent(loan->handle) = 1;
    nczadapter_unlock(transfer);
    return stat;
}

static int release_from_thread(void* user, nczchunk_borrowed_chunk* loan, int status)
{
    const Transfer* transfer = user;

    (void)status;
    nczadapter_lock(transfer);
    *nczadapter_lent(loan->handle) = 0;
    nczadapter_unlock(transfer);
    return NC_NOERR;
}

/* Takes back a chunk that was to be changed. If that succeeded, it is stored when it leaves the cache. If not, the
 * cache forgets it, so that it is read again; unless earlier changes are in it that are not stored yet. Then it stays:
 * only elements that were to be changed may be neither as they were nor as they should be. */
static int release(void* user, nczchunk_borrowed_chunk* loan, int status)
{
    const Transfer* transfer = user;
    NCZCacheEntry* entry = loan->handle;

    if (status == NC_NOERR)
        return NCZ_entry_modify(transfer->cache, entry);
    if (!entry->modified)
        return NCZ_entry_drop(transfer->cache, entry);
    return NC_NOERR;
}

static int copy(void* user, int writing, size_t count, const void* source, void* destination)
{
    return nczadapter_copy(user, !writing, count, source, destination);
}

/* What chunks read as where nothing was written, in native byte order; NULL for zeros. */
static int fill_value(NC_VAR_INFO_T* var, const void** valuep)
{
    int stat = NC_NOERR;

    *valuep = NULL;
    if (!var->no_fill && (stat = NCZ_ensure_fill_value(var)) == NC_NOERR)
        *valuep = var->fill_value;
    return stat;
}

/* The variable as nczchunk sees it. */
static int describe(Transfer* transfer, size_t rank, const size_t* dimlens, const size_t* chunklens, size_t typesize,
                    nczchunk_var** varp)
{
    const NCZ_FILE_INFO_T* zfile = transfer->file->format_file_info;
    const int foreign = zfile->native_endianness == NC_ENDIAN_LITTLE ? NCZCHUNK_ENDIAN_BIG : NCZCHUNK_ENDIAN_LITTLE;
    const void* fill;
    nczchunk_var* var = NULL;
    int stat = nczchunk_var_new(rank, dimlens, chunklens, typesize, &var, NULL);

    if (stat == NC_NOERR && transfer->var->type_info->hdr.id == NC_STRING)
        stat = nczchunk_var_set_copier(var, copy, transfer, NULL);
    if (stat == NC_NOERR && transfer->swap)
        stat = nczchunk_var_set_endian(var, foreign, NULL);
    if (stat == NC_NOERR && !transfer->reading && (stat = fill_value(transfer->var, &fill)) == NC_NOERR)
        stat = nczchunk_var_set_fill_value(var, fill, NULL);
    if (stat != NC_NOERR) {
        nczchunk_var_free(var);
        return stat;
    }
    *varp = var;
    return NC_NOERR;
}

static int run(Transfer* transfer, const nczchunk_zero_copy_callbacks* chunks, size_t rank, const size_t* dimlens,
               const size_t* chunklens, size_t typesize, const size64_t* start, const size64_t* count,
               const size64_t* stride, void* memory)
{
    nczchunk_var* var = NULL;
    nczchunk_chunk_store* store = NULL;
    nczchunk_context* context = NULL;
    int stat = describe(transfer, rank, dimlens, chunklens, typesize, &var);

    if (stat == NC_NOERR)
        stat = nczchunk_chunk_store_new_zero_copy(chunks, &store, NULL);
    if (stat == NC_NOERR && transfer->lock != NULL && (stat = nczchunk_context_new(&context)) == NC_NOERR)
        stat = nczchunk_context_set_threads(context, transfer->threads);
    if (stat == NC_NOERR && transfer->reading)
        stat = nczchunk_read_vars(var, store, (const size_t*)start, (const size_t*)count, (const ptrdiff_t*)stride,
                                  memory, context);
    else if (stat == NC_NOERR)
        stat = nczchunk_write_vars(var, store, (const size_t*)start, (const size_t*)count, (const ptrdiff_t*)stride,
                                   memory, NULL);
    if (stat != NC_NOERR)
        ADAPTER_LOG(NCLOGNOTE, "nczchunk cannot %s %s: %s", transfer->reading ? "read" : "write",
                    transfer->var->hdr.name, nc_strerror(stat));
    nczchunk_context_free(context);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    return stat;
}

/* A transfer of a variable that has been found. */
static Transfer transfer_of(NC_VAR_INFO_T* var, int reading)
{
    const NCZ_VAR_INFO_T* zvar = var->format_var_info;
    NC_FILE_INFO_T* file = var->container->nc4_info;
    const NCZ_FILE_INFO_T* zfile = file->format_file_info;

    return (Transfer){.file = file,
                      .var = var,
                      .cache = zvar->cache,
                      .shelf = nczadapter_shelf(file, var),
                      .reading = reading,
                      .swap = var->type_info->hdr.id < NC_STRING && zfile->native_endianness != var->endianness};
}

/* Whether a transfer goes through chunks from end to end. (What overflows is refused later.) */
static int spans_chunks(const NC_VAR_INFO_T* var, size_t rank, const size64_t* count, const size64_t* stride)
{
    for (size_t d = 0; d < rank; d++) {
        const size64_t span = (count[d] - 1) * stride[d] + 1;

        if (span < var->chunksizes[d] && span < var->dim[d]->len)
            return 0;
    }
    return rank > 0;
}

/* Whether a transfer touches several chunks. (What overflows is refused later.) */
static int touches_several(const NC_VAR_INFO_T* var, size_t rank, const size64_t* start, const size64_t* count,
                           const size64_t* stride)
{
    for (size_t d = 0; d < rank; d++)
        if (start[d] % var->chunksizes[d] + (count[d] - 1) * stride[d] >= var->chunksizes[d])
            return 1;
    return 0;
}

/* Reads what lies in what was read ahead. */
static int read_ahead(Transfer* transfer, size_t typesize, const size64_t* start, const size64_t* count,
                      const size64_t* stride, void* memory)
{
    const nczchunk_zero_copy_callbacks chunks = {.struct_size = sizeof chunks, .user = transfer, .lend = lend_ahead};
    const Box* box = &transfer->ahead->box;
    size64_t inside[AHEAD_RANK];

    for (size_t d = 0; d < box->rank; d++)
        inside[d] = start[d] - box->start[d];
    return run(transfer, &chunks, box->rank, (const size_t*)box->len, (const size_t*)box->len, typesize, inside, count,
               stride, memory);
}

/* Adds text to a line unless it would be longer than there is room; tells where the line ends. */
static size_t add(char* line, size_t room, size_t end, const char* text, size_t len)
{
    if (len >= room - end)
        return room; /* also if an earlier one did not fit */
    memcpy(line + end, text, len);
    return end + len;
}

/* The file that NCZCHUNK_TRACE names in the environment; NULL if there is none. */
static const char* trace_file(void)
{
    static const char* where = "";

    if (where != NULL && where[0] == '\0') {
        where = getenv("NCZCHUNK_TRACE"); /* netCDF-C is used by one thread at a time */
        if (where != NULL && where[0] == '\0')
            where = NULL;
    }
    return where;
}

/* Adds a read to the trace file, for `nczchunk advise --trace`: the file, the variable, the counts and the strides. A
 * read that cannot be recorded is left out. */
static void trace(const NC_VAR_INFO_T* var, size_t rank, const size64_t* count, const size64_t* stride)
{
    char line[4096], number[32];
    const char* path = var->container->nc4_info->controller->path;
    const NC_GRP_INFO_T* groups[64];
    size_t end = 0, depth = 0;
    FILE* file;

    if (path == NULL)
        return;
    if (strncmp(path, "file://", 7) == 0)
        path += 7;
    end = add(line, sizeof line, end, path, strcspn(path, "#"));
    end = add(line, sizeof line, end, "\t", 1);
    for (const NC_GRP_INFO_T* group = var->container; group->parent != NULL && depth < 64; group = group->parent)
        groups[depth++] = group;
    while (depth-- > 0) {
        end = add(line, sizeof line, end, groups[depth]->hdr.name, strlen(groups[depth]->hdr.name));
        end = add(line, sizeof line, end, "/", 1);
    }
    end = add(line, sizeof line, end, var->hdr.name, strlen(var->hdr.name));
    for (int strides = 0; strides < 2; strides++)
        for (size_t d = 0; d < rank || d == 0; d++) {
            const size64_t n = rank == 0 ? 0 : strides ? stride[d] : count[d];
            const int len = snprintf(number, sizeof number, "%s%llu", d == 0 ? "\t" : ",", (unsigned long long)n);

            end = add(line, sizeof line, end, number, rank == 0 ? 1 : (size_t)len);
        }
    end = add(line, sizeof line, end, "\n", 1);
    if (end >= sizeof line || (file = fopen(trace_file(), "a")) == NULL)
        return;
    fwrite(line, 1, end, file);
    fclose(file);
}

/* The entry from zvar.c: what nc_get_vars and nc_put_vars come down to. */
int NCZ_transferslice(NC_VAR_INFO_T* var, int reading, size64_t* start, size64_t* count, size64_t* stride, void* memory,
                      nc_type typecode)
{
    enum { USUAL_RANK = 8 };
    size_t some_dimlens[USUAL_RANK], *dimlens = some_dimlens;
    const NCZ_VAR_INFO_T* zvar = var->format_var_info;
    const size_t rank = zvar->scalar ? 0 : var->ndims;
    Transfer transfer = transfer_of(var, reading);
    Lock lock = LOCK_INIT;
    /* What is read needs not be taken back. Chunks that are longer than they should be serve as in netCDF-C. */
    nczchunk_zero_copy_callbacks chunks = {.struct_size = sizeof chunks, .user = &transfer, .lend = lend,
                                               .lend_to_write = lend_to_write, .release = reading ? NULL : release,
                                               .accept_longer = 1};
    size_t typesize;
    int stat = NC4_inq_atomic_type(typecode, NULL, &typesize);

    if (stat != NC_NOERR)
        return stat;
    if (!reading && transfer.file->no_write)
        return NC_EPERM; /* 4.9.2 asks for such writes */
    for (size_t d = 0; d < rank; d++)
        if (count[d] == 0)
            return NC_NOERR; /* also where the start is beyond an unlimited dimension's length */
    if (reading && trace_file() != NULL)
        trace(var, rank, count, stride);
#if NETCDF_CACHE_COUNTS
    if (reading && transfer.file->no_write && nczadapter_ahead_begin(&transfer, rank, start, count, stride))
        return read_ahead(&transfer, typesize, start, count, stride, memory);
#endif
    if (rank > USUAL_RANK && (dimlens = malloc(rank * sizeof *dimlens)) == NULL)
        return NC_ENOMEM;
    for (size_t d = 0; d < rank; d++)
        dimlens[d] = var->dim[d]->len;
    transfer.spans_chunks = spans_chunks(var, rank, count, stride);
#if NETCDF_CACHE_COUNTS
    if (FILTERED(transfer.cache) && var->type_info->hdr.id < NC_STRING)
        transfer.threads = nczadapter_threads(transfer.file);
#endif
    if (reading && transfer.threads > 1 && rank < NC_MAX_VAR_DIMS - 1 &&
        touches_several(var, rank, start, count, stride)) {
        transfer.lock = &lock;
#ifdef NCZADAPTER_PRELOADED
        transfer.host = nczadapter_host();
#endif
        chunks.lend = lend_to_thread;
        chunks.release = release_from_thread;
        chunks.concurrent = 2; /* decoding takes its time */
    }
    stat = run(&transfer, &chunks, rank, dimlens, var->chunksizes, typesize, start, count, stride, memory);
    nczadapter_free_decoder(transfer.decoder);
#if NETCDF_CACHE_COUNTS
    if (transfer.ahead != NULL)
        nczadapter_ahead_end(&transfer, stat);
#endif
    if (dimlens != some_dimlens)
        free(dimlens);
    return stat;
}

/* ncdumpchunks' entry: a whole chunk, in stored byte order. */
int NCZ_read_chunk(int ncid, int varid, size64_t* zindices, void* chunkdata)
{
    NC_FILE_INFO_T* file;
    NC_VAR_INFO_T* var;
    NCZCacheEntry* entry;
    Transfer transfer;
    int stat = nc4_find_grp_h5_var(ncid, varid, &file, NULL, &var);

    if (stat != NC_NOERR)
        return stat;
    transfer = transfer_of(var, 1);
    if ((stat = nczadapter_fetch(&transfer, zindices, &entry)) != NC_NOERR)
        return stat;
    if (chunkdata != NULL)
        stat = nczadapter_copy(&transfer, 1, (size_t)transfer.cache->chunkcount, entry->data, chunkdata);
    return stat;
}

/* Lends what a reader of a test's reads, which tells no length. To be changed, it must be a chunk of the cache: the one
 * that was used last. */
static int lend_from_reader(void* user, nczchunk_borrowed_chunk* loan)
{
    const Transfer* transfer = user;
    const struct Common* common = transfer->common;
    NCZCacheEntry* entry = NULL;
    void* chunk = NULL;
    int stat = common->reader.read(common->reader.source, (size64_t*)indices_of(loan), &chunk);

    /* The cache makes an absent chunk itself, and may say so. */
    if (stat != NC_NOERR && !(stat == NC_EEMPTY && chunk != NULL))
        return stat;
    if (loan->access == NCZCHUNK_WRITE) {
        entry = ncxcachefirst(common->cache->xcache);
        if (entry == NULL || entry->data != chunk)
            return NC_EINTERNAL;
    }
    loan->data = chunk;
    loan->nbytes = (size_t)common->chunkcount * common->typesize;
    loan->handle = entry;
    return NC_NOERR;
}

int nczadapter_transfer_common(struct Common* common, size_t rank, const size64_t* start, const size64_t* count,
                               const size64_t* stride)
{
    Transfer transfer = {.file = common->file, .var = common->var, .cache = common->cache, .common = common,
                         .reading = common->reading,
                         .swap = common->swap && common->var->type_info->hdr.id < NC_STRING};
    const nczchunk_zero_copy_callbacks chunks = {.struct_size = sizeof chunks, .user = &transfer,
                                               .lend = lend_from_reader, .lend_to_write = lend_from_reader,
                                               .release = common->reading ? NULL : release};

    /* The cache is used without regard to the shelf. */
    if (common->cache != NULL && (transfer.shelf = nczadapter_shelf(common->file, common->var)) != NULL)
        nczadapter_shelf_empty(transfer.shelf);
    return run(&transfer, &chunks, rank, (const size_t*)common->dimlens, (const size_t*)common->chunklens,
               common->typesize, start, count, stride, common->memory);
}
