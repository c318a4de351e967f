/* The functions of zchunking.c, zodom.c and zwalk.c that the library does not call itself, with chance arguments:
 * prints what they answer. Run with a stock and with an adapted libnetcdf, it must print the same.
 *
 *   internals DIRECTORY
 *
 * It is compiled against netCDF-C's internal headers, of 4.9.3 or later.
 */
#include "zincludes.h"

static unsigned long long state = 88172645463325252ull;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 11) % n;
}

enum { MAX_RANK = 3, MAX_LEN = 30 };

/* Chunks of an array whose elements are their own places, made when they are asked for, as a test's reader may. */
typedef struct chunks {
    const struct Common *common;
    int *chunk;
    size_t asked;
} chunks;

static int make_chunk(void *source, size64_t *chunkindices, void **chunkdata)
{
    chunks *c = source;
    const struct Common *common = c->common;

    c->asked++;
    for (size64_t i = 0; i < common->chunkcount; i++) {
        size64_t rest = i, place[MAX_RANK] = {0};

        for (int d = common->rank - 1; d >= 0; d--) {
            place[d] = chunkindices[d] * common->chunklens[d] + rest % common->chunklens[d];
            rest /= common->chunklens[d];
        }
        c->chunk[i] = (int)NCZ_computelinearoffset((size_t)common->rank, place, common->dimlens);
    }
    *chunkdata = c->chunk;
    return NC_NOERR;
}

static void print_projections(const struct Common *common)
{
    for (int d = 0; d < common->rank; d++) {
        const NCZSliceProjections *slp = &common->allprojections[d];

        printf("dimension %d: chunks %llu to %llu, %llu elements\n", slp->r, slp->range.start, slp->range.stop,
               common->shape[d]);
        for (size_t i = 0; i < slp->count; i++) {
            const NCZProjection *p = &slp->projections[i];

            printf(" %llu at %llu: ", p->chunkindex, p->offset);
            if (p->skip)
                printf("skipped\n");
            else
                printf("%llu to %llu, %llu to memory at %llu; %llu:%llu:%llu of %llu, %llu:%llu:%llu of %llu\n",
                       p->first, p->last, p->iocount, p->iopos, p->chunkslice.start, p->chunkslice.stop,
                       p->chunkslice.stride, p->chunkslice.len, p->memslice.start, p->memslice.stop,
                       p->memslice.stride, p->memslice.len);
        }
    }
}

static void walk(NCZOdometer *odometer)
{
    for (; nczodom_more(odometer); nczodom_next(odometer)) {
        const size64_t *indices = nczodom_indices(odometer);

        printf(" (");
        for (int d = 0; d < odometer->rank; d++)
            printf(" %llu", indices[d]);
        printf(" ) %llu", nczodom_offset(odometer));
        if (below(5) == 0)
            nczodom_skipavail(odometer);
    }
    printf(", rows of %llu, by %llu, of %llu\n", nczodom_avail(odometer), nczodom_laststride(odometer),
           nczodom_lastlen(odometer));
    nczodom_reset(odometer);
    for (int d = 0; d < odometer->rank; d++)
        printf(" %llu in %llu:%llu:%llu of %llu", odometer->index[d], odometer->start[d], odometer->stop[d],
               odometer->stride[d], odometer->len[d]);
    printf("%s%s\n", odometer->properties.start0 ? " from 0" : "", odometer->properties.stride1 ? " by 1" : "");
}

static int one(void)
{
    /* What a transfer looks at of a variable is its type, and whether it is filled. */
    static NC_TYPE_INFO_T type = {.hdr = {.sort = NCTYP, .id = NC_INT}, .size = sizeof(int)};
    static NC_FILE_INFO_T file;
    static NCZ_FILE_INFO_T zfile = {.native_endianness = NC_ENDIAN_LITTLE};
    static NC nc;
    NC_VAR_INFO_T var = {.type_info = &type, .no_fill = NC_TRUE};
    struct Common common = {.file = &file, .var = &var, .reading = 1, .typesize = sizeof(int), .chunkcount = 1};
    NCZSlice slices[MAX_RANK];
    NCZOdometer *odometer;
    size_t elements = 1;
    chunks source = {.common = &common};
    int stat, *memory;

    file.format_file_info = &zfile;
    file.controller = &nc;
    common.rank = 1 + (int)below(MAX_RANK);
    for (int d = 0; d < common.rank; d++) {
        const size_t len = 1 + below(MAX_LEN), start = below(len), stride = below(2) ? 1 : 1 + below(len);
        const size_t count = 1 + below((len - 1 - start) / stride + 1);
        const size_t end = start + count * stride;

        common.dimlens[d] = len;
        common.chunklens[d] = 1 + below(len);
        common.chunkcount *= common.chunklens[d];
        common.memshape[d] = count;
        slices[d] = (NCZSlice){.start = start, .stop = end < len ? end : len, .stride = stride, .len = len};
        elements *= count;
    }
    source.chunk = calloc((size_t)common.chunkcount, sizeof *source.chunk);
    memory = calloc(elements, sizeof *memory);
    common.memory = memory;
    common.reader.source = &source;
    common.reader.read = make_chunk;

    if ((stat = NCZ_projectslices(&common, slices, &odometer)) != NC_NOERR)
        return stat;
    print_projections(&common);
    walk(odometer);
    nczodom_free(odometer);
    NCZ_clearcommon(&common);
    common.allprojections = NULL;

    odometer = nczodom_fromslices(common.rank, slices);
    walk(odometer);
    nczodom_free(odometer);

    if ((stat = NCZ_transfer(&common, slices)) != NC_NOERR)
        return stat;
    printf("%zu chunks:", source.asked);
    for (size_t i = 0; i < elements; i++)
        printf(" %d", memory[i]);
    printf("\n");
    NCZ_clearcommon(&common);
    free(memory);
    free(source.chunk);
    return NC_NOERR;
}

static int read_from_cache(void *cache, size64_t *indices, void **data)
{
    return NCZ_read_cache_chunk(cache, indices, data);
}

/* A transfer to the cache of a variable in a file. */
static int write_one(const char *directory)
{
    enum { ROWS = 7, COLUMNS = 5 };
    const size_t chunklens[2] = {3, 2};
    const NCZSlice slices[2] = {{.start = 1, .stop = 7, .stride = 2, .len = ROWS},
                                {.start = 0, .stop = 4, .stride = 3, .len = COLUMNS}};
    int ncid, dims[2], stat, memory[6] = {10, 20, 30, 40, 50, 60}, found[ROWS * COLUMNS];
    struct Common common = {.reading = 0, .rank = 2, .typesize = sizeof(int), .chunkcount = 6, .memory = memory};
    NCZSlice given[2];
    char url[4200];

    snprintf(url, sizeof url, "file://%s/file#mode=nczarr,file", directory);
    if ((stat = nc_create(url, NC_NETCDF4 | NC_CLOBBER, &ncid)) != NC_NOERR ||
        (stat = nc_def_dim(ncid, "y", ROWS, &dims[0])) != NC_NOERR ||
        (stat = nc_def_dim(ncid, "x", COLUMNS, &dims[1])) != NC_NOERR ||
        (stat = nc_def_var(ncid, "v", NC_INT, 2, dims, &(int){0})) != NC_NOERR ||
        (stat = nc_def_var_chunking(ncid, 0, NC_CHUNKED, chunklens)) != NC_NOERR ||
        (stat = nc_enddef(ncid)) != NC_NOERR ||
        (stat = nc4_find_grp_h5_var(ncid, 0, &common.file, NULL, &common.var)) != NC_NOERR)
        return stat;
    common.cache = ((NCZ_VAR_INFO_T *)common.var->format_var_info)->cache;
    common.reader.source = common.cache;
    common.reader.read = read_from_cache;
    memcpy(given, slices, sizeof given);
    for (int d = 0; d < 2; d++) {
        common.dimlens[d] = slices[d].len;
        common.chunklens[d] = chunklens[d];
        common.memshape[d] = d == 0 ? 3 : 2;
    }
    if ((stat = NCZ_transfer(&common, given)) != NC_NOERR)
        return stat;
    NCZ_clearcommon(&common);
    /* From the cache, and from the file. */
    for (int session = 0; session < 2; session++) {
        if ((stat = nc_get_var_int(ncid, 0, found)) != NC_NOERR || (stat = nc_close(ncid)) != NC_NOERR)
            return stat;
        for (int i = 0; i < ROWS * COLUMNS; i++)
            printf(" %d", found[i] == NC_FILL_INT ? -1 : found[i]);
        printf("\n");
        if (session == 0 && (stat = nc_open(url, NC_NOWRITE, &ncid)) != NC_NOERR)
            return stat;
    }
    return NC_NOERR;
}

int main(int argc, char **argv)
{
    int status;

    if (argc != 2)
        return 2;
    (void)ncz_chunking_init(); /* without it, stock prints what it does */
    for (int i = 0; i < 300; i++) {
        int stat = one();

        if (stat != NC_NOERR) {
            fprintf(stderr, "internals: %s\n", nc_strerror(stat));
            return 1;
        }
    }
    if ((status = write_one(argv[1])) != NC_NOERR) {
        fprintf(stderr, "internals: %s\n", nc_strerror(status));
        return 1;
    }
    return 0;
}
