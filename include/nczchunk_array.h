/*
 * nczchunk: arrays that are opened by name.
 *
 * With nczchunk.h you say how an array is cut into chunks and give functions that fetch them. With this header you say
 * where the array is; the rest is in its metadata.
 *
 *     nczchunk_array_open("sst.zarr", NULL, NCZCHUNK_READ, &array, NULL);
 *
 *     size_t start[3] = {0, 10, 0}, count[3] = {1, 20, 60};
 *     ptrdiff_t stride[3] = {1, 1, 3};                                     every third column
 *     nczchunk_array_read(array, start, count, stride, data, NULL);        20 * 60 elements, in native byte order
 *
 *     nczchunk_array_close(array);
 *
 * examples/open_array.c is that as a whole program. An array is a variable and a store of nczchunk.h:
 * nczchunk_array_var and nczchunk_array_store lend them to every function there, so plans, threads, progress and other
 * layouts of memory serve arrays, too. What that header says of all functions holds for these.
 *
 * A path is given as the system has it: on Unix in any encoding, on Windows in UTF-8. Names are in UTF-8.
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
 * OBJECTSTORE
 *
 * What the functions below make and use, beside those of nczchunk.h. Each is opaque.
 */

/**
 * An array that is open. Any number of threads may read it at the same time, if its storage allows it; those that the
 * library has do.
 */
typedef struct nczchunk_array nczchunk_array;

/**
 * A storage for objects, which are named bytes: the files of a directory, the entries of a zip file, memory, or what
 * callbacks give.
 */
typedef struct nczchunk_storage nczchunk_storage;

/* ---------------------------------------------------------------------------------------------------------------------
 * TYPES
 *
 * The types that elements and attributes may have, by netCDF's numbers: NCZCHUNK_FLOAT is NC_FLOAT. Types that netCDF
 * does not have go by their names, which are numpy's: "bool", "float16", "complex64", "complex128", "datetime64[ns]",
 * "timedelta64[s]", "S5" (text of 5 bytes), "U5" (text of 5 characters of 4 bytes), "V8" (8 bytes).
 * So do the small numbers of Zarr's extensions, each in a whole byte or two: "bfloat16", "float8_e4m3" and its kin,
 * "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int2", "int4", "uint2", "uint4".
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
 * A text of any length: "string".
 */
#define NCZCHUNK_STRING 12

/* ---------------------------------------------------------------------------------------------------------------------
 * OPENING AND READING AN ARRAY
 *
 *     nczchunk_array *array = NULL;
 *     size_t start[3] = {0, 0, 0}, count[3] = {1, 90, 180};
 *     float map[90][180];
 *     int status = nczchunk_array_open("sst.zarr", NULL, NCZCHUNK_READ, &array, NULL);
 *     if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, start, count, NULL, map, NULL);
 *     nczchunk_array_close(array);
 *
 * What can be opened is an array of Zarr v2 or v3, sharded or not, or of NCZarr, in a directory or in a zip file; and
 * to read it, a variable of a netCDF, HDF5 or cfdb file. What is not supported is refused with the name of
 * what it is: ask the context.
 */

/**
 * Opens an array. path is a directory or a zip file; name is where the array is below it, such as
 * "ocean/sst", and NULL or empty if path is the array itself. Or path is a file that holds arrays, and name is the
 * array's name in it. mode is NCZCHUNK_READ, or NCZCHUNK_WRITE to read and write. Close it with nczchunk_array_close.
 *
 * If all entries of a zip file are in one directory, such as "data", names may begin with it or not: "data/ocean/sst"
 * is "ocean/sst" then.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument, another mode), NCZCHUNK_ENOTFOUND (there is no such path or array),
 * NCZCHUNK_ENOTVAR (it is a group), NCZCHUNK_ENOTNC (path is something else), NCZCHUNK_ENCZARR (malformed metadata),
 * NCZCHUNK_ENOTBUILT (metadata that ask for what the library does not have), NCZCHUNK_ENOFILTER (a codec that it does
 * not have), NCZCHUNK_EBADTYPE (elements that it does not have), NCZCHUNK_EPERM (NCZCHUNK_WRITE for a file),
 * NCZCHUNK_ENOMEM, and the system's own numbers, which are positive.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_open(const char *path,
                        const char *name,
                        int mode,
                        nczchunk_array **array,
                        nczchunk_context *context);

/**
 * Opens an array among the objects of a storage: see nczchunk_array_open. The array goes on using the storage when
 * that is freed.
 *
 * Errors: those of nczchunk_array_open, and what callbacks of the storage return.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_open_in(const nczchunk_storage *storage,
                           const char *name,
                           int mode,
                           nczchunk_array **array,
                           nczchunk_context *context);

/**
 * Closes an array: frees it and all that was lent with it. NULL is allowed. Whatever was written is where it belongs
 * already.
 */
NCZCHUNK_API void nczchunk_array_close(nczchunk_array *array);

/**
 * Reads a hyperslab of an array: nczchunk_read_vars with its variable and its store.
 *
 * The elements of an array of texts of any length, whose type name is "string", are char *: each is a new text in
 * UTF-8, which nczchunk_strings_free frees, or nc_free_string, or free. If the call fails, data is untouched and
 * nothing is left to be freed. (After a failure of nczchunk_read_vars or of a plan with the array's variable and
 * store, those that were read are the caller's, so data should be NULL everywhere before.) A chunk that holds no such
 * texts is NCZCHUNK_EIO, one that has a text with a NUL in it NCZCHUNK_ENOTBUILT. Chunks of texts are not kept in a
 * cache, and one thread reads them.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_read(const nczchunk_array *array,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        void *data,
                        nczchunk_context *context);

/**
 * Reads a hyperslab of an array of strings of any length into one block of memory instead of as many blocks:
 * nbytes bytes of UTF-8, in which the strings follow one another in row-major order, each with a NUL behind it. If the
 * call succeeds the block is the caller's, to be freed by nczchunk_strings_free, as one string, or by free.
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
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EBADTYPE (an array of other elements), and those of
 * nczchunk_array_read.
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
 * Frees texts that were read, and leaves NULL in their places. A NULL among them is passed over.
 */
NCZCHUNK_API void nczchunk_strings_free(size_t num_strings, char **strings);

/**
 * Writes a hyperslab of an array that was opened with NCZCHUNK_WRITE: nczchunk_write_vars with its variable and its
 * store. What is written to an array of texts of any length is char *, in UTF-8, of which NULL stands for an empty
 * text; they remain the caller's. Shards of such texts are not written: NCZCHUNK_ENOTBUILT.
 *
 * Several threads and processes may write at the same time, each to chunks of its own, or to shards of its own if the
 * array has shards. Every chunk or shard is replaced at once: a reader finds the old one or the new one. Of several
 * that write the same whole chunk or shard, the last one wins; of two that change one in part, one may undo what the
 * other did. A reader that keeps chunks in a cache does not see what other processes write to these.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_write(const nczchunk_array *array,
                         const size_t *start,
                         const size_t *count,
                         const ptrdiff_t *stride,
                         const void *data,
                         nczchunk_context *context);

/**
 * The variable of an array: its rank, lengths, chunks and fill value, and what plans are made for. It is the array's,
 * and valid until that is closed or resized. NULL for NULL.
 */
NCZCHUNK_API const nczchunk_var *nczchunk_array_var(const nczchunk_array *array);

/**
 * The store of an array, for the functions that take one. It is the array's, and valid until that is closed. If the
 * array was opened with NCZCHUNK_READ, it cannot be written to. NULL for NULL.
 */
NCZCHUNK_API const nczchunk_chunk_store *nczchunk_array_store(const nczchunk_array *array);

/**
 * netCDF's number for the type of an array's elements, such as 5 for NC_FLOAT; 0 for a type that netCDF does not have,
 * and for NULL. nczchunk_array_type_name tells those, too, and the two kinds of NC_STRING (12) apart: "string" for
 * texts of any length, whose elements are char *, and for example "S5" for texts of 5 bytes, whose elements are these
 * bytes.
 */
NCZCHUNK_API int nczchunk_array_type(const nczchunk_array *array);

/**
 * The type of an array's elements as numpy spells it, such as "float32", "datetime64[ns]" or "S5". The text is the
 * array's; empty for NULL.
 */
NCZCHUNK_API const char *nczchunk_array_type_name(const nczchunk_array *array);

/**
 * The format that an array is stored in: "Zarr v2", "Zarr v3", "NCZarr", "netCDF classic", "cfdb" or "HDF5", which
 * netCDF-4 files have. The text is the array's; empty for NULL.
 */
NCZCHUNK_API const char *nczchunk_array_format(const nczchunk_array *array);

/**
 * The name of dimension d of an array; empty if it has none, if there is no such dimension, and for NULL. The text is
 * the array's.
 */
NCZCHUNK_API const char *nczchunk_array_dimname(const nczchunk_array *array, size_t d);

/**
 * Has an array's decoded chunks kept in a cache of yours instead of its own, which keeps 64 MiB or, if that is more,
 * one chunk; NULL for cache has none kept. See nczchunk_chunk_store_set_cache. The indices of the shards that were
 * used last are kept besides: up to 4 MiB, and at least one.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_cache(nczchunk_array *array,
                             const nczchunk_cache *cache,
                             nczchunk_context *context);

/**
 * Sets whether every chunk is decoded to its end: see nczchunk_chunk_store_set_verify.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_verify(nczchunk_array *array,
                              int verify,
                              nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * ATTRIBUTES OF AN ARRAY
 */

/**
 * An attribute. Set struct_size before it is filled in. What it points to is the array's, and valid until the
 * attributes are changed.
 */
typedef struct nczchunk_attribute {
    /**
     * sizeof(nczchunk_attribute).
     */
    size_t struct_size;
    /**
     * Its name.
     */
    const char *name;
    /**
     * netCDF's number for the type of its values: 2 (NC_CHAR) for a text, 12 (NC_STRING) for several.
     */
    size_t type;
    /**
     * How many values there are; of a text, how many bytes.
     */
    size_t num_values;
    /**
     * The values, in native byte order and aligned for their type. A text is UTF-8, unless an old netCDF file has
     * another encoding, and has a NUL behind it, which does not count; several texts are pointers to such texts: const
     * char *const *.
     */
    const void *values;
} nczchunk_attribute;

/**
 * The number of an array's attributes, without those that formats keep for themselves. 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_array_num_attributes(const nczchunk_array *array);

/**
 * Whether an array's attributes can be read. An array of which only they are broken is opened, and is then one without
 * attributes; what is stored of them stays as it is, for none can be set.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL), NCZCHUNK_ENCZARR (their document is malformed), NCZCHUNK_ENOMEM (it takes
 * more memory than the storage's limit).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_check_attributes(const nczchunk_array *array,
                                    nczchunk_context *context);

/**
 * The attribute of this name.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_ENOTATT (there is none of that name),
 * and those of nczchunk_array_check_attributes.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_attribute(const nczchunk_array *array,
                             const char *name,
                             nczchunk_attribute *attribute,
                             nczchunk_context *context);

/**
 * The i-th attribute, in the order in which they are stored.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (there are not so many).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_attribute_at(const nczchunk_array *array,
                                size_t i,
                                nczchunk_attribute *attribute,
                                nczchunk_context *context);

/**
 * All attributes as the text of a JSON object: as they are stored, if that is how they are stored. The text is the
 * array's; "{}" for NULL.
 */
NCZCHUNK_API const char *nczchunk_array_attributes_json(const nczchunk_array *array);

/** Initialises a nczchunk_attribute that uses nothing yet. */
#define NCZCHUNK_ATTRIBUTE_INIT \
    {sizeof(nczchunk_attribute), NULL, 0, 0, NULL}

/* ---------------------------------------------------------------------------------------------------------------------
 * CREATING AN ARRAY
 *
 * An array is described, and created from the description. All that is left out has a default:
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
 * That is an array of Zarr v3 with fill value 0, in chunks of about 16 MiB that are compressed with zstd.
 */

/**
 * Zarr v3, as a format.
 */
#define NCZCHUNK_ZARR_V3 3

/**
 * Zarr v2, as a format.
 */
#define NCZCHUNK_ZARR_V2 2

/**
 * Zarr v2 that netCDF-C reads with #mode=zarr, as a format. The array is in a group, which means that it has a name;
 * its dimensions have names, each with one length in a group; and what netCDF-C would refuse or read wrong is
 * refused. netCDF-C shows characters as texts of one character, and a scalar with a dimension of length 1.
 */
#define NCZCHUNK_NCZARR 1

/**
 * A codec of an array that is to be created. The structure will not change.
 */
typedef struct nczchunk_codec_setting {
    /**
     * Its name, such as "zstd": see nczchunk_has_codec.
     */
    const char *name;
    /**
     * Its configuration as the text of a JSON object, such as "{\"level\": 3}", in the words of numcodecs, or a number
     * alone, such as "3", which is the first of its settings that is a number. An unknown setting and one that is out
     * of its range are refused. NULL for the defaults.
     */
    const char *configuration;
} nczchunk_codec_setting;

/**
 * An array that is to be created. Set struct_size, what the array's elements are, rank and shape; what is 0 or NULL
 * has the default. Nothing that it points to is needed any longer than the call.
 */
typedef struct nczchunk_description {
    /**
     * sizeof(nczchunk_description).
     */
    size_t struct_size;
    /**
     * What an element is, by netCDF's number: NCZCHUNK_FLOAT and so on. 0 leaves it to type_name.
     */
    size_t type;
    /**
     * What an element is, by name: "float32", "datetime64[ns]".
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
     * The lengths of a chunk, which is what is encoded as one. NULL for netCDF-C's choice: about 16 MiB.
     */
    const size_t *chunk_shape;
    /**
     * The lengths of a shard, which is an object that holds several chunks, for Zarr v3: multiples of chunk_shape.
     * NULL has each chunk be an object.
     */
    const size_t *shard_shape;
    /**
     * The names of the dimensions; a name may be NULL or empty for none. NULL if none has a name.
     */
    const char *const *dimension_names;
    /**
     * What is read where nothing was written: an element in native byte order, which for NCZCHUNK_STRING is a
     * const char *. NULL for zeros, or an empty text.
     */
    const void *fill_value;
    /**
     * The codecs, in the order in which they encode. NULL for zstd, if it is built in.
     */
    const nczchunk_codec_setting *codecs;
    /**
     * How many codecs there are.
     */
    size_t num_codecs;
    /**
     * 1 to store chunks as they are; then there are no codecs.
     */
    size_t uncompressed;
    /**
     * Attributes, as the text of a JSON object. NULL for none.
     */
    const char *attributes_json;
    /**
     * More attributes, which are set after those. NULL for none.
     */
    const nczchunk_attribute *attributes;
    /**
     * How many more attributes there are.
     */
    size_t num_attributes;
    /**
     * NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR. 0 for Zarr v3.
     */
    size_t format;
    /**
     * What stands between the numbers of a chunk's name: '.' or '/'. 0 for '/' in Zarr v3, else '.'.
     */
    size_t separator;
    /**
     * The byte order of what is stored: NCZCHUNK_ENDIAN_LITTLE or NCZCHUNK_ENDIAN_BIG. 0 for this machine's,
     * and for NCZCHUNK_NCZARR for little-endian words, which netCDF-C reads.
     */
    size_t endian;
    /**
     * 1 to replace an array or group that exists: its metadata documents, its chunks and the arrays and groups below
     * it are removed, symbolic links as links. If anything else is there, the call fails with NCZCHUNK_EEXIST and
     * nothing is removed. With 0 it fails if an array or group exists.
     */
    size_t overwrite;
} nczchunk_description;

/**
 * Creates an array, and opens it with NCZCHUNK_WRITE. path is a directory, which is made if there is none;
 * name is where the array is to be below it, such as "ocean/sst", and NULL or empty if path is to be the array itself.
 * Groups that are missing on the way are made. Close the array with nczchunk_array_close.
 *
 * Consolidated metadata of the groups above (.zmetadata, or in their zarr.json) are removed, for they do not tell the
 * new array; those of a group that path is below are not seen. Nothing is written unless all is well. Others can open
 * the array when all of its metadata are there.
 *
 * Errors: NCZCHUNK_EEXIST (something is there, or name is below an array), NCZCHUNK_EINVAL (a NULL argument; a
 * description that does not fit together; a name that arrays cannot have, such as ".zgroup" or, in Zarr v3, "__x"),
 * NCZCHUNK_EBADTYPE (a type that arrays cannot have), NCZCHUNK_ENOFILTER (a codec that the library does not have),
 * NCZCHUNK_ENCZARR (malformed JSON), NCZCHUNK_ENOTBUILT (what the format does not have), NCZCHUNK_EMAXDIMS,
 * NCZCHUNK_EDIMSIZE, NCZCHUNK_EPERM (path is a zip file), NCZCHUNK_ENOMEM, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_create(const char *path,
                          const char *name,
                          const nczchunk_description *description,
                          nczchunk_array **array,
                          nczchunk_context *context);

/**
 * Creates an array among the objects of a storage: see nczchunk_array_create.
 *
 * Errors: those of nczchunk_array_create, and what callbacks of the storage return.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_create_in(const nczchunk_storage *storage,
                             const char *name,
                             const nczchunk_description *description,
                             nczchunk_array **array,
                             nczchunk_context *context);

/**
 * Gives an array that was opened with NCZCHUNK_WRITE another shape: a length for each of its dimensions. Its variable
 * is changed with it, and plans that were made with that are not to be used any more.
 *
 * Chunks (or shards) outside of the shape are removed. Where it cuts through one, what is cut off becomes fill
 * values; so that is what is read there if the array is made larger again. (What another program has left behind the
 * end of a chunk, such as zarr-python when it makes an array smaller, is not looked for.) Consolidated metadata are
 * removed: see nczchunk_array_create. Others that have the array open keep the shape that they know until
 * nczchunk_array_refresh; if one of them has changed the shape, this starts from that. A failure leaves the shape as
 * it was, and may leave fill values in what was to be cut off.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; the array was replaced by one with other chunks or another type),
 * NCZCHUNK_EPERM (the array was opened to be read), NCZCHUNK_EDIMSIZE, NCZCHUNK_ENOTBUILT (dimensions that netCDF-C
 * shares among arrays; to make an array smaller in a storage that cannot list its objects), NCZCHUNK_ENOMEM, those of
 * opening, reading and writing, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_resize(nczchunk_array *array,
                          const size_t *shape,
                          nczchunk_context *context);

/**
 * Reads the metadata of an array again and drops its cached chunks and shard indices, so that the next read returns
 * what is stored now: what other handles and processes have written, and the shape and the attributes that they have
 * set. Without this call, a chunk that is in the array's cache is returned as it was when it was cached, and the shape
 * stays what it was. docs/sharing.md has the rules.
 *
 * As with nczchunk_array_resize, nobody else may use the array meanwhile; plans that were made for its variable are
 * not to be used any more, and texts that the array's functions returned are not valid any more. The array's variable
 * and store keep their addresses. A zip file that was opened to be read is not opened again.
 *
 * Errors: NCZCHUNK_EINVAL (array is NULL; the array was replaced by one with other chunks or another type), and those
 * of nczchunk_array_open. After an error the array is as it was.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_array_refresh(nczchunk_array *array, nczchunk_context *context);

/**
 * Sets an attribute of an array that was opened with NCZCHUNK_WRITE, or adds it, at once. type is netCDF's number for
 * the type of its values:
 *
 * - NCZCHUNK_CHAR: a text of num_values bytes in UTF-8,
 * - NCZCHUNK_STRING: num_values texts, const char *const *,
 * - any other: num_values numbers in native byte order.
 *
 * The metadata have no types of numbers: an NCZCHUNK_SHORT is NCZCHUNK_INT when the array is opened again, and a float
 * NCZCHUNK_DOUBLE, unless the array was created with the format NCZCHUNK_NCZARR or by netCDF-C. Consolidated metadata
 * are removed: see nczchunk_array_create. What was told of the array's attributes is not valid any more.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have, such as those that formats keep for
 * themselves), NCZCHUNK_EBADTYPE (another type), NCZCHUNK_EPERM (the array was opened to be read), NCZCHUNK_ENOMEM,
 * and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_attribute(nczchunk_array *array,
                                 const char *name,
                                 int type,
                                 size_t num_values,
                                 const void *values,
                                 nczchunk_context *context);

/**
 * Sets several attributes of an array that was opened with NCZCHUNK_WRITE, or adds them, at once: each member of a
 * JSON object, which may be nested, as it is. nczchunk_array_attributes_json returns them so. Other attributes stay as
 * they are. See nczchunk_array_set_attribute.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have), NCZCHUNK_ENCZARR (the text is no JSON
 * object), NCZCHUNK_EPERM (the array was opened to be read), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_set_attributes_json(nczchunk_array *array,
                                       const char *attributes_json,
                                       nczchunk_context *context);

/**
 * Removes an attribute of an array that was opened with NCZCHUNK_WRITE, at once: see nczchunk_array_set_attribute.
 *
 * Errors: NCZCHUNK_ENOTATT (there is none of that name), NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EPERM (the array
 * was opened to be read), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_remove_attribute(nczchunk_array *array,
                                    const char *name,
                                    nczchunk_context *context);

/** Initialises a nczchunk_description that uses nothing yet. */
#define NCZCHUNK_DESCRIPTION_INIT \
    {sizeof(nczchunk_description), 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, 0, 0, 0, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * LISTING A GROUP
 *
 * What ncdump -h shows of a dataset: its groups and arrays, with their shapes, types, dimensions and attributes.
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
 * A group or an array that was found. All that it points to is valid until the callback returns.
 */
typedef struct nczchunk_node {
    /**
     * sizeof(nczchunk_node) as the library knows it: fields beyond it do not exist.
     */
    size_t struct_size;
    /**
     * Its name, with those of the groups that it is in before it, such as "ocean/sst"; empty for the storage itself.
     * It is what nczchunk_array_open takes.
     */
    const char *name;
    /**
     * 1 for a group, 0 for an array.
     */
    size_t is_group;
    /**
     * 0, or why it cannot be opened, if that is known from its metadata: then what follows is 0 or empty.
     */
    ptrdiff_t status;
    /**
     * Why, in words; empty if status is 0.
     */
    const char *message;
    /**
     * What an array's elements are: netCDF's number, 0 if netCDF has no such type.
     */
    size_t type;
    /**
     * What an array's elements are, by name; empty for a group.
     */
    const char *type_name;
    /**
     * The number of an array's dimensions.
     */
    size_t rank;
    /**
     * Their lengths.
     */
    const size_t *shape;
    /**
     * The lengths of the chunks by which the array is read.
     */
    const size_t *chunk_shape;
    /**
     * The lengths of the shards by which it is written; NULL if it has none.
     */
    const size_t *shard_shape;
    /**
     * The names of the dimensions; empty for one that has none.
     */
    const char *const *dimension_names;
    /**
     * Which dimensions are said to be unlimited, which netCDF does: 1 for those, 0 for others.
     */
    const size_t *is_unlimited;
    /**
     * How many attributes it has: see nczchunk_node_attribute_at.
     */
    size_t num_attributes;
    /**
     * All attributes as the text of a JSON object: as they are stored, if that is how they are stored.
     */
    const char *attributes_json;
    /**
     * The library's own.
     */
    const void *attributes;
    /**
     * 0, or why the attributes of what can be opened cannot be read, and why in words, which is empty if it is 0.
     */
    ptrdiff_t attributes_status;
    const char *attributes_message;
} nczchunk_node;

/**
 * Tells what is in a group. path is a directory or a zip file; group is where the group is below it, NULL
 * or empty for path itself. found is called for the group itself first, then for each group and array in it, by name,
 * and if recursive is 1 after each group for what is in that. An array is told as itself alone. Where found returns
 * anything but 0, the call ends with that.
 *
 * Of a file that holds arrays the file itself is told as a group, then its arrays in their order.
 *
 * What is there but cannot be read is told with its status. A symbolic link to a group is told with what is in that,
 * but what several links lead to with the first of them, and a link to a group that it is in is left out. If the
 * storage cannot list its objects, the group's consolidated metadata tell what there is.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTFOUND (there is no such path or group), NCZCHUNK_ENOTNC
 * (path is something else), NCZCHUNK_ENCZARR (malformed metadata of a group), NCZCHUNK_ENOTBUILT (the storage cannot
 * list, and there are no consolidated metadata), NCZCHUNK_ENOMEM, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_list(const char *path,
                  const char *group,
                  int recursive,
                  int (*found)(void *user, const nczchunk_node *node),
                  void *user,
                  nczchunk_context *context);

/**
 * Tells what is in a group of a storage: see nczchunk_list.
 *
 * Errors: those of nczchunk_list, and what callbacks of the storage return.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_list_in(const nczchunk_storage *storage,
                     const char *group,
                     int recursive,
                     int (*found)(void *user, const nczchunk_node *node),
                     void *user,
                     nczchunk_context *context);

/**
 * The i-th attribute of what was found. What it points to is valid until the callback returns.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (there are not so many).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_node_attribute_at(const nczchunk_node *node,
                               size_t i,
                               nczchunk_attribute *attribute,
                               nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * WHERE THE CHUNKS OF AN ARRAY ARE STORED
 *
 * Which bytes of which object each chunk is: for an index of byte ranges, for a tool that fetches them itself, or to
 * look at one with dd.
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
 */

/**
 * There is no such chunk: it reads as the fill value.
 */
#define NCZCHUNK_ABSENT 0

/**
 * The chunk is stored.
 */
#define NCZCHUNK_STORED 1

/**
 * Where a chunk is stored. All that it points to is valid until the callback returns.
 */
typedef struct nczchunk_located {
    /**
     * sizeof(nczchunk_located) as the library knows it: fields beyond it do not exist.
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
     * The name of the object in the storage: of a file below the path of a directory, of an entry in a zip file, where
     * offset and len count the bytes of the entry as it is extracted. Empty if the path that was opened is the file
     * itself, such as a netCDF classic file. Of an absent chunk it is the object that it would be in.
     */
    const char *object;
    /**
     * NCZCHUNK_STORED or NCZCHUNK_ABSENT.
     */
    size_t state;
    /**
     * The first byte of the chunk in the object, counted from 0; 0 for an absent one.
     */
    uint64_t offset;
    /**
     * How many bytes of the object the chunk is, as its codecs encode it; 0 for an absent one. In a netCDF classic
     * file these are the bytes up to the last element inside of the dimensions, or those before the file's end.
     */
    uint64_t len;
} nczchunk_located;

/**
 * Tells where the chunks are stored that a hyperslab of an array touches: calls found for each of them, in row-major
 * order. start, count and stride are as for nczchunk_array_read, but start may be NULL, which stands for 0 in all
 * dimensions; so with NULL for all three it is all chunks of the array. Where found returns anything but 0, the call
 * ends with that.
 *
 * The chunks are those by which the array is read; those within shards are told one by one. Their bytes are not read:
 * an object that is a chunk is asked for its length, and the index of a shard is read.
 *
 * Errors: NCZCHUNK_EINVAL (array or found is NULL), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for
 * nczchunk_array_read, what found returned, what callbacks of the storage return, NCZCHUNK_EIO (the index of a shard
 * is corrupt), NCZCHUNK_ENOMEM, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_array_locate(const nczchunk_array *array,
                          const size_t *start,
                          const size_t *count,
                          const ptrdiff_t *stride,
                          int (*found)(void *user, const nczchunk_located *chunk),
                          void *user,
                          nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * STORAGES
 *
 * An array is metadata and chunks, and each of these is an object: named bytes in a storage. nczchunk_array_open finds
 * the storage by itself where it is a directory or a zip file; the functions below make one to be given to
 * nczchunk_array_open_in: such a storage once for many arrays, one in memory, or one of your own:
 *
 *     nczchunk_storage_callbacks callbacks = {.struct_size = sizeof callbacks, .read = get};
 *     nczchunk_storage_new(&callbacks, &storage, NULL);
 *     nczchunk_array_open_in(storage, "ocean/sst", NCZCHUNK_READ, &array, NULL);
 *
 * A file that holds arrays, such as a netCDF classic file, is a storage, too: what is opened and listed is in the
 * file. It is one at a path, or an object of any storage:
 *
 *     nczchunk_storage_file(storage, "2020/sst.nc", &file, NULL);
 *     nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL);
 *
 * A new zip file is made by nczchunk_storage_create_zip; codecs that the library does not have are added to a storage
 * by nczchunk_storage_add_codec.
 *
 * A storage with latency has start and wait instead of read, or beside it: then many reads are under way at the same
 * time, without threads. Chunks of an array with shards are found by the shards' indices, and neighbours among them
 * are read at once. examples/http_array.c is such a storage over HTTP.
 */

/**
 * How much memory may be taken for what is stored in a storage, beside the memory that a read or write is given. It
 * keeps small files from claiming all memory. 0 leaves a limit as it is at first.
 */
typedef struct nczchunk_memory_limits {
    /**
     * sizeof(nczchunk_memory_limits).
     */
    size_t struct_size;
    /**
     * The most bytes of a chunk: as it is stored, between two of its codecs, and of what is decoded of it. At first
     * 4 GiB.
     */
    size_t chunk_bytes;
    /**
     * The most bytes of a chunk of strings of any length, stored or decoded; each string takes a pointer more. At
     * first 256 MiB.
     */
    size_t string_chunk_bytes;
    /**
     * The most bytes that the metadata in one document take while they are read: about twice those of its text and 100
     * for each JSON value. At first 1 GiB.
     */
    size_t metadata_bytes;
} nczchunk_memory_limits;

/**
 * What metadata say of a codec of yours that is to be made. All that it points to is valid until make returns.
 */
typedef struct nczchunk_codec_use {
    /**
     * sizeof(nczchunk_codec_use) as the library knows it: fields beyond it do not exist.
     */
    size_t struct_size;
    /**
     * Its name as it is written, such as "mine" or "numcodecs.mine".
     */
    const char *name;
    /**
     * Its configuration as the text of a JSON object, without blanks; "{}" if there is none. In Zarr v2 that is what
     * stands beside the id.
     */
    const char *configuration;
    /**
     * The type of the array's elements: see nczchunk_array_type_name.
     */
    const char *type_name;
    /**
     * Bytes in an element; 0 for texts of any length.
     */
    size_t element_size;
} nczchunk_codec_use;

/**
 * A read of an object. The library sets the fields but for those that are said to be the callback's. All are valid,
 * and the buffer with them, until the callback returns or, for a read that was started, until it is given back.
 */
typedef struct nczchunk_object_request {
    /**
     * sizeof(nczchunk_object_request) as the library knows it: fields beyond it do not exist.
     */
    size_t struct_size;
    /**
     * The object's name, such as "ocean/sst/c/0/1".
     */
    const char *name;
    /**
     * Where the read begins: this many bytes behind the object's beginning or, if from_end is 1, before its end. An
     * object that has fewer bytes before its end is read from its beginning.
     */
    uint64_t offset;
    /**
     * 1 if offset counts from the end, else 0.
     */
    size_t from_end;
    /**
     * Where the bytes go.
     */
    void *buffer;
    /**
     * How many bytes there is room for. 0 asks for the object's length only.
     */
    size_t size;
    /**
     * The callback's: how many bytes it has put into the buffer: as many as the object has from there on, or as there
     * is room for. 0 at first.
     */
    size_t nbytes;
    /**
     * The callback's: how many bytes the whole object has. 0 at first.
     */
    uint64_t object_size;
    /**
     * The callback's, for a read that was started: how it ended, as read would return it. 0 at first.
     */
    ptrdiff_t status;
    /**
     * The callback's: whatever it wants to remember from start to wait. NULL at first.
     */
    void *handle;
    /**
     * The callback's, if the storage tells versions: a number other than 0 that is another one whenever the object has
     * other bytes, such as a hash of its ETag; 0 if it is not known. 0 at first.
     */
    uint64_t version;
} nczchunk_object_request;

/**
 * A storage of your own. Callbacks return 0 or a status, which ends the call.
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
     * Reads an object. For one that does not exist it returns NCZCHUNK_ENOOBJECT; no other failure may be said to be
     * that, for absent chunks read as fill values. May be NULL if start and wait are not.
     */
    int (*read)(void *user, nczchunk_object_request *request);
    /**
     * Calls found for the last part of the name of each object and prefix directly below a prefix, which is empty or a
     * name, each once; is_prefix is 1 for what the names of objects further below begin with. found gets the argument
     * that is given here; where it returns anything but 0, list returns that. It is called before list returns and by
     * the same thread; else it does nothing and returns NCZCHUNK_EINVAL. Names that no object can have, such as the
     * empty one, are passed over. May be NULL: then nothing is listed.
     */
    int (*list)(void *user,
                const char *prefix,
                int (*found)(void *argument, const char *name, int is_prefix),
                void *argument);
    /**
     * Writes a whole object of nbytes bytes in place of the one there was. A reader has to find the old bytes or the
     * new ones, nothing between. May be NULL: then the storage cannot be written to.
     */
    int (*write)(void *user, const char *name, const void *bytes, size_t nbytes);
    /**
     * Removes an object; one that does not exist is no error. May be NULL: then nothing can be removed.
     */
    int (*remove)(void *user, const char *name);
    /**
     * Called once when nobody uses the storage any more; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time; 0 keeps a call to its own thread.
     */
    size_t concurrent;
    /**
     * How many bytes more are better read than asked for by another request; 0 stands for 16 KiB or, with start, for
     * 1 MiB.
     */
    size_t gap;
    /**
     * With wait, for storages with latency, such as those over a network: begins to read an object as read does, but
     * returns at once. A call then keeps up to in_flight reads under way, and starts the next ones while it decodes;
     * if it may use threads, and concurrent is 1, each thread starts its share of them and waits for these. The
     * request, its name and its buffer stay valid until wait gives the request back. If start returns a status other
     * than 0, the read has not begun and will not be given back; so may an object be absent at once.
     */
    int (*start)(void *user, nczchunk_object_request *request);
    /**
     * Waits until a read that the calling thread started has ended, in any order, and sets done to it. The request's
     * status, nbytes and object_size say how it ended, as the result of read and what read sets would. To try again
     * after a failure that may pass is up to the callback. If wait itself returns a status other than 0, no read is
     * under way any more: the callback has ended all of them, and does not touch their buffers again. While reads are
     * under way, no callback may read from the storage by the library in the same thread: NCZCHUNK_EINVAL.
     */
    int (*wait)(void *user, nczchunk_object_request **done);
    /**
     * Told that a read that was started is not needed any more, because the call is about to end; may be NULL. The
     * request is still given back by wait, with any status.
     */
    void (*cancel)(void *user, nczchunk_object_request *request);
    /**
     * With start: how many reads may be under way at the same time, in each call; 0 stands for 64.
     */
    size_t in_flight;
    /**
     * With start: how many bytes of memory their buffers may take together, in each call; a single read is not refused
     * for that. 0 stands for as many as in_flight chunks take, but no less than largest.
     */
    size_t bytes_in_flight;
    /**
     * With start: chunks of one shard that are neighbours, or less than gap bytes apart, are read at once up to this
     * many bytes; 0 stands for 16 MiB.
     */
    size_t largest;
    /**
     * 1 if what is read comes with the object's version, in the request. Then the index of a shard is kept from call
     * to call, and of a chunk that is stored as it is the ranges that are needed are read one by one. If not, an index
     * is read in each call, before the chunks and after them, and a chunk in one range, so that an object that is
     * replaced meanwhile is found old or new.
     */
    size_t versions;
} nczchunk_storage_callbacks;

/**
 * A storage at a path: a directory, a zip file, or a file that holds arrays, which its first bytes tell; or, where
 * the library was built with NCZCHUNK_NETWORK, at a URL of an object store or HTTP server. Free it with
 * nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument, a malformed URL), NCZCHUNK_ENOTFOUND (there is no such path),
 * NCZCHUNK_ENOTNC (it is something else), NCZCHUNK_ENOTBUILT (a file that is known but cannot be read, a URL that
 * the library was built without), NCZCHUNK_EIO (a server did not answer as it should), NCZCHUNK_ENOMEM, and the
 * system's own numbers: EACCES also for a server that refuses access.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_open(const char *path,
                          nczchunk_storage **storage,
                          nczchunk_context *context);

/**
 * A storage that is one file of another storage: an object that holds arrays, by its name. The file need not be there
 * yet. It goes on using the other storage when that is freed. Free it with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_file(const nczchunk_storage *storage,
                          const char *name,
                          nczchunk_storage **file,
                          nczchunk_context *context);

/**
 * A storage at a path where something is to be created: a directory, which is made if there is none. Free it
 * with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTNC (there is a file that is no zip file),
 * NCZCHUNK_ENOTBUILT (there is nothing, and the name ends with .zip: see nczchunk_storage_create_zip),
 * NCZCHUNK_ENOMEM, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_create(const char *path,
                            nczchunk_storage **storage,
                            nczchunk_context *context);

/**
 * Sets whether files are opened that hold only a part of their arrays, as those of cfdb do that say that they are
 * copies of remote ones: 1 for yes, and then what has not been fetched is read as fill values; 0, which is how a
 * storage begins, for no, and then they are refused with NCZCHUNK_ENOTBUILT. Arrays that are open stay open.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_allow_partial(nczchunk_storage *storage,
                                   int allow,
                                   nczchunk_context *context);

/**
 * Sets how much memory may be taken for what is stored in a storage: for metadata that are read from now on, and for
 * the chunks of arrays that are opened or created in it from now on. What would take more fails with NCZCHUNK_ENOMEM,
 * and the context's message names the limit, as in
 *
 * ```text
 * chunk (0): more bytes of memory are needed than the limit string_chunk_bytes = 268435456; raise it by
 * nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust
 * ```
 *
 * To open an array by its path with other limits, make a storage of it first:
 *
 * ```c
 * nczchunk_memory_limits limits = NCZCHUNK_MEMORY_LIMITS_INIT;
 * limits.string_chunk_bytes = (size_t)2 << 30;
 * nczchunk_storage_open("texts.zarr", &storage, NULL);
 * nczchunk_storage_set_memory_limits(storage, &limits, NULL);
 * nczchunk_array_open_in(storage, "names", NCZCHUNK_READ, &array, NULL);
 * ```
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a struct_size of 0, or of a newer structure whose additions are in use).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_set_memory_limits(nczchunk_storage *storage,
                                       const nczchunk_memory_limits *limits,
                                       nczchunk_context *context);

/**
 * A storage that is written to a new zip file at a path. Its entries are stored as they are, for chunks are
 * compressed already. Arrays are created in it by nczchunk_array_create_in, written and read again; an object that is
 * written twice leaves its first bytes in the file, unused, so chunks are best written whole.
 *
 * The file is there when nczchunk_storage_finish has been called, in place of the one there was. Until then it has the
 * name `.<name>.<process>.<number>.partial` beside the path. If the storage is freed before, and all arrays in it are
 * closed, nothing is left. Free it with nczchunk_storage_free. A child that is forked can do that, too, which leaves
 * the file alone; all calls that would use the storage fail there with NCZCHUNK_EINVAL.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a path that no file can have), NCZCHUNK_ENOTBUILT (the library was built
 * without zip files), NCZCHUNK_ENOMEM, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_create_zip(const char *path,
                                nczchunk_storage **storage,
                                nczchunk_context *context);

/**
 * Says that all has been written to a storage. A new zip file gets its directory and its name, and cannot be written
 * to from then on; elsewhere there is nothing to do. After a failure it can be called again.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM, and the system's own numbers.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_storage_finish(nczchunk_storage *storage, nczchunk_context *context);

/**
 * A storage in memory, with nothing in it. Free it with nczchunk_storage_free.
 *
 * Any number of threads may use it at the same time. A child that was forked meanwhile can read it if no thread was
 * writing to it then, and must not write to it; it can free it.
 *
 * Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_storage_memory(nczchunk_storage **storage, nczchunk_context *context);

/**
 * Frees a storage. Arrays that were opened in it go on using it. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_storage_free(nczchunk_storage *storage);

/**
 * Writes an object of nbytes bytes, in place of the one there was.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_EPERM (the storage cannot be
 * written to), NCZCHUNK_ENOMEM, and those of the storage.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_write(const nczchunk_storage *storage,
                           const char *name,
                           const void *bytes,
                           size_t nbytes,
                           nczchunk_context *context);

/**
 * Has make make the codecs of this name that the metadata of arrays in the storage have, also where the library has
 * one of that name itself. A name without "numcodecs." stands for the same with it, too. Arrays that are opened or
 * created in the storage from then on know the codec; so does a listing of the storage. examples/own_codec.c is a
 * codec of its own.
 *
 * make sets codec to one that nczchunk_codec_new has made, which the library takes over, and returns 0; or it returns
 * a status, which ends the call that needs the codec. It is called when an array is opened, created or resized, and
 * for an array in shards more than once, by the thread that does that. user is passed to it.
 *
 * destroy, unless it is NULL, is called with user once: when the storage has been freed and every array is closed that
 * was opened or created in it, by the thread that does the last of these. If this call fails it is not called.
 *
 * The codec turns bytes into bytes. What the metadata of Zarr v3 have before the codec "bytes", such as
 * "numcodecs.mine", gets the bytes of the elements as well; these cannot be in another byte order than the machine's
 * then. For texts of any length, capacity of nczchunk_coding is not what is due to be decoded, but a bound: it is
 * tried again with a larger one.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; an empty name, or one of "bytes", "n5_default", "reshape",
 * "sharding_indexed", "transpose" and "vlen-utf8", which say how the elements of a chunk lie), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_storage_add_codec(nczchunk_storage *storage,
                               const char *name,
                               int (*make)(void *user, const nczchunk_codec_use *of, nczchunk_codec **codec),
                               void *user,
                               void (*destroy)(void *user),
                               nczchunk_context *context);

/**
 * A storage of your own. The callbacks are copied. Free it with nczchunk_storage_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; read is NULL and so is start; only one of start and wait is NULL; a
 * struct_size of 0, or of a newer structure whose additions are in use), NCZCHUNK_ENOMEM; then destroy is not called.
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
    {sizeof(nczchunk_storage_callbacks), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0}

#ifdef __cplusplus
}
#endif

#endif /* NCZCHUNK_ARRAY_H */
