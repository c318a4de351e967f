/*
 * The strided copy by itself: a box of elements from one block of memory to another, each with strides of its own. What
 * it must do is said by loops that copy one element at a time.
 *
 *     size_t count[2] = {3, 4};                                   3 x 4 numbers, transposed on the way
 *     ptrdiff_t from[2] = {16, 4}, to[2] = {4, 12};
 *     nczchunk_copy_strided(2, count, 4, 0, source, 48, 0, from, destination, 48, 0, to, NULL);
 */
#include <stdint.h>

#include "check.h"
#include "nczchunk.h"

enum { MAX_RANK = 6 };

static void a_transpose(void)
{
    const int source[3][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}};
    const int expected[4][3] = {{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}};
    const size_t count[2] = {3, 4};
    const ptrdiff_t from[2] = {4 * sizeof(int), sizeof(int)}, to[2] = {sizeof(int), 3 * sizeof(int)};
    int destination[4][3];

    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, source, sizeof source, 0, from, destination,
                                   sizeof destination, 0, to, NULL));
    CHECK(memcmp(destination, expected, sizeof expected) == 0);
}

/* --- The definition. */

/* One side of a copy: a block of memory, and where the elements are in it. */
typedef struct side {
    unsigned char *block;
    size_t size, offset;
    ptrdiff_t strides[MAX_RANK];
} side;

typedef struct box {
    size_t rank, count[MAX_RANK], element_size, word_size;
} box;

static size_t num_elements(const box *b)
{
    size_t elements = 1;

    for (size_t d = 0; d < b->rank; d++)
        elements *= b->count[d];
    return elements;
}

/* Where element number e is, counted in row-major order. */
static unsigned char *element_of(const box *b, const side *s, size_t e)
{
    ptrdiff_t place = (ptrdiff_t)s->offset;

    for (size_t d = b->rank; d-- > 0;) {
        place += (ptrdiff_t)(e % b->count[d]) * s->strides[d];
        e /= b->count[d];
    }
    return s->block + place;
}

static void copy_one_by_one(const box *b, const side *from, const side *to)
{
    for (size_t e = 0; e < num_elements(b); e++) {
        const unsigned char *source = element_of(b, from, e);
        unsigned char *destination = element_of(b, to, e);
        const size_t word = b->word_size > 0 ? b->word_size : 1;

        for (size_t i = 0; i < b->element_size; i++)
            destination[i] = source[i / word * word + (word - 1 - i % word)];
    }
}

static int copy(const box *b, const side *from, const side *to, nczchunk_context *context)
{
    return nczchunk_copy_strided(b->rank, b->count, b->element_size, b->word_size, from->block, from->size,
                                 from->offset, from->strides, to->block, to->size, to->offset, to->strides, context);
}

/* --- Layouts at random: any order of the dimensions, any sign, with gaps or without. */

static size_t any_below(unsigned *seed, size_t limit)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % limit;
}

/* Makes the block just as large as its elements need. Where there may be overlaps, some strides are 0. */
static void make_side(side *s, const box *b, unsigned *seed, int may_overlap)
{
    size_t order[MAX_RANK], reach;
    ptrdiff_t below = 0, above = (ptrdiff_t)b->element_size;

    for (size_t d = 0; d < b->rank; d++)
        order[d] = d;
    for (size_t d = b->rank; d > 1; d--) {
        const size_t other = any_below(seed, d), swapped = order[d - 1];
        order[d - 1] = order[other];
        order[other] = swapped;
    }
    reach = b->element_size;
    for (size_t i = 0; i < b->rank; i++) {
        const size_t d = order[i];

        if (any_below(seed, 3) == 0)
            reach += any_below(seed, 20);
        s->strides[d] = may_overlap && any_below(seed, 8) == 0 ? 0 : (ptrdiff_t)reach;
        if (any_below(seed, 3) == 0)
            s->strides[d] = -s->strides[d];
        reach *= b->count[d];
        *(s->strides[d] < 0 ? &below : &above) += s->strides[d] * (ptrdiff_t)(b->count[d] - 1);
    }
    s->offset = (size_t)-below;
    s->size = (size_t)(above - below);
    s->block = malloc(s->size);
    CHECK(s->block != NULL);
    for (size_t i = 0; i < s->size; i++)
        s->block[i] = (unsigned char)any_below(seed, 256);
}

static void make_box(box *b, unsigned *seed)
{
    static const struct { size_t element, word; } sizes[] = {
        {1, 0}, {2, 0}, {2, 2}, {3, 0}, {4, 0}, {4, 2}, {4, 4},  {5, 0},   {6, 2},  {8, 0},  {8, 2},
        {8, 4}, {8, 8}, {7, 0}, {12, 4}, {16, 0}, {16, 4}, {16, 8}, {24, 8}, {17, 0}, {32, 0}, {40, 8}};
    const size_t i = any_below(seed, sizeof sizes / sizeof *sizes);

    b->element_size = sizes[i].element;
    b->word_size = sizes[i].word;
    b->rank = any_below(seed, MAX_RANK);
    for (size_t d = 0; d < b->rank; d++)
        b->count[d] = 1 + any_below(seed, b->rank < 3 ? 40 : 6);
}

/* Every byte of the destination is compared: those between the elements stay as they were. */
static void any_box_is_copied_as_by_loops(void)
{
    for (unsigned i = 0; i < 3000; i++) {
        unsigned seed = i, source_seed;
        side from, to, expected;
        box b;

        make_box(&b, &seed);
        source_seed = seed;
        make_side(&from, &b, &source_seed, 1);
        seed = source_seed;
        make_side(&to, &b, &seed, 0);
        expected = to;
        expected.block = malloc(to.size);
        CHECK(expected.block != NULL);
        memcpy(expected.block, to.block, to.size);
        copy_one_by_one(&b, &from, &expected);
        CHECK_OK(copy(&b, &from, &to, NULL));
        if (memcmp(to.block, expected.block, to.size) != 0)
            CHECK_FAILED("box %u of rank %zu with elements of %zu bytes is copied otherwise", i, b.rank,
                         b.element_size);
        free(expected.block);
        free(to.block);
        free(from.block);
    }
}

/* Large boxes go other ways than small ones: whole rows, transposes, flips, and every other element. */
static void large_boxes(void)
{
    static const ptrdiff_t layouts[][2] = {{70, 1}, {1, 50}, {-70, 1}, {70, -1}, {-1, -50}, {71, 1}, {140, 2}};
    static const size_t element_sizes[] = {1, 2, 4, 8, 12};
    const size_t rows = 50, columns = 70;

    for (size_t size = 0; size < sizeof element_sizes / sizeof *element_sizes; size++)
        for (size_t i = 0; i < 7; i++)
            for (size_t j = 0; j < 7; j++)
                for (int swapped = 0; swapped < 2; swapped++) {
                    const size_t element = element_sizes[size], pair[2] = {i, j};
                    box b = {.rank = 2, .count = {rows, columns}, .element_size = element};
                    side sides[2], expected;

                    b.word_size = !swapped || element == 1 ? 0 : element == 12 ? 4 : element;
                    for (int s = 0; s < 2; s++) {
                        ptrdiff_t below = 0, above = (ptrdiff_t)element;

                        for (size_t d = 0; d < 2; d++) {
                            ptrdiff_t stride = layouts[pair[s]][d] * (ptrdiff_t)element;

                            sides[s].strides[d] = stride;
                            *(stride < 0 ? &below : &above) += stride * (ptrdiff_t)(b.count[d] - 1);
                        }
                        sides[s].offset = (size_t)-below;
                        sides[s].size = (size_t)(above - below);
                        sides[s].block = malloc(sides[s].size);
                        CHECK(sides[s].block != NULL);
                        for (size_t k = 0; k < sides[s].size; k++)
                            sides[s].block[k] = (unsigned char)(s == 0 ? k * 7 + k / 251 : 0xAB);
                    }
                    expected = sides[1];
                    expected.block = malloc(expected.size);
                    CHECK(expected.block != NULL);
                    memset(expected.block, 0xAB, expected.size);
                    copy_one_by_one(&b, &sides[0], &expected);
                    CHECK_OK(copy(&b, &sides[0], &sides[1], NULL));
                    CHECK(memcmp(sides[1].block, expected.block, expected.size) == 0);
                    free(expected.block);
                    free(sides[0].block);
                    free(sides[1].block);
                }
}

/* Neither block needs an alignment. */
static void blocks_begin_anywhere(void)
{
    unsigned char source[8 * 8 * 3 + 8], destination[8 * 8 * 3 + 8], expected[8 * 8 * 3 + 8];

    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)(i * 3);
    for (size_t shift = 0; shift < 8; shift++)
        for (size_t other = 0; other < 8; other++) {
            const box b = {.rank = 2, .count = {3, 8}, .element_size = 8, .word_size = 8};
            side from = {source + shift, 192, 0, {64, 8}}, to = {destination + other, 192, 0, {8, 24}};
            side reference = {expected + other, 192, 0, {8, 24}};

            memset(destination, 0xAB, sizeof destination);
            memset(expected, 0xAB, sizeof expected);
            copy_one_by_one(&b, &from, &reference);
            CHECK_OK(copy(&b, &from, &to, NULL));
            CHECK(memcmp(destination, expected, sizeof expected) == 0);
        }
}

/* --- Overlaps, small boxes. */

/* In the source, elements may overlap in any way. A stride of 0 repeats one of them: so a value fills a block. */
static void one_element_for_many(void)
{
    const int value = 42;
    const size_t count[2] = {3, 5};
    const ptrdiff_t same[2] = {0, 0}, rows[2] = {5 * sizeof(int), sizeof(int)}, overlapping[2] = {1, 1};
    const unsigned char bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int data[15];

    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, &value, sizeof value, 0, same, data, sizeof data, 0, rows,
                                   NULL));
    for (size_t i = 0; i < 15; i++)
        CHECK_EQ(data[i], 42);
    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, bytes, sizeof bytes, 0, overlapping, data, sizeof data, 0,
                                   rows, NULL));
    for (size_t i = 0; i < 15; i++)
        CHECK(memcmp(&data[i], bytes + i / 5 + i % 5, sizeof(int)) == 0);
}

/* In the destination, one of the values that meet at a place is left there. */
static void many_elements_for_one(void)
{
    const int source[2][3] = {{1, 2, 3}, {10, 20, 30}};
    const size_t count[2] = {2, 3};
    const ptrdiff_t from[2] = {3 * sizeof(int), sizeof(int)}, same[2] = {0, 0};
    const ptrdiff_t row[2] = {0, sizeof(int)}, column[2] = {sizeof(int), 0};
    int data[5];

    for (int i = 0; i < 5; i++)
        data[i] = -1;
    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, source, sizeof source, 0, from, data, sizeof data,
                                   sizeof(int), same, NULL));
    CHECK(data[1] == 1 || data[1] == 2 || data[1] == 3 || data[1] == 10 || data[1] == 20 || data[1] == 30);
    CHECK(data[0] == -1 && data[2] == -1);
    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, source, sizeof source, 0, from, data, sizeof data,
                                   sizeof(int), row, NULL));
    for (int j = 0; j < 3; j++)
        CHECK(data[1 + j] == source[0][j] || data[1 + j] == source[1][j]);
    CHECK(data[0] == -1 && data[4] == -1);
    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, source, sizeof source, 0, from, data, sizeof data,
                                   sizeof(int), column, NULL));
    CHECK(data[1] == 1 || data[1] == 2 || data[1] == 3);
    CHECK(data[2] == 10 || data[2] == 20 || data[2] == 30);
}

/* Strides of 0 on both sides copy the same element to the same place: once, whatever the count along that dimension. */
static void one_element_for_one(void)
{
    const int value = 42;
    const size_t count[2] = {SIZE_MAX, 3};
    const ptrdiff_t from[2] = {0, 0}, to[2] = {0, sizeof(int)};
    int data[3] = {-1, -1, -1};

    CHECK_OK(nczchunk_copy_strided(2, count, sizeof(int), 0, &value, sizeof value, 0, from, data, sizeof data, 0, to,
                                   NULL));
    CHECK(data[0] == 42 && data[1] == 42 && data[2] == 42);
}

/* Rank 0 is one element. A count of 0 is none: then nothing is looked at, however far away it would be. */
static void one_element_and_none(void)
{
    const size_t none[3] = {4, 0, SIZE_MAX}, one[3] = {1, 1, 1};
    const ptrdiff_t far_away[3] = {PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX};
    const int source[2] = {17, 18};
    int data[3] = {-1, -1, -1};

    CHECK_OK(nczchunk_copy_strided(0, NULL, sizeof(int), 0, source, sizeof source, 4, NULL, data, sizeof data, 4, NULL,
                                   NULL));
    CHECK(data[0] == -1 && data[1] == 18 && data[2] == -1);
    CHECK_OK(nczchunk_copy_strided(3, none, sizeof(int), 0, NULL, 0, 0, far_away, NULL, 0, 0, far_away, NULL));
    CHECK_OK(nczchunk_copy_strided(3, none, sizeof(int), 4, source, 0, 9, far_away, data, 0, 9, far_away, NULL));
    CHECK(data[0] == -1 && data[1] == 18 && data[2] == -1);
    /* Where there is one element along a dimension, how far the next would be does not matter. */
    CHECK_OK(nczchunk_copy_strided(3, one, sizeof(int), 0, source, sizeof source, 0, far_away, data, sizeof data, 8,
                                   far_away, NULL));
    CHECK_EQ(data[2], 17);
}

/* The largest rank there is. */
static void a_box_of_1024_dimensions(void)
{
    static size_t count[NCZCHUNK_MAX_RANK + 1];
    static ptrdiff_t from[NCZCHUNK_MAX_RANK], to[NCZCHUNK_MAX_RANK];
    const short source[4] = {1, 2, 3, 4};
    short data[4];

    for (size_t d = 0; d < NCZCHUNK_MAX_RANK; d++)
        count[d] = 1;
    count[3] = count[1000] = 2;
    from[3] = to[1000] = 4;
    from[1000] = to[3] = 2;
    CHECK_OK(nczchunk_copy_strided(NCZCHUNK_MAX_RANK, count, 2, 0, source, sizeof source, 0, from, data, sizeof data, 0,
                                   to, NULL));
    CHECK(data[0] == 1 && data[1] == 3 && data[2] == 2 && data[3] == 4);
    /* A rank above it is refused without a look at the lists. */
    CHECK_EQ(nczchunk_copy_strided(NCZCHUNK_MAX_RANK + 1, count, 2, 0, source, sizeof source, 0, from, data,
                                   sizeof data, 0, to, NULL),
             NCZCHUNK_EMAXDIMS);
    CHECK_EQ(nczchunk_copy_strided(SIZE_MAX, NULL, 2, 0, source, sizeof source, 0, NULL, data, sizeof data, 0, NULL,
                                   NULL),
             NCZCHUNK_EMAXDIMS);
}

/* --- What is refused. Then nothing is copied. */

/* Copies 3 x 2 numbers of 4 bytes with one side as given and the other one good, both ways round. */
static void check_refused(size_t size, size_t offset, const ptrdiff_t *strides)
{
    const box b = {.rank = 2, .count = {3, 2}, .element_size = 4};
    const side good = {NULL, 24, 0, {8, 4}};
    unsigned char source[64], destination[64], before[64];
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    memset(source, 0x11, sizeof source);
    memset(destination, 0xAB, sizeof destination);
    memcpy(before, destination, sizeof before);
    for (int is_destination = 0; is_destination < 2; is_destination++) {
        side from = good, to = good, *bad = is_destination ? &to : &from;

        from.block = source;
        to.block = destination;
        bad->size = size;
        bad->offset = offset;
        bad->strides[0] = strides[0];
        bad->strides[1] = strides[1];
        CHECK_EQ(copy(&b, &from, &to, context), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EINVAL);
        CHECK(strlen(nczchunk_context_message(context)) > 0);
        CHECK(memcmp(destination, before, sizeof before) == 0);
    }
    nczchunk_context_free(context);
}

static void no_element_may_lie_outside_its_block(void)
{
    static const ptrdiff_t layouts[][2] = {{8, 4}, {4, 12}, {-8, 4}, {8, -4}, {-8, -4}, {20, 7}, {-13, 5}};

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const box b = {.rank = 2, .count = {3, 2}, .element_size = 4};
        ptrdiff_t below = 0, above = 4;
        unsigned char source[64] = {0}, destination[64];
        side from = {source, 24, 0, {8, 4}}, to = {destination, 0, 0, {layouts[i][0], layouts[i][1]}};

        for (size_t d = 0; d < 2; d++)
            *(layouts[i][d] < 0 ? &below : &above) += layouts[i][d] * (ptrdiff_t)(b.count[d] - 1);
        check_refused((size_t)(above - below) - 1, (size_t)-below, layouts[i]);
        check_refused((size_t)(above - below), (size_t)-below + 1, layouts[i]);
        check_refused((size_t)(above - below), (size_t)-below - 1, layouts[i]);
        check_refused(0, (size_t)-below, layouts[i]);
        /* It is only just large enough. */
        to.size = (size_t)(above - below);
        to.offset = (size_t)-below;
        CHECK_OK(copy(&b, &from, &to, NULL));
    }
}

/* Nor may the sums wrap around. */
static void layouts_that_no_memory_has(void)
{
    static const struct { ptrdiff_t strides[2]; size_t size, offset; } layouts[] = {
        {{PTRDIFF_MAX, PTRDIFF_MAX}, 64, 0}, {{PTRDIFF_MIN, PTRDIFF_MIN}, 64, 0}, {{PTRDIFF_MIN, 4}, 64, 32},
        {{8, PTRDIFF_MAX}, 64, 32},          {{PTRDIFF_MAX, PTRDIFF_MIN}, 64, 0}, {{8, 4}, 64, SIZE_MAX},
        {{8, 4}, 64, SIZE_MAX - 3},          {{8, 4}, SIZE_MAX, 0},               {{8, 4}, (size_t)PTRDIFF_MAX + 1, 0}};

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        check_refused(layouts[i].size, layouts[i].offset, layouts[i].strides);
}

static void impossible_arguments(void)
{
    const struct { size_t element, word; } sizes[] = {{0, 0}, {4, 1}, {4, 3}, {4, 8}, {4, 16}, {12, 8},
                                                      {6, 4}, {3, 2}, {16, 16}, {8, SIZE_MAX}, {SIZE_MAX, 0}};
    const size_t count[1] = {2};
    const ptrdiff_t strides[1] = {16};
    unsigned char source[32] = {0}, data[32];

    memset(data, 0xAB, sizeof data);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK_EQ(nczchunk_copy_strided(1, count, sizes[i].element, sizes[i].word, source, sizeof source, 0, strides,
                                       data, sizeof data, 0, strides, NULL),
                 NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_copy_strided(1, NULL, 4, 0, source, 32, 0, strides, data, 32, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_copy_strided(1, count, 4, 0, NULL, 32, 0, strides, data, 32, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_copy_strided(1, count, 4, 0, source, 32, 0, NULL, data, 32, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_copy_strided(1, count, 4, 0, source, 32, 0, strides, NULL, 32, 0, strides, NULL),
             NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_copy_strided(1, count, 4, 0, source, 32, 0, strides, data, 32, 0, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_copy_strided(0, NULL, 4, 0, NULL, 32, 0, NULL, data, 32, 0, NULL, NULL), NCZCHUNK_EINVAL);
    for (size_t i = 0; i < sizeof data; i++)
        CHECK_EQ(data[i], 0xAB);
}

int main(void)
{
    a_transpose();
    any_box_is_copied_as_by_loops();
    large_boxes();
    blocks_begin_anywhere();
    one_element_for_many();
    many_elements_for_one();
    one_element_for_one();
    one_element_and_none();
    a_box_of_1024_dimensions();
    no_element_may_lie_outside_its_block();
    layouts_that_no_memory_has();
    impossible_arguments();
    return 0;
}
