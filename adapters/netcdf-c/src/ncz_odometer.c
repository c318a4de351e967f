/* netCDF-C's odometer, over nczchunk's: in place of zodom.c. zdebug.c prints what its structure shows. */
#include "adapter.h"

typedef struct Odometer {
    NCZOdometer shown; /* first, for this is what callers hold */
    nczchunk_odometer* odometer;
} Odometer;

static nczchunk_odometer* inner(const NCZOdometer* odom)
{
    return ((const Odometer*)odom)->odometer;
}

NCZOdometer* nczodom_new(int rank, const size64_t* start, const size64_t* stop, const size64_t* stride,
                         const size64_t* len)
{
    const size_t n = (size_t)rank;
    Odometer* odom = calloc(1, sizeof *odom);
    size64_t* bounds = malloc((4 * n + 1) * sizeof *bounds); /* never of size 0 */

    if (odom == NULL || bounds == NULL ||
        nczchunk_odometer_new(n, (const size_t*)start, (const size_t*)stop, (const size_t*)stride, (const size_t*)len,
                              &odom->odometer, NULL) != NC_NOERR) {
        free(bounds);
        free(odom);
        return NULL;
    }
    odom->shown.rank = rank;
    odom->shown.start = memcpy(bounds, start, n * sizeof *bounds);
    odom->shown.stop = memcpy(bounds + n, stop, n * sizeof *bounds);
    odom->shown.stride = memcpy(bounds + 2 * n, stride, n * sizeof *bounds);
    odom->shown.len = memcpy(bounds + 3 * n, len, n * sizeof *bounds);
    odom->shown.index = (size64_t*)nczchunk_odometer_indices(odom->odometer);
    odom->shown.properties.start0 = odom->shown.properties.stride1 = 1;
    for (size_t d = 0; d < n; d++) {
        odom->shown.properties.start0 &= start[d] == 0;
        odom->shown.properties.stride1 &= stride[d] == 1;
    }
    return &odom->shown;
}

NCZOdometer* nczodom_fromslices(int rank, const NCZSlice* slices)
{
    const size_t n = (size_t)rank;
    size64_t* bounds = malloc((4 * n + 1) * sizeof *bounds);
    NCZOdometer* odom;

    if (bounds == NULL)
        return NULL;
    for (size_t d = 0; d < n; d++) {
        bounds[d] = slices[d].start;
        bounds[n + d] = slices[d].stop;
        bounds[2 * n + d] = slices[d].stride;
        bounds[3 * n + d] = slices[d].len;
    }
    odom = nczodom_new(rank, bounds, bounds + n, bounds + 2 * n, bounds + 3 * n);
    free(bounds);
    return odom;
}

void nczodom_free(NCZOdometer* odom)
{
    if (odom == NULL)
        return;
    nczchunk_odometer_free(inner(odom));
    free(odom->start); /* with stop, stride and len behind it */
    free(odom);
}

int nczodom_more(const NCZOdometer* odom)
{
    return nczchunk_odometer_more(inner(odom));
}

void nczodom_next(NCZOdometer* odom)
{
    nczchunk_odometer_next(inner(odom));
}

size64_t* nczodom_indices(const NCZOdometer* odom)
{
    return odom->index;
}

size64_t nczodom_offset(const NCZOdometer* odom)
{
    return nczchunk_odometer_offset(inner(odom));
}

size64_t nczodom_avail(const NCZOdometer* odom)
{
    return nczchunk_odometer_avail(inner(odom));
}

void nczodom_skipavail(NCZOdometer* odom)
{
    nczchunk_odometer_skipavail(inner(odom));
}

void nczodom_reset(NCZOdometer* odom)
{
    nczchunk_odometer_reset(inner(odom));
}

#if NETCDF_CACHE_COUNTS
size64_t nczodom_laststride(const NCZOdometer* odom)
{
    return odom->stride[odom->rank - 1];
}

size64_t nczodom_lastlen(const NCZOdometer* odom)
{
    return odom->len[odom->rank - 1];
}

static void print_vector(const char* name, int rank, const size64_t* vector)
{
    fprintf(stderr, " %s=(", name);
    for (int d = 0; d < rank; d++)
        fprintf(stderr, "%s%llu", d == 0 ? "" : " ", vector[d]);
    fprintf(stderr, ")");
}

void nczodom_print(const NCZOdometer* odom)
{
    fprintf(stderr, "odom{rank=%d offset=%llu avail=%llu", odom->rank, nczodom_offset(odom), nczodom_avail(odom));
    print_vector("start", odom->rank, odom->start);
    print_vector("stride", odom->rank, odom->stride);
    print_vector("stop", odom->rank, odom->stop);
    print_vector("len", odom->rank, odom->len);
    print_vector("index", odom->rank, odom->index);
    fprintf(stderr, "}\n");
}
#endif
