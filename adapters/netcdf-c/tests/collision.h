/* Chunks that netCDF-C's cache takes for the same, because their indices have the same hash. */
#ifndef NCZCHUNK_NETCDF_COLLISION_H
#define NCZCHUNK_NETCDF_COLLISION_H

#include "check.h"

/* Not part of netCDF's interface, but visible: the hash by which the cache finds a chunk. */
extern unsigned long long ncxcachekey(const void *key, size_t size);

enum { INDEX_BITS = 40, MOST_INDICES = 4 };

/* The hash of a chunk whose indices are 0 but for two that follow each other. */
static inline unsigned long long hash_of(int rank, int first, const unsigned long long indices[2])
{
    unsigned long long all[MOST_INDICES] = {0};

    all[first] = indices[0];
    all[first + 1] = indices[1];
    return ncxcachekey(all, (size_t)rank * sizeof *all);
}

static inline void set_bit(unsigned long long indices[2], int bit)
{
    indices[bit / INDEX_BITS] ^= 1ull << bit % INDEX_BITS;
}

/* Two indices, from the dimension first on, that give the hash which 0 and 0 give. The hash is linear in the bits of
 * the indices, but for a constant: two indices of 40 bits are more unknowns than it has bits, and Gaussian elimination
 * finds a sum of them that leaves it as it is, whatever the other indices. */
static inline void find_collision(int rank, int first, unsigned long long indices[2])
{
    unsigned long long pivots[64] = {0}, sums[64][2] = {{0}};

    for (int bit = 0; bit < 2 * INDEX_BITS; bit++) {
        unsigned long long sum[2] = {0, 0}, hash;
        int b;

        set_bit(sum, bit);
        hash = hash_of(rank, first, sum) ^ hash_of(rank, first, (unsigned long long[2]){0, 0});
        for (b = 63; b >= 0 && hash != 0; b--) {
            if (!(hash >> b & 1))
                continue;
            if (pivots[b] == 0) {
                pivots[b] = hash;
                memcpy(sums[b], sum, sizeof sum);
                break;
            }
            hash ^= pivots[b];
            sum[0] ^= sums[b][0];
            sum[1] ^= sums[b][1];
        }
        if (hash == 0) {
            memcpy(indices, sum, sizeof sum);
            return;
        }
    }
    EXPECT(!"a collision");
}

#endif
