/*
 * The same dataset by netCDF-C's own format and by the plugin: what netCDF-C itself has written, as netCDF-4 and as
 * NCZarr. All that is asked of one is asked of the other, and what is read at random, with all types in memory, has to
 * be the same: values and statuses.
 *
 *     differential DIRECTORY OPERATIONS SEED
 */
#include "nczchunk_netcdf.h"

#include <netcdf_filter.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
            exit(1);                                                                \
        }                                                                           \
    } while (0)
#define OK(call)                                                                                      \
    do {                                                                                              \
        int status_ = (call);                                                                         \
        if (status_) {                                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, nc_strerror(status_));      \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)
/* Both sides, which must answer the same. */
#define SAME(a, b)                                                                                         \
    do {                                                                                                   \
        long long a_ = (a), b_ = (b);                                                                      \
        if (a_ != b_) {                                                                                    \
            fprintf(stderr, "%s:%d: %s = %lld, %s = %lld (%s)\n", __FILE__, __LINE__, #a, a_, #b, b_, at);  \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

static char at[2 * NC_MAX_NAME + 64]; /* where a comparison is */

enum { TIME = 9, Y = 5, X = 7 };

static unsigned long long state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return n ? (unsigned)(state >> 33) % n : 0;
}

/* --- What is written */

static const struct {
    const char *name;
    nc_type type;
} numbers[] = {{"b", NC_BYTE},   {"ub", NC_UBYTE},  {"s", NC_SHORT},  {"us", NC_USHORT}, {"i", NC_INT},
               {"ui", NC_UINT},  {"l", NC_INT64},   {"ul", NC_UINT64}, {"f", NC_FLOAT},  {"d", NC_DOUBLE}};

/* Numbers of all sizes, of which many do not fit into other types. */
static double some_number(size_t i)
{
    static const double sizes[] = {1, 100, 200, 300, 40000, 70000, 3e9, 5e9, 1e30};

    return (i % 3 ? 1 : -1) * sizes[i % 9] + (double)(i % 10);
}

static void put_attributes(int ncid, int varid, int with_strings)
{
    const char *strings[3] = {"one", "", "three \xc3\xa4"};

    OK(nc_put_att_text(ncid, varid, "title", 5, "words"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const int value[3] = {1, 2, 100};
        char name[16];

        snprintf(name, sizeof name, "a_%s", numbers[i].name);
        OK(nc_put_att_int(ncid, varid, name, numbers[i].type, 1 + i % 3, value));
    }
    if (with_strings) OK(nc_put_att_string(ncid, varid, "names", 3, strings));
}

/* Without what NCZarr does not have, or has otherwise. */
static void write_dataset(const char *path, int is_nczarr)
{
    int ncid, group, inner, dims[3], own[2], varid;
    const size_t chunks[3] = {2, 3, 4}, part[3] = {4, 0, 0}, few[3] = {3, Y, X};
    double values[TIME * Y * X];
    const double fill = 77;

    for (size_t i = 0; i < TIME * Y * X; i++) values[i] = some_number(i);
    OK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &ncid));
    OK(nc_def_dim(ncid, "time", is_nczarr ? (size_t)TIME : NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(ncid, "y", Y, &dims[1]));
    OK(nc_def_dim(ncid, "x", X, &dims[2]));
    OK(nc_def_dim(ncid, "unused", 9, &own[0])); /* which no variable has */
    put_attributes(ncid, NC_GLOBAL, !is_nczarr);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        OK(nc_def_var(ncid, numbers[i].name, numbers[i].type, 3, dims, &varid));
        OK(nc_def_var_chunking(ncid, varid, NC_CHUNKED, chunks));
        if (!is_nczarr && i % 2) OK(nc_def_var_deflate(ncid, varid, i % 3 == 0, 1, 2));
        if (!is_nczarr && i % 4 == 0) OK(nc_def_var_fletcher32(ncid, varid, NC_FLETCHER32));
        if (i % 3 == 1) OK(nc_put_att_double(ncid, varid, "_FillValue", numbers[i].type, 1, &fill));
        if (i == 4) put_attributes(ncid, varid, !is_nczarr);
        OK(nc_enddef(ncid));
        /* Along time some have fewer elements than the dimension is long. */
        if (i % 4 == 3) {
            CHECK(nc_put_vara_double(ncid, varid, part, few, values) != NC_EBADID);
        } else {
            const size_t start[3] = {0}, count[3] = {TIME, Y, X};
            const int status = nc_put_vara_double(ncid, varid, start, count, values);
            CHECK(status == NC_NOERR || status == NC_ERANGE);
        }
        OK(nc_redef(ncid));
    }
    /* NCZarr crashes where it opens a scalar (netCDF-C 4.9.0) or converts it (4.10.1). */
    if (!is_nczarr) {
        OK(nc_def_var(ncid, "scalar", NC_DOUBLE, 0, NULL, &varid));
        OK(nc_put_var_double(ncid, varid, &fill));
    }
    OK(nc_def_var(ncid, "text", NC_CHAR, 2, dims + 1, &varid));
    OK(nc_put_var_text(ncid, varid, "seven_1seven_2seven_3seven_4seven_5"));
    OK(nc_def_grp(ncid, "group", &group));
    OK(nc_def_dim(group, "z", 4, &own[0]));
    own[1] = dims[2];
    OK(nc_def_var(group, "own", NC_SHORT, 2, own, &varid));
    CHECK(nc_put_var_double(group, varid, values + 27) == NC_ERANGE);
    OK(nc_def_grp(group, "inner", &inner));
    put_attributes(inner, NC_GLOBAL, 0);
    OK(nc_def_dim(inner, "x", 3, &own[1]));
    OK(nc_def_var(inner, "deep", NC_FLOAT, 2, own, &varid));
    OK(nc_put_var_double(inner, varid, values + 40));
    if (!is_nczarr) {
        const char *strings[Y] = {"a", "bc", "", "d\xc3\xa9", "long enough to be somewhere else"}, *none = "none";
        const size_t start[3] = {0};

        OK(nc_def_var(ncid, "strings", NC_STRING, 1, dims + 1, &varid));
        OK(nc_put_var_string(ncid, varid, strings));
        OK(nc_def_var(ncid, "few strings", NC_STRING, 1, dims, &varid));
        OK(nc_def_var_fill(ncid, varid, NC_FILL, &none));
        OK(nc_put_vara_string(ncid, varid, start, few, strings));
        OK(nc_def_var(ncid, "not filled", NC_USHORT, 3, dims, &varid));
        OK(nc_def_var_fill(ncid, varid, NC_NOFILL, NULL));
        CHECK(nc_put_vara_double(ncid, varid, start, few, values) == NC_ERANGE);
    }
    OK(nc_close(ncid));
}

/* --- What is asked */

static void same_attributes(int a, int b, int vara, int varb, int is_nczarr)
{
    int na, nb, extra;

    OK(nc_inq_varnatts(a, vara, &na));
    OK(nc_inq_varnatts(b, varb, &nb));
    /* NCZarr of later versions shows netCDF's default fill values as attributes, which it has not written. */
    extra = is_nczarr && nc_inq_attid(a, vara, "_FillValue", &nb) == NC_NOERR &&
            nc_inq_attid(b, varb, "_FillValue", &nb) == NC_ENOTATT;
    OK(nc_inq_varnatts(b, varb, &nb));
    SAME(na, nb + extra);
    for (int i = 0; i < na; i++) {
        char name[NC_MAX_NAME + 1];
        nc_type typea, typeb;
        size_t lena, lenb;
        int id;

        OK(nc_inq_attname(a, vara, i, name));
        if (extra && strcmp(name, "_FillValue") == 0) continue;
        snprintf(at, sizeof at, "attribute %s", name);
        SAME(nc_inq_att(b, varb, name, &typeb, &lenb), NC_NOERR);
        SAME(nc_inq_attid(b, varb, name, &id), NC_NOERR);
        OK(nc_inq_att(a, vara, name, &typea, &lena));
        /* One string is written as text by some, and as a string by others. */
        SAME(typea, typeb);
        SAME(lena, lenb);
        if (typea == NC_STRING) {
            char *sa[8], *sb[8];

            CHECK(lena <= 8);
            OK(nc_get_att_string(a, vara, name, sa));
            OK(nc_get_att_string(b, varb, name, sb));
            for (size_t n = 0; n < lena; n++) CHECK(strcmp(sa[n], sb[n]) == 0);
            OK(nc_free_string(lena, sa));
            OK(nc_free_string(lenb, sb));
        } else {
            char ba[256] = "", bb[256] = "";
            double da[64] = {0}, db[64] = {0};

            CHECK(lena <= 32);
            OK(nc_get_att(a, vara, name, ba));
            OK(nc_get_att(b, varb, name, bb));
            CHECK(memcmp(ba, bb, sizeof ba) == 0);
            SAME(nc_get_att_double(a, vara, name, da), nc_get_att_double(b, varb, name, db));
            CHECK(memcmp(da, db, sizeof da) == 0);
            SAME(nc_get_att_schar(a, vara, name, (signed char *)ba),
                 nc_get_att_schar(b, varb, name, (signed char *)bb));
            CHECK(memcmp(ba, bb, sizeof ba) == 0);
        }
    }
    SAME(nc_inq_attid(b, varb, "no such", &na), NC_ENOTATT);
}

static void same_dim(int a, int b, int dima, int dimb)
{
    char namea[NC_MAX_NAME + 1], nameb[NC_MAX_NAME + 1];
    size_t lena, lenb;

    OK(nc_inq_dim(a, dima, namea, &lena));
    OK(nc_inq_dim(b, dimb, nameb, &lenb));
    snprintf(at, sizeof at, "dimensions %.200s and %.200s", namea, nameb);
    SAME(strcmp(namea, nameb), 0);
    SAME(lena, lenb);
}

static void same_variable(int a, int b, int vara, int varb, int is_nczarr)
{
    char name[NC_MAX_NAME + 1];
    nc_type typea, typeb;
    int ranka, rankb, dimsa[8], dimsb[8], x, y;
    size_t chunksa[8] = {0}, chunksb[8] = {0}, na, nb;
    unsigned idsa[8] = {0}, idsb[8] = {0};

    OK(nc_inq_var(a, vara, name, &typea, &ranka, dimsa, NULL));
    OK(nc_inq_var(b, varb, NULL, &typeb, &rankb, dimsb, NULL));
    snprintf(at, sizeof at, "variable %s", name);
    SAME(typea, typeb);
    SAME(ranka, rankb);
    for (int d = 0; d < ranka; d++) same_dim(a, b, dimsa[d], dimsb[d]);
    snprintf(at, sizeof at, "variable %s", name);
    OK(nc_inq_var_chunking(a, vara, &x, chunksa));
    OK(nc_inq_var_chunking(b, varb, &y, chunksb));
    if (x == NC_CHUNKED && ranka) {
        SAME(x, y);
        for (int d = 0; d < ranka; d++) SAME(chunksa[d], chunksb[d]);
    }
    if (!is_nczarr) {
        int shufflea, shuffleb, deflatea, deflateb;

        OK(nc_inq_var_deflate(a, vara, &shufflea, &deflatea, NULL));
        OK(nc_inq_var_deflate(b, varb, &shuffleb, &deflateb, NULL));
        SAME(shufflea, shuffleb);
        SAME(deflatea, deflateb);
        OK(nc_inq_var_fletcher32(a, vara, &x));
        OK(nc_inq_var_fletcher32(b, varb, &y));
        SAME(x, y);
    }
    OK(nc_inq_var_filter_ids(a, vara, &na, idsa));
    OK(nc_inq_var_filter_ids(b, varb, &nb, idsb));
    SAME(na, nb);
    for (size_t i = 0; i < na; i++) SAME(idsa[i], idsb[i]);
    if (typea == NC_STRING && !is_nczarr) {
        OK(nc_inq_var_fill(a, vara, &x, NULL));
        OK(nc_inq_var_fill(b, varb, &y, NULL));
        SAME(x, y);
    }
    /* NCZarr rounds the fill values that it writes. */
    if (typea != NC_STRING && !(is_nczarr && (typea == NC_FLOAT || typea == NC_DOUBLE))) {
        char filla[8] = "", fillb[8] = "";

        OK(nc_inq_var_fill(a, vara, &x, filla));
        OK(nc_inq_var_fill(b, varb, &y, fillb));
        if (!is_nczarr) SAME(x, y);
        CHECK(memcmp(filla, fillb, 8) == 0);
    }
    same_attributes(a, b, vara, varb, is_nczarr);
}

/* --- What is read */

#define MOST 4096
static union {
    char bytes[8 * MOST];
    double aligned;
} bufa, bufb;

#define READ(suffix, c_type)                                                                                  \
    static int read_##suffix(int ncid, int varid, const size_t *start, const size_t *count,                   \
                             const ptrdiff_t *stride, const ptrdiff_t *imap, void *data)                       \
    {                                                                                                         \
        if (imap) return nc_get_varm_##suffix(ncid, varid, start, count, stride, imap, (c_type *)data);       \
        if (stride) return nc_get_vars_##suffix(ncid, varid, start, count, stride, (c_type *)data);           \
        return nc_get_vara_##suffix(ncid, varid, start, count, (c_type *)data);                               \
    }
READ(schar, signed char)
READ(uchar, unsigned char)
READ(short, short)
READ(ushort, unsigned short)
READ(int, int)
READ(uint, unsigned int)
READ(longlong, long long)
READ(ulonglong, unsigned long long)
READ(float, float)
READ(double, double)
READ(text, char)
static int read_native(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                       const ptrdiff_t *imap, void *data)
{
    if (imap) return nc_get_varm(ncid, varid, start, count, stride, imap, data);
    if (stride) return nc_get_vars(ncid, varid, start, count, stride, data);
    return nc_get_vara(ncid, varid, start, count, data);
}

static const struct {
    int (*read)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *);
    int is_integer;
} memory_types[] = {{read_schar, 1}, {read_uchar, 1}, {read_short, 1},    {read_ushort, 1},    {read_int, 1},
                    {read_uint, 1},  {read_longlong, 1}, {read_ulonglong, 1}, {read_float, 0}, {read_double, 0},
                    {read_text, 0},  {read_native, 0}};

static unsigned long long counts[4]; /* of reads without an error, with NC_ERANGE, other errors; of elements */

static void same_read(int a, int b, int vara, int varb)
{
    nc_type type;
    int rank, dims[8], statusa, statusb;
    size_t start[8] = {0}, count[8] = {0}, selected = 1;
    ptrdiff_t stride[8], imap[8], step = 1;
    const unsigned how = below(8), which = below(sizeof memory_types / sizeof *memory_types);
    const int with_stride = how & 1, with_map = (how & 6) == 2;

    OK(nc_inq_var(a, vara, NULL, &type, &rank, dims, NULL));
    if (type == NC_STRING) return;
    for (int d = 0; d < rank; d++) {
        size_t len;

        OK(nc_inq_dimlen(a, dims[d], &len));
        start[d] = below((unsigned)len);
        stride[d] = with_stride ? 1 + (ptrdiff_t)below(3) : 1;
        /* netCDF-C 4.9.0 gives fill values for elements that are there: see beyond_the_end. */
        if (d == 0 && (type == NC_USHORT || type == NC_UINT64)) stride[d] = 1;
        count[d] = below((unsigned)((len - 1 - start[d]) / (size_t)stride[d] + 2));
        selected *= count[d];
    }
    /* Now and then something is wrong with one dimension. */
    if (rank && below(20) == 0) {
        const int d = (int)below((unsigned)rank);
        switch (below(4)) {
        case 0: start[d] += 100; break;
        case 1: count[d] += 100; break;
        case 2: if (with_stride) stride[d] = 0; break;
        default: if (with_stride) stride[d] = -1;
        }
    }
    /* A map that transposes, or leaves gaps. */
    for (int i = 0; i < rank; i++) {
        const int d = which % 2 ? i : rank - 1 - i;

        imap[d] = step;
        step *= (ptrdiff_t)(count[d] ? count[d] : 1) + below(2);
    }
    if (step > MOST) return;
    memset(bufa.bytes, 1, sizeof bufa);
    memset(bufb.bytes, 1, sizeof bufb);
    statusa = memory_types[which].read(a, vara, start, count, with_stride || with_map ? stride : NULL,
                                       with_map ? imap : NULL, bufa.bytes);
    statusb = memory_types[which].read(b, varb, start, count, with_stride || with_map ? stride : NULL,
                                       with_map ? imap : NULL, bufb.bytes);
    snprintf(at + strlen(at), sizeof at - strlen(at), " as %u, how %u, start %zu count %zu", which, how, start[0],
             count[0]);
    SAME(statusa, statusb);
    counts[statusa == NC_NOERR ? 0 : statusa == NC_ERANGE ? 1 : 2]++;
    counts[3] += selected;
    /* What a number with a fraction becomes that does not fit an integer is left open by C. */
    if (statusa == NC_NOERR ||
        (statusa == NC_ERANGE && !((type == NC_FLOAT || type == NC_DOUBLE) && memory_types[which].is_integer)))
        SAME(memcmp(bufa.bytes, bufb.bytes, sizeof bufa), 0);
}

/* A variable that is shorter along an unlimited dimension reads as its fill value beyond: also with strides, and as
 * netCDF's fill value if it has none. */
static void beyond_the_end(int ncid)
{
    int varid;
    unsigned short all[TIME][Y][X], every[(TIME + 1) / 2];
    const size_t start[3] = {0, 2, 3}, count[3] = {(TIME + 1) / 2, 1, 1};
    const ptrdiff_t stride[3] = {2, 1, 1};

    OK(nc_inq_varid(ncid, "us", &varid));
    OK(nc_get_var_ushort(ncid, varid, &all[0][0][0]));
    OK(nc_get_vars_ushort(ncid, varid, start, count, stride, every));
    for (int i = 0; i < (TIME + 1) / 2; i++) CHECK(every[i] == all[2 * i][2][3]);
    CHECK(all[TIME - 1][2][3] == NC_FILL_USHORT && all[4][2][3] != NC_FILL_USHORT);
    OK(nc_inq_varid(ncid, "not filled", &varid));
    OK(nc_get_var_ushort(ncid, varid, &all[0][0][0]));
    CHECK(all[TIME - 1][2][3] == NC_FILL_USHORT && all[2][2][3] != NC_FILL_USHORT);
}

static void same_strings(int a, int b, int vara, int varb)
{
    char *sa[TIME], *sb[TIME], *some[2];
    const size_t start = 1, count = 2;
    const ptrdiff_t stride = 2;
    int dim;
    size_t len;

    OK(nc_inq_vardimid(a, vara, &dim));
    OK(nc_inq_dimlen(a, dim, &len));
    OK(nc_get_var_string(a, vara, sa));
    OK(nc_get_var_string(b, varb, sb));
    for (size_t i = 0; i < len; i++) SAME(strcmp(sa[i], sb[i]), 0);
    OK(nc_get_vars_string(b, varb, &start, &count, &stride, some));
    CHECK(strcmp(some[0], sa[1]) == 0 && strcmp(some[1], sa[3]) == 0);
    OK(nc_free_string(len, sa));
    OK(nc_free_string(len, sb));
    OK(nc_free_string(2, some));
}

static void same_group(int a, int b, int is_nczarr, unsigned operations)
{
    int na, nb, ids[64], ids_b[64], unlimited;
    char namea[NC_MAX_NAME + 1], nameb[NC_MAX_NAME + 1];
    int (*inq[2])(int, int *, int *) = {nc_inq_unlimdims, nc_inq_grps};

    OK(nc_inq_grpname(a, namea));
    OK(nc_inq_grpname(b, nameb));
    CHECK(strcmp(namea, nameb) == 0);
    OK(nc_inq_grpname_full(a, NULL, namea));
    OK(nc_inq_grpname_full(b, NULL, nameb));
    snprintf(at, sizeof at, "group %.200s and %.200s", namea, nameb);
    SAME(strcmp(namea, nameb), 0);
    for (int i = 0; i < 2; i++) {
        OK(inq[i](a, &na, ids));
        OK(inq[i](b, &nb, ids_b));
        SAME(na, nb);
    }
    OK(nc_inq_unlimdim(b, &unlimited));
    SAME(unlimited >= 0, !is_nczarr);
    for (int all = 0; all < 2; all++) {
        OK(nc_inq_dimids(a, &na, ids, all));
        OK(nc_inq_dimids(b, &nb, ids_b, all));
        SAME(na, nb);
        for (int i = 0; i < na; i++) {
            int id;

            OK(nc_inq_dimname(a, ids[i], namea));
            snprintf(at, sizeof at, "dimension %.200s", namea);
            SAME(nc_inq_dimid(b, namea, &id), NC_NOERR);
        }
    }
    OK(nc_inq_varids(a, &na, ids));
    OK(nc_inq_varids(b, &nb, ids_b));
    SAME(na, nb);
    same_attributes(a, b, NC_GLOBAL, NC_GLOBAL, is_nczarr);
    for (int i = 0; i < na; i++) {
        int varb;
        nc_type type;

        OK(nc_inq_varname(a, ids[i], namea));
        snprintf(at, sizeof at, "variable %s", namea);
        SAME(nc_inq_varid(b, namea, &varb), NC_NOERR);
        same_variable(a, b, ids[i], varb, is_nczarr);
        OK(nc_inq_vartype(a, ids[i], &type));
        if (type == NC_STRING) same_strings(a, b, ids[i], varb);
        for (unsigned n = 0; n < operations; n++) {
            snprintf(at, sizeof at, "variable %s", namea);
            same_read(a, b, ids[i], varb);
        }
    }
    OK(nc_inq_grps(a, &na, ids));
    for (int i = 0; i < na; i++) {
        int child, parent;

        OK(nc_inq_grpname(ids[i], namea));
        OK(nc_inq_ncid(b, namea, &child));
        OK(nc_inq_grp_parent(child, &parent));
        SAME(parent, b);
        OK(nc_inq_grpname_full(ids[i], NULL, namea));
        same_group(ids[i], child, is_nczarr, operations);
    }
}

/* What writes is refused, and what netCDF-4 has besides is answered. */
static void the_rest(const char *path, int ncid)
{
    int id, storage, format, mode, ntypes;
    const int value = 1;
    const size_t one = 1, first[3] = {0};
    size_t size, nelems;
    float preemption;
    char name[NC_MAX_NAME + 1];

    snprintf(at, sizeof at, "the rest");
    SAME(nc_open(path, NC_UDF0 | NC_WRITE, &id), NC_EPERM);
    SAME(nc_create("x", NC_UDF0 | NC_NETCDF4, &id), NC_EPERM);
    SAME(nc_redef(ncid), NC_EPERM);
    SAME(nc_enddef(ncid), NC_EPERM);
    SAME(nc_def_dim(ncid, "new", 1, &id), NC_EPERM);
    SAME(nc_rename_dim(ncid, 0, "new"), NC_EPERM);
    SAME(nc_def_var(ncid, "new", NC_INT, 0, NULL, &id), NC_EPERM);
    SAME(nc_def_grp(ncid, "new", &id), NC_EPERM);
    SAME(nc_put_att_int(ncid, NC_GLOBAL, "new", NC_INT, 1, &value), NC_EPERM);
    SAME(nc_del_att(ncid, NC_GLOBAL, "title"), NC_EPERM);
    SAME(nc_put_vara_int(ncid, 0, first, first, &value), NC_EPERM);
    SAME(nc_def_opaque(ncid, 4, "new", &id), NC_EPERM);
    SAME(nc_set_fill(ncid, NC_NOFILL, &id), NC_EPERM);
    OK(nc_sync(ncid));
    OK(nc_inq_format(ncid, &format));
    SAME(format, NC_FORMAT_NETCDF4);
    OK(nc_inq_format_extended(ncid, &format, &mode));
    SAME(format, NC_FORMATX_UDF0);
    OK(nc_inq_typeids(ncid, &ntypes, NULL));
    SAME(ntypes, 0);
    OK(nc_inq_typeid(ncid, "ushort", &id));
    SAME(id, NC_USHORT);
    SAME(nc_inq_typeid(ncid, "none", &id), NC_EBADTYPE);
    SAME(nc_inq_user_type(ncid, 40, name, NULL, NULL, NULL, NULL), NC_EBADTYPE);
    SAME(nc_inq_varid(ncid, "none", &id), NC_ENOTVAR);
    SAME(nc_inq_var(ncid, 1000, name, NULL, NULL, NULL, NULL), NC_ENOTVAR);
    SAME(nc_inq_dimname(ncid, 1000, name), NC_EBADDIM);
    SAME(nc_inq_grp_full_ncid(ncid, "/group/none", &id), NC_ENOGRP);
    OK(nc_inq_dimid(ncid, "/group/inner/x", &id));
    OK(nc_inq_dimlen(ncid, id, &size));
    SAME(size, 3);
    SAME(nc_inq_dimid(ncid, "/group/y", &id), NC_EBADDIM);
    OK(nc_inq_varid(ncid, "i", &id));
    OK(nc_set_var_chunk_cache(ncid, id, 12345, 7, 0.5f));
    OK(nc_get_var_chunk_cache(ncid, id, &size, &nelems, &preemption));
    SAME(size, 12345);
    OK(nc_get_vara_int(ncid, id, first, (size_t[]){one, one, one}, &mode));
    OK(nc_set_var_chunk_cache(ncid, id, 0, 0, 0));
    OK(nc_get_vara_int(ncid, id, first, (size_t[]){one, one, one}, &format));
    SAME(mode, format);
    OK(nc_inq_var_chunking(ncid, id, &storage, NULL));
    SAME(storage, NC_CHUNKED);
    OK(nc_inq_var_endian(ncid, id, &storage));
    SAME(storage, NC_ENDIAN_LITTLE);
}

/* As in netCDF-C, nc_close refuses the number of a group in a file, and nc_abort ends the file. */
static void a_group_is_no_file(const char *path)
{
    const int modes[2] = {NC_NOWRITE, NC_UDF0};
    int ncid, group, n;

    for (int i = 0; i < 2; i++) {
        OK(nc_open(path, modes[i], &ncid));
        OK(nc_inq_grp_full_ncid(ncid, "/group/inner", &group));
        SAME(nc_close(group), NC_EBADGRPID);
        OK(nc_inq_nvars(ncid, &n));
        OK(nc_abort(group));
        SAME(nc_inq_nvars(ncid, &n), NC_EBADID);
    }
}

/* --- What netCDF-C does not write */

static char made[512]; /* the directory of a dataset in Zarr v2 */

static void put(const char *name, const char *text)
{
    char path[600];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", made, name);
    file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void put_filled(const char *name, const char *type, const char *shape, const char *fill, const char *attributes)
{
    char path[600], text[400];

    snprintf(path, sizeof path, "%s/%s", made, name);
    (void)mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/.zarray", name);
    snprintf(text, sizeof text, "{\"zarr_format\": 2, \"shape\": %s, \"chunks\": %s, \"dtype\": \"%s\", "
             "\"fill_value\": %s, \"compressor\": null, \"filters\": null, \"order\": \"C\"}",
             shape, shape, type, fill);
    put(path, text);
    snprintf(path, sizeof path, "%s/.zattrs", name);
    put(path, attributes);
}

static void put_array(const char *name, const char *type, const char *shape, const char *attributes)
{
    put_filled(name, type, shape, "7", attributes);
}

static void put_group(const char *name, const char *attributes)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s", made, name);
    (void)mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/.zgroup", name);
    put(path, "{\"zarr_format\": 2}");
    snprintf(path, sizeof path, "%s/.zattrs", name);
    put(path, attributes);
}

static int open_made(void)
{
    char path[600];
    int ncid;

    snprintf(path, sizeof path, "%s/.zgroup", made);
    OK(nc_open(path, NC_UDF0, &ncid));
    return ncid;
}

/* What is left out is told, also of attributes, whatever the file's own attribute of that name is. */
static void what_is_left_out_is_told(void)
{
    static const char name[] = "_nczchunk_left_out", of_all[] = "complex: complex64\nthe attributes of torn: ";
    char text[1000] = "";
    int ncid, varid, group, n;
    nc_type type;
    size_t len;

    put_group(".", "{\"before\": 1, \"_nczchunk_left_out\": [7, 8], \"behind\": 2}");
    put_array("complex", "<c8", "[3]", "{}");
    put_array("torn", "<i4", "[3]", "{\"units\": ");
    put_group("below", "{\"title\": ");
    ncid = open_made();
    OK(nc_inq_natts(ncid, &n));
    CHECK(n == 3);
    OK(nc_inq_att(ncid, NC_GLOBAL, name, &type, &len));
    CHECK(type == NC_CHAR && len < sizeof text);
    OK(nc_get_att_text(ncid, NC_GLOBAL, name, text));
    CHECK(strncmp(text, of_all, strlen(of_all)) == 0 && strstr(text, ".zattrs"));
    OK(nc_inq_varid(ncid, "torn", &varid));
    OK(nc_get_var1_int(ncid, varid, (size_t[]){0}, &n));
    CHECK(n == 7);
    OK(nc_inq_ncid(ncid, "below", &group));
    memset(text, 0, sizeof text);
    OK(nc_get_att_text(group, NC_GLOBAL, name, text));
    CHECK(strncmp(text, "the attributes of the group: ", 29) == 0);
    OK(nc_close(ncid));
}

/* An array that is another when it is first read is refused; one that has grown is as it was listed. */
static void what_changes_is_refused(void)
{
    static const char *const changes[][2] = {{"<f4", "[3]"}, {"<i8", "[3]"}, {"<f8", "[3,1]"}, {"<f8", "[2]"},
                                             {"<M8[s]", "[3]"}};
    double values[3];
    int ncid, varid, endian, natts;

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        put_array("v", "<f8", "[3]", "{}");
        ncid = open_made();
        put_array("v", changes[i][0], changes[i][1], "{}");
        OK(nc_inq_varid(ncid, "v", &varid));
        SAME(nc_get_var_double(ncid, varid, values), NC_EIO);
        SAME(nc_inq_var_endian(ncid, varid, &endian), NC_EIO);
        OK(nc_inq_varnatts(ncid, varid, &natts));
        OK(nc_close(ncid));
    }
    put_array("v", "<f8", "[3]", "{}");
    ncid = open_made();
    put_array("v", "<f8", "[4]", "{}");
    OK(nc_inq_varid(ncid, "v", &varid));
    OK(nc_get_var_double(ncid, varid, values));
    CHECK(values[0] == 7 && values[2] == 7);
    OK(nc_close(ncid));
}

/* What a file system or a server fails in is told, and tried again. */
static void failures_pass(void)
{
    char path[600], away[600];
    double value;
    int ncid, varid, natts;

    snprintf(path, sizeof path, "%s/v", made);
    snprintf(away, sizeof away, "%s/away", made);
    put_array("v", "<f8", "[3]", "{}");
    ncid = open_made();
    OK(nc_inq_varid(ncid, "v", &varid));
    CHECK(rename(path, away) == 0);
    SAME(nc_inq_varnatts(ncid, varid, &natts), NC_ENOTFOUND);
    SAME(nc_inq_attid(ncid, varid, "_FillValue", &natts), NC_ENOTFOUND);
    SAME(nc_get_var1_double(ncid, varid, (size_t[]){0}, &value), NC_ENOTFOUND);
    CHECK(rename(away, path) == 0);
    OK(nc_get_var1_double(ncid, varid, (size_t[]){0}, &value));
    OK(nc_inq_varnatts(ncid, varid, &natts));
    CHECK(value == 7 && natts == 1);
    OK(nc_close(ncid));
}

/* A power of two is out of the range of integers of so many bits, also where the largest one is rounded to it. */
static void powers_of_two_are_out_of_range(void)
{
    static const struct {
        const char *power;
        int (*smaller)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *);
        int (*larger)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *);
    } powers[] = {{"2147483648", read_int, read_uint},
                  {"4294967296", read_uint, read_longlong},
                  {"9223372036854775808", read_longlong, read_ulonglong},
                  {"18446744073709551616", read_ulonglong, read_float}};
    const char *const types[2] = {"<f4", "<f8"};
    const size_t start = 0, count = 1;
    int ncid, varid;

    for (size_t i = 0; i < 2 * sizeof powers / sizeof *powers; i++) {
        put_filled("power", types[i % 2], "[1]", powers[i / 2].power, "{}");
        ncid = open_made();
        OK(nc_inq_varid(ncid, "power", &varid));
        SAME(powers[i / 2].smaller(ncid, varid, &start, &count, NULL, NULL, bufb.bytes), NC_ERANGE);
        OK(powers[i / 2].larger(ncid, varid, &start, &count, NULL, NULL, bufb.bytes));
        OK(nc_close(ncid));
    }
}

/* An attribute _FillValue has its variable's type, unless that does not have the value. */
static void fill_values_are_not_changed(void)
{
    static const struct {
        const char *type, *attributes;
        double fill;
        nc_type expected;
    } cases[] = {{"<i4", "{\"_FillValue\": -1.0}", -1, NC_INT},
                 {"<f4", "{\"_FillValue\": 0.1}", 0.1f, NC_FLOAT},
                 {"<i4", "{\"_FillValue\": 0.5}", 0.5, NC_DOUBLE},
                 {"<i4", "{\"_FillValue\": NaN}", 0, NC_DOUBLE}};
    int ncid, varid;
    double value;
    nc_type type;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_array("v", cases[i].type, "[3]", cases[i].attributes);
        ncid = open_made();
        OK(nc_inq_varid(ncid, "v", &varid));
        OK(nc_inq_atttype(ncid, varid, "_FillValue", &type));
        SAME(type, cases[i].expected);
        OK(nc_get_att_double(ncid, varid, "_FillValue", &value));
        CHECK(i == 3 ? value != value : value == cases[i].fill);
        OK(nc_close(ncid));
    }
}

/* netCDF-C's fill value of a variable is the attribute _FillValue; chunks that are missing may read as another. */
static void fill_values_are_attributes(void)
{
    const char *const names[2] = {"filled", "v"};
    int ncid, varid;
    double fill, value;

    put_array("v", "<f8", "[3]", "{}");
    put_array("filled", "<f8", "[3]", "{\"_FillValue\": -1}");
    ncid = open_made();
    for (int i = 0; i < 2; i++) {
        OK(nc_inq_varid(ncid, names[i], &varid));
        OK(nc_inq_var_fill(ncid, varid, NULL, &fill));
        CHECK(fill == (i == 0 ? -1 : 7));
        OK(nc_get_att_double(ncid, varid, "_FillValue", &value));
        CHECK(value == fill);
        OK(nc_get_var1_double(ncid, varid, (size_t[]){0}, &value));
        CHECK(value == 7);
    }
    OK(nc_close(ncid));
}

int main(int argc, char **argv)
{
    char path[512], url[600];
    int a, b, status;

    CHECK(argc == 4);
    state = strtoull(argv[3], NULL, 10);
    OK(nc_def_user_format(NC_UDF0, nczchunk_netcdf_dispatch(), NULL));
    snprintf(made, sizeof made, "%s/made.zarr", argv[1]);
    (void)mkdir(made, 0777);
    what_is_left_out_is_told();
    what_changes_is_refused();
    fill_values_are_attributes();
    fill_values_are_not_changed();
    failures_pass();
    powers_of_two_are_out_of_range();

    snprintf(path, sizeof path, "%s/both.nc", argv[1]);
    /* A libnetcdf may be built without HDF5. */
    status = nc_create(path, NC_NETCDF4, &a);
    if (status != NC_ENOTBUILT) {
        OK(status);
        OK(nc_close(a));
        write_dataset(path, 0);
        OK(nc_open(path, NC_NOWRITE, &a));
        OK(nc_open(path, NC_UDF0, &b));
        same_group(a, b, 0, (unsigned)atoi(argv[2]));
        beyond_the_end(b);
        OK(nc_close(a));
        SAME(nc_inq_ncid(b, NULL, &a), NC_NOERR);
        SAME(a, b);
        OK(nc_close(b));
        a_group_is_no_file(path);
    }

    snprintf(url, sizeof url, "file://%s/both.zarr#mode=nczarr,file", argv[1]);
    snprintf(path, sizeof path, "%s/both.zarr/.zgroup", argv[1]);
    write_dataset(url, 1);
    OK(nc_open(url, NC_NOWRITE, &a));
    OK(nc_open(path, NC_UDF0, &b));
    same_group(a, b, 1, (unsigned)atoi(argv[2]));
    the_rest(path, b);
    OK(nc_close(a));
    OK(nc_close(b));
    printf("%llu reads are equal, %llu of them with NC_ERANGE and %llu with other errors; %llu elements\n",
           counts[0] + counts[1] + counts[2], counts[1], counts[2], counts[3]);
    CHECK(counts[0] && counts[1] && counts[2]);
    return 0;
}
