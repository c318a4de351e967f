/*
 * Which hyperslabs fit, and what is said of those that do not: one row per case, one table for two tests.
 *
 * test_status_table.c runs it against this library; test_status_netcdf.c runs it against libnetcdf, for what is said
 * here is what nc_get_vars and nc_put_vars say. Rows where netCDF answers otherwise are marked, with the reason.
 */
#ifndef STATUS_TABLE_H
#define STATUS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "nczchunk.h"

enum { STATUS_MAX_RANK = 2, STATUS_MAX_ELEMENTS = 100 };

/* Arguments that are passed as NULL. */
enum { NO_START = 1, NO_COUNT = 2, NO_STRIDE = 4 };

/* netCDF's number for an error inside HDF5, which this library has no use for. */
#define STATUS_EHDFERR (-101)

/* In the place of an answer of libnetcdf's: it reads or writes memory that is not its own, so it is not asked. */
#define STATUS_NOT_ASKED 1

/* Which of reading and writing a case is about. */
enum { GET = 1, PUT = 2, BOTH = GET | PUT };

typedef struct status_case {
    int access;
    size_t rank, dimlens[STATUS_MAX_RANK], chunklens[STATUS_MAX_RANK];
    size_t start[STATUS_MAX_RANK], count[STATUS_MAX_RANK];
    ptrdiff_t stride[STATUS_MAX_RANK];
    int left_out;
    /* What this library answers, and what libnetcdf does for a file of HDF5's and for one of NCZarr's. */
    int status, hdf5, nczarr;
} status_case;

#define LINE_FOR(access) access, 1, {10}, {4}
#define SQUARE_FOR(access) access, 2, {10, 10}, {4, 3}
#define LINE LINE_FOR(BOTH)
#define SQUARE SQUARE_FOR(BOTH)
#define SCALAR BOTH, 0, {0}, {0}
#define ALL(status) status, status, status

/* Where nothing is to be put because a count other than the first is 0, NCZarr puts what it finds behind the data. */
#define NCZARR_PUTS_NONE STATUS_NOT_ASKED

static const status_case status_cases[] = {
    /* All of it, the last of it, none of it. */
    {LINE, {0}, {10}, {1}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {9}, {1}, {1}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {0}, {0}, {1}, 0, ALL(NCZCHUNK_NOERR)},
    {SQUARE, {0, 0}, {10, 10}, {1, 1}, 0, ALL(NCZCHUNK_NOERR)},
    {SQUARE, {1, 2}, {3, 4}, {4, 2}, 0, ALL(NCZCHUNK_NOERR)},
    {SQUARE, {1, 2}, {0, 4}, {1, 1}, 0, ALL(NCZCHUNK_NOERR)},
    {SQUARE_FOR(GET), {1, 2}, {4, 0}, {1, 1}, 0, ALL(NCZCHUNK_NOERR)},
    {SQUARE_FOR(PUT), {1, 2}, {4, 0}, {1, 1}, 0, NCZCHUNK_NOERR, NCZCHUNK_NOERR, NCZARR_PUTS_NONE},

    /* Nothing may be selected from the very end on, and no further. */
    {LINE, {10}, {0}, {1}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {11}, {0}, {1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {LINE, {SIZE_MAX}, {0}, {1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},

    /* A start that is not there. */
    {LINE, {10}, {1}, {1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {LINE, {11}, {1}, {1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {LINE, {SIZE_MAX}, {1}, {1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},

    /* Too many. */
    {LINE, {0}, {11}, {1}, 0, ALL(NCZCHUNK_EEDGE)},
    {LINE, {5}, {6}, {1}, 0, ALL(NCZCHUNK_EEDGE)},
    {LINE, {0}, {SIZE_MAX}, {1}, 0, ALL(NCZCHUNK_EEDGE)},

    /* The last element is what counts, not the place after it, a stride further. */
    {LINE, {0}, {4}, {3}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {9}, {1}, {100}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {9}, {1}, {PTRDIFF_MAX}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {10}, {0}, {PTRDIFF_MAX}, 0, ALL(NCZCHUNK_NOERR)},
    {LINE, {0}, {4}, {4}, 0, ALL(NCZCHUNK_EEDGE)},
    {LINE, {1}, {4}, {3}, 0, ALL(NCZCHUNK_EEDGE)},

    /* Nor may it wrap around. In netCDF-C it does where count * stride is a multiple of 2^64, or of 2^32 on machines of
     * 32 bits, and a little: HDF5 then refuses the selection with an error of its own, NCZarr delivers one element and
     * says that all is well. */
    {LINE, {0}, {2}, {PTRDIFF_MAX}, 0, ALL(NCZCHUNK_EEDGE)},
    {LINE_FOR(GET), {0}, {5}, {PTRDIFF_MAX / 2 + 1}, 0, NCZCHUNK_EEDGE, STATUS_EHDFERR, NCZCHUNK_NOERR},
    {LINE_FOR(GET), {0}, {SIZE_MAX / 2 + 2}, {2}, 0, NCZCHUNK_EEDGE, STATUS_EHDFERR, NCZCHUNK_NOERR},
    {LINE_FOR(PUT), {0}, {5}, {PTRDIFF_MAX / 2 + 1}, 0, NCZCHUNK_EEDGE, STATUS_EHDFERR, STATUS_NOT_ASKED},
    {LINE_FOR(PUT), {0}, {SIZE_MAX / 2 + 2}, {2}, 0, NCZCHUNK_EEDGE, STATUS_EHDFERR, STATUS_NOT_ASKED},

    /* Strides are positive, whatever else is wrong, and even if nothing is selected. */
    {LINE, {0}, {1}, {0}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {LINE, {0}, {1}, {-1}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {LINE, {0}, {1}, {PTRDIFF_MIN}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {LINE, {0}, {0}, {0}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {LINE, {0}, {0}, {-1}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {LINE, {11}, {1}, {0}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {LINE, {0}, {11}, {0}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {SQUARE, {11, 0}, {1, 1}, {1, 0}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {SQUARE, {0, 0}, {11, 1}, {1, -1}, 0, ALL(NCZCHUNK_ESTRIDE)},

    /* Then it is the first dimension that does not fit, with its start before its end. */
    {SQUARE, {0, 11}, {11, 1}, {1, 1}, 0, ALL(NCZCHUNK_EEDGE)},
    {SQUARE, {11, 0}, {1, 11}, {1, 1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {SQUARE, {11, 0}, {11, 1}, {1, 1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {SQUARE, {0, 10}, {1, 1}, {1, 1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},

    /* A count of 0 in one dimension excuses nothing in another, but for one thing: where nothing is put, it does not
     * matter how far. */
    {SQUARE_FOR(GET), {0, 0}, {0, 11}, {1, 1}, 0, ALL(NCZCHUNK_EEDGE)},
    {SQUARE_FOR(PUT), {0, 0}, {0, 11}, {1, 1}, 0, ALL(NCZCHUNK_NOERR)},
    {SQUARE_FOR(GET), {0, 0}, {11, 0}, {1, 1}, 0, ALL(NCZCHUNK_EEDGE)},
    {SQUARE_FOR(PUT), {0, 0}, {11, 0}, {1, 1}, 0, NCZCHUNK_NOERR, NCZCHUNK_NOERR, NCZARR_PUTS_NONE},
    {SQUARE, {0, 11}, {0, 1}, {1, 1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {SQUARE, {11, 0}, {1, 0}, {1, 1}, 0, ALL(NCZCHUNK_EINVALCOORDS)},
    {SQUARE, {0, 0}, {0, 11}, {1, 0}, 0, ALL(NCZCHUNK_ESTRIDE)},
    {SQUARE, {0, 0}, {11, 0}, {-1, 1}, 0, ALL(NCZCHUNK_ESTRIDE)},

    /* What is left out: a count is the whole dimension, whatever the start; a stride is 1; a start is needed. */
    {SQUARE, {0, 0}, {0, 0}, {1, 1}, NO_COUNT, ALL(NCZCHUNK_NOERR)},
    {SQUARE, {0, 0}, {0, 0}, {0, 0}, NO_COUNT | NO_STRIDE, ALL(NCZCHUNK_NOERR)},
    {SQUARE, {0, 1}, {0, 0}, {1, 1}, NO_COUNT, ALL(NCZCHUNK_EEDGE)},
    {SQUARE, {0, 10}, {0, 0}, {1, 1}, NO_COUNT, ALL(NCZCHUNK_EINVALCOORDS)},
    {SQUARE, {0, 0}, {0, 0}, {2, 1}, NO_COUNT, ALL(NCZCHUNK_EEDGE)},
    {SQUARE, {1, 2}, {3, 4}, {0, 0}, NO_STRIDE, ALL(NCZCHUNK_NOERR)},
    {LINE, {0}, {1}, {1}, NO_START, ALL(NCZCHUNK_EINVALCOORDS)},
    {LINE, {0}, {1}, {0}, NO_START, ALL(NCZCHUNK_EINVALCOORDS)},

    /* A scalar has no use for any of them. */
    {SCALAR, {0}, {0}, {0}, NO_START | NO_COUNT | NO_STRIDE, ALL(NCZCHUNK_NOERR)},
    {SCALAR, {99}, {99}, {0}, 0, ALL(NCZCHUNK_NOERR)},
};

#undef LINE
#undef SQUARE
#undef LINE_FOR
#undef SQUARE_FOR
#undef NCZARR_PUTS_NONE
#undef SCALAR
#undef ALL

enum { NUM_STATUS_CASES = sizeof status_cases / sizeof *status_cases };

/* The arguments of a case, NULL where they are left out. */
static inline const size_t *status_start(const status_case *c)
{
    return c->left_out & NO_START ? NULL : c->start;
}

static inline const size_t *status_count(const status_case *c)
{
    return c->left_out & NO_COUNT ? NULL : c->count;
}

static inline const ptrdiff_t *status_stride(const status_case *c)
{
    return c->left_out & NO_STRIDE ? NULL : c->stride;
}

/* How many elements a case that fits selects. */
static inline size_t status_elements(const status_case *c)
{
    size_t elements = 1;

    for (size_t d = 0; d < c->rank; d++)
        elements *= c->left_out & NO_COUNT ? c->dimlens[d] : c->count[d];
    return elements;
}

#endif
