// C++ exceptions thrown by callbacks pass through the library, and it works on afterwards.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>

static int rank, size, failures;

#define CHECK(condition)                                                                                                \
    do {                                                                                                                \
        if (!(condition)) {                                                                                             \
            failures++;                                                                                                 \
            std::fprintf(stderr, "rank %d, line %d: expected %s\n", rank, __LINE__, #condition);                        \
        }                                                                                                               \
    } while (0)

extern "C" void thrower(MPI_Comm *, int *code, ...) { throw std::runtime_error("code " + std::to_string(*code)); }

static bool refuses = true;
extern "C" int refuse(MPI_Comm, int, void *, void *)
{
    if (refuses) throw 42;
    return MPI_SUCCESS;
}

template <typename Call> static bool throws(Call call)
{
    try {
        call();
    } catch (const std::runtime_error &error) {
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(thrower, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    int number = rank, sum = 0;
    for (int round = 0; round < 10; round++) {
        CHECK(throws([&] { MPI_Send(&number, -1, MPI_INT, 0, 0, comm); }));
        CHECK(throws([&] { MPI_Bcast(&number, 1, MPI_INT, size, comm); }));
        CHECK(throws([&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); }));
        MPI_Request request;
        int in;
        MPI_Irecv(&in, 1, MPI_INT, rank, 3, comm, &request);
        int two[2] = {1, 2};
        MPI_Send(two, 2, MPI_INT, rank, 3, comm);
        CHECK(throws([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }));
        CHECK(request == MPI_REQUEST_NULL);
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2);
    }
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, nullptr);
    MPI_Comm_set_attr(comm, key, nullptr);
    bool caught = false;
    try {
        MPI_Comm_delete_attr(comm, key);
    } catch (int) {
        caught = true;
    }
    CHECK(caught);
    refuses = false;
    MPI_Comm_free_keyval(&key);
    MPI_Barrier(comm);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && sum == 0) std::puts("no errors");
    return failures > 0;
}
