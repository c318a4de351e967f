/* A first look at what surrounds the reading of chunks: under which name a store holds a chunk, how large chunks are
 * when nobody says so, and where a value lies in a file that has no chunks at all. Nothing here opens a file: each call
 * is arithmetic, and may be made from any thread. */

#include "nczchunk.h"

#include "check.h"

#include <stddef.h>
#include <stdint.h>

/* A variable of 200 x 300 in chunks of 100 x 100 has 2 x 3 chunks. This is the last one in the first row. */
static const ptrdiff_t chunk[2] = {0, 2};

static void the_name_of_a_chunk(void)
{
    char key[32];
    size_t length;

    /* Zarr v2 writes the chunk indices with a dot between them, or a slash if its metadata says so. */
    CHECK_EQ(nczchunk_key_zarr_v2(2, chunk, '.', key, sizeof key, &length, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "0.2");
    CHECK_EQ(length, 3);

    /* Zarr v3 puts a c in front, and prefers the slash. Who does not care for the length passes NULL. */
    CHECK_EQ(nczchunk_key_zarr_v3(2, chunk, '/', key, sizeof key, NULL, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "c/0/2");

    /* A scalar has one chunk and no chunk indices. */
    CHECK_EQ(nczchunk_key_zarr_v2(0, NULL, '.', key, sizeof key, NULL, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "0");
    CHECK_EQ(nczchunk_key_zarr_v3(0, NULL, '/', key, sizeof key, NULL, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "c");
}

static void a_name_in_a_cfdb_file(void)
{
    const size_t chunklens[2] = {100, 100};
    const ptrdiff_t before_the_origin[2] = {-1, 2};
    char key[32];

    /* cfdb writes where the chunk starts, in elements, so it has to know the chunk lengths too. */
    CHECK_EQ(nczchunk_key_cfdb("sst", 2, chunklens, chunk, key, sizeof key, NULL, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "sst!0.200");

    /* A dimension may have been prepended to: then there are chunks before the origin. */
    CHECK_EQ(nczchunk_key_cfdb("sst", 2, chunklens, before_the_origin, key, sizeof key, NULL, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "sst!-100.200");

    /* Zarr knows no such chunks. */
    CHECK_EQ(nczchunk_key_zarr_v2(2, before_the_origin, '.', key, sizeof key, NULL, NULL), NCZCHUNK_EINVAL);
}

static void room_for_a_name(void)
{
    char key[6] = "mine!";
    size_t length = 0;

    /* How long is it? The NUL at the end is not counted. */
    CHECK_EQ(nczchunk_key_zarr_v3(2, chunk, '/', NULL, 0, &length, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(length, 5);

    /* One byte too few: the status says so, the length tells what is needed, the buffer stays as it was. */
    CHECK_EQ(nczchunk_key_zarr_v3(2, chunk, '/', key, length, &length, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(length, 5);
    CHECK_STR(key, "mine!");

    /* Who wants to know more passes a context. */
    {
        nczchunk_context *context = NULL;

        CHECK_EQ(nczchunk_context_new(&context), NCZCHUNK_NOERR);
        CHECK_EQ(nczchunk_key_zarr_v3(2, chunk, '/', key, length, NULL, context), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EINVAL);
        CHECK(strlen(nczchunk_context_message(context)) > 0);
        nczchunk_context_free(context);
    }

    /* With room for the NUL it fits. */
    CHECK_EQ(nczchunk_key_zarr_v3(2, chunk, '/', key, length + 1, &length, NULL), NCZCHUNK_NOERR);
    CHECK_STR(key, "c/0/2");
}

static void default_chunks_of_netcdf(void)
{
    /* A year of daily fields, 4 bytes a value. */
    const size_t days_lat_lon[3] = {365, 721, 1440};
    const size_t records_lat_lon[3] = {0, 721, 1440};
    size_t chunklens[3];

    /* Each dimension is cut into about as many parts, so that a chunk has about 16 MiB: 0 asks for that default. */
    CHECK_EQ(nczchunk_chunkshape_netcdf(3, days_lat_lon, 4, 0, chunklens, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(chunklens[0], 73);
    CHECK_EQ(chunklens[1], 145);
    CHECK_EQ(chunklens[2], 288);

    /* A length of 0 means unlimited. Such a dimension gets chunks of 1, and a field of 4 MB is not cut at all. */
    CHECK_EQ(nczchunk_chunkshape_netcdf(3, records_lat_lon, 4, 0, chunklens, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(chunklens[0], 1);
    CHECK_EQ(chunklens[1], 721);
    CHECK_EQ(chunklens[2], 1440);

    /* An element of no bytes is refused, and the chunk lengths stay as they were. */
    CHECK_EQ(nczchunk_chunkshape_netcdf(3, days_lat_lon, 0, 0, chunklens, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(chunklens[2], 1440);
}

static void default_chunks_of_h5py(void)
{
    const size_t days_lat_lon[3] = {365, 721, 1440};
    const size_t records_lat_lon[3] = {0, 721, 1440};
    size_t chunklens[3];

    /* HDF5 wants to be told a chunk shape. h5py guesses one, here of 200 kB. */
    CHECK_EQ(nczchunk_chunkshape_h5py(3, days_lat_lon, 4, chunklens, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(chunklens[0], 12);
    CHECK_EQ(chunklens[1], 46);
    CHECK_EQ(chunklens[2], 90);

    /* An unlimited dimension counts as 1024. */
    CHECK_EQ(nczchunk_chunkshape_h5py(3, records_lat_lon, 4, chunklens, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(chunklens[0], 32);

    /* An element of no bytes is refused, and the chunk lengths stay as they were. */
    CHECK_EQ(nczchunk_chunkshape_h5py(3, days_lat_lon, 0, chunklens, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunkshape_h5py(3, NULL, 4, chunklens, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(chunklens[0], 32);
}

static void default_chunks_of_rechunkit(void)
{
    const size_t days_lat_lon[3] = {365, 721, 1440};
    const size_t records_lat_lon[3] = {0, 721, 1440};
    size_t chunklens[3];

    /* The same year: about 2 MiB, in lengths with many divisors. */
    CHECK_EQ(nczchunk_chunkshape_rechunkit(3, days_lat_lon, 4, 0, chunklens, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(chunklens[0], 60);
    CHECK_EQ(chunklens[1], 60);
    CHECK_EQ(chunklens[2], 120);

    /* About 1 MiB, if that suits better. */
    CHECK_EQ(nczchunk_chunkshape_rechunkit(3, days_lat_lon, 4, 1048576, chunklens, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(chunklens[0], 24);

    /* rechunkit has no unlimited dimensions. */
    CHECK_EQ(nczchunk_chunkshape_rechunkit(3, records_lat_lon, 4, 0, chunklens, NULL), NCZCHUNK_EDIMSIZE);
}

static void values_in_a_classic_file(void)
{
    /* short mask(5, 3) begins at byte 300. */
    const size_t mask[2] = {5, 3};
    const size_t last[2] = {4, 2};
    const size_t beyond[2] = {4, 3};
    uint64_t size, padded, offset;

    /* It has 15 values, and 2 bytes are left over before the next variable, since each begins at a multiple of 4. */
    CHECK_EQ(nczchunk_classic_varsize(2, mask, 2, &size, &padded, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(size, 30);
    CHECK_EQ(padded, 32);

    /* The values lie in row-major order; the record size is of no concern to a variable without records. */
    CHECK_EQ(nczchunk_classic_offset(2, mask, 2, 300, 0, last, &offset, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(offset, 300 + (4 * 3 + 2) * 2);
    CHECK_EQ(nczchunk_classic_offset(2, mask, 2, 300, 0, beyond, &offset, NULL), NCZCHUNK_EINVALCOORDS);
}

static void records_in_a_classic_file(void)
{
    /* double time(record) begins at byte 140, short v(record, 3) at byte 148. */
    const size_t time[1] = {0};
    const size_t v[2] = {0, 3};
    const size_t index[2] = {6, 2};
    uint64_t sizes[2], recsize, offset;

    /* A record holds one time and three v: 8 bytes, and 6 that are padded to 8. */
    CHECK_EQ(nczchunk_classic_varsize(1, time, 8, &sizes[0], NULL, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(nczchunk_classic_varsize(2, v, 2, &sizes[1], NULL, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(nczchunk_classic_recsize(2, sizes, &recsize, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(recsize, 16);

    /* The last value of v in record 6 lies six records and two values after its first. */
    CHECK_EQ(nczchunk_classic_offset(2, v, 2, 148, recsize, index, &offset, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(offset, 148 + 6 * 16 + 2 * 2);

    /* If v were the only record variable its records would follow one another without padding. */
    CHECK_EQ(nczchunk_classic_recsize(1, &sizes[1], &recsize, NULL), NCZCHUNK_NOERR);
    CHECK_EQ(recsize, 6);
}

static void large_classic_files(void)
{
    /* double h(700000000) begins at byte 152 and ends beyond the reach of 32 bits. */
    const size_t h[1] = {700000000};
    const size_t last[1] = {699999999};
    const size_t too_large[3] = {(size_t)1 << 31, (size_t)1 << 31, 8};
    uint64_t size = 7, offset;

    CHECK_EQ(nczchunk_classic_offset(1, h, 8, 152, 0, last, &offset, NULL), NCZCHUNK_NOERR);
    CHECK(offset == UINT64_C(5600000144));

    /* No file holds 2^68 bytes. */
    CHECK_EQ(nczchunk_classic_varsize(3, too_large, 8, &size, NULL, NULL), NCZCHUNK_EVARSIZE);
    CHECK_EQ(size, 7);
}

int main(void)
{
    the_name_of_a_chunk();
    a_name_in_a_cfdb_file();
    room_for_a_name();
    default_chunks_of_netcdf();
    default_chunks_of_h5py();
    default_chunks_of_rechunkit();
    values_in_a_classic_file();
    records_in_a_classic_file();
    large_classic_files();
    return 0;
}
