/*
 * A plan tells what a read or a write will do without doing it: how many chunks it touches, which, and how much of
 * each.
 */
#include <limits.h>

#include "memory_array.h"

/* How many bits a length has. Of the numbers of elements below, those of machines with 64 bits are named. */
enum { BITS = sizeof(size_t) * CHAR_BIT };

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
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

    /* Column 1 of rows 0, 2 and 4: 3 elements, each from a chunk of 2 x 3. */
    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
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
    CHECK_OK(nczchunk_plan_chunk(plan, 2, box, sizeof *box, NULL, NULL));
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

    CHECK_EQ(nczchunk_plan_chunk(plan, 4, box, sizeof *box, NULL, NULL), NCZCHUNK_EINVALCOORDS);
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
        CHECK_OK(nczchunk_plan_chunk(plan, i, box, sizeof *box, &covered, NULL));
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
        CHECK_OK(nczchunk_plan_chunk(plan, i, &box, sizeof box, &covered, NULL));
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
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    int covered = -1;

    CHECK_OK(nczchunk_var_new(0, NULL, NULL, 8, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, NULL, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
    CHECK_EQ(totals.chunks, 1);
    CHECK_EQ(totals.elements, 1);
    CHECK_EQ(totals.selected_bytes, 8);
    CHECK_EQ(totals.chunk_bytes, 8);
    CHECK_OK(nczchunk_plan_chunk(plan, 0, NULL, sizeof(nczchunk_projection), &covered, NULL));
    CHECK_EQ(covered, 1);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

static void nothing_selected_is_a_plan_without_chunks(void)
{
    const size_t start[2] = {5, 0}, count[2] = {0, 4};
    nczchunk_plan *plan = plan_of(start, count, NULL);
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    nczchunk_projection box[2];

    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
    CHECK_EQ(totals.chunks, 0);
    CHECK_EQ(totals.elements, 0);
    CHECK_EQ(totals.selected_bytes, 0);
    CHECK_EQ(totals.chunk_bytes, 0);
    CHECK_EQ(nczchunk_plan_chunk(plan, 0, box, sizeof *box, NULL, NULL), NCZCHUNK_EINVALCOORDS);
    nczchunk_plan_free(plan);
}

/* What the plan lists is what a read then asks for, in that order, each chunk once. */
static void a_read_does_what_the_plan_says(void)
{
    const size_t start[2] = {0, 1}, count[2] = {3, 2};
    const ptrdiff_t stride[2] = {2, 2};
    nczchunk_plan *plan = plan_of(start, count, stride);
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;
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
            CHECK_OK(nczchunk_plan_chunk(plan, i, box, sizeof *box, NULL, NULL));
            CHECK_EQ(log[i][0], box[0].chunk_index);
            CHECK_EQ(log[i][1], box[1].chunk_index);
        }
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
    nczchunk_plan_free(plan);
}

/* A plan takes no memory for its chunks: this one has 2^60, and any of them is found at once. */
static void a_plan_may_have_very_many_chunks(void)
{
    const size_t dims[2] = {(size_t)1 << (BITS - 24), (size_t)1 << 20}, ones[2] = {1, 1}, zeros[2] = {0, 0};
    const size_t last = ((size_t)1 << (BITS - 4)) - 1;
    nczchunk_var *var;
    nczchunk_plan *plan;
    nczchunk_projection box[2];

    CHECK_OK(nczchunk_var_new(2, dims, ones, 4, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, last, box, sizeof *box, NULL, NULL));
    CHECK_EQ(box[0].chunk_index, dims[0] - 1);
    CHECK_EQ(box[1].chunk_index, dims[1] - 1);
    CHECK_EQ(nczchunk_plan_chunk(plan, last + 1, box, sizeof *box, NULL, NULL), NCZCHUNK_EINVALCOORDS);
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

/* For a write the totals say how many chunks it needs to read: those that are not covered. */
static void totals_say_what_a_write_must_read(void)
{
    static const struct {
        size_t start[2], count[2];
        ptrdiff_t stride[2];
        size_t chunks, covered;
    } slabs[] = {
        {{0, 0}, {5, 4}, {1, 1}, 6, 6},
        {{1, 0}, {4, 4}, {1, 1}, 6, 4}, /* of the first two chunks a row is missing */
        {{0, 1}, {5, 3}, {1, 1}, 6, 3}, /* of the three to the left a column is */
        {{1, 1}, {3, 3}, {1, 1}, 4, 1}, /* rows 2 and 3 of column 3 are all of a chunk */
        {{0, 0}, {3, 4}, {2, 1}, 6, 2}, /* only the last row of chunks has but one row */
        {{0, 3}, {5, 1}, {1, 1}, 3, 3},
        {{4, 0}, {1, 2}, {1, 3}, 2, 1},
        {{0, 0}, {0, 4}, {1, 1}, 0, 0},
        {{0, 0}, {9, 0}, {1, 1}, 0, 0}, /* for a write it does not matter how far, if nothing is selected */
    };
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, 4, &var, NULL));
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
        nczchunk_plan *plan;
        size_t covered_chunks = 0;

        CHECK_OK(nczchunk_plan_new(var, slabs[i].start, slabs[i].count, slabs[i].stride, NCZCHUNK_WRITE, &plan, NULL));
        CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
        CHECK_EQ(totals.chunks, slabs[i].chunks);
        CHECK_EQ(totals.covered_chunks, slabs[i].covered);
        CHECK_EQ(totals.grid_chunks, 6);
        for (size_t c = 0; c < totals.chunks; c++) {
            nczchunk_projection box[2];
            int covered = -1;

            CHECK_OK(nczchunk_plan_chunk(plan, c, box, sizeof *box, &covered, NULL));
            covered_chunks += covered == 1;
        }
        CHECK_EQ(covered_chunks, totals.covered_chunks);
        nczchunk_plan_free(plan);
    }
    nczchunk_var_free(var);
}

/* What the plan says is what a write then does. */
static void a_write_does_what_the_plan_says(void)
{
    const size_t start[2] = {0, 1}, count[2] = {3, 3};
    const ptrdiff_t stride[2] = {2, 1};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        const int data[9] = {0};
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
        nczchunk_plan *plan;
        nczchunk_chunk_store *store;
        memory_array array;
        nczchunk_var *var;
        ptrdiff_t log[6][2];

        memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
        array.write_log = log[0];
        var = memory_array_var(&array);
        store = memory_array_store(&array, store_kinds[kind]);
        CHECK_OK(nczchunk_plan_new(var, start, count, stride, NCZCHUNK_WRITE, &plan, NULL));
        CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
        CHECK_OK(nczchunk_write_vars(var, store, start, count, stride, data, NULL));
        CHECK_EQ(array.written, totals.chunks);
        CHECK_EQ(array.asked, totals.chunks - totals.covered_chunks);
        for (size_t i = 0; i < totals.chunks; i++) {
            nczchunk_projection box[2];

            CHECK_OK(nczchunk_plan_chunk(plan, i, box, sizeof *box, NULL, NULL));
            CHECK_EQ(log[i][0], box[0].chunk_index);
            CHECK_EQ(log[i][1], box[1].chunk_index);
        }
        nczchunk_plan_free(plan);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* The numbers of chunks that do not fit are SIZE_MAX. */
static void a_grid_of_more_chunks_than_can_be_counted(void)
{
    const size_t many = (size_t)1 << BITS * 5 / 8, dims[3] = {many, many, 0}, ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};

    for (size_t rank = 2; rank <= 3; rank++) {
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
        nczchunk_plan *plan;
        nczchunk_var *var;

        CHECK_OK(nczchunk_var_new(rank, dims, ones, 4, &var, NULL));
        CHECK_OK(nczchunk_plan_new(var, zeros, zeros, NULL, NCZCHUNK_WRITE, &plan, NULL));
        CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
        CHECK_EQ(totals.grid_chunks, rank == 2 ? SIZE_MAX : 0);
        CHECK_EQ(totals.chunks, 0);
        nczchunk_plan_free(plan);
        nczchunk_var_free(var);
    }
}

/* There are two kinds of access. */
static void other_accesses_are_refused(void)
{
    const int accesses[] = {-1, 2, 1000};
    const size_t zeros[2] = {0, 0};
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, 4, &var, NULL));
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        nczchunk_plan *plan = NULL;

        CHECK_EQ(nczchunk_plan_new(var, zeros, NULL, NULL, accesses[i], &plan, NULL), NCZCHUNK_EINVAL);
        CHECK(plan == NULL);
    }
    nczchunk_var_free(var);
}

/* One slice of a line of 24 elements in chunks of 4. */
typedef struct slice { size_t start, count; ptrdiff_t stride; } slice;

static const size_t line = 24, quarter = 4;

static nczchunk_plan *plan_of_slice(slice s, size_t dimlen, size_t chunklen, ptrdiff_t origin)
{
    nczchunk_plan *plan;
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(1, &dimlen, &chunklen, 4, &var, NULL));
    CHECK_OK(nczchunk_var_set_origin(var, 0, origin, NULL));
    CHECK_OK(nczchunk_plan_new(var, &s.start, &s.count, &s.stride, NCZCHUNK_WRITE, &plan, NULL));
    nczchunk_var_free(var);
    return plan;
}

/* What two plans say of each other, which is the same either way. */
static int shares(const nczchunk_plan *plan, const nczchunk_plan *other)
{
    int shared = -1, converse = -1;

    CHECK_OK(nczchunk_plan_shares_chunks(plan, other, &shared, NULL));
    CHECK_OK(nczchunk_plan_shares_chunks(other, plan, &converse, NULL));
    CHECK_EQ(shared, converse);
    return shared;
}

/* Two writes whose plans share no chunk may be done at the same time. */
static void plans_that_share_a_chunk(void)
{
    static const struct { slice one, other; int shared; } pairs[] = {
        /* Dense and dense: 0 to 7 and 8 to 15; 0 to 8 and 8 to 15; 0 to 8 and 9 to 15, which share chunk 2. */
        {{0, 8, 1}, {8, 8, 1}, 0},
        {{0, 9, 1}, {8, 8, 1}, 1},
        {{0, 9, 1}, {9, 7, 1}, 1},
        /* Even and odd elements are in the same chunks. */
        {{0, 12, 2}, {1, 12, 2}, 1},
        /*
         * Sparse and sparse: every second chunk, from the first or the second on; 0, 12 and 6, 18; 0, 5, 10 and 8, 15.
         */
        {{0, 3, 8}, {4, 3, 8}, 0},
        {{0, 3, 8}, {1, 3, 8}, 1},
        {{0, 2, 12}, {6, 2, 12}, 0},
        {{0, 3, 5}, {8, 2, 7}, 1},
        /* Sparse and dense: 0 and 20 leave out what is between; 0, 10, 20 do not. */
        {{0, 2, 20}, {4, 16, 1}, 0},
        {{0, 3, 10}, {4, 16, 1}, 1},
        {{0, 2, 20}, {4, 17, 1}, 1},
        /* Nothing shares nothing. */
        {{0, 0, 1}, {0, 24, 1}, 0},
        {{0, 0, 1}, {0, 0, 1}, 0},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        nczchunk_plan *one = plan_of_slice(pairs[i].one, line, quarter, 0);
        nczchunk_plan *other = plan_of_slice(pairs[i].other, line, quarter, 0);

        CHECK_EQ(shares(one, other), pairs[i].shared);
        CHECK_EQ(shares(one, one), pairs[i].one.count > 0);
        nczchunk_plan_free(one);
        nczchunk_plan_free(other);
    }
}

/*
 * Three processes need parts of one line of six chunks: each makes the plans of all, and knows without asking which
 * chunks it fetches for whom.
 */
static void chunks_have_owners(void)
{
    const slice slices[3] = {{0, 12, 1}, {4, 20, 1}, {9, 8, 2}};
    const nczchunk_plan *plans[3];
    nczchunk_plan *made[3];

    for (int p = 0; p < 3; p++) plans[p] = made[p] = plan_of_slice(slices[p], line, quarter, 0);
    for (size_t p = 0; p < 3; p++) {
        nczchunk_projection mine, there;

        for (size_t i = 0; nczchunk_plan_chunk(plans[p], i, &mine, sizeof mine, NULL, NULL) == 0; i++) {
            size_t owner = 9;

            CHECK_OK(nczchunk_plan_owner(plans, 3, p, i, &owner, NULL));
            CHECK(owner < 3);
            for (size_t other = 0; other < 3; other++) {
                size_t number = 9, same = 9;

                CHECK_OK(nczchunk_plan_intersect(plans[p], i, plans[other], &number, NULL));
                if (number == SIZE_MAX) {
                    CHECK(other != owner && other != p);
                    continue;
                }
                /* What the other needs of the chunk is in the other's plan. */
                CHECK_OK(nczchunk_plan_chunk(plans[other], number, &there, sizeof there, NULL, NULL));
                CHECK_EQ(there.chunk_index, mine.chunk_index);
                /* All say the same. */
                CHECK_OK(nczchunk_plan_owner(plans, 3, other, number, &same, NULL));
                CHECK_EQ(same, owner);
                if (other == owner) CHECK(2 * there.iocount >= mine.iocount);
            }
        }
    }
    for (int p = 0; p < 3; p++) nczchunk_plan_free(made[p]);
}

/* Whether any chunk of one is a chunk of the other, found by looking at all of them. */
static int shares_by_looking(const nczchunk_plan *plan, const nczchunk_plan *other)
{
    nczchunk_projection one, two;

    for (size_t i = 0; nczchunk_plan_chunk(plan, i, &one, sizeof one, NULL, NULL) == 0; i++)
        for (size_t j = 0; nczchunk_plan_chunk(other, j, &two, sizeof two, NULL, NULL) == 0; j++)
            if (one.chunk_index == two.chunk_index)
                return 1;
    return 0;
}

/* Every two slices of a short dimension. */
static void every_two_slices(void)
{
    enum { LENGTH = 7, MAX_SLICES = 200 };
    nczchunk_plan *plans[MAX_SLICES];
    size_t num_plans = 0;

    for (size_t start = 0; start < LENGTH; start++)
        for (ptrdiff_t stride = 1; stride < 5; stride++)
            for (size_t count = 1; start + (count - 1) * (size_t)stride < LENGTH; count++) {
                CHECK(num_plans < MAX_SLICES);
                plans[num_plans++] = plan_of_slice((slice){start, count, stride}, LENGTH, 2, -3);
            }
    for (size_t i = 0; i < num_plans; i++)
        for (size_t j = 0; j < num_plans; j++)
            CHECK_EQ(shares(plans[i], plans[j]), shares_by_looking(plans[i], plans[j]));
    for (size_t i = 0; i < num_plans; i++)
        nczchunk_plan_free(plans[i]);
}

/* In several dimensions, plans share a chunk only if they do so in each. */
static void plans_that_share_in_one_dimension_only(void)
{
    const size_t left[2] = {0, 0}, right[2] = {0, 3}, tall[2] = {5, 3}, narrow[2] = {5, 1}, below[2] = {4, 2};
    nczchunk_plan *one = plan_of(left, tall, NULL), *other = plan_of(right, narrow, NULL);
    nczchunk_plan *across = plan_of(below, (const size_t[2]){1, 2}, NULL);

    CHECK_EQ(shares(one, other), 0);
    CHECK_EQ(shares(one, across), 1);
    CHECK_EQ(shares(other, across), 1);
    nczchunk_plan_free(one);
    nczchunk_plan_free(other);
    nczchunk_plan_free(across);
}

/* Nobody looks at the chunks one by one: plans with 2^40 of them each are compared at once. */
static void plans_of_very_many_chunks(void)
{
    const size_t chunks = (size_t)1 << BITS * 5 / 8, length = (size_t)1 << (BITS - 2);
    const ptrdiff_t sparse = (ptrdiff_t)1 << (BITS * 3 / 8 - 3);
    /* Each has 2^40 elements, all in chunks of their own: in the even chunks, in the odd ones, in every third. */
    nczchunk_plan *even = plan_of_slice((slice){0, chunks, 2}, length, 1, 0);
    nczchunk_plan *odd = plan_of_slice((slice){1, chunks, 2}, length, 1, 0);
    nczchunk_plan *third = plan_of_slice((slice){1, chunks, 3}, length, 1, 0);
    nczchunk_plan *behind = plan_of_slice((slice){2 * chunks, chunks, 1}, length, 1, 0);
    nczchunk_plan *beyond = plan_of_slice((slice){3 * chunks, chunks, 1}, length, 1, 0);
    nczchunk_plan *far = plan_of_slice((slice){5, chunks, sparse}, length, 1, 0);
    nczchunk_plan *near_far = plan_of_slice((slice){6, chunks, sparse}, length, 1, 0);
    nczchunk_plan *other_stride = plan_of_slice((slice){5 + (size_t)sparse / 2, chunks, sparse - 1}, length, 1, 0);
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

    CHECK_OK(nczchunk_plan_totals(far, &totals, NULL));
    CHECK_EQ(totals.chunks, chunks);
    CHECK_EQ(shares(even, odd), 0);
    CHECK_EQ(shares(even, third), 1);
    CHECK_EQ(shares(odd, third), 1);
    CHECK_EQ(shares(even, behind), 0);
    CHECK_EQ(shares(third, behind), 1);
    CHECK_EQ(shares(third, beyond), 0);
    CHECK_EQ(shares(far, near_far), 0);
    CHECK_EQ(shares(far, odd), 1);
    CHECK_EQ(shares(far, even), 0);
    CHECK_EQ(shares(near_far, even), 1);
    /* 5 + i * 2^21 = 5 + 2^20 + j * (2^21 - 1) for j = 2^20 and i = 2^20. */
    CHECK_EQ(shares(far, other_stride), 1);
    nczchunk_plan_free(even);
    nczchunk_plan_free(odd);
    nczchunk_plan_free(third);
    nczchunk_plan_free(behind);
    nczchunk_plan_free(beyond);
    nczchunk_plan_free(far);
    nczchunk_plan_free(near_far);
    nczchunk_plan_free(other_stride);
}

/* In two dimensions: 2^40 chunks in a grid of 2^20 x 2^20 (2^12 x 2^12 of 32 bits), in chunks of several elements. */
static void plans_of_very_many_chunks_in_a_plane(void)
{
    const size_t side = (size_t)1 << (BITS == 64 ? 20 : 12), dims[2] = {10 * side, 10 * side}, chunks[2] = {3, 5};
    const size_t count[2] = {side, side}, start[2] = {0, 0}, below[2] = {7 * side, 0}, right[2] = {3, 5};
    const ptrdiff_t stride[2] = {6, 10};
    nczchunk_plan *plan, *other, *diagonal;
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dims, chunks, 4, &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, start, (const size_t[2]){side, side - 1}, stride, NCZCHUNK_WRITE, &plan, NULL));
    CHECK_OK(nczchunk_plan_new(var, below, count, NULL, NCZCHUNK_WRITE, &other, NULL));
    CHECK_OK(nczchunk_plan_new(var, right, (const size_t[2]){side, side - 1}, stride, NCZCHUNK_WRITE, &diagonal, NULL));
    /* The first goes down to row 6 * 2^20 - 6 only. The last has the odd rows and columns of chunks. */
    CHECK_EQ(shares(plan, other), 0);
    CHECK_EQ(shares(plan, diagonal), 0);
    CHECK_EQ(shares(plan, plan), 1);
    nczchunk_plan_free(plan);
    nczchunk_plan_free(other);
    nczchunk_plan_free(diagonal);
    nczchunk_var_free(var);
}

/* What two plans share is the same for any slices of a longer dimension, too. */
static void slices_at_random(void)
{
    unsigned seed = 1;

    for (int i = 0; i < 2000; i++) {
        nczchunk_plan *plans[2];

        for (size_t p = 0; p < 2; p++) {
            slice s;

            seed = seed * 1103515245u + 12345u;
            s.start = (seed >> 16) % 150;
            seed = seed * 1103515245u + 12345u;
            s.stride = 1 + (ptrdiff_t)((seed >> 16) % 40);
            seed = seed * 1103515245u + 12345u;
            s.count = 1 + (seed >> 16) % (1 + (199 - s.start) / (size_t)s.stride);
            plans[p] = plan_of_slice(s, 200, 7, -5);
        }
        CHECK_EQ(shares(plans[0], plans[1]), shares_by_looking(plans[0], plans[1]));
        nczchunk_plan_free(plans[0]);
        nczchunk_plan_free(plans[1]);
    }
}

/* Plans for other chunks cannot be compared. For the same ones they can, also if the dimension has grown meanwhile. */
static void plans_for_different_variables(void)
{
    const slice all = {0, 24, 1};
    const size_t zeros[2] = {0, 0};
    nczchunk_plan *plan = plan_of_slice(all, line, quarter, 0), *longer = plan_of_slice(all, line + 1, quarter, 0);
    nczchunk_plan *others[3] = {plan_of_slice(all, line, 5, 0), plan_of_slice(all, line, quarter, -1),
                                plan_of(zeros, NULL, NULL)};
    int shared = 7;

    CHECK_EQ(shares(plan, longer), 1);
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(nczchunk_plan_shares_chunks(plan, others[i], &shared, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_plan_shares_chunks(others[i], plan, &shared, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(shared, 7);
        nczchunk_plan_free(others[i]);
    }
    nczchunk_plan_free(plan);
    nczchunk_plan_free(longer);
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
    totals_say_what_a_write_must_read();
    a_write_does_what_the_plan_says();
    a_grid_of_more_chunks_than_can_be_counted();
    other_accesses_are_refused();
    plans_that_share_a_chunk();
    chunks_have_owners();
    every_two_slices();
    plans_that_share_in_one_dimension_only();
    plans_of_very_many_chunks();
    plans_of_very_many_chunks_in_a_plane();
    slices_at_random();
    plans_for_different_variables();
    return 0;
}
