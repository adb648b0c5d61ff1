/* Computes in ways that a counter in the wrong place would spoil: flags that live over several jumps, carries, jump tables, recursion, variables of
 * the thread, copies of the C library, floating-point comparisons. Prints a sum of everything, and the virtual time of a loop with ARGUMENT divisions. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread uint64_t of_thread = 3;

static __attribute__((noinline)) int three_way(long a, long b) { return a < b ? -1 : a == b ? 0 : 1; }

static __attribute__((noinline)) unsigned __int128 wide(unsigned __int128 a, unsigned __int128 b) { return a * 3 + b - (a >> 5); }

static __attribute__((noinline)) uint64_t chosen(unsigned which, uint64_t x)
{
    switch (which % 9) {
    case 0: return x + 1;
    case 1: return x * 7;
    case 2: return x ^ (x >> 3);
    case 3: return x / 5;
    case 4: return x % 11;
    case 5: return ~x;
    case 6: return x << 2;
    case 7: return (uint64_t)three_way((long)x, 1000);
    default: return x - which;
    }
}

static __attribute__((noinline)) uint64_t fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static int compare(const void *a, const void *b) { return three_way(*(const long *)a, *(const long *)b); }

static __attribute__((noinline)) uint64_t texts(size_t length)
{
    char from[512], to[512];
    memset(from, 'a', sizeof from);
    from[length] = 0;
    memcpy(to, from, length + 1);
    memmove(to + 1, to, length);
    return strlen(to) + (uint64_t)to[length / 2];
}

static __attribute__((noinline)) double divided(long n, double by)
{
    double sum = 0;
    for (long i = 0; i < n; i++) sum += (double)i / by;
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long n = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t sum = fibonacci(15);
    long numbers[100];
    for (unsigned i = 0; i < 2000; i++) {
        sum = sum * 31 + chosen(i, sum);
        of_thread += sum & 7;
        numbers[i % 100] = (long)(sum >> 40);
    }
    qsort(numbers, 100, sizeof *numbers, compare);
    for (int i = 0; i < 100; i++) sum += (uint64_t)numbers[i] * (uint64_t)i;
    unsigned __int128 large = wide((unsigned __int128)sum << 60, sum);
    double real = 0;
    for (int i = 1; i < 300; i++) {
        double x = sqrt(i) * sin(i), y = fabs(x) > 10 ? x : -x;
        if (x < y || isnan(y)) real += y;
        else real -= x / i;
    }
    sum += (uint64_t)(large >> 64) + of_thread + texts(100 + n % 3);
    double began = MPI_Wtime();
    double quotient = divided(n, 3);
    double took = MPI_Wtime() - began;
    printf("sum %016llx, real %.9f, quotient %.6f\n", (unsigned long long)sum, real, quotient);
    fprintf(stderr, "%.0f ns\n", took * 1e9);
    MPI_Finalize();
    return 0;
}
