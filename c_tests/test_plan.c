/*
 * A plan tells what a read will do without doing it: how many chunks it touches, which, and how much of each.
 */
#include "memory_array.h"

/* 5 x 4 elements of 4 bytes in chunks of 2 x 3: a grid of 3 x 2 chunks, clipped at both ends. */
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3};

static nczchunk_plan *plan_of(const size_t *start, const size_t *count, const ptrdiff_t *stride)
{
    nczchunk_var *var;
    nczchunk_plan *plan;

    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, 4, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &plan, NULL));
    /* A plan does not refer to the variable it was made from. */
    nczchunk_var_free(var);
    return plan;
}

static void totals_say_what_a_read_costs(void)
{
    const size_t start[2] = {0, 1}, count[2] = {3, 1};
    const ptrdiff_t stride[2] = {2, 1};
    nczchunk_plan *plan = plan_of(start, count, stride);
    nczchunk_plan_totals totals;

    /* Column 1 of rows 0, 2 and 4: 3 elements, each from a chunk of 2 x 3. */
    CHECK_OK(nczchunk_plan_get_totals(plan, &totals));
    CHECK_EQ(totals.chunks, 3);
    CHECK_EQ(totals.elements, 3);
    CHECK_EQ(totals.selected_bytes, 3 * 4);
    CHECK_EQ(totals.chunk_bytes, 3 * 2 * 3 * 4);
    nczchunk_plan_free(plan);
}

/* Each chunk of a plan is a projection per dimension: a box in the chunk, and a box in memory. */
static void every_chunk_can_be_looked_at(void)
{
    const size_t start[2] = {1, 2}, count[2] = {3, 2};
    nczchunk_plan *plan = plan_of(start, count, NULL);
    nczchunk_projection box[2];

    /* Rows 1 to 3 and columns 2 to 3: chunks (0, 0), (0, 1), (1, 0), (1, 1). The last but one is number 2. */
    CHECK_OK(nczchunk_plan_chunk(plan, 2, box, NULL));
    CHECK_EQ(box[0].chunk_index, 1);
    CHECK_EQ(box[1].chunk_index, 0);
    /* In the chunk: rows 0 to 1, column 2. */
    CHECK_EQ(box[0].first, 0);
    CHECK_EQ(box[0].last, 1);
    CHECK_EQ(box[1].first, 2);
    CHECK_EQ(box[1].last, 2);
    /* In memory, which has 3 x 2: rows 1 to 2, column 0. */
    CHECK_EQ(box[0].iopos, 1);
    CHECK_EQ(box[0].iocount, 2);
    CHECK_EQ(box[1].iopos, 0);
    CHECK_EQ(box[1].iocount, 1);

    CHECK_EQ(nczchunk_plan_chunk(plan, 4, box, NULL), NCZCHUNK_EINVALCOORDS);
    nczchunk_plan_free(plan);
}

/* A chunk is covered if all that there is of it is selected: then a write need not read it first. */
static void whole_and_clipped_chunks_are_covered(void)
{
    const size_t start[2] = {1, 0}, count[2] = {4, 4};
    nczchunk_plan *plan = plan_of(start, count, NULL);
    const int expected[6] = {0, 0, 1, 1, 1, 1}; /* of the first two only one row is selected */
    nczchunk_projection box[2];

    for (size_t i = 0; i < 6; i++) {
        int covered = -1;
        CHECK_OK(nczchunk_plan_chunk(plan, i, box, &covered));
        CHECK_EQ(covered, expected[i]);
    }
    nczchunk_plan_free(plan);
}

/* A chunk of one element is covered whenever it is touched, whatever the stride. */
static void chunks_of_length_1_are_covered_under_any_stride(void)
{
    const size_t dimlen = 10, one = 1, start = 1, count = 3;
    const ptrdiff_t stride = 4;
    nczchunk_var *var;
    nczchunk_plan *plan;
    nczchunk_projection box;

    CHECK_OK(nczchunk_var_new(1, &dimlen, &one, 4, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, &start, &count, &stride, NCZCHUNK_READ, &plan, NULL));
    for (size_t i = 0; i < 3; i++) {
        int covered = -1;
        CHECK_OK(nczchunk_plan_chunk(plan, i, &box, &covered));
        CHECK_EQ(box.chunk_index, 1 + 4 * i);
        CHECK_EQ(covered, 1);
    }
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

static void a_scalar_is_one_covered_chunk(void)
{
    nczchunk_var *var;
    nczchunk_plan *plan;
    nczchunk_plan_totals totals;
    int covered = -1;

    CHECK_OK(nczchunk_var_new(0, NULL, NULL, 8, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, NULL, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_get_totals(plan, &totals));
    CHECK_EQ(totals.chunks, 1);
    CHECK_EQ(totals.elements, 1);
    CHECK_EQ(totals.selected_bytes, 8);
    CHECK_EQ(totals.chunk_bytes, 8);
    CHECK_OK(nczchunk_plan_chunk(plan, 0, NULL, &covered));
    CHECK_EQ(covered, 1);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

static void nothing_selected_is_a_plan_without_chunks(void)
{
    const size_t start[2] = {5, 0}, count[2] = {0, 4};
    nczchunk_plan *plan = plan_of(start, count, NULL);
    nczchunk_plan_totals totals;
    nczchunk_projection box[2];

    CHECK_OK(nczchunk_plan_get_totals(plan, &totals));
    CHECK_EQ(totals.chunks, 0);
    CHECK_EQ(totals.elements, 0);
    CHECK_EQ(totals.selected_bytes, 0);
    CHECK_EQ(totals.chunk_bytes, 0);
    CHECK_EQ(nczchunk_plan_chunk(plan, 0, box, NULL), NCZCHUNK_EINVALCOORDS);
    nczchunk_plan_free(plan);
}

/* What the plan lists is what a read then asks for, in that order, each chunk once. */
static void a_read_does_what_the_plan_says(void)
{
    const size_t start[2] = {0, 1}, count[2] = {3, 2};
    const ptrdiff_t stride[2] = {2, 2};
    nczchunk_plan *plan = plan_of(start, count, stride);
    nczchunk_plan_totals totals;

    CHECK_OK(nczchunk_plan_get_totals(plan, &totals));
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_store *store;
        ptrdiff_t log[6][2];
        int data[6];

        memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
        array.log = log[0];
        var = memory_array_var(&array);
        store = memory_array_store(&array, store_kinds[kind]);
        CHECK_EQ(totals.selected_bytes, sizeof data);
        CHECK_OK(nczchunk_read_vars(var, store, start, count, stride, data, NULL));
        memory_array_expect(&array, start, count, stride, NULL, data);

        CHECK_EQ(array.asked, totals.chunks);
        for (size_t i = 0; i < totals.chunks; i++) {
            nczchunk_projection box[2];
            CHECK_OK(nczchunk_plan_chunk(plan, i, box, NULL));
            CHECK_EQ(log[i][0], box[0].chunk_index);
            CHECK_EQ(log[i][1], box[1].chunk_index);
        }
        nczchunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
    nczchunk_plan_free(plan);
}

/* A plan takes no memory for its chunks: this one has 2^60, and any of them is found at once. */
static void a_plan_may_have_very_many_chunks(void)
{
    const size_t dims[2] = {(size_t)1 << 40, (size_t)1 << 20}, ones[2] = {1, 1}, zeros[2] = {0, 0};
    const size_t last = ((size_t)1 << 60) - 1;
    nczchunk_var *var;
    nczchunk_plan *plan;
    nczchunk_projection box[2];

    CHECK_OK(nczchunk_var_new(2, dims, ones, 4, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, last, box, NULL));
    CHECK_EQ(box[0].chunk_index, dims[0] - 1);
    CHECK_EQ(box[1].chunk_index, dims[1] - 1);
    CHECK_EQ(nczchunk_plan_chunk(plan, last + 1, box, NULL), NCZCHUNK_EINVALCOORDS);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

/* A plan is refused for the same reasons as a read, and then there is none. */
static void a_hyperslab_that_does_not_fit_has_no_plan(void)
{
    const size_t start[2] = {1, 1}, count[2] = {5, 1};
    nczchunk_var *var;
    nczchunk_plan *plan = NULL;

    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, 4, &var, NULL));
    CHECK_EQ(nczchunk_plan_new(var, start, count, NULL, NCZCHUNK_READ, &plan, NULL), NCZCHUNK_EEDGE);
    CHECK(plan == NULL);
    nczchunk_var_free(var);
}

int main(void)
{
    totals_say_what_a_read_costs();
    every_chunk_can_be_looked_at();
    whole_and_clipped_chunks_are_covered();
    chunks_of_length_1_are_covered_under_any_stride();
    a_scalar_is_one_covered_chunk();
    nothing_selected_is_a_plan_without_chunks();
    a_read_does_what_the_plan_says();
    a_plan_may_have_very_many_chunks();
    a_hyperslab_that_does_not_fit_has_no_plan();
    return 0;
}
