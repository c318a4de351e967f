#include "sst_raw.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The float in four little-endian bytes, on any machine. */
static float little_endian_float(const unsigned char bytes[4])
{
    const uint32_t bits =
        (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float *sst_raw_load(const char *data_dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/coads_sst.f32", data_dir);

    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "demo_sst: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    float *raw = malloc(SST_SIZE * sizeof *raw);
    size_t n = 0;
    unsigned char bytes[4];
    while (raw && n < SST_SIZE && fread(bytes, sizeof bytes, 1, file) == 1) raw[n++] = little_endian_float(bytes);
    fclose(file);

    if (n == SST_SIZE) return raw;
    fprintf(stderr, "demo_sst: %s: %s\n", path, raw ? "too short" : "out of memory");
    free(raw);
    return NULL;
}

size_t sst_raw_differences(const float *raw, const size_t start[SST_RANK], const size_t count[SST_RANK],
                           const ptrdiff_t stride[SST_RANK], const float *data)
{
    size_t differences = 0;
    for (size_t a = 0; a < count[0]; a++) {
        for (size_t b = 0; b < count[1]; b++) {
            for (size_t c = 0; c < count[2]; c++, data++) {
                const size_t month = start[0] + a * (size_t)stride[0];
                const size_t latitude = start[1] + b * (size_t)stride[1];
                const size_t longitude = start[2] + c * (size_t)stride[2];
                const float *expected = &raw[(month * SST_LATITUDES + latitude) * SST_LONGITUDES + longitude];
                /* Equal to the bit: what was stored is to come back, not something near it. */
                if (memcmp(data, expected, sizeof *data) == 0) continue;
                if (differences++ == 0) {
                    fprintf(stderr, "demo_sst: element (%zu, %zu, %zu) was read as %.9g and is %.9g\n", month, latitude,
                            longitude, (double)*data, (double)*expected);
                }
            }
        }
    }
    return differences;
}
