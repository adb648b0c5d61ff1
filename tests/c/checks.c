/* Misuse of MPI that `mpirun --check` finds: the first argument names the mistake. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_THREADS
#include <pthread.h>
#endif

static int rank, size;
static int data[4096], room[4096];

static void leaked_objects(void) {
    MPI_Comm copy;
    MPI_Datatype pair;
    MPI_Group group;
    MPI_Info info;
    for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Info_create(&info);
}

static void leaked_requests(void) {
    MPI_Request request;
    MPI_Send_init(data, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Isend(data, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &request);
    MPI_Recv(room, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Irecv(room + 8, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, &request);
}

static void unreceived(void) {
    if (rank == 0) MPI_Send(data, 5, MPI_INT, 1, 42, MPI_COMM_WORLD);
}

static void unreceived_long(void) {
    static int bulk[100000];
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(bulk, 100000, MPI_INT, 1, 43, MPI_COMM_WORLD, &request);
    }
}

static void changed_buffer(int count) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(data, count, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        data[count - 1]++;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(room, count, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void changed_persistent(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Send_init(data, 10, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2; i++) {
            data[1] = i; /* Between two uses: right. */
            MPI_Start(&request);
            if (i == 1) data[2]++;
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else if (rank == 1) {
        for (int i = 0; i < 2; i++) MPI_Recv(room, 10, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void overlapping_receives(void) {
    MPI_Request requests[2];
    int other = rank ^ 1;
    if (rank > 1) return;
    MPI_Irecv(room, 10, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(room + 9, 10, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(data, 10, MPI_INT, other, 1, MPI_COMM_WORLD);
    MPI_Send(data, 10, MPI_INT, other, 2, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void send_of_a_receive(void) {
    MPI_Request request;
    int other = rank ^ 1;
    if (rank > 1) return;
    MPI_Irecv(room, 10, MPI_INT, other, 1, MPI_COMM_WORLD, &request);
    MPI_Send(room, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
    MPI_Recv(data, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, 10, MPI_INT, other, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void aliased_collective(void) {
    MPI_Allreduce(data, data + 1, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void different_functions(void) {
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Bcast(data, 4, MPI_INT, 1, MPI_COMM_WORLD);
}

static void different_roots(void) {
    MPI_Bcast(data, 4, MPI_INT, rank == 1 ? 1 : 0, MPI_COMM_WORLD);
}

static void different_counts(void) {
    MPI_Allreduce(data, room, rank == 1 ? 3 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void different_ops(void) {
    MPI_Reduce(data, room, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
}

static void different_pending(void) {
    MPI_Request request;
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0) MPI_Ibarrier(copy, &request);
    else MPI_Ibcast(data, 4, MPI_INT, 1, copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
}

static void freed_handles(void) {
    MPI_Comm copy, stale;
    MPI_Request request, again;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    stale = copy;
    MPI_Comm_free(&copy);
    MPI_Barrier(stale);
    MPI_Irecv(room, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    again = request;
    MPI_Send(data, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
}

static void uncommitted(void) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Send(data, 1, pair, 0, 1, MPI_COMM_SELF);
    MPI_Type_free(&pair);
}

static void other_type(void) {
    float numbers[10];
    if (rank == 0) {
        MPI_Send(data, 10, MPI_INT, 1, 9, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(numbers, 10, MPI_FLOAT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The second of three messages is wrong, and receives complete in another order than they were posted. */
static void other_type_in_a_crowd(void) {
    MPI_Request requests[3];
    MPI_Status status;
    float numbers[10];
    if (rank == 0) {
        MPI_Send(data, 10, MPI_INT, 1, 9, MPI_COMM_WORLD);
        MPI_Send(data, 10, MPI_FLOAT, 1, 9, MPI_COMM_WORLD);
        MPI_Send(data, 10, MPI_INT, 1, 9, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Irecv(room, 10, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(numbers, 10, MPI_FLOAT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(room + 10, 10, MPI_UNSIGNED, 0, 9, MPI_COMM_WORLD, &requests[2]);
        for (int i = 2; i >= 0; i--) MPI_Wait(&requests[i], &status);
    }
}

/* Right: nothing is received from nobody, so its buffer may be any. */
static void null_neighbours(void) {
    MPI_Request requests[3];
    MPI_Irecv(room, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(room, 10, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(room, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(data, 10, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* Right: what was cancelled is not mixed up with what comes after it. */
static void cancelled_send(void) {
    static int bulk[100000];
    float number = 1;
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(bulk, 100000, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&number, 1, MPI_FLOAT, 1, 9, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_FLOAT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

#ifdef WITH_THREADS
static void *send_to_self(void *unused) {
    MPI_Send(data, 1, MPI_INT, rank, 1, MPI_COMM_SELF);
    return unused;
}

static void wrong_thread(void) {
    pthread_t thread;
    rank = 0;
    MPI_Request request;
    MPI_Irecv(room, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    pthread_create(&thread, NULL, send_to_self, NULL);
    pthread_join(thread, NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Both threads wait for each other with something else than MPI, so that the second call is certainly inside the first. */
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t knock = PTHREAD_COND_INITIALIZER;
static int stage;

static void go_on_to(int next) {
    pthread_mutex_lock(&door);
    stage = next;
    pthread_cond_broadcast(&knock);
    pthread_mutex_unlock(&door);
}

static void wait_until(int wanted) {
    pthread_mutex_lock(&door);
    while (stage != wanted) pthread_cond_wait(&knock, &door);
    pthread_mutex_unlock(&door);
}

static void reduce_slowly(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)length, (void)datatype;
    go_on_to(1);
    wait_until(2);
}

static void *call_meanwhile(void *unused) {
    int mine;
    wait_until(1);
    MPI_Comm_size(MPI_COMM_SELF, &mine);
    go_on_to(2);
    return unused;
}

static void two_threads(void) {
    pthread_t thread;
    MPI_Op slow;
    MPI_Op_create(reduce_slowly, 1, &slow);
    pthread_create(&thread, NULL, call_meanwhile, NULL);
    MPI_Reduce_local(data, room, 1, MPI_INT, slow);
    pthread_join(thread, NULL);
    MPI_Op_free(&slow);
}
#endif

int main(int argc, char **argv) {
    int provided;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(what, "two-threads") ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#define CASE(name, call) if (strcmp(what, name) == 0) call
    CASE("leaked-objects", leaked_objects());
    CASE("leaked-requests", leaked_requests());
    CASE("unreceived", unreceived());
    CASE("unreceived-long", unreceived_long());
    CASE("changed-short", changed_buffer(2));
    CASE("changed-long", changed_buffer(4096));
    CASE("changed-persistent", changed_persistent());
    CASE("overlapping-receives", overlapping_receives());
    CASE("send-of-a-receive", send_of_a_receive());
    CASE("aliased-collective", aliased_collective());
    CASE("different-functions", different_functions());
    CASE("different-roots", different_roots());
    CASE("different-counts", different_counts());
    CASE("different-ops", different_ops());
    CASE("different-pending", different_pending());
    CASE("freed-handles", freed_handles());
    CASE("uncommitted", uncommitted());
    CASE("other-type", other_type());
    CASE("cancelled-send", cancelled_send());
    CASE("null-neighbours", null_neighbours());
    CASE("other-type-in-a-crowd", other_type_in_a_crowd());
#ifdef WITH_THREADS
    CASE("wrong-thread", wrong_thread());
    CASE("two-threads", two_threads());
#endif
    MPI_Finalize();
    return 0;
}
