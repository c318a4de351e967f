/* Runs the first program of README.md, and compares what it reads with the file that has the whole array. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* That program has a main of its own. */
#define main readme_main
#include "readme.c"
#undef main

/* Element (0, i, j) of data/coads_sst.f32, which is little-endian. */
static float expected(const unsigned char *all, int i, int j)
{
    const unsigned char *b = all + 4 * (180 * i + j);
    uint32_t bits = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int main(int argc, char **argv)
{
    static unsigned char all[4 * 90 * 180];
    float data[20][60];
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file || fread(all, sizeof all, 1, file) != 1) {
        perror("main FILE");
        return 2;
    }
    fclose(file);

    int status = read_every_third_column(data);
    if (status) {
        fprintf(stderr, "%s\n", nczchunk_strerror(status));
        return 1;
    }
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 60; j++) {
            float wanted = expected(all, 10 + i, 3 * j);
            if (data[i][j] != wanted) {
                fprintf(stderr, "element (%d, %d) is %g, not %g\n", i, j, data[i][j], wanted);
                return 1;
            }
        }
    }
    printf("nczchunk %s: 1200 elements are right\n", nczchunk_version());
    return 0;
}
