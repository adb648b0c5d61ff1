/* Requests seen as integers, one after the other: the hundred-thousandth costs what the first did. usage: many_integers REQUESTS */
#include "check.h"

int main(int argc, char **argv)
{
    int last = 0, distinct = 0;
    begin(&argc, &argv);
    for (int i = 0, requests = atoi(argv[1]); i < requests; i++) {
        int in = -1;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        MPI_Fint number = MPI_Request_c2f(request);
        distinct += number != last;
        last = number;
        request = MPI_Request_f2c(number);
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(in, i);
    }
    return conclude();
}
