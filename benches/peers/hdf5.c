/* What HDF5 takes: a chunked dataset of a file in memory, with a chunk cache that has room for all of it. */
#include <hdf5.h>

#include "peer.h"

static hid_t file = -1, dataset = -1, file_space = -1, type = -1;
static char *dense; /* what is to be transposed */
static size_t dense_bytes;

static void versions(void)
{
    unsigned major, minor, patch;

    H5get_libversion(&major, &minor, &patch);
    printf("\"hdf5\": \"%u.%u.%u\"", major, minor, patch);
}

static void unload(void)
{
    if (dataset >= 0) {
        H5Sclose(file_space);
        H5Dclose(dataset);
    }
    if (file >= 0)
        H5Fclose(file);
    dataset = file = -1;
    free(dense);
    dense = NULL;
    dense_bytes = 0;
}

static const char *load(const peer_array *array)
{
    hsize_t dimlens[PEER_MAX_RANK], chunklens[PEER_MAX_RANK];
    size_t chunks = 1;
    float fill_value = -999;
    hid_t file_access, creation, access, stored;

    if (strcmp(array->codec, "none") != 0)
        return "Debian's HDF5 has no zstd filter";
    for (size_t d = 0; d < array->rank; d++) {
        dimlens[d] = array->dimlens[d];
        chunklens[d] = array->chunklens[d];
        chunks *= array->dimlens[d] / array->chunklens[d];
    }
    file_access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(file_access, 64 << 20, 0);
    file = H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, file_access);
    H5Pclose(file_access);
    peer_check(file >= 0, "H5Fcreate");

    if (strcmp(array->type, "float32") == 0) {
        type = H5T_NATIVE_FLOAT;
        stored = H5T_IEEE_F32LE;
    } else if (strcmp(array->type, "float64") == 0) {
        type = H5T_NATIVE_DOUBLE;
        stored = H5T_IEEE_F64LE;
    } else {
        type = H5T_NATIVE_INT16;
        stored = H5T_STD_I16BE;
    }
    creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, (int)array->rank, chunklens);
    H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &fill_value);
    access = H5Pcreate(H5P_DATASET_ACCESS);
    /* A chunk's slot is its number modulo that of slots: with one each there are no collisions. */
    H5Pset_chunk_cache(access, chunks + 1, (size_t)2 << 30, 0);
    file_space = H5Screate_simple((int)array->rank, dimlens, NULL);
    dataset = H5Dcreate2(file, "x", stored, file_space, H5P_DEFAULT, creation, access);
    H5Pclose(access);
    H5Pclose(creation);
    peer_check(dataset >= 0, "H5Dcreate2");
    return NULL;
}

/* The hyperslab in the file's dataspace; returns the dataspace of as much memory. */
static hid_t select_box(const peer_box *box)
{
    hsize_t start[PEER_MAX_RANK], count[PEER_MAX_RANK], stride[PEER_MAX_RANK];

    for (size_t d = 0; d < box->rank; d++) {
        start[d] = box->start[d];
        count[d] = box->count[d];
        stride[d] = box->stride[d];
    }
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, stride, count, NULL);
    return H5Screate_simple((int)box->rank, count, NULL);
}

static void read_dense(const peer_box *box, void *memory)
{
    hid_t space = select_box(box);

    peer_check(H5Dread(dataset, type, space, file_space, H5P_DEFAULT, memory) >= 0, "H5Dread");
    H5Sclose(space);
}

/* Rows become columns, in blocks of as many lines as the cache can hold. */
static inline void transpose(size_t rows, size_t columns, const char *from, char *to, size_t size)
{
    enum { BLOCK = 16 };

    for (size_t row = 0; row < rows; row += BLOCK)
        for (size_t column = 0; column < columns; column += BLOCK)
            for (size_t j = column; j < column + BLOCK && j < columns; j++)
                for (size_t i = row; i < row + BLOCK && i < rows; i++)
                    memcpy(to + (j * rows + i) * size, from + (i * columns + j) * size, size);
}

/* HDF5 reads row-major memory; what is to be transposed is read and then transposed. */
static void read_box(const peer_box *box, void *memory)
{
    size_t size = H5Tget_size(type), bytes = peer_product(box->rank, box->count) * size;

    if (!box->transposed) {
        read_dense(box, memory);
        return;
    }
    peer_check(box->rank == 2, "only planes are transposed");
    if (dense_bytes != bytes) {
        free(dense);
        dense = peer_memory(bytes);
        dense_bytes = bytes;
    }
    read_dense(box, dense);
    /* Each size gets a loop of its own. */
    if (size == 2)
        transpose(box->count[0], box->count[1], dense, memory, 2);
    else if (size == 4)
        transpose(box->count[0], box->count[1], dense, memory, 4);
    else
        transpose(box->count[0], box->count[1], dense, memory, 8);
}

static void write_box(const peer_box *box, const void *memory)
{
    hid_t space = select_box(box);

    peer_check(H5Dwrite(dataset, type, space, file_space, H5P_DEFAULT, memory) >= 0, "H5Dwrite");
    H5Sclose(space);
}

static void read_element(const size_t *position, void *memory)
{
    peer_box box = {.rank = (size_t)H5Sget_simple_extent_ndims(file_space)};

    for (size_t d = 0; d < box.rank; d++) {
        box.start[d] = position[d];
        box.count[d] = box.stride[d] = 1;
    }
    read_box(&box, memory);
}

int main(void)
{
    const peer hdf5 = {versions, load, unload, read_box, write_box, read_element};
    peer_serve(&hdf5);
    return 0;
}
