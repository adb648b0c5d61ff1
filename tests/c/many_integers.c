/* Requests seen as integers, one after the other: the hundred-thousandth costs what the first did. usage: many_integers REQUESTS */
#include "check.h"

int main(int argc, char **argv)
{
    int requests;
    begin(&argc, &argv);
    requests = atoi(argv[1]);
    for (int i = 0; i < requests; i++) {
        int in = -1;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        int number = MPI_Request_toint(request);
        request = MPI_Request_fromint(number);
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(in, i);
    }
    return conclude();
}
