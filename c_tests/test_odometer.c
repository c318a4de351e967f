/*
 * The odometer steps through an n-dimensional box in row-major order, as netCDF-C's nczodom_* do.
 */
#include <stdint.h>

#include "check.h"
#include "nczchunk.h"

/* Makes an odometer over 0, 1, ... in each of three dimensions. */
static nczchunk_odometer *over(const size_t counts[3])
{
    const size_t zeros[3] = {0, 0, 0}, ones[3] = {1, 1, 1};
    nczchunk_odometer *odometer;

    CHECK_OK(nczchunk_odometer_new(3, zeros, counts, ones, counts, &odometer, NULL));
    return odometer;
}

static void the_last_dimension_is_the_fastest(void)
{
    const size_t counts[3] = {2, 3, 4};
    nczchunk_odometer *odometer = over(counts);
    size_t steps = 0;

    for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer), steps++) {
        const size_t *indices = nczchunk_odometer_indices(odometer);

        CHECK_EQ(indices[0], steps / 12);
        CHECK_EQ(indices[1], steps / 4 % 3);
        CHECK_EQ(indices[2], steps % 4);
        CHECK_EQ(nczchunk_odometer_offset(odometer), steps);
    }
    CHECK_EQ(steps, 24);
    nczchunk_odometer_free(odometer);
}

/* Rows 1 and 2, columns 0 and 3, of an array of 4 x 6. */
static void strides_and_offsets(void)
{
    const size_t start[2] = {1, 0}, stop[2] = {3, 5}, stride[2] = {1, 3}, len[2] = {4, 6};
    const size_t expected[4] = {6, 9, 12, 15};
    nczchunk_odometer *odometer;
    size_t steps = 0;

    CHECK_OK(nczchunk_odometer_new(2, start, stop, stride, len, &odometer, NULL));
    for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer)) {
        CHECK(steps < 4);
        CHECK_EQ(nczchunk_odometer_offset(odometer), expected[steps++]);
    }
    CHECK_EQ(steps, 4);

    /* Past the end, next does nothing, and reset goes back. */
    nczchunk_odometer_next(odometer);
    CHECK(!nczchunk_odometer_more(odometer));
    nczchunk_odometer_reset(odometer);
    CHECK(nczchunk_odometer_more(odometer));
    CHECK_EQ(nczchunk_odometer_indices(odometer)[0], 1);
    CHECK_EQ(nczchunk_odometer_indices(odometer)[1], 0);
    nczchunk_odometer_free(odometer);
}

/* Code that handles a row at once asks how long it is and then skips it. */
static void a_row_at_a_time(void)
{
    const size_t counts[3] = {2, 3, 4};
    nczchunk_odometer *odometer = over(counts);
    size_t rows = 0;

    for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer), rows++) {
        CHECK_EQ(nczchunk_odometer_avail(odometer), 4);
        CHECK_EQ(nczchunk_odometer_offset(odometer), 4 * rows);
        nczchunk_odometer_skipavail(odometer);
    }
    CHECK_EQ(rows, 6);
    nczchunk_odometer_free(odometer);
}

/* One dimension is one row: skipping it is the end. */
static void the_only_row(void)
{
    const size_t start = 2, stop = 7, stride = 2, len = 10;
    nczchunk_odometer *odometer;

    CHECK_OK(nczchunk_odometer_new(1, &start, &stop, &stride, &len, &odometer, NULL));
    CHECK_EQ(nczchunk_odometer_avail(odometer), 5);
    nczchunk_odometer_skipavail(odometer);
    nczchunk_odometer_next(odometer);
    CHECK(!nczchunk_odometer_more(odometer));
    nczchunk_odometer_free(odometer);
}

/* netCDF-C's odometer looks only at the first dimension; this one is empty if any is. */
static void an_empty_dimension_leaves_no_positions(void)
{
    for (size_t empty = 0; empty < 3; empty++) {
        size_t counts[3] = {2, 2, 2};
        nczchunk_odometer *odometer;

        counts[empty] = 0;
        odometer = over(counts);
        CHECK(!nczchunk_odometer_more(odometer));
        nczchunk_odometer_reset(odometer);
        CHECK(!nczchunk_odometer_more(odometer));
        nczchunk_odometer_free(odometer);
    }
}

/* A scalar has one position, at no indices. */
static void rank_0_has_one_position(void)
{
    nczchunk_odometer *odometer;

    CHECK_OK(nczchunk_odometer_new(0, NULL, NULL, NULL, NULL, &odometer, NULL));
    CHECK(nczchunk_odometer_more(odometer));
    CHECK(nczchunk_odometer_indices(odometer) != NULL);
    CHECK_EQ(nczchunk_odometer_offset(odometer), 0);
    CHECK_EQ(nczchunk_odometer_avail(odometer), 1);
    nczchunk_odometer_next(odometer);
    CHECK(!nczchunk_odometer_more(odometer));
    nczchunk_odometer_reset(odometer);
    CHECK(nczchunk_odometer_more(odometer));
    nczchunk_odometer_free(odometer);
}

/* Indices as large as a size_t holds neither wrap nor loop for ever. */
static void the_largest_indices(void)
{
    const size_t start[2] = {SIZE_MAX - 1, SIZE_MAX - 1}, stop[2] = {SIZE_MAX, SIZE_MAX};
    const size_t stride[2] = {SIZE_MAX, SIZE_MAX}, len[2] = {SIZE_MAX, SIZE_MAX};
    nczchunk_odometer *odometer;

    CHECK_OK(nczchunk_odometer_new(2, start, stop, stride, len, &odometer, NULL));
    CHECK(nczchunk_odometer_more(odometer));
    CHECK(nczchunk_odometer_offset(odometer) == SIZE_MAX);
    nczchunk_odometer_next(odometer);
    CHECK(!nczchunk_odometer_more(odometer));
    nczchunk_odometer_free(odometer);
}

static void check_refused(size_t start, size_t stop, size_t stride, size_t len, int status)
{
    nczchunk_odometer *odometer = NULL;

    CHECK_EQ(nczchunk_odometer_new(1, &start, &stop, &stride, &len, &odometer, NULL), status);
    CHECK(odometer == NULL);
}

static void impossible_boxes_are_refused(void)
{
    check_refused(0, 5, 0, 10, NCZCHUNK_ESTRIDE);
    check_refused(6, 5, 1, 10, NCZCHUNK_EINVALCOORDS);
    check_refused(0, 11, 1, 10, NCZCHUNK_EEDGE);
    check_refused(0, SIZE_MAX, 1, 10, NCZCHUNK_EEDGE);
}

/* A context tells why there is no odometer. */
static void a_context_tells_what_is_impossible(void)
{
    const size_t start[2] = {0, 6}, stop[2] = {3, 5}, stride[2] = {1, 1}, len[2] = {10, 10};
    nczchunk_odometer *odometer = NULL;
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_odometer_new(2, start, stop, stride, len, &odometer, context), NCZCHUNK_EINVALCOORDS);
    CHECK(odometer == NULL);
    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EINVALCOORDS);
    CHECK(strlen(nczchunk_context_message(context)) > 0);
    CHECK_OK(nczchunk_odometer_new(2, start, len, stride, len, &odometer, context));
    CHECK_STR(nczchunk_context_message(context), "");
    nczchunk_odometer_free(odometer);
    nczchunk_context_free(context);
}

/* What counts is the last index that is reached, not stop. */
static void stop_may_lie_beyond_len(void)
{
    const size_t start = 0, stop = 12, stride = 3, len = 10;
    nczchunk_odometer *odometer;

    CHECK_OK(nczchunk_odometer_new(1, &start, &stop, &stride, &len, &odometer, NULL));
    nczchunk_odometer_free(odometer);
}

/* The functions without a status answer NULL with something harmless. */
static void null_is_harmless(void)
{
    const size_t one = 1;
    nczchunk_odometer *odometer = NULL;

    CHECK_EQ(nczchunk_odometer_new(1, NULL, &one, &one, &one, &odometer, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_odometer_new(1, &one, NULL, &one, &one, &odometer, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_odometer_new(1, &one, &one, NULL, &one, &odometer, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_odometer_new(1, &one, &one, &one, NULL, &odometer, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_odometer_new(1, &one, &one, &one, &one, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK(odometer == NULL);

    CHECK_EQ(nczchunk_odometer_more(NULL), 0);
    CHECK(nczchunk_odometer_indices(NULL) == NULL);
    CHECK_EQ(nczchunk_odometer_offset(NULL), 0);
    CHECK_EQ(nczchunk_odometer_avail(NULL), 0);
    nczchunk_odometer_next(NULL);
    nczchunk_odometer_skipavail(NULL);
    nczchunk_odometer_reset(NULL);
    nczchunk_odometer_free(NULL);
}

/* A rank above the maximum is refused without looking at the arrays. */
static void the_rank_has_a_maximum(void)
{
    static size_t zeros[NCZCHUNK_MAX_RANK], ones[NCZCHUNK_MAX_RANK];
    nczchunk_odometer *odometer = NULL;

    for (size_t d = 0; d < NCZCHUNK_MAX_RANK; d++)
        ones[d] = 1;
    CHECK_EQ(nczchunk_odometer_new(NCZCHUNK_MAX_RANK + 1, zeros, ones, ones, ones, &odometer, NULL), NCZCHUNK_EMAXDIMS);
    CHECK_EQ(nczchunk_odometer_new(SIZE_MAX, zeros, ones, ones, ones, &odometer, NULL), NCZCHUNK_EMAXDIMS);
    CHECK(odometer == NULL);

    CHECK_OK(nczchunk_odometer_new(NCZCHUNK_MAX_RANK, zeros, ones, ones, ones, &odometer, NULL));
    CHECK(nczchunk_odometer_more(odometer));
    nczchunk_odometer_free(odometer);
}

int main(void)
{
    the_last_dimension_is_the_fastest();
    strides_and_offsets();
    a_row_at_a_time();
    the_only_row();
    an_empty_dimension_leaves_no_positions();
    rank_0_has_one_position();
    the_largest_indices();
    impossible_boxes_are_refused();
    a_context_tells_what_is_impossible();
    stop_may_lie_beyond_len();
    null_is_harmless();
    the_rank_has_a_maximum();
    return 0;
}
