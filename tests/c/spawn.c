/* Chapter 11: processes that come later. Without an argument this is the parent; what it starts are copies of this program, whose first argument says what to do. */
#include "check.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char *self;

/* What parents and children say to each other over an intercommunicator: every child gets a word of every parent, and a sum goes both ways. */
static void talk(MPI_Comm inter, int is_child, int expected)
{
    int peers = 0, me = -1, sum = 0, one = 1;
    MPI_Comm all;
    MPI_Comm_remote_size(inter, &peers);
    SAME(peers, expected);
    MPI_Comm_rank(inter, &me);
    for (int peer = 0; peer < peers; peer++) {
        int out = 100 * me + peer, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, peer, 7, &in, 1, MPI_INT, peer, 7, inter, MPI_STATUS_IGNORE);
        SAME(in, 100 * peer + me);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    SAME(sum, peers);
    MPI_Intercomm_merge(inter, is_child, &all);
    {
        int members, place, first = -1;
        static char large[300000];
        MPI_Comm_size(all, &members);
        MPI_Comm_rank(all, &place);
        if (place == 0) memset(large, 5, sizeof large), first = 17;
        MPI_Bcast(large, sizeof large, MPI_BYTE, 0, all);
        MPI_Bcast(&first, 1, MPI_INT, 0, all);
        CHECK(large[0] == 5 && large[sizeof large - 1] == 5 && first == 17);
        if (is_child) CHECK(place >= peers);
        {
            MPI_Win window;
            int *base, given = place, found = -1;
            MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, all, &base, &window);
            MPI_Win_fence(0, window);
            MPI_Put(&given, 1, MPI_INT, (place + 1) % members, 0, 1, MPI_INT, window);
            MPI_Win_fence(0, window);
            found = *base;
            SAME(found, (place + members - 1) % members);
            MPI_Win_free(&window);
        }
    }
    MPI_Comm_free(&all);
}

/* A failure of a child ends the job with it. */
static int end_child(MPI_Comm *parent)
{
    MPI_Comm gone;
    MPI_Comm_disconnect(parent);
    MPI_Comm_get_parent(&gone);
    CHECK(gone == MPI_COMM_NULL);
    MPI_Finalize();
    return failures > 0;
}

static int child(int argc, char **argv)
{
    MPI_Comm parent = MPI_COMM_NULL, inter;
    int *number, flag = 0, peers = 0;
    char port[MPI_MAX_PORT_NAME], name[MPI_MAX_OBJECT_NAME], directory[4096];
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    MPI_Comm_get_name(parent, name, &flag);
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    CHECK(flag);
    MPI_Comm_remote_size(parent, &peers);
    if (strcmp(argv[1], "talk") == 0) {
        SAME(argc, 4);
        CHECK(strcmp(argv[3], "two words") == 0);
        SAME(size, atoi(argv[2]));
        SAME(*number, 0);
        talk(parent, 1, peers);
    } else if (strcmp(argv[1], "multiple") == 0) {
        SAME(*number, rank < 2 ? 0 : 1);
        SAME(size, 3);
        CHECK(strcmp(argv[2], rank < 2 ? "a" : "b") == 0);
        talk(parent, 1, peers);
    } else if (strcmp(argv[1], "hints") == 0) {
        CHECK(getcwd(directory, sizeof directory) && strcmp(directory, "/") == 0);
        CHECK(getenv("CORELACE_OF_CHILD") && strcmp(getenv("CORELACE_OF_CHILD"), "yes") == 0);
        SAME(size, 2);
    } else if (strcmp(argv[1], "connect") == 0) {
        SAME(MPI_Lookup_name("ocean", MPI_INFO_NULL, port), MPI_SUCCESS);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        talk(inter, 1, peers);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(argv[1], "deep") == 0) {
        /* A grandchild knows its own parents only. */
        char *arguments[] = {"talk", "1", "two words", NULL};
        MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        talk(inter, 0, 1);
        MPI_Comm_disconnect(&inter);
    }
    return end_child(&parent);
}

static void spawning(int children)
{
    char number[16], *arguments[] = {"talk", number, "two words", NULL};
    int codes[16];
    MPI_Comm inter;
    sprintf(number, "%d", children);
    memset(codes, -1, sizeof codes);
    SAME(MPI_Comm_spawn(self, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes), MPI_SUCCESS);
    for (int i = 0; i < children; i++) SAME(codes[i], MPI_SUCCESS);
    talk(inter, 0, children);
    MPI_Comm_disconnect(&inter);
    CHECK(inter == MPI_COMM_NULL);
}

static void several(void)
{
    char *commands[] = {self, self}, *first[] = {"multiple", "a", NULL}, *second[] = {"multiple", "b", NULL};
    char **arguments[] = {first, second};
    int most[] = {2, 1}, codes[3] = {-1, -1, -1}, root = size - 1;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    SAME(MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, root, MPI_COMM_WORLD, &inter, codes), MPI_SUCCESS);
    for (int i = 0; i < 3; i++) SAME(codes[i], MPI_SUCCESS);
    talk(inter, 0, 3);
    MPI_Comm_disconnect(&inter);
}

static void hints(void)
{
    char *arguments[] = {"hints", NULL};
    int codes[3] = {-1, -1, -1}, children = 0;
    MPI_Comm inter;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "host", "localhost");
    MPI_Info_set(info, "soft", "1,2");
    MPI_Info_set(info, "env", "CORELACE_OF_CHILD=yes\nOTHER=1");
    SAME(MPI_Comm_spawn(self, arguments, 3, info, 0, MPI_COMM_SELF, &inter, codes), MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &children);
    SAME(children, 2);
    SAME(codes[1], MPI_SUCCESS);
    SAME(codes[2], MPI_ERR_SPAWN);
    MPI_Comm_disconnect(&inter);
    MPI_Info_set(info, "host", "moon.invalid");
    SAME(MPI_Comm_spawn(self, arguments, 3, info, 0, MPI_COMM_SELF, &inter, codes), MPI_ERR_SPAWN);
    MPI_Info_free(&info);
}

/* Every member learns that there is no such program. */
static void missing(void)
{
    int codes[2] = {-1, -1}, none = 0;
    char *arguments[] = {"talk", "1", NULL};
    MPI_Comm inter;
    SAME(MPI_Comm_spawn("no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes), MPI_ERR_SPAWN);
    SAME(codes[0], MPI_ERR_SPAWN);
    SAME(codes[1], MPI_ERR_SPAWN);
    SAME(MPI_Comm_spawn(self, arguments, 100000, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
    SAME(MPI_Comm_spawn(self, arguments, none, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE), MPI_ERR_ARG);
}

static void names_and_ports(void)
{
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "", *arguments[] = {"connect", NULL};
    MPI_Comm children, inter;
    if (rank == 0) {
        SAME(MPI_Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
        SAME(MPI_Lookup_name("ocean", MPI_INFO_NULL, found), MPI_ERR_NAME);
        SAME(MPI_Publish_name("ocean", MPI_INFO_NULL, port), MPI_SUCCESS);
        SAME(MPI_Publish_name("ocean", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        SAME(MPI_Lookup_name("ocean", MPI_INFO_NULL, found), MPI_SUCCESS);
        CHECK(strcmp(port, found) == 0);
    }
    MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    SAME(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_SUCCESS);
    talk(inter, 0, 2);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_disconnect(&children);
    if (rank == 0) {
        SAME(MPI_Unpublish_name("ocean", MPI_INFO_NULL, port), MPI_SUCCESS);
        SAME(MPI_Unpublish_name("ocean", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        SAME(MPI_Lookup_name("ocean", MPI_INFO_NULL, found), MPI_ERR_NAME);
        SAME(MPI_Close_port(port), MPI_SUCCESS);
        SAME(MPI_Close_port(port), MPI_ERR_PORT);
    }
    /* A port that is closed, and what is no port. */
    SAME(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    SAME(MPI_Comm_connect("somewhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    SAME(MPI_Comm_accept("corelace:1:0:0", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
}

/* Two members of the same world meet at a port, and through a socket. */
static void among_themselves(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int peers = 0, word = rank;
    if (size < 2) return;
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) SAME(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
    if (rank == 1) SAME(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
    if (rank < 2) {
        MPI_Comm_remote_size(inter, &peers);
        SAME(peers, 1);
        MPI_Sendrecv_replace(&word, 1, MPI_INT, 0, 1, 0, 1, inter, MPI_STATUS_IGNORE);
        SAME(word, 1 - rank);
        MPI_Comm_disconnect(&inter);
    }
    if (rank == 0) MPI_Close_port(port);
    if (rank < 2) {
        /* An abstract address: nothing is left of it. */
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int door = socket(AF_UNIX, SOCK_STREAM, 0), fd = door;
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%.90s", port);
        if (rank == 0) {
            CHECK(bind(door, (struct sockaddr *)&address, sizeof address) == 0 && listen(door, 1) == 0);
            MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
            fd = accept(door, NULL, NULL);
        } else {
            MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
        }
        SAME(MPI_Comm_join(fd, &inter), MPI_SUCCESS);
        word = rank;
        MPI_Sendrecv_replace(&word, 1, MPI_INT, 0, 1, 0, 1, inter, MPI_STATUS_IGNORE);
        SAME(word, 1 - rank);
        MPI_Comm_disconnect(&inter);
        close(fd);
        if (door != fd) close(door);
    }
}

/* Programs that end well without MPI_Init: every member learns it, and others of their job are not left behind. */
static void never_come(void)
{
    char *commands[] = {self, "true"}, *first[] = {"stays in MPI_Init", NULL}, **arguments[] = {first, MPI_ARGV_NULL};
    char text[MPI_MAX_ERROR_STRING] = "";
    int most[] = {2, 1}, codes[3] = {-1, -1, -1}, length;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter = MPI_COMM_NULL;
    int code = MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter, codes);
    SAME(code, MPI_ERR_SPAWN);
    SAME(codes[0], MPI_ERR_SPAWN);
    SAME(codes[1], MPI_ERR_SPAWN);
    SAME(codes[2], -1);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "of spawned job") && strstr(text, "ended without having called MPI_Init"));
    codes[0] = codes[1] = -1;
    SAME(MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, 0, MPI_COMM_WORLD, &inter, codes), MPI_ERR_SPAWN);
    for (int i = 0; i < 3; i++) SAME(codes[i], MPI_ERR_SPAWN);
    if (rank == 0) SAME(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
}

static MPI_Info within(const char *seconds)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", seconds);
    return info;
}

/* Waits at ports that end: a caller that has given up is met by nobody, and both sides always agree. */
static void limits(void)
{
    char port[MPI_MAX_PORT_NAME] = "", seconds[32], text[MPI_MAX_ERROR_STRING] = "";
    MPI_Comm inter;
    MPI_Info info;
    int length, peers = 0;
    if (size < 2) return;
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    info = within("0.1");
    if (rank == 1) {
        int code = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter);
        SAME(code, MPI_ERR_PORT);
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, "nobody has called MPI_Comm_accept within 0.100 s"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* The caller of before is gone. */
    if (rank == 0) SAME(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    MPI_Info_free(&info);
    info = within("soon");
    if (rank == 0) SAME(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_INFO);
    if (rank == 1) SAME(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_INFO);
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 24; round++) {
        int own = -1, theirs = -1;
        if (rank > 1) break;
        sprintf(seconds, "%.6f", rank == 0 ? 0.004 * (round % 5) : 0.003 * (round % 7));
        info = within(seconds);
        own = rank == 0 ? MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter)
                        : MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter);
        MPI_Info_free(&info);
        MPI_Sendrecv(&own, 1, MPI_INT, 1 - rank, 2, &theirs, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(own, theirs);
        CHECK(own == MPI_SUCCESS || own == MPI_ERR_PORT);
        if (own == MPI_SUCCESS) MPI_Comm_disconnect(&inter);
    }
    /* Without a hint of the one, with a generous one of the other. */
    info = within("1000000");
    if (rank == 0) SAME(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
    if (rank == 1) SAME(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
    MPI_Info_free(&info);
    if (rank < 2) {
        MPI_Comm_remote_size(inter, &peers);
        SAME(peers, 1);
        MPI_Comm_disconnect(&inter);
    }
    if (rank == 0) MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int *universe, flag;
    char *arguments[] = {"deep", NULL};
    self = argv[0];
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc > 1) return child(argc, argv);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
    CHECK(flag && *universe >= size);
    spawning(1);
    spawning(3);
    several();
    if (rank == 0) hints();
    missing();
    names_and_ports();
    among_themselves();
    never_come();
    limits();
    MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&parent);
    return conclude();
}
