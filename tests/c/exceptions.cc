// A rank that calls MPI while it handles an exception finds its own exception afterwards, also if other ranks of the
// same thread throw and catch meanwhile.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

static int errors = 0;

static void expect(bool holds, const char *what) {
    if (!holds) {
        errors++;
        std::fprintf(stderr, "expected: %s\n", what);
    }
}

// Communicates during the unwinding of a stack.
struct Unwinding {
    ~Unwinding() {
        expect(std::uncaught_exceptions() == 1, "one exception on its way");
        MPI_Barrier(MPI_COMM_WORLD);
        expect(std::uncaught_exceptions() == 1, "one exception on its way after a barrier");
    }
};

int main(int argc, char **argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect(!std::current_exception(), "no exception of whoever ran here before");
    for (int turn = 0; turn < 4; turn++) {
        const std::string mine = std::to_string(rank) + "/" + std::to_string(turn);
        try {
            throw std::runtime_error(mine);
        } catch (const std::exception &) {
            // Ranks come here with different numbers of nested exceptions.
            if (rank % 2 == 1) {
                try {
                    throw rank;
                } catch (int) {
                    MPI_Barrier(MPI_COMM_WORLD);
                }
            } else {
                MPI_Barrier(MPI_COMM_WORLD);
            }
            try {
                throw;
            } catch (const std::exception &again) {
                expect(mine == again.what(), "the exception that this rank has thrown");
            }
        }
        expect(!std::current_exception(), "all exceptions handled");
        expect(std::uncaught_exceptions() == 0, "no exception on its way");
        if (rank % 2 == 0) {
            try {
                Unwinding unwinding;
                throw turn;
            } catch (int caught) {
                expect(caught == turn, "the number that this rank has thrown");
            }
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            expect(std::uncaught_exceptions() == 0, "no exception of another rank on its way");
        }
    }
    int all = 0;
    MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) std::puts("no errors");
    MPI_Finalize();
    return errors != 0;
}
