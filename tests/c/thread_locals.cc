/* Destructors of thread_locals run before those of statics, which they may use. */
#include <mpi.h>

#include <cstdio>
#include <string>

struct Registry {
    std::string state = "alive";
    ~Registry() { state = "gone"; }
};
static Registry registry;

struct Member {
    int rank = -1;
    ~Member() { std::printf("member of rank %d: registry %s\n", rank, registry.state.c_str()); }
};
static thread_local Member member;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &member.rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (argc > 1) std::exit(0);
}
