/*
 * An allocator that counts, and fails when told to. Include it in one file of a program. It needs glibc, and there are
 * two forms of it:
 *
 * - It takes the place of malloc and its relatives in the whole program, libraries included, and calls what is behind
 *   glibc's. Such a program is not for valgrind or a sanitizer, which have allocators of their own.
 * - With COUNTED_MALLOC_WRAPS the linker, told --wrap=malloc and so on, has the program's own calls come here, and
 *   those of a library that it is statically linked to. From here they go on to malloc, whosever it is: valgrind's, a
 *   sanitizer's or glibc's. What glibc allocates for itself is not counted.
 *
 * If counted_threads.h is included before it, what glibc keeps of threads is not among what is allocated and not freed.
 */
#ifndef COUNTED_MALLOC_H
#define COUNTED_MALLOC_H

#include <errno.h>
#include <stddef.h>

#ifdef COUNTED_MALLOC_WRAPS
#define COUNTED(function) __wrap_##function
#define REAL(function) __real_##function
#else
#define COUNTED(function) function
#define REAL(function) __libc_##function
#endif

extern void *REAL(malloc)(size_t size);
extern void *REAL(calloc)(size_t count, size_t size);
extern void *REAL(realloc)(void *memory, size_t size);
extern void *REAL(memalign)(size_t alignment, size_t size);
extern void REAL(free)(void *memory);

void *COUNTED(malloc)(size_t size);
void *COUNTED(calloc)(size_t count, size_t size);
void *COUNTED(realloc)(void *memory, size_t size);
void *COUNTED(memalign)(size_t alignment, size_t size);
void *COUNTED(aligned_alloc)(size_t alignment, size_t size);
int COUNTED(posix_memalign)(void **memory, size_t alignment, size_t size);
void COUNTED(free)(void *memory);

/* Successful or not, since the program began. Counted atomically, for several threads may be at work. */
static long allocations;
/* Allocated and not freed. */
static long live_allocations;
/* The number, as allocations counts, of the first one that fails; 0 for none. */
static long failing_allocation;
/* How many fail in a row. */
static long failures = 1;

static int may_allocate(void)
{
    long number = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    long first = __atomic_load_n(&failing_allocation, __ATOMIC_RELAXED);

    if (first == 0 || number < first || number - first >= failures)
        return 1;
    errno = ENOMEM; /* as malloc does, and glibc relies on */
    return 0;
}

#ifdef COUNTED_THREADS_H
/* What glibc has allocated for threads, which it may free where another thread begins or ends; NULL where there is
 * room. */
static void *of_threads[4096];
static size_t num_of_threads;
static int is_locked;

/* Puts one pointer in place of another. Returns whether the other was there, or there was room. */
static int replace_of_threads(void *old, void *new)
{
    size_t i = 0;
    int is_there;

    while (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE))
        ;
    while (i < num_of_threads && of_threads[i] != old)
        i++;
    is_there = i < num_of_threads || (old == NULL && i < sizeof of_threads / sizeof *of_threads);
    if (is_there) {
        of_threads[i] = new;
        num_of_threads += i == num_of_threads;
    }
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    return is_there;
}

/* Whether new memory is glibc's for a thread, and so is not counted. */
static int begins_of_threads(void *memory)
{
    return begins_thread && replace_of_threads(NULL, memory);
}

/* Whether memory that is freed, or is somewhere else now, was not counted. */
static int ends_of_threads(void *memory, void *moved)
{
    return replace_of_threads(memory, moved);
}
#else
#define begins_of_threads(memory) 0
#define ends_of_threads(memory, moved) 0
#endif

static void *counted(void *memory)
{
    if (memory != NULL && !begins_of_threads(memory))
        __atomic_add_fetch(&live_allocations, 1, __ATOMIC_RELAXED);
    return memory;
}

void *COUNTED(malloc)(size_t size)
{
    return may_allocate() ? counted(REAL(malloc)(size)) : NULL;
}

void *COUNTED(calloc)(size_t count, size_t size)
{
    return may_allocate() ? counted(REAL(calloc)(count, size)) : NULL;
}

void *COUNTED(memalign)(size_t alignment, size_t size)
{
    return may_allocate() ? counted(REAL(memalign)(alignment, size)) : NULL;
}

void *COUNTED(aligned_alloc)(size_t alignment, size_t size)
{
    return COUNTED(memalign)(alignment, size);
}

int COUNTED(posix_memalign)(void **memory, size_t alignment, size_t size)
{
    void *aligned = COUNTED(memalign)(alignment, size);

    if (aligned == NULL)
        return ENOMEM;
    *memory = aligned;
    return 0;
}

void COUNTED(free)(void *memory)
{
    if (memory != NULL && !ends_of_threads(memory, NULL))
        __atomic_sub_fetch(&live_allocations, 1, __ATOMIC_RELAXED);
    REAL(free)(memory);
}

/* To grow in place or elsewhere changes nothing about how many there are. */
void *COUNTED(realloc)(void *memory, size_t size)
{
    void *moved;

    if (memory == NULL)
        return COUNTED(malloc)(size);
    if (size == 0) {
        COUNTED(free)(memory);
        return NULL;
    }
    if (!may_allocate())
        return NULL;
    moved = REAL(realloc)(memory, size);
    if (moved != NULL)
        (void)ends_of_threads(memory, moved);
    return moved;
}

#endif
