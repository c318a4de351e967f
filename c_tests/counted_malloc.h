/*
 * An allocator that counts, and fails when told to. Include it in one file of a program: it takes the place of malloc
 * and its relatives in the whole program, the library included, whether linked statically or not. It needs glibc, whose
 * own allocator it calls; programs with it are not for valgrind or a sanitizer, which have allocators of their own.
 */
#ifndef COUNTED_MALLOC_H
#define COUNTED_MALLOC_H

#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

/* Successful or not, since the program began. Counted atomically, for several threads may be at work. */
static long allocations;
/* Allocated and not freed. */
static long live_allocations;
/* The number, as allocations counts, of the one that fails; 0 for none. */
static long failing_allocation;

static int may_allocate(void)
{
    long number = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);

    if (number != __atomic_load_n(&failing_allocation, __ATOMIC_RELAXED))
        return 1;
    errno = ENOMEM; /* as malloc does, and glibc relies on */
    return 0;
}

static void *counted(void *memory)
{
    __atomic_add_fetch(&live_allocations, memory != NULL, __ATOMIC_RELAXED);
    return memory;
}

void *malloc(size_t size)
{
    return may_allocate() ? counted(__libc_malloc(size)) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return may_allocate() ? counted(__libc_calloc(count, size)) : NULL;
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    return may_allocate() ? counted(__libc_memalign(alignment, size)) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size);
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *aligned = memalign(alignment, size);

    if (aligned == NULL)
        return ENOMEM;
    *memory = aligned;
    return 0;
}

void free(void *memory)
{
    __atomic_sub_fetch(&live_allocations, memory != NULL, __ATOMIC_RELAXED);
    __libc_free(memory);
}

/* To grow in place or elsewhere changes nothing about how many there are. */
void *realloc(void *memory, size_t size)
{
    if (memory == NULL)
        return malloc(size);
    if (size == 0) {
        free(memory);
        return NULL;
    }
    return may_allocate() ? __libc_realloc(memory, size) : NULL;
}

#endif
