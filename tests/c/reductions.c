/* Every predefined operation on the types it is defined for, against a loop in C over what the ranks contribute. */
#include "check.h"

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

enum { COUNT = 37 };

/* Small numbers that differ by rank and place; products stay exact. */
static int seed(int from, int i) { return (from * 5 + i * 3) % 4 + (i % 3 == 0); }

#define TEST(type, handle, op, expression)                                                                              \
    do {                                                                                                                \
        type mine[COUNT], all[COUNT];                                                                                   \
        for (int i = 0; i < COUNT; i++) mine[i] = (type)seed(rank, i);                                                  \
        MPI_Allreduce(mine, all, COUNT, handle, op, MPI_COMM_WORLD);                                                    \
        for (int i = 0; i < COUNT; i++) {                                                                               \
            type a = (type)seed(0, i);                                                                                  \
            for (int r = 1; r < size; r++) {                                                                            \
                type b = (type)seed(r, i);                                                                              \
                a = (type)(expression);                                                                                 \
            }                                                                                                           \
            if (!(all[i] == a)) {                                                                                       \
                CHECK(!#type " " #op);                                                                                  \
                break;                                                                                                  \
            }                                                                                                           \
        }                                                                                                               \
    } while (0)

#define ARITHMETIC(type, handle)                                                                                        \
    do {                                                                                                                \
        TEST(type, handle, MPI_SUM, a + b);                                                                             \
        TEST(type, handle, MPI_PROD, a *b);                                                                             \
        TEST(type, handle, MPI_MAX, a > b ? a : b);                                                                     \
        TEST(type, handle, MPI_MIN, a < b ? a : b);                                                                     \
    } while (0)

#define INTEGER(type, handle)                                                                                           \
    do {                                                                                                                \
        ARITHMETIC(type, handle);                                                                                       \
        TEST(type, handle, MPI_LAND, a && b);                                                                           \
        TEST(type, handle, MPI_LOR, a || b);                                                                            \
        TEST(type, handle, MPI_LXOR, !a != !b);                                                                         \
        TEST(type, handle, MPI_BAND, a &b);                                                                             \
        TEST(type, handle, MPI_BOR, a | b);                                                                             \
        TEST(type, handle, MPI_BXOR, a ^ b);                                                                            \
    } while (0)

/* The largest or smallest value with the lowest rank that has it. */
#define LOCATION(type, handle)                                                                                          \
    do {                                                                                                                \
        struct {                                                                                                        \
            type value;                                                                                                 \
            int at;                                                                                                     \
        } mine[COUNT], most[COUNT], least[COUNT];                                                                       \
        for (int i = 0; i < COUNT; i++) {                                                                               \
            mine[i].value = (type)seed(rank, i);                                                                        \
            mine[i].at = rank;                                                                                          \
        }                                                                                                               \
        MPI_Allreduce(mine, most, COUNT, handle, MPI_MAXLOC, MPI_COMM_WORLD);                                           \
        MPI_Allreduce(mine, least, COUNT, handle, MPI_MINLOC, MPI_COMM_WORLD);                                          \
        for (int i = 0; i < COUNT; i++) {                                                                               \
            int high = 0, low = 0;                                                                                      \
            for (int r = 1; r < size; r++) {                                                                            \
                if (seed(r, i) > seed(high, i)) high = r;                                                               \
                if (seed(r, i) < seed(low, i)) low = r;                                                                 \
            }                                                                                                           \
            SAME(most[i].at, high);                                                                                     \
            SAME(most[i].value, seed(high, i));                                                                         \
            SAME(least[i].at, low);                                                                                     \
            SAME(least[i].value, seed(low, i));                                                                         \
        }                                                                                                               \
    } while (0)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    INTEGER(signed char, MPI_SIGNED_CHAR);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGER(short, MPI_SHORT);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGER(int, MPI_INT);
    INTEGER(unsigned, MPI_UNSIGNED);
    INTEGER(long, MPI_LONG);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    INTEGER(long long, MPI_LONG_LONG);
    INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    INTEGER(int8_t, MPI_INT8_T);
    INTEGER(uint16_t, MPI_UINT16_T);
    INTEGER(int32_t, MPI_INT32_T);
    INTEGER(uint64_t, MPI_UINT64_T);
    INTEGER(MPI_Aint, MPI_AINT);
    INTEGER(MPI_Offset, MPI_OFFSET);
    INTEGER(MPI_Count, MPI_COUNT);
    ARITHMETIC(float, MPI_FLOAT);
    ARITHMETIC(double, MPI_DOUBLE);
    ARITHMETIC(long double, MPI_LONG_DOUBLE);
    TEST(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, a + b);
    TEST(double complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM, a + b);
    TEST(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, a *b);
    TEST(bool, MPI_C_BOOL, MPI_LAND, a && b);
    TEST(bool, MPI_C_BOOL, MPI_LOR, a || b);
    TEST(bool, MPI_C_BOOL, MPI_LXOR, a != b);
    TEST(unsigned char, MPI_BYTE, MPI_BAND, a &b);
    TEST(unsigned char, MPI_BYTE, MPI_BOR, a | b);
    TEST(unsigned char, MPI_BYTE, MPI_BXOR, a ^ b);
    LOCATION(int, MPI_2INT);
    LOCATION(short, MPI_SHORT_INT);
    LOCATION(long, MPI_LONG_INT);
    LOCATION(float, MPI_FLOAT_INT);
    LOCATION(double, MPI_DOUBLE_INT);
    LOCATION(long double, MPI_LONG_DOUBLE_INT);
    return conclude();
}
