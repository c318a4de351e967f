/*
 * nczchunk: hyperslabs of chunked n-dimensional arrays.
 *
 * An array of n dimensions is stored as chunks: files, objects, entries of a database. A hyperslab is what netCDF calls
 * (start, count, stride): along each dimension, count elements from start on, stride apart. This library finds the
 * chunks that a hyperslab touches, asks you for each of them once, and puts the selected elements where they belong in
 * memory.
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
 * examples/first_read.c is that as a whole program. The sections below are a tour: version, status and objects; the
 * variable; reading; writing; what went wrong, progress and threads; plans; other layouts of memory; stores of your
 * own; codecs of your own; then what all of these are made of, for those who want to look inside or build something
 * else from it: the strided copy, projections, odometers; last, conventions of neighbouring systems.
 *
 * In all of it:
 * - lengths, indices and positions are in elements unless bytes are named; lists with one entry per dimension have the
 *   slowest dimension first;
 * - a pointer that may be NULL says so; every other must point to what its description says, and a NULL in its place
 *   gives NCZCHUNK_EINVAL (NULL for start gives NCZCHUNK_EINVALCOORDS, as in netCDF). On an error, what would have been
 *   the result is untouched unless its description says otherwise;
 * - every function that can fail takes a context as its last argument, which may be NULL;
 * - an object that a function makes is yours to free, with the _free function of its kind. Whatever you pass in stays
 *   yours unless the function says that it takes it over;
 * - no function keeps state outside its arguments. Different objects may be used by different threads at the same time;
 *   what is said of each type tells whether one object may be;
 * - nothing prints, aborts or raises signals; a failed allocation gives NCZCHUNK_ENOMEM and leaves everything usable;
 * - structures that may grow begin with struct_size, which whoever makes one sets to its size.
 *
 * This file is generated from the library's source. If a function does not appear in it, it is not part of the
 * interface.
 */
#ifndef NCZCHUNK_H
#define NCZCHUNK_H

#include <stddef.h>
#include <stdint.h>

/*
 * What stands before every function: it is in the library and is visible. A program for Windows that links the DLL may
 * define NCZCHUNK_DLL.
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
 * What stands before every function that returns a status: gcc and clang warn where it is ignored. A program that wants
 * no such warnings defines NCZCHUNK_MUST_USE as nothing before it includes this file.
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
 * The macros are the version a program is compiled against; the functions tell the one it runs with.
 */

#define NCZCHUNK_VERSION_MAJOR 0
#define NCZCHUNK_VERSION_MINOR 3
#define NCZCHUNK_VERSION_PATCH 0
#define NCZCHUNK_VERSION "0.3.0"
#define NCZCHUNK_VERSION_NUMBER \
    (NCZCHUNK_VERSION_MAJOR * 1000000 + NCZCHUNK_VERSION_MINOR * 1000 + NCZCHUNK_VERSION_PATCH)

/**
 * The version of the library in use as text, for example "0.3.0". Static; never NULL.
 */
NCZCHUNK_API const char *nczchunk_version(void);

/**
 * The version of the library in use as a number to compare with NCZCHUNK_VERSION_NUMBER:
 * major * 1000000 + minor * 1000 + patch.
 */
NCZCHUNK_API int nczchunk_version_number(void);

/* ---------------------------------------------------------------------------------------------------------------------
 * STATUS
 *
 * Functions that can fail return an int: 0, one of netCDF's numbers below or, passed on from a callback of yours,
 * whatever it returned. Positive numbers are errno values.
 */

#define NCZCHUNK_NOERR        0      /**< Success. */
#define NCZCHUNK_EEXIST       (-35)  /**< An array is to be created where something is already. */
#define NCZCHUNK_EINVAL       (-36)  /**< An impossible argument: a NULL handle, no bytes, too little room. */
#define NCZCHUNK_EPERM        (-37)  /**< Writing to what may only be read. */
#define NCZCHUNK_EINVALCOORDS (-40)  /**< A start beyond its dimension, or an index beyond its list. */
#define NCZCHUNK_ENOTATT      (-43)  /**< An attribute that the array does not have. */
#define NCZCHUNK_EMAXDIMS     (-41)  /**< A rank above 1024. */
#define NCZCHUNK_EBADTYPE     (-45)  /**< Elements that have no byte order, or cannot be read. */
#define NCZCHUNK_EBADDIM      (-46)  /**< A dimension the variable does not have. */
#define NCZCHUNK_ENOTVAR      (-49)  /**< What is there is no array. */
#define NCZCHUNK_ENOTNC       (-51)  /**< None of the formats that can be opened. */
#define NCZCHUNK_ECHAR        (-56)  /**< Text where numbers are meant. */
#define NCZCHUNK_EEDGE        (-57)  /**< The last selected element lies beyond its dimension. */
#define NCZCHUNK_ESTRIDE      (-58)  /**< A stride below 1. */
#define NCZCHUNK_ERANGE       (-60)  /**< A number out of its type's range. */
#define NCZCHUNK_ENOMEM       (-61)  /**< Out of memory. */
#define NCZCHUNK_EVARSIZE     (-62)  /**< A variable larger than its format allows. */
#define NCZCHUNK_EDIMSIZE     (-63)  /**< A dimension length out of range. */
#define NCZCHUNK_EIO          (-68)  /**< Reading or writing failed; a chunk that does not decode. */
#define NCZCHUNK_ENOTFOUND    (-90)  /**< There is no such file, directory or array. */
#define NCZCHUNK_EINTERNAL    (-92)  /**< A fault in this library. */
#define NCZCHUNK_EBADCHUNK    (-127) /**< A chunk, stored or decoded, whose length is not that of a chunk. */
#define NCZCHUNK_ENOTBUILT    (-128) /**< Something that the library does not have, or was built without. */
#define NCZCHUNK_ECANTEXTEND  (-130) /**< A dimension that cannot grow here. */
#define NCZCHUNK_EFILTER      (-132) /**< A chunk that a codec cannot encode. */
#define NCZCHUNK_ENOFILTER    (-136) /**< A codec that is not there, or cannot be used like this. */
#define NCZCHUNK_ENCZARR      (-137) /**< Metadata that break the rules of their format. */
#define NCZCHUNK_EEMPTY       (-139) /**< From a callback: the chunk is absent. */
#define NCZCHUNK_EOBJECT      (-140) /**< From a callback: an object is there that should not be. */
#define NCZCHUNK_ENOOBJECT    (-141) /**< From a callback: the chunk is absent. */

/**
 * The words for a status: netCDF's for netCDF's numbers, strerror's for positive ones, "Unknown Error" for others.
 * Not to be freed.
 */
NCZCHUNK_API const char *nczchunk_strerror(int status);

/* ---------------------------------------------------------------------------------------------------------------------
 * OBJECTSTORE
 *
 * What the functions below make and use. Each is opaque: it is made by a function, asked by functions, and freed by
 * the _free function of its kind.
 */

/**
 * A cache of decoded chunks. Any number of threads may use one at the same time. A child process that was forked finds
 * nothing in it and keeps nothing there.
 */
typedef struct nczchunk_cache nczchunk_cache;

/**
 * A store: where chunks come from and go to. Several threads may use one at the same time if its callbacks may be
 * called so. Between calls it keeps the memory it needed: for each thread that used it at the same time, up to 16, a
 * chunk, and with codecs an encoded chunk and what the codecs need.
 */
typedef struct nczchunk_chunk_store nczchunk_chunk_store;

/**
 * A codec, to be given to a store.
 */
typedef struct nczchunk_codec nczchunk_codec;

/**
 * What went wrong in a call, and what calls may use: see CONTEXT. One context serves one call at a time; use one per
 * thread.
 */
typedef struct nczchunk_context nczchunk_context;

/**
 * A plan: which chunks a hyperslab touches, and where their elements go in memory. It keeps what it was made from and
 * refers to nothing of the caller's, so the variable may be changed or freed meanwhile. Any number of threads may use
 * a plan at the same time.
 */
typedef struct nczchunk_plan nczchunk_plan;

/**
 * A variable: how an array is cut into chunks, and what its elements are. Any number of threads may use one at the
 * same time, as long as none changes it.
 */
typedef struct nczchunk_var nczchunk_var;

/* ---------------------------------------------------------------------------------------------------------------------
 * VARIABLE: WHAT IS STORED
 *
 * A variable says how an n-dimensional array is cut into chunks and what its elements are. It holds no data.
 * Dimensions are given slowest first, as in netCDF; a chunk is stored at full size, also where it reaches beyond the
 * end of a dimension, and row-major unless nczchunk_var_set_chunk_order says otherwise.
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
 * A new variable of rank dimensions, with elements of element_size bytes in native byte order and a fill value of
 * zeros. dimlens and chunklens have rank entries, in elements, and are copied. Rank 0 is a scalar: one element, in one
 * chunk; then both may be NULL. A dimension may have length 0; an unlimited one is given at its current length. A
 * chunk may be longer than its dimension. Free it with nczchunk_var_free.
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
 * Sets what absent chunks read as: one element, element_size bytes, which are copied. It is in native byte order
 * whatever the variable's, and is never swapped. NULL stands for zeros.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_fill_value(nczchunk_var *var,
                                const void *fill_value,
                                nczchunk_context *context);

/**
 * Sets the byte order of the stored words: one of the NCZCHUNK_ENDIAN_ constants. Words are swapped between chunk and
 * memory as needed; memory is always in native order.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; no such constant), NCZCHUNK_EBADTYPE (LITTLE or BIG for elements that have no
 * words, on every machine: see nczchunk_var_set_word_size).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_var_set_endian(nczchunk_var *var, int endian, nczchunk_context *context);

/**
 * Sets the size in bytes of the words that elements are made of: 1, 2, 4 or 8, and a divisor of element_size. Unset,
 * an element of 1, 2, 4 or 8 bytes is one word and one of 16 bytes is two, as a complex number is; an element of any
 * other size has no words and no byte order. Set it to 4 for complex numbers of 8 bytes, to 1 for text of fixed
 * length.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; no such word size).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_word_size(nczchunk_var *var,
                               size_t word_size,
                               nczchunk_context *context);

/**
 * Sets the order in which the elements of a chunk are stored. order has rank entries and names each dimension once,
 * from the slowest to the fastest: {0, 1, 2} is row-major, {2, 1, 0} is Fortran order (Zarr's order "F"), and any
 * other a transpose (Zarr's codec of that name). NULL stands for row-major. Memory is not concerned.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; a dimension that is named twice or does not exist), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_chunk_order(nczchunk_var *var,
                                 const size_t *order,
                                 nczchunk_context *context);

/**
 * Sets a coarser grid by which the variable is written, for chunks that are stored in shards: a shard can only be
 * written as a whole. write_chunklens has rank entries, in elements, each a multiple of the chunk's; NULL stands for
 * the chunks themselves. Reads go by chunks as before. Writes, plans for writing, what they cover, their parts, and
 * the question whether two plans share chunks go by this grid: a store is asked to fetch and to store chunks of this
 * size.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; lengths that are not multiples; a chunk larger than PTRDIFF_MAX bytes),
 * NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_write_grid(nczchunk_var *var,
                                const size_t *write_chunklens,
                                nczchunk_context *context);

/**
 * Changes the current length of a dimension, counted from 0, as when an unlimited dimension has grown. A write needs
 * the length to be current: it takes what lies beyond for nothing, and may replace it by the fill value.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (dimlen above
 * PTRDIFF_MAX + 1).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_dimlen(nczchunk_var *var,
                            size_t dimension,
                            size_t dimlen,
                            nczchunk_context *context);

/**
 * Changes the origin of a dimension, counted from 0, as cfdb does when elements are prepended: the chunks are aligned
 * to multiples of their length in an index space in which the dimension's first element has the index origin, at first
 * 0. To prepend n elements, subtract n from the origin and add n to the length. With a negative origin there are
 * chunks with negative indices, and the first one may hold elements only in its upper part.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (an origin that
 * leaves no room for the dimension, or the chunk that holds its first element, among the values of ptrdiff_t).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_origin(nczchunk_var *var,
                            size_t dimension,
                            ptrdiff_t origin,
                            nczchunk_context *context);

/**
 * Sets how elements are copied that are more than their bytes: pointers to text that are to be duplicated, for
 * example. copier is called instead of copying bytes; NULL stands for bytes. It copies count elements, which are
 * contiguous on both sides: from memory to a chunk if writing is 1, from a chunk to memory if it is 0. source and
 * destination have the alignment that the chunk and the memory have at that element. When writing, the copier frees
 * what the destination held before; when reading, the destination holds nothing. It returns 0 or a status, which ends
 * the call. Several threads that use the variable may call it at the same time; one call of the library uses one
 * thread.
 *
 * Nothing is swapped then, and chunks must be lent as they are: with a store that fills in chunks, or that has codecs,
 * reads and writes give NCZCHUNK_EINVAL. Absent chunks read as copies of the fill value or, without one, as zero
 * bytes, which are not passed to the copier. After an error some elements are copied and some are not, in memory or in
 * the chunk at which it happened: zero the memory before a read, to know which.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_var_set_copier(nczchunk_var *var,
                            int (*copier)(void *user, int writing, size_t count, const void *source, void *destination),
                            void *user,
                            nczchunk_context *context);

/**
 * The number of dimensions; 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_rank(const nczchunk_var *var);

/**
 * The current length of a dimension, counted from 0; 0 if there is no such dimension, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_dimlen(const nczchunk_var *var, size_t dimension);

/**
 * The length of a chunk along a dimension, counted from 0; 0 if there is no such dimension, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_chunklen(const nczchunk_var *var, size_t dimension);

/**
 * The length of a chunk of the write grid along a dimension, counted from 0; without such a grid
 * nczchunk_var_chunklen. 0 if there is no such dimension, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_write_chunklen(const nczchunk_var *var, size_t dimension);

/**
 * The origin of a dimension, counted from 0; 0 if there is no such dimension, and for NULL.
 */
NCZCHUNK_API ptrdiff_t nczchunk_var_origin(const nczchunk_var *var, size_t dimension);

/**
 * The bytes of an element; 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_element_size(const nczchunk_var *var);

/**
 * The bytes of a word that elements are made of; 0 for elements that have none, and for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_word_size(const nczchunk_var *var);

/**
 * The byte order of stored words, one of the NCZCHUNK_ENDIAN_ constants; NCZCHUNK_ENDIAN_NATIVE for NULL.
 */
NCZCHUNK_API int nczchunk_var_endian(const nczchunk_var *var);

/**
 * The bytes of a whole chunk, decoded; 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_var_chunk_bytes(const nczchunk_var *var);

/**
 * The fill value, element_size bytes without alignment; NULL if none is set, which stands for zeros, and for NULL. It
 * belongs to the variable and is valid until that is changed or freed.
 */
NCZCHUNK_API const void *nczchunk_var_fill_value(const nczchunk_var *var);

/* ---------------------------------------------------------------------------------------------------------------------
 * READING A HYPERSLAB
 *
 *     size_t start[2] = {10, 0}, count[2] = {20, 60};
 *     ptrdiff_t stride[2] = {1, 3};
 *     float data[20][60];
 *     int status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);
 */

/**
 * Reads a hyperslab, as nc_get_vars does: along each dimension, count elements from start on, stride apart, into data.
 *
 * start, count and stride have one entry per dimension. count NULL is the length of each dimension, whatever the
 * start; stride NULL is 1 everywhere. For a scalar all three are ignored. data has room for the product of the counts,
 * in elements of element_size bytes, row-major and without gaps, and comes out in native byte order. It needs no
 * alignment, and must not overlap what callbacks lend.
 *
 * Every touched chunk is asked for once (for exceptions see nczchunk_reader_callbacks), in row-major order of chunk
 * indices if one thread does it, and no other chunk is. If any count is 0 nothing is read and no callback runs.
 *
 * Errors, found before any callback runs and with data untouched, in this order: NCZCHUNK_EINVAL (var or store is
 * NULL), NCZCHUNK_EINVALCOORDS (start is NULL), NCZCHUNK_ESTRIDE (a stride below 1, in any dimension), then dimension
 * by dimension NCZCHUNK_EINVALCOORDS (start beyond the dimension, or at its end with count above 0) and NCZCHUNK_EEDGE
 * (the last element, start + (count - 1) * stride, beyond the dimension); NCZCHUNK_EINVAL (data NULL though something
 * is selected; more than PTRDIFF_MAX bytes).
 *
 * Errors of a chunk, of which the first in order is returned and after which the contents of data are unspecified:
 * what a callback returned, NCZCHUNK_EBADCHUNK (a chunk of the wrong length), NCZCHUNK_EIO (one that does not decode),
 * NCZCHUNK_ENOMEM.
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
 */

/**
 * Writes a hyperslab, as nc_put_vars does: along each dimension, count elements from start on, stride apart, from
 * data.
 *
 * The arguments are those of nczchunk_read_vars. data is only read: it stays as it is whatever the variable's byte
 * order. It must not overlap what callbacks lend.
 *
 * A chunk that the write covers is one of which every element inside the dimensions is replaced; a chunk clipped by
 * the end of a dimension, and a chunk of one element under any stride, can be covered too. It is stored without being
 * read. Any other is fetched, or filled with the fill value if it is absent, changed, and stored. Each is stored once,
 * in row-major order of chunk indices if one thread does it. What lies outside the dimensions, in a chunk that is
 * covered or was absent, becomes fill value.
 *
 * Errors found before any callback runs are those of nczchunk_read_vars, in the same order; but if any count is 0, no
 * NCZCHUNK_EEDGE: then nothing is written. Then NCZCHUNK_EPERM (the store cannot be written to). Errors of a chunk are
 * those of reading it and what a callback for writing returned. The chunks before it have been written, it has not
 * (unless its callback did), those after it were not tried or, with several threads, may have been written:
 * nczchunk_context_chunks_done tells how many came before. The same call again, once the fault is gone, writes all of
 * it.
 *
 * Several threads may write to different chunks of one store at the same time, if its callbacks may be called so; see
 * nczchunk_plan_shares_chunks. Of two that write to the same chunk, one may undo what the other did to it.
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
 * CONTEXT: WHAT WENT WRONG, AND WHERE; PROGRESS; THREADS
 *
 * A status says what kind of error there was. Every function that can fail takes a context as its last argument: pass
 * NULL, or one that you made, and ask it afterwards for the words, the dimension and the chunk. What it tells is
 * always about the last call it was passed to. If no context could be made it is NULL, which serves too: it knows
 * nothing.
 *
 *     nczchunk_context *context = NULL;
 *     nczchunk_context_new(&context);
 *     if (nczchunk_read_vars(var, store, start, count, stride, data, context))
 *         fprintf(stderr, "%s\n", nczchunk_context_message(context));
 *         // "chunk (1, 0, 3): the stored chunk has 40 bytes where 4000 are due"
 *     nczchunk_context_free(context);
 *
 * A context also says how many threads a call may use, and whom it tells how far it has come.
 */

/**
 * How far a call has come.
 */
typedef struct nczchunk_progress {
    /**
     * sizeof(nczchunk_progress) as the library knows it: fields beyond it do not exist.
     */
    size_t struct_size;
    /**
     * Chunks that are done.
     */
    size_t chunks_done;
    /**
     * All chunks of the call.
     */
    size_t num_chunks;
    /**
     * Bytes of your memory that have been read or written.
     */
    size_t bytes_done;
    /**
     * All bytes of your memory that the call reads or writes.
     */
    size_t num_bytes;
} nczchunk_progress;

/**
 * A new context. Free it with nczchunk_context_free.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_context_new(nczchunk_context **context);

/**
 * Frees a context. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_context_free(nczchunk_context *context);

/**
 * The status of the last call; NCZCHUNK_NOERR for NULL.
 */
NCZCHUNK_API int nczchunk_context_status(const nczchunk_context *context);

/**
 * What went wrong in the last call, in a sentence of at most 511 bytes; empty if nothing did, and for NULL. It belongs
 * to the context and is valid until the next call with it.
 */
NCZCHUNK_API const char *nczchunk_context_message(const nczchunk_context *context);

/**
 * The dimension in which the last call went wrong, counted from 0; -1 if it is not a matter of one.
 */
NCZCHUNK_API int nczchunk_context_dimension(const nczchunk_context *context);

/**
 * The indices of the chunk at which the last call went wrong, and in rank (NULL: not wanted) their number; NULL if it
 * is not a matter of one. They belong to the context and are valid until the next call with it.
 */
NCZCHUNK_API const ptrdiff_t *nczchunk_context_chunk(const nczchunk_context *context, size_t *rank);

/**
 * How many chunks the last call has read or written, of those it was to transfer. They are the first of the plan, in
 * its order; if the call failed at a chunk, it is the one after them. Those after that were not tried or, with several
 * threads or requests in flight, some were and some not. 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_context_chunks_done(const nczchunk_context *context);

/**
 * Sets a function that is told how far a call with this context has come, and may end it; NULL for none. It is called
 * in the calling thread only: before each chunk that this thread transfers, and once when all chunks are done. If it
 * returns anything but 0 before that, the call ends with that status; chunks_done chunks are done then. progress is
 * valid until the function returns. user is passed to it.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_context_set_progress(nczchunk_context *context,
                                  int (*progress)(void *user, const nczchunk_progress *progress),
                                  void *user);

/**
 * Lets calls with this context use up to so many threads at the same time, the caller's included; 1 at first, and
 * never more than 256. Worker threads are spawned by the call and joined before it returns. They are spawned only if
 *
 * - the store's callbacks allow it (see concurrent),
 * - the variable has no copier,
 * - there are several chunks, and elements that are read do not share memory,
 * - there is work enough for them: about 0.1 ms for each. In a store that lends at once, the work is estimated from
 *   the bytes; in any other it is measured on the first chunks.
 *
 * If the system refuses a thread, the remaining workers do its share. Results and status are the same with any number,
 * as long as there is memory for a chunk in each. New threads have all signals blocked but those of a fault (SIGSEGV,
 * SIGBUS and the like), which are handled as in the caller.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL; threads is 0).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_context_set_threads(nczchunk_context *context, size_t threads);

/* ---------------------------------------------------------------------------------------------------------------------
 * PLANS: TRANSFERS THAT ARE LOOKED AT, DIVIDED, AND EXECUTED AGAIN
 *
 * A plan knows what a read or a write will do without doing it: how many chunks it touches, which, how much of each,
 * how many bytes it delivers and how many it asks for at most. It takes memory for the rank, not for the chunks (those
 * of up to 64 chunks are prepared, so that they are quick to execute), and finds any chunk at once. Every read and
 * write above is a plan and its execution; a plan of your own can be executed as often as you like, as a whole or in
 * parts, by several threads at once:
 *
 *     nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &plan, NULL);
 *     for (;;) {
 *         nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, NULL);        the same hyperslab, as often as needed
 *         ...
 *     }
 *
 * With a variable that has a write grid, a plan for writing goes by the chunks of that grid.
 */

/** As a number of chunks: all of the plan's that follow the first one. */
#define NCZCHUNK_ALL SIZE_MAX

/**
 * For a plan to read.
 */
#define NCZCHUNK_READ 0

/**
 * For a plan to write. If any count is 0, the far end of no dimension is checked.
 */
#define NCZCHUNK_WRITE 1



/**
 * What a plan adds up to. Set struct_size before it is filled in.
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
     * Chunks of those that are covered: a write replaces every element inside the dimensions and needs no read.
     */
    size_t covered_chunks;
    /**
     * Elements selected.
     */
    size_t elements;
    /**
     * Bytes selected: what a read delivers.
     */
    size_t selected_bytes;
    /**
     * Bytes of the touched chunks at full size: before they are encoded, and as if none were absent. SIZE_MAX if they
     * are more.
     */
    size_t chunk_bytes;
    /**
     * Chunks that the whole variable has, touched or not, stored or absent. SIZE_MAX if they are more.
     */
    size_t grid_chunks;
} nczchunk_totals;

/**
 * What a slice selects of one chunk, along one dimension. All lengths and positions are in elements.
 */
typedef struct nczchunk_projection {
    /**
     * The chunk's index along the dimension. Signed, because a dimension that grew at its front has chunks below 0.
     */
    ptrdiff_t chunk_index;
    /**
     * Where the chunk begins, in the index space that the origin refers to: chunk_index * chunklen.
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
     * Where the dimension ends, counted from the beginning of the chunk: chunklen, or less in the last chunk.
     */
    size_t limit;
    /**
     * Where the first selected element goes in memory, along this dimension.
     */
    size_t iopos;
    /**
     * How many elements are selected: first, first + stride, ... last.
     */
    size_t iocount;
} nczchunk_projection;

/**
 * A plan for a hyperslab, with the arguments of nczchunk_read_vars and nczchunk_write_vars; access is NCZCHUNK_READ or
 * NCZCHUNK_WRITE. Free it with nczchunk_plan_free.
 *
 * Errors: those which these functions find before any callback runs, data and store aside; NCZCHUNK_EINVAL (plan is
 * NULL; no such access), NCZCHUNK_ENOMEM.
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
 * A plan for a hyperslab in memory with an imap, with the arguments of nczchunk_read_varm and nczchunk_write_varm.
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
 * A plan for a hyperslab in a part of a block of memory, forwards or backwards, with the arguments of
 * nczchunk_read_strided and nczchunk_write_strided.
 *
 * Errors: those which these functions find before any callback runs, memory and store aside; NCZCHUNK_EINVAL (plan is
 * NULL; no such access), NCZCHUNK_ENOMEM.
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
 * What the plan adds up to.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; the struct_size of totals is not set).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_totals(const nczchunk_plan *plan,
                         nczchunk_totals *totals,
                         nczchunk_context *context);

/**
 * The i-th chunk of the plan, counted from 0 in row-major order of chunk indices, which is the order of reading.
 *
 * projections has room for one entry per dimension, each of projection_size bytes: sizeof(nczchunk_projection). It
 * receives, for each dimension, the chunk's index, the elements selected in the chunk (first, last, iocount: a box,
 * stride apart) and the place they take in memory (iopos, iocount: a box without gaps). covered (NULL: not wanted)
 * receives 1 if every element of the chunk that lies inside the dimensions is selected, else 0.
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
 * Whether writes by two plans, made for the same variable, would touch a chunk in common: shared receives 1 if so,
 * else 0. Writes whose plans do not may be done at the same time. For a variable with a write grid, chunks are those
 * of that grid. It takes about the same time whatever the number of chunks.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_shares_chunks(const nczchunk_plan *plan,
                                const nczchunk_plan *other,
                                int *shared,
                                nczchunk_context *context);

/**
 * One of num_parts parts of a plan, counted from 0, for as many threads or processes: num_chunks chunks from number
 * first_chunk on. Parts differ by at most one chunk in length and are together the whole plan; with more parts than
 * chunks some are empty. Parts of a plan for writing touch different chunks (of the write grid, if there is one), so
 * they can be executed at the same time.
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
 * data points to what the function takes whose arguments the plan was made with: to room for the selected elements,
 * without gaps; with an imap to the first element; for nczchunk_plan_new_strided to the beginning of the block of
 * memory. It is the same for every part, and only the elements of the part's chunks are written to. Several threads
 * may execute different parts at the same time with the same data, each with a context of its own, if the store may be
 * used so.
 *
 * Errors: NCZCHUNK_EINVAL (plan or store is NULL; the plan is for writing; data is NULL though something is selected),
 * NCZCHUNK_EINVALCOORDS (first_chunk is above the number of chunks), NCZCHUNK_EEDGE (first_chunk + num_chunks is, and
 * num_chunks is not NCZCHUNK_ALL); errors of a chunk as for nczchunk_read_vars.
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
 * Errors: NCZCHUNK_EINVAL (plan or store is NULL; the plan is for reading; data is NULL though something is selected),
 * NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_plan_read; NCZCHUNK_EPERM and errors of a chunk as for
 * nczchunk_write_vars.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_plan_write(const nczchunk_plan *plan,
                        const nczchunk_chunk_store *store,
                        size_t first_chunk,
                        size_t num_chunks,
                        const void *data,
                        nczchunk_context *context);

/**
 * Moves the elements of the plan's i-th chunk between the chunk, which is the caller's, and data: from the chunk if
 * the plan is for reading, to it if it is for writing. No store is needed. chunk has nbytes bytes, the length of a
 * full chunk, decoded and in stored byte order; what is not selected is not touched. data is as for
 * nczchunk_plan_read.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_EBADCHUNK
 * (nbytes is another number), what the variable's copier returned, NCZCHUNK_ENOMEM.
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
 * nczchunk_read_vars and nczchunk_write_vars take memory that is row-major and without gaps. These functions take any
 * memory in which the distance from an element to the next is the same all along a dimension: Fortran order, a
 * transpose, a part of a larger array, an array that is to be flipped. No copy is made.
 *
 * Where elements overlap in memory (a stride of 0), a write takes the same values again and again; what a read leaves
 * there is one of the values.
 */

/**
 * Reads a hyperslab as nc_get_varm does: as nczchunk_read_vars, but along dimension d the elements are imap[d]
 * elements apart in data, which points to the first one; imap may be negative. imap NULL is row-major without gaps.
 * What data points to is trusted to be large enough: nczchunk_read_strided checks.
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
 * Writes a hyperslab as nc_put_varm does: as nczchunk_write_vars, with imap as for nczchunk_read_varm.
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
 * may be negative: then start is the last of them in the variable. stride NULL is 1 everywhere; count is not NULL
 * unless the rank is 0. In memory, element k along dimension d is memory_strides[d] * k bytes from the first one,
 * which is memory_offset bytes into memory. memory has memory_size bytes, and nothing outside of it is touched.
 *
 * Errors: those of nczchunk_read_vars, with NCZCHUNK_ESTRIDE for a stride of 0 only, NCZCHUNK_EINVALCOORDS for a start
 * beyond the dimension and NCZCHUNK_EEDGE for a last element beyond either of its ends; NCZCHUNK_EINVAL if an element
 * does not lie within memory, or if memory_strides is NULL.
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
 * A store asks callbacks of yours for chunks, and only for chunks of which at least one element is selected; one at a
 * time, unless you allow more. Along each dimension, chunk i holds the elements from i * chunklen on (less the origin,
 * in a dimension that has one). There are two ways to give a chunk:
 *
 * - lend it: return a pointer to a chunk that is in memory already; for writing, one to change;
 * - fill it in: write it into a buffer of the library's; for writing, take it from one. Whenever the chunk lies in the
 *   caller's memory in one piece, that buffer is the caller's memory, and nothing is copied.
 *
 * A callback returns 0. One that gives a chunk may return NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT instead: the chunk is
 * absent and reads as the fill value. Any other status ends the call, which returns it. A callback must not leave by a
 * C++ exception, longjmp or pthread_exit. pthread_cancel is held off while the library runs, in a process that has
 * several threads when the call begins: a callback that makes the first other thread must not let it cancel its own. A
 * callback may call the library, but must not change or free what the running call uses, nor use its context (it may
 * ask the context).
 *
 * A store whose callbacks for writing are NULL is read-only.
 *
 * Structures of callbacks begin with their own size, so that they can grow: set struct_size to sizeof the structure
 * and everything you do not use to 0, as NCZCHUNK_ZERO_COPY_CALLBACKS_INIT and NCZCHUNK_READER_CALLBACKS_INIT do. What
 * callbacks are given is valid until they return, unless its description says otherwise.
 */

/**
 * A chunk on loan: which one the library wants, and what the lender gives. The library sets the fields up to covered,
 * the callback the others. The callbacks get the same loan with the same fields when it is given back, at an address
 * that may be another one.
 */
typedef struct nczchunk_borrowed_chunk {
    /**
     * sizeof(nczchunk_borrowed_chunk) as the library knows it: fields beyond it do not exist.
     */
    size_t struct_size;
    /**
     * The number of chunk_indices.
     */
    size_t rank;
    /**
     * The chunk's indices, one per dimension; aligned as ptrdiff_t, and valid until the callback returns. NULL is
     * possible only if rank is 0.
     */
    const ptrdiff_t *chunk_indices;
    /**
     * NCZCHUNK_READ; or NCZCHUNK_WRITE for a chunk that is lent to be changed. A variable with a write grid is written
     * by that grid: then the indices count its chunks.
     */
    size_t access;
    /**
     * The length of the whole chunk in bytes: decoded, if the store has codecs.
     */
    size_t chunk_bytes;
    /**
     * For writing: 1 if every element of the chunk that lies inside the dimensions will be replaced, else 0.
     */
    size_t covered;
    /**
     * The chunk's first byte. It is only read unless access is NCZCHUNK_WRITE. The library needs no alignment; a
     * copier is given elements as they lie there. NULL at first.
     */
    void *data;
    /**
     * The chunk's length in bytes. 0 at first.
     */
    size_t nbytes;
    /**
     * Whatever the lender wants to find in the loan when it is given back: its own name for what is on loan. NULL at
     * first.
     */
    void *handle;
} nczchunk_borrowed_chunk;

/**
 * Callbacks that lend chunks.
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
     * Lends a chunk: sets data to its first byte and nbytes to its length, which must be that of a full chunk (or, in
     * a store with codecs, is that of the encoded chunk), and handle to whatever it likes. The chunk must stay valid
     * and unchanged until release is called for it or, without release, until lend or lend_to_write is called again,
     * by whichever thread.
     *
     * With NCZCHUNK_EEMPTY, data may be set too: then it is a chunk of fill values in native byte order to be used
     * instead of the variable's fill value. (A store with codecs does not use it.) A cache that keeps such a chunk
     * returns NCZCHUNK_EEMPTY for it every time until it is told that it was changed: then it is in stored byte order.
     */
    int (*lend)(void *user, nczchunk_borrowed_chunk *loan);
    /**
     * For writing; may be NULL. Lends a chunk to be changed, as lend does. If covered is 1 the chunk need not be read
     * first, and what it holds does not matter. With NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT it is a new chunk, and what
     * it holds does not matter either: the library fills it with the fill value where it is not written to.
     *
     * Elements with a copier are the exception, for what they hold is freed: a chunk with status 0 holds elements, one
     * that is new holds zero bytes, covered or not.
     */
    int (*lend_to_write)(void *user, nczchunk_borrowed_chunk *loan);
    /**
     * Takes a chunk back; may be NULL. It is called once for every loan for which lend set data while returning 0 or
     * NCZCHUNK_EEMPTY, or lend_to_write while returning 0, NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT, before the same
     * thread of that call asks for another chunk. status is the outcome: 0 if the chunk was read or, with access
     * NCZCHUNK_WRITE, changed as a whole; any other if that failed, and then the contents of a chunk that was to be
     * changed are unspecified. If release itself returns a status other than 0 (because the change cannot be kept, for
     * example), the call ends with it, unless it has failed already.
     */
    int (*release)(void *user, nczchunk_borrowed_chunk *loan, int status);
    /**
     * Called once when the store is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time, and a chunk that was lent stays valid until it
     * is released or, without release, until the call of the library ends, whatever else is lent meanwhile. Then a
     * call may use threads (nczchunk_context_set_threads), which are not the program's own: they have a stack of the
     * system's default size, but 2 MiB at least, and thread-local variables as in any new thread. 0 keeps a call to
     * its own thread; that no two threads of yours call at the same time is then up to you. 2 is as 1, for callbacks
     * that may take any time, to fetch or to decode a chunk: how many threads are worth while is then measured on the
     * first chunks.
     */
    size_t concurrent;
    /**
     * 1 if a chunk may be longer than a full one: then its first bytes count, as in netCDF-C. 0 refuses it.
     */
    size_t accept_longer;
} nczchunk_zero_copy_callbacks;

/**
 * One chunk that a store is asked for: the chunk, a buffer to fill, and what became of it. Callbacks get a pointer to
 * it.
 *
 * The library sets all fields but those that are said to be the callback's. They are valid, and the buffer with them,
 * until the callback returns or, for a request that was started, until it is given back.
 */
typedef struct nczchunk_request {
    /**
     * sizeof(nczchunk_request) as the library knows it: fields beyond it do not exist.
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
     * NCZCHUNK_READ; or NCZCHUNK_WRITE for a chunk that is fetched to be changed, or stored. A variable with a write
     * grid is written by that grid: then the indices count its chunks.
     */
    size_t access;
    /**
     * The length of the whole chunk in bytes: decoded, if the store has codecs.
     */
    size_t chunk_bytes;
    /**
     * The first byte of the stored chunk that is asked for. It is 0, unless the callbacks serve ranges.
     */
    size_t offset;
    /**
     * To fetch: where the bytes go. To store: the bytes, which are only read. A buffer of the library's begins at a
     * multiple of 64 bytes; where it is the caller's own memory it has the alignment of that.
     */
    void *buffer;
    /**
     * To fetch: how many bytes the buffer has room for. To store: how many bytes there are.
     */
    size_t size;
    /**
     * The callback's, to fetch: how many bytes the stored chunk has from offset on, even if they are more than size.
     * In an answer to a part of a chunk any number from size on will do if at least size bytes are there. 0 at first.
     */
    size_t nbytes;
    /**
     * The callback's, for a request that was started: how it ended, as fill would return it. 0 at first.
     */
    ptrdiff_t status;
    /**
     * The callback's: whatever it wants to remember from start to wait. NULL at first.
     */
    void *handle;
} nczchunk_request;

/**
 * Callbacks that fill in chunks.
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
     * Fetches a stored chunk into the request's buffer, which has room for size bytes, and sets nbytes to the length
     * of the stored chunk. size is the length of a full chunk; in a store with codecs, the most that such a chunk
     * takes encoded in one go. May be NULL if start and wait are not.
     *
     * A longer chunk is not written beyond size, and nbytes is still its length. It is an error or, in a store with
     * codecs, where a chunk encoded in many small pieces can be longer, asked for once more with that much room.
     */
    int (*fill)(void *user, nczchunk_request *request);
    /**
     * For writing; may be NULL. Stores a chunk: the size bytes of the request's buffer, which it only reads. Whether a
     * reader may see half of it is up to the callback: one that puts a chunk in its place at once (by renaming a file)
     * gives the old one or the new one.
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
     * 1 if fill serves ranges: then it may be asked for any part of a stored chunk, size bytes from byte offset on,
     * unless the store has codecs. So of a large chunk that is stored as it is, only what is needed is fetched, in one
     * or more requests. Of a part nobody checks whether the stored chunk is longer than it should be.
     */
    size_t ranges;
    /**
     * With ranges: two parts of a chunk are fetched by one request if fewer bytes than these lie between them. 0
     * stands for 16384.
     */
    size_t gap;
    /**
     * With wait, for stores with latency, such as object stores: begins to fetch a chunk as fill does, but returns at
     * once. A read then keeps up to in_flight requests under way, and starts the next ones while it decodes; if it may
     * use threads, and concurrent is not 0, each thread starts its share of them and waits for these. The request, its
     * indices and its buffer stay valid until wait gives the request back. If start returns a status other than 0, the
     * request has not begun and will not be given back; so may a chunk be absent at once.
     */
    int (*start)(void *user, nczchunk_request *request);
    /**
     * Waits until a request that the calling thread started has ended, in any order, and sets done to it. The
     * request's status and nbytes say how it ended, as the result of fill and its nbytes would. If wait itself returns
     * a status other than 0, no request is under way any more: the callback has ended all of them, and does not touch
     * their buffers again. While requests are under way, no callback may read by the store in the same thread:
     * NCZCHUNK_EINVAL.
     */
    int (*wait)(void *user, nczchunk_request **done);
    /**
     * Told that a request that was started is not needed any more, because the call is about to fail; may be NULL. The
     * request is still given back by wait, with any status.
     */
    void (*cancel)(void *user, nczchunk_request *request);
    /**
     * With start: how many requests may be under way at the same time. Each has a buffer of its own. 0 stands for 64.
     */
    size_t in_flight;
} nczchunk_reader_callbacks;

/**
 * A new store whose chunks are lent. The callbacks are copied. Free it with nczchunk_chunk_store_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; lend is NULL; a struct_size of 0, or of a newer structure whose additions
 * are in use), NCZCHUNK_ENOMEM; then destroy is not called.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_new_zero_copy(const nczchunk_zero_copy_callbacks *callbacks,
                                       nczchunk_chunk_store **store,
                                       nczchunk_context *context);

/**
 * A new store whose chunks are filled in. The callbacks are copied. Free it with nczchunk_chunk_store_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; fill is NULL and so is start; only one of start and wait is NULL; a
 * struct_size of 0, or of a newer structure whose additions are in use), NCZCHUNK_ENOMEM; then destroy is not called.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_new(const nczchunk_reader_callbacks *callbacks,
                             nczchunk_chunk_store **store,
                             nczchunk_context *context);

/**
 * Sets whether every chunk that a store's codecs decode is decoded to its end: 1 or, at first, 0. If not, decoding
 * stops after the last byte that is needed, where the codec can do that. It is faster, and neither the rest of the
 * chunk nor a checksum behind it is verified then. A chunk of which the last element is needed is always decoded to
 * its end.
 *
 * Of an array in a zip file 1 has the entries of the chunks that are read, or of their shards, compared with their
 * checksums as well, each once as long as the file is open. With 0 that is so for entries that are read whole; a part
 * of one, such as a chunk of a shard or some elements of a chunk that is stored as it is, is not verified.
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
 * CODECS, THE LIBRARY'S AND YOUR OWN
 *
 * A store may have a chain of codecs: then its callbacks give and take encoded chunks. A codec is made by one of these
 * functions and handed over to a store by nczchunk_chunk_store_add_codec, one after another in the order of encoding.
 *
 *     nczchunk_codec_zstd(NULL, &codec, NULL);
 *     nczchunk_chunk_store_add_codec(store, codec, NULL);
 *
 * A chunk is decoded straight into the caller's memory where it lands there in one piece; only large reads decode
 * chunks of up to 1 MiB in the processor's cache first, where that is quicker. No size that encoded data claims is
 * trusted: they are decoded into a buffer of the size that is due. Data that decode to another length fail with
 * NCZCHUNK_EBADCHUNK, data that do not decode with NCZCHUNK_EIO; but see nczchunk_chunk_store_set_verify.
 */

/**
 * How zstd encodes.
 */
typedef struct nczchunk_zstd_options {
    /**
     * sizeof(nczchunk_zstd_options).
     */
    size_t struct_size;
    /**
     * The compression level; 0 is zstd's default, which is 3. Levels outside zstd's range are clamped to it.
     */
    ptrdiff_t level;
    /**
     * 1 to leave out the checksum that follows the data, else 0.
     */
    size_t no_checksum;
} nczchunk_zstd_options;

/**
 * What a codec of yours is to encode or decode. The library sets all fields but nbytes; they are valid until the
 * callback returns.
 */
typedef struct nczchunk_coding {
    /**
     * sizeof(nczchunk_coding) as the library knows it: fields beyond it do not exist.
     */
    size_t struct_size;
    /**
     * The bytes to encode or decode, which are only read. They need not be aligned.
     */
    const void *source;
    /**
     * How many there are.
     */
    size_t source_size;
    /**
     * Where the result goes. It need not be aligned, and does not overlap the source.
     */
    void *destination;
    /**
     * How many bytes there is room for: to decode, the length that is due; to encode, what encoded_bound has told.
     */
    size_t capacity;
    /**
     * To decode: the first byte of the result that is needed. The codec may not leave out what is before it.
     */
    size_t needed_offset;
    /**
     * To decode: how many bytes of the result are needed from there on. What follows them may be left out.
     */
    size_t needed_size;
    /**
     * The callback's: how many bytes of the result it has written, from the first on. 0 at first.
     */
    size_t nbytes;
} nczchunk_coding;

/**
 * A codec of your own.
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
     * Decodes. It never writes more than capacity bytes; if the result is longer, it sets nbytes to any number above
     * capacity and returns 0, or returns a status of its own. Returns 0 or a status, which ends the call.
     */
    int (*decode)(void *user, nczchunk_coding *coding);
    /**
     * Encodes; may be NULL: then stores with this codec cannot be written to. Returns 0 or a status, which ends the
     * call.
     */
    int (*encode)(void *user, nczchunk_coding *coding);
    /**
     * The most bytes that decoded_size bytes take encoded in one go. It is called for reading too, to know how much
     * room an encoded chunk may need. NULL stands for as many as there are decoded.
     */
    size_t (*encoded_bound)(void *user, size_t decoded_size);
    /**
     * Called once when the codec is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * 1 if the callbacks may run in several threads at the same time; 0 keeps a call with this codec to its own
     * thread.
     */
    size_t concurrent;
} nczchunk_codec_callbacks;

/**
 * The codec zstd. options is for encoding; NULL stands for zeros. Free it with nczchunk_codec_free, unless a store has
 * taken it over.
 *
 * Errors: NCZCHUNK_EINVAL (codec is NULL; a struct_size of 0, or of a newer structure whose additions are in use),
 * NCZCHUNK_ENOFILTER (the library was built without zstd), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_codec_zstd(const nczchunk_zstd_options *options,
                        nczchunk_codec **codec,
                        nczchunk_context *context);

/**
 * The codec that does what HDF5's filter of this number does, with the parameters of nc_def_var_filter, such as 1 for
 * deflate (the level), 2 for shuffle (the bytes of an element), 3 for fletcher32 (none), 32001 for blosc (seven, as
 * H5Zblosc.c has them) and 32015 for zstd (the level). It decodes only what the filter decodes: of zstd one frame that
 * says its size. Free it with nczchunk_codec_free, unless a store has taken it over.
 *
 * Errors: NCZCHUNK_EINVAL (codec is NULL; parameters is NULL though there are some; parameters that the filter does
 * not take), NCZCHUNK_ENOFILTER (another filter; the library was built without it), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_codec_filter(unsigned int filter,
                          size_t num_parameters,
                          const unsigned int *parameters,
                          nczchunk_codec **codec,
                          nczchunk_context *context);

/**
 * 1 if the library was built with the codec of this name, such as "blosc", "zstd" or "sharding_indexed"; 0 for any
 * other name and for NULL. docs/formats.md lists all.
 */
NCZCHUNK_API int nczchunk_has_codec(const char *name);

/**
 * A codec of your own. name is for messages, and is copied up to 63 bytes; so are the callbacks. Free it with
 * nczchunk_codec_free, unless a store has taken it over.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; decode is NULL; a struct_size of 0, or of a newer structure whose
 * additions are in use), NCZCHUNK_ENOMEM; then destroy is not called.
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
 * Adds a codec at the end of a store's chain, which is in the order of encoding: it encodes what the codecs before it
 * have made of a chunk, and is the first to decode what the callbacks give. The store takes the codec over and frees
 * it; only if the call fails does it remain the caller's. To be written to, a store with codecs must be one that fills
 * in chunks.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOMEM; then the store is as it was.
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
 * A store with codecs decodes a chunk again for every call that needs it, unless it has a cache. A cache keeps decoded
 * chunks up to a number of bytes, for one store or for several:
 *
 *     nczchunk_cache_new(64 << 20, &cache, NULL);
 *     nczchunk_chunk_store_set_cache(store, cache, NULL);
 *     nczchunk_cache_free(cache);                            the store goes on using it
 *
 * It is used where it saves decoding, or requests that take long: not for chunks on loan, nor for chunks that are
 * stored as they are and can be asked for in ranges, unless the store has start and wait; nor to keep chunks of which
 * a call takes all. Chunks are dropped in the order of their last use, but no call pushes out what it has fetched
 * itself. While one thread fetches a chunk, others that need it wait; so a callback must not read the same chunk
 * of the same store. Writes go through to the store at once.
 */

/**
 * What has become of a cache's requests, and what is in it. Set struct_size before it is filled in.
 */
typedef struct nczchunk_cache_statistics {
    /**
     * sizeof(nczchunk_cache_statistics).
     */
    size_t struct_size;
    /**
     * How many chunks there are.
     */
    size_t chunks;
    /**
     * How many bytes they take.
     */
    size_t bytes;
    /**
     * How many bytes they may take.
     */
    size_t limit;
    /**
     * How often a chunk was found.
     */
    uint64_t hits;
    /**
     * How often a chunk had to be fetched and decoded, in part or as a whole.
     */
    uint64_t misses;
    /**
     * How many chunks were dropped to make room.
     */
    uint64_t evictions;
} nczchunk_cache_statistics;

/**
 * A new cache that keeps up to limit bytes of decoded chunks. Free it with nczchunk_cache_free. One of 32 MiB or more
 * may take some MiB beside them, where the system has large pages.
 *
 * Errors: NCZCHUNK_EINVAL (cache is NULL), NCZCHUNK_ENOMEM.
 */
NCZCHUNK_API NCZCHUNK_MUST_USE int nczchunk_cache_new(size_t limit, nczchunk_cache **cache, nczchunk_context *context);

/**
 * Frees a cache. Stores that use it go on doing so. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_cache_free(nczchunk_cache *cache);

/**
 * Has a store's decoded chunks kept in a cache; NULL for cache has them kept no longer. What the store had in another
 * cache is dropped.
 *
 * Errors: NCZCHUNK_EINVAL (store is NULL).
 */
NCZCHUNK_API NCZCHUNK_MUST_USE
int nczchunk_chunk_store_set_cache(nczchunk_chunk_store *store,
                                   const nczchunk_cache *cache,
                                   nczchunk_context *context);

/**
 * What has become of a cache's requests, and what is in it.
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
 * THE STRIDED COPY BY ITSELF
 */

/**
 * Copies a box of elements between two blocks of memory, each with strides of its own: what moves elements between
 * chunks and memory in all of the above.
 *
 * Along dimension d there are count[d] elements of element_size bytes. In the source, element k along dimension d is
 * source_strides[d] * k bytes from the first one, which is source_offset bytes into source, a block of source_size
 * bytes; likewise in the destination, which must not overlap the source. Strides may have either sign; where elements
 * overlap in the destination (a stride of 0), one of the values is left there. A count along a dimension whose strides
 * are both 0 is taken for 1. The three lists have rank entries. If a count is 0 nothing is copied. word_size is 0 or,
 * to reverse the bytes of each word on the way, the size of a word: 2, 4 or 8, and a divisor of element_size. Neither
 * block needs an alignment.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument though something is copied; element_size 0; another word_size; an element
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
 * The arithmetic under it all: which chunks does start, count, stride touch along one dimension, and which elements of
 * each? Only touched chunks are listed, each is found in constant time, and nothing is allocated, so a dimension of
 * 2^62 chunks with two elements selected costs two projections.
 */

/**
 * Lists the projections of a slice (start, count, stride) of a dimension of dimlen elements onto its chunks of
 * chunklen.
 *
 * needed receives their number. They are written to projections, in ascending order of chunks, if there is room:
 * capacity is at least needed. Each takes projection_size bytes, which is sizeof(nczchunk_projection). With
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
 * The p-th of these projections, counted from 0, in constant time. projection has projection_size bytes:
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
 * netCDF-C's odometer (nczodom_*): it steps through an n-dimensional box in row-major order, with a stride.
 *
 *     for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer))
 *         use(nczchunk_odometer_indices(odometer), nczchunk_odometer_offset(odometer));
 *
 * Unlike netCDF-C's it has no positions if any dimension is empty, the first or another, and one position at rank 0.
 */

/**
 * An odometer. One thread at a time may use it.
 */
typedef struct nczchunk_odometer nczchunk_odometer;

/**
 * A new odometer at its first position. Along dimension d it runs through start[d], start[d] + stride[d], ... below
 * stop[d], the last dimension fastest; len[d] is the extent of the array that nczchunk_odometer_offset counts in. All
 * four have rank entries and are copied. Free it with nczchunk_odometer_free.
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
 * 1 while there is a current position, 0 once the last one is passed; 0 for NULL.
 */
NCZCHUNK_API int nczchunk_odometer_more(const nczchunk_odometer *odometer);

/**
 * Moves to the next position. Past the last one it does nothing.
 */
NCZCHUNK_API void nczchunk_odometer_next(nczchunk_odometer *odometer);

/**
 * The current position: one index per dimension. It belongs to the odometer and changes with it. NULL for NULL.
 */
NCZCHUNK_API const size_t *nczchunk_odometer_indices(const nczchunk_odometer *odometer);

/**
 * The current position's row-major place in an array of the extents len, in elements; SIZE_MAX if it is larger than
 * that. 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_odometer_offset(const nczchunk_odometer *odometer);

/**
 * How far a row reaches: stop - start of the last dimension, wherever the odometer is. With a stride of 1 that is the
 * number of positions in a row. 1 at rank 0; 0 for NULL.
 */
NCZCHUNK_API size_t nczchunk_odometer_avail(const nczchunk_odometer *odometer);

/**
 * Skips what is left of the current row: the next nczchunk_odometer_next moves to the beginning of the following row.
 */
NCZCHUNK_API void nczchunk_odometer_skipavail(nczchunk_odometer *odometer);

/**
 * Back to the first position.
 */
NCZCHUNK_API void nczchunk_odometer_reset(nczchunk_odometer *odometer);

/**
 * Frees an odometer. NULL is allowed.
 */
NCZCHUNK_API void nczchunk_odometer_free(nczchunk_odometer *odometer);

/* ---------------------------------------------------------------------------------------------------------------------
 * CHUNK KEYS: WHAT A STORE CALLS A CHUNK
 *
 * `0.1` in Zarr v2, `c/0/1` in Zarr v3, `sst!0.90` in cfdb. A key is written as text with a NUL at its end. Each
 * function also tells its length, so that a first call without a buffer finds out how much room is needed.
 */

/**
 * Writes the key of a chunk in Zarr v2, and in Zarr v3 with the "v2" chunk key encoding: "2.1" or "2/1"; "0" for a
 * scalar. chunk_indices has rank entries, none negative; separator is '.' or '/'.
 *
 * length receives the key's length in bytes, the NUL not counted; it may be NULL. The key and a NUL are written to key
 * if there is room for them: capacity, in bytes, is above the length. With key NULL, or capacity 0, only length is
 * set.
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
 * Writes the key of a chunk in cfdb: the variable's name, '!', and where the chunk starts in each dimension, in
 * elements, with dots between: "sst!180.90" for chunk (2, 1) with chunk lengths (90, 90).
 *
 * var is the variable's name in UTF-8. chunklens and chunk_indices have rank entries. An index is negative before the
 * origin: element i lies in chunk floor((i + origin) / chunklen). For the rest see nczchunk_key_zarr_v2.
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
 * CHUNK SHAPES: WHAT OTHERS CHOOSE BY DEFAULT
 *
 * The chunk lengths that netCDF-C and rechunkit choose when nobody says how a variable is to be cut into chunks.
 */

/**
 * The chunk lengths netCDF-C gives a netCDF-4 variable, as nc_inq_var_chunking reports them: all fixed dimensions
 * shortened by the same factor, unlimited ones to 1.
 *
 * dimlens has rank entries; 0 is an unlimited dimension. typesize is the size of an element in bytes, target_bytes the
 * size a chunk should come near to, 0 for netCDF-C's own: 16 MiB. chunklens receives rank lengths; it may not overlap
 * dimlens.
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
 * The chunk lengths rechunkit guesses, which are cfdb's default: dimensions shortened in turn to numbers with many
 * divisors, until the chunk takes at most one and a half times the target.
 *
 * dimlens has rank entries, none 0. typesize is the size of an element in bytes, target_bytes the size a chunk should
 * come near to, 0 for rechunkit's own: 2 MiB. chunklens receives rank lengths; it may not overlap dimlens.
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

/* ---------------------------------------------------------------------------------------------------------------------
 * CLASSIC FILES: WHERE A VALUE LIES
 *
 * In a netCDF classic file (CDF-1, CDF-2, CDF-5) the place of a value follows from its variable's shape and two
 * numbers of the header: the variable's begin, and the size of a record. Sizes and offsets are in bytes. Only the
 * first length may be 0: then the dimension is the file's record dimension.
 */

/**
 * The size of a variable, or of one record of it if it is a record variable.
 *
 * dimlens has rank entries; typesize is the size of an element: 1, 2, 4 or 8. size receives the bytes that the values
 * take, padded the same rounded up to a multiple of 4; each may be NULL. The header's vsize should be the padded size,
 * but is not in every file: rely on the shape.
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
 * The size of one record of a file: how far a value lies from the same one in the next record.
 *
 * sizes has nvars entries, one for each record variable of the file: the size, not the padded one, that
 * nczchunk_classic_varsize tells. The sum is made of padded sizes unless there is exactly one, which is not padded.
 * recsize receives the sum; 0 if nvars is 0.
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
 * The byte offset of a value from the beginning of the file.
 *
 * dimlens and typesize are as for nczchunk_classic_varsize. begin is the variable's, from the header; recsize is what
 * nczchunk_classic_recsize tells, not looked at unless this is a record variable. indices has rank entries: the
 * value's position. That of a record variable starts with the number of the record, for which there is no upper bound
 * here.
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
