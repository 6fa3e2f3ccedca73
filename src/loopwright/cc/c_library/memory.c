/* Copying, filling and comparing memory; memory that programs ask for. */

#include "library.h"

/* Words of eight bytes, which have to lie at multiples of eight. */
#define WORD 8
#define WHOLE(p) (((uintptr_t)(p) & (WORD - 1)) == 0)

void *memcpy(void *to, const void *from, size_t size) {
    char *t = to;
    const char *f = from;
    if ((((uintptr_t)t ^ (uintptr_t)f) & (WORD - 1)) == 0) {
        while (size && !WHOLE(t)) { *t++ = *f++; size--; }
        for (; size >= 4 * WORD; size -= 4 * WORD, t += 4 * WORD, f += 4 * WORD) {
            uint64_t a = ((const uint64_t *)f)[0], b = ((const uint64_t *)f)[1], c = ((const uint64_t *)f)[2], d = ((const uint64_t *)f)[3];
            ((uint64_t *)t)[0] = a;
            ((uint64_t *)t)[1] = b;
            ((uint64_t *)t)[2] = c;
            ((uint64_t *)t)[3] = d;
        }
        for (; size >= WORD; size -= WORD, t += WORD, f += WORD) *(uint64_t *)t = *(const uint64_t *)f;
    }
    while (size--) *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    char *t = to;
    const char *f = from;
    /* Upwards it reads four words before it writes them, and nothing that it has written. */
    if ((uintptr_t)t - (uintptr_t)f >= size) return memcpy(to, from, size);
    while (size--) t[size] = f[size];
    return to;
}

void *memset(void *to, int byte, size_t size) {
    char *t = to;
    uint64_t word = (unsigned char)byte * 0x0101010101010101u;
    while (size && !WHOLE(t)) { *t++ = (char)byte; size--; }
    for (; size >= 4 * WORD; size -= 4 * WORD, t += 4 * WORD) {
        ((uint64_t *)t)[0] = word;
        ((uint64_t *)t)[1] = word;
        ((uint64_t *)t)[2] = word;
        ((uint64_t *)t)[3] = word;
    }
    for (; size >= WORD; size -= WORD, t += WORD) *(uint64_t *)t = word;
    while (size--) *t++ = (char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t size) {
    const unsigned char *x = a, *y = b;
    for (; size; size--, x++, y++)
        if (*x != *y) return *x < *y ? -1 : 1;
    return 0;
}

int bcmp(const void *a, const void *b, size_t size) { return memcmp(a, b, size); }

void *memchr(const void *memory, int byte, size_t size) {
    const unsigned char *p = memory;
    for (; size; size--, p++)
        if (*p == (unsigned char)byte) return (void *)p;
    return 0;
}

void *memrchr(const void *memory, int byte, size_t size) {
    const unsigned char *p = memory;
    while (size--)
        if (p[size] == (unsigned char)byte) return (void *)(p + size);
    return 0;
}

void *mempcpy(void *to, const void *from, size_t size) { return (char *)memcpy(to, from, size) + size; }

void *memccpy(void *to, const void *from, int byte, size_t size) {
    const char *end = memchr(from, byte, size);
    if (!end) {
        memcpy(to, from, size);
        return 0;
    }
    return mempcpy(to, from, (size_t)(end - (const char *)from) + 1);
}

void *memmem(const void *memory, size_t size, const void *wanted, size_t length) {
    for (const char *p = memory; size >= length; p++, size--)
        if (!memcmp(p, wanted, length)) return (void *)p;
    return 0;
}

void bzero(void *to, size_t size) { memset(to, 0, size); }
void bcopy(const void *from, void *to, size_t size) { memmove(to, from, size); }

/* Blocks lie one behind the other, each behind its size; those that are free are in a list by address, and neighbours become one. */

struct block {
    size_t size; /* of what is behind the header */
    struct block *next; /* of a free one */
};

extern char *__heap_begin, *__heap_end;
static struct block *unused;

#define HEADER sizeof(struct block)

void *malloc(size_t size) {
    if (size > (size_t)(__heap_end - __heap_begin)) size = (size_t)1 << 40;
    size = (size + 15) & ~(size_t)15;
    if (!size) size = 16;
    for (struct block **at = &unused; *at; at = &(*at)->next) {
        struct block *found = *at;
        if (found->size < size) continue;
        if (found->size >= size + HEADER + 16) {
            struct block *rest = (struct block *)((char *)(found + 1) + size);
            rest->size = found->size - size - HEADER;
            rest->next = found->next;
            found->size = size;
            *at = rest;
        } else {
            *at = found->next;
        }
        return found + 1;
    }
    if (size + HEADER > (size_t)(__heap_end - __heap_begin)) {
        errno = ENOMEM;
        return 0;
    }
    struct block *made = (struct block *)__heap_begin;
    __heap_begin += size + HEADER;
    made->size = size;
    return made + 1;
}

void free(void *memory) {
    if (!memory) return;
    struct block *freed = (struct block *)memory - 1, *before = 0, *after = unused;
    while (after && after < freed) { before = after; after = after->next; }
    freed->next = after;
    if (after && (char *)(freed + 1) + freed->size == (char *)after) {
        freed->size += HEADER + after->size;
        freed->next = after->next;
    }
    if (before && (char *)(before + 1) + before->size == (char *)freed) {
        before->size += HEADER + freed->size;
        before->next = freed->next;
    } else if (before) {
        before->next = freed;
    } else {
        unused = freed;
    }
}

void *calloc(size_t count, size_t size) {
    if (size && count > ((size_t)1 << 40) / size) return 0;
    void *made = malloc(count * size);
    return made ? memset(made, 0, count * size) : 0;
}

void *realloc(void *memory, size_t size) {
    if (!memory) return malloc(size);
    size_t had = ((struct block *)memory - 1)->size;
    if (size && size <= had && had - size < 64) return memory;
    void *made = malloc(size);
    if (!made) return 0;
    memcpy(made, memory, had < size ? had : size);
    free(memory);
    return made;
}

void *reallocarray(void *memory, size_t count, size_t size) {
    if (size && count > ((size_t)1 << 40) / size) {
        errno = ENOMEM;
        return 0;
    }
    return realloc(memory, count * size);
}

/* Of a larger block the part that is at the multiple; what is in front of it becomes free, and so does what is behind when that is freed. */
void *memalign(size_t align, size_t size) {
    if (align <= 16) return malloc(size);
    char *whole = malloc(size + align + HEADER);
    if (!whole) return 0;
    char *made = (char *)(((uintptr_t)whole + HEADER + align - 1) & ~(uintptr_t)(align - 1));
    struct block *first = (struct block *)whole - 1, *second = (struct block *)made - 1;
    second->size = first->size - (size_t)(made - whole);
    first->size = (size_t)((char *)second - whole);
    free(whole);
    return made;
}

void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

int posix_memalign(void **to, size_t align, size_t size) {
    void *made = memalign(align, size);
    if (!made) return ENOMEM;
    *to = made;
    return 0;
}
