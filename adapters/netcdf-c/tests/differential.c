/* Random variables, read and written at random through netCDF's interface, and compared with a plain array.
 *
 *   differential DIRECTORY OPERATIONS SEED [all]
 *
 * The same program is run with a stock and with an adapted libnetcdf, and must print the same. What the stock library
 * is known to do wrong is left out, unless `all` is given: B1 to B4 and B6 of the guide's list, and the loss of what
 * nc_sync wrote through a filter or as strings. What cannot be had (a filter that was not built) is left out and said.
 */
#include <netcdf.h>
#include <netcdf_filter.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 4, MAX_LEN = 14, MAX_TYPESIZE = 8 };

/* --- Chance */

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A number below n. */
static size_t below(size_t n)
{
    return (size_t)(next_random() >> 11) % n;
}

static int one_in(size_t n)
{
    return below(n) == 0;
}

/* --- The variable, and the plain array that says what is in it */

typedef struct hyperslab {
    size_t start[MAX_RANK], count[MAX_RANK], elements;
    ptrdiff_t stride[MAX_RANK];
} hyperslab;

typedef struct variable {
    int rank, ncid, session, is_read_only;
    size_t dimlens[MAX_RANK];   /* current ones */
    size_t capacity[MAX_RANK];  /* the array's: what an unlimited dimension may grow to */
    size_t chunklens[MAX_RANK];
    int is_unlimited[MAX_RANK];
    nc_type type;
    size_t typesize;
    int endian, is_swapped, no_fill, filter;
    union {
        unsigned char bytes[MAX_TYPESIZE];
        const char *text;
    } fill;
    unsigned char *elements; /* text: pointers */
    hyperslab last;          /* that was read, to be gone on with */
    size_t along, step;
} variable;

static const struct {
    nc_type type;
    size_t size;
} types[] = {{NC_BYTE, 1},   {NC_CHAR, 1}, {NC_SHORT, 2},  {NC_INT, 4},   {NC_FLOAT, 4},  {NC_DOUBLE, 8},
             {NC_UBYTE, 1},  {NC_USHORT, 2}, {NC_UINT, 4}, {NC_INT64, 8}, {NC_UINT64, 8}, {NC_STRING, sizeof(char *)}};

static const char *const filters[] = {"none", "deflate", "shuffle and deflate", "zstd", "fletcher32",
                                      "fletcher32, shuffle and deflate"};
enum { NUM_FILTERS = sizeof filters / sizeof *filters };

static char directory[4000], url[4096];
static int all, is_492;
static uint64_t digest = 14695981039346656037u;
static size_t counts[2], errors, left_out, filtered[NUM_FILTERS], unavailable[NUM_FILTERS], unlimited, swapped, text;

static void fail(const variable *v, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "differential: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n  type %d, endian %d, no_fill %d, filter %s, session %d, operation %zu\n", v->type, v->endian,
            v->no_fill, filters[v->filter], v->session, counts[0] + counts[1]);
    for (int d = 0; d < v->rank; d++)
        fprintf(stderr, "  dimension %zu%s, chunk %zu\n", v->dimlens[d], v->is_unlimited[d] ? " unlimited" : "",
                v->chunklens[d]);
    exit(1);
}

#define OK(v, call) check(v, call, #call)

static void check(const variable *v, int status, const char *call)
{
    if (status != NC_NOERR)
        fail(v, "%s: %s", call, nc_strerror(status));
}

static void digest_bytes(const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const unsigned char *)data)[i]) * 1099511628211u;
}

static int is_text(const variable *v)
{
    return v->type == NC_STRING;
}

/* The place of an element in the plain array. */
static size_t place(const variable *v, const size_t *index)
{
    size_t p = 0;

    for (int d = 0; d < v->rank; d++)
        p = p * v->capacity[d] + index[d];
    return p * v->typesize;
}

static void free_text(const unsigned char *element)
{
    char *value;

    memcpy(&value, element, sizeof value);
    free(value);
}

static void set_text(unsigned char *element, const char *value)
{
    char *copy = malloc(strlen(value) + 1);

    strcpy(copy, value);
    free_text(element);
    memcpy(element, &copy, sizeof copy);
}

/* An empty fill value comes back from a file as NULL. */
static const char *get_text(const unsigned char *element)
{
    const char *value;

    memcpy(&value, element, sizeof value);
    return value == NULL ? "" : value;
}

/* NCZarr overwrites chunks without cutting them off. What is left over from a longer one is an error to zstd's filter,
 * so a variable compressed by it is written once, as a whole. */
static int is_write_once(const variable *v)
{
    return strcmp(filters[v->filter], "zstd") == 0;
}

static size_t capacity(const variable *v)
{
    size_t n = 1;

    for (int d = 0; d < v->rank; d++)
        n *= v->capacity[d];
    return n;
}

/* --- Making one up */

static void choose_fill(variable *v)
{
    static const unsigned char zeros[MAX_TYPESIZE];

    if (is_text(v)) {
        v->fill.text = one_in(2) ? "" : "nothing here";
        return;
    }
    if (v->type == NC_FLOAT) {
        memcpy(v->fill.bytes, &(float){(float)below(1000)}, v->typesize); /* exact in the metadata's decimals */
    } else if (v->type == NC_DOUBLE) {
        memcpy(v->fill.bytes, &(double){(double)below(1000)}, v->typesize);
    } else if (v->type == NC_CHAR) {
        v->fill.bytes[0] = (unsigned char)('a' + below(26));
    } else {
        for (size_t b = 0; b < v->typesize; b++)
            v->fill.bytes[b] = (unsigned char)(1 + below(250));
    }
    /* Stock netCDF-C swaps the fill values of a foreign variable, B6: then this one is the same both ways. */
    if (v->no_fill || (v->is_swapped && !all))
        memcpy(v->fill.bytes, zeros, v->typesize);
}

static int define_filter(const variable *v)
{
    switch (v->filter) {
    case 1:
        return nc_def_var_deflate(v->ncid, 0, 0, 1, 1);
    case 2:
        return nc_def_var_deflate(v->ncid, 0, 1, 1, 3);
    case 3:
        return nc_def_var_zstandard(v->ncid, 0, 1);
    case 4:
        return nc_def_var_fletcher32(v->ncid, 0, 1);
    case 5: {
        int status = nc_def_var_fletcher32(v->ncid, 0, 1);

        return status != NC_NOERR ? status : nc_def_var_deflate(v->ncid, 0, 1, 1, 1);
    }
    default:
        return NC_NOERR;
    }
}

static void create(variable *v)
{
    const int is_little = *(const unsigned char *)&(const int){1};
    const int native = is_little ? NC_ENDIAN_LITTLE : NC_ENDIAN_BIG;
    const size_t t = below(sizeof types / sizeof *types);
    int dims[MAX_RANK], status;

    memset(v, 0, sizeof *v);
    v->rank = (int)below(MAX_RANK + 1);
    v->type = types[t].type;
    v->typesize = types[t].size;
    v->endian = is_text(v) || v->type == NC_CHAR ? NC_ENDIAN_NATIVE : (int)below(3);
    v->is_swapped = v->typesize > 1 && v->endian != NC_ENDIAN_NATIVE && v->endian != native;
    v->no_fill = !is_text(v) && one_in(4);
    choose_fill(v);

    OK(v, nc_create(url, NC_NETCDF4 | NC_CLOBBER, &v->ncid));
    for (int d = 0; d < v->rank; d++) {
        const char *const names[] = {"t", "z", "y", "x"};

        v->capacity[d] = 1 + below(v->rank > 2 ? MAX_LEN / 2 : MAX_LEN);
        v->is_unlimited[d] = !is_492 && one_in(4);
        v->dimlens[d] = v->is_unlimited[d] ? 0 : v->capacity[d];
        v->chunklens[d] = 1 + below(v->capacity[d] + (v->is_unlimited[d] ? 3 : 0));
        OK(v, nc_def_dim(v->ncid, names[d], v->is_unlimited[d] ? NC_UNLIMITED : v->dimlens[d], &dims[d]));
        unlimited += (size_t)v->is_unlimited[d];
    }
    OK(v, nc_def_var(v->ncid, "v", v->type, v->rank, dims, &(int){0}));
    if (v->rank > 0) {
        OK(v, nc_def_var_chunking(v->ncid, 0, NC_CHUNKED, v->chunklens));
        v->filter = (int)below(NUM_FILTERS);
        status = unavailable[v->filter] ? NC_ENOFILTER : define_filter(v);
        unavailable[v->filter] |= status == NC_ENOFILTER;
        if (status != NC_NOERR) /* 4.9.2 does not filter strings */
            v->filter = 0;
        filtered[v->filter]++;
    }
    if (v->endian != NC_ENDIAN_NATIVE)
        OK(v, nc_def_var_endian(v->ncid, 0, v->endian));
    OK(v, nc_def_var_fill(v->ncid, 0, v->no_fill, v->no_fill ? NULL : (const void *)&v->fill));
    OK(v, nc_enddef(v->ncid));
    swapped += (size_t)v->is_swapped;
    text += (size_t)is_text(v);

    v->elements = calloc(capacity(v), v->typesize);
    for (size_t i = 0; i < capacity(v); i++) {
        if (is_text(v))
            set_text(v->elements + i * v->typesize, v->fill.text);
        else
            memcpy(v->elements + i * v->typesize, v->fill.bytes, v->typesize);
    }
}

/* NCZarr writes its metadata again whenever a file is stored, over the old ones and without cutting them off, so that
 * what becomes shorter cannot be read any more. Removed, they are written anew. */
static void remove_metadata(const variable *v)
{
    static const char *const names[] = {".zattrs", ".zgroup", "v/.zattrs", "v/.zarray"};

    for (size_t i = 0; !v->is_read_only && i < sizeof names / sizeof *names; i++) {
        char path[4200];

        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)remove(path);
    }
}

static void destroy(variable *v)
{
    remove_metadata(v);
    OK(v, nc_close(v->ncid));
    for (size_t i = 0; is_text(v) && i < capacity(v); i++)
        free_text(v->elements + i * v->typesize);
    free(v->elements);
}

/* --- A hyperslab, and what is right to do with it */

static int is_error(const hyperslab *h, const variable *v, int writing)
{
    int has_empty = 0;

    for (int d = 0; d < v->rank; d++)
        if (h->stride[d] <= 0)
            return NC_ESTRIDE;
    for (int d = 0; d < v->rank; d++)
        has_empty |= h->count[d] == 0;
    for (int d = 0; d < v->rank; d++) {
        if (writing && v->is_unlimited[d])
            continue;
        if (h->start[d] > v->dimlens[d] || (h->start[d] == v->dimlens[d] && h->count[d] > 0))
            return NC_EINVALCOORDS;
        /* The last element, start + (count - 1) * stride, may be beyond any number. */
        if (h->count[d] > 0 && !(writing && has_empty) &&
            h->count[d] - 1 > (v->dimlens[d] - 1 - h->start[d]) / (size_t)h->stride[d])
            return NC_EEDGE;
    }
    return NC_NOERR;
}

static hyperslab choose(variable *v, int writing)
{
    const int wild = one_in(16);
    hyperslab h = {.elements = 1};

    if (!writing && v->rank > 0 && !one_in(v->is_read_only ? 5 : 2)) {
        v->last.start[v->along] += v->step;
        if (v->last.elements > 0 && is_error(&v->last, v, 0) == NC_NOERR)
            return v->last;
    }
    if (writing && is_write_once(v)) {
        for (int d = 0; d < v->rank; d++) {
            h.count[d] = v->capacity[d];
            h.stride[d] = 1;
            h.elements *= h.count[d];
        }
        return h;
    }
    for (int d = 0; d < v->rank; d++) {
        const size_t len = writing && v->is_unlimited[d] ? v->capacity[d] : v->dimlens[d];

        h.start[d] = below(len + (wild ? 2 : len == 0));
        h.stride[d] = one_in(2) ? 1 : 1 + (ptrdiff_t)below(len + 1);
        h.count[d] = 0;
        if (h.start[d] < len)
            h.count[d] = 1 + below((len - 1 - h.start[d]) / (size_t)h.stride[d] + 1);
        if (one_in(24))
            h.count[d] = 0;
        if (wild && !(writing && v->is_unlimited[d])) {
            h.count[d] += below(3);
            if (one_in(8))
                h.stride[d] = -(ptrdiff_t)below(2);
            if (all && one_in(8) && h.count[d] > 1)
                h.stride[d] = (ptrdiff_t)1 << (54 + below(9)); /* B4 */
        }
        h.elements *= h.count[d];
    }
    if (!writing && v->rank > 0) {
        v->last = h;
        v->along = below((size_t)v->rank);
        v->step = 1 + below(2);
    }
    return h;
}

/* zvar.c computes the last element without regard to overflow. The adapter refuses what comes through, unless it is to
 * read nothing, but a later dimension that is refused by zvar.c is refused first. */
static int is_other_error(const hyperslab *h, const variable *v, int status)
{
    for (int d = 0; d < v->rank; d++)
        if (h->stride[d] > (ptrdiff_t)1 << 50 &&
            (status == NC_EEDGE || status == NC_EINVALCOORDS || (status == NC_NOERR && h->elements == 0)))
            return 1;
    return 0;
}

/* What stock netCDF-C does wrong, by the guide's list. */
static int is_defect(const hyperslab *h, const variable *v, int writing)
{
    for (int d = 0; d < v->rank; d++)
        if ((v->is_unlimited[d] && h->stride[d] > 1) /* B1 */ || (writing && h->count[d] == 0) /* B3 */)
            return 1;
    /* B2: a scalar is not stored again. 4.9.2 does not store any chunk again. */
    return writing && v->session > 0 && (v->rank == 0 || is_492);
}

/* Walks through the hyperslab in row-major order: the k-th element's place. */
static size_t place_of(const variable *v, const hyperslab *h, size_t k)
{
    size_t index[MAX_RANK];

    for (int d = v->rank - 1; d >= 0; d--) {
        index[d] = h->start[d] + k % h->count[d] * (size_t)h->stride[d];
        k /= h->count[d];
    }
    return place(v, index);
}

static void put(variable *v)
{
    hyperslab h = choose(v, 1);
    const int right = is_error(&h, v, 1);
    unsigned char *data, *before;
    int status;

    if (!all && is_defect(&h, v, 1)) {
        left_out++;
        return;
    }
    data = calloc(h.elements + 1, v->typesize);
    before = malloc((h.elements + 1) * v->typesize);
    for (size_t k = 0; k < h.elements; k++) {
        if (is_text(v)) {
            char value[100];

            snprintf(value, sizeof value, "%.*s%zu", (int)below(60),
                     "a text that is long enough to be cut at any of many places", below(1000));
            set_text(data + k * v->typesize, value);
        }
        for (size_t b = 0; !is_text(v) && b < v->typesize; b++)
            data[k * v->typesize + b] = (unsigned char)next_random();
    }
    memcpy(before, data, h.elements * v->typesize);

    if (h.elements == 1 && right != NC_ESTRIDE && one_in(4))
        status = nc_put_var1(v->ncid, 0, h.start, data);
    else
        status = nc_put_vars(v->ncid, 0, h.start, h.count, h.stride, data);
    if (status != right && !(right != NC_NOERR && is_other_error(&h, v, status)))
        fail(v, "put: %s instead of %s", nc_strerror(status), nc_strerror(right));
    if (memcmp(before, data, h.elements * v->typesize) != 0)
        fail(v, "put: the data was changed");
    counts[1]++;
    errors += right != NC_NOERR;
    digest_bytes(&status, sizeof status);
    if (right == NC_NOERR) {
        for (size_t k = 0; k < h.elements; k++) {
            unsigned char *element = v->elements + place_of(v, &h, k);

            if (is_text(v))
                set_text(element, get_text(data + k * v->typesize));
            else
                memcpy(element, data + k * v->typesize, v->typesize);
        }
        for (int d = 0; d < v->rank && h.elements > 0; d++) {
            const size_t end = h.start[d] + (h.count[d] - 1) * (size_t)h.stride[d] + 1;

            if (v->is_unlimited[d] && v->dimlens[d] < end)
                v->dimlens[d] = end;
        }
    }
    for (size_t k = 0; is_text(v) && k < h.elements; k++)
        free_text(data + k * v->typesize);
    free(before);
    free(data);
}

static void get(variable *v)
{
    const hyperslab h = choose(v, 0);
    const int right = is_error(&h, v, 0);
    /* A rejected count may be large, and so would be the memory for it: it is not touched. */
    const size_t size = h.elements * v->typesize;
    unsigned char *data;
    int status;

    if (!all && is_defect(&h, v, 0)) {
        left_out++;
        return;
    }
    data = malloc(size + 8);
    memset(data, is_text(v) ? 0 : 0xA5, size + 8);
    status = nc_get_vars(v->ncid, 0, h.start, h.count, h.stride, data);
    if (status != right && !(right != NC_NOERR && is_other_error(&h, v, status)))
        fail(v, "get: %s instead of %s", nc_strerror(status), nc_strerror(right));
    counts[0]++;
    errors += right != NC_NOERR;
    digest_bytes(&status, sizeof status);
    for (size_t k = 0; k < h.elements; k++) {
        const unsigned char *found = data + k * v->typesize;

        if (right != NC_NOERR) {
            for (size_t b = 0; b < v->typesize; b++)
                if (found[b] != (is_text(v) ? 0 : 0xA5))
                    fail(v, "get: data was written though the status is %s", nc_strerror(right));
            continue;
        }
        const unsigned char *expected = v->elements + place_of(v, &h, k);

        if (is_text(v)) {
            if (strcmp(get_text(found), get_text(expected)) != 0)
                fail(v, "get: element %zu is '%s' instead of '%s'", k, get_text(found), get_text(expected));
            digest_bytes(get_text(found), strlen(get_text(found)));
            free_text(found);
        } else {
            if (memcmp(found, expected, v->typesize) != 0)
                fail(v, "get: element %zu of %zu differs (%02x... instead of %02x...)", k, h.elements, found[0],
                     expected[0]);
            digest_bytes(found, v->typesize);
        }
    }
    for (size_t b = size; b < size + 8; b++)
        if (data[b] != (is_text(v) ? 0 : 0xA5))
            fail(v, "get: written beyond the data");
    free(data);
}

/* --- Sessions */

static void reopen(variable *v)
{
    remove_metadata(v);
    OK(v, nc_close(v->ncid));
    v->is_read_only = one_in(3);
    OK(v, nc_open(url, v->is_read_only ? NC_NOWRITE : NC_WRITE, &v->ncid));
    v->session++;
}

static void sync_file(variable *v)
{
    /* In stock netCDF-C the cache is left with what was stored, filtered or as text of fixed length. 4.9.2 miscounts
     * what it holds then, which the adapter cannot help. */
    if ((!all || is_492) && (v->filter != 0 || is_text(v)))
        return;
    remove_metadata(v);
    OK(v, nc_sync(v->ncid));
    v->session++;
}

int main(int argc, char **argv)
{
    size_t operations;

    if (argc < 4)
        return 2;
    operations = strtoull(argv[2], NULL, 10);
    state = strtoull(argv[3], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
    all = argc > 4 && strcmp(argv[4], "all") == 0;
    is_492 = strncmp(nc_inq_libvers(), "4.9.2", 5) == 0;

    for (size_t file = 0; counts[0] + counts[1] < operations; file++) {
        const size_t sessions = 1 + below(3);
        variable v;

        snprintf(directory, sizeof directory, "%s/differential.%zu", argv[1], file);
        snprintf(url, sizeof url, "file://%s#mode=nczarr,file", directory);
        create(&v);
        if (one_in(4)) /* a small cache, so that chunks come and go */
            OK(&v, nc_set_var_chunk_cache(v.ncid, 0, 1 + below(400), 1 + below(8), 0.5f));
        for (size_t s = 0; s < sessions; s++) {
            if (s > 0)
                reopen(&v);
            else if (is_write_once(&v))
                put(&v);
            for (size_t i = 0; i < 60; i++) {
                if (!v.is_read_only && !is_write_once(&v) && one_in(2))
                    put(&v);
                else
                    get(&v);
                if (one_in(50) && !v.is_read_only)
                    sync_file(&v);
            }
        }
        destroy(&v);
    }
    printf("%zu reads, %zu writes, %zu of them errors; %zu left out; %zu unlimited dimensions, "
           "%zu variables in foreign byte order, %zu of strings\n",
           counts[0], counts[1], errors, left_out, unlimited, swapped, text);
    for (int f = 0; f < NUM_FILTERS; f++)
        printf("filter %s: %zu variables%s\n", filters[f], filtered[f], unavailable[f] ? " (not built)" : "");
    printf("digest %016llx\n", (unsigned long long)digest);
    return 0;
}
