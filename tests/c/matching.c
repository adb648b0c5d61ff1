/* A random program of point-to-point messages, compared with a sequential model of matching.
 *
 * usage: matching [SEED [THREADS [ROUNDS]]]
 *
 * All ranks draw the same list of messages from the seed. Each message has a thread that sends it and one that receives it, and threads do their
 * parts in the order of the list: whatever blocks, the first message that is not yet through can go on, so a right library never deadlocks.
 *
 * The messages to one rank on one communicator fall into *classes*: every receive of a class matches every message of it and no other, by an exact
 * source and tag or by wildcards. Where one thread sends and one thread receives a class, the k-th receive gets the k-th message. Where several do,
 * who gets what is open, so nothing of such a class blocks; but of two messages of one thread, the first goes to the first receive of another. */
#include "check.h"
#include <pthread.h>

enum { MESSAGES = 160, COMMS = 3, TAGS = 3, MOST_THREADS = 8, MOST_RANKS = 16, MOST_BYTES = 300000, BUFFERED = 20000 };
enum kind { EXACT, ANY_SOURCE, ANY_TAG, OPEN, KINDS };
enum send { SEND, SSEND, BSEND, ISEND, ISSEND, SEND_INIT, SENDS };
enum receive { RECV, PROBE, MPROBE, IMPROBE, IRECV, RECV_INIT, RECEIVES };

struct message {
    int from, sender, to, receiver, comm, tag, bytes, class;
    enum send send;
    enum receive receive;
    int determined; /* what the receive of this place in the list gets */
};

static struct message list[MESSAGES];
static enum kind kinds[COMMS][MOST_RANKS];
static int got[MESSAGES]; /* by the receive's place in the list: the message that came */
static MPI_Comm comms[COMMS];
static int threads = 1;
static unsigned long long drawn;

static unsigned draw(unsigned below)
{
    drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(drawn >> 33) % below;
}

/* The last communicator has its ranks in reverse. */
static int member(int comm, int world) { return comm == COMMS - 1 ? size - 1 - world : world; }

static int length(void)
{
    static const int around[] = {16, 64, 2000, 2048, 8192, 16384, 65536, 131072};
    if (draw(3) > 0) return 8 + (int)draw(40);
    return around[draw(8)] + (int)draw(64) - 8;
}

static int class_of(const struct message *m)
{
    int pair = (m->comm * MOST_RANKS + m->to) * MOST_RANKS * (TAGS + 1);
    switch (kinds[m->comm][m->to]) {
    case EXACT: return pair + m->from * (TAGS + 1) + m->tag;
    case ANY_SOURCE: return pair + m->tag;
    case ANY_TAG: return pair + m->from * (TAGS + 1);
    default: return pair;
    }
}

static void draw_list(void)
{
    for (int comm = 0; comm < COMMS; comm++)
        for (int to = 0; to < size; to++) kinds[comm][to] = (enum kind)draw(KINDS);
    /* Few pairs of threads in some lists, so that classes are deep. */
    int spread = 1 + (int)draw(3);
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &list[i];
        m->from = (int)draw((unsigned)size), m->to = (int)draw((unsigned)size);
        m->sender = (int)draw((unsigned)threads), m->receiver = spread == 1 ? m->sender : (int)draw((unsigned)threads);
        m->comm = spread == 3 ? m->sender % COMMS : (int)draw(COMMS), m->tag = (int)draw(TAGS), m->bytes = length();
        m->send = (enum send)draw(SENDS), m->receive = (enum receive)draw(RECEIVES);
        m->class = class_of(m), m->determined = 1;
        if (m->send == BSEND && m->bytes > BUFFERED) m->send = SEND;
    }
    for (int i = 0; i < MESSAGES; i++)
        for (int j = 0; j < MESSAGES; j++)
            if (list[i].class == list[j].class
                && (list[i].from != list[j].from || list[i].sender != list[j].sender || list[i].receiver != list[j].receiver))
                list[i].determined = 0;
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &list[i];
        if (!m->determined || (m->from == m->to && m->sender == m->receiver)) { /* nothing that blocks */
            if (m->send < BSEND) m->send = (enum send)(m->send + ISEND);
            if (m->receive < IRECV) m->receive = m->determined || m->receive != IMPROBE ? IRECV : IMPROBE;
        }
    }
}

/* What a receive brought, whatever it was sent as. */
static void look(int place, const unsigned char *data, const MPI_Status *status)
{
    const struct message *m;
    int bytes, which;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    memcpy(&which, data, sizeof which);
    CHECK(bytes >= 8 && which >= 0 && which < MESSAGES);
    if (bytes < 8 || which < 0 || which >= MESSAGES) return;
    m = &list[which];
    got[place] = which;
    SAME(bytes, m->bytes);
    SAME(status->MPI_SOURCE, member(m->comm, m->from));
    SAME(status->MPI_TAG, m->tag);
    SAME(differs(data + 8, bytes - 8, m->from, which), -1);
}

struct pending {
    MPI_Request request;
    unsigned char *data;
    int place; /* of a receive; -1 of a send */
};

/* Waits for all in one of the ways there are. */
static void finish(struct pending *pending, int count, unsigned way)
{
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    int which[2 * MESSAGES], some, left = count, flag;
    for (int i = 0; i < count; i++) requests[i] = pending[i].request;
    while (left > 0) {
        some = 0;
        switch (way % 5) {
        case 0:
            MPI_Waitall(count, requests, statuses);
            for (some = 0; some < count; some++) which[some] = some;
            break;
        case 1:
            MPI_Waitany(count, requests, &which[0], &statuses[0]);
            some = 1;
            break;
        case 2: MPI_Waitsome(count, requests, &some, which, statuses); break;
        case 3:
            MPI_Testany(count, requests, &which[0], &flag, &statuses[0]);
            some = flag;
            break;
        default:
            which[0] = left - 1;
            MPI_Wait(&requests[left - 1], &statuses[0]);
            some = 1;
        }
        for (int i = 0; i < some; i++) {
            struct pending *done = &pending[which[i]];
            if (done->place >= 0) look(done->place, done->data, &statuses[i]);
            if (requests[which[i]] != MPI_REQUEST_NULL) MPI_Request_free(&requests[which[i]]); /* a persistent one */
            free(done->data);
        }
        left -= some;
    }
}

static void *work(void *argument)
{
    int me = (int)(size_t)argument, count = 0;
    struct pending pending[2 * MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *m = &list[i];
        MPI_Comm comm = comms[m->comm];
        MPI_Request request = MPI_REQUEST_NULL;
        if (m->from == rank && m->sender == me) {
            int to = member(m->comm, m->to);
            unsigned char *data = malloc(MOST_BYTES);
            memcpy(data, &i, sizeof i), memset(data + sizeof i, 0, 8 - sizeof i);
            fill(data + 8, m->bytes - 8, rank, i);
            switch (m->send) {
            case SEND: MPI_Send(data, m->bytes, MPI_BYTE, to, m->tag, comm); break;
            case SSEND: MPI_Ssend(data, m->bytes, MPI_BYTE, to, m->tag, comm); break;
            case BSEND: MPI_Bsend(data, m->bytes, MPI_BYTE, to, m->tag, comm); break;
            case ISEND: MPI_Isend(data, m->bytes, MPI_BYTE, to, m->tag, comm, &request); break;
            case ISSEND: MPI_Issend(data, m->bytes, MPI_BYTE, to, m->tag, comm, &request); break;
            default:
                MPI_Send_init(data, m->bytes, MPI_BYTE, to, m->tag, comm, &request);
                MPI_Start(&request);
            }
            if (request == MPI_REQUEST_NULL) free(data);
            else pending[count++] = (struct pending){request, data, -1};
        }
        if (m->to == rank && m->receiver == me) {
            enum kind kind = kinds[m->comm][m->to];
            int from = kind == ANY_SOURCE || kind == OPEN ? MPI_ANY_SOURCE : member(m->comm, m->from);
            int tag = kind == ANY_TAG || kind == OPEN ? MPI_ANY_TAG : m->tag, flag = 0;
            unsigned char *data = malloc(MOST_BYTES);
            MPI_Status status;
            MPI_Message message;
            request = MPI_REQUEST_NULL;
            switch (m->receive) {
            case RECV: MPI_Recv(data, MOST_BYTES, MPI_BYTE, from, tag, comm, &status); break;
            case PROBE:
                MPI_Probe(from, tag, comm, &status);
                MPI_Recv(data, MOST_BYTES, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
                break;
            case MPROBE:
                MPI_Mprobe(from, tag, comm, &message, &status);
                MPI_Mrecv(data, MOST_BYTES, MPI_BYTE, &message, &status);
                break;
            case IMPROBE:
                do MPI_Improbe(from, tag, comm, &flag, &message, &status);
                while (!flag && m->determined);
                if (flag) MPI_Imrecv(data, MOST_BYTES, MPI_BYTE, &message, &request);
                else MPI_Irecv(data, MOST_BYTES, MPI_BYTE, from, tag, comm, &request);
                break;
            case IRECV: MPI_Irecv(data, MOST_BYTES, MPI_BYTE, from, tag, comm, &request); break;
            default:
                MPI_Recv_init(data, MOST_BYTES, MPI_BYTE, from, tag, comm, &request);
                MPI_Start(&request);
            }
            if (request == MPI_REQUEST_NULL) look(i, data, &status), free(data);
            else pending[count++] = (struct pending){request, data, i};
        }
    }
    finish(pending, count, (unsigned)(drawn >> 40) + (unsigned)me);
    return NULL;
}

/* Every message came once, and in an order that a sequential execution could have. */
static void compare(void)
{
    int seen[MESSAGES] = {0};
    for (int i = 0; i < MESSAGES; i++) {
        if (list[i].to != rank) continue;
        CHECK(got[i] >= 0);
        if (got[i] < 0) continue;
        const struct message *receive = &list[i], *came = &list[got[i]];
        SAME(came->class, receive->class);
        SAME(seen[got[i]]++, 0);
        if (receive->determined) SAME(got[i], i); /* both are the k-th of their class */
        for (int j = 0; j < i; j++) {
            if (list[j].class != receive->class || list[j].receiver != receive->receiver || got[j] < 0) continue;
            const struct message *before = &list[got[j]];
            if (before->from == came->from && before->sender == came->sender) CHECK(got[j] < got[i]);
        }
    }
}

int main(int argc, char **argv)
{
    int provided, rounds = argc > 3 ? atoi(argv[3]) : 4;
    unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    threads = argc > 2 ? atoi(argv[2]) : 1;
    if (threads < 1 || threads > MOST_THREADS) return fprintf(stderr, "THREADS is %d, expected 1 to %d\n", threads, MOST_THREADS), 2;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST_RANKS || (threads > 1 && provided < MPI_THREAD_MULTIPLE)) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int comm = 0; comm < COMMS; comm++) MPI_Comm_split(MPI_COMM_WORLD, 0, member(comm, rank), &comms[comm]);
    int bytes = MESSAGES * (BUFFERED + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes);
    drawn = seed * 2654435761u + 12345;
    for (int round = 0; round < rounds; round++) {
        pthread_t others[MOST_THREADS];
        draw_list();
        for (int i = 0; i < MESSAGES; i++) got[i] = -1;
        for (size_t i = 1; i < (size_t)threads; i++) pthread_create(&others[i], NULL, work, (void *)i);
        work(NULL);
        for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
        compare();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    for (int comm = 0; comm < COMMS; comm++) MPI_Comm_free(&comms[comm]);
    if (failures) fprintf(stderr, "seed %llu, %d threads\n", seed, threads);
    return conclude();
}
