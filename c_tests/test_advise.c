/*
 * Which chunks an array should have that is read map by map and series by series.
 */
#include <math.h>

#include "check.h"

#include "nczchunk.h"

enum { TIMES = 8760, ROWS = 361, COLUMNS = 576 };

static const size_t dimlens[3] = {TIMES, ROWS, COLUMNS};
static const size_t patterns[2][3] = {{1, ROWS, COLUMNS}, {TIMES, 1, 1}};

static double seconds_of(const size_t chunklens[3], size_t pattern, const nczchunk_advise_costs *costs)
{
    nczchunk_advise_cost_of_read cost;

    CHECK_OK(nczchunk_advise_cost(3, dimlens, sizeof(float), chunklens, patterns[pattern], costs, &cost, NULL));
    return cost.seconds;
}

/* Seven of ten reads are maps, the others series, on a local disk. */
static void the_shortest_way(void)
{
    static const double weights[2] = {0.7, 0.3};
    size_t chunklens[3], other[3];
    double seconds;

    CHECK_OK(nczchunk_advise(3, dimlens, sizeof(float), 2, patterns[0], weights, NULL, chunklens, &seconds, NULL));
    CHECK(chunklens[0] > 1 && chunklens[0] < TIMES && chunklens[1] * chunklens[2] < ROWS * COLUMNS);
    CHECK(fabs(0.7 * seconds_of(chunklens, 0, NULL) + 0.3 * seconds_of(chunklens, 1, NULL) - seconds) < 1e-9);

    /* The defaults of others cost no less. */
    CHECK_OK(nczchunk_chunkshape_netcdf(3, dimlens, sizeof(float), 0, other, NULL));
    CHECK(0.7 * seconds_of(other, 0, NULL) + 0.3 * seconds_of(other, 1, NULL) >= seconds);
    CHECK_OK(nczchunk_chunkshape_h5py(3, dimlens, sizeof(float), other, NULL));
    CHECK(0.7 * seconds_of(other, 0, NULL) + 0.3 * seconds_of(other, 1, NULL) >= seconds);
    CHECK_OK(nczchunk_chunkshape_rechunkit(3, dimlens, sizeof(float), 0, other, NULL));
    CHECK(0.7 * seconds_of(other, 0, NULL) + 0.3 * seconds_of(other, 1, NULL) >= seconds);
}

/* From a server each request takes 50 ms, 32 of them at the same time; then larger chunks cost less. */
static void a_server(void)
{
    static const double weights[2] = {0.5, 0.5};
    nczchunk_advise_costs costs = NCZCHUNK_ADVISE_COSTS_INIT;
    size_t near[3], far[3];
    nczchunk_advise_cost_of_read cost;

    costs.latency = 0.05;
    costs.bandwidth = 100e6;
    costs.in_flight = 32;
    CHECK_OK(nczchunk_advise(3, dimlens, sizeof(float), 2, patterns[0], weights, NULL, near, NULL, NULL));
    CHECK_OK(nczchunk_advise(3, dimlens, sizeof(float), 2, patterns[0], weights, &costs, far, NULL, NULL));
    CHECK(far[0] * far[1] * far[2] >= near[0] * near[1] * near[2]);

    /* A whole map in chunks of one: one request, and all of its bytes. */
    CHECK_OK(nczchunk_advise_cost(3, dimlens, sizeof(float), patterns[0], patterns[0], &costs, &cost, NULL));
    CHECK(cost.requests == 1 && cost.bytes == (double)ROWS * COLUMNS * sizeof(float));

    /* Of a series in chunks of maps, half of each need be decoded, if the codec can decode a part. */
    costs.latency = 0;
    costs.decoding = 1e6; /* all the rest counts little */
    CHECK_OK(nczchunk_advise_cost(3, dimlens, sizeof(float), patterns[0], patterns[1], &costs, &cost, NULL));
    const double whole = cost.seconds;
    costs.step_bytes = 1;
    CHECK_OK(nczchunk_advise_cost(3, dimlens, sizeof(float), patterns[0], patterns[1], &costs, &cost, NULL));
    CHECK(cost.seconds > 0.45 * whole && cost.seconds < 0.55 * whole);
    /* zstd decodes blocks of 128 KiB: on average half a block more of each. */
    costs.step_bytes = 128 << 10;
    CHECK_OK(nczchunk_advise_cost(3, dimlens, sizeof(float), patterns[0], patterns[1], &costs, &cost, NULL));
    CHECK(cost.seconds > 0.55 * whole && cost.seconds < 0.6 * whole);
    costs.step_bytes = 0;
    costs.latency = 0.05;
    costs.decoding = 0;

    /* Chunks have as many bytes as are allowed. */
    costs.least_bytes = costs.most_bytes = 1 << 20;
    costs.least_bytes /= 2;
    CHECK_OK(nczchunk_advise(3, dimlens, sizeof(float), 2, patterns[0], weights, &costs, far, NULL, NULL));
    CHECK(far[0] * far[1] * far[2] * 4 <= 1 << 20 && far[0] * far[1] * far[2] * 4 >= 1 << 19);
}

static void refused(void)
{
    static const double weights[2] = {1, 1}, negative[2] = {1, -1};
    static const size_t empty[3] = {1, 0, 1};
    nczchunk_advise_costs costs = NCZCHUNK_ADVISE_COSTS_INIT;
    size_t chunklens[3];

    CHECK_EQ(nczchunk_advise(3, NULL, 4, 2, patterns[0], weights, NULL, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise(3, dimlens, 0, 2, patterns[0], weights, NULL, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise(3, dimlens, 4, 0, NULL, NULL, NULL, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise(3, dimlens, 4, 2, NULL, weights, NULL, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise(3, dimlens, 4, 1, empty, weights, NULL, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise(3, dimlens, 4, 2, patterns[0], negative, NULL, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise(3, empty, 4, 2, patterns[0], weights, NULL, chunklens, NULL, NULL), NCZCHUNK_EDIMSIZE);
    costs.latency = -1;
    CHECK_EQ(nczchunk_advise(3, dimlens, 4, 2, patterns[0], weights, &costs, chunklens, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_advise_cost(3, dimlens, 4, chunklens, patterns[0], NULL, NULL, NULL), NCZCHUNK_EINVAL);
}

int main(void)
{
    the_shortest_way();
    a_server();
    refused();
    return 0;
}
