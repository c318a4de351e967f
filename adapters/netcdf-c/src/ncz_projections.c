/* Projections, and the transfer of one that was described beforehand: in place of zchunking.c, and of what zwalk.c has
 * for netCDF-C's own tests. Nothing in the library calls these functions; they are here for programs that do. */
#include "adapter.h"

#if !NETCDF_CACHE_COUNTS
extern int NCZ_projectslices(size64_t* dimlens, size64_t* chunklens, NCZSlice* slices, struct Common*, NCZOdometer**);
#endif

int ncz_chunking_init(void)
{
    return NC_NOERR; /* there is no state to be set up */
}

/* How many elements a slice selects. */
static size64_t slice_count(const NCZSlice* slice)
{
    return slice->stop > slice->start ? ceildiv(slice->stop - slice->start, slice->stride) : 0;
}

static int chunk_ranges(int rank, const NCZSlice* slices, const size64_t* chunklens, NCZChunkRange* ranges)
{
    for (int d = 0; d < rank; d++) {
        ranges[d].start = floordiv(slices[d].start, chunklens[d]);
        ranges[d].stop = ceildiv(slices[d].stop, chunklens[d]);
    }
    return NC_NOERR;
}

#if NETCDF_CACHE_COUNTS
int NCZ_compute_chunk_ranges(struct Common* common, const NCZSlice* slices, NCZChunkRange* ranges)
{
    return chunk_ranges(common->rank, slices, common->chunklens, ranges);
}
#else
int NCZ_compute_chunk_ranges(int rank, const NCZSlice* slices, const size64_t* chunklens, NCZChunkRange* ranges)
{
    return chunk_ranges(rank, slices, chunklens, ranges);
}
#endif

/*
 * The projection of a slice onto one chunk goes to projections[n]. A chunk of which nothing is selected is to be
 * skipped.
 */
int NCZ_compute_projections(struct Common* common, int r, size64_t chunkindex, const NCZSlice* slice, size_t n,
                            NCZProjection* projections)
{
    const size64_t chunklen = common->chunklens[r], offset = chunklen * chunkindex, count = slice_count(slice);
    NCZProjection* projection = &projections[n];
    nczchunk_projection found = {0};
    size64_t p;
    int stat;

    /* Strides of a chunk or less touch every chunk of the range, others as many as they select elements. */
    if (slice->stride <= chunklen)
        p = chunkindex - slice->start / chunklen;
    else
        p = offset <= slice->start ? 0 : ceildiv(offset - slice->start, slice->stride);
    stat = nczchunk_projection_at(common->dimlens[r], chunklen, slice->start, count, (ptrdiff_t)slice->stride, p,
                                  &found, sizeof found, NULL);

    memset(projection, 0, sizeof *projection);
    projection->id = (int)n + 1;
    projection->chunkindex = chunkindex;
    projection->offset = offset;
    projection->iopos = offset <= slice->start ? 0 : ceildiv(offset - slice->start, slice->stride);
    projection->chunkslice.stride = projection->memslice.stride = 1;
    projection->skip = stat == NCZCHUNK_EINVALCOORDS || (size64_t)found.chunk_index != chunkindex;
    if (projection->skip)
        return NC_NOERR;
    if (stat != NC_NOERR)
        return stat;

    projection->first = found.first;
    projection->last = found.last;
    projection->limit = minimum(found.limit, slice->stop - offset);
    projection->stop = projection->limit;
    projection->iocount = found.iocount;
    projection->chunkslice.start = found.first;
    projection->chunkslice.stop = projection->stop;
    projection->chunkslice.stride = slice->stride;
    projection->chunkslice.len = chunklen;
    projection->memslice.start = found.iopos;
    projection->memslice.stop = found.iopos + found.iocount;
    projection->memslice.len = common->memshape[r];
    return NC_NOERR;
}

int NCZ_compute_per_slice_projections(struct Common* common, int r, const NCZSlice* slice, const NCZChunkRange* range,
                                      NCZSliceProjections* slp)
{
    int stat = NC_NOERR;

    slp->r = r;
    slp->range = *range;
    slp->count = range->stop > range->start ? (size_t)(range->stop - range->start) : 0;
    if ((slp->projections = calloc(slp->count + 1, sizeof *slp->projections)) == NULL) /* never of size 0 */
        return NC_ENOMEM;
    for (size_t n = 0; stat == NC_NOERR && n < slp->count; n++)
        stat = NCZ_compute_projections(common, r, range->start + n, slice, n, slp->projections);
    return stat;
}

int NCZ_compute_all_slice_projections(struct Common* common, const NCZSlice* slices, const NCZChunkRange* ranges,
                                      NCZSliceProjections* results)
{
    int stat = NC_NOERR;

    for (int r = 0; stat == NC_NOERR && r < common->rank; r++)
        stat = NCZ_compute_per_slice_projections(common, r, &slices[r], &ranges[r], &results[r]);
    return stat;
}

void NCZ_clearsliceprojections(int count, NCZSliceProjections* slpv)
{
    for (int i = 0; slpv != NULL && i < count; i++)
        free(slpv[i].projections);
}

void NCZ_clearcommon(struct Common* common)
{
    NCZ_clearsliceprojections(common->rank, common->allprojections);
    free(common->allprojections);
}

size64_t NCZ_computelinearoffset(size_t R, const size64_t* indices, const size64_t* dimlens)
{
    size64_t offset = 0;

    for (size_t d = 0; d < R; d++)
        offset = offset * dimlens[d] + indices[d];
    return offset;
}

int NCZ_chunkindexodom(int rank, const NCZChunkRange* ranges, size64_t* chunkcounts, NCZOdometer** odomp)
{
    const size_t n = (size_t)rank;
    size64_t* bounds = malloc((3 * n + 1) * sizeof *bounds);
    NCZOdometer* odom = NULL;

    if (bounds != NULL) {
        for (size_t d = 0; d < n; d++) {
            bounds[d] = ranges[d].start;
            bounds[n + d] = ranges[d].stop;
            bounds[2 * n + d] = 1;
        }
        odom = nczodom_new(rank, bounds, bounds + n, bounds + 2 * n, chunkcounts);
        free(bounds);
    }
    if (odom == NULL)
        return NC_ENOMEM;
    *odomp = odom;
    return NC_NOERR;
}

/*
 * All projections of a hyperslab go to common, with its shape, and an odometer over the chunks of its range to odomp.
 */
static int project(struct Common* common, const size64_t* dimlens, const size64_t* chunklens, NCZSlice* slices,
                   NCZOdometer** odomp)
{
    const size_t n = (size_t)common->rank;
    NCZChunkRange* ranges = calloc(n + 1, sizeof *ranges);
    size64_t* counts = calloc(n + 1, sizeof *counts);
    NCZSliceProjections* all = calloc(n + 1, sizeof *all);
    int stat = ranges == NULL || counts == NULL || all == NULL ? NC_ENOMEM : NC_NOERR;

    if (stat == NC_NOERR)
        stat = chunk_ranges(common->rank, slices, chunklens, ranges);
    if (stat == NC_NOERR)
        stat = NCZ_compute_all_slice_projections(common, slices, ranges, all);
    for (size_t d = 0; stat == NC_NOERR && d < n; d++) {
        counts[d] = ceildiv(dimlens[d], chunklens[d]);
        common->shape[d] = 0;
        for (size_t i = 0; i < all[d].count; i++)
            common->shape[d] += all[d].projections[i].iocount;
    }
    if (stat == NC_NOERR)
        stat = NCZ_chunkindexodom(common->rank, ranges, counts, odomp);
    if (stat == NC_NOERR) {
        common->allprojections = all;
    } else {
        NCZ_clearsliceprojections(common->rank, all);
        free(all);
    }
    free(counts);
    free(ranges);
    return stat;
}

#if NETCDF_CACHE_COUNTS
int NCZ_projectslices(struct Common* common, NCZSlice* slices, NCZOdometer** odomp)
{
    return project(common, common->dimlens, common->chunklens, slices, odomp);
}
#else
int NCZ_projectslices(size64_t* dimlens, size64_t* chunklens, NCZSlice* slices, struct Common* common,
                      NCZOdometer** odomp)
{
    return project(common, dimlens, chunklens, slices, odomp);
}
#endif

/* The slices' starts, counts and strides, one after the other, to be freed. */
static size64_t* hyperslab(size_t rank, const NCZSlice* slices)
{
    size64_t* start = malloc((3 * rank + 1) * sizeof *start);

    for (size_t d = 0; start != NULL && d < rank; d++) {
        start[d] = slices[d].start;
        start[rank + d] = slice_count(&slices[d]);
        start[2 * rank + d] = slices[d].stride;
    }
    return start;
}

/* A transfer described by common, which may have a reader of its own. */
int NCZ_transfer(struct Common* common, NCZSlice* slices)
{
    const size_t rank = (size_t)common->rank;
    size64_t* start = hyperslab(rank, slices);
    int stat;

    if (start == NULL)
        return NC_ENOMEM;
    stat = nczadapter_transfer_common(common, rank, start, start + rank, start + 2 * rank);
    free(start);
    return stat;
}

int NCZ_transferscalar(struct Common* common)
{
    return nczadapter_transfer_common(common, 0, NULL, NULL, NULL);
}
