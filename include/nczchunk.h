/*
 * nczchunk: hyperslabs of chunked n-dimensional arrays.
 *
 * An array of n dimensions is stored as chunks: files, objects, entries of a database. A hyperslab is what netCDF calls
 * (start, count, stride): along each dimension, count elements from start on, stride apart. This library finds the chunks
 * that a hyperslab touches, asks you for each of them once, and puts the selected elements where they belong in memory.
 *
 *     size_t dimlens[2] = {90, 180}, chunklens[2] = {40, 50};              the array, and a chunk of it
 *     nczchunk_var_new(2, dimlens, chunklens, sizeof(float), &var, NULL);
 *
 *     nczchunk_filling_callbacks callbacks = {.struct_size = sizeof callbacks, .fill = read_chunk};
 *     nczchunk_store_filling(&callbacks, &store);                          read_chunk is yours
 *
 *     size_t start[2] = {10, 0}, count[2] = {20, 60};
 *     ptrdiff_t stride[2] = {1, 3};                                        every third column
 *     nczchunk_read_vars(var, store, start, count, stride, data, NULL);    20 * 60 floats
 *
 * examples/first_read.c is that as a whole program. The sections below follow the same way: version, status, what went
 * wrong; then the variable, the store, the read and the write, and other layouts of memory; then what these are made of, for
 * those who want to look inside or build something else from it: projections, plans, odometers; last, conventions of
 * neighbouring systems.
 *
 * In all of it:
 * - lengths, indices and positions are in elements unless bytes are named; arrays with one entry per dimension have the
 *   slowest dimension first;
 * - a pointer that may be NULL says so; every other must point to what its description says, and a NULL in its place gives
 *   NCZCHUNK_EINVAL (NULL for start gives NCZCHUNK_EINVALCOORDS, as in netCDF). On an error, what would have been the result is untouched unless its description says otherwise;
 * - an object that a function makes is yours to free, with the _free function of its kind; whatever you pass in stays yours;
 * - there is no global state. Different objects may be used by different threads at the same time; what is said of each
 *   type tells whether one object may be;
 * - nothing prints, aborts or raises signals; memory that cannot be had gives NCZCHUNK_ENOMEM and leaves everything usable.
 *
 * This file is generated from the library's source. If a function does not appear in it, it is not part of the interface.
 */
#ifndef NCZCHUNK_H
#define NCZCHUNK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------------------
 * VERSION
 *
 * The macros are the version a program is compiled against; the functions tell the one it runs with.
 */

#define NCZCHUNK_VERSION_MAJOR 0
#define NCZCHUNK_VERSION_MINOR 1
#define NCZCHUNK_VERSION_PATCH 0
#define NCZCHUNK_VERSION "0.1.0"
#define NCZCHUNK_VERSION_NUMBER \
    (NCZCHUNK_VERSION_MAJOR * 1000000 + NCZCHUNK_VERSION_MINOR * 1000 + NCZCHUNK_VERSION_PATCH)

/**
 * The version of the library in use as text, for example "0.1.0". Static; never NULL.
 */
const char *nczchunk_version(void);

/**
 * The version of the library in use as a number to compare with NCZCHUNK_VERSION_NUMBER:
 * major * 1000000 + minor * 1000 + patch.
 */
int nczchunk_version_number(void);

/* ---------------------------------------------------------------------------------------------------------------------
 * STATUS
 *
 * Functions that can fail return an int: 0, one of netCDF's numbers below or, passed on from a callback of yours,
 * whatever it returned. Positive numbers are errno values.
 */

#define NCZCHUNK_NOERR        0      /**< Success. */
#define NCZCHUNK_EINVAL       (-36)  /**< An impossible argument: a NULL handle, an element of 0 bytes. */
#define NCZCHUNK_EPERM        (-37)  /**< Writing to what may only be read. */
#define NCZCHUNK_EINVALCOORDS (-40)  /**< A start beyond its dimension, or an index beyond its list. */
#define NCZCHUNK_EMAXDIMS     (-41)  /**< A rank above 1024. */
#define NCZCHUNK_EBADTYPE     (-45)  /**< Elements that have no byte order. */
#define NCZCHUNK_EBADDIM      (-46)  /**< A dimension the variable does not have. */
#define NCZCHUNK_ECHAR        (-56)  /**< Text where numbers are meant. */
#define NCZCHUNK_EEDGE        (-57)  /**< The last selected element lies beyond its dimension. */
#define NCZCHUNK_ESTRIDE      (-58)  /**< A stride below 1. */
#define NCZCHUNK_ERANGE       (-60)  /**< More than there is room for. */
#define NCZCHUNK_ENOMEM       (-61)  /**< Out of memory. */
#define NCZCHUNK_EVARSIZE     (-62)  /**< A variable larger than its format allows. */
#define NCZCHUNK_EDIMSIZE     (-63)  /**< A dimension length out of range. */
#define NCZCHUNK_EIO          (-68)  /**< Reading or writing failed. */
#define NCZCHUNK_EINTERNAL    (-92)  /**< A fault in this library. */
#define NCZCHUNK_EBADCHUNK    (-127) /**< A chunk whose size is not what the variable says. */
#define NCZCHUNK_ECANTEXTEND  (-130) /**< A dimension that cannot grow here. */
#define NCZCHUNK_EFILTER      (-132) /**< A compressed chunk that does not decode. */
#define NCZCHUNK_ENOFILTER    (-136) /**< A decoder that is not there. */
#define NCZCHUNK_ENCZARR      (-137) /**< NCZarr's own catch-all. */
#define NCZCHUNK_EEMPTY       (-139) /**< From a callback: the chunk is absent. */
#define NCZCHUNK_EOBJECT      (-140) /**< From a callback: an object is there that should not be. */
#define NCZCHUNK_ENOOBJECT    (-141) /**< From a callback: the chunk is absent. */

/**
 * The words for a status: netCDF's for netCDF's numbers, strerror's for positive ones, "Unknown Error" for others.
 * Not to be freed.
 */
const char *nczchunk_strerror(int status);

/* ---------------------------------------------------------------------------------------------------------------------
 * CONTEXT: WHAT WENT WRONG, AND WHERE; AND HOW MANY THREADS
 *
 * A status says what kind of error there was. Where a function takes a context, pass one instead of NULL and ask it
 * afterwards for the words, the dimension and the chunk. A context that could not be made is NULL, which serves too: it
 * knows nothing.
 *
 *     nczchunk_context *context = NULL;
 *     nczchunk_context_new(&context);
 *     if (nczchunk_read_vars(var, store, start, count, stride, data, context))
 *         fprintf(stderr, "%s\n", nczchunk_context_message(context));
 *         // "chunk (1, 0, 3): the stored chunk has 40 bytes where 4000 are due"
 *     nczchunk_context_free(context);
 */

/**
 * What is known of the last call it was passed to, and what calls may use. One context serves one call at a time; use one
 * per thread.
 */
typedef struct nczchunk_context nczchunk_context;

/**
 * A new context. Free it with nczchunk_context_free.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
 */
int nczchunk_context_new(nczchunk_context **context);

/**
 * Frees a context. NULL is allowed.
 */
void nczchunk_context_free(nczchunk_context *context);

/**
 * Lets calls with this context use up to so many threads at the same time, the caller's included; 1 at first, and never
 * more than 256. A call begins its own and ends them before it returns. More than one work only where the store's callbacks
 * allow it (see concurrent), the variable has no copier, there are several chunks, and what is read does not overlap in
 * memory; where the system refuses a thread, fewer do. Results and status are the same with any number, as long as there is
 * memory for a chunk in each. New threads have all signals blocked but those of a fault (SIGSEGV, SIGBUS and the like),
 * which are handled as in the caller.
 *
 * Errors: NCZCHUNK_EINVAL (context is NULL; threads is 0).
 */
int nczchunk_context_set_threads(nczchunk_context *context,
                                 size_t threads);

/**
 * The status of the last call; NCZCHUNK_NOERR for NULL.
 */
int nczchunk_context_status(const nczchunk_context *context);

/**
 * What went wrong in the last call, in a sentence of at most 511 bytes; empty if nothing did, and for NULL. It belongs to
 * the context and is valid until the next call with it.
 */
const char *nczchunk_context_message(const nczchunk_context *context);

/**
 * The dimension in which the last call went wrong, counted from 0; -1 if it is not a matter of one.
 */
int nczchunk_context_dimension(const nczchunk_context *context);

/**
 * The indices of the chunk at which the last call went wrong, and in rank (NULL: not wanted) their number; NULL if it is
 * not a matter of one. They belong to the context and are valid until the next call with it.
 */
const ptrdiff_t *nczchunk_context_chunk(const nczchunk_context *context,
                                        size_t *rank);

/**
 * How many chunks the last call has read or written. They are the first of the plan, in its order; where the call failed at
 * a chunk, it is the one after them. Those after that were not tried or, with several threads, some were and some not.
 * 0 for NULL.
 */
size_t nczchunk_context_chunks_done(const nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * VARIABLE: WHAT IS STORED
 *
 * A variable says how an n-dimensional array is cut into chunks and what its elements are. It holds no data. Dimensions
 * are given slowest first, as in netCDF; a chunk is stored row-major and at full size, also where it reaches beyond the
 * end of a dimension.
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
 * A variable. Any number of threads may use one at the same time, as long as none changes it.
 */
typedef struct nczchunk_var nczchunk_var;

/**
 * A new variable of rank dimensions, with elements of typesize bytes in native byte order and a fill value of zeros.
 * dimlens and chunklens have rank entries, in elements, and are copied. Rank 0 is a scalar: one element, in one chunk;
 * then both may be NULL. A dimension may have length 0; an unlimited one is given at its current length. A chunk may be
 * longer than its dimension. Free it with nczchunk_var_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; typesize 0; a chunk length of 0; a chunk larger than PTRDIFF_MAX bytes),
 * NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_EDIMSIZE (a dimension longer than PTRDIFF_MAX + 1),
 * NCZCHUNK_ENOMEM.
 */
int nczchunk_var_new(size_t rank,
                     const size_t *dimlens,
                     const size_t *chunklens,
                     size_t typesize,
                     nczchunk_var **var,
                     nczchunk_context *context);

/**
 * Frees a variable. NULL is allowed.
 */
void nczchunk_var_free(nczchunk_var *var);

/**
 * Sets what absent chunks read as: one element, typesize bytes, which are copied. It is in native byte order whatever
 * the variable's, and is never swapped. NULL stands for zeros.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_ENOMEM.
 */
int nczchunk_var_set_fill_value(nczchunk_var *var, const void *fill_value);

/**
 * Sets the byte order of the stored words: one of the NCZCHUNK_ENDIAN_ constants. Words are swapped between chunk and
 * memory as needed; memory is always in native order.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; no such constant), NCZCHUNK_EBADTYPE (elements that have no words: see
 * nczchunk_var_set_word_size).
 */
int nczchunk_var_set_endian(nczchunk_var *var, int endian);

/**
 * Sets the size in bytes of the words that elements are made of: 1, 2, 4 or 8, and a divisor of typesize. Unset, an
 * element of 1, 2, 4 or 8 bytes is one word and one of 16 bytes is two, as a complex number is; an element of any other
 * size has no words and no byte order. Set it to 4 for complex numbers of 8 bytes, to 1 for text of fixed length.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL; no such word size).
 */
int nczchunk_var_set_word_size(nczchunk_var *var, size_t word_size);

/**
 * Sets how elements are copied that are more than their bytes: pointers to text that are to be duplicated, for example.
 * copier is called instead of copying bytes; NULL stands for bytes. It copies count elements, which are contiguous on both
 * sides: from memory to a chunk if writing is 1, from a chunk to memory if it is 0. What the destination held before it
 * frees when writing; when reading that is nothing. It returns 0 or a status, which ends the call. Several threads that use
 * the variable may call it at the same time.
 *
 * Nothing is swapped then, and chunks must be lent: with a store that fills in chunks reads and writes give NCZCHUNK_EINVAL.
 * Absent chunks read as copies of the fill value or, without one, as zero bytes, which are not passed to the copier. After
 * an error some elements are copied and some are not, in memory or in the chunk at which it happened: zero the memory before
 * a read, to know which.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL).
 */
int nczchunk_var_set_copier(nczchunk_var *var,
                            int (*copier)(void *user, int writing, size_t count, const void *source, void *destination),
                            void *user);

/**
 * Changes the current length of a dimension, counted from 0, as when an unlimited dimension has grown. A write needs the
 * length to be current: it takes what lies beyond for nothing, and may replace it by the fill value.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (dimlen above
 * PTRDIFF_MAX + 1).
 */
int nczchunk_var_set_dimlen(nczchunk_var *var,
                            size_t dimension,
                            size_t dimlen);

/**
 * Changes the origin of a dimension, counted from 0, as cfdb does when elements are prepended: the chunks are aligned to
 * multiples of their length in an index space in which the dimension's first element has the index origin, at first 0.
 * To prepend n elements, subtract n from the origin and add n to the length. With a negative origin there are chunks with
 * negative indices, and the first one may hold elements only in its upper part.
 *
 * Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (an origin that leaves no
 * room for the dimension, or the chunk that holds its first element, among the values of ptrdiff_t).
 */
int nczchunk_var_set_origin(nczchunk_var *var,
                            size_t dimension,
                            ptrdiff_t origin);

/* ---------------------------------------------------------------------------------------------------------------------
 * STORE: WHERE CHUNKS COME FROM AND GO TO
 *
 * A store asks callbacks of yours for chunks, and only for chunks of which at least one element is selected; one at a time,
 * unless you allow more. A callback is told the chunk by its indices: along each dimension, chunk i holds the elements from
 * i * chunklen on (less the origin, in a dimension that has one). There are two ways to give a chunk:
 *
 * - lend it: return a pointer to a chunk that is in memory already; for writing, one to change;
 * - fill it in: write it into a buffer of the library's; for writing, take it from one. Whenever the chunk lies in the
 *   caller's memory in one piece, that buffer is the caller's memory, and nothing is copied.
 *
 * A callback returns 0. One that gives a chunk may return NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT instead: the chunk is absent
 * and reads as the fill value. Any other status ends the call, which returns it. A callback must not throw C++ exceptions or
 * longjmp through the library. It may call the library, but must not change, wrap or free what the running call uses.
 *
 * A store whose callbacks for writing are NULL is read-only.
 *
 * Structures of callbacks begin with their own size, so that they can grow: set struct_size to sizeof the structure and
 * everything you do not use to 0.
 */

/**
 * A store. Between calls it keeps the memory it needed: a chunk, and with zstd a compressed chunk and zstd's contexts, for
 * each thread that used it at the same time. It may be used by several threads at the same time if its callbacks may.
 */
typedef struct nczchunk_store nczchunk_store;

/**
 * Callbacks that lend chunks.
 */
typedef struct nczchunk_lending_callbacks {
    /**
     * sizeof(nczchunk_lending_callbacks).
     */
    size_t struct_size;
    /**
     * Passed to every callback.
     */
    void *user;
    /**
     * Lends the chunk with these rank indices: sets data to its first byte and nbytes to its length, which is the
     * stored length and must be that of a full chunk (or, in a store that decodes, of the compressed chunk). The chunk
     * must stay valid and unchanged until release is called for it or, without release, until lend or lend_to_write is
     * called again, by whichever thread.
     *
     * With NCZCHUNK_EEMPTY, data may be set too: then it is a chunk of fill values in native byte order to be used
     * instead of the variable's fill value. (A store that decodes does not use it.) A cache that keeps such a chunk
     * returns NCZCHUNK_EEMPTY for it every time until it is told that it was changed: then it is in stored byte order.
     */
    int (*lend)(void *user, size_t rank, const ptrdiff_t *chunk_indices, const void **data, size_t *nbytes);
    /**
     * Takes back a chunk; may be NULL. Called once for every pointer that lend set while returning 0 or NCZCHUNK_EEMPTY, or
     * lend_to_write while returning 0, NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT, before the same thread of that call asks for
     * another chunk.
     */
    void (*release)(void *user, const void *data);
    /**
     * Called once when the store is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * For writing; may be NULL. Lends the chunk with these rank indices to be changed, as lend does. covered is 1 if
     * every element of it that lies inside the dimensions will be replaced: then it need not be read first, and what it
     * holds does not matter. With NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT it is a new chunk, and what it holds does not
     * matter either: the library fills it with the fill value where it is not written to.
     *
     * Elements with a copier are the exception, for what they hold is freed: a chunk with status 0 holds elements, one
     * that is new holds zero bytes, covered or not.
     */
    int (*lend_to_write)(void *user,
                         size_t rank,
                         const ptrdiff_t *chunk_indices,
                         int covered,
                         void **data,
                         size_t *nbytes);
    /**
     * Told that the chunk was changed, before it is released; may be NULL. It is not told of a chunk whose change failed.
     */
    int (*changed)(void *user, size_t rank, const ptrdiff_t *chunk_indices);
    /**
     * 1 if the callbacks may run in several threads at the same time, and a chunk that was lent stays valid until it is
     * released or, without release, until the call of the library ends, whatever else is lent meanwhile. Then a call may
     * use threads (nczchunk_context_set_threads), which are not the program's own: they have a stack of the system's
     * default size, and thread-local variables as in any new thread. 0 keeps a call to its own thread; that no two threads
     * of yours call at the same time is then up to you.
     */
    int concurrent;
} nczchunk_lending_callbacks;

/**
 * Callbacks that fill in chunks.
 */
typedef struct nczchunk_filling_callbacks {
    /**
     * sizeof(nczchunk_filling_callbacks).
     */
    size_t struct_size;
    /**
     * Passed to every callback.
     */
    void *user;
    /**
     * Fetches the chunk with these rank indices into buffer, which has room for size bytes, and sets nbytes to the length
     * of the stored chunk. size is the length of a full chunk; in a store that decodes, the most that such a chunk takes
     * compressed in one go.
     *
     * A longer chunk is not written beyond size, and nbytes is still its length. It is an error or, in a store that
     * decodes, where a chunk compressed in many small pieces can be longer, asked for once more with that much room.
     */
    int (*fill)(void *user, size_t rank, const ptrdiff_t *chunk_indices, void *buffer, size_t size, size_t *nbytes);
    /**
     * Called once when the store is freed; may be NULL.
     */
    void (*destroy)(void *user);
    /**
     * For writing; may be NULL. Stores the chunk with these rank indices, the nbytes bytes of data. Whether a reader may
     * see half of it is up to the callback: one that puts a chunk in its place at once (by renaming a file) gives the old
     * one or the new one.
     */
    int (*store)(void *user, size_t rank, const ptrdiff_t *chunk_indices, const void *data, size_t nbytes);
    /**
     * 1 if the callbacks may run in several threads at the same time: see nczchunk_lending_callbacks.
     */
    int concurrent;
} nczchunk_filling_callbacks;

/**
 * How a store compresses what is written.
 */
typedef struct nczchunk_zstd_options {
    /**
     * sizeof(nczchunk_zstd_options).
     */
    size_t struct_size;
    /**
     * The compression level; 0 is zstd's default, which is 3. What zstd does not know is taken for the nearest it does.
     */
    int level;
    /**
     * 1 to leave out the checksum that follows the data.
     */
    int without_checksum;
} nczchunk_zstd_options;

/**
 * A new store whose chunks are lent. The callbacks are copied. Free it with nczchunk_store_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; lend is NULL; a struct_size of 0, or of a newer structure whose additions are
 * in use), NCZCHUNK_ENOMEM; then destroy is not called.
 */
int nczchunk_store_lending(const nczchunk_lending_callbacks *callbacks,
                           nczchunk_store **store);

/**
 * A new store whose chunks are filled in. The callbacks are copied. Free it with nczchunk_store_free.
 *
 * Errors: as for nczchunk_store_lending.
 */
int nczchunk_store_filling(const nczchunk_filling_callbacks *callbacks, nczchunk_store **store);

/**
 * Wraps whatever the store reads from and writes to in zstd: from now on, its callbacks give and take compressed chunks.
 * A chunk is decoded straight into the caller's memory where it lands there in one piece. options is for writing; NULL
 * stands for zeros.
 *
 * The decoder trusts no size that the compressed data claims: it decodes into a buffer of a chunk's size, and data that do
 * not fill it exactly fail with NCZCHUNK_EBADCHUNK, data that do not decode with NCZCHUNK_EFILTER. To be written to, the
 * store must be one that fills in chunks.
 *
 * Errors: NCZCHUNK_EINVAL (store is NULL; a struct_size of 0, or of a newer structure whose additions are in use),
 * NCZCHUNK_ENOMEM; then the store is as it was.
 */
int nczchunk_store_wrap_zstd(nczchunk_store *store,
                             const nczchunk_zstd_options *options);

/**
 * Frees a store and calls destroy. NULL is allowed.
 */
void nczchunk_store_free(nczchunk_store *store);

/* ---------------------------------------------------------------------------------------------------------------------
 * READING A HYPERSLAB
 */

/**
 * Reads a hyperslab, as nc_get_vars does: along each dimension, count elements from start on, stride apart, into data.
 *
 * start, count and stride have one entry per dimension. count NULL is the length of each dimension, whatever the start;
 * stride NULL is 1 everywhere. For a scalar all three are ignored. data has room for the product of the counts, in
 * elements of typesize bytes, row-major and without gaps, and comes out in native byte order; it must not overlap what
 * callbacks lend.
 *
 * Every touched chunk is asked for once (for the one exception see nczchunk_filling_callbacks), in row-major order of chunk
 * indices if one thread does it, and no other chunk is. If any count is 0 nothing is read and no callback runs.
 *
 * Errors, found before any callback runs and with data untouched, in this order:
 * NCZCHUNK_EINVAL (var or store is NULL), NCZCHUNK_EINVALCOORDS (start is NULL), NCZCHUNK_ESTRIDE (a stride below 1, in any
 * dimension), then dimension by dimension NCZCHUNK_EINVALCOORDS (start beyond the dimension, or at its end with count above
 * 0) and NCZCHUNK_EEDGE (the last element, start + (count - 1) * stride, beyond the dimension); NCZCHUNK_EINVAL (data NULL
 * though something is selected; more than PTRDIFF_MAX bytes).
 *
 * Errors of a chunk, of which the first in order is returned and after which the contents of data are unspecified:
 * what a callback returned, NCZCHUNK_EBADCHUNK (a chunk of the wrong length), NCZCHUNK_EFILTER (one that does not decode),
 * NCZCHUNK_ENOMEM.
 */
int nczchunk_read_vars(const nczchunk_var *var,
                       const nczchunk_store *store,
                       const size_t *start,
                       const size_t *count,
                       const ptrdiff_t *stride,
                       void *data,
                       nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * WRITING A HYPERSLAB
 */

/**
 * Writes a hyperslab, as nc_put_vars does: along each dimension, count elements from start on, stride apart, from data.
 *
 * The arguments are those of nczchunk_read_vars. data is only read: it stays as it is whatever the variable's byte order. It
 * must not overlap what callbacks lend.
 *
 * A chunk that the write covers, which is one of which every element inside the dimensions is replaced, is stored without
 * being read; a chunk clipped by the end of a dimension, and a chunk of one element under any stride, can be covered too. Any
 * other is fetched, or filled with the fill value if it is absent, changed, and stored. Each is stored once, in row-major
 * order of chunk indices if one thread does it. What lies outside the dimensions, in a chunk that is covered or was absent, becomes fill value.
 *
 * Errors found before any callback runs are those of nczchunk_read_vars, in the same order; but if any count is 0, no
 * NCZCHUNK_EEDGE: then nothing is written. Then NCZCHUNK_EPERM (the store cannot be written to). Errors of a chunk are those
 * of reading it and what a callback for writing returned. The chunks before it have been written, it has not (unless its
 * callback did), those after it were not tried or, with several threads, may have been written:
 * nczchunk_context_chunks_done tells how many came before. The same call again, once the fault is gone, writes all of it.
 *
 * Several threads may write to different chunks of one store at the same time, if its callbacks may be called so; see
 * nczchunk_plan_shares_chunks. Of two that write to the same chunk, one may undo what the other did to it.
 */
int nczchunk_write_vars(const nczchunk_var *var,
                        const nczchunk_store *store,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        const void *data,
                        nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * OTHER LAYOUTS OF MEMORY
 *
 * The functions above take memory that is row-major and without gaps. These take any memory in which the step from an
 * element to the next is the same all along a dimension: Fortran order, a transpose, a part of a larger array, an array
 * that is to be flipped. No copy is made.
 *
 * Where elements overlap in memory (a step of 0), a write takes the same values again and again; what a read leaves there
 * is one of the values.
 */

/**
 * Reads a hyperslab as nc_get_varm does: as nczchunk_read_vars, but along dimension d the elements are imap[d] elements
 * apart in data, which points to the first one; imap may be negative. imap NULL is row-major without gaps. What data points
 * to is trusted to be large enough: nczchunk_read_strided checks.
 *
 * Errors: those of nczchunk_read_vars; NCZCHUNK_EINVAL also for steps that reach beyond the address space.
 */
int nczchunk_read_varm(const nczchunk_var *var,
                       const nczchunk_store *store,
                       const size_t *start,
                       const size_t *count,
                       const ptrdiff_t *stride,
                       const ptrdiff_t *imap,
                       void *data,
                       nczchunk_context *context);

/**
 * Writes a hyperslab as nc_put_varm does: as nczchunk_write_vars, with imap as for nczchunk_read_varm.
 *
 * Errors: those of nczchunk_write_vars; NCZCHUNK_EINVAL also for steps that reach beyond the address space.
 */
int nczchunk_write_varm(const nczchunk_var *var,
                        const nczchunk_store *store,
                        const size_t *start,
                        const size_t *count,
                        const ptrdiff_t *stride,
                        const ptrdiff_t *imap,
                        const void *data,
                        nczchunk_context *context);

/**
 * Reads a hyperslab into a part of a block of memory, forwards or backwards.
 *
 * Along dimension d of the variable the elements are start[d] + k * step[d], for k from 0 to count[d] - 1. step may be
 * negative: then start is the last of them in the variable. step NULL is 1 everywhere; count is not NULL unless the rank
 * is 0. In memory, element k along dimension d is memory_strides[d] * k bytes from the first one, which is memory_offset
 * bytes into memory. memory has memory_size bytes, and nothing outside of it is touched.
 *
 * Errors: those of nczchunk_read_vars, with NCZCHUNK_ESTRIDE for a step of 0 only, NCZCHUNK_EINVALCOORDS for a start beyond
 * the dimension and NCZCHUNK_EEDGE for a last element beyond either of its ends; NCZCHUNK_EINVAL if an element does not lie
 * within memory, or if memory_strides is NULL.
 */
int nczchunk_read_strided(const nczchunk_var *var,
                          const nczchunk_store *store,
                          const size_t *start,
                          const size_t *count,
                          const ptrdiff_t *step,
                          void *memory,
                          size_t memory_size,
                          size_t memory_offset,
                          const ptrdiff_t *memory_strides,
                          nczchunk_context *context);

/**
 * Writes a hyperslab from a part of a block of memory, forwards or backwards, with the arguments of nczchunk_read_strided.
 *
 * Errors: those of nczchunk_write_vars and nczchunk_read_strided.
 */
int nczchunk_write_strided(const nczchunk_var *var,
                           const nczchunk_store *store,
                           const size_t *start,
                           const size_t *count,
                           const ptrdiff_t *step,
                           const void *memory,
                           size_t memory_size,
                           size_t memory_offset,
                           const ptrdiff_t *memory_strides,
                           nczchunk_context *context);

/* ---------------------------------------------------------------------------------------------------------------------
 * PROJECTIONS: ONE DIMENSION
 *
 * The arithmetic under it all: which chunks does start, count, stride touch along one dimension, and which elements of
 * each? Only touched chunks are listed, each is found in constant time, and nothing is allocated, so a dimension of 2^62
 * chunks with two elements selected costs two projections.
 */

/**
 * What a slice selects of one chunk, along one dimension. All lengths and positions are in elements.
 */
typedef struct nczchunk_projection {
    /**
     * Which chunk, counted along the dimension. Signed, because a dimension that grew at its front has chunks below 0.
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
 * Lists the projections of a slice (start, count, stride) of a dimension of dimlen elements onto its chunks of chunklen.
 *
 * needed receives their number. They are written to projections, in ascending order of chunks, if there is room: capacity
 * is at least needed. With projections NULL, or capacity 0, only needed is set.
 *
 * Errors: NCZCHUNK_EINVAL (needed is NULL; chunklen 0), NCZCHUNK_EDIMSIZE (dimlen above PTRDIFF_MAX + 1), NCZCHUNK_ESTRIDE,
 * NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_read_vars; NCZCHUNK_ERANGE (capacity above 0 but below needed:
 * needed is set, nothing is written).
 */
int nczchunk_projections(size_t dimlen,
                         size_t chunklen,
                         size_t start,
                         size_t count,
                         ptrdiff_t stride,
                         nczchunk_projection *projections,
                         size_t capacity,
                         size_t *needed);

/**
 * The p-th of these projections, counted from 0, in constant time.
 *
 * Errors: NCZCHUNK_EINVAL (projection is NULL; chunklen 0), NCZCHUNK_EINVALCOORDS also for p beyond the last; otherwise
 * as for nczchunk_projections.
 */
int nczchunk_projection_at(size_t dimlen,
                           size_t chunklen,
                           size_t start,
                           size_t count,
                           ptrdiff_t stride,
                           size_t p,
                           nczchunk_projection *projection);

/* ---------------------------------------------------------------------------------------------------------------------
 * PLAN: A TRANSFER BEFORE IT IS DONE
 *
 * A plan tells what a read or a write will do without doing it: how many chunks it touches, which, how much of each, how many bytes
 * it delivers and how many it asks for at most. It takes memory for the rank, not for the chunks, and finds any chunk at
 * once.
 */

/**
 * For a plan to read.
 */
#define NCZCHUNK_READ 0

/**
 * For a plan to write. The one difference: if any count is 0, the far end of no dimension is checked.
 */
#define NCZCHUNK_WRITE 1

/**
 * A plan. It does not refer to the variable it was made from, and any number of threads may use it at the same time.
 */
typedef struct nczchunk_plan nczchunk_plan;

/**
 * What a plan adds up to.
 */
typedef struct nczchunk_plan_totals {
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
     * Bytes of the touched chunks at full size: before compression, and as if none were absent. SIZE_MAX if they are more.
     */
    size_t chunk_bytes;
    /**
     * Chunks that the whole variable has, touched or not, stored or absent. SIZE_MAX if they are more.
     */
    size_t grid_chunks;
} nczchunk_plan_totals;

/**
 * A plan for a hyperslab, with the arguments of nczchunk_read_vars and nczchunk_write_vars; access is NCZCHUNK_READ or
 * NCZCHUNK_WRITE. Free it with nczchunk_plan_free.
 *
 * Errors: those which these functions find before any callback runs, data aside; NCZCHUNK_EINVAL (plan is NULL; no such
 * access), NCZCHUNK_ENOMEM.
 */
int nczchunk_plan_new(const nczchunk_var *var,
                      const size_t *start,
                      const size_t *count,
                      const ptrdiff_t *stride,
                      int access,
                      nczchunk_plan **plan,
                      nczchunk_context *context);

/**
 * Frees a plan. NULL is allowed.
 */
void nczchunk_plan_free(nczchunk_plan *plan);

/**
 * What the plan adds up to.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument).
 */
int nczchunk_plan_get_totals(const nczchunk_plan *plan, nczchunk_plan_totals *totals);

/**
 * The i-th chunk of the plan, counted from 0 in row-major order of chunk indices, which is the order of reading.
 *
 * projections has room for one entry per dimension and receives, for each, the chunk's index, the elements selected in
 * the chunk (first, last, iocount: a box, stride apart) and the place they take in memory (iopos, iocount: a box without
 * gaps). covered (NULL: not wanted) receives 1 if every element of the chunk that lies inside the dimensions is selected,
 * else 0.
 *
 * Errors: NCZCHUNK_EINVAL (plan is NULL; projections is NULL and the rank is not 0), NCZCHUNK_EINVALCOORDS (i is beyond
 * the last chunk).
 */
int nczchunk_plan_chunk(const nczchunk_plan *plan,
                        size_t i,
                        nczchunk_projection *projections,
                        int *covered);

/**
 * Whether two plans, made for the same variable, touch a chunk in common: shared receives 1 if so, else 0. Writes whose
 * plans do not may be done at the same time. Takes as long as the smaller number of chunks that the two touch along a
 * dimension.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins).
 */
int nczchunk_plan_shares_chunks(const nczchunk_plan *plan, const nczchunk_plan *other, int *shared);

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
 * stop[d], the last dimension fastest; len[d] is the extent of the array that nczchunk_odometer_offset counts in. All four
 * have rank entries and are copied. Free it with nczchunk_odometer_free.
 *
 * Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_ESTRIDE (a stride
 * of 0), NCZCHUNK_EINVALCOORDS (start above stop), NCZCHUNK_EEDGE (a last index of len or more), NCZCHUNK_ENOMEM.
 */
int nczchunk_odometer_new(size_t rank,
                          const size_t *start,
                          const size_t *stop,
                          const size_t *stride,
                          const size_t *len,
                          nczchunk_odometer **odometer);

/**
 * 1 while there is a current position, 0 once the last one is passed; 0 for NULL.
 */
int nczchunk_odometer_more(const nczchunk_odometer *odometer);

/**
 * Moves to the next position. Past the last one it does nothing.
 */
void nczchunk_odometer_next(nczchunk_odometer *odometer);

/**
 * The current position: one index per dimension. It belongs to the odometer and changes with it. NULL for NULL.
 */
const size_t *nczchunk_odometer_indices(const nczchunk_odometer *odometer);

/**
 * The current position's row-major place in an array of the extents len, in elements; SIZE_MAX if it is larger than that.
 * 0 for NULL.
 */
size_t nczchunk_odometer_offset(const nczchunk_odometer *odometer);

/**
 * How far a row reaches: stop - start of the last dimension, wherever the odometer is. With a stride of 1 that is the
 * number of positions in a row. 1 at rank 0; 0 for NULL.
 */
size_t nczchunk_odometer_avail(const nczchunk_odometer *odometer);

/**
 * Skips what is left of the current row: the next nczchunk_odometer_next moves to the beginning of the following row.
 */
void nczchunk_odometer_skipavail(nczchunk_odometer *odometer);

/**
 * Back to the first position.
 */
void nczchunk_odometer_reset(nczchunk_odometer *odometer);

/**
 * Frees an odometer. NULL is allowed.
 */
void nczchunk_odometer_free(nczchunk_odometer *odometer);

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
 * NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_ERANGE (capacity above 0 but too small: length is set,
 * nothing is written).
 */
int nczchunk_key_zarr_v2(size_t rank,
                         const ptrdiff_t *chunk_indices,
                         char separator,
                         char *key,
                         size_t capacity,
                         size_t *length);

/**
 * Writes the key of a chunk in Zarr v3 with the "default" chunk key encoding: "c/2/1" or "c.2.1"; "c" for a scalar.
 *
 * Arguments and errors: as for nczchunk_key_zarr_v2.
 */
int nczchunk_key_zarr_v3(size_t rank,
                         const ptrdiff_t *chunk_indices,
                         char separator,
                         char *key,
                         size_t capacity,
                         size_t *length);

/**
 * Writes the key of a chunk in cfdb: the variable's name, '!', and where the chunk starts in each dimension, in
 * elements, with dots between: "sst!180.90" for chunk (2, 1) with chunk lengths (90, 90).
 *
 * var is the variable's name in UTF-8. chunklens and chunk_indices have rank entries. An index is negative before the
 * origin: element i lies in chunk floor((i + origin) / chunklen). For the rest see nczchunk_key_zarr_v2.
 *
 * Errors: NCZCHUNK_EINVAL (var, chunklens or chunk_indices is NULL, the latter two unless rank is 0; var is not UTF-8;
 * a chunk length of 0), NCZCHUNK_EMAXDIMS and NCZCHUNK_ERANGE as for nczchunk_key_zarr_v2.
 */
int nczchunk_key_cfdb(const char *var,
                      size_t rank,
                      const size_t *chunklens,
                      const ptrdiff_t *chunk_indices,
                      char *key,
                      size_t capacity,
                      size_t *length);

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
int nczchunk_chunkshape_netcdf(size_t rank,
                               const size_t *dimlens,
                               size_t typesize,
                               size_t target_bytes,
                               size_t *chunklens);

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
int nczchunk_chunkshape_rechunkit(size_t rank,
                                  const size_t *dimlens,
                                  size_t typesize,
                                  size_t target_bytes,
                                  size_t *chunklens);

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
int nczchunk_classic_varsize(size_t rank, const size_t *dimlens, size_t typesize, uint64_t *size, uint64_t *padded);

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
int nczchunk_classic_recsize(size_t nvars, const uint64_t *sizes, uint64_t *recsize);

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
int nczchunk_classic_offset(size_t rank,
                            const size_t *dimlens,
                            size_t typesize,
                            uint64_t begin,
                            uint64_t recsize,
                            const size_t *indices,
                            uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif /* NCZCHUNK_H */
