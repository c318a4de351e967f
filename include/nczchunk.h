/*
 * nczchunk: hyperslabs of chunked n-dimensional arrays.
 *
 * Read and write hyperslabs of an n-dimensional array that is stored as chunks: files, objects, entries of a database.
 * A hyperslab is (start, count, stride), as in netCDF: along each dimension, count elements from start on, stride
 * apart. The library finds the chunks that a hyperslab touches, asks you for each of them once, and copies the selected
 * elements to their positions in memory.
 *
 *     size_t dimlens[2] = {90, 180}, chunklens[2] = {40, 50};              the array, and a chunk of it
 *     nczchunk_var_new(2, dimlens, chunklens, sizeof(float), &var, NULL);
 *
 *     nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .fill = read_chunk};
 *     nczchunk_chunk_store_new(&callbacks, &store, NULL);                    read_chunk is yours
 *
 *     size_t start[2] = {10, 0}, count[2] = {20, 60};
 *     ptrdiff_t stride[2] = {1, 3};                                        every third column
 *     nczchunk_read_vars(var, store, start, count, stride, data, NULL);    20 * 60 floats
 *
 * examples/first_read.c is this example as a whole program. The sections below are a tour: version, status and
 * objects; the variable; reading; writing; errors, progress and threads; plans; other layouts of memory; stores of your
 * own; codecs and caches. Then come the building blocks of these functions, for other uses: the strided copy,
 * projections and odometers. The last sections are the conventions of related systems.
 *
 * Rules for all functions:
 * - Lengths, indices and positions are in elements unless bytes are named. Lists with one entry per dimension have the
 *   slowest dimension first.
 * - The description of a pointer says if it may be NULL. Every other pointer must point to what its description says;
 *   a NULL in its place gives NCZCHUNK_EINVAL (NULL for start gives NCZCHUNK_EINVALCOORDS, as in netCDF). After an
 *   error, the results are untouched unless their description says otherwise.
 * - Every function that can fail takes a context as its last argument, which may be NULL.
 * - You own an object that a function makes. Free it with the _free function of its kind. Everything that you pass in
 *   stays yours unless the function says that it takes it over.
 * - No function keeps state outside its arguments. Different threads may use different objects at the same time. The
 *   description of each type says whether several threads may use one object.
 * - Nothing prints, aborts or raises signals. A failed allocation gives NCZCHUNK_ENOMEM and leaves everything usable.
 * - Structures that may grow begin with struct_size. Whoever makes such a structure sets it to the structure's size.
 *
 * This file is generated from the library's source. If a function does not appear in it, it is not part of the
 * interface.
 */
#ifndef NCZCHUNK_H
#define NCZCHUNK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Marks every function as visible and as part of the library. A program for Windows that links the DLL may define
 * NCZCHUNK_DLL.
 */
#ifndef NCZCHUNK_API
#if defined(_WIN32) && defined(NCZCHUNK_DLL)
#define NCZCHUNK_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define NCZCHUNK_API __attribute__((visibility("default")))
#else
#define NCZCHUNK_API
#endif
#endif

/*
 * Marks every function that returns a status: gcc and clang warn if the status is ignored. To disable these warnings,
 * define NCZCHUNK_MUST_USE as nothing before you include this file.
 */
#ifndef NCZCHUNK_MUST_USE
#if defined(__GNUC__)
#define NCZCHUNK_MUST_USE __attribute__((warn_unused_result))
#else
#define NCZCHUNK_MUST_USE
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------------------
 * VERSION
 *
 * The macros are the version that a program is compiled with. The functions return the version that it runs with.
 */

#define NCZCHUNK_VERSION_MAJOR 0
#define NCZCHUNK_VERSION_MINOR 3
#define NCZCHUNK_VERSION_PATCH 0
#define NCZCHUNK_VERSION "0.3.0"
#define NCZCHUNK_VERSION_NUMBER \
    (NCZCHUNK_VERSION_MAJOR * 1000000 + NCZCHUNK_VERSION_MINOR * 1000 + NCZCHUNK_VERSION_PATCH)

/**
 * Returns the version of the library in use as a string, for example "0.3.0". The string is static and never NULL.
 */
NCZCHUNK_API const char *nczchunk_version(void);

/**
 * Returns the version of the library in use as a number to compare with NCZCHUNK_VERSION_NUMBER: major * 1000000 +
 * minor * 1000 + patch.
 */
NCZCHUNK_API int nczchunk_version_number(void);

/* ---------------------------------------------------------------------------------------------------------------------
 * STATUS
 *
 * Functions that can fail return an int: 0 for success, one of netCDF's numbers below, a positive errno value, or a
 * status that a callback of yours returned.
 */

#define NCZCHUNK_NOERR        0      /**< Success. */
#define NCZCHUNK_EEXIST       (-35)  /**< An array or group exists where one is to be created. */
#define NCZCHUNK_EINVAL       (-36)  /**< An invalid argument, such as a NULL pointer or a buffer that is too small. */
#define NCZCHUNK_EPERM        (-37)  /**< A write to something that is read-only. */
#define NCZCHUNK_EINVALCOORDS (-40)  /**< A start beyond its dimension, or an index out of range. */
#define NCZCHUNK_ENOTATT      (-43)  /**< The array has no attribute of this name. */
#define NCZCHUNK_EMAXDIMS     (-41)  /**< The rank is above 1024. */
#define NCZCHUNK_EBADTYPE     (-45)  /**< An unsupported type, or a byte order for elements without one. */
#define NCZCHUNK_EBADDIM      (-46)  /**< The variable has no such dimension. */
#define NCZCHUNK_ENOTVAR      (-49)  /**< The object of this name is not an array. */
#define NCZCHUNK_ENOTNC       (-51)  /**< The format is unknown. */
#define NCZCHUNK_ECHAR        (-56)  /**< A string where numbers are expected. */
#define NCZCHUNK_EEDGE        (-57)  /**< The last selected element is beyond its dimension. */
#define NCZCHUNK_ESTRIDE      (-58)  /**< A stride is below 1. */
#define NCZCHUNK_ERANGE       (-60)  /**< A number is out of the range of its type. */
#define NCZCHUNK_ENOMEM       (-61)  /**< Out of memory, or above a memory limit. */
#define NCZCHUNK_EVARSIZE     (-62)  /**< A variable is larger than its format allows. */
#define NCZCHUNK_EDIMSIZE     (-63)  /**< The length of a dimension is out of range. */
#define NCZCHUNK_EIO          (-68)  /**< A read or write failed, or a chunk does not decode. */
#define NCZCHUNK_ENOTFOUND    (-90)  /**< The file, directory or array does not exist. */
#define NCZCHUNK_EINTERNAL    (-92)  /**< A bug in this library. */
#define NCZCHUNK_EBADCHUNK    (-127) /**< A stored or decoded chunk has a wrong length. */
#define NCZCHUNK_ENOTBUILT    (-128) /**< A feature that the library does not support or was built without. */
#define NCZCHUNK_ECANTEXTEND  (-130) /**< A dimension that cannot be extended. */
#define NCZCHUNK_EFILTER      (-132) /**< A codec cannot encode a chunk. */
#define NCZCHUNK_ENOFILTER    (-136) /**< A codec is unknown or cannot be used in this way. */
#define NCZCHUNK_ENCZARR      (-137) /**< The metadata violate the rules of their format. */
#define NCZCHUNK_EEMPTY       (-139) /**< Returned by a callback: the chunk is missing. */
#define NCZCHUNK_EOBJECT      (-140) /**< Returned by a callback: an object exists that should not. */
#define NCZCHUNK_ENOOBJECT    (-141) /**< Returned by a callback: the chunk is missing. */

/**
 * Returns the message for a status code: netCDF's message for netCDF's numbers, that of strerror for positive ones,
 * and "Unknown Error" for others. Do not free it.
 */
NCZCHUNK_API const char *nczchunk_strerror(int status);

/* ---------------------------------------------------------------------------------------------------------------------
 * OBJECTS
 *
 * Opaque types. Create each with its _new function or with another function that returns one, and release it with
 * its _free function.
 */

/**
 * A cache of decoded chunks. Any number of threads may use one at the same time. In a forked child process it is empty
 * and keeps nothing.
 */
typedef struct nczchunk_cache nczchunk_cache;

/**
 * A store: the source and destination of chunks. Several threads may use one at the same time if its callbacks may run
 * in several threads. Between calls it keeps the memory that it needed: for each thread that used it at the same time,
 * up to 16, one chunk; with codecs also one encoded chunk and the memory of the codecs.
 */
typedef struct nczchunk_chunk_store nczchunk_chunk_store;

/**
 * A codec. Hand it over to a store with nczchunk_chunk_store_add_codec.
 */
typedef struct nczchunk_codec nczchunk_codec;

/**
 * The errors of the last call, and the resources that calls may use: see CONTEXT. One context serves one call at a
 * time; use one per thread.
 */
typedef struct nczchunk_context nczchunk_context;

/**
 * A plan: which chunks a hyperslab touches, and where their elements go in memory. It has copies of everything that it
 * was made from, so the variable may be changed or freed meanwhile. Any number of threads may use a plan at the same
 * time.
 */
typedef struct nczchunk_plan nczchunk_plan;

/**
 * A variable: how an array is divided into chunks, and what its elements are. Any number of threads may use one at the
 * same time, as long as none changes it.
 */
typedef struct nczchunk_var nczchunk_var;

/* ---------------------------------------------------------------------------------------------------------------------
 * VARIABLE: THE LAYOUT OF THE STORED ARRAY
 *
 * Describe how an n-dimensional array is divided into chunks, and what its elements are. A variable holds no data.
 * Dimensions are listed slowest first, as in netCDF. A chunk is stored at full size, even if it reaches beyond the end
 * of a dimension. It is row-major unless nczchunk_var_set_chunk_order says otherwise.
 */

/**
 * The largest rank: netCDF's NC_MAX_VAR_DIMS.
 */
#define NCZCHUNK_MAX_RANK 1024

/**
 * Stored words have this machine's byte order; netCDF's NC_ENDIAN_NATIVE.
 */
#define NCZCHUNK_ENDIAN_NATIVE 0

/**
 * Stored words have the least significant byte first; netCDF's NC_ENDIAN_LITTLE.
 */
#define NCZCHUNK_ENDIAN_LITTLE 1

/**
 * Stored words have the most significant byte first; netCDF's NC_ENDIAN_BIG.
 */
#define NCZCHUNK_ENDIAN_BIG 2

/**
 * Creates a variable of rank dimensions. Its elements have element_size bytes in native byte order, and its fill value
 * is zeros. dimlens and chunklens have rank entries, in elements, and are copied. Rank 0 is a scalar: one element, in
 * one chunk; then both may be NULL. A dimension may have length 0; an unlimited one is given at its current length. A
 * chunk may be longer than its dimension. Free the variable with nczchunk_var_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; element_size 0; a chunk length of 0; a chunk larger than PTRDIFF_MAX
 * bytes), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_EDIMSIZE (a dimension longer than PTRDIFF_MAX +
 * 1), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_new(size_t rank,
                     const size_t *dimlens,
                     const size_t *chunklens,
                     size_t element_size,
                     nczchunk_var **var,
                     nczchunk_context *context);

/**
 * Frees a variable. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_var_free(nczchunk_var *var);

/**
 * Sets the fill value, as which missing chunks read: one element of element_size bytes, which are copied. It is in
 * native byte order for any byte order of the variable, and is never swapped. NULL stands for zeros.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_fill_value(nczchunk_var *var,
                                const void *fill_value,
                                nczchunk_context *context);

/**
 * Sets the byte order of the stored words: one of the NCZCHUNK_ENDIAN_ constants. Words are swapped between chunk and
 * memory as needed. Memory is always in native order.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; no such constant), NCZCHUNK_EBADTYPE (LITTLE or BIG for elements that have no
 * words, on every machine: see nczchunk_var_set_word_size).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_var_set_endian(nczchunk_var *var, int endian, nczchunk_context *context);

/**
 * Sets the size in bytes of the words that elements consist of: 1, 2, 4 or 8, and a divisor of element_size. By
 * default, an element of 1, 2, 4 or 8 bytes is one word, and one of 16 bytes is two words, as a complex number is. An
 * element of any other size has no words and no byte order. Set 4 for complex numbers of 8 bytes, and 1 for
 * fixed-length strings.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; an invalid word size).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_word_size(nczchunk_var *var,
                               size_t word_size,
                               nczchunk_context *context);

/**
 * Sets the order in which the elements of a chunk are stored. order has rank entries and names each dimension once,
 * from the slowest to the fastest: {0, 1, 2} is row-major, {2, 1, 0} is Fortran order (Zarr's order "F"), and any
 * other order is a transpose (Zarr's codec "transpose"). NULL stands for row-major. The order in memory does not
 * change.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; a dimension that is named twice or does not exist), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_chunk_order(nczchunk_var *var,
                                 const size_t *order,
                                 nczchunk_context *context);

/**
 * Sets a coarser grid for writing the variable, for chunks that are stored in shards: a shard can only be written as a
 * whole. write_chunklens has rank entries, in elements, each a multiple of the chunk's length. NULL stands for the
 * chunks themselves. Reads use the chunks as before. This grid applies to writes, to plans for writing, to the chunks
 * that they cover, to their parts, and to the check whether two plans share chunks. A store is asked to fetch and to
 * store chunks of this size.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; lengths that are not multiples; a chunk larger than PTRDIFF_MAX bytes),
 * NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_write_grid(nczchunk_var *var,
                                const size_t *write_chunklens,
                                nczchunk_context *context);

/**
 * Sets the lengths of the chunks along a dimension, counted from 0, where they differ: chunk i of the dimension
 * contributes lengths[i] elements and is stored with, and decodes to, encoded_lengths[i] elements, which is no less.
 * Each chunk begins where the one before it ends. What a chunk decodes to beyond its length is never read, and is
 * written as fill values. encoded_lengths NULL stands for lengths. Both have num_chunks entries, which are copied.
 * They may reach beyond the end of the dimension, also by whole chunks, and bound how long nczchunk_var_set_dimlen can
 * make it. lengths NULL stands for chunks of one length again, that of nczchunk_var_chunklen.
 *
 * So several files that were chunked alike are one variable along their first dimension, although their last chunks
 * hold fewer elements than they are stored with.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; num_chunks 0; a length of 0; an encoded length that is less than the length;
 * lengths whose sum is less than the dimension's; a chunk larger than PTRDIFF_MAX bytes; more elements than
 * PTRDIFF_MAX; a variable with a write grid), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (a dimension
 * with another origin than 0), NCZCHUNK_ENOMEM. After an error the chunks are as they were.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_chunk_lengths(nczchunk_var *var,
                                   size_t dimension,
                                   size_t num_chunks,
                                   const size_t *lengths,
                                   const size_t *encoded_lengths,
                                   nczchunk_context *context);

/**
 * Changes the current length of a dimension, counted from 0, for example when an unlimited dimension has grown. Set
 * the current length before a write: the write ignores stored elements beyond the length, and may replace them by the
 * fill value.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; more than the chunks of nczchunk_var_set_chunk_lengths have), NCZCHUNK_EBADDIM
 * (no such dimension), NCZCHUNK_EDIMSIZE (dimlen above PTRDIFF_MAX + 1).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_dimlen(nczchunk_var *var,
                            size_t dimension,
                            size_t dimlen,
                            nczchunk_context *context);

/**
 * Changes the origin of a dimension, counted from 0, as cfdb does when elements are prepended. Chunks are aligned to
 * multiples of their length in an index space in which the dimension's first element has the index origin, at first 0.
 * To prepend n elements, subtract n from the origin and add n to the length. With a negative origin some chunks have
 * negative indices, and the first one may hold elements only in its upper part.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (an origin that
 * leaves no room for the dimension, or for the chunk that holds its first element, in the range of ptrdiff_t).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_origin(nczchunk_var *var,
                            size_t dimension,
                            ptrdiff_t origin,
                            nczchunk_context *context);

/**
 * Sets a function that copies elements, for elements that own more than their bytes, such as pointers to strings that
 * must be duplicated. copier is called instead of copying bytes; NULL stands for copying bytes. It copies count
 * elements, which are contiguous on both sides: from memory to a chunk if writing is 1, from a chunk to memory if
 * writing is 0. source and destination have the alignment of the chunk and the memory at that element. When writing,
 * the copier frees the old contents of the destination. When reading, the destination holds nothing. The copier
 * returns 0, or a status that ends the call. Several threads that use the variable may call it at the same time; one
 * call of the library uses one thread.
 *
 * With a copier no bytes are swapped, and chunks must be borrowed as they are. With a store that reads chunks into a
 * buffer, or that has codecs, reads and writes give NCZCHUNK_EINVAL. Missing chunks read as copies of the fill value.
 * Without a fill value they read as zero bytes, which are not passed to the copier. After an error, some elements of
 * memory, or of the chunk at which it happened, are copied and some are not. To find out which, set the memory to zero
 * before a read.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_copier(nczchunk_var *var,
                            int (*copier)(void *user, int writing, size_t count, const void *source, void *destination),
                            void *user,
                            nczchunk_context *context);

/**
 * Returns the number of dimensions; 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_rank(const nczchunk_var *var);

/**
 * Returns the current length of a dimension, counted from 0, in elements. Returns 0 if the dimension does not exist,
 * and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_dimlen(const nczchunk_var *var, size_t dimension);

/**
 * Returns the length of a chunk along a dimension, counted from 0, in elements; where chunks differ
 * (nczchunk_var_set_chunk_lengths), the largest that one decodes to. Returns 0 if there is no such dimension, and for
 * NULL.
 */
NCZCHUNK_API size_t nczchunk_var_chunklen(const nczchunk_var *var, size_t dimension);

/**
 * Returns the length of a chunk of the write grid along a dimension, counted from 0, in elements. Without such a grid
 * it is that of nczchunk_var_chunklen. Returns 0 if the dimension does not exist, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_write_chunklen(const nczchunk_var *var, size_t dimension);

/**
 * Returns the number of chunks along a dimension, counted from 0, stored or absent. Returns 0 if there is no such
 * dimension, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_num_chunks(const nczchunk_var *var, size_t dimension);

/**
 * Returns 1 if the chunks along a dimension, counted from 0, have one length, which is that of nczchunk_var_chunklen.
 * Returns 0 if they have a list of lengths (nczchunk_var_set_chunk_lengths), if there is no such dimension, and for
 * NULL.
 */
NCZCHUNK_API int nczchunk_var_is_regular(const nczchunk_var *var, size_t dimension);

/**
 * Tells where the chunk with an index lies along a dimension, counted from 0, all in elements: start receives the
 * first element of the dimension that it holds, length how many it holds, and encoded_length how many it is stored
 * with and decodes to. Each may be NULL.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EINVALCOORDS (no such chunk).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_chunk_extent(const nczchunk_var *var,
                              size_t dimension,
                              ptrdiff_t chunk_index,
                              size_t *start,
                              size_t *length,
                              size_t *encoded_length,
                              nczchunk_context *context);

/**
 * Returns the origin of a dimension, counted from 0. Returns 0 if the dimension does not exist, and for NULL.
 */
NCZCHUNK_API ptrdiff_t nczchunk_var_origin(const nczchunk_var *var, size_t dimension);

/**
 * Returns the size of an element in bytes; 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_element_size(const nczchunk_var *var);

/**
 * Returns the size in bytes of the words that elements consist of; 0 for elements without words, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_word_size(const nczchunk_var *var);

/**
 * Returns the byte order of the stored words, one of the NCZCHUNK_ENDIAN_ constants; NCZCHUNK_ENDIAN_NATIVE for NULL.
 */
NCZCHUNK_API int nczchunk_var_endian(const nczchunk_var *var);

/**
 * Returns the size of a whole decoded chunk in bytes; where chunks differ (nczchunk_var_set_chunk_lengths), of one
 * that has the largest length along each dimension. Returns 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_chunk_bytes(const nczchunk_var *var);

/**
 * Returns the fill value: element_size bytes without alignment. Returns NULL if none is set, which stands for zeros or
 * empty strings, and for NULL. The fill value belongs to the variable and is valid until it is changed or the variable
 * is freed.
 */
NCZCHUNK_API const void *nczchunk_var_fill_value(const nczchunk_var *var);

/* ---------------------------------------------------------------------------------------------------------------------
 * READING A HYPERSLAB
 *
 * Read any hyperslab of a variable into memory of yours:
 *
 *     size_t start[2] = {10, 0}, count[2] = {20, 60};
 *     ptrdiff_t stride[2] = {1, 3};
 *     float data[20][60];
 *     int status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);
 */

/**
 * Reads a hyperslab, as nc_get_vars does. Along each dimension, reads count elements from start on, stride apart, into
 * data.
 *
 * start, count and stride have one entry per dimension. A NULL count stands for the length of each dimension, whatever
 * the start; a NULL stride stands for 1 everywhere. For a scalar all three are ignored. data has room for the product
 * of the counts, in elements of element_size bytes, row-major and without gaps. The result is in native byte order.
 * data needs no alignment, and must not overlap memory that callbacks lend.
 *
 * Every touched chunk is asked for once (nczchunk_reader_callbacks lists the exceptions); no other chunk is asked for.
 * One thread asks in row-major order of chunk indices. If any count is 0, nothing is asked for.
 *
 * Errors found before any callback runs, with data untouched, in this order: NCZCHUNK_EINVAL (var or store is NULL),
 * NCZCHUNK_EINVALCOORDS (start is NULL), NCZCHUNK_ESTRIDE (a stride below 1, in any dimension). Then, dimension by
 * dimension, NCZCHUNK_EINVALCOORDS (start beyond the dimension, or at its end with count above 0) and NCZCHUNK_EEDGE
 * (the last element, start + (count - 1) * stride, beyond the dimension). Then NCZCHUNK_EINVAL (data is NULL although
 * elements are selected; more than PTRDIFF_MAX bytes).
 *
 * Errors of a chunk: the status that a callback returned, NCZCHUNK_EBADCHUNK (a chunk of the wrong length),
 * NCZCHUNK_EIO (a chunk that does not decode), NCZCHUNK_ENOMEM. The first of them in the order of chunks is returned,
 * and the contents of data are unspecified.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_read_vars(const nczchunk_var *var,
                       const nczchunk_chunk_store *store,
                       const size_t *start,
                       const size_t *count,
                       const ptrdiff_t *stride,
                       void *data,
                       nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * WRITING A HYPERSLAB
 *
 * Write any hyperslab of a variable from memory of yours. Chunks that the write covers are stored without being read.
 */

/**
 * Writes a hyperslab, as nc_put_vars does. Along each dimension, writes count elements from start on, stride apart,
 * from data.
 *
 * The arguments are those of nczchunk_read_vars. data is only read: it stays as it is for any byte order of the
 * variable. It must not overlap memory that callbacks lend.
 *
 * A chunk is covered if the write replaces every element of it inside the dimensions. A chunk clipped by the end of a
 * dimension can be covered, too, and so can a chunk of one element with any stride. A covered chunk is stored without
 * being read. Any other chunk is fetched (or filled with the fill value if it is missing), changed, and stored. Each
 * chunk is stored once; one thread stores them in row-major order of chunk indices. Elements outside the dimensions,
 * in a chunk that is covered or was missing, become the fill value.
 *
 * Errors found before any callback runs: those of nczchunk_read_vars, in the same order; but if any count is 0,
 * nothing is written and NCZCHUNK_EEDGE is not returned. Then NCZCHUNK_EPERM (the store is read-only). Errors of a
 * chunk: those of reading it, and the status that a callback for writing returned. The chunks before the failed chunk
 * have been written. The failed chunk has not been written (unless its callback wrote it). The chunks after it were
 * not tried or, with several threads, may have been written. nczchunk_context_chunks_done returns the number of chunks
 * before it. Once the fault is gone, repeat the same call to write everything.
 *
 * Several threads may write to different chunks of one store at the same time if its callbacks may run in several
 * threads; see nczchunk_plan_shares_chunks. If two threads write to the same chunk, one may undo the change of the
 * other.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_write_vars(const nczchunk_var *var,
                        const nczchunk_chunk_store *store,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        const void *data,
                        nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * LISTS OF INDICES AND POINTS
 *
 * Read and write elements that no stride describes: along a dimension those of a list, or single elements.
 *
 *     size_t rows[3] = {7, 0, 7};
 *     const size_t *lists[2] = {rows, NULL};
 *     size_t start[2] = {0, 10}, count[2] = {3, 20};
 *     float of_rows[3][20];
 *     int status = nczchunk_read_lists(var, store, start, count, NULL, lists, of_rows, NULL);
 *
 *     size_t points[2][2] = {{9, 19}, {3, 2}};
 *     float of_points[2];
 *     if (!status) status = nczchunk_read_points(var, store, 2, &points[0][0], of_points, NULL);
 *
 * Each touched chunk is asked for, decoded and stored once, however many of its elements are named, and however often;
 * and so it is with several threads, with a cache and with requests in flight. The library sorts lists and points for
 * that: a point takes up to 64 bytes of memory while it does, then 16, and an index of a list 16.
 */

/**
 * Reads single elements. points has num_points * rank entries, one point after another: of each an index along every
 * dimension. The points may be in any order and may name an element several times. data has room for num_points
 * elements, in the order of the points. For a scalar, points is ignored.
 *
 * Every chunk that has a point is asked for once, in row-major order of chunk indices; no other chunk is. For
 * num_points 0 nothing is read.
 *
 * Errors found before any callback runs, with data untouched: NCZCHUNK_EINVAL (var or store is NULL; points is NULL
 * although there are indices; more than PTRDIFF_MAX bytes of points or elements), NCZCHUNK_EINVALCOORDS (an index
 * beyond its dimension), NCZCHUNK_ENOMEM, NCZCHUNK_EINVAL (data is NULL although elements are selected). Errors of a
 * chunk: those of nczchunk_read_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_read_points(const nczchunk_var *var,
                         const nczchunk_chunk_store *store,
                         size_t num_points,
                         const size_t *points,
                         void *data,
                         nczchunk_context *context);

/**
 * Writes single elements: the arguments are those of nczchunk_read_points. data is only read. If several points are
 * the same element, it becomes what data has for the last of them.
 *
 * Every chunk that has a point is stored once. It is fetched before, unless there are points at all of its elements
 * inside the dimensions. Errors found before any callback runs: those of nczchunk_read_points, then NCZCHUNK_EPERM
 * (the store is read-only). Errors of a chunk: those of nczchunk_write_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_write_points(const nczchunk_var *var,
                          const nczchunk_chunk_store *store,
                          size_t num_points,
                          const size_t *points,
                          const void *data,
                          nczchunk_context *context);

/**
 * Reads a hyperslab that has a list of indices along some dimensions. lists has rank entries. Where lists[d] is NULL,
 * start, count and stride select along dimension d as for nczchunk_read_vars. Where it is not, it has count[d]
 * indices, in any order and with any repetitions, and start[d] and stride[d] are ignored. data has room for the
 * product of the counts: element (i, j, ...) is the one at the i-th index of the first dimension, the j-th of the
 * second, and so on.
 *
 * lists NULL stands for no list. start may be NULL if every dimension has a list; count may be NULL, for the length of
 * each dimension, if none has.
 *
 * Every touched chunk is asked for once, as for nczchunk_read_vars.
 *
 * Errors found before any callback runs, with data untouched: those of nczchunk_read_vars, NCZCHUNK_EINVAL (count is
 * NULL although a dimension has a list), NCZCHUNK_EINVALCOORDS (an index beyond its dimension), NCZCHUNK_ENOMEM.
 * Errors of a chunk: those of nczchunk_read_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_read_lists(const nczchunk_var *var,
                        const nczchunk_chunk_store *store,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        const size_t *const *lists,
                        void *data,
                        nczchunk_context *context);

/**
 * Writes a hyperslab that has a list of indices along some dimensions: the arguments are those of nczchunk_read_lists.
 * data is only read. If a list has an index several times, the element becomes what data has for the last of them.
 *
 * Every touched chunk is stored once, and fetched before unless it is covered. Errors found before any callback runs:
 * those of nczchunk_read_lists, then NCZCHUNK_EPERM (the store is read-only). Errors of a chunk: those of
 * nczchunk_write_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_write_lists(const nczchunk_var *var,
                         const nczchunk_chunk_store *store,
                         const size_t *start,
                         const size_t *count,
                         const ptrdiff_t *stride,
                         const size_t *const *lists,
                         const void *data,
                         nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * CONTEXT: ERRORS, PROGRESS AND THREADS
 *
 * Ask a context which error occurred, in which dimension and at which chunk. A status gives only the kind of an error.
 * Every function that can fail takes a context as its last argument: pass NULL, or a context of yours, and ask it
 * afterwards for the message, the dimension and the chunk. Its answers are always about the last call with it. If a
 * context cannot be created, it is NULL, which is allowed everywhere; then there are no answers.
 *
 *     nczchunk_context *context = NULL;
 *     nczchunk_context_new(&context);
 *     if (nczchunk_read_vars(var, store, start, count, stride, data, context))
 *         fprintf(stderr, "%s\n", nczchunk_context_message(context));
 *         // "chunk (1, 0, 3): the stored chunk has 40 bytes, expected 4000"
 *     nczchunk_context_free(context);
 *
 * A context also sets how many threads a call may use, and the progress callback.
 */

/**
 * The progress of a call.
 */
typedef struct nczchunk_progress {
    /**
     * sizeof(nczchunk_progress) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * Chunks done.
     */
    size_t chunks_done;
    /**
     * Chunks in total.
     */
    size_t num_chunks;
    /**
     * Bytes of your memory that have been read or written.
     */
    size_t bytes_done;
    /**
     * Bytes of your memory that the call reads or writes, in total.
     */
    size_t num_bytes;
} nczchunk_progress;

/**
 * Creates a context. Free it with nczchunk_context_free.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_context_new(nczchunk_context **context);

/**
 * Frees a context. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_context_free(nczchunk_context *context);

/**
 * Returns the status of the last call; NCZCHUNK_NOERR for NULL.
 */
NCZCHUNK_API int nczchunk_context_status(const nczchunk_context *context);

/**
 * Returns the message for the error of the last call, a sentence of at most 511 bytes. It is empty if the call
 * succeeded, and for NULL. It belongs to the context and is valid until the next call with that context.
 */
NCZCHUNK_API const char *nczchunk_context_message(const nczchunk_context *context);

/**
 * Returns the dimension in which the last call failed, counted from 0; -1 if the error does not concern a dimension.
 */
NCZCHUNK_API int nczchunk_context_dimension(const nczchunk_context *context);

/**
 * Returns the indices of the chunk at which the last call failed, and their number in rank (NULL: not wanted). Returns
 * NULL if the error does not concern a chunk. The indices belong to the context and are valid until the next call with
 * that context.
 */
NCZCHUNK_API const ptrdiff_t *nczchunk_context_chunk(const nczchunk_context *context, size_t *rank);

/**
 * Returns the number of chunks that the last call has read or written. They are the first chunks of the plan, in its
 * order; if the call failed at a chunk, that chunk is the next one. The chunks after it were not tried or, with
 * several threads or requests in flight, some were and some were not. Returns 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_context_chunks_done(const nczchunk_context *context);

/**
 * Sets the progress callback of a context; NULL removes it. It is called in the calling thread only: before each chunk
 * that this thread transfers, and once when all chunks are done. If it returns anything but 0 before that last call,
 * the library's call ends with that status, after chunks_done chunks. progress is valid until the callback returns.
 * user is passed to the callback.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_context_set_progress(nczchunk_context *context,
                                  int (*progress)(void *user, const nczchunk_progress *progress),
                                  void *user);

/**
 * Sets the largest number of threads, including the caller's, that a call with this context may use at the same time.
 * It is 1 at first, and never more than 256. The call spawns worker threads and joins them before it returns, unless
 * the context keeps them (nczchunk_context_set_keeps_threads). It spawns them only if
 *
 * - the store's callbacks allow it (see concurrent),
 * - the variable has no copier,
 * - there are several chunks, or 4 MiB are read of one that is uncompressed in a file,
 * - elements that are read do not share memory,
 * - there is enough work: about 0.1 ms for each thread. For a store without codecs that lends chunks, and whose
 *   concurrent is 1, the work is estimated from the bytes. For any other store it is measured on the first chunks.
 *   Where hundreds of calls of this thread began within a few milliseconds, and none took 0.1 ms in the last seconds,
 *   the next ones are measured only once they have lasted some milliseconds.
 *
 * If the system refuses a thread, the remaining workers do its share. Results and status are the same for any number
 * of threads, as long as there is memory for a chunk in each. New threads have all signals blocked except those of a
 * fault (SIGSEGV, SIGBUS and the like), which are handled as in the caller.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL; threads is 0).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_context_set_threads(nczchunk_context *context, size_t threads);

/**
 * Sets whether a context keeps the threads that its calls spawn. With 1, those of one call wait for the next, which
 * then takes fewer microseconds to begin with several threads. They end when the context is freed, and when this is
 * set to 0; both wait for them. If a callback sets it, they end with the call. It is 0 at first. What the context says
 * of the last call stays. Returns what it was, 0 or 1.
 *
 * Threads that wait use no time of a processor. They have the processors (affinity) and the privileges that the thread
 * had that made the call which spawned them. Do not unload the library before the context is freed. A child process
 * that was forked may use the context: its calls spawn threads of the child's own.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_context_set_keeps_threads(nczchunk_context *context, int keeps_threads);

/**
 * Sets whether calls with this context use the cache of a store or array. With 0, reads look for nothing there, and
 * keep nothing of what they read: they return what is stored, whatever the handle has read before. Writes do not
 * depend on it. It is 1 at first. What the context says of the last call stays. Returns what it was, 0 or 1.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_context_set_uses_cache(nczchunk_context *context, int uses_cache);

/* ---------------------------------------------------------------------------------------------------------------------
 * PLANS: TRANSFERS THAT ARE INSPECTED, DIVIDED, AND EXECUTED AGAIN
 *
 * Make a plan to learn what a read or write will do before it does it. A plan reports how many chunks it touches,
 * which chunks, how much of each, how many bytes it delivers, and the most bytes that it asks for. Its memory depends
 * on the rank, not on the number of chunks (up to 64 chunks are prepared for fast execution). It finds any chunk in
 * constant time. Every read and write above makes a plan and executes it. You can execute a plan of your own any
 * number of times, as a whole or in parts, in several threads at once:
 *
 *     nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &plan, NULL);
 *     for (;;) {
 *         nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, NULL);        the same hyperslab, as often as needed
 *         ...
 *     }
 *
 * For a variable with a write grid, a plan for writing uses the chunks of that grid.
 */

/** As a number of chunks: all of the plan's that follow the first one. */
#define NCZCHUNK_ALL SIZE_MAX

/**
 * A plan for reading.
 */
#define NCZCHUNK_READ 0

/**
 * A plan for writing. If any count is 0, the far end of no dimension is checked.
 */
#define NCZCHUNK_WRITE 1



/**
 * The totals of a plan. Set struct_size before a call fills it in.
 */
typedef struct nczchunk_totals {
    /**
     * sizeof(nczchunk_totals).
     */
    size_t struct_size;
    /**
     * Chunks touched.
     */
    size_t chunks;
    /**
     * Touched chunks that are covered: a write replaces every element inside the dimensions and needs no read.
     */
    size_t covered_chunks;
    /**
     * Elements selected.
     */
    size_t elements;
    /**
     * Bytes selected: the bytes that a read delivers.
     */
    size_t selected_bytes;
    /**
     * Bytes of the touched chunks at full size: before encoding, and as if no chunk were missing. SIZE_MAX if there
     * are more.
     */
    size_t chunk_bytes;
    /**
     * Chunks of the whole variable, touched or not, stored or missing. SIZE_MAX if there are more.
     */
    size_t grid_chunks;
} nczchunk_totals;

/**
 * The part of a slice that lies in one chunk, along one dimension. All lengths and positions are in elements.
 */
typedef struct nczchunk_projection {
    /**
     * The chunk's index along the dimension. Signed, because a dimension that grew at its front has chunks below 0.
     */
    ptrdiff_t chunk_index;
    /**
     * The chunk's beginning in the index space that the origin refers to: chunk_index * chunklen, or the sum of the
     * lengths of the chunks before it.
     */
    ptrdiff_t offset;
    /**
     * The first selected element, counted from the beginning of the chunk.
     */
    size_t first;
    /**
     * The last selected element, counted from the beginning of the chunk.
     */
    size_t last;
    /**
     * The end of the dimension, counted from the beginning of the chunk: chunklen, or less in the last chunk.
     */
    size_t limit;
    /**
     * The position of the first selected element in memory, along this dimension.
     */
    size_t iopos;
    /**
     * The number of selected elements: first, first + stride, ... last.
     */
    size_t iocount;
} nczchunk_projection;

/**
 * Makes a plan for a hyperslab, with the arguments of nczchunk_read_vars and nczchunk_write_vars. access is
 * NCZCHUNK_READ or NCZCHUNK_WRITE. Free the plan with nczchunk_plan_free.
 *
 * Errors: those that these functions find before any callback runs, except those of data and store; NCZCHUNK_EINVAL
 * (plan is NULL; an unknown access), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_new(const nczchunk_var *var,
                      const size_t *start,
                      const size_t *count,
                      const ptrdiff_t *stride,
                      int access,
                      nczchunk_plan **plan,
                      nczchunk_context *context);

/**
 * Makes a plan for a hyperslab in memory with an imap, with the arguments of nczchunk_read_varm and
 * nczchunk_write_varm.
 *
 * Errors: those of nczchunk_plan_new; NCZCHUNK_EINVAL also for an imap that reaches beyond the address space.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_new_varm(const nczchunk_var *var,
                           const size_t *start,
                           const size_t *count,
                           const ptrdiff_t *stride,
                           const ptrdiff_t *imap,
                           int access,
                           nczchunk_plan **plan,
                           nczchunk_context *context);

/**
 * Makes a plan for a hyperslab in a part of a block of memory, forwards or backwards, with the arguments of
 * nczchunk_read_strided and nczchunk_write_strided.
 *
 * Errors: those that these functions find before any callback runs, except those of memory and store; NCZCHUNK_EINVAL
 * (plan is NULL; an unknown access), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_new_strided(const nczchunk_var *var,
                              const size_t *start,
                              const size_t *count,
                              const ptrdiff_t *stride,
                              size_t memory_size,
                              size_t memory_offset,
                              const ptrdiff_t *memory_strides,
                              int access,
                              nczchunk_plan **plan,
                              nczchunk_context *context);

/**
 * Frees a plan. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_plan_free(nczchunk_plan *plan);

/**
 * Returns the totals of a plan.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; the struct_size of totals is not set).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_totals(const nczchunk_plan *plan,
                         nczchunk_totals *totals,
                         nczchunk_context *context);

/**
 * Returns the i-th chunk of a plan, counted from 0 in row-major order of chunk indices, which is the order of reading.
 *
 * projections has room for one entry per dimension. Each entry has projection_size bytes: sizeof(nczchunk_projection).
 * For each dimension, the entry receives the chunk's index, the elements selected in the chunk (first, last, iocount:
 * a box with stride) and their position in memory (iopos, iocount: a box without gaps). covered (NULL: not wanted)
 * receives 1 if every element of the chunk inside the dimensions is selected, else 0.
 *
 * Errors: NCZCHUNK_EINVAL (plan is NULL; projections is NULL and the rank is not 0; a smaller projection_size),
 * NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_chunk(const nczchunk_plan *plan,
                        size_t i,
                        nczchunk_projection *projections,
                        size_t projection_size,
                        int *covered,
                        nczchunk_context *context);

/**
 * Checks whether writes by two plans for the same variable would touch a chunk in common. shared receives 1 if so,
 * else 0. Writes may run at the same time if their plans share no chunk. For a variable with a write grid, the chunks
 * are those of that grid. The check takes about the same time for any number of chunks; where chunks have a list of
 * lengths (nczchunk_var_set_chunk_lengths), for any number of those that are alike and side by side. If both plans
 * have strides, it takes up to one step for each element that one plan has along a dimension, or two for each element
 * of a chunk, whichever is less.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_shares_chunks(const nczchunk_plan *plan,
                                const nczchunk_plan *other,
                                int *shared,
                                nczchunk_context *context);

/**
 * Finds the i-th chunk of a plan in another plan for the same variable: other_i receives its number there, for
 * nczchunk_plan_chunk and the like, or SIZE_MAX if the other plan does not touch that chunk. Where several processes
 * have a plan each, this tells what one has that another needs. It takes about the same time for any number of chunks.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins),
 * NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_intersect(const nczchunk_plan *plan,
                            size_t i,
                            const nczchunk_plan *other,
                            size_t *other_i,
                            nczchunk_context *context);

/**
 * Tells which of several plans for the same variable owns the i-th chunk of the one with number plan: owner receives
 * the owner's number, counted from 0. If each process knows the plans of all, each applies the same rule and none has
 * to ask: the owner fetches and decodes the chunk, and sends the others what they need of it. nczchunk_mpi does so.
 *
 * The owner is one of the plans that need most of the chunk: that select at least half as many of its elements as the
 * plan that selects the most. Chunks that several plans need so are divided among them in equal parts, of chunks that
 * lie side by side where that is possible. The order of the plans counts, so it must be the same everywhere.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument, or a NULL in plans; plans for different ranks, chunk lengths or origins),
 * NCZCHUNK_EINVALCOORDS (plan is not below num_plans; i is beyond its last chunk), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_owner(const nczchunk_plan *const *plans,
                        size_t num_plans,
                        size_t plan,
                        size_t i,
                        size_t *owner,
                        nczchunk_context *context);

/**
 * Returns one of num_parts parts of a plan, counted from 0, for as many threads or processes: num_chunks chunks from
 * number first_chunk on. The parts differ by at most one chunk in length, and together they are the whole plan. If
 * there are more parts than chunks, some are empty. Parts of a plan for writing touch different chunks (of the write
 * grid, if there is one), so they can be executed at the same time.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; num_parts is 0), NCZCHUNK_EINVALCOORDS (part is not below num_parts).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_part(const nczchunk_plan *plan,
                       size_t part,
                       size_t num_parts,
                       size_t *first_chunk,
                       size_t *num_chunks,
                       nczchunk_context *context);

/**
 * Executes a plan for reading, or a part of it: reads num_chunks of its chunks from number first_chunk on.
 *
 * data depends on the function that made the plan. It points to room for the selected elements without gaps; with an
 * imap to the first element; for nczchunk_plan_new_strided to the beginning of the block of memory. It is the same for
 * every part, and only the elements of the part's chunks are written to. Several threads may execute different parts
 * at the same time with the same data, each with its own context, if several threads may use the store.
 *
 * Errors: NCZCHUNK_EINVAL (plan or store is NULL; the plan is for writing; data is NULL although elements are
 * selected), NCZCHUNK_EINVALCOORDS (first_chunk is above the number of chunks), NCZCHUNK_EEDGE (first_chunk +
 * num_chunks is above the number of chunks, and num_chunks is not NCZCHUNK_ALL); errors of a chunk as for
 * nczchunk_read_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_read(const nczchunk_plan *plan,
                       const nczchunk_chunk_store *store,
                       size_t first_chunk,
                       size_t num_chunks,
                       void *data,
                       nczchunk_context *context);

/**
 * Executes a plan for writing, or a part of it, as nczchunk_plan_read does for reading. data is only read.
 *
 * Errors: NCZCHUNK_EINVAL (plan or store is NULL; the plan is for reading; data is NULL although elements are
 * selected), NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_plan_read; NCZCHUNK_EPERM and errors of a chunk
 * as for nczchunk_write_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_write(const nczchunk_plan *plan,
                        const nczchunk_chunk_store *store,
                        size_t first_chunk,
                        size_t num_chunks,
                        const void *data,
                        nczchunk_context *context);

/**
 * Copies the elements of the plan's i-th chunk between data and the chunk, which is the caller's: from the chunk if
 * the plan is for reading, to the chunk if it is for writing. No store is needed. chunk has nbytes bytes, the length
 * of that chunk, decoded and in stored byte order. Elements that are not selected are not touched. data is as for
 * nczchunk_plan_read.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_EBADCHUNK
 * (nbytes is another number), the status that the variable's copier returned, NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_copy_chunk(const nczchunk_plan *plan,
                             size_t i,
                             void *chunk,
                             size_t nbytes,
                             void *data,
                             nczchunk_context *context);

/** Initialises a nczchunk_totals that uses nothing yet. */
#define NCZCHUNK_TOTALS_INIT \
    {sizeof(nczchunk_totals), 0, 0, 0, 0, 0, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * OTHER LAYOUTS OF MEMORY
 *
 * Read into and write from memory in Fortran order, transposed, flipped, or in a part of a larger array, without a
 * copy. nczchunk_read_vars and nczchunk_write_vars need memory that is row-major and without gaps. These functions
 * take any memory in which the distance from one element to the next is constant along each dimension.
 *
 * If elements overlap in memory (a stride of 0), a write uses the same values repeatedly, and a read leaves one of the
 * values there.
 */

/**
 * Reads a hyperslab, as nc_get_varm does. It is nczchunk_read_vars, except that along dimension d the elements are
 * imap[d] elements apart in data. data points to the first element; imap may be negative. A NULL imap stands for
 * row-major without gaps. The library trusts that the memory at data is large enough; nczchunk_read_strided checks it.
 *
 * Errors: those of nczchunk_read_vars; NCZCHUNK_EINVAL also for an imap that reaches beyond the address space.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_read_varm(const nczchunk_var *var,
                       const nczchunk_chunk_store *store,
                       const size_t *start,
                       const size_t *count,
                       const ptrdiff_t *stride,
                       const ptrdiff_t *imap,
                       void *data,
                       nczchunk_context *context);

/**
 * Writes a hyperslab, as nc_put_varm does. It is nczchunk_write_vars with an imap as for nczchunk_read_varm.
 *
 * Errors: those of nczchunk_write_vars; NCZCHUNK_EINVAL also for an imap that reaches beyond the address space.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_write_varm(const nczchunk_var *var,
                        const nczchunk_chunk_store *store,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        const ptrdiff_t *imap,
                        const void *data,
                        nczchunk_context *context);

/**
 * Reads a hyperslab into a part of a block of memory, forwards or backwards.
 *
 * Along dimension d of the variable the elements are start[d] + k * stride[d], for k from 0 to count[d] - 1. stride
 * may be negative: then start is the last of these elements in the variable. A NULL stride stands for 1 everywhere;
 * count must not be NULL unless the rank is 0. In memory, element k along dimension d is memory_strides[d] * k bytes
 * from the first one. The first one is memory_offset bytes into memory. memory has memory_size bytes, and nothing
 * outside it is touched.
 *
 * Errors: those of nczchunk_read_vars, with NCZCHUNK_ESTRIDE for a stride of 0 only, NCZCHUNK_EINVALCOORDS for a start
 * beyond the dimension and NCZCHUNK_EEDGE for a last element beyond either end of the dimension; NCZCHUNK_EINVAL if an
 * element does not lie within memory, or if memory_strides is NULL.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_read_strided(const nczchunk_var *var,
                          const nczchunk_chunk_store *store,
                          const size_t *start,
                          const size_t *count,
                          const ptrdiff_t *stride,
                          void *memory,
                          size_t memory_size,
                          size_t memory_offset,
                          const ptrdiff_t *memory_strides,
                          nczchunk_context *context);

/**
 * Writes a hyperslab from a part of a block of memory, forwards or backwards, with the arguments of
 * nczchunk_read_strided.
 *
 * Errors: those of nczchunk_write_vars and nczchunk_read_strided.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_write_strided(const nczchunk_var *var,
                           const nczchunk_chunk_store *store,
                           const size_t *start,
                           const size_t *count,
                           const ptrdiff_t *stride,
                           const void *memory,
                           size_t memory_size,
                           size_t memory_offset,
                           const ptrdiff_t *memory_strides,
                           nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * STORES OF YOUR OWN
 *
 * Give the library functions that fetch and store chunks, wherever you keep them. A chunk store asks its callbacks
 * only for chunks with at least one selected element, one chunk at a time unless you allow more. Along each dimension,
 * chunk i begins at element i * chunklen (less the origin, in a dimension that has one). There are two ways to provide
 * a chunk:
 *
 * - Zero-copy: lend the library a pointer to a chunk that is in memory already; for writing, a chunk that it may
 *   change.
 * - Reading: fill in a buffer of the library's; for writing, take the chunk from such a buffer. If the chunk is
 *   contiguous in the caller's memory, the buffer is that memory, and nothing is copied.
 *
 * A callback returns 0. One that provides a chunk may return NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT instead: the chunk
 * is missing and reads as the fill value. Any other status ends the call, which returns that status. A callback must
 * not leave by a C++ exception, longjmp or pthread_exit. In a process that has several threads when the call begins,
 * the library holds off pthread_cancel while it runs. So a callback that starts the first other thread must not let
 * that thread cancel the thread of the callback. A callback may call the library, but must not change or free objects
 * that the running call uses. It may query the context of the running call, but not use it for another call.
 *
 * A store whose callbacks for writing are NULL is read-only.
 *
 * Structures of callbacks begin with their own size, so that they can grow. Set struct_size to sizeof the structure
 * and every field that you do not use to 0, as NCZCHUNK_ZERO_COPY_CALLBACKS_INIT and NCZCHUNK_READER_CALLBACKS_INIT
 * do. The arguments of a callback are valid until it returns, unless their description says otherwise.
 */

/**
 * A borrowed chunk: the chunk that the library asks for, and the lender's answer. The library sets the fields up to
 * covered; the callback sets the others. release gets the same fields, possibly at another address.
 */
typedef struct nczchunk_borrowed_chunk {
    /**
     * sizeof(nczchunk_borrowed_chunk) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * The number of chunk_indices.
     */
    size_t rank;
    /**
     * The chunk's indices, one per dimension. Aligned as ptrdiff_t and valid until the callback returns. NULL is
     * possible only if rank is 0.
     */
    const ptrdiff_t *chunk_indices;
    /**
     * NCZCHUNK_READ, or NCZCHUNK_WRITE for a chunk that is borrowed to be changed. A variable with a write grid is
     * written by that grid: then the indices count the chunks of that grid.
     */
    size_t access;
    /**
     * The length of the whole chunk in bytes; decoded if the store has codecs.
     */
    size_t chunk_bytes;
    /**
     * For writing: 1 if every element of the chunk inside the dimensions will be replaced, else 0.
     */
    size_t covered;
    /**
     * The chunk's first byte. The library only reads the chunk unless access is NCZCHUNK_WRITE. The library needs no
     * alignment; a copier gets the elements with the alignment that they have there. NULL at first.
     */
    void *data;
    /**
     * The chunk's length in bytes. 0 at first.
     */
    size_t nbytes;
    /**
     * A value of the lender's choice, which release finds here: the lender's own name for the chunk. NULL at first.
     */
    void *handle;
} nczchunk_borrowed_chunk;

/**
 * Callbacks for zero-copy access, which lend chunks.
 */
typedef struct nczchunk_zero_copy_callbacks {
    /**
     * sizeof(nczchunk_zero_copy_callbacks).
     */
    size_t struct_size;
    /**
     * Passed to every callback.
     */
    void *user;
    /**
     * Lends a chunk. Sets data to its first byte, nbytes to its length in bytes, and handle to any value. The length
     * must be that of a full chunk; in a store with codecs it is that of the encoded chunk. The chunk must stay valid
     * and unchanged until release is called for it. Without release it must stay valid and unchanged until lend or
     * lend_to_write is called again, in any thread.
     *
     * With NCZCHUNK_EEMPTY, data may be set, too. Then it is a chunk of fill values in native byte order, which the
     * library uses instead of the variable's fill value. (A store with codecs does not use it.) A cache that keeps
     * such a chunk returns NCZCHUNK_EEMPTY for it each time until the chunk has been written. Afterwards its data are
     * in stored byte order.
     */
    int (*lend)(void *user, nczchunk_borrowed_chunk *loan);
    /**
     * For writing; may be NULL. Lends a chunk to be changed, as lend does. If covered is 1, the chunk need not be read
     * first, and its contents do not matter. With NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT it is a new chunk, and its
     * contents do not matter either: the library fills it with the fill value where it is not written.
     *
     * Elements with a copier are the exception, because the copier frees their old contents. A chunk with status 0
     * must hold elements, and a new chunk must hold zero bytes, covered or not.
     */
    int (*lend_to_write)(void *user, nczchunk_borrowed_chunk *loan);
    /**
     * Takes a chunk back; may be NULL. It is called once for every borrowed chunk: when lend set data and returned 0
     * or NCZCHUNK_EEMPTY, or lend_to_write set data and returned 0, NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT. It is
     * called before the same thread of that call asks for another chunk. status is the outcome. It is 0 if the whole
     * chunk was read or, with access NCZCHUNK_WRITE, changed. Any other status is a failure; then the contents of a
     * chunk that was to be changed are unspecified. If release itself returns a status other than 0 (for example
     * because the change cannot be kept), the call ends with that status, unless it has failed already.
     */
    int (*release)(void *user, nczchunk_borrowed_chunk *loan, int status);
    /**
     * Called once when the store is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time. A borrowed chunk must then stay valid until it
     * is released or, without release, until the library's call ends, whatever else is borrowed meanwhile. The call
     * may use threads (nczchunk_context_set_threads), which are not the program's own. They have a stack of the
     * system's default size, but at least 2 MiB, and thread-local variables as in any new thread. 0 restricts a call
     * to its own thread; you must then ensure that no two of your threads call at the same time. 2 is as 1, for
     * callbacks that may take any time to fetch or decode a chunk: the library then measures on the first chunks how
     * many threads are worthwhile.
     */
    size_t concurrent;
    /**
     * 1 if a chunk may be longer than a full one: then only its first bytes count, as in netCDF-C. 0 refuses a longer
     * chunk.
     */
    size_t accept_longer;
} nczchunk_zero_copy_callbacks;

/**
 * A request for one chunk: the chunk, a buffer, and the result. Callbacks receive a pointer to it.
 *
 * The library sets all fields except nbytes, status and handle, which the callback sets. The fields and the buffer are
 * valid until the callback returns or, for a request that start began, until wait returns it.
 */
typedef struct nczchunk_request {
    /**
     * sizeof(nczchunk_request) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * The number of chunk_indices.
     */
    size_t rank;
    /**
     * The chunk's indices, one per dimension; aligned as ptrdiff_t. NULL is possible only if rank is 0.
     */
    const ptrdiff_t *chunk_indices;
    /**
     * NCZCHUNK_READ; or NCZCHUNK_WRITE for a chunk that is stored, or fetched to be changed. A variable with a write
     * grid is written by that grid: then the indices count the chunks of that grid.
     */
    size_t access;
    /**
     * The length of the whole chunk in bytes; decoded if the store has codecs.
     */
    size_t chunk_bytes;
    /**
     * The first requested byte of the stored chunk. It is 0 unless the callbacks serve ranges.
     */
    size_t offset;
    /**
     * Fetching: the memory for the bytes. Storing: the bytes, which are only read. A buffer of the library is aligned
     * to 64 bytes. If the buffer is memory of the caller, it has the alignment of that memory.
     */
    void *buffer;
    /**
     * Fetching: the size of the buffer in bytes. Storing: the number of bytes to store.
     */
    size_t size;
    /**
     * Set by the callback when fetching: the number of bytes that the stored chunk has from offset on, even if it is
     * more than size. For a part of a chunk with at least size bytes, any number from size on is accepted. 0 at first.
     */
    size_t nbytes;
    /**
     * Set by the callback for a request that start began: its outcome, as fill would return it. 0 at first.
     */
    ptrdiff_t status;
    /**
     * Set by the callback: a value of its choice, kept from start to wait. NULL at first.
     */
    void *handle;
} nczchunk_request;

/**
 * Callbacks that read chunks into a buffer.
 */
typedef struct nczchunk_reader_callbacks {
    /**
     * sizeof(nczchunk_reader_callbacks).
     */
    size_t struct_size;
    /**
     * Passed to every callback.
     */
    void *user;
    /**
     * Fetches a stored chunk into the request's buffer, which has room for size bytes. Sets nbytes to the length of
     * the stored chunk in bytes. size is the length of a full chunk; in a store with codecs, it is the most bytes that
     * such a chunk takes if it is encoded in one go. May be NULL if start and wait are not.
     *
     * For a longer chunk, do not write beyond size, but set nbytes to its length. A longer chunk is an error. In a
     * store with codecs, a chunk that was encoded in many small pieces can be longer; it is asked for again with room
     * for that length.
     */
    int (*fill)(void *user, nczchunk_request *request);
    /**
     * For writing; may be NULL. Stores a chunk: the size bytes of the request's buffer, which it only reads. The
     * callback decides whether a reader may see a half-written chunk. If it replaces the chunk atomically (by renaming
     * a file), a reader finds the old chunk or the new one.
     */
    int (*store)(void *user, nczchunk_request *request);
    /**
     * Called once when the store is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time: see nczchunk_zero_copy_callbacks.
     */
    size_t concurrent;
    /**
     * 1 if a chunk may be longer than a full one: see nczchunk_zero_copy_callbacks.
     */
    size_t accept_longer;
    /**
     * 1 if fill serves ranges. Then it may be asked for any part of a stored chunk, size bytes from byte offset on,
     * unless the store has codecs. So only the needed parts of a large unencoded chunk are fetched, in one or more
     * requests. When only a part is fetched, the library does not check whether the stored chunk is too long.
     */
    size_t ranges;
    /**
     * With ranges: two parts of a chunk are fetched by one request if fewer bytes than this lie between them. 0 stands
     * for 16384.
     */
    size_t gap;
    /**
     * For stores with latency, such as object stores; used together with wait. Starts to fetch a chunk, as fill does,
     * but returns immediately. A read keeps up to in_flight requests in flight, and starts the next ones while it
     * decodes. If the read may use threads and concurrent is not 0, each thread starts its share of the requests and
     * waits for them. The request, its indices and its buffer stay valid until wait returns the request. If start
     * returns a status other than 0, the request has not begun and wait does not return it. start may report a missing
     * chunk in this way.
     */
    int (*start)(void *user, nczchunk_request *request);
    /**
     * Waits until a request that the calling thread started has ended, and sets done to it. Requests may end in any
     * order. The fields status and nbytes of the request report the outcome, as the result of fill and its nbytes
     * would. If wait itself returns a status other than 0, no request is in flight any more: the callback has ended
     * all of them, and does not touch their buffers again. While requests are in flight, a callback may not call the
     * library in the same thread to read from the store: NCZCHUNK_EINVAL.
     */
    int (*wait)(void *user, nczchunk_request **done);
    /**
     * Called when a request in flight is no longer needed, because the call is about to fail; may be NULL. wait still
     * returns the request, with any status.
     */
    void (*cancel)(void *user, nczchunk_request *request);
    /**
     * With start: the largest number of requests in flight at the same time. Each has a buffer of its own. 0 stands
     * for 64.
     */
    size_t in_flight;
} nczchunk_reader_callbacks;

/**
 * Creates a store of borrowed chunks. The callbacks are copied. Free it with nczchunk_chunk_store_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; lend is NULL; a struct_size of 0; a newer structure with fields in use
 * that this library does not know), NCZCHUNK_ENOMEM. After an error destroy is not called.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_new_zero_copy(const nczchunk_zero_copy_callbacks *callbacks,
                                       nczchunk_chunk_store **store,
                                       nczchunk_context *context);

/**
 * Creates a store whose callbacks read chunks into a buffer. The callbacks are copied. Free it with
 * nczchunk_chunk_store_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; both fill and start are NULL; only one of start and wait is NULL; a
 * struct_size of 0; a newer structure with fields in use that this library does not know), NCZCHUNK_ENOMEM. After an
 * error destroy is not called.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_new(const nczchunk_reader_callbacks *callbacks,
                             nczchunk_chunk_store **store,
                             nczchunk_context *context);

/**
 * Sets whether a store's codecs decode every chunk completely: 1 for yes; 0, the default, for no. With 0, decoding
 * stops after the last needed byte if the codec can do that. That is faster, but verifies neither the rest of the
 * chunk nor a checksum after it. A chunk whose last element is needed is always decoded completely.
 *
 * For an array in a zip file, 1 also verifies the checksums of the zip entries that hold the chunks or shards that are
 * read, each once while the file is open. With 0, only entries that are read whole are verified. A part of an entry,
 * such as a chunk of a shard or some elements of an unencoded chunk, is not verified.
 *
 * Errors: NCZCHUNK_EINVAL (store is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_set_verify(nczchunk_chunk_store *store,
                                    int verify,
                                    nczchunk_context *context);

/**
 * Frees a store and calls destroy. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_chunk_store_free(nczchunk_chunk_store *store);

/** Initialises a nczchunk_zero_copy_callbacks that uses nothing yet. */
#define NCZCHUNK_ZERO_COPY_CALLBACKS_INIT \
    {sizeof(nczchunk_zero_copy_callbacks), NULL, NULL, NULL, NULL, NULL, 0, 0}

/** Initialises a nczchunk_reader_callbacks that uses nothing yet. */
#define NCZCHUNK_READER_CALLBACKS_INIT \
    {sizeof(nczchunk_reader_callbacks), NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * CODECS: BUILT-IN ONES AND YOUR OWN
 *
 * Give a store a chain of codecs, and its callbacks exchange encoded chunks. Make each codec with one of these
 * functions, and hand it over to a store with nczchunk_chunk_store_add_codec, one after another in the order of
 * encoding.
 *
 *     nczchunk_codec_zstd(NULL, &codec, NULL);
 *     nczchunk_chunk_store_add_codec(store, codec, NULL);
 *
 * A chunk that is contiguous in the caller's memory is decoded directly into it. Only large reads decode chunks of up
 * to 1 MiB in the processor's cache first, where that is faster. The library trusts no size that encoded data claim:
 * it decodes into a buffer of the expected size. Data that decode to another length fail with NCZCHUNK_EBADCHUNK, and
 * data that do not decode fail with NCZCHUNK_EIO; but see nczchunk_chunk_store_set_verify.
 */

/**
 * Options for encoding with zstd.
 */
typedef struct nczchunk_zstd_options {
    /**
     * sizeof(nczchunk_zstd_options).
     */
    size_t struct_size;
    /**
     * The compression level. 0 is zstd's default, which is 3. Levels outside zstd's range are clamped to it.
     */
    ptrdiff_t level;
    /**
     * 1 to leave out the checksum that follows the data, else 0.
     */
    size_t no_checksum;
} nczchunk_zstd_options;

/**
 * The input and output of a codec of yours for one encoding or decoding. The library sets all fields except nbytes.
 * They are valid until the callback returns.
 */
typedef struct nczchunk_coding {
    /**
     * sizeof(nczchunk_coding) as the library knows it. There are no fields beyond it.
     */
    size_t struct_size;
    /**
     * The bytes to encode or decode, which are only read. They need not be aligned.
     */
    const void *source;
    /**
     * The number of bytes in source.
     */
    size_t source_size;
    /**
     * The memory for the result. It need not be aligned, and does not overlap the source.
     */
    void *destination;
    /**
     * The size of destination in bytes: for decoding, the expected length; for encoding, the result of encoded_bound.
     */
    size_t capacity;
    /**
     * For decoding: the first byte of the result that is needed. The codec must also write the bytes before it.
     */
    size_t needed_offset;
    /**
     * For decoding: the number of bytes of the result that are needed from there on. The codec may leave out the bytes
     * after them.
     */
    size_t needed_size;
    /**
     * Set by the callback: the number of bytes of the result that it has written, from the first on. 0 at first.
     */
    size_t nbytes;
} nczchunk_coding;

/**
 * The callbacks of a codec of your own.
 */
typedef struct nczchunk_codec_callbacks {
    /**
     * sizeof(nczchunk_codec_callbacks).
     */
    size_t struct_size;
    /**
     * Passed to every callback.
     */
    void *user;
    /**
     * Decodes. Never writes more than capacity bytes. If the result is longer, it sets nbytes to any number above
     * capacity and returns 0, or returns a status of its own. Returns 0, or a status that ends the call.
     */
    int (*decode)(void *user, nczchunk_coding *coding);
    /**
     * Encodes; may be NULL: then stores with this codec are read-only. Returns 0, or a status that ends the call.
     */
    int (*encode)(void *user, nczchunk_coding *coding);
    /**
     * Returns the most bytes that decoded_size bytes take if they are encoded in one go. It is called for reading,
     * too, to find the memory that an encoded chunk may need. NULL stands for decoded_size.
     */
    size_t (*encoded_bound)(void *user, size_t decoded_size);
    /**
     * Called once when the codec is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time; 0 restricts a call with this codec to its own
     * thread.
     */
    size_t concurrent;
} nczchunk_codec_callbacks;

/**
 * Makes the codec zstd. options is for encoding; NULL stands for zeros. Free the codec with nczchunk_codec_free,
 * unless a store has taken it over.
 *
 * Errors: NCZCHUNK_EINVAL (codec is NULL; a struct_size of 0; a newer structure with fields in use that this library
 * does not know), NCZCHUNK_ENOFILTER (the library was built without zstd), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_codec_zstd(const nczchunk_zstd_options *options,
                        nczchunk_codec **codec,
                        nczchunk_context *context);

/**
 * Makes the codec for the HDF5 filter of this number. It takes the parameters of nc_def_var_filter. Filters are, for
 * example, 1 for deflate (the level), 2 for shuffle (the bytes of an element), 3 for fletcher32 (none), 32001 for
 * blosc (seven, as in H5Zblosc.c) and 32015 for zstd (the level). Those of szip (4), nbit (5), scaleoffset (6), lzf
 * (32000), lz4 (32004) and bitshuffle (32008) only decode, with the parameters that an HDF5 file has for them. The
 * codec decodes only the data that the filter decodes: for zstd, one frame that contains its decoded size. Free the
 * codec with nczchunk_codec_free, unless a store has taken it over.
 *
 * Errors: NCZCHUNK_EINVAL (codec is NULL; parameters is NULL although their number is not 0; parameters that the
 * filter does not take), NCZCHUNK_ENOFILTER (an unknown filter; this build does not include it), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_codec_filter(unsigned int filter,
                          size_t num_parameters,
                          const unsigned int *parameters,
                          nczchunk_codec **codec,
                          nczchunk_context *context);

/**
 * Returns 1 if the library was built with the codec of this name, such as "blosc", "zstd" or "sharding_indexed".
 * Returns 0 for any other name and for NULL. docs/formats.md lists all names.
 */
NCZCHUNK_API int nczchunk_has_codec(const char *name);

/**
 * Makes a codec of your own. name is for messages; up to 63 bytes of it are copied, and the callbacks are copied. Free
 * the codec with nczchunk_codec_free, unless a store has taken it over.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; decode is NULL; a struct_size of 0; a newer structure with fields in use
 * that this library does not know), NCZCHUNK_ENOMEM. After an error destroy is not called.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_codec_new(const char *name,
                       const nczchunk_codec_callbacks *callbacks,
                       nczchunk_codec **codec,
                       nczchunk_context *context);

/**
 * Frees a codec that no store has taken over, and calls destroy. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_codec_free(nczchunk_codec *codec);

/**
 * Adds a codec to the end of a store's chain, which is in the order of encoding. The codec encodes the output of the
 * codecs before it, and is the first to decode the chunks from the callbacks. The store takes the codec over and frees
 * it; if the call fails, the codec remains the caller's. Only a store that reads chunks into a buffer can be written
 * to with codecs.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOMEM. After an error the store is as it was.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_add_codec(nczchunk_chunk_store *store,
                                   nczchunk_codec *codec,
                                   nczchunk_context *context);

/** Initialises a nczchunk_zstd_options that uses nothing yet. */
#define NCZCHUNK_ZSTD_OPTIONS_INIT \
    {sizeof(nczchunk_zstd_options), 0, 0}

/** Initialises a nczchunk_codec_callbacks that uses nothing yet. */
#define NCZCHUNK_CODEC_CALLBACKS_INIT \
    {sizeof(nczchunk_codec_callbacks), NULL, NULL, NULL, NULL, NULL, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * CACHES OF DECODED CHUNKS
 *
 * Give a store a cache, so that it does not decode a chunk again for every call that needs it. A cache keeps decoded
 * chunks up to a number of bytes, for one store or for several:
 *
 *     nczchunk_cache_new(64 << 20, &cache, NULL);
 *     nczchunk_chunk_store_set_cache(store, cache, NULL);
 *     nczchunk_cache_free(cache);                            the store goes on using it
 *
 * A cache is used where it saves decoding or slow requests. It is not used for borrowed chunks. Nor is it used for
 * unencoded chunks that can be asked for in ranges, unless the store has start and wait. It does not keep chunks that
 * a call reads as a whole. The least recently used chunks are dropped first, but no call drops chunks that it has
 * fetched itself. While one thread fetches a chunk, others that need it wait; so a callback must not read the same
 * chunk of the same store. Writes go through to the store immediately.
 */

/**
 * The statistics of a cache: its requests and its contents. Set struct_size before a call fills it in.
 */
typedef struct nczchunk_cache_statistics {
    /**
     * sizeof(nczchunk_cache_statistics).
     */
    size_t struct_size;
    /**
     * The number of chunks in the cache.
     */
    size_t chunks;
    /**
     * The number of bytes that they take, all of them decoded.
     */
    size_t bytes;
    /**
     * The largest number of bytes that they may take.
     */
    size_t limit;
    /**
     * The number of times that a chunk was found.
     */
    uint64_t hits;
    /**
     * The number of times that a chunk had to be decoded, in part or as a whole, most often after it was fetched.
     */
    uint64_t misses;
    /**
     * The number of chunks that were dropped to make room.
     */
    uint64_t evictions;
} nczchunk_cache_statistics;

/**
 * Creates a cache that keeps up to limit bytes of decoded chunks. Free it with nczchunk_cache_free. A cache of 32 MiB
 * or more may take some MiB in addition, if the system has large pages.
 *
 * Errors: NCZCHUNK_EINVAL (cache is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_cache_new(size_t limit, nczchunk_cache **cache, nczchunk_context *context);

/**
 * Frees a cache. Stores that use it can still use it. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_cache_free(nczchunk_cache *cache);

/**
 * Sets the cache for a store's decoded chunks; NULL for none. Chunks of the store in another cache are dropped.
 *
 * Errors: NCZCHUNK_EINVAL (store is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_set_cache(nczchunk_chunk_store *store,
                                   const nczchunk_cache *cache,
                                   nczchunk_context *context);

/**
 * Returns the statistics of a cache: its requests and its contents.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_cache_get_statistics(const nczchunk_cache *cache,
                                  nczchunk_cache_statistics *statistics,
                                  nczchunk_context *context);

/** Initialises a nczchunk_cache_statistics that uses nothing yet. */
#define NCZCHUNK_CACHE_STATISTICS_INIT \
    {sizeof(nczchunk_cache_statistics), 0, 0, 0, 0, 0, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * THE STRIDED COPY
 *
 * Copy a box of elements between two blocks of memory with any strides. All functions above use this copy.
 */

/**
 * Copies a box of elements between two blocks of memory, each with its own strides. All functions above use it to copy
 * elements between chunks and memory.
 *
 * Along dimension d there are count[d] elements of element_size bytes. In the source, element k along dimension d is
 * source_strides[d] * k bytes from the first one. The first one is source_offset bytes into source, a block of
 * source_size bytes. The same holds for the destination, which must not overlap the source. Strides may have either
 * sign. If elements overlap in the destination (a stride of 0), one of the values remains there. If both strides of a
 * dimension are 0, its count is taken as 1. The three lists have rank entries. If a count is 0, nothing is copied.
 * word_size is 0 or, to reverse the bytes of each word during the copy, the size of a word: 2, 4 or 8, and a divisor
 * of element_size. Neither block needs an alignment.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument although elements are copied; element_size 0; another word_size; an element
 * that does not lie within its block: then nothing is copied), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK),
 * NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_copy_strided(size_t rank,
                          const size_t *count,
                          size_t element_size,
                          size_t word_size,
                          const void *source,
                          size_t source_size,
                          size_t source_offset,
                          const ptrdiff_t *source_strides,
                          void *destination,
                          size_t destination_size,
                          size_t destination_offset,
                          const ptrdiff_t *destination_strides,
                          nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * PROJECTIONS: ONE DIMENSION
 *
 * Compute which chunks start, count and stride touch along one dimension, and which elements of each. All functions
 * above are based on this arithmetic. Only touched chunks are listed, each is found in constant time, and nothing is
 * allocated. So a dimension of 2^62 chunks with two selected elements costs two projections.
 */

/**
 * Lists the projections of a slice (start, count, stride) of a dimension of dimlen elements onto its chunks of
 * chunklen elements.
 *
 * needed receives the number of projections. They are written to projections, in ascending order of chunks, if there
 * is room: capacity is at least needed. Each takes projection_size bytes, which is sizeof(nczchunk_projection). With
 * projections NULL, or capacity 0, only needed is set.
 *
 * Errors: NCZCHUNK_EINVAL (needed is NULL; chunklen 0; a smaller projection_size), NCZCHUNK_EDIMSIZE (dimlen above
 * PTRDIFF_MAX + 1), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_read_vars.
 * NCZCHUNK_EINVAL too if capacity is above 0 but below needed: then needed is set, and nothing is written.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_projections(size_t dimlen,
                         size_t chunklen,
                         size_t start,
                         size_t count,
                         ptrdiff_t stride,
                         nczchunk_projection *projections,
                         size_t projection_size,
                         size_t capacity,
                         size_t *needed,
                         nczchunk_context *context);

/**
 * Returns the p-th of these projections, counted from 0, in constant time. projection has projection_size bytes:
 * sizeof(nczchunk_projection).
 *
 * Errors: NCZCHUNK_EINVAL (projection is NULL; a smaller projection_size; chunklen 0), NCZCHUNK_EINVALCOORDS also for
 * p beyond the last; otherwise as for nczchunk_projections.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_projection_at(size_t dimlen,
                           size_t chunklen,
                           size_t start,
                           size_t count,
                           ptrdiff_t stride,
                           size_t p,
                           nczchunk_projection *projection,
                           size_t projection_size,
                           nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * ODOMETER: WALKING A BOX
 *
 * Step through an n-dimensional box in row-major order, with a stride, as netCDF-C's odometer (nczodom_*) does.
 *
 *     for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer))
 *         use(nczchunk_odometer_indices(odometer), nczchunk_odometer_offset(odometer));
 *
 * Unlike netCDF-C's odometer, it has no positions if any dimension is empty, the first or another, and one position at
 * rank 0.
 */

/**
 * An odometer. One thread at a time may use it.
 */
typedef struct nczchunk_odometer nczchunk_odometer;

/**
 * Creates an odometer at its first position. Along dimension d it runs through start[d], start[d] + stride[d], ...
 * below stop[d], the last dimension fastest. len[d] is the extent of the array in which nczchunk_odometer_offset
 * counts. All four lists have rank entries and are copied. Free the odometer with nczchunk_odometer_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_ESTRIDE (a
 * stride of 0), NCZCHUNK_EINVALCOORDS (start above stop), NCZCHUNK_EEDGE (a last index of len or more),
 * NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_odometer_new(size_t rank,
                          const size_t *start,
                          const size_t *stop,
                          const size_t *stride,
                          const size_t *len,
                          nczchunk_odometer **odometer,
                          nczchunk_context *context);

/**
 * Returns 1 while there is a current position, and 0 after the last one; 0 for NULL.
 */
NCZCHUNK_API int nczchunk_odometer_more(const nczchunk_odometer *odometer);

/**
 * Moves to the next position. Past the last one it does nothing.
 */
NCZCHUNK_API void nczchunk_odometer_next(nczchunk_odometer *odometer);

/**
 * Returns the current position: one index per dimension. It belongs to the odometer and changes with it. Returns NULL
 * for NULL.
 */
NCZCHUNK_API const size_t *nczchunk_odometer_indices(const nczchunk_odometer *odometer);

/**
 * Returns the current position's row-major offset in an array of the extents len, in elements; SIZE_MAX if the offset
 * is larger than that. Returns 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_odometer_offset(const nczchunk_odometer *odometer);

/**
 * Returns the length of a row: stop - start of the last dimension, for any position of the odometer. With a stride of
 * 1 that is the number of positions in a row. Returns 1 at rank 0, and 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_odometer_avail(const nczchunk_odometer *odometer);

/**
 * Skips the rest of the current row: the next nczchunk_odometer_next moves to the beginning of the following row.
 */
NCZCHUNK_API void nczchunk_odometer_skipavail(nczchunk_odometer *odometer);

/**
 * Returns to the first position.
 */
NCZCHUNK_API void nczchunk_odometer_reset(nczchunk_odometer *odometer);

/**
 * Frees an odometer. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_odometer_free(nczchunk_odometer *odometer);

/* ---------------------------------------------------------------------------------------------------------------------
 * CHUNK KEYS: THE NAMES OF CHUNKS IN A STORAGE
 *
 * Compute the chunk key for a chunk's indices: `0.1` in Zarr v2, `c/0/1` in Zarr v3, `sst!0.90` in cfdb. A key is
 * written as a string with a NUL at its end. Each function also returns the key's length, so a first call without a
 * buffer finds the necessary size.
 */

/**
 * Writes the key of a chunk in Zarr v2, and in Zarr v3 with the "v2" chunk key encoding: "2.1" or "2/1"; "0" for a
 * scalar. chunk_indices has rank entries, none negative. separator is '.' or '/'.
 *
 * length receives the key's length in bytes without the NUL; it may be NULL. The key and a NUL are written to key if
 * there is room for them: capacity, in bytes, is above the length. With key NULL, or capacity 0, only length is set.
 *
 * Errors: NCZCHUNK_EINVAL (chunk_indices is NULL, unless rank is 0; another separator; a negative index),
 * NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK). NCZCHUNK_EINVAL too if capacity is above 0 but too small: then
 * length is set, and nothing is written.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_key_zarr_v2(size_t rank,
                         const ptrdiff_t *chunk_indices,
                         char separator,
                         char *key,
                         size_t capacity,
                         size_t *length,
                         nczchunk_context *context);

/**
 * Writes the key of a chunk in Zarr v3 with the "default" chunk key encoding: "c/2/1" or "c.2.1"; "c" for a scalar.
 *
 * Arguments and errors: as for nczchunk_key_zarr_v2.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_key_zarr_v3(size_t rank,
                         const ptrdiff_t *chunk_indices,
                         char separator,
                         char *key,
                         size_t capacity,
                         size_t *length,
                         nczchunk_context *context);

/**
 * Writes the key of a chunk in cfdb: the variable's name, '!', and the chunk's first element in each dimension, with
 * dots between: "sst!180.90" for chunk (2, 1) with chunk lengths (90, 90).
 *
 * var is the variable's name in UTF-8. chunklens and chunk_indices have rank entries. Chunks before the origin have
 * negative indices: element i lies in chunk floor((i + origin) / chunklen). For the other arguments see
 * nczchunk_key_zarr_v2.
 *
 * Errors: NCZCHUNK_EINVAL (var, chunklens or chunk_indices is NULL, the latter two unless rank is 0; var is not UTF-8;
 * a chunk length of 0), and those of nczchunk_key_zarr_v2.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_key_cfdb(const char *var,
                      size_t rank,
                      const size_t *chunklens,
                      const ptrdiff_t *chunk_indices,
                      char *key,
                      size_t capacity,
                      size_t *length,
                      nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * CHUNK SHAPES: ADVICE, AND THE DEFAULTS OF OTHER LIBRARIES
 *
 * Compute the chunk lengths that cost least for the ways in which an array is read, and those that netCDF-C, h5py and
 * rechunkit choose for a variable by default.
 */

/**
 * What reading costs, for nczchunk_advise. What is read takes per_request for each request and its stored bytes
 * divided by bandwidth on its way, and per_chunk for each chunk, its decoded bytes divided by decoding and the read
 * bytes divided by copying in the processor. With one request in flight a read takes the sum, and latency for each
 * request; with many, the longer of both and one latency: see docs/advice.md. Set struct_size. A field that is 0 has
 * its default.
 */
typedef struct nczchunk_advise_costs {
    /**
     * sizeof(nczchunk_advise_costs).
     */
    size_t struct_size;
    /**
     * The number of requests that are on their way at the same time. 0 for 1.
     */
    size_t in_flight;
    /**
     * The fewest bytes of a chunk, decoded. 0 for 64 KiB. Arrays that are smaller have smaller chunks.
     */
    size_t least_bytes;
    /**
     * The most bytes of a chunk, decoded. 0 for 64 MiB.
     */
    size_t most_bytes;
    /**
     * In steps of how many bytes a chunk is decoded, up to the last element that is read: 128 KiB as this library
     * decodes zstd without other codecs. 0 if it is decoded as a whole.
     */
    size_t step_bytes;
    /**
     * How long a request takes until its first byte is there, in seconds. 0 for 0.0001.
     */
    double latency;
    /**
     * How many bytes a second arrive. 0 for 1e9.
     */
    double bandwidth;
    /**
     * How many decoded bytes a second the codecs give, with all threads together. 0 for 1e9.
     */
    double decoding;
    /**
     * How many bytes are stored for a decoded byte. 0 for 0.5.
     */
    double stored;
    /**
     * How long each request keeps the way busy, in seconds, whatever else is in flight: a server that answers so many
     * a second takes the inverse. 0 for nothing.
     */
    double per_request;
    /**
     * How long a chunk takes besides decoding and copying, in seconds. 0 for 0.00001.
     */
    double per_chunk;
    /**
     * How many bytes a second are copied from decoded chunks to where they are wanted. 0 for 4e9.
     */
    double copying;
} nczchunk_advise_costs;

/**
 * What a read of a pattern costs with a chunk shape, on average over all places. The structure will not change.
 */
typedef struct nczchunk_advise_cost_of_read {
    /**
     * Requests, which are the chunks that are touched.
     */
    double requests;
    /**
     * Decoded bytes of these chunks.
     */
    double bytes;
    /**
     * Seconds.
     */
    double seconds;
} nczchunk_advise_cost_of_read;

/**
 * Computes the chunk lengths that netCDF-C gives a netCDF-4 variable, as nc_inq_var_chunking reports them. All fixed
 * dimensions are shortened by the same factor, unlimited ones to 1.
 *
 * dimlens has rank entries; 0 is an unlimited dimension. typesize is the size of an element in bytes. target_bytes is
 * the approximate size of a chunk in bytes; 0 stands for netCDF-C's default, 16 MiB. chunklens receives rank lengths,
 * and must not overlap dimlens.
 *
 * Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0 or above 4 GiB - 1),
 * NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunkshape_netcdf(size_t rank,
                               const size_t *dimlens,
                               size_t typesize,
                               size_t target_bytes,
                               size_t *chunklens,
                               nczchunk_context *context);

/**
 * Computes the chunk lengths that h5py guesses for a dataset that gets a filter or may grow. (HDF5 itself has no
 * default.) Dimensions are halved in turn to a chunk of 8 KiB to 1 MiB, the more the larger the variable is.
 *
 * dimlens has rank entries; 0 is an unlimited dimension without elements, for which h5py takes 1024. typesize is the
 * size of an element in bytes. chunklens receives rank lengths, and must not overlap dimlens.
 *
 * Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0), NCZCHUNK_EMAXDIMS (rank above
 * NCZCHUNK_MAX_RANK).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunkshape_h5py(size_t rank,
                             const size_t *dimlens,
                             size_t typesize,
                             size_t *chunklens,
                             nczchunk_context *context);

/**
 * Computes the chunk lengths that rechunkit guesses, which are cfdb's default. Dimensions are shortened in turn to
 * numbers with many divisors, until the chunk takes at most one and a half times the target.
 *
 * dimlens has rank entries, none 0. typesize is the size of an element in bytes. target_bytes is the approximate size
 * of a chunk in bytes; 0 stands for rechunkit's default, 2 MiB. chunklens receives rank lengths, and must not overlap
 * dimlens.
 *
 * Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0), NCZCHUNK_EDIMSIZE (a length of
 * 0), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunkshape_rechunkit(size_t rank,
                                  const size_t *dimlens,
                                  size_t typesize,
                                  size_t target_bytes,
                                  size_t *chunklens,
                                  nczchunk_context *context);

/**
 * Computes the chunk lengths that cost least for the ways in which an array is read. A pattern is a box that is read
 * at any place of the array, all places being equally likely; its weight says how often, compared with the others.
 *
 * dimlens has rank entries, none 0. typesize is the size of an element in bytes. patterns has num_patterns times rank
 * entries: for each pattern the lengths of its box, of which those beyond the dimension stand for all of it. weights
 * has num_patterns positive numbers. costs is NULL for all defaults. chunklens receives rank lengths, and must not
 * overlap dimlens. seconds receives the mean cost of a read (NULL: not wanted).
 *
 * Looks at chunks that cut each dimension into equal parts or into powers of 2, and at those that
 * nczchunk_chunkshape_netcdf, nczchunk_chunkshape_h5py and nczchunk_chunkshape_rechunkit give.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; typesize 0 or above 4 GiB - 1; no pattern; a length of 0 in a pattern; a
 * weight that is not positive; a negative number in costs; least_bytes above most_bytes), NCZCHUNK_EDIMSIZE (a length
 * of 0), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_advise(size_t rank,
                    const size_t *dimlens,
                    size_t typesize,
                    size_t num_patterns,
                    const size_t *patterns,
                    const double *weights,
                    const nczchunk_advise_costs *costs,
                    size_t *chunklens,
                    double *seconds,
                    nczchunk_context *context);

/**
 * Computes what a read costs with a chunk shape: see nczchunk_advise. pattern and chunklens have rank entries, and
 * cost receives the result.
 *
 * Errors: those of nczchunk_advise.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_advise_cost(size_t rank,
                         const size_t *dimlens,
                         size_t typesize,
                         const size_t *chunklens,
                         const size_t *pattern,
                         const nczchunk_advise_costs *costs,
                         nczchunk_advise_cost_of_read *cost,
                         nczchunk_context *context);

/** Initialises a nczchunk_advise_costs that uses nothing yet. */
#define NCZCHUNK_ADVISE_COSTS_INIT \
    {sizeof(nczchunk_advise_costs), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* ---------------------------------------------------------------------------------------------------------------------
 * CLASSIC FILES: THE OFFSET OF A VALUE
 *
 * Compute where a value is in a netCDF classic file (CDF-1, CDF-2, CDF-5). The offset follows from the shape of the
 * value's variable and two numbers of the header: the variable's begin, and the size of a record. Sizes and offsets
 * are in bytes. Only the first length may be 0: then the dimension is the file's record dimension.
 */

/**
 * Computes the size of a variable, or of one record of it if it is a record variable.
 *
 * dimlens has rank entries. typesize is the size of an element: 1, 2, 4 or 8. size receives the bytes that the values
 * take. padded receives the same number, rounded up to a multiple of 4. Each may be NULL. The header's vsize should be
 * the padded size, but is not in every file: rely on the shape.
 *
 * Errors: NCZCHUNK_EINVAL (dimlens is NULL, unless rank is 0; another typesize), NCZCHUNK_EMAXDIMS (rank above
 * NCZCHUNK_MAX_RANK), NCZCHUNK_EDIMSIZE (a length of 0 that is not the first), NCZCHUNK_EVARSIZE (more than 2^63 - 1
 * bytes).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_classic_varsize(size_t rank,
                             const size_t *dimlens,
                             size_t typesize,
                             uint64_t *size,
                             uint64_t *padded,
                             nczchunk_context *context);

/**
 * Computes the size of one record of a file: the distance between a value and the same value in the next record.
 *
 * sizes has nvars entries, one for each record variable of the file: the size from nczchunk_classic_varsize, not the
 * padded size. recsize receives the sum of the padded sizes. If there is exactly one record variable, its size is not
 * padded. recsize is 0 if nvars is 0.
 *
 * Errors: NCZCHUNK_EINVAL (recsize is NULL; sizes is NULL, unless nvars is 0), NCZCHUNK_EVARSIZE (more than 2^63 - 1
 * bytes).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_classic_recsize(size_t nvars,
                             const uint64_t *sizes,
                             uint64_t *recsize,
                             nczchunk_context *context);

/**
 * Computes the offset of a value in bytes from the beginning of the file.
 *
 * dimlens and typesize are as for nczchunk_classic_varsize. begin is the variable's, from the header. recsize is the
 * result of nczchunk_classic_recsize, and is ignored unless this is a record variable. indices has rank entries: the
 * value's position. For a record variable the first index is the number of the record, which has no upper bound here.
 *
 * Errors: NCZCHUNK_EINVALCOORDS (an index beyond its dimension), NCZCHUNK_EINVAL (offset is NULL; indices is NULL,
 * unless rank is 0; recsize below the variable's own size), NCZCHUNK_EVARSIZE (an offset above 2^63 - 1), and those of
 * nczchunk_classic_varsize.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_classic_offset(size_t rank,
                            const size_t *dimlens,
                            size_t typesize,
                            uint64_t begin,
                            uint64_t recsize,
                            const size_t *indices,
                            uint64_t *offset,
                            nczchunk_context *context);

#ifdef __cplusplus
}
#endif

#endif /* NCZCHUNK_H */
