/*
 * The same array once more, as one raw file: what every read is checked against.
 */
#ifndef SST_RAW_H
#define SST_RAW_H

#include <stddef.h>

#include "sst.h"

/* Loads data_dir/coads_sst.f32. Returns SST_SIZE floats, to be freed, or NULL after saying why not on stderr. */
float *sst_raw_load(const char *data_dir);

/*
 * Compares the hyperslab in data, value by value, with the same elements of the raw array. Returns how many differ, and
 * names the first of them on stderr.
 */
size_t sst_raw_differences(const float *raw, const size_t start[SST_RANK], const size_t count[SST_RANK],
                           const ptrdiff_t stride[SST_RANK], const float *data);

#endif
