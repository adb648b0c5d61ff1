/* The floating-point environment belongs to a rank: rounding, traps and flags that one sets or raises are no other's. */
#include <mpi.h>

#include <cfenv>
#include <cstdio>

static int errors = 0;

static void expect(int holds, const char *what) {
    if (!holds) {
        errors++;
        fprintf(stderr, "expected: %s\n", what);
    }
}

int main(int argc, char **argv) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    int rank = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect(fegetround() == FE_TONEAREST, "the rounding of a fresh process");
    const int mine = modes[rank % 4];
    fesetround(mine);
    feclearexcept(FE_ALL_EXCEPT);
    volatile double one = 1.0, zero = 0.0, three = 3.0;
    const double third = one / three;
    volatile double infinite = rank == 1 ? one / zero : 0.0;
    (void)infinite;
    for (int turn = 0; turn < 4; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        expect(fegetround() == mine, "this rank's rounding");
        expect(one / three == third, "the same quotient as before");
        expect((fetestexcept(FE_DIVBYZERO) != 0) == (rank == 1), "the flags that this rank has raised");
    }
    fesetround(FE_TONEAREST);
    MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) puts("no errors");
    MPI_Finalize();
    return errors != 0;
}
