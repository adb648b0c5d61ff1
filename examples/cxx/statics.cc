// C++ with statics that must be private to a rank: a template's static member, a function's static local, a global object
// with a constructor. Each rank counts in them; ranks that shared them would count too far.
#include <mpi.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

template <typename T> struct Counter {
    static long calls;
    static T total;
    static void add(T value)
    {
        calls++;
        total += value;
    }
};
template <typename T> long Counter<T>::calls = 0;
template <typename T> T Counter<T>::total = T();

struct Journal {
    std::vector<std::string> lines;
    Journal() { lines.push_back("made"); }
};
static Journal journal;

static int next_number()
{
    static int number = 0;
    return ++number;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    for (int i = 0; i <= rank; i++) {
        Counter<int>::add(i);
        Counter<double>::add(0.5);
        journal.lines.push_back("rank " + std::to_string(rank));
        next_number();
        MPI_Barrier(MPI_COMM_SELF);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bool right = Counter<int>::calls == rank + 1 && Counter<int>::total == rank * (rank + 1) / 2 &&
                 Counter<double>::total == 0.5 * (rank + 1) && next_number() == rank + 2 &&
                 journal.lines.size() == static_cast<size_t>(rank) + 2;
    try {
        if (!right) throw std::runtime_error("rank " + std::to_string(rank) + " shares its statics with another rank");
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
    }

    int mine = right, all;
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        std::ostringstream line;
        line << all << " of " << size << " ranks have statics of their own";
        std::cout << line.str() << std::endl;
    }
    MPI_Finalize();
    return right ? 0 : 1;
}
