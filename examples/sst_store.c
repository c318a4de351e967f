#include "sst_store.h"

#include <errno.h>
#include <stdio.h>

int sst_var_new(nczchunk_var **var, nczchunk_context *context)
{
    const size_t dimlens[SST_RANK] = {SST_MONTHS, SST_LATITUDES, SST_LONGITUDES};
    const size_t chunklens[SST_RANK] = {SST_CHUNK_MONTHS, SST_CHUNK_LATITUDES, SST_CHUNK_LONGITUDES};
    const float fill_value = SST_FILL_VALUE;
    nczchunk_var *made = NULL;

    int status = nczchunk_var_new(SST_RANK, dimlens, chunklens, sizeof(float), &made, context);
    /* The files are little-endian ("<f4"); on a machine that is not, the library swaps. */
    if (status == NCZCHUNK_NOERR) status = nczchunk_var_set_endian(made, NCZCHUNK_ENDIAN_LITTLE, context);
    /* The fill value is a float of this machine, whatever the byte order of the files. */
    if (status == NCZCHUNK_NOERR) status = nczchunk_var_set_fill_value(made, &fill_value, context);

    if (status == NCZCHUNK_NOERR) *var = made;
    else nczchunk_var_free(made);
    return status;
}

/* A positive status is an errno. C does not promise that a failed call sets it, and 0 would mean success. */
static int errno_or_eio(void)
{
    return errno > 0 ? errno : NCZCHUNK_EIO;
}

/*
 * Reads a file into the request's buffer, and counts its bytes. What does not fit is only counted: the library will ask
 * again with more room.
 */
static int read_file(FILE *file, nczchunk_request *request)
{
    char rest[4096];
    size_t n;

    request->nbytes = fread(request->buffer, 1, request->size, file);
    while ((n = fread(rest, 1, sizeof rest, file)) > 0) request->nbytes += n;
    return ferror(file) ? errno_or_eio() : NCZCHUNK_NOERR;
}

/* The callback: nczchunk asks for the chunk with these indices, which is in the file named after them. */
static int fill(void *user, nczchunk_request *request)
{
    sst_files *files = user;
    sst_record *record = &files->record;
    const ptrdiff_t i = request->chunk_indices[0], j = request->chunk_indices[1], k = request->chunk_indices[2];
    char path[4096];

    /* C99's printf has %td for a ptrdiff_t. */
    const int length = snprintf(path, sizeof path, "%s/coads_sst.zarr/%td.%td.%td", files->data_dir, i, j, k);
    if (length < 0 || (size_t)length >= sizeof path) return NCZCHUNK_EINVAL;

    errno = 0;
    FILE *file = fopen(path, "rb");
    if (!file && errno == ENOENT) {
        /* No such file: the writer left out a chunk with nothing but fill values. That is not an error. */
        record->fate[i][j][k] = SST_ABSENT;
        record->absent++;
        return NCZCHUNK_ENOOBJECT;
    }
    if (!file) return errno_or_eio();

    const int status = read_file(file, request);
    fclose(file);
    if (status == NCZCHUNK_NOERR && request->nbytes <= request->size) {
        record->fate[i][j][k] = SST_FETCHED;
        record->fetched++;
        record->bytes += request->nbytes;
    }
    return status;
}

int sst_store_new(sst_files *files, nczchunk_store **store, nczchunk_context *context)
{
    const nczchunk_filling_callbacks callbacks = {.struct_size = sizeof callbacks, .user = files, .fill = fill};
    nczchunk_store *made = NULL;
    nczchunk_codec *codec = NULL;

    int status = nczchunk_store_filling(&callbacks, &made, context);
    /* The files are compressed: the library decodes what the callback reads. */
    if (status == NCZCHUNK_NOERR) status = nczchunk_codec_zstd(NULL, &codec, context);
    if (status == NCZCHUNK_NOERR) status = nczchunk_store_add_codec(made, codec, context);

    if (status == NCZCHUNK_NOERR) { /* The codec is the store's now. */
        *store = made;
        return status;
    }
    nczchunk_codec_free(codec);
    nczchunk_store_free(made);
    return status;
}
