/*
 * nczchunk: arrays that are opened by name.
 *
 * With nczchunk.h you describe how an array is divided into chunks, and provide functions that fetch them. With this
 * header you name the path of an array; its metadata describe the rest.
 *
 *     nczchunk_array_open("sst.zarr", NULL, NCZCHUNK_READ, &array, NULL);
 *
 *     size_t start[3] = {0, 10, 0}, count[3] = {1, 20, 60};
 *     ptrdiff_t stride[3] = {1, 1, 3};                                     every third column
 *     nczchunk_array_read(array, start, count, stride, data, NULL);        20 * 60 elements, in native byte order
 *
 *     nczchunk_array_close(array);
 *
 * examples/open_array.c is this example as a whole program. An array is a variable and a chunk store of nczchunk.h:
 * nczchunk_array_var and nczchunk_array_store return them. So plans, threads, progress and other layouts of memory
 * work for arrays, too. The rules for all functions in that header also apply to these functions.
 *
 * Paths are in the system's encoding: any encoding on Unix, UTF-8 on Windows. Names are in UTF-8.
 *
 * This file is generated from the library's source. If a function does not appear in it, it is not part of the
 * interface.
 */
#ifndef NCZCHUNK_ARRAY_H
#define NCZCHUNK_ARRAY_H

#include "nczchunk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------------------
 * OBJECTS
 *
 * Opaque types, in addition to those of nczchunk.h.
 */

/**
 * An open array. Any number of threads may read it at the same time if its storage allows that; every built-in storage
 * does.
 */
typedef struct nczchunk_array nczchunk_array;

/**
 * A storage: a map from object names to bytes. Built-in storages are the files of a directory, the entries of a zip
 * file, and memory. Your own storage consists of callbacks.
 */
typedef struct nczchunk_storage nczchunk_storage;

/* ---------------------------------------------------------------------------------------------------------------------
 * TYPES
 *
 * The types that elements and attributes may have, by netCDF's numbers: NCZCHUNK_FLOAT is NC_FLOAT. Types that netCDF
 * does not have are named as in numpy: "bool", "float16", "complex64", "complex128", "datetime64[ns]",
 * "timedelta64[s]", "S5" (a string of 5 bytes), "U5" (a string of 5 characters of 4 bytes), "V8" (8 bytes). The small
 * numbers of Zarr's extensions also have names, and each takes one or two whole bytes: "bfloat16", "float8_e4m3" and
 * its variants, "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int2", "int4", "uint2", "uint4".
 */

/**
 * A signed integer of 1 byte: "int8".
 */
#define NCZCHUNK_BYTE 1

/**
 * A byte that is a character: "char".
 */
#define NCZCHUNK_CHAR 2

/**
 * A signed integer of 2 bytes: "int16".
 */
#define NCZCHUNK_SHORT 3

/**
 * A signed integer of 4 bytes: "int32".
 */
#define NCZCHUNK_INT 4

/**
 * A floating-point number of 4 bytes: "float32".
 */
#define NCZCHUNK_FLOAT 5

/**
 * A floating-point number of 8 bytes: "float64".
 */
#define NCZCHUNK_DOUBLE 6

/**
 * An unsigned integer of 1 byte: "uint8".
 */
#define NCZCHUNK_UBYTE 7

/**
 * An unsigned integer of 2 bytes: "uint16".
 */
#define NCZCHUNK_USHORT 8

/**
 * An unsigned integer of 4 bytes: "uint32".
 */
#define NCZCHUNK_UINT 9

/**
 * A signed integer of 8 bytes: "int64".
 */
#define NCZCHUNK_INT64 10

/**
 * An unsigned integer of 8 bytes: "uint64".
 */
#define NCZCHUNK_UINT64 11

/**
 * A variable-length string: "string".
 */
#define NCZCHUNK_STRING 12

/* ---------------------------------------------------------------------------------------------------------------------
 * OPENING AND READING AN ARRAY
 *
 * Open an array by its path, and read hyperslabs of it:
 *
 *     nczchunk_array *array = NULL;
 *     size_t start[3] = {0, 0, 0}, count[3] = {1, 90, 180};
 *     float map[90][180];
 *     int status = nczchunk_array_open("sst.zarr", NULL, NCZCHUNK_READ, &array, NULL);
 *     if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, start, count, NULL, map, NULL);
 *     nczchunk_array_close(array);
 *
 * The library opens arrays of Zarr v2 and v3 (with or without shards) and of NCZarr, in a directory or in a zip file.
 * It opens variables of netCDF, HDF5 and cfdb files for reading only. It refuses an array with an unsupported feature,
 * and the message in the context names that feature.
 */

/**
 * Opens an array. path is a directory or a zip file. name is the array's path below it, such as "ocean/sst", and is
 * NULL or empty if path is the array itself. path may also be a file that holds arrays; then name is the array's name
 * in that file. mode is NCZCHUNK_READ, or NCZCHUNK_WRITE to read and write. Close the array with nczchunk_array_close.
 *
 * If all entries of a zip file are in one directory, such as "data", that directory may be left out of a name:
 * "data/ocean/sst" and "ocean/sst" are the same array.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument, an unknown mode), NCZCHUNK_ENOTFOUND (no such path or array),
 * NCZCHUNK_ENOTVAR (the name is that of a group), NCZCHUNK_ENOTNC (path is something else), NCZCHUNK_ENCZARR
 * (malformed metadata), NCZCHUNK_ENOTBUILT (the metadata require an unsupported feature), NCZCHUNK_ENOFILTER (an
 * unknown codec), NCZCHUNK_EBADTYPE (an unsupported element type), NCZCHUNK_EPERM (NCZCHUNK_WRITE for a file),
 * NCZCHUNK_ENOMEM, and the system's errno values, which are positive.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_open(const char *path,
                        const char *name,
                        int mode,
                        nczchunk_array **array,
                        nczchunk_context *context);

/**
 * Opens an array in a storage whose metadata you have already, from consolidated metadata or a catalogue: document is
 * the text of its zarr.json or .zarray. Only chunks are read from the storage, and no metadata need be stored there.
 * The .zarray of Zarr v2 has no attributes, so the array has none. nczchunk_array_resize, nczchunk_array_refresh and
 * the functions that change attributes use the metadata that are stored.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; an unknown mode; a name that arrays cannot have), NCZCHUNK_ENOTVAR
 * (document is a group's), NCZCHUNK_ENCZARR (malformed metadata), NCZCHUNK_ENOTBUILT (the metadata require an
 * unsupported feature), NCZCHUNK_ENOFILTER (an unknown codec), NCZCHUNK_EBADTYPE (an unsupported element type),
 * NCZCHUNK_EPERM (NCZCHUNK_WRITE in a read-only storage; a storage of one file), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_open_document(const nczchunk_storage *storage,
                                 const char *name,
                                 const char *document,
                                 int mode,
                                 nczchunk_array **array,
                                 nczchunk_context *context);

/**
 * Opens an array in a storage: see nczchunk_array_open. The array can still use the storage after
 * nczchunk_storage_free.
 *
 * Errors: those of nczchunk_array_open, and the status that a callback of the storage returned.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_open_in(const nczchunk_storage *storage,
                           const char *name,
                           int mode,
                           nczchunk_array **array,
                           nczchunk_context *context);

/**
 * Closes an array. Frees the array and everything that belongs to it, such as its variable, its store and its strings.
 * NULL is allowed. All written data are in the storage before this call.
 */
NCZCHUNK_API void nczchunk_array_close(nczchunk_array *array);

/**
 * Reads a hyperslab of an array: nczchunk_read_vars with the array's variable and store.
 *
 * An array of variable-length strings has the type name "string". Its elements are char *. Each element that is read
 * is a new UTF-8 string; free it with nczchunk_strings_free, nc_free_string or free. If the call fails, data is
 * untouched and there is nothing to free. (After a failure of nczchunk_read_vars, or of a plan with the array's
 * variable and store, the caller owns the strings that were read. So set all of data to NULL before such a call.) A
 * chunk that does not hold such strings gives NCZCHUNK_EIO; a string that contains a NUL gives NCZCHUNK_ENOTBUILT.
 * Chunks of strings are not cached, and one thread reads them.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_read(const nczchunk_array *array,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        void *data,
                        nczchunk_context *context);

/**
 * Reads a hyperslab of an array of variable-length strings into one block of memory, instead of one block for each
 * string. The block has nbytes bytes of UTF-8: the strings in row-major order, each followed by a NUL. After success
 * the caller owns the block; free it with nczchunk_strings_free, as one string, or with free.
 *
 * ```c
 * size_t start = 0, nbytes;
 * char *block;
 * if (!nczchunk_array_read_strings(array, &start, NULL, NULL, &block, &nbytes, NULL)) {
 *     for (char *string = block; string < block + nbytes; string += strlen(string) + 1) puts(string);
 *     nczchunk_strings_free(1, &block);
 * }
 * ```
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EBADTYPE (the elements are not variable-length strings), and
 * those of nczchunk_array_read.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_read_strings(const nczchunk_array *array,
                                const size_t *start,
                                const size_t *count,
                                const ptrdiff_t *stride,
                                char **block,
                                size_t *nbytes,
                                nczchunk_context *context);

/**
 * Frees strings that were read, and sets their pointers to NULL. Pointers that are NULL are skipped.
 */
NCZCHUNK_API void nczchunk_strings_free(size_t num_strings, char **strings);

/**
 * Writes a hyperslab of an array that was opened with NCZCHUNK_WRITE: nczchunk_write_vars with the array's variable
 * and store. Variable-length strings are written from char * in UTF-8, where NULL stands for an empty string. The
 * caller keeps them. Shards of such strings cannot be written: NCZCHUNK_ENOTBUILT.
 *
 * Several threads and processes may write at the same time, each to its own chunks, or to its own shards if the array
 * has shards. Every chunk or shard is replaced atomically: a reader finds the old one or the new one. If several write
 * the same whole chunk or shard, the last one wins. If two change parts of the same chunk or shard, one may undo the
 * change of the other. A reader that keeps chunks in a cache does not see what other processes write to these chunks.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_write(const nczchunk_array *array,
                         const size_t *start,
                         const size_t *count,
                         const ptrdiff_t *stride,
                         const void *data,
                         nczchunk_context *context);

/**
 * Returns the variable of an array: its rank, lengths, chunks and fill value. Plans are made for it. It belongs to the
 * array, and is valid until the array is closed or resized. Returns NULL for NULL.
 */
NCZCHUNK_API const nczchunk_var *nczchunk_array_var(const nczchunk_array *array);

/**
 * Returns the store of an array, for the functions that take one. It belongs to the array, and is valid until the
 * array is closed. It is read-only if the array was opened with NCZCHUNK_READ. Returns NULL for NULL.
 */
NCZCHUNK_API const nczchunk_chunk_store *nczchunk_array_store(const nczchunk_array *array);

/**
 * Returns netCDF's number for the type of an array's elements, such as 5 for NC_FLOAT. Returns 0 for a type that
 * netCDF does not have, and for NULL. nczchunk_array_type_name names those types, too. It also distinguishes the two
 * kinds of NC_STRING (12): "string" for variable-length strings, whose elements are char *, and for example "S5" for
 * strings of 5 bytes, whose elements are these bytes.
 */
NCZCHUNK_API int nczchunk_array_type(const nczchunk_array *array);

/**
 * Returns numpy's name for the type of an array's elements, such as "float32", "datetime64[ns]" or "S5". The string
 * belongs to the array; it is empty for NULL.
 */
NCZCHUNK_API const char *nczchunk_array_type_name(const nczchunk_array *array);

/**
 * Returns the storage format of an array: "Zarr v2", "Zarr v3", "NCZarr", "netCDF classic", "cfdb", or "HDF5" (the
 * format of netCDF-4 files). The string belongs to the array; it is empty for NULL.
 */
NCZCHUNK_API const char *nczchunk_array_format(const nczchunk_array *array);

/**
 * Calls found for each codec of an array's chunks, in the order of encoding: with its name, such as "zstd", and its
 * configuration as a JSON object in a string, such as "{\"level\":3}". The configuration is empty if the format does
 * not record it. Codecs for whole shards are left out. The strings are valid until the callback returns. If found
 * returns anything but 0, the call ends with that status.
 *
 * Errors: NCZCHUNK_EINVAL (array or found is NULL), the status that found returned, NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_codecs(const nczchunk_array *array,
                          int (*found)(void *user, const char *name, const char *configuration),
                          void *user,
                          nczchunk_context *context);

/**
 * Returns the name of dimension d of an array. It is empty if the dimension has no name, if there is no such
 * dimension, and for NULL. The string belongs to the array.
 */
NCZCHUNK_API const char *nczchunk_array_dimname(const nczchunk_array *array, size_t d);

/**
 * Keeps an array's decoded chunks in a cache of yours instead of its own. Its own cache keeps 64 MiB or one chunk,
 * whichever is more; it keeps a chunk from its second use on, and those that are used after it at once, while yours
 * keeps chunks at their first use. Of a chunk in a storage with requests in flight the array's own cache keeps what
 * is stored at the first use, so that it is requested once. NULL for cache disables caching of chunks. See
 * nczchunk_chunk_store_set_cache. The most recently used shard indices are kept in addition: up to 4 MiB, and at
 * least one.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_cache(nczchunk_array *array,
                             const nczchunk_cache *cache,
                             nczchunk_context *context);

/**
 * Sets whether every chunk is decoded completely: see nczchunk_chunk_store_set_verify.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_verify(nczchunk_array *array,
                              int verify,
                              nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * LISTS OF INDICES AND POINTS OF AN ARRAY
 *
 * nczchunk_read_points, nczchunk_read_lists and the functions that write, with the array's variable and store. Arrays
 * of variable-length strings are read and written as by nczchunk_array_read and nczchunk_array_write.
 */

/**
 * Reads single elements of an array: see nczchunk_read_points, which has the same errors.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_read_points(const nczchunk_array *array,
                               size_t num_points,
                               const size_t *points,
                               void *data,
                               nczchunk_context *context);

/**
 * Writes single elements of an array that was opened with NCZCHUNK_WRITE: see nczchunk_write_points, which has the
 * same errors.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_write_points(const nczchunk_array *array,
                                size_t num_points,
                                const size_t *points,
                                const void *data,
                                nczchunk_context *context);

/**
 * Reads a hyperslab of an array that has a list of indices along some dimensions: see nczchunk_read_lists, which has
 * the same errors.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_read_lists(const nczchunk_array *array,
                              const size_t *start,
                              const size_t *count,
                              const ptrdiff_t *stride,
                              const size_t *const *lists,
                              void *data,
                              nczchunk_context *context);

/**
 * Writes a hyperslab of an array that was opened with NCZCHUNK_WRITE, and that has a list of indices along some
 * dimensions: see nczchunk_write_lists, which has the same errors.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_write_lists(const nczchunk_array *array,
                               const size_t *start,
                               const size_t *count,
                               const ptrdiff_t *stride,
                               const size_t *const *lists,
                               const void *data,
                               nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * ATTRIBUTES OF AN ARRAY
 *
 * Read the attributes of an array, one by one or all as JSON.
 */

/**
 * An attribute. Set struct_size before a call fills it in. The pointers belong to the array, and are valid until the
 * attributes are changed or the array is closed, resized or refreshed.
 */
typedef struct nczchunk_attribute {
    /**
     * sizeof(nczchunk_attribute).
     */
    size_t struct_size;
    /**
     * The attribute's name.
     */
    const char *name;
    /**
     * netCDF's number for the type of the values: 2 (NC_CHAR) for one string, 12 (NC_STRING) for several.
     */
    size_t type;
    /**
     * The number of values; of one string, the number of bytes.
     */
    size_t num_values;
    /**
     * The values, in native byte order and aligned for their type. A string is UTF-8, unless an old netCDF file has
     * another encoding. It is followed by a NUL, which num_values does not count. Several strings are pointers to such
     * strings: const char *const *.
     */
    const void *values;
} nczchunk_attribute;

/**
 * Returns the number of an array's attributes, without those that the formats reserve. Returns 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_array_num_attributes(const nczchunk_array *array);

/**
 * Checks whether an array's attributes can be read. An array whose attributes alone are broken can be opened, and then
 * has no attributes. Its stored attributes stay as they are, because none can be set.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL), NCZCHUNK_ENCZARR (their document is malformed), NCZCHUNK_ENOMEM (they take
 * more memory than the storage's limit).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_check_attributes(const nczchunk_array *array,
                                    nczchunk_context *context);

/**
 * Returns the attribute of this name.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_ENOTATT (no attribute of that name), and
 * those of nczchunk_array_check_attributes.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_attribute(const nczchunk_array *array,
                             const char *name,
                             nczchunk_attribute *attribute,
                             nczchunk_context *context);

/**
 * Returns the i-th attribute, in the order in which they are stored.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (i is not below the number
 * of attributes).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_attribute_at(const nczchunk_array *array,
                                size_t i,
                                nczchunk_attribute *attribute,
                                nczchunk_context *context);

/**
 * Returns all attributes as a JSON object in a string: unchanged, if they are stored in that form. The string belongs
 * to the array; it is "{}" for NULL.
 */
NCZCHUNK_API const char *nczchunk_array_attributes_json(const nczchunk_array *array);

/**
 * Calls found for each thing that is stored with an array and that the library does not show: a copy of the array does
 * not have it. name is that of an attribute that is missing, or of which a part is missing. It is empty for a part of
 * the type of the elements. reason says in words what is missing. HDF5 files may have attributes whose types netCDF
 * lacks, such as structures and references. The types of their arrays may say more than the elements show: the names
 * of an enumeration's values, the members of a structure, the tag of an opaque type, the shape of an array type. For
 * other formats found is not called. A name of more than 160 bytes is cut off. The strings are valid until the
 * callback returns. If found returns anything but 0, the call ends with that status. Any number of threads may make
 * this call for one array at the same time.
 *
 * Attributes that cannot be read are not among these: see nczchunk_array_check_attributes.
 *
 * Errors: NCZCHUNK_EINVAL (array or found is NULL), the status that found returned, NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_left_out(const nczchunk_array *array,
                            int (*found)(void *user, const char *name, const char *reason),
                            void *user,
                            nczchunk_context *context);

/** Initialises a nczchunk_attribute that uses nothing yet. */
#define NCZCHUNK_ATTRIBUTE_INIT \
    {sizeof(nczchunk_attribute), NULL, 0, 0, NULL}

/* ---------------------------------------------------------------------------------------------------------------------
 * CREATING AN ARRAY
 *
 * Fill in a description and create an array from it. Every field that you leave out has a default:
 *
 *     const size_t shape[3] = {365, 90, 180};
 *     const char *const names[3] = {"time", "lat", "lon"};
 *     nczchunk_description sst = NCZCHUNK_DESCRIPTION_INIT;
 *     nczchunk_array *array = NULL;
 *
 *     sst.type = NCZCHUNK_FLOAT;
 *     sst.rank = 3;
 *     sst.shape = shape;
 *     sst.dimension_names = names;
 *     int status = nczchunk_array_create("ocean.zarr", "sst", &sst, &array, NULL);
 *     if (status == NCZCHUNK_NOERR) status = nczchunk_array_write(array, start, count, NULL, data, NULL);
 *     nczchunk_array_close(array);
 *
 * This example creates a Zarr v3 array with the fill value 0, in chunks of about 16 MiB that are compressed with zstd.
 */

/**
 * The format Zarr v3.
 */
#define NCZCHUNK_ZARR_V3 3

/**
 * The format Zarr v2.
 */
#define NCZCHUNK_ZARR_V2 2

/**
 * The format Zarr v2 with the metadata that netCDF-C reads with #mode=zarr. The array must be in a group, so it needs
 * a name. All its dimensions need names, and a name stands for one length within a group. An array that netCDF-C would
 * refuse or misread is refused. netCDF-C shows characters as strings of one character, and a scalar with a dimension
 * of length 1.
 */
#define NCZCHUNK_NCZARR 1

/**
 * A codec of an array to create. The structure will not change.
 */
typedef struct nczchunk_codec_setting {
    /**
     * The codec's name, such as "zstd": see nczchunk_has_codec.
     */
    const char *name;
    /**
     * The codec's configuration. Either a JSON object as a string, such as "{\"level\": 3}", with the settings' names
     * in numcodecs; or a number alone, such as "3", which sets the codec's first numeric setting. Unknown settings and
     * values out of range are refused. NULL for the defaults.
     */
    const char *configuration;
} nczchunk_codec_setting;

/**
 * An array to create. Set struct_size, the element type, rank and shape. A field that is 0 or NULL has its default.
 * The pointers need to be valid only during the call.
 */
typedef struct nczchunk_description {
    /**
     * sizeof(nczchunk_description).
     */
    size_t struct_size;
    /**
     * The element type by netCDF's number: NCZCHUNK_FLOAT and so on. 0 to use type_name.
     */
    size_t type;
    /**
     * The element type by name: "float32", "datetime64[ns]".
     */
    const char *type_name;
    /**
     * The number of dimensions; 0 for a scalar.
     */
    size_t rank;
    /**
     * The lengths of the dimensions.
     */
    const size_t *shape;
    /**
     * The lengths of a chunk, the unit of encoding. NULL for netCDF-C's choice: about 16 MiB.
     */
    const size_t *chunk_shape;
    /**
     * The lengths of a shard, an object that holds several chunks, for Zarr v3: multiples of chunk_shape. NULL to
     * store each chunk as an object of its own.
     */
    const size_t *shard_shape;
    /**
     * The names of the dimensions. A name may be NULL or empty for a dimension without a name. Zarr v2 stores all
     * names or none: if a dimension has no name, none has one. NULL if no dimension has a name.
     */
    const char *const *dimension_names;
    /**
     * The fill value: what reads return where nothing was written. One element in native byte order; for
     * NCZCHUNK_STRING a const char *. NULL for zeros, or for an empty string.
     */
    const void *fill_value;
    /**
     * The codecs, in the order of encoding. NULL for zstd, if it is built in; with num_codecs 0, a pointer that is not
     * NULL stands for no codecs, as uncompressed does.
     */
    const nczchunk_codec_setting *codecs;
    /**
     * The number of codecs.
     */
    size_t num_codecs;
    /**
     * 1 to store chunks uncompressed, without codecs.
     */
    size_t uncompressed;
    /**
     * Attributes, as a JSON object in a string. NULL for none.
     */
    const char *attributes_json;
    /**
     * More attributes, which are set after those of attributes_json. NULL for none.
     */
    const nczchunk_attribute *attributes;
    /**
     * The number of entries in attributes.
     */
    size_t num_attributes;
    /**
     * NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR. 0 for Zarr v3.
     */
    size_t format;
    /**
     * The chunk key separator: '.' or '/'. 0 for '/' in Zarr v3, else '.'.
     */
    size_t separator;
    /**
     * The byte order of the stored data: NCZCHUNK_ENDIAN_LITTLE or NCZCHUNK_ENDIAN_BIG. 0 for this machine's byte
     * order; with NCZCHUNK_NCZARR, 0 is little-endian, which netCDF-C reads.
     */
    size_t endian;
    /**
     * 1 to replace an existing array or group. Its metadata documents, its chunks and the arrays and groups below it
     * are removed; symbolic links are removed as links. If anything else is there, the call fails with NCZCHUNK_EEXIST
     * and removes nothing. With 0, the call fails if an array or group exists.
     */
    size_t overwrite;
    /**
     * For Zarr v3 without shards, the lengths of the chunks where they differ: for each dimension a list with as many
     * entries as num_chunks has for it. A list may be NULL for chunks of one length, that of chunk_shape. NULL if no
     * dimension has a list.
     */
    const size_t *const *chunk_lengths;
    /**
     * For each dimension the number of entries in its list of chunk_lengths.
     */
    const size_t *num_chunks;
} nczchunk_description;

/**
 * Creates an array and opens it with NCZCHUNK_WRITE. path is a directory, which is created if it does not exist. name
 * is the path of the new array below it, such as "ocean/sst", and is NULL or empty if path is to be the array itself.
 * Missing groups on the way are created. Close the array with nczchunk_array_close.
 *
 * Consolidated metadata of the groups above (.zmetadata, or in their zarr.json) are removed, because they do not list
 * the new array. Consolidated metadata of a group above path are not looked for. Nothing is written before all checks
 * have passed. Others can open the array once all its metadata are written.
 *
 * Errors: NCZCHUNK_EEXIST (something exists there, or name is below an array), NCZCHUNK_EINVAL (a NULL argument; an
 * inconsistent description; a name that arrays cannot have, such as ".zgroup" or, in Zarr v3, "__x"),
 * NCZCHUNK_EBADTYPE (a type that arrays cannot have), NCZCHUNK_ENOFILTER (an unknown codec), NCZCHUNK_ENCZARR
 * (malformed JSON), NCZCHUNK_ENOTBUILT (the format does not support the description), NCZCHUNK_EMAXDIMS,
 * NCZCHUNK_EDIMSIZE, NCZCHUNK_EPERM (path is a zip file), NCZCHUNK_ENOMEM, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_create(const char *path,
                          const char *name,
                          const nczchunk_description *description,
                          nczchunk_array **array,
                          nczchunk_context *context);

/**
 * Creates an array in a storage: see nczchunk_array_create.
 *
 * Errors: those of nczchunk_array_create, and the status that a callback of the storage returned.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_create_in(const nczchunk_storage *storage,
                             const char *name,
                             const nczchunk_description *description,
                             nczchunk_array **array,
                             nczchunk_context *context);

/**
 * Changes the shape of an array that was opened with NCZCHUNK_WRITE. shape has a length for each dimension. The
 * array's variable changes too; do not use plans that were made with it any more, nor strings that the array's
 * functions returned.
 *
 * Chunks (or shards) outside the new shape are removed. Where the new shape cuts through a chunk or shard, the part
 * that is cut off becomes fill values. So reads return fill values there if the array grows again. (Data that another
 * program left in a chunk beyond the end of a dimension, as zarr-python does when it makes an array smaller, are not
 * looked for.) Consolidated metadata are removed: see nczchunk_array_create. Others that have the array open keep the
 * old shape until they call nczchunk_array_refresh, which this call includes. If one of them has changed the shape, it
 * starts from that shape. A failure leaves the shape as it was, and may leave fill values in the part to be cut off.
 *
 * netCDF-C opens a group of NCZarr only if all its arrays have one length for a dimension of the same name: resize
 * them all.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; the array was replaced by one with other chunks or another type),
 * NCZCHUNK_EPERM (the array was opened read-only), NCZCHUNK_EDIMSIZE, NCZCHUNK_ENOTBUILT (dimensions whose lengths
 * netCDF-C keeps in their group; a smaller shape in a storage that cannot list its objects), NCZCHUNK_ENOMEM, those of
 * opening, reading and writing, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_resize(nczchunk_array *array,
                          const size_t *shape,
                          nczchunk_context *context);

/**
 * Reads the metadata of an array again and drops its cached chunks and shard indices. The next read returns what is
 * stored now: the data, the shape and the attributes that other handles and processes have written. Without this call,
 * a cached chunk is returned as it was when it was cached, and the shape stays as it was. docs/sharing.md has the
 * rules.
 *
 * As with nczchunk_array_resize, nobody else may use the array during the call. Afterwards, do not use plans that were
 * made for its variable, nor strings that the array's functions returned. The array's variable and store keep their
 * addresses. Of a file that was opened by its path, and has been replaced, the new one is opened, unless the file is
 * one of several that are joined.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL; the array was replaced by one with other chunks or another type), and those
 * of nczchunk_array_open. After an error the array is as it was.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_array_refresh(nczchunk_array *array, nczchunk_context *context);

/**
 * Sets or adds an attribute of an array that was opened with NCZCHUNK_WRITE, immediately. type is netCDF's number for
 * the type of the values:
 *
 * - NCZCHUNK_CHAR: a string of num_values bytes in UTF-8,
 * - NCZCHUNK_STRING: num_values strings, const char *const *,
 * - any other: num_values numbers in native byte order.
 *
 * The metadata do not store the types of numbers. After the array is opened again, an NCZCHUNK_SHORT is an
 * NCZCHUNK_INT and a float is an NCZCHUNK_DOUBLE, unless the array was created with the format NCZCHUNK_NCZARR or by
 * netCDF-C. Consolidated metadata are removed: see nczchunk_array_create. Pointers to the array's attributes that were
 * returned before are no longer valid.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have, such as those that the formats
 * reserve), NCZCHUNK_EBADTYPE (another type), NCZCHUNK_EPERM (the array was opened read-only), NCZCHUNK_ENOMEM, and
 * those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_attribute(nczchunk_array *array,
                                 const char *name,
                                 int type,
                                 size_t num_values,
                                 const void *values,
                                 nczchunk_context *context);

/**
 * Sets or adds several attributes of an array that was opened with NCZCHUNK_WRITE, immediately: each member of a JSON
 * object, as it is. Members may be nested. nczchunk_array_attributes_json returns them unchanged. Other attributes
 * stay as they are. See nczchunk_array_set_attribute.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have), NCZCHUNK_ENCZARR (the string is not a
 * JSON object), NCZCHUNK_EPERM (the array was opened read-only), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_attributes_json(nczchunk_array *array,
                                       const char *attributes_json,
                                       nczchunk_context *context);

/**
 * Removes an attribute of an array that was opened with NCZCHUNK_WRITE, immediately: see nczchunk_array_set_attribute.
 *
 * Errors: NCZCHUNK_ENOTATT (no attribute of that name), NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EPERM (the array
 * was opened read-only), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_remove_attribute(nczchunk_array *array,
                                    const char *name,
                                    nczchunk_context *context);

/** Initialises a nczchunk_description that uses nothing yet. */
#define NCZCHUNK_DESCRIPTION_INIT \
    {sizeof(nczchunk_description), 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, \
     0, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL}

/* ---------------------------------------------------------------------------------------------------------------------
 * RECHUNKING AN ARRAY
 *
 * Make an array with other chunks of an array that you have opened, within a limit of memory:
 *
 *     const size_t series[3] = {365, 24, 24};
 *     nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
 *
 *     options.memory = 256 << 20;
 *     options.chunk_shape = series;
 *     int status = nczchunk_rechunk(maps, "series.zarr", NULL, &options, NULL, context);
 *
 * Set threads and a progress callback in the context. Progress counts as chunks the boxes in which the array is read
 * and written, and as bytes those that are read and those that are written.
 */

/**
 * How an array is rechunked. Set struct_size. A field that is 0 or NULL has its default. The pointers need to be valid
 * only during the call.
 */
typedef struct nczchunk_rechunk_options {
    /**
     * sizeof(nczchunk_rechunk_options).
     */
    size_t struct_size;
    /**
     * The most bytes of memory that the call takes, in addition to what the program has. Storages that keep in memory
     * what is written to them, and clients of networks, are not counted. 0 for 256 MiB.
     */
    size_t memory;
    /**
     * The lengths of a chunk of the new array, one for each dimension of the source. NULL for those of a Zarr array,
     * and for netCDF-C's choice of any other.
     */
    const size_t *chunk_shape;
    /**
     * The lengths of a shard, for Zarr v3: multiples of chunk_shape. NULL for no shards or, without chunk_shape, for
     * those of the source.
     */
    const size_t *shard_shape;
    /**
     * The codecs, in the order of encoding. NULL for those of a Zarr array, and for zstd of any other.
     */
    const nczchunk_codec_setting *codecs;
    /**
     * The number of codecs.
     */
    size_t num_codecs;
    /**
     * 1 to store chunks uncompressed, without codecs.
     */
    size_t uncompressed;
    /**
     * NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR. 0 for Zarr v3.
     */
    size_t format;
    /**
     * The byte order of the stored data: NCZCHUNK_ENDIAN_LITTLE or NCZCHUNK_ENDIAN_BIG. 0 for this machine's.
     */
    size_t endian;
    /**
     * A storage for the temporary array, such as a local disk. NULL for the storage of the new array.
     */
    const nczchunk_storage *temporary;
} nczchunk_rechunk_options;

/**
 * How an array is or was rechunked. Set struct_size; the library sets the other fields.
 */
typedef struct nczchunk_rechunk_report {
    /**
     * sizeof(nczchunk_rechunk_report).
     */
    size_t struct_size;
    /**
     * How often the elements are written: 1, or 2 with a temporary array; 0 for an array without elements.
     */
    size_t num_passes;
    /**
     * In how many boxes they are read and written, in all passes.
     */
    size_t num_boxes;
    /**
     * How many of these an earlier call had done.
     */
    size_t boxes_resumed;
    /**
     * How many chunks are read in all passes, each as often as it is.
     */
    size_t chunks_read;
    /**
     * The bytes of these chunks when they are decoded; SIZE_MAX for more.
     */
    size_t bytes_read;
    /**
     * The bytes that are written in all passes, before they are encoded; SIZE_MAX for more.
     */
    size_t bytes_written;
    /**
     * The most bytes of memory that it takes.
     */
    size_t memory;
    /**
     * The least memory that would do.
     */
    size_t least_memory;
} nczchunk_rechunk_report;

/**
 * Writes the elements of an array to a new array with other chunks, codecs or another format, within a limit of
 * memory. path and name are those of nczchunk_array_create. The new array has the source's shape, element type, fill
 * value, names of dimensions and attributes.
 *
 * The elements are read and written in boxes, so that each chunk of the new array is written once. If chunks of the
 * source would have to be read so often that it is better, two passes are made through a temporary array, which is
 * below the new one and is removed afterwards. It takes the disk space of all elements without codecs.
 *
 * The new array exists once it is complete. A call that was ended in the middle, by an error, the progress callback or
 * a kill, leaves what is done, and the same call continues there, as long as the source is unchanged. To give up,
 * remove the directory.
 *
 * report may be NULL. If the memory is too little, the call fails with NCZCHUNK_ENOMEM; then report and the message
 * of the context say how much is enough, and the other fields of report are 0.
 *
 * Errors: NCZCHUNK_ENOMEM, NCZCHUNK_EINVAL (a NULL argument; an inconsistent option; an unfinished rechunking of
 * another array is there; the new array would be within the source or around it), NCZCHUNK_EEXIST (an array or
 * something else is there; nothing is overwritten), NCZCHUNK_ENOTBUILT (variable-length strings; the format does not
 * support the options), EAGAIN (another process has completed the array meanwhile), the status of the progress
 * callback, and those of nczchunk_array_create, of reading and of writing.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_rechunk(const nczchunk_array *source,
                     const char *path,
                     const char *name,
                     const nczchunk_rechunk_options *options,
                     nczchunk_rechunk_report *report,
                     nczchunk_context *context);

/**
 * Rechunks an array to a storage: see nczchunk_rechunk. In a new zip file nothing is continued, and a temporary array
 * needs another storage.
 *
 * Errors: those of nczchunk_rechunk, and the status that a callback of the storage returned.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_rechunk_in(const nczchunk_array *source,
                        const nczchunk_storage *storage,
                        const char *name,
                        const nczchunk_rechunk_options *options,
                        nczchunk_rechunk_report *report,
                        nczchunk_context *context);

/**
 * Reports how nczchunk_rechunk would rechunk an array, with as many threads as the context has. Nothing is read or
 * written.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; an inconsistent option), NCZCHUNK_ENOMEM (as nczchunk_rechunk), and those
 * of nczchunk_array_create that are about the options.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_rechunk_plan(const nczchunk_array *source,
                          const nczchunk_rechunk_options *options,
                          nczchunk_rechunk_report *report,
                          nczchunk_context *context);

/** Initialises a nczchunk_rechunk_options that uses nothing yet. */
#define NCZCHUNK_RECHUNK_OPTIONS_INIT \
    {sizeof(nczchunk_rechunk_options), 0, NULL, NULL, NULL, 0, 0, 0, 0, NULL}

/** Initialises a nczchunk_rechunk_report that uses nothing yet. */
#define NCZCHUNK_RECHUNK_REPORT_INIT \
    {sizeof(nczchunk_rechunk_report), 0, 0, 0, 0, 0, 0, 0, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * GROUPS
 *
 * Groups hold arrays and other groups, and have attributes. nczchunk_array_create creates the groups that an array
 * needs; create a group yourself to give it attributes:
 *
 *     nczchunk_group_create("model.zarr", "ocean", 0, "{\"title\": \"Ocean\"}", NULL);
 *
 * A group is not opened. The functions below take the storage that it is in and its path in the storage, which is NULL
 * or empty for the storage itself. nczchunk_list_node tells the attributes of a group, nczchunk_list its members, and
 * nczchunk_group_dimensions the dimensions that it defines.
 */

/**
 * A dimension that a group defines. All pointers are valid until the callback returns.
 */
typedef struct nczchunk_dimension {
    /**
     * sizeof(nczchunk_dimension) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * Its name.
     */
    const char *name;
    /**
     * Its length in elements.
     */
    size_t len;
    /**
     * 1 if it is unlimited, else 0.
     */
    size_t is_unlimited;
} nczchunk_dimension;

/**
 * Creates a group. path is a directory, which is created if it does not exist. name is the path of the group below it,
 * such as "ocean/deep", and is NULL or empty if path is to be the group. Missing groups on the way are created.
 * format is NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR; 0 for the version of the group that it is in, or
 * Zarr v3 if there is none. attributes_json has the attributes as a JSON object in a string; NULL for none. Attributes
 * that formats keep for themselves are left out.
 *
 * Consolidated metadata of the groups above are removed: see nczchunk_array_create. Nothing is written before all
 * checks have passed.
 *
 * Errors: NCZCHUNK_EEXIST (an array or group exists there, or name is below an array), NCZCHUNK_EINVAL (path is NULL;
 * an unknown format; the group above is of another version of Zarr; a name that groups cannot have, such as ".zgroup"
 * or, in Zarr v3, "__x"), NCZCHUNK_ENCZARR (attributes_json is not a JSON object), NCZCHUNK_EPERM (path is a zip
 * file), NCZCHUNK_ENOMEM, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_create(const char *path,
                          const char *name,
                          size_t format,
                          const char *attributes_json,
                          nczchunk_context *context);

/**
 * Creates a group in a storage: see nczchunk_group_create.
 *
 * Errors: those of nczchunk_group_create, NCZCHUNK_EPERM (the storage is read-only), and the status that a callback of
 * the storage returned.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_create_in(const nczchunk_storage *storage,
                             const char *name,
                             size_t format,
                             const char *attributes_json,
                             nczchunk_context *context);

/**
 * Sets or adds an attribute of a group, immediately. type, num_values and values are as in
 * nczchunk_array_set_attribute. Consolidated metadata of the group and of those above are removed.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have, such as those that the formats
 * reserve), NCZCHUNK_EBADTYPE (another type), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_ENCZARR (malformed metadata
 * of the group), NCZCHUNK_EPERM (the storage is read-only), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_set_attribute(const nczchunk_storage *storage,
                                 const char *group,
                                 const char *name,
                                 int type,
                                 size_t num_values,
                                 const void *values,
                                 nczchunk_context *context);

/**
 * Sets or adds several attributes of a group, immediately: each member of a JSON object, as it is. Members may be
 * nested. Other attributes stay as they are. See nczchunk_group_set_attribute.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have), NCZCHUNK_ENCZARR (the string is not a
 * JSON object; malformed metadata of the group), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_EPERM (the storage is
 * read-only), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_set_attributes_json(const nczchunk_storage *storage,
                                       const char *group,
                                       const char *attributes_json,
                                       nczchunk_context *context);

/**
 * Removes an attribute of a group, immediately: see nczchunk_group_set_attribute.
 *
 * Errors: NCZCHUNK_ENOTATT (no attribute of that name), NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTFOUND (no such
 * group), NCZCHUNK_ENCZARR (malformed metadata of the group), NCZCHUNK_EPERM (the storage is read-only),
 * NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_remove_attribute(const nczchunk_storage *storage,
                                    const char *group,
                                    const char *name,
                                    nczchunk_context *context);

/**
 * Consolidates a group: copies the metadata of all arrays and groups in it into its own metadata, as zarr-python does.
 * A reader then finds all of them with one request. Consolidated metadata of the groups in it are not used, and stay
 * as they are. Calls of the library that change any of the metadata remove the copies; other programs may not. Of a
 * member that changes during this call the copy may be the one before.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_ENCZARR (metadata in the
 * group that are not JSON), NCZCHUNK_ENOTBUILT (the storage cannot list its objects), the errno value EAGAIN (the
 * document that is written was changed, made or removed meanwhile, where the storage can tell), NCZCHUNK_EPERM (the
 * storage is read-only), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_consolidate(const nczchunk_storage *storage,
                               const char *group,
                               nczchunk_context *context);

/**
 * Lists the dimensions that a group defines, in the order in which the format has them, whether an array has them or
 * not. Classic netCDF files, HDF5 files (netCDF-4) and groups of netCDF-C's NCZarr define dimensions; other groups of
 * Zarr and cfdb files have only those of their arrays, and found is not called. An array may also have dimensions of
 * the groups around its own. An unlimited dimension of HDF5 is as long as the longest array that has it, as netCDF
 * shows it; other arrays with the dimension may be shorter. To find it, the metadata of all arrays in the group and
 * below are read. If found returns anything but 0, the call ends with that status.
 *
 * Errors: NCZCHUNK_EINVAL (storage or found is NULL), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_ENCZARR (malformed
 * metadata of the group), NCZCHUNK_ENOMEM, the status that found returned, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_group_dimensions(const nczchunk_storage *storage,
                              const char *group,
                              int (*found)(void *user, const nczchunk_dimension *dimension),
                              void *user,
                              nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * LISTING A GROUP
 *
 * List the contents of a dataset, as ncdump -h does: its groups and arrays, with their shapes, types, dimensions and
 * attributes.
 *
 *     static int print(void *user, const nczchunk_node *node)
 *     {
 *         if (!node->is_group) printf("%s %s, rank %zu\n", node->type_name, node->name, node->rank);
 *         return 0;
 *     }
 *
 *     nczchunk_list("ocean.zarr", NULL, 1, print, NULL, NULL);
 */

/**
 * A group or array in a listing. All pointers are valid until the callback returns.
 */
typedef struct nczchunk_node {
    /**
     * sizeof(nczchunk_node) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * Its path, as nczchunk_array_open takes it: its name after the names of its groups, such as "ocean/sst". Empty
     * for the storage itself.
     */
    const char *name;
    /**
     * 1 for a group, 0 for an array.
     */
    size_t is_group;
    /**
     * 0, or the status with which it cannot be opened, if its metadata show that. Then the fields after message are 0
     * or empty.
     */
    ptrdiff_t status;
    /**
     * The message for status; empty if status is 0.
     */
    const char *message;
    /**
     * The type of an array's elements by netCDF's number; 0 if netCDF has no such type.
     */
    size_t type;
    /**
     * The type of an array's elements by name; empty for a group.
     */
    const char *type_name;
    /**
     * The number of an array's dimensions.
     */
    size_t rank;
    /**
     * The lengths of the dimensions.
     */
    const size_t *shape;
    /**
     * The lengths of the chunks by which the array is read.
     */
    const size_t *chunk_shape;
    /**
     * The lengths of the shards by which the array is written; NULL if it has none.
     */
    const size_t *shard_shape;
    /**
     * The names of the dimensions; empty for one that has none.
     */
    const char *const *dimension_names;
    /**
     * 1 for each dimension that the metadata mark as unlimited, as netCDF does; 0 for the others.
     */
    const size_t *is_unlimited;
    /**
     * The number of attributes: see nczchunk_node_attribute_at.
     */
    size_t num_attributes;
    /**
     * All attributes as a JSON object in a string: unchanged, if they are stored in that form.
     */
    const char *attributes_json;
    /**
     * For the library's own use.
     */
    const void *attributes;
    /**
     * 0, or the status with which the attributes cannot be read although the array or group can be opened.
     */
    ptrdiff_t attributes_status;
    /**
     * The message for that status; empty if the status is 0.
     */
    const char *attributes_message;
    /**
     * The format that it is stored in, as nczchunk_array_format returns it; empty if it cannot be opened.
     */
    const char *format;
} nczchunk_node;

/**
 * Lists a group. path is a directory or a zip file. group is the group's path below it, and is NULL or empty for path
 * itself. found is called for the group itself first, then for each group and array in it, ordered by name. If
 * recursive is 1, the contents of each group follow it. For an array, only the array itself is listed. If found
 * returns anything but 0, the call ends with that status.
 *
 * For a file that holds arrays, the file itself is listed as a group, then its arrays in their order.
 *
 * Groups and arrays that cannot be read are listed with their status. A symbolic link to a group is listed with the
 * contents of that group. Contents that several links lead to are listed only with the first link. A link to a group
 * that contains the link is left out. If the storage cannot list its objects, the group's consolidated metadata are
 * used.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTFOUND (no such path or group), NCZCHUNK_ENOTNC (path is
 * something else), NCZCHUNK_ENCZARR (malformed metadata of a group), NCZCHUNK_ENOTBUILT (the storage cannot list its
 * objects, and there are no consolidated metadata), NCZCHUNK_ENOMEM, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_list(const char *path,
                  const char *group,
                  int recursive,
                  int (*found)(void *user, const nczchunk_node *node),
                  void *user,
                  nczchunk_context *context);

/**
 * Lists a group of a storage: see nczchunk_list.
 *
 * Errors: those of nczchunk_list, and the status that a callback of the storage returned.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_list_in(const nczchunk_storage *storage,
                     const char *group,
                     int recursive,
                     int (*found)(void *user, const nczchunk_node *node),
                     void *user,
                     nczchunk_context *context);

/**
 * Calls found once, for the group or array of a storage that has this name: what nczchunk_list calls it with first.
 * name is NULL or empty for the storage itself. Its members are not looked at, so this is how to read a group's
 * attributes.
 *
 * Errors: NCZCHUNK_EINVAL (storage or found is NULL), NCZCHUNK_ENOTFOUND (no such group or array), NCZCHUNK_ENOTNC
 * (the storage itself is neither), NCZCHUNK_ENCZARR (malformed metadata of a group), NCZCHUNK_ENOMEM, the status that
 * found returned, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_list_node(const nczchunk_storage *storage,
                       const char *name,
                       int (*found)(void *user, const nczchunk_node *node),
                       void *user,
                       nczchunk_context *context);

/**
 * Returns the i-th attribute of a group or array in a listing. Its pointers are valid until the callback returns.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (i is not below the number
 * of attributes).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_node_attribute_at(const nczchunk_node *node,
                               size_t i,
                               nczchunk_attribute *attribute,
                               nczchunk_context *context);

/**
 * Calls found for each thing that is stored with a group or array in a listing and that the library does not show: see
 * nczchunk_array_left_out. node is valid until the callback of the listing returns.
 *
 * Errors: NCZCHUNK_EINVAL (node or found is NULL), the status that found returned, NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_node_left_out(const nczchunk_node *node,
                           int (*found)(void *user, const char *name, const char *reason),
                           void *user,
                           nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * WHERE THE CHUNKS OF AN ARRAY ARE STORED
 *
 * Find the object and the byte range of each chunk, to make an index of byte ranges, to fetch chunks with another
 * tool, or to inspect one with dd.
 *
 *     static int print(void *user, const nczchunk_located *chunk)
 *     {
 *         if (chunk->state == NCZCHUNK_STORED)
 *             printf("%s: %llu bytes from byte %llu on\n", chunk->object, (unsigned long long)chunk->len,
 *                    (unsigned long long)chunk->offset);
 *         return 0;
 *     }
 *
 *     nczchunk_array_locate(array, NULL, NULL, NULL, print, NULL, NULL);
 *
 * nczchunk_array_read_cost says how many requests and bytes a hyperslab costs, before it is read from a server.
 *
 * nczchunk_storage_write_references writes the same of whole files as references, which fsspec, Zarr and xarray read.
 */

/**
 * The chunk is missing: it reads as the fill value.
 */
#define NCZCHUNK_ABSENT 0

/**
 * The chunk is stored.
 */
#define NCZCHUNK_STORED 1

/**
 * The location of a chunk. All pointers are valid until the callback returns.
 */
typedef struct nczchunk_located {
    /**
     * sizeof(nczchunk_located) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * The number of the array's dimensions.
     */
    size_t rank;
    /**
     * The chunk's indices, one per dimension.
     */
    const ptrdiff_t *chunk_indices;
    /**
     * The name of the object in the storage: a file below the path of a directory, or an entry of a zip file. In a zip
     * file, offset and len count the bytes of the entry as it is extracted. Empty if the opened path is the file
     * itself, such as a netCDF classic file. For a missing chunk it is the object that would hold the chunk.
     */
    const char *object;
    /**
     * NCZCHUNK_STORED or NCZCHUNK_ABSENT.
     */
    size_t state;
    /**
     * The first byte of the chunk in the object, counted from 0; 0 for a missing chunk.
     */
    uint64_t offset;
    /**
     * The number of bytes of the chunk in the object, as encoded by its codecs; 0 for a missing chunk. In a netCDF
     * classic file the bytes end with the last element inside the dimensions, or at the end of the file.
     */
    uint64_t len;
} nczchunk_located;

/**
 * What it takes to read something from a storage. Set struct_size before a call fills it in.
 */
typedef struct nczchunk_read_cost {
    /**
     * sizeof(nczchunk_read_cost).
     */
    size_t struct_size;
    /**
     * The number of requests to the storage; of a file, the number of reads.
     */
    uint64_t requests;
    /**
     * The number of bytes that they return, including gaps between chunks that are read together.
     */
    uint64_t bytes;
    /**
     * How many of the requests read only indices: of shards, or of chunks in a file.
     */
    uint64_t index_requests;
    /**
     * How many of the bytes are those of indices.
     */
    uint64_t index_bytes;
} nczchunk_read_cost;

/**
 * Locates the stored chunks of a hyperslab: calls found for each chunk that the hyperslab of an array touches, in
 * row-major order. start, count and stride are as for nczchunk_array_read, but start may be NULL, which stands for 0
 * in all dimensions. So NULL for all three selects all chunks of the array. If found returns anything but 0, the call
 * ends with that status.
 *
 * The chunks are those by which the array is read; chunks within shards are reported one by one. Their bytes are not
 * read. For an object that is a chunk, the storage is asked for its length; for a shard, the shard's index is read.
 *
 * Errors: NCZCHUNK_EINVAL (array or found is NULL), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for
 * nczchunk_array_read, the status that found returned, the status that a callback of the storage returned,
 * NCZCHUNK_EIO (the index of a shard is corrupt), NCZCHUNK_ENOMEM, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_locate(const nczchunk_array *array,
                          const size_t *start,
                          const size_t *count,
                          const ptrdiff_t *stride,
                          int (*found)(void *user, const nczchunk_located *chunk),
                          void *user,
                          nczchunk_context *context);

/**
 * Returns what it takes to read a hyperslab with one thread: how many requests the storage gets, and for how many
 * bytes. start, count and stride are as for nczchunk_array_locate. No chunk is read. The storage is asked for the
 * indices of shards, which the array keeps, and for the length of each object that is a chunk. Indices that the array
 * has already are not counted; chunks that its cache has are.
 *
 * ```c
 * nczchunk_read_cost cost = NCZCHUNK_READ_COST_INIT;
 * nczchunk_array_read_cost(array, start, count, NULL, &cost, NULL);
 * ```
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and
 * NCZCHUNK_EEDGE as for nczchunk_array_read, NCZCHUNK_ENOTBUILT (variable-length strings), the status that a callback
 * of the storage returned, NCZCHUNK_EIO (the index of a shard is corrupt), NCZCHUNK_ENOMEM, and the system's errno
 * values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_read_cost(const nczchunk_array *array,
                             const size_t *start,
                             const size_t *count,
                             const ptrdiff_t *stride,
                             nczchunk_read_cost *cost,
                             nczchunk_context *context);

/**
 * Writes references to all chunks of an array, or of the arrays in a group and in those below it, as an object of the
 * storage to. An empty name stands for the whole storage. The object is JSON as kerchunk writes it, version 1: with
 * it, fsspec, Zarr and xarray read the arrays from where they are, as nczchunk_storage_open does. url is what the
 * storage is called in the references, a path or a URL; names of objects in it follow, after a "/". The attributes,
 * dimensions and types are those of Zarr v2; a dimension without a name is called phony_dim_0 and so on.
 *
 * If the name of the object ends with .parq or .parquet, the references are written to Parquet files below that name
 * instead, as kerchunk and fsspec have them; the library must be built for that (NCZCHUNK_PARQUET=ON).
 *
 * If this call fails, the storage to is unchanged, except that some of the Parquet files may have been written.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_ENOTFOUND (there is nothing of
 * this name), NCZCHUNK_ENOTBUILT and NCZCHUNK_ENOFILTER (an array with what Zarr v2 or numcodecs does not have, such
 * as variable-length strings, entries of a zip file, and chunks that some filters were left out of; Parquet files in a
 * build without them, and of an array without a name), NCZCHUNK_EPERM
 * (to is read-only), NCZCHUNK_ENOMEM, those of nczchunk_array_open_in and nczchunk_array_locate, and those of the
 * storages.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_write_references(const nczchunk_storage *storage,
                                      const char *name,
                                      const char *url,
                                      const nczchunk_storage *to,
                                      const char *object,
                                      nczchunk_context *context);

/** Initialises a nczchunk_read_cost that uses nothing yet. */
#define NCZCHUNK_READ_COST_INIT \
    {sizeof(nczchunk_read_cost), 0, 0, 0, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * STORAGES
 *
 * Make a storage to open many arrays in it, to keep arrays in memory, or to fetch them by callbacks of your own. A
 * storage is a map from object names to bytes; an array's metadata and chunks are its objects. nczchunk_array_open
 * finds the storage itself if it is a directory or a zip file. The functions below make storages for
 * nczchunk_array_open_in:
 *
 *     nczchunk_storage_callbacks callbacks = {.struct_size = sizeof callbacks, .read = get};
 *     nczchunk_storage_new(&callbacks, &storage, NULL);
 *     nczchunk_array_open_in(storage, "ocean/sst", NCZCHUNK_READ, &array, NULL);
 *
 * A file that holds arrays, such as a netCDF classic file, is a storage, too. Its arrays are opened and listed like
 * those of other storages. The file is at a path, or it is an object of any storage:
 *
 *     nczchunk_storage_file(storage, "2020/sst.nc", &file, NULL);
 *     nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL);
 *
 * nczchunk_storage_create_zip makes a new zip file. nczchunk_storage_add_codec adds codecs that the library does not
 * have.
 *
 * A storage with latency has start and wait, instead of read or in addition to it. Then many reads are in flight at
 * the same time, without threads. Chunks of an array with shards are found by the shards' indices, and neighbouring
 * chunks are read at once. examples/http_array.c is such a storage over HTTP.
 */

/**
 * Limits on the memory for the contents of a storage, in addition to the memory that a read or write is given. The
 * limits keep small files from claiming all memory. A field of 0 stands for the default.
 */
typedef struct nczchunk_memory_limits {
    /**
     * sizeof(nczchunk_memory_limits).
     */
    size_t struct_size;
    /**
     * The most bytes of a chunk: as it is stored, between two of its codecs, and decoded. Default 4 GiB.
     */
    size_t chunk_bytes;
    /**
     * The most bytes of a chunk of variable-length strings, stored or decoded. Each string takes a pointer in
     * addition. Default 256 MiB.
     */
    size_t string_chunk_bytes;
    /**
     * The most bytes that the metadata in one document take while they are read: about twice the size of their text,
     * plus 100 for each JSON value. The headers and trees of an HDF5 file and each Parquet file of references
     * count as documents. Default 1 GiB.
     */
    size_t metadata_bytes;
} nczchunk_memory_limits;

/**
 * A codec of yours as the metadata describe it, for make. All pointers are valid until make returns.
 */
typedef struct nczchunk_codec_use {
    /**
     * sizeof(nczchunk_codec_use) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * The codec's name as written in the metadata, such as "mine" or "numcodecs.mine".
     */
    const char *name;
    /**
     * The codec's configuration as a JSON object in a string, without blanks; "{}" if there is none. In Zarr v2 it
     * consists of the members beside the id.
     */
    const char *configuration;
    /**
     * The type of the array's elements: see nczchunk_array_type_name.
     */
    const char *type_name;
    /**
     * The size of an element in bytes; 0 for variable-length strings.
     */
    size_t element_size;
} nczchunk_codec_use;

/**
 * A read of an object, or a write of a whole object. The library sets the fields up to size; the callback sets the
 * others. The fields and the buffer are valid until the callback returns or, for a request that start began, until
 * wait returns it.
 */
typedef struct nczchunk_object_request {
    /**
     * sizeof(nczchunk_object_request) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * The object's name, such as "ocean/sst/c/0/1".
     */
    const char *name;
    /**
     * The position of the first byte (0 for a write): this many bytes after the object's beginning or, if from_end is
     * 1, before its end. An object that is shorter than that is read from its beginning.
     */
    uint64_t offset;
    /**
     * 1 if offset counts from the end, else 0.
     */
    size_t from_end;
    /**
     * A read: the memory for the bytes. A write: the object's bytes, which the callback only reads.
     */
    void *buffer;
    /**
     * A read: the size of the buffer in bytes; 0 requests only the object's length. A write: the length of the object
     * in bytes.
     */
    size_t size;
    /**
     * Set by the callback for a read: the number of bytes that it has written to the buffer, which is size, or less if
     * the object ends before. 0 at first.
     */
    size_t nbytes;
    /**
     * Set by the callback for a read: the length of the whole object in bytes. 0 at first.
     */
    uint64_t object_size;
    /**
     * Set by the callback for a request that start began: its outcome, as read or write would return it. 0 at first.
     */
    ptrdiff_t status;
    /**
     * Set by the callback: a value of its choice, kept from start to wait. NULL at first.
     */
    void *handle;
    /**
     * Set by the callback of a storage with versions, for a read: a number other than 0 that changes whenever the
     * object's bytes change, such as a hash of its ETag. 0 if the version is unknown, and at first.
     */
    uint64_t version;
} nczchunk_object_request;

/**
 * The callbacks of a storage of your own. They return 0, or a status that ends the call.
 */
typedef struct nczchunk_storage_callbacks {
    /**
     * sizeof(nczchunk_storage_callbacks).
     */
    size_t struct_size;
    /**
     * Passed to every callback.
     */
    void *user;
    /**
     * Reads an object. Returns NCZCHUNK_ENOOBJECT for an object that does not exist. Do not return it for any other
     * failure, because missing chunks read as the fill value. May be NULL if start and wait are not.
     */
    int (*read)(void *user, nczchunk_object_request *request);
    /**
     * Lists the objects and prefixes directly below a prefix, which is empty or a name. Calls found once for each,
     * with the last part of its name. is_prefix is 1 for a prefix: the beginning of the names of objects further
     * below. Pass the given argument to found. If found returns anything but 0, return that. Call found before list
     * returns and in the same thread; otherwise it does nothing and returns NCZCHUNK_EINVAL. Names that no object can
     * have, such as the empty one, are skipped. May be NULL: then nothing is listed.
     */
    int (*list)(void *user,
                const char *prefix,
                int (*found)(void *argument, const char *name, int is_prefix),
                void *argument);
    /**
     * Writes a whole object of nbytes bytes, or replaces the existing object. The replacement must be atomic: a reader
     * finds the old bytes or the new ones. May be NULL: then the storage is read-only, unless it has start_write.
     */
    int (*write)(void *user, const char *name, const void *bytes, size_t nbytes);
    /**
     * Removes an object. A missing object is not an error. May be NULL: then objects cannot be removed.
     */
    int (*remove)(void *user, const char *name);
    /**
     * Called once when the storage is no longer in use; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time; 0 restricts a call to its own thread.
     */
    size_t concurrent;
    /**
     * Two ranges of an object are read by one request if fewer bytes than this lie between them. 0 stands for 16 KiB.
     * With start, 0 leaves it to the library: it reads what lies between parts of an unencoded chunk if that is less
     * than 64 KiB; between chunks it reads gaps below 4 KiB and, smallest first, gaps below 1 MiB that together have
     * at most a tenth of the bytes needed of the object.
     */
    size_t gap;
    /**
     * For storages with latency, such as those over a network; used together with wait. Starts a read of an object, as
     * read does, but returns immediately. A call keeps up to in_flight reads in flight, and starts the next ones while
     * it decodes. If the call may use threads and concurrent is 1, each thread starts its share of the reads and waits
     * for them. The request, its name and its buffer stay valid until wait returns the request. If start returns a
     * status other than 0, the read has not begun and wait does not return it. start may report a missing object in
     * this way.
     */
    int (*start)(void *user, nczchunk_object_request *request);
    /**
     * Waits until a read or write that the calling thread started has ended, and sets done to it. They may end in any
     * order. The fields status, nbytes and object_size of the request report the outcome, as the result of read and
     * the fields that read sets would. Retries after a transient failure are up to the callback. If wait itself
     * returns a status other than 0, no read is in flight any more: the callback has ended all of them, and does not
     * touch their buffers again. While reads are in flight, a callback may not call the library in the same thread to
     * read from the storage: NCZCHUNK_EINVAL.
     */
    int (*wait)(void *user, nczchunk_object_request **done);
    /**
     * Called when a read in flight is no longer needed, because the call is about to end; may be NULL. wait still
     * returns the request, with any status.
     */
    void (*cancel)(void *user, nczchunk_object_request *request);
    /**
     * With start: the largest number of reads in flight at the same time, in each call. 0 stands for 64.
     */
    size_t in_flight;
    /**
     * With start: the most bytes of memory for the buffers of all reads in flight, in each call. A single larger read
     * is not refused. 0 stands for the bytes of in_flight chunks, but no less than largest.
     */
    size_t bytes_in_flight;
    /**
     * With start: chunks of one shard that are adjacent, or near each other as gap says, are read at once, up to this
     * many bytes; with its index, if all or nearly all of the shard is needed. Then the read may have room for more
     * bytes than the object has. 0 stands for 16 MiB.
     */
    size_t largest;
    /**
     * 1 if each read reports the object's version in the request. Then the index of a shard is kept from call to call,
     * and the needed ranges of an unencoded chunk are read one by one. With 0, each call reads an index before the
     * chunks and again after them, and reads a chunk in one range. So each chunk is of one state of its object; of an
     * object that is replaced during the call, some chunks may be of the old state and some of the new one.
     */
    size_t versions;
    /**
     * For storages with latency; used together with start and wait. Starts to write a whole object: request->size
     * bytes at request->buffer, which are only read. It returns immediately, and wait returns the request when the
     * write has ended, with its status as write would return it. What write promises of readers and errors holds here,
     * too. A call that writes keeps up to in_flight reads and writes in flight, with up to bytes_in_flight bytes, for
     * which 0 stands for 256 MiB here. A write is never cancelled: the call waits for all that it started, so nothing
     * is written after it has returned. If start_write returns a status other than 0, the write has not begun and wait
     * does not return it. May be NULL: then objects are written by write, one at a time in each thread.
     */
    int (*start_write)(void *user, nczchunk_object_request *request);
} nczchunk_storage_callbacks;

/**
 * Opens a storage at a path: a directory, a zip file, or a file that holds arrays. The first bytes of a file determine
 * its kind. If the library was built with NCZCHUNK_NETWORK, path may also be a URL of an object store or HTTP server.
 * Free the storage with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument, a malformed URL), NCZCHUNK_ENOTFOUND (no such path), NCZCHUNK_ENOTNC (path
 * is something else), NCZCHUNK_ENOTBUILT (a file of a known kind that cannot be read; a URL of a kind that this build
 * does not support), NCZCHUNK_ENOMEM, and the system's errno values: EIO also for a server that does not respond, or
 * not correctly, and EACCES for one that refuses access.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_open(const char *path,
                          nczchunk_storage **storage,
                          nczchunk_context *context);

/**
 * Joins the arrays of several files or storages along a dimension: one storage, in which an array that has the
 * dimension consists of those at all paths, one after another. What does not have the dimension is that at the first
 * path, and so are attributes. Such a storage is only read. Free it with nczchunk_storage_free.
 *
 * ```c
 * const char *paths[3] = {"sst-2020.nc", "sst-2021.nc", "sst-2022.nc"};
 * nczchunk_storage_concat(3, paths, "time", &years, NULL);
 * nczchunk_array_open_in(years, "sst", NCZCHUNK_READ, &sst, NULL);
 * ```
 *
 * Chunks stay as they are stored, so a file may have any length: then the chunks of the array differ in length, and
 * nczchunk_var_chunk_extent tells where each lies. Codecs may differ from file to file. netCDF and HDF5 files are
 * opened when they are read, so that there may be any number of them.
 *
 * An array is refused when it is opened, with NCZCHUNK_ENOTBUILT and the path in the message, if it is not like that
 * at the first path: another type, byte order or fill value, other dimensions, other lengths or chunks along another
 * dimension than the joined one, attributes that say what values mean (_FillValue, _Unsigned, add_offset, calendar,
 * missing_value, scale_factor, units) with other values; and if its elements are variable-length strings.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument, no paths), and those of nczchunk_storage_open.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_concat(size_t num_paths,
                            const char *const *paths,
                            const char *dimension,
                            nczchunk_storage **storage,
                            nczchunk_context *context);

/**
 * Makes a storage of one file in another storage: an object, given by its name, that holds arrays. The file need not
 * exist yet. The other storage may be freed while this one is in use. Free the new storage with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_file(const nczchunk_storage *storage,
                          const char *name,
                          nczchunk_storage **file,
                          nczchunk_context *context);

/**
 * Opens a storage at a path in which to create arrays: a directory, which is created if it does not exist. Free the
 * storage with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTNC (path is a file that is not a zip file),
 * NCZCHUNK_ENOTBUILT (path does not exist and ends with .zip: see nczchunk_storage_create_zip), NCZCHUNK_ENOMEM, and
 * the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_create(const char *path,
                            nczchunk_storage **storage,
                            nczchunk_context *context);

/**
 * Sets whether files that hold only a part of their arrays may be opened, such as cfdb files that are marked as copies
 * of remote ones. With 1 they are opened, and data that have not been fetched read as fill values. With 0, the
 * default, they are refused with NCZCHUNK_ENOTBUILT. Arrays that are open stay open.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_allow_partial(nczchunk_storage *storage,
                                   int allow,
                                   nczchunk_context *context);

/**
 * Sets whether links of HDF5 files to other files (external links) are followed. With 1 they are; with 0, the default,
 * what they lead to is refused with NCZCHUNK_ENOTBUILT. Arrays that are open stay open.
 *
 * In a file that was opened by its path, a link leads to the path that it says: from the directory of the file on if
 * that is relative, and otherwise to any file that this process may read. In a file at a URL, or in another object of
 * a storage, a link leads to an object of the same storage, from the file's name on, and nowhere else.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_allow_external_links(nczchunk_storage *storage,
                                          int allow,
                                          nczchunk_context *context);

/**
 * Reads each document of Zarr's metadata once from now on, and keeps it in memory as long as the storage or an array
 * of it is open; that there is no such document is kept, too. The storage becomes read-only. A group at a URL that is
 * listed, and whose arrays are opened, then costs one request for each document. Storages that are one file, and
 * joined ones, stay as they are. nczchunk_array_refresh finds no change of what is kept.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_storage_keep_metadata(nczchunk_storage *storage, nczchunk_context *context);

/**
 * Sets the memory limits of a storage. They apply to metadata that are read from now on, and to the chunks of arrays
 * that are opened or created in the storage from now on. A call that would need more memory fails with
 * NCZCHUNK_ENOMEM, and the message in the context names the limit:
 *
 * ```text
 * chunk (0): more bytes of memory are needed than the limit string_chunk_bytes = 268435456; raise it by
 * nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust
 * ```
 *
 * To open an array by its path with other limits, open a storage at the path first:
 *
 * ```c
 * nczchunk_memory_limits limits = NCZCHUNK_MEMORY_LIMITS_INIT;
 * limits.string_chunk_bytes = (size_t)2 << 30;
 * nczchunk_storage_open("texts.zarr", &storage, NULL);
 * nczchunk_storage_set_memory_limits(storage, &limits, NULL);
 * nczchunk_array_open_in(storage, "names", NCZCHUNK_READ, &array, NULL);
 * ```
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a struct_size of 0; a newer structure with fields in use that this library
 * does not know).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_set_memory_limits(nczchunk_storage *storage,
                                       const nczchunk_memory_limits *limits,
                                       nczchunk_context *context);

/**
 * Creates a storage that writes a new zip file at a path. The entries are stored without zip compression, because
 * chunks are compressed already. Create arrays in it with nczchunk_array_create_in, and write and read them. An object
 * that is written twice leaves its first bytes in the file, unused, so write chunks whole.
 *
 * nczchunk_storage_finish puts the file at its path, where it replaces an existing file. Until then the file is beside
 * the path and has the name `.<name>.<process>.<number>.partial`. If the storage is freed before, and all arrays in it
 * are closed, no file remains. Free the storage with nczchunk_storage_free. A forked child process can free it too,
 * without effect on the file; all other calls that use the storage fail there with NCZCHUNK_EINVAL.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a path that no file can have), NCZCHUNK_ENOTBUILT (the library was built
 * without zip files), NCZCHUNK_ENOMEM, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_create_zip(const char *path,
                                nczchunk_storage **storage,
                                nczchunk_context *context);

/**
 * Completes a storage after all data have been written. A new zip file gets its directory and its name, and cannot be
 * written to afterwards. For other storages the call does nothing. After a failure it can be called again.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM, and the system's errno values.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_storage_finish(nczchunk_storage *storage, nczchunk_context *context);

/**
 * Creates an empty storage in memory. Free it with nczchunk_storage_free.
 *
 * Any number of threads may use it at the same time. A forked child process can read it if no thread was writing to it
 * at the time of the fork. The child must not write to it, but can free it.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_storage_memory(nczchunk_storage **storage, nczchunk_context *context);

/**
 * Frees a storage. Arrays that were opened in it can still use it. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_storage_free(nczchunk_storage *storage);

/**
 * Writes an object of nbytes bytes, or replaces the existing object.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_EPERM (the storage is
 * read-only), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_write(const nczchunk_storage *storage,
                           const char *name,
                           const void *bytes,
                           size_t nbytes,
                           nczchunk_context *context);

/**
 * Adds a codec to a storage. make then makes each codec of this name in the metadata of the storage's arrays, even if
 * the library has a codec of the same name. A name without "numcodecs." also stands for the name with that prefix.
 * Arrays that are opened or created in the storage from then on know the codec; so does a listing of the storage.
 * examples/own_codec.c is an example.
 *
 * make sets codec to a codec from nczchunk_codec_new, which the library takes over, and returns 0. Or it returns
 * another status, which ends the call that needs the codec. The library calls make when an array is opened, created or
 * resized, in the thread of that call; for an array in shards, more than once. user is passed to make.
 *
 * destroy, unless it is NULL, is called once with user: after the storage has been freed and every array that was
 * opened or created in it has been closed. It runs in the thread that does the last of these. If this call fails,
 * destroy is not called.
 *
 * The codec turns bytes into bytes. In Zarr v3, a codec before the codec "bytes" in the metadata, such as
 * "numcodecs.mine", also gets the bytes of the elements; these must then be in the machine's byte order. For
 * variable-length strings, capacity in nczchunk_coding is not the decoded length but a bound: the library tries again
 * with a larger one.
 *
 * In HDF5 files a codec stands for the filter whose number follows "hdf5." in its name, such as "hdf5.32028". Its
 * configuration is {"parameters":[...]}, with the numbers that the file has for the filter.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; an empty name; or one of "bytes", "n5_default", "reshape",
 * "sharding_indexed", "transpose" and "vlen-utf8", which define the layout of a chunk's elements), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_add_codec(nczchunk_storage *storage,
                               const char *name,
                               int (*make)(void *user, const nczchunk_codec_use *of, nczchunk_codec **codec),
                               void *user,
                               void (*destroy)(void *user),
                               nczchunk_context *context);

/**
 * Creates a storage of your own. The callbacks are copied. Free it with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; both read and start are NULL; only one of start and wait is NULL;
 * start_write without start; a struct_size of 0; a newer structure with fields in use that this library does not
 * know), NCZCHUNK_ENOMEM. After an error destroy is not called.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_new(const nczchunk_storage_callbacks *callbacks,
                         nczchunk_storage **storage,
                         nczchunk_context *context);

/** Initialises a nczchunk_memory_limits that uses nothing yet. */
#define NCZCHUNK_MEMORY_LIMITS_INIT \
    {sizeof(nczchunk_memory_limits), 0, 0, 0}

/** Initialises a nczchunk_storage_callbacks that uses nothing yet. */
#define NCZCHUNK_STORAGE_CALLBACKS_INIT \
    {sizeof(nczchunk_storage_callbacks), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, NULL}

#ifdef __cplusplus
}
#endif

#endif /* NCZCHUNK_ARRAY_H */
