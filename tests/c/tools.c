/* Chapter 15: every function of the tools interface, and that what it says is so. */
#include "check.h"

enum { WORDS = 128 };

static unsigned long long as_number(MPI_T_cvar_handle handle)
{
    unsigned long long value = 0;
    SAME(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    return value;
}

static int cvar(const char *name)
{
    int index = -1;
    SAME(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    return index;
}

static int pvar(const char *name, int class)
{
    int index = -1;
    SAME(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
    return index;
}

/* Before MPI_Init: thresholds are noted, and hold when it returns. */
static void before(void)
{
    int provided = -1, number = 0, index, count = 0;
    MPI_T_cvar_handle handle;
    unsigned long long value = 5000;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    SAME(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    SAME(provided, MPI_THREAD_SINGLE);
    SAME(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided), MPI_SUCCESS);
    SAME(MPI_T_finalize(), MPI_SUCCESS);
    SAME(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
    CHECK(number > 20);
    index = cvar("eager_max");
    SAME(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    SAME(count, 1);
    CHECK(as_number(handle) > 0);
    SAME(MPI_T_cvar_write(handle, &value), MPI_SUCCESS);
    SAME(as_number(handle), 5000);
    SAME(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
}

static void controls(void)
{
    int number = 0, count, index, verbosity, bind, scope, length, items, choice = -1, other;
    char name[WORDS], text[WORDS];
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;
    unsigned long long value;
    MPI_T_cvar_get_num(&number);
    for (int i = 0; i < number; i++) {
        int name_length = WORDS, text_length = WORDS;
        SAME(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &enumeration, text, &text_length, &bind, &scope),
             MPI_SUCCESS);
        SAME(name_length, strlen(name) + 1);
        SAME(cvar(name), i);
        SAME(bind, MPI_T_BIND_NO_OBJECT);
        CHECK(scope == MPI_T_SCOPE_ALL_EQ || scope == MPI_T_SCOPE_READONLY);
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        SAME(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count), MPI_SUCCESS);
        if (enumeration != MPI_T_ENUM_NULL) {
            CHECK(type == MPI_INT);
            length = WORDS;
            SAME(MPI_T_enum_get_info(enumeration, &items, name, &length), MPI_SUCCESS);
            CHECK(items >= 2);
            SAME(MPI_T_cvar_read(handle, &choice), MPI_SUCCESS);
            CHECK(choice >= 0 && choice < items);
            length = WORDS;
            SAME(MPI_T_enum_get_item(enumeration, choice, &other, name, &length), MPI_SUCCESS);
            SAME(other, choice);
            CHECK(MPI_T_enum_get_item(enumeration, items, &other, name, &length) == MPI_T_ERR_INVALID_ITEM);
            if (scope != MPI_T_SCOPE_READONLY) CHECK(MPI_T_cvar_write(handle, &items) != MPI_SUCCESS);
        } else {
            CHECK(type == MPI_UNSIGNED_LONG_LONG);
        }
        if (scope == MPI_T_SCOPE_READONLY) {
            value = 1;
            SAME(MPI_T_cvar_write(handle, &value), MPI_T_ERR_CVAR_SET_NEVER);
        }
        SAME(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    }
    CHECK(MPI_T_cvar_get_info(number, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &items, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_get_index("speed", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_index("speed", NULL) == MPI_T_ERR_INVALID);
    length = 4;
    MPI_T_cvar_get_info(cvar("eager_max"), name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(strcmp(name, "eag") == 0);
    length = 0;
    MPI_T_cvar_get_info(cvar("eager_max"), name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    SAME(length, strlen("eager_max") + 1);
    MPI_T_cvar_handle_alloc(cvar("eager_max"), NULL, &handle, &count);
    SAME(as_number(handle), 5000); /* as it was set before MPI_Init */
    MPI_T_cvar_handle_free(&handle);
    MPI_T_cvar_handle_alloc(cvar("protocol"), NULL, &handle, &count);
    choice = 0;
    SAME(MPI_T_cvar_write(handle, &choice), MPI_T_ERR_CVAR_SET_NOT_NOW);
    MPI_T_cvar_handle_free(&handle);
}

/* Each algorithm of a collective gives the same. */
static void algorithms(void)
{
    int number = 0, count, items;
    MPI_T_cvar_handle handle;
    MPI_T_enum enumeration;
    MPI_T_cvar_get_info(cvar("allreduce_algorithm"), NULL, NULL, NULL, NULL, &enumeration, NULL, NULL, NULL, NULL);
    MPI_T_enum_get_info(enumeration, &items, NULL, NULL);
    MPI_T_cvar_handle_alloc(cvar("allreduce_algorithm"), NULL, &handle, &count);
    for (int algorithm = items - 1; algorithm >= 0; algorithm--) {
        int own[64], sum[64], found = -1;
        SAME(MPI_T_cvar_write(handle, &algorithm), MPI_SUCCESS);
        SAME(MPI_T_cvar_read(handle, &found), MPI_SUCCESS);
        SAME(found, algorithm);
        for (int i = 0; i < 64; i++) own[i] = rank + i;
        MPI_Allreduce(own, sum, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (number = 0; number < 64; number++) SAME(sum[number], size * number + size * (size - 1) / 2);
    }
    MPI_T_cvar_handle_free(&handle);
}

/* A ring of messages of a few sizes: one to the right, one from the left. */
static void ring(MPI_Comm comm, int bytes, int tag)
{
    static char out[200000], in[200000];
    int me, all;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    MPI_Sendrecv(out, bytes, MPI_BYTE, (me + 1) % all, tag, in, bytes, MPI_BYTE, (me + all - 1) % all, tag, comm,
                 MPI_STATUS_IGNORE);
}

static unsigned long long as_count(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    SAME(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    return value;
}

static MPI_T_pvar_handle gauge(MPI_T_pvar_session session, const char *name, int class, MPI_Comm *comm, int expected)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    SAME(MPI_T_pvar_handle_alloc(session, pvar(name, class), comm, &handle, &count), MPI_SUCCESS);
    SAME(count, expected);
    return handle;
}

static void infos_of_pvars(void)
{
    int number = 0, length;
    char name[WORDS], text[WORDS];
    MPI_T_pvar_get_num(&number);
    CHECK(number > 30);
    for (int i = 0; i < number; i++) {
        int verbosity, class, bind, readonly, continuous, atomic, name_length = WORDS, text_length = WORDS;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        SAME(MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &enumeration, text, &text_length, &bind,
                                 &readonly, &continuous, &atomic),
             MPI_SUCCESS);
        SAME(pvar(name, class), i);
        CHECK(type == (class == MPI_T_PVAR_CLASS_STATE ? MPI_INT
                       : class == MPI_T_PVAR_CLASS_TIMER || class == MPI_T_PVAR_CLASS_PERCENTAGE ? MPI_DOUBLE
                                                                                                 : MPI_UNSIGNED_LONG_LONG));
        CHECK((enumeration != MPI_T_ENUM_NULL) == (class == MPI_T_PVAR_CLASS_STATE));
        CHECK(readonly == !atomic);
    }
    CHECK(MPI_T_pvar_get_index("messages_sent", MPI_T_PVAR_CLASS_TIMER, &length) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
}

static void counters(void)
{
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle sent, bytes, eager, to_each, on_comm, comm_bytes, phase, waits, time, high, accesses, none;
    MPI_Comm dup;
    unsigned long long each[64] = {0}, members[64] = {0}, value = 7;
    int right = (rank + 1) % size, state = -1;
    double seconds = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    SAME(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    SAME(MPI_T_pvar_session_create(&other), MPI_SUCCESS);
    sent = gauge(session, "messages_sent", MPI_T_PVAR_CLASS_COUNTER, NULL, 1);
    bytes = gauge(session, "bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE, NULL, 1);
    eager = gauge(session, "sent_eager", MPI_T_PVAR_CLASS_COUNTER, NULL, 1);
    to_each = gauge(session, "messages_sent_to_each", MPI_T_PVAR_CLASS_COUNTER, NULL, size);
    on_comm = gauge(session, "comm_messages_sent", MPI_T_PVAR_CLASS_COUNTER, &dup, size);
    comm_bytes = gauge(session, "comm_bytes_received", MPI_T_PVAR_CLASS_AGGREGATE, &dup, size);
    phase = gauge(session, "phase", MPI_T_PVAR_CLASS_STATE, NULL, 1);
    waits = gauge(session, "waits", MPI_T_PVAR_CLASS_COUNTER, NULL, 1);
    time = gauge(session, "wait_time", MPI_T_PVAR_CLASS_TIMER, NULL, 1);
    high = gauge(session, "unexpected_depth_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL, 1);
    accesses = gauge(session, "accesses", MPI_T_PVAR_CLASS_COUNTER, NULL, 1);

    SAME(as_count(session, sent), 0);
    ring(dup, 8, 1);
    SAME(as_count(session, sent), 1); /* it is always there */
    SAME(as_count(session, bytes), 0); /* nobody has started it */
    SAME(MPI_T_pvar_start(session, sent), MPI_T_ERR_PVAR_NO_STARTSTOP);
    SAME(MPI_T_pvar_stop(session, sent), MPI_T_ERR_PVAR_NO_STARTSTOP);
    SAME(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    ring(dup, 8, 1);
    ring(dup, 100, 1);
    ring(MPI_COMM_WORLD, 50, 1);
    SAME(as_count(session, sent), 4);
    SAME(as_count(session, bytes), 158);
    SAME(as_count(session, eager), 3);
    SAME(MPI_T_pvar_read(session, to_each, each), MPI_SUCCESS);
    SAME(each[right], 4);
    SAME(MPI_T_pvar_read(session, on_comm, members), MPI_SUCCESS);
    SAME(members[right], 2);
    SAME(MPI_T_pvar_read(session, comm_bytes, members), MPI_SUCCESS);
    SAME(members[(rank + size - 1) % size], 108);
    SAME(MPI_T_pvar_stop(session, bytes), MPI_SUCCESS);
    ring(dup, 1000, 1);
    SAME(as_count(session, bytes), 158);
    SAME(as_count(session, eager), 4);
    SAME(MPI_T_pvar_readreset(session, eager, &value), MPI_SUCCESS);
    SAME(value, 4);
    SAME(as_count(session, eager), 0);
    SAME(MPI_T_pvar_readreset(session, sent, &value), MPI_SUCCESS);
    SAME(value, 5);
    SAME(as_count(session, sent), 0);
    SAME(MPI_T_pvar_reset(session, bytes), MPI_SUCCESS);
    SAME(as_count(session, bytes), 0);
    value = 1000;
    SAME(MPI_T_pvar_write(session, bytes, &value), MPI_SUCCESS);
    SAME(as_count(session, bytes), 1000);
    SAME(MPI_T_pvar_write(session, sent, &value), MPI_SUCCESS);
    SAME(as_count(session, sent), 1000);

    SAME(MPI_T_pvar_read(session, phase, &state), MPI_SUCCESS);
    SAME(state, 1);
    SAME(MPI_T_pvar_reset(session, phase), MPI_T_ERR_PVAR_NO_WRITE);
    SAME(MPI_T_pvar_write(session, phase, &state), MPI_T_ERR_PVAR_NO_WRITE);
    SAME(MPI_T_pvar_readreset(session, phase, &state), MPI_T_ERR_PVAR_NO_ATOMIC);
    SAME(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);

    /* Waits: of a hundred answers some are waited for. */
    for (int round = 0; round < 100; round++) {
        for (int peer = 1; rank == 0 && peer < size; peer++) {
            MPI_Recv(&state, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&state, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
        }
        if (rank > 0) MPI_Send(&state, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        if (rank > 0) MPI_Recv(&state, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank > 0) {
        CHECK(as_count(session, waits) >= 1);
        SAME(MPI_T_pvar_read(session, time, &seconds), MPI_SUCCESS);
        CHECK(seconds > 0 && seconds < 60);
    }
    if (size > 1) {
        MPI_T_pvar_handle depth = gauge(session, "unexpected_depth", MPI_T_PVAR_CLASS_LEVEL, NULL, 1);
        MPI_T_pvar_handle early = gauge(session, "unexpected_messages", MPI_T_PVAR_CLASS_COUNTER, NULL, 1);
        MPI_T_pvar_reset(session, high);
        MPI_T_pvar_reset(session, early);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            for (int i = 0; i < 5; i++) MPI_Send(&i, 1, MPI_INT, 1, 10 + i, dup);
            MPI_Send(&state, 1, MPI_INT, 1, 20, dup);
        } else if (rank == 1) {
            MPI_Recv(&state, 1, MPI_INT, 0, 20, dup, MPI_STATUS_IGNORE);
            CHECK(as_count(session, depth) >= 5);
            CHECK(as_count(session, early) >= 5);
            for (int i = 0; i < 5; i++) {
                int found;
                MPI_Recv(&found, 1, MPI_INT, 0, 10 + i, dup, MPI_STATUS_IGNORE);
                SAME(found, i);
            }
            CHECK(as_count(session, high) >= 5);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    {
        MPI_Win window;
        int *base, one = 1;
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        MPI_T_pvar_reset(session, accesses);
        MPI_Win_fence(0, window);
        MPI_Put(&one, 1, MPI_INT, right, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        SAME(as_count(session, accesses), 1);
        MPI_Win_free(&window);
    }

    CHECK(MPI_T_pvar_read(other, bytes, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, bytes, &value) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_alloc(session, pvar("comm_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE), NULL, &none, &state) ==
          MPI_T_ERR_INVALID);
    SAME(MPI_T_pvar_handle_free(session, &bytes), MPI_SUCCESS);
    CHECK(bytes == MPI_T_PVAR_HANDLE_NULL);
    SAME(MPI_T_pvar_session_free(&other), MPI_SUCCESS);
    SAME(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
    MPI_Comm_free(&dup);
}

struct heard {
    int events, calls_freed;
    long long peer, tag, bytes, stamp, dropped;
};

struct message {
    int peer, tag;
    unsigned long long bytes;
};

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct heard *heard = data;
    struct message message;
    unsigned long long bytes = 0;
    int source = -1;
    MPI_Count stamp = -1, now = -1;
    (void)registration;
    SAME(safety, MPI_T_CB_REQUIRE_NONE);
    SAME(MPI_T_event_copy(event, &message), MPI_SUCCESS);
    SAME(MPI_T_event_read(event, 2, &bytes), MPI_SUCCESS);
    CHECK(MPI_T_event_read(event, 3, &bytes) == MPI_T_ERR_INVALID_INDEX);
    SAME(bytes, message.bytes);
    SAME(MPI_T_event_get_source(event, &source), MPI_SUCCESS);
    SAME(MPI_T_event_get_timestamp(event, &stamp), MPI_SUCCESS);
    SAME(MPI_T_source_get_timestamp(source, &now), MPI_SUCCESS);
    CHECK(stamp >= heard->stamp && now >= stamp);
    heard->events++;
    heard->peer = message.peer;
    heard->tag = message.tag;
    heard->bytes = bytes;
    heard->stamp = stamp;
}

static void count_wait(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)event, (void)registration, (void)safety;
    ++*(int *)data;
}

static void lost(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety;
    SAME(source, 0);
    ((struct heard *)data)->dropped += count;
}

static void freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety;
    ((struct heard *)data)->calls_freed++;
}

static int event(const char *name)
{
    int index = -1;
    SAME(MPI_T_event_get_index(name, &index), MPI_SUCCESS);
    return index;
}

static void infos_of_events(void)
{
    int number = 0, sources = 0, length;
    char name[WORDS], text[WORDS];
    MPI_T_event_get_num(&number);
    CHECK(number >= 6);
    for (int i = 0; i < number; i++) {
        int verbosity, elements = 8, bind, name_length = WORDS, text_length = WORDS, keys = -1;
        MPI_Datatype types[8];
        MPI_Aint places[8];
        MPI_T_enum enumeration;
        MPI_Info info;
        SAME(MPI_T_event_get_info(i, name, &name_length, &verbosity, types, places, &elements, &enumeration, &info, text,
                                  &text_length, &bind),
             MPI_SUCCESS);
        SAME(event(name), i);
        CHECK(elements >= 1 && elements <= 3);
        SAME(places[0], 0);
        if (elements == 3) CHECK(types[0] == MPI_INT && types[2] == MPI_UNSIGNED_LONG_LONG && places[2] == 8);
        MPI_Info_get_nkeys(info, &keys);
        SAME(keys, 0);
        MPI_Info_free(&info);
    }
    CHECK(MPI_T_event_get_index("thunder", &length) == MPI_T_ERR_INVALID_NAME);
    MPI_T_source_get_num(&sources);
    for (int i = 0; i < sources; i++) {
        int name_length = WORDS, text_length = WORDS;
        MPI_T_source_order order;
        MPI_Count ticks, most;
        SAME(MPI_T_source_get_info(i, name, &name_length, text, &text_length, &order, &ticks, &most, NULL), MPI_SUCCESS);
        CHECK(order == MPI_T_SOURCE_ORDERED);
        CHECK(ticks == 1000000000 && most > ticks);
    }
    CHECK(MPI_T_source_get_info(sources, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

static void events(void)
{
    struct heard all = {0}, on_comm = {0}, large = {0}, flood = {0};
    int right = (rank + 1) % size, waited = 0, keys = -1, flag = 0, length = WORDS;
    char value[WORDS] = "";
    MPI_T_event_registration sends, comm_sends, offers, wait, many;
    MPI_Comm dup;
    MPI_Info info, used;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Info_create(&info);
    MPI_Info_set(info, "hint", "value");
    SAME(MPI_T_event_handle_alloc(event("send_begins"), NULL, info, &sends), MPI_SUCCESS);
    SAME(MPI_T_event_handle_alloc(event("comm_send_begins"), &dup, MPI_INFO_NULL, &comm_sends), MPI_SUCCESS);
    SAME(MPI_T_event_handle_alloc(event("rendezvous_begins"), NULL, MPI_INFO_NULL, &offers), MPI_SUCCESS);
    SAME(MPI_T_event_handle_alloc(event("wait_ends"), NULL, MPI_INFO_NULL, &wait), MPI_SUCCESS);
    SAME(MPI_T_event_handle_get_info(sends, &used), MPI_SUCCESS);
    MPI_Info_get_string(used, "hint", &length, value, &flag);
    CHECK(flag && strcmp(value, "value") == 0);
    MPI_Info_free(&used);
    SAME(MPI_T_event_handle_set_info(sends, MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_T_event_handle_get_info(sends, &used), MPI_SUCCESS);
    MPI_Info_get_nkeys(used, &keys);
    SAME(keys, 0);
    MPI_Info_free(&used);

    CHECK(MPI_T_event_callback_get_info(sends, MPI_T_CB_REQUIRE_NONE, &used) == MPI_T_ERR_INVALID);
    SAME(MPI_T_event_register_callback(sends, MPI_T_CB_REQUIRE_NONE, info, &all, hear), MPI_SUCCESS);
    SAME(MPI_T_event_callback_get_info(sends, MPI_T_CB_REQUIRE_NONE, &used), MPI_SUCCESS);
    MPI_Info_get_nkeys(used, &keys);
    SAME(keys, 1);
    MPI_Info_free(&used);
    SAME(MPI_T_event_callback_set_info(sends, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(sends, (MPI_T_cb_safety)77, info, &all, hear) == MPI_T_ERR_INVALID);
    SAME(MPI_T_event_register_callback(comm_sends, MPI_T_CB_REQUIRE_MPI_RESTRICTED, info, &on_comm, hear), MPI_SUCCESS);
    SAME(MPI_T_event_register_callback(offers, MPI_T_CB_REQUIRE_NONE, info, &large, hear), MPI_SUCCESS);
    SAME(MPI_T_event_register_callback(wait, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, info, &waited, count_wait), MPI_SUCCESS);
    MPI_Info_free(&info);

    ring(MPI_COMM_WORLD, 40, 3);
    SAME(all.events, 1);
    SAME(all.peer, right);
    SAME(all.tag, 3);
    SAME(all.bytes, 40);
    ring(dup, 60, 4);
    SAME(all.events, 2);
    SAME(on_comm.events, 1);
    SAME(on_comm.bytes, 60);
    if (rank == 0 && size > 1) {
        static char out[100000];
        MPI_Request request;
        MPI_Isend(out, sizeof out, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(large.events, 1);
        SAME(large.bytes, 100000);
    } else if (rank == 1) {
        static char in[100000];
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, sizeof in, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_T_event_register_callback(sends, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL), MPI_SUCCESS);
    keys = all.events;
    ring(MPI_COMM_WORLD, 40, 3);
    SAME(all.events, keys); /* no callback any more */
    SAME(MPI_T_event_handle_free(sends, &all, freed), MPI_SUCCESS);
    SAME(all.calls_freed, 1);
    CHECK(MPI_T_event_handle_free(sends, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_event_handle_free(comm_sends, NULL, NULL);
    MPI_T_event_handle_free(offers, NULL, NULL);

    /* More events in one call than wait: those that are not told are counted. */
    MPI_T_event_handle_alloc(event("receive_matches"), NULL, MPI_INFO_NULL, &many);
    MPI_T_event_register_callback(many, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &flood, hear);
    SAME(MPI_T_event_set_dropped_handler(many, lost), MPI_SUCCESS);
    {
        enum { FLOOD = 5000 };
        MPI_Request *requests = malloc(2 * FLOOD * sizeof *requests);
        int *numbers = malloc(FLOOD * sizeof *numbers), before;
        MPI_Barrier(dup);
        for (int i = 0; i < FLOOD; i++) MPI_Recv_init(numbers + i, 1, MPI_INT, rank, 9, dup, requests + i);
        for (int i = 0; i < FLOOD; i++) MPI_Send_init(&rank, 1, MPI_INT, rank, 9, dup, requests + FLOOD + i);
        before = flood.events;
        MPI_Startall(2 * FLOOD, requests);
        MPI_Waitall(2 * FLOOD, requests, MPI_STATUSES_IGNORE);
        SAME(flood.events - before + flood.dropped, FLOOD);
        CHECK(flood.dropped > 0);
        for (int i = 0; i < 2 * FLOOD; i++) MPI_Request_free(requests + i);
        free(requests);
        free(numbers);
    }
    MPI_T_event_handle_free(many, NULL, NULL);
    MPI_T_event_handle_free(wait, NULL, NULL);
    MPI_Comm_free(&dup);
}

static void categories(void)
{
    int number = 0, stamp = -1, all_cvars = 0, all_pvars = 0, all_events = 0, cvars, pvars, events_, parts, expected;
    char name[WORDS], text[WORDS];
    MPI_T_category_get_num(&number);
    for (int i = 0; i < number; i++) {
        int name_length = WORDS, text_length = WORDS, index = -1, list[WORDS];
        SAME(MPI_T_category_get_info(i, name, &name_length, text, &text_length, &cvars, &pvars, &parts), MPI_SUCCESS);
        SAME(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
        SAME(index, i);
        SAME(MPI_T_category_get_num_events(i, &events_), MPI_SUCCESS);
        list[0] = -1;
        SAME(MPI_T_category_get_cvars(i, WORDS, list), MPI_SUCCESS);
        CHECK((list[0] >= 0) == (cvars > 0));
        list[0] = -1;
        SAME(MPI_T_category_get_pvars(i, WORDS, list), MPI_SUCCESS);
        CHECK((list[0] >= 0) == (pvars > 0));
        list[0] = -1;
        SAME(MPI_T_category_get_events(i, WORDS, list), MPI_SUCCESS);
        CHECK((list[0] >= 0) == (events_ > 0));
        list[0] = -1;
        SAME(MPI_T_category_get_categories(i, WORDS, list), MPI_SUCCESS);
        CHECK((list[0] >= 0) == (parts > 0));
        all_cvars += cvars;
        all_pvars += pvars;
        all_events += events_;
    }
    MPI_T_cvar_get_num(&expected);
    SAME(all_cvars, expected);
    MPI_T_pvar_get_num(&expected);
    SAME(all_pvars, expected);
    MPI_T_event_get_num(&expected);
    SAME(all_events, expected);
    SAME(MPI_T_category_changed(&stamp), MPI_SUCCESS);
    SAME(stamp, 0);
    CHECK(MPI_T_category_get_index("weather", &expected) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_num_events(number, &expected) == MPI_T_ERR_INVALID_INDEX);
}

int main(int argc, char **argv)
{
    int status, number;
    before();
    begin(&argc, &argv);
    controls();
    algorithms();
    infos_of_pvars();
    counters();
    infos_of_events();
    events();
    categories();
    status = conclude();
    if (MPI_T_cvar_get_num(&number) != MPI_SUCCESS) status = 1; /* after MPI_Finalize, too */
    if (MPI_T_finalize() != MPI_SUCCESS) status = 1;
    if (MPI_T_finalize() != MPI_T_ERR_NOT_INITIALIZED) status = 1;
    return status;
}
