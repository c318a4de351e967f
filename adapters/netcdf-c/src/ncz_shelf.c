/* Small chunks that were read, kept apart from NCZarr's cache, whose entries take 8 KB each beside the chunk: by their
 * indices, in the order of their last use. A chunk is on a variable's shelf, or in its cache, or in neither; what is on
 * a shelf is what is stored. */
#include "adapter.h"

struct Book {
    Book *newer, *older; /* by their last use */
    Book* next;          /* of those with the same place in the table */
    size_t hash;
    int is_reused; /* was used again, after another one */
    size64_t indices[]; /* and then the chunk, aligned as malloc does */
};

enum { ALIGNMENT = 16, FEWEST_PLACES = 64 };

static size_t before_data(const Shelf* shelf)
{
    return (sizeof(Book) + shelf->ndims * sizeof(size64_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void* nczadapter_book_data(const Shelf* shelf, Book* book)
{
    return (char*)book + before_data(shelf);
}

/* With what the allocator takes for itself, and the book's part of a table that is at least half full. */
size_t nczadapter_book_size(const Shelf* shelf)
{
    return (before_data(shelf) + shelf->chunk + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + 2 * sizeof(Book*);
}

static size_t hash_of(const Shelf* shelf, const size64_t* indices)
{
    size64_t hash = 0;

    for (size_t d = 0; d < shelf->ndims; d++) {
        hash = (hash ^ indices[d]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return (size_t)hash;
}

static int is_of(const Shelf* shelf, const Book* book, const size64_t* indices)
{
    return nczadapter_are_same(book->indices, indices, shelf->ndims);
}

static void take_out(Shelf* shelf, Book* book)
{
    *(book->newer == NULL ? &shelf->newest : &book->newer->older) = book->older;
    *(book->older == NULL ? &shelf->oldest : &book->older->newer) = book->newer;
}

static void put_first(Shelf* shelf, Book* book)
{
    book->newer = NULL;
    book->older = shelf->newest;
    *(shelf->newest == NULL ? &shelf->oldest : &shelf->newest->newer) = book;
    shelf->newest = book;
}

Book* nczadapter_shelf_find(Shelf* shelf, const size64_t* indices)
{
    Book* book = shelf->newest;
    size_t hash;

    if (book == NULL || is_of(shelf, book, indices))
        return book;
    hash = hash_of(shelf, indices);
    for (book = shelf->table[hash & (shelf->places - 1)]; book != NULL; book = book->next) {
        if (book->hash != hash || !is_of(shelf, book, indices))
            continue;
        book->is_reused = 1;
        take_out(shelf, book);
        put_first(shelf, book);
        return book;
    }
    return NULL;
}

/* Makes the table twice as large. Without memory it stays as it is, if there is one. */
static int enlarge(Shelf* shelf)
{
    const size_t places = shelf->places == 0 ? FEWEST_PLACES : 2 * shelf->places;
    Book** table = calloc(places, sizeof *table);

    if (table == NULL)
        return shelf->table != NULL;
    free(shelf->table);
    shelf->table = table;
    shelf->places = places;
    for (Book* book = shelf->newest; book != NULL; book = book->older) {
        book->next = table[book->hash & (places - 1)];
        table[book->hash & (places - 1)] = book;
    }
    return 1;
}

Book* nczadapter_shelf_put(Shelf* shelf, const size64_t* indices, const void* chunk)
{
    Book *book, **place;

    if (shelf->length >= shelf->places && !enlarge(shelf))
        return NULL;
    if ((book = malloc(before_data(shelf) + shelf->chunk)) == NULL)
        return NULL;
    memcpy(book->indices, indices, shelf->ndims * sizeof *indices);
    memcpy(nczadapter_book_data(shelf, book), chunk, shelf->chunk);
    book->hash = hash_of(shelf, indices);
    book->is_reused = 0;
    place = &shelf->table[book->hash & (shelf->places - 1)];
    book->next = *place;
    *place = book;
    put_first(shelf, book);
    shelf->length++;
    return book;
}

int nczadapter_shelf_drop(Shelf* shelf, Book* book)
{
    const int was_reused = book->is_reused;
    Book** place = &shelf->table[book->hash & (shelf->places - 1)];

    while (*place != book)
        place = &(*place)->next;
    *place = book->next;
    take_out(shelf, book);
    shelf->length--;
    free(book);
    return was_reused;
}

void nczadapter_shelf_empty(Shelf* shelf)
{
    Book* older;

    for (Book* book = shelf->newest; book != NULL; book = older) {
        older = book->older;
        free(book);
    }
    free(shelf->table);
    *shelf = (Shelf){.ndims = shelf->ndims, .chunk = shelf->chunk};
}
