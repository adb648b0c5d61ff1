/* MPI_THREAD_MULTIPLE by lanes: threads on communicators of their own do not hold each other up; and what is under way on one communicator goes on while a
 * thread waits on another, however their lanes lie. "held" runs the first of these alone; the other word is "all". */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, COMMS = 8, ROUNDS = 40, LARGE = 300000 };

static MPI_Comm comms[COMMS];
static int large[2][LARGE];

/* A reduction on one communicator is held up in a function of the program's until another thread has done a thousand round trips on another. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int is_inside, trips;

static void patient_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    pthread_mutex_lock(&mutex);
    is_inside = 1;
    pthread_cond_broadcast(&moved);
    while (trips < 1000) pthread_cond_wait(&moved, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void *reduces(void *argument)
{
    MPI_Op op;
    int sum = 0, one = 1;
    MPI_Op_create(patient_sum, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, *(MPI_Comm *)argument);
    SAME(sum, size);
    MPI_Op_free(&op);
    return NULL;
}

static void held_up(MPI_Comm held, MPI_Comm other)
{
    pthread_t thread;
    int byte = 0, peer = rank ^ 1;
    if (size < 2) return; /* nothing to reduce */
    is_inside = trips = 0;
    pthread_create(&thread, NULL, reduces, &held);
    if (size == 2) { /* with more, some have nothing to combine before others have */
        pthread_mutex_lock(&mutex);
        while (!is_inside) pthread_cond_wait(&moved, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    if (peer < size)
        for (int trip = 0; trip < 1000; trip++) {
            MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            MPI_Irecv(&byte, 1, MPI_INT, peer, 0, other, &requests[trip % 3]);
            if (trip % 2) MPI_Send(&trip, 1, MPI_INT, peer, 0, other);
            else MPI_Isend(&trip, 1, MPI_INT, peer, 0, other, &requests[(trip + 1) % 3]);
            if (trip % 5) MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
            else {
                MPI_Wait(&requests[trip % 3], MPI_STATUS_IGNORE);
                if (trip % 2 == 0) MPI_Wait(&requests[(trip + 1) % 3], MPI_STATUS_IGNORE);
            }
            SAME(byte, trip);
        }
    pthread_mutex_lock(&mutex);
    trips = 1000;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

/* What rank 0 begins on one communicator must go on while it waits on another, until rank 1 says there that it is done. */
static void set_up(int from) { for (int i = 0; i < LARGE; i++) large[0][i] = from + i, large[1][i] = -1; }
static void is_filled(int from) { int same = 1; for (int i = 0; i < LARGE; i++) same &= large[1][i] == from + i; CHECK(same); }

static void goes_on(MPI_Comm a, MPI_Comm b, int way, int manner)
{
    MPI_Request request = MPI_REQUEST_NULL, answer;
    int word = 0, four = 4, sum = 0, flag;
    MPI_Status status;
    if (rank > 1) {
        if (way == 2) MPI_Iallreduce(&word, &sum, 1, MPI_INT, MPI_SUM, a, &request), MPI_Wait(&request, &status);
        return;
    }
    set_up(way);
    if (rank == 0) switch (way) {
        case 0: MPI_Isend(large[0], LARGE, MPI_INT, 1, 5, a, &request); break;
        case 1: MPI_Irecv(large[1], LARGE, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, a, &request); break;
        case 2: MPI_Iallreduce(&four, &sum, 1, MPI_INT, MPI_SUM, a, &request); break;
        case 3: break;
        case 4: {
            int bytes = LARGE * sizeof(int) + MPI_BSEND_OVERHEAD;
            MPI_Buffer_attach(malloc(bytes), bytes);
            MPI_Bsend(large[0], LARGE, MPI_INT, 1, 5, a);
            MPI_Buffer_iflush(&request);
            break;
        }
        case 5: MPI_Send_init(large[0], LARGE, MPI_INT, 1, 5, a, &request), MPI_Start(&request); break;
        case 6:
            MPI_Psend_init(large[0], 3, LARGE / 3, MPI_INT, 1, 5, a, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Pready_range(0, 2, request);
            break;
        case 7: MPI_Isendrecv(large[0], LARGE, MPI_INT, 1, 5, large[1], LARGE, MPI_INT, 1, 6, a, &request); break;
    }
    else {
        switch (way) {
        case 0: case 4: case 5: MPI_Recv(large[1], LARGE, MPI_INT, 0, 5, a, &status); break;
        case 1: MPI_Ssend(large[0], LARGE, MPI_INT, 0, 5, a); break;
        case 2: MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, a, &request), MPI_Wait(&request, &status); break;
        case 3:
            MPI_Issend(large[0], LARGE, MPI_INT, 0, 5, a, &request);
            MPI_Cancel(&request);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &flag);
            SAME(flag, 1);
            break;
        case 6:
            MPI_Precv_init(large[1], 3, LARGE / 3, MPI_INT, 0, 5, a, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Wait(&request, &status);
            MPI_Request_free(&request);
            break;
        case 7: MPI_Sendrecv(large[0], LARGE, MPI_INT, 0, 6, large[1], LARGE, MPI_INT, 0, 5, a, &status); break;
        }
        if (way != 1 && way != 2 && way != 3) is_filled(way);
        MPI_Send(&way, 1, MPI_INT, 0, 9, b);
        return;
    }
    switch (manner) { /* of waiting */
    case 0: MPI_Recv(&word, 1, MPI_INT, 1, 9, b, &status); break;
    case 1:
        for (flag = 0; !flag;) MPI_Iprobe(1, 9, b, &flag, &status);
        MPI_Recv(&word, 1, MPI_INT, 1, 9, b, &status);
        break;
    case 2:
        MPI_Irecv(&word, 1, MPI_INT, 1, 9, b, &answer);
        for (flag = 0; !flag;) MPI_Test(&answer, &flag, &status);
        break;
    case 3:
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, b, &status);
        MPI_Recv(&word, 1, MPI_INT, 1, 9, b, &status);
        break;
    }
    SAME(word, way);
    MPI_Wait(&request, &status);
    if (way == 1 || way == 7) is_filled(way);
    if (way == 2) SAME(sum, 4 + 1);
    if (way == 4) {
        void *buffer;
        MPI_Buffer_detach(&buffer, &word);
        free(buffer);
    }
    if (way == 5 || way == 6) MPI_Request_free(&request);
}

/* One call for requests of all communicators, which complete in another order. */
static void together(int form)
{
    MPI_Request requests[2 * COMMS];
    MPI_Status statuses[2 * COMMS];
    int in[COMMS], indices[2 * COMMS], next = (rank + 1) % size, before = (rank + size - 1) % size, left = 2 * COMMS;
    static int out[COMMS];
    for (int i = 0; i < COMMS; i++) {
        in[i] = -1, out[i] = rank * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? before : MPI_ANY_SOURCE, i % 3 ? form : MPI_ANY_TAG, comms[i], &requests[i]);
        SAME(MPI_Request_fromint(MPI_Request_toint(requests[i])) == requests[i], 1);
    }
    for (int i = COMMS - 1; i >= 0; i--) MPI_Issend(&out[i], 1, MPI_INT, next, form, comms[i], &requests[2 * COMMS - 1 - i]);
    while (left > 0) {
        int found = 0, flag = 0;
        switch (form) {
        case 0: MPI_Waitall(2 * COMMS, requests, statuses), found = left; break;
        case 1: MPI_Waitany(2 * COMMS, requests, &indices[0], statuses), found = 1; break;
        case 2: MPI_Waitsome(2 * COMMS, requests, &found, indices, statuses); break;
        case 3: MPI_Testall(2 * COMMS, requests, &flag, statuses), found = flag ? left : 0; break;
        case 4: MPI_Testany(2 * COMMS, requests, &indices[0], &flag, statuses), found = flag; break;
        case 5: MPI_Testsome(2 * COMMS, requests, &found, indices, statuses); break;
        case 6:
            MPI_Request_get_status_all(2 * COMMS, requests, &flag, statuses);
            if (flag) MPI_Waitall(2 * COMMS, requests, statuses), found = left;
            break;
        case 7: MPI_Wait(&requests[left - 1], statuses), found = 1; break;
        }
        CHECK(found >= 0 && found <= left);
        left -= found;
    }
    for (int i = 0; i < COMMS; i++) SAME(in[i], before * 100 + i);
    for (int i = 0; i < 2 * COMMS; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
}

/* Threads make, use and free communicators of all kinds, each from one of its own. */
static void in_use(MPI_Comm comm, int *wrong)
{
    int sum = 0, one = 1, members, remote = 0, inter;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_size(comm, &members);
    if (inter) MPI_Comm_remote_size(comm, &remote);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    *wrong += sum != (inter ? remote : members);
}

static void *makes(void *argument)
{
    int me = (int)(size_t)argument, *wrong = calloc(1, sizeof(int)), same;
    MPI_Comm mine = comms[me], made, other, merged;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        MPI_Group group;
        MPI_Comm_dup(mine, &made);
        in_use(made, wrong);
        MPI_Comm_compare(mine, made, &same);
        *wrong += same != MPI_CONGRUENT;
        MPI_Comm_idup(made, &other, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        in_use(other, wrong);
        MPI_Comm_free(&made);
        MPI_Comm_group(other, &group);
        MPI_Comm_create_group(other, group, round, &made);
        MPI_Group_free(&group);
        in_use(made, wrong);
        MPI_Comm_free(&other);
        MPI_Comm_split(made, rank % 2, rank, &other);
        in_use(other, wrong);
        MPI_Comm_free(&made);
        if (size > 1) {
            /* The leaders reach each other on a communicator that all threads use. */
            MPI_Intercomm_create(other, 0, comms[COMMS - 1], 1 - rank % 2, me, &made);
            in_use(made, wrong);
            MPI_Intercomm_merge(made, rank % 2, &merged);
            in_use(merged, wrong);
            MPI_Comm_free(&merged);
            MPI_Comm_disconnect(&made);
        }
        MPI_Comm_free(&other);
    }
    return wrong;
}

static void *in_a_session(void *argument)
{
    int me = (int)(size_t)argument, *wrong = calloc(1, sizeof(int));
    char name[32];
    for (int round = 0; round < ROUNDS / 4; round++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
        MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        snprintf(name, sizeof name, "thread %d", me);
        MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        in_use(comm, wrong);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Info_free(&info);
        MPI_Session_finalize(&session);
    }
    return wrong;
}

/* Every kind of collective in all lanes at once, with a datatype and an operation that all threads share. */
static MPI_Datatype pair;
static MPI_Op add_pairs;

static void pairwise(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent); /* a call about no communicator, from within one that is */
    for (int i = 0; i < *count * (int)(extent / (MPI_Aint)sizeof(int)); i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void *collects(void *argument)
{
    int me = (int)(size_t)argument, *wrong = calloc(1, sizeof(int)), out[2], in[2][2], all[2 * 64];
    for (int round = 0; round < 10 * ROUNDS; round++) {
        MPI_Request requests[3];
        out[0] = rank + me, out[1] = round;
        MPI_Iallreduce(out, in[0], 1, pair, add_pairs, comms[me], &requests[0]);
        MPI_Iallgather(out, 1, pair, all, 1, pair, comms[me + THREADS], &requests[1]);
        MPI_Iallreduce(out, in[1], 2, MPI_INT, MPI_SUM, comms[me], &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 2; k++)
            *wrong += in[k][0] != size * (size - 1) / 2 + size * me || in[k][1] != size * round;
        for (int r = 0; r < size; r++) *wrong += all[2 * r] != r + me || all[2 * r + 1] != round;
    }
    return wrong;
}

static void in_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        int *wrong;
        pthread_join(threads[i], (void **)&wrong);
        SAME(*wrong, 0);
        free(wrong);
    }
}

/* A generalized request that another thread completes, among requests of other lanes. */
static MPI_Request general;
static int done_query(void *state, MPI_Status *status) { MPI_Status_set_elements(status, MPI_INT, *(int *)state); MPI_Status_set_cancelled(status, 0); return MPI_SUCCESS; }
static int done_free(void *state) { (void)state; return MPI_SUCCESS; }
static int done_cancel(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }

static void *completes(void *argument)
{
    int byte;
    MPI_Recv(&byte, 1, MPI_INT, rank, 77, comms[4], MPI_STATUS_IGNORE);
    MPI_Grequest_complete(general);
    return argument;
}

static void generalized(void)
{
    int state = 3, in = 0, out = 6, count;
    pthread_t thread;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Grequest_start(done_query, done_free, done_cancel, &state, &general);
    pthread_create(&thread, NULL, completes, NULL);
    requests[1] = general;
    MPI_Irecv(&in, 1, MPI_INT, rank, 1, comms[2], &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, rank, 77, comms[4], &requests[2]);
    MPI_Send(&out, 1, MPI_INT, rank, 1, comms[2]);
    MPI_Waitall(3, requests, statuses);
    MPI_Get_elements(&statuses[1], MPI_INT, &count);
    SAME(count, 3);
    SAME(in, 6);
    pthread_join(thread, NULL);
}

/* A copy function calls about communicators of other lanes than that of the call that it is called by. */
static int copies(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    int in = -1, members;
    (void)comm, (void)key, (void)extra;
    for (int i = 0; i < COMMS; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, 3, comms[i], MPI_STATUS_IGNORE);
        MPI_Comm_size(comms[i], &members);
        if (in != i || members != size) return MPI_ERR_OTHER;
    }
    *(void **)copy = value, *flag = 1;
    return MPI_SUCCESS;
}

static void from_callbacks(void)
{
    int key, flag;
    void *value;
    MPI_Comm copy;
    MPI_Comm_create_keyval(copies, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comms[3], key, &key);
    SAME(MPI_Comm_dup(comms[3], &copy), MPI_SUCCESS);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(flag && value == &key);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(comms[3], key);
    MPI_Comm_free_keyval(&key);
}

/* Errors of a communicator in any lane go to its own handler. */
static int told;
static void tells(MPI_Comm *comm, int *code, ...) { (void)code; int is = 0; MPI_Comm_compare(*comm, comms[5], &is); told += is == MPI_IDENT; }

static void errors(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(tells, &handler);
    MPI_Comm_set_errhandler(comms[5], handler);
    CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, comms[5]) != MPI_SUCCESS);
    SAME(told, 1);
    MPI_Comm_set_errhandler(comms[5], MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SAME(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < COMMS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    held_up(comms[0], comms[1]);
    held_up(MPI_COMM_WORLD, comms[0]);
    if (argc > 1 && strcmp(argv[1], "all") == 0) {
        for (int way = 0; size > 1 && way < 8; way++)
            for (int b = 0; b < 3; b++)
                for (int manner = 0; manner < 4; manner++)
                    goes_on(comms[way % 3], b == way % 3 ? MPI_COMM_WORLD : comms[b], way, manner);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int form = 0; form < 8; form++) together(form);
        MPI_Type_vector(2, 1, 1, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(pairwise, 1, &add_pairs);
        in_threads(collects);
        MPI_Type_free(&pair);
        MPI_Op_free(&add_pairs);
        in_threads(makes);
        in_threads(in_a_session);
        generalized();
        from_callbacks();
        errors();
        /* Messages that nobody receives do not keep anybody from ending. */
        for (int i = 0; i < COMMS; i++) MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, comms[i]);
    }
    int code = conclude();
    return code;
}
