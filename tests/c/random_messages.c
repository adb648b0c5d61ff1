/* Random messages against a model: usage: random_messages SEED [STEPS [THREADS]].
 *
 * In every step all ranks draw the same list of messages and walk through it in its order, so that
 * the first message that is not through can go on, whatever blocks. The messages to a rank on a
 * communicator are received by exact names or by wildcards. Where who gets what is open, nothing
 * blocks, and a tag names its message. Buffers are destroyed as soon as they may be. */
#include "random.h"

enum { COMMS = 3, MOST = 24, MOST_RANKS = 64, LONGEST = 400000, BUFFERED = 20000, TAGS = 1000 };
enum match { EXACT, ANY_SOURCE, ANY_TAG, OPEN, MATCHES };
enum send {
    ISEND,
    ISSEND,
    IBSEND,
    BSEND,
    SEND_INIT,
    OPEN_SENDS,
    READY = OPEN_SENDS,
    PARTS,
    SEND,
    SSEND,
    SSEND_INIT,
    SENDS
};
enum receive { RECV, PROBE, IPROBE, MPROBE, IMPROBE, IRECV, RECV_INIT, RECEIVES };

struct message {
    int from, to, comm, tag, bytes, parts[2], form;
    long elements, more; /* more: room that it does not need */
    enum match match;
    enum send send;
    enum receive receive;
    uint64_t key;
};

struct transfer {
    MPI_Request request;
    int message, sends, is_done, is_started, is_persistent;
    struct layout layout;
    struct room room;
};

struct state {
    struct job *job;
    MPI_Comm comms[COMMS];
    struct message list[MOST];
    struct transfer transfers[2 * MOST + 8], *pending[2 * MOST + 8];
    int messages, count, pending_count, came[MOST];
    struct draw mine;
};

static MPI_Datatype element_of(int bytes)
{
    return bytes == 1   ? MPI_BYTE
           : bytes == 2 ? MPI_UINT16_T
           : bytes == 4 ? MPI_INT
           : bytes == 8 ? MPI_DOUBLE
                        : MPI_C_DOUBLE_COMPLEX;
}

/* The last communicator has its ranks in reverse. */
static int member(int comm, int world) { return comm == COMMS - 1 ? size - 1 - world : world; }

static void draw_list(struct state *s, struct draw *from)
{
    enum match matches[COMMS][MOST_RANKS];
    for (int comm = 0; comm < COMMS; comm++)
        for (int to = 0; to < size; to++) matches[comm][to] = (enum match)draw(from, MATCHES);
    int focus = draw(from, 3) ? size : 2 <= size ? 2 : 1;
    s->messages = 1 + draw(from, MOST);
    for (int i = 0; i < s->messages; i++) {
        struct message *m = &s->list[i];
        m->from = draw(from, focus), m->to = draw(from, focus), m->comm = draw(from, COMMS);
        m->bytes = 1 << draw(from, 5), m->key = number(from), m->form = draw(from, 6);
        m->elements = some_length(from, LONGEST / m->bytes);
        m->more = draw(from, 4) == 0 ? 1 + draw(from, 40) : 0;
        m->match = matches[m->comm][m->to];
        if (m->match == OPEN) m->elements *= m->bytes, m->bytes = 1;
        m->send = (enum send)draw(from, m->match == OPEN ? PARTS + 1 : SENDS);
        m->receive = (enum receive)draw(from, RECEIVES);
        if (m->from == m->to && m->send > PARTS) m->send = ISEND;
        if (m->send == IBSEND || m->send == BSEND) m->elements %= BUFFERED / m->bytes + 1;
        m->parts[0] = 1 + draw(from, 6), m->parts[1] = 1 + draw(from, 6);
        int is_named = m->match == OPEN || m->match == ANY_SOURCE;
        m->tag = is_named ? TAGS + i : draw(from, 3);
        if (m->send == READY) m->tag = 2 * TAGS + i, m->match = EXACT;
        if (m->send == PARTS) {
            m->tag = 3 * TAGS + draw(from, 3), m->match = EXACT;
            m->elements = m->elements / (m->parts[0] * m->parts[1]) * m->parts[0] * m->parts[1];
        }
    }
}

static struct transfer *begun(struct state *s, int message, int sends)
{
    struct transfer *t = &s->transfers[s->count++];
    *t = (struct transfer){.request = MPI_REQUEST_NULL, .message = message, .sends = sends};
    return t;
}

static void later(struct state *s, struct transfer *t) { s->pending[s->pending_count++] = t; }

/* Nobody reads or writes the memory from here on. */
static void release(struct transfer *t)
{
    free_room(&t->room);
    forget(&t->layout);
}

static void prepare_send(struct state *s, struct transfer *t)
{
    const struct message *m = &s->list[t->message];
    int kind = m->send == PARTS ? 0 : draw(&s->mine, LAYOUTS);
    t->layout = laid_out(kind, m->elements, element_of(m->bytes), m->bytes, &s->mine);
    t->room = room_for(&t->layout, 1);
    set_block(&t->room, &t->layout, 0, m->key);
    want_block(&t->room, &t->layout, 0, m->key);
}

/* Where any may come, there is room for the longest. */
static void prepare_receive(struct state *s, struct transfer *t)
{
    const struct message *m = &s->list[t->message];
    if (m->match == OPEN) {
        long longest = 0;
        for (int i = 0; i < s->messages; i++)
            if (s->list[i].to == rank && s->list[i].elements * s->list[i].bytes > longest)
                longest = s->list[i].elements * s->list[i].bytes;
        t->layout = plain(longest + m->more, MPI_BYTE, 1);
    } else {
        int kind = m->send == PARTS ? 0 : draw(&s->mine, LAYOUTS);
        long more = m->send == PARTS ? 0 : m->more;
        t->layout = laid_out(kind, m->elements + more, element_of(m->bytes), m->bytes, &s->mine);
    }
    t->room = room_for(&t->layout, 1);
}

static void check_status(struct state *s, struct transfer *t, MPI_Status *status, const char *what)
{
    const struct message *m = &s->list[t->message];
    int count, elements, cancelled, from = member(m->comm, m->from);
    if (m->send != PARTS && (status->MPI_SOURCE != from || status->MPI_TAG != m->tag))
        wrong(s->job, "%s: from %d with tag %d, expected %d and %d (message %d)", what,
              status->MPI_SOURCE, status->MPI_TAG, from, m->tag, t->message);
    MPI_Test_cancelled(status, &cancelled);
    MPI_Get_elements(status, element_of(m->bytes), &elements);
    if (elements != m->elements || cancelled)
        wrong(s->job, "%s: %d elements, expected %ld (message %d, cancelled %d)", what, elements,
              m->elements, t->message, cancelled);
    if (t->layout.elements == 0 || m->match == OPEN || m->send == PARTS) return;
    MPI_Get_elements(status, t->layout.type, &elements);
    MPI_Get_count(status, t->layout.type, &count);
    long each = t->layout.elements / t->layout.count;
    long expected = m->elements % each ? MPI_UNDEFINED : m->elements / each;
    if (elements != m->elements || count != expected)
        wrong(s->job, "%s: count %d and %d elements, expected %ld and %ld (message %d)", what,
              count, elements, expected, m->elements, t->message);
}

/* Which message this is, where that is open. */
static void identify(struct state *s, struct transfer *t, const MPI_Status *status)
{
    if (s->list[t->message].match != OPEN) return;
    int named = status->MPI_TAG - TAGS;
    if (named < 0 || named >= s->messages || s->list[named].to != rank ||
        s->list[named].comm != s->list[t->message].comm)
        wrong(s->job, "tag %d is of no message to this rank", status->MPI_TAG);
    else t->message = named;
}

static void received(struct state *s, struct transfer *t, MPI_Status *status)
{
    char text[60];
    identify(s, t, status);
    const struct message *m = &s->list[t->message];
    if (s->came[t->message]++) wrong(s->job, "message %d came twice", t->message);
    check_status(s, t, status, "received");
    unsigned char bytes[32];
    for (long i = 0; i < m->elements; i++) {
        value(m->key, i, bytes, m->bytes);
        if (m->match == OPEN)
            memcpy(t->room.expected + t->room.origin + i * m->bytes, bytes, (size_t)m->bytes);
        else want(&t->room, &t->layout, 0, i, bytes);
    }
    snprintf(text, sizeof text, "message %d, sent by %d, received by %d", t->message, m->send,
             m->receive);
    check_room(s->job, &t->room, text);
}

static void done(struct state *s, struct transfer *t, MPI_Status *status)
{
    if (t->is_done++) wrong(s->job, "a request completed twice");
    if (t->sends) check_room(s->job, &t->room, "what was sent");
    else received(s, t, status);
    if (!t->is_persistent) release(t);
}

static void send(struct state *s, int i)
{
    const struct message *m = &s->list[i];
    struct transfer *t = begun(s, i, 1);
    prepare_send(s, t);
    void *data = start_of(&t->room);
    MPI_Comm comm = s->comms[m->comm];
    int count = t->layout.count, to = member(m->comm, m->to), is_left = 1;
    MPI_Datatype type = t->layout.type;
    t->is_persistent = m->send == SEND_INIT || m->send == SSEND_INIT || m->send == PARTS;
    switch (m->send) {
    case ISEND: MPI_Isend(data, count, type, to, m->tag, comm, &t->request); break;
    case ISSEND: MPI_Issend(data, count, type, to, m->tag, comm, &t->request); break;
    case IBSEND: MPI_Ibsend(data, count, type, to, m->tag, comm, &t->request); break;
    case SEND_INIT:
        if (m->form % 3 || m->elements * m->bytes > BUFFERED)
            MPI_Send_init(data, count, type, to, m->tag, comm, &t->request);
        else MPI_Bsend_init(data, count, type, to, m->tag, comm, &t->request);
        break;
    case SSEND_INIT: MPI_Ssend_init(data, count, type, to, m->tag, comm, &t->request); break;
    case READY:
        if (m->form % 3 == 0) MPI_Irsend(data, count, type, to, m->tag, comm, &t->request);
        else if (m->form % 3 == 1 && m->from != m->to)
            MPI_Rsend(data, count, type, to, m->tag, comm), is_left = 0;
        else MPI_Rsend_init(data, count, type, to, m->tag, comm, &t->request), t->is_persistent = 1;
        break;
    case PARTS: {
        int parts = m->parts[0];
        MPI_Psend_init(data, parts, m->elements / parts, type, to, m->tag, comm, MPI_INFO_NULL,
                       &t->request);
        break;
    }
    case BSEND: MPI_Bsend(data, count, type, to, m->tag, comm), is_left = 0; break;
    case SEND: MPI_Send(data, count, type, to, m->tag, comm), is_left = 0; break;
    default: MPI_Ssend(data, count, type, to, m->tag, comm), is_left = 0;
    }
    if (t->is_persistent && (m->send != PARTS || m->form % 2))
        MPI_Start(&t->request), t->is_started = 1;
    /* Some parts are ready here, the others when all is under way. */
    if (m->send == PARTS && t->is_started) MPI_Pready(m->form % m->parts[0], t->request);
    if (is_left) later(s, t);
    else check_room(s->job, &t->room, "what was sent"), release(t);
}

static void receive(struct state *s, int i)
{
    const struct message *m = &s->list[i];
    struct transfer *t = begun(s, i, 0);
    MPI_Comm comm = s->comms[m->comm];
    MPI_Status status;
    MPI_Message message;
    int from = m->match == EXACT || m->match == ANY_TAG ? member(m->comm, m->from) : MPI_ANY_SOURCE;
    int tag = m->match == EXACT || m->match == ANY_SOURCE ? m->tag : MPI_ANY_TAG, flag = 0;
    enum receive how = m->send == READY ? (m->form % 2 ? IRECV : RECV_INIT) : m->receive;
    prepare_receive(s, t);
    void *data = start_of(&t->room);
    int count = t->layout.count;
    MPI_Datatype type = t->layout.type;
    if (m->send == PARTS) {
        int parts = m->parts[1];
        MPI_Precv_init(data, parts, m->elements / parts, type, from, tag, comm, MPI_INFO_NULL,
                       &t->request);
        MPI_Start(&t->request);
        t->is_persistent = 1;
        later(s, t);
        return;
    }
    switch (how) {
    case RECV: MPI_Recv(data, count, type, from, tag, comm, &status); break;
    case PROBE:
    case IPROBE:
        if (how == PROBE) MPI_Probe(from, tag, comm, &status);
        else
            while (!flag) MPI_Iprobe(from, tag, comm, &flag, &status);
        identify(s, t, &status);
        check_status(s, t, &status, "probed");
        MPI_Recv(data, count, type, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        break;
    case MPROBE:
        MPI_Mprobe(from, tag, comm, &message, &status);
        identify(s, t, &status);
        check_status(s, t, &status, "probed");
        MPI_Mrecv(data, count, type, &message, &status);
        break;
    case IMPROBE:
        while (!flag) MPI_Improbe(from, tag, comm, &flag, &message, &status);
        MPI_Imrecv(data, count, type, &message, &t->request);
        break;
    case IRECV: MPI_Irecv(data, count, type, from, tag, comm, &t->request); break;
    default:
        MPI_Recv_init(data, count, type, from, tag, comm, &t->request);
        MPI_Start(&t->request);
        t->is_persistent = 1;
    }
    if (how >= IMPROBE) later(s, t);
    else done(s, t, &status);
}

/* Starts what is not started, and says that the parts are ready, in an order of this rank's own. */
static void make_ready(struct state *s)
{
    for (int i = 0; i < s->pending_count; i++) {
        struct transfer *t = s->pending[i];
        const struct message *m = &s->list[t->message];
        if (!t->sends || m->send != PARTS) continue;
        int parts = m->parts[0], already = t->is_started ? m->form % parts : -1,
            first = draw(&s->mine, parts);
        if (!t->is_started) MPI_Start(&t->request);
        for (int j = 0; j < parts; j++)
            if ((first + j) % parts != already) MPI_Pready((first + j) % parts, t->request);
    }
}

/* A part that has arrived is there. */
static void look_at_parts(struct state *s)
{
    unsigned char bytes[32];
    for (int i = 0; i < s->pending_count; i++) {
        struct transfer *t = s->pending[i];
        const struct message *m = &s->list[t->message];
        int parts = m->parts[1], part = m->form % parts, flag = 0;
        if (t->sends || m->send != PARTS) continue;
        MPI_Parrived(t->request, part, &flag);
        for (long j = 0; flag && j < m->elements / parts; j++) {
            long at = m->elements / parts * part + j;
            value(m->key, at, bytes, m->bytes);
            if (memcmp((char *)start_of(&t->room) + at * m->bytes, bytes, (size_t)m->bytes) != 0) {
                wrong(s->job, "part %d of message %d has arrived, and is not there", part,
                      t->message);
                break;
            }
        }
    }
}

/* Completes all in a way of this rank's own. */
static void complete(struct state *s)
{
    MPI_Request requests[2 * MOST + 8];
    MPI_Status statuses[2 * MOST + 8];
    int indices[2 * MOST + 8], count = s->pending_count, left = count, completed, index,
                               way = draw(&s->mine, 8);
    for (int i = 0; i < count; i++) requests[i] = s->pending[i]->request;
#define DONE(index, status) \
    s->pending[index]->request = requests[index], done(s, s->pending[index], status)
    switch (way) {
    case 0:
        MPI_Waitall(count, requests, statuses);
        for (int i = 0; i < count; i++) DONE(i, &statuses[i]);
        break;
    case 1:
        for (completed = 0; !completed;) MPI_Testall(count, requests, &completed, statuses);
        for (int i = 0; i < count; i++) DONE(i, &statuses[i]);
        break;
    case 2:
    case 3:
        for (; left > 0; left -= completed) {
            if (way == 2) MPI_Waitsome(count, requests, &completed, indices, statuses);
            else MPI_Testsome(count, requests, &completed, indices, statuses);
            for (int i = 0; i < completed; i++) DONE(indices[i], &statuses[i]);
        }
        break;
    case 4:
    case 5:
        while (left > 0) {
            if (way == 4) MPI_Waitany(count, requests, &index, statuses), completed = 1;
            else MPI_Testany(count, requests, &index, &completed, statuses);
            if (completed) DONE(index, statuses), left--;
        }
        break;
    default:
        for (int i = 0; i < count; i++) {
            index = way == 6 ? i : count - 1 - i;
            if (way == 6) MPI_Wait(&requests[index], statuses);
            else
                for (completed = 0; !completed;) MPI_Test(&requests[index], &completed, statuses);
            DONE(index, statuses);
        }
    }
}

/* Both sides have a request that can be started again, and both know it. */
static int may_repeat(const struct message *m)
{
    int is_persistent = m->send == SEND_INIT || m->send == SSEND_INIT;
    return m->send == PARTS || (is_persistent && m->receive == RECV_INIT && m->match != OPEN);
}

/* Starts these once more, with other data. */
static void repeat(struct state *s)
{
    struct transfer *others[2 * MOST + 8];
    int kept = 0, other_count = 0;
    for (int i = 0; i < s->messages; i++)
        if (may_repeat(&s->list[i])) s->list[i].key++, s->came[i] = 0;
    for (int i = 0; i < s->pending_count; i++) {
        struct transfer *t = s->pending[i];
        const struct message *m = &s->list[t->message];
        if (!t->is_persistent || !may_repeat(m)) {
            others[other_count++] = t;
            continue;
        }
        s->pending[kept++] = t;
        t->is_done = t->is_started = 0;
        memset(t->room.memory, 0xa5, (size_t)t->room.bytes);
        memset(t->room.expected, 0xa5, (size_t)t->room.bytes);
        if (t->sends) set_block(&t->room, &t->layout, 0, m->key);
        if (t->sends) want_block(&t->room, &t->layout, 0, m->key);
        if (!t->sends || m->send != PARTS) MPI_Start(&t->request);
    }
    s->pending_count = kept;
    make_ready(s);
    look_at_parts(s);
    complete(s);
    for (int i = 0; i < other_count; i++) later(s, others[i]);
}

static void free_all(struct state *s)
{
    for (int i = 0; i < s->pending_count; i++) {
        struct transfer *t = s->pending[i];
        if (t->is_persistent) MPI_Request_free(&t->request), release(t);
        if (t->request != MPI_REQUEST_NULL)
            wrong(s->job, "a completed request is not MPI_REQUEST_NULL");
    }
    s->pending_count = 0;
}

/* Between every rank and another: one message, sent and received in one call. */
static void both(struct state *s, struct draw *from)
{
    int shift = draw(from, size), to = (rank + shift) % size, source = (rank + size - shift) % size,
        how = draw(from, 4), count;
    long elements = some_length(from, 50000);
    uint64_t key = number(from);
    struct layout out =
        laid_out(how == 1 ? 0 : draw(&s->mine, LAYOUTS), elements, MPI_INT, 4, &s->mine);
    struct layout in =
        laid_out(how == 1 ? 0 : draw(&s->mine, LAYOUTS), elements, MPI_INT, 4, &s->mine);
    struct room sent = room_for(&out, 1), got = room_for(&in, 1);
    MPI_Status status;
    MPI_Request request;
    set_block(&sent, &out, 0, key + (uint64_t)rank);
    want_block(&sent, &out, 0, key + (uint64_t)rank);
    want_block(&got, &in, 0, key + (uint64_t)source);
    if (how == 1) {
        memcpy(got.memory, sent.memory, (size_t)got.bytes);
        MPI_Sendrecv_replace(start_of(&got), in.count, in.type, to, 9, source, 9, s->job->comm,
                             &status);
    } else if (how == 2) {
        MPI_Isendrecv(start_of(&sent), out.count, out.type, to, 9, start_of(&got), in.count,
                      in.type, source, 9, s->job->comm, &request);
        MPI_Wait(&request, &status);
    } else
        MPI_Sendrecv(start_of(&sent), out.count, out.type, to, 9, start_of(&got), in.count, in.type,
                     source, 9, s->job->comm, &status);
    MPI_Get_elements(&status, MPI_INT, &count);
    if (status.MPI_SOURCE != source || status.MPI_TAG != 9 || count != elements)
        wrong(s->job, "sent and received: %d elements from %d with tag %d", count,
              status.MPI_SOURCE, status.MPI_TAG);
    check_room(s->job, &sent, "sent and received, sent");
    check_room(s->job, &got, "sent and received, got");
    free_room(&sent), free_room(&got), forget(&out), forget(&in);
}

/* A receive that nobody sends to is cancelled; a send is, or its message is still whole. */
static void cancel(struct state *s, struct draw *from)
{
    int to = (rank + 1) % size, source = (rank + size - 1) % size, cancelled, others, flag,
        data = -1;
    int bytes = (int)some_length(from, 100000);
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Comm comm = s->job->comm;
    unsigned char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
    fill(out, bytes, rank, s->job->step);
    MPI_Irecv(&data, 1, MPI_INT, draw(from, 2) ? MPI_ANY_SOURCE : source, 4 * TAGS, comm,
              &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, to, 4 * TAGS + 1, comm, &requests[1]);
    MPI_Cancel(&requests[0]);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled || data != -1) wrong(s->job, "a receive that nobody sends to was not cancelled");
    /* A send that is not cancelled may wait for its receiver. */
    for (flag = 0; !flag;) {
        int there = 0;
        MPI_Test(&requests[1], &flag, &status);
        if (flag) break;
        MPI_Iprobe(source, 4 * TAGS + 1, comm, &there, MPI_STATUS_IGNORE);
        if (there) break;
    }
    int early = !flag;
    if (early) { /* its own sender may have cancelled it, since it was seen */
        MPI_Request receive;
        MPI_Irecv(in, bytes, MPI_BYTE, source, 4 * TAGS + 1, comm, &receive);
        MPI_Wait(&requests[1], &status);
        MPI_Test_cancelled(&status, &cancelled);
        MPI_Sendrecv(&cancelled, 1, MPI_INT, to, 4 * TAGS + 2, &others, 1, MPI_INT, source,
                     4 * TAGS + 2, comm, MPI_STATUS_IGNORE);
        if (others) MPI_Cancel(&receive);
        MPI_Wait(&receive, &status);
        MPI_Test_cancelled(&status, &flag);
        if (flag != others)
            wrong(s->job, "a send was cancelled: %d, its receive: %d", others, flag);
    } else {
        MPI_Test_cancelled(&status, &cancelled);
        memset(out, 0, (size_t)bytes);
        MPI_Sendrecv(&cancelled, 1, MPI_INT, to, 4 * TAGS + 2, &others, 1, MPI_INT, source,
                     4 * TAGS + 2, comm, MPI_STATUS_IGNORE);
        if (!others) MPI_Recv(in, bytes, MPI_BYTE, source, 4 * TAGS + 1, comm, MPI_STATUS_IGNORE);
    }
    if (!others && differs(in, bytes, source, s->job->step) >= 0)
        wrong(s->job, "a send that was not cancelled has other data");
    free(out), free(in);
}

static void step(struct state *s)
{
    struct draw from = of_step(s->job);
    int flag;
    MPI_Status status;
    if (draw(&from, 4) == 0) both(s, &from);
    if (draw(&from, 6) == 0) cancel(s, &from);
    draw_list(s, &from);
    s->count = 0;
    memset(s->came, 0, sizeof s->came);
    for (int i = 0; i < s->messages; i++)
        if (s->list[i].to == rank && s->list[i].send == READY) receive(s, i);
    MPI_Barrier(s->job->comm);
    for (int i = 0; i < s->messages; i++) {
        if (s->list[i].from == rank) send(s, i);
        if (s->list[i].to == rank && s->list[i].send != READY) receive(s, i);
    }
    make_ready(s);
    look_at_parts(s);
    complete(s);
    int repeats = draw(&from, 2);
    if (repeats) repeat(s);
    free_all(s);
    for (int i = 0; i < s->messages; i++)
        if (s->came[i] != (s->list[i].to == rank))
            wrong(s->job, "message %d came %d times", i, s->came[i]);
    MPI_Barrier(s->job->comm);
    for (int comm = 0; comm < COMMS; comm++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, s->comms[comm], &flag, &status);
        if (flag)
            wrong(s->job, "tag %d of %d is left on communicator %d", status.MPI_TAG,
                  status.MPI_SOURCE, comm);
    }
    MPI_Barrier(s->job->comm);
}

static void *work(void *given)
{
    struct state *s = calloc(1, sizeof *s);
    s->job = given;
    s->mine = (struct draw){mixed(seed * 37 + (uint64_t)rank * 64 + (uint64_t)s->job->thread)};
    for (int comm = 0; comm < COMMS; comm++)
        MPI_Comm_split(s->job->comm, 0, member(comm, rank), &s->comms[comm]);
    for (s->job->step = 0; s->job->step < steps; s->job->step++) {
        step(s);
        if (threads == 1 && s->job->step % 16 == 15) { /* waits for all that is buffered */
            void *buffer;
            int bytes;
            MPI_Buffer_detach(&buffer, &bytes);
            memset(buffer, 0x5a, (size_t)bytes);
            MPI_Buffer_attach(buffer, bytes);
        }
    }
    for (int comm = 0; comm < COMMS; comm++) MPI_Comm_free(&s->comms[comm]);
    free(s);
    return NULL;
}

/* What all threads send from. */
static void attach(void)
{
    int bytes = 2 * MOST_THREADS * MOST * (BUFFERED + MPI_BSEND_OVERHEAD + 64);
    MPI_Buffer_attach(malloc((size_t)bytes), bytes);
}

static void detach(void)
{
    void *buffer;
    int bytes;
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

int main(int argc, char **argv) { return run_jobs(argc, argv, work, attach, detach); }
