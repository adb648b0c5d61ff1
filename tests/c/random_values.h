/* What random testers reduce and accumulate: elements of many types, and how two are joined. */
#ifndef RANDOM_VALUES_H
#define RANDOM_VALUES_H

#include "random.h"
#include <complex.h>

/* What is reduced: an element, how it is made, and a right one that a left one is joined with. */
struct reduction {
    MPI_Datatype type;
    MPI_Op op;
    int bytes, gap, gap_end; /* bytes without meaning */
    void (*make)(uint64_t drawn, void *to);
    void (*join)(const void *left, void *right);
};

#define REDUCTION(name, type, made, joined)                      \
    static void make_##name(uint64_t r, void *to)                \
    {                                                            \
        type x = made;                                           \
        memcpy(to, &x, sizeof x);                                \
    }                                                            \
    static void join_##name(const void *left, void *right)       \
    {                                                            \
        type a, b;                                               \
        memcpy(&a, left, sizeof a), memcpy(&b, right, sizeof b); \
        b = joined;                                              \
        memcpy(right, &b, sizeof b);                             \
    }
#define PAIR(name, type)                                                                \
    struct name {                                                                       \
        type value;                                                                     \
        int index;                                                                      \
    };                                                                                  \
    static void make_##name(uint64_t r, void *to)                                       \
    {                                                                                   \
        struct name *x = to;                                                            \
        x->value = (type)(r % 5), x->index = (int)(r >> 8) % 100;                       \
    }                                                                                   \
    static void least_##name(const void *left, void *right)                             \
    {                                                                                   \
        const struct name *a = left;                                                    \
        struct name *b = right;                                                         \
        if (a->value == b->value) b->index = a->index < b->index ? a->index : b->index; \
        else if (a->value < b->value) b->value = a->value, b->index = a->index;         \
    }                                                                                   \
    static void most_##name(const void *left, void *right)                              \
    {                                                                                   \
        const struct name *a = left;                                                    \
        struct name *b = right;                                                         \
        if (a->value == b->value) b->index = a->index < b->index ? a->index : b->index; \
        else if (a->value > b->value) b->value = a->value, b->index = a->index;         \
    }

REDUCTION(int_sum, int, (int)(r % 100000), a + b)
REDUCTION(long_xor, uint64_t, r, a ^ b)
REDUCTION(long_product, uint64_t, r, a *b)
REDUCTION(byte_most, int8_t, (int8_t)r, a > b ? a : b)
REDUCTION(short_and, uint16_t, (uint16_t)(r | r >> 16), a &b)
REDUCTION(short_least, int16_t, (int16_t)r, a < b ? a : b)
REDUCTION(or, int, (int)(r % 3 / 2), a || b)
REDUCTION(float_most, float, (float)(r % 1000), a > b ? a : b)
REDUCTION(double_sum, double, (double)(r % 1000) - 500, a + b)
REDUCTION(complex_sum, double _Complex, (double)(r % 100) + (double)(r >> 8 & 63) * I, a + b)
/* No product of these has a part that is zero, which might have either sign. */
REDUCTION(complex_product, float _Complex, r % 2 ? 2.0f + 1.0f * I : 1.0f + 3.0f * I, a *b)
PAIR(two_ints, int)
PAIR(double_int, double)
PAIR(short_int, short)
PAIR(long_int, long)
PAIR(float_int, float)

/* x -> a x + b, of which the right one comes last. */
struct affine {
    uint32_t a, b;
};
static void make_affine(uint64_t r, void *to)
{
    struct affine x = {(uint32_t)r | 1, (uint32_t)(r >> 32)};
    memcpy(to, &x, sizeof x);
}
static void join_affine(const void *left, void *right)
{
    struct affine l, r;
    memcpy(&l, left, sizeof l), memcpy(&r, right, sizeof r);
    r = (struct affine){l.a * r.a, r.a * l.b + r.b};
    memcpy(right, &r, sizeof r);
}
static void join_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++)
        join_affine((char *)in + i * extent, (char *)inout + i * extent);
}

enum { REDUCTIONS = 22, AFFINE = 21 };
static struct reduction reductions[REDUCTIONS];

static void list_reductions(void)
{
    int i = 0;
#define WITH(type, op, bytes, gap, end, make, join) \
    reductions[i++] = (struct reduction){type, op, bytes, gap, end, make, join}
#define PAIRS(type, name, bytes, gap, end)                              \
    WITH(type, MPI_MINLOC, bytes, gap, end, make_##name, least_##name); \
    WITH(type, MPI_MAXLOC, bytes, gap, end, make_##name, most_##name)
    WITH(MPI_INT, MPI_SUM, 4, 0, 0, make_int_sum, join_int_sum);
    WITH(MPI_UINT64_T, MPI_BXOR, 8, 0, 0, make_long_xor, join_long_xor);
    WITH(MPI_UINT64_T, MPI_PROD, 8, 0, 0, make_long_product, join_long_product);
    WITH(MPI_INT8_T, MPI_MAX, 1, 0, 0, make_byte_most, join_byte_most);
    WITH(MPI_UINT16_T, MPI_BAND, 2, 0, 0, make_short_and, join_short_and);
    WITH(MPI_SHORT, MPI_MIN, 2, 0, 0, make_short_least, join_short_least);
    WITH(MPI_INT, MPI_LOR, 4, 0, 0, make_or, join_or);
    WITH(MPI_FLOAT, MPI_MAX, 4, 0, 0, make_float_most, join_float_most);
    WITH(MPI_DOUBLE, MPI_SUM, 8, 0, 0, make_double_sum, join_double_sum);
    WITH(MPI_C_DOUBLE_COMPLEX, MPI_SUM, 16, 0, 0, make_complex_sum, join_complex_sum);
    WITH(MPI_C_FLOAT_COMPLEX, MPI_PROD, 8, 0, 0, make_complex_product, join_complex_product);
    PAIRS(MPI_2INT, two_ints, 8, 0, 0);
    PAIRS(MPI_DOUBLE_INT, double_int, 16, 12, 16);
    PAIRS(MPI_SHORT_INT, short_int, 8, 2, 4);
    PAIRS(MPI_LONG_INT, long_int, 16, 12, 16);
    PAIRS(MPI_FLOAT_INT, float_int, 8, 0, 0);
    WITH(MPI_DATATYPE_NULL, MPI_OP_NULL, 8, 0, 0, make_affine, join_affine);
    MPI_Type_contiguous(2, MPI_UINT32_T, &reductions[AFFINE].type);
    MPI_Type_commit(&reductions[AFFINE].type);
    MPI_Op_create(join_all, 0, &reductions[AFFINE].op);
}

static void free_reductions(void)
{
    MPI_Type_free(&reductions[AFFINE].type);
    MPI_Op_free(&reductions[AFFINE].op);
}

#endif
