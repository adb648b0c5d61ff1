/* Calls whose arguments or results in Fortran are others than in C: starting, clocks, addresses, attributes, strings of unknown length, contents of datatypes, new processes. */
#include "corelace_fortran.h"

REPLACEABLE void ENTRY(init)(int *ierror)
{
    int code = CALL(Init)(NULL, NULL);
    if (code == MPI_SUCCESS) corelace_tell_fortran();
    ANSWER(code);
}
ALSO(ENTRY_F08(init), ENTRY(init));

REPLACEABLE void ENTRY(init_thread)(int *required, int *provided, int *ierror)
{
    int code = CALL(Init_thread)(NULL, NULL, *required, provided);
    if (code == MPI_SUCCESS) corelace_tell_fortran();
    ANSWER(code);
}
ALSO(ENTRY_F08(init_thread), ENTRY(init_thread));

REPLACEABLE void ENTRY(pcontrol)(int *level) { CALL(Pcontrol)(*level); }
ALSO(ENTRY_F08(pcontrol), ENTRY(pcontrol));

REPLACEABLE double ENTRY(wtime)(void) { return CALL(Wtime)(); }
REPLACEABLE double ENTRY(wtick)(void) { return CALL(Wtick)(); }
REPLACEABLE MPI_Aint ENTRY(aint_add)(MPI_Aint *base, MPI_Aint *disp) { return CALL(Aint_add)(*base, *disp); }
REPLACEABLE MPI_Aint ENTRY(aint_diff)(MPI_Aint *addr1, MPI_Aint *addr2) { return CALL(Aint_diff)(*addr1, *addr2); }

/* Says to the compiler that the memory may have changed: a call that it cannot look into. */
REPLACEABLE void ENTRY(f_sync_reg)(void *buf) { (void)buf; }
REPLACEABLE void ENTRY_F08TS(f_sync_reg)(void *buf) { (void)buf; }

/* A Fortran status is laid out as C's is, in both forms. */
REPLACEABLE void ENTRY(status_f2f08)(int *from, int *to, int *ierror)
{
    memcpy(to, from, sizeof(MPI_Status));
    ANSWER(MPI_SUCCESS);
}
ALSO(ENTRY_F08(status_f2f08), ENTRY(status_f2f08));
ALSO(ENTRY(status_f082f), ENTRY(status_f2f08));
ALSO(ENTRY_F08(status_f082f), ENTRY(status_f2f08));

REPLACEABLE void ENTRY(info_create_env)(int *info, int *ierror)
{
    MPI_Info c_info = MPI_INFO_NULL;
    int code = CALL(Info_create_env)(0, NULL, &c_info);
    if (code == MPI_SUCCESS) *info = info_out(c_info);
    ANSWER(code);
}
ALSO(ENTRY_F08(info_create_env), ENTRY(info_create_env));

/* Attributes. The library's own are variables for C and values for Fortran; MPI_WIN_BASE is an address for both. */
static MPI_Aint value_of(int keyval, void *value)
{
    switch (keyval) {
    case MPI_TAG_UB: case MPI_IO: case MPI_HOST: case MPI_WTIME_IS_GLOBAL: case MPI_APPNUM: case MPI_LASTUSEDCODE: case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT: case MPI_WIN_CREATE_FLAVOR: case MPI_WIN_MODEL:
        return *(int *)value;
    case MPI_WIN_SIZE:
        return *(MPI_Aint *)value;
    default:
        return corelace_attribute_out(value);
    }
}

#define ATTRIBUTES(name, Name, bearer)                                                                              \
    REPLACEABLE void ENTRY(name##_set_attr)(int *object, int *keyval, MPI_Aint *value, int *ierror)                 \
    {                                                                                                               \
        int code = CALL(Name##_set_attr)(bearer##_in(*object), *keyval, corelace_attribute_in(*value));             \
        ANSWER(code);                                                                                               \
    }                                                                                                               \
    ALSO(ENTRY_F08(name##_set_attr), ENTRY(name##_set_attr));                                                       \
    REPLACEABLE void ENTRY(name##_get_attr)(int *object, int *keyval, MPI_Aint *value, int *flag, int *ierror)      \
    {                                                                                                               \
        void *found = NULL;                                                                                         \
        int code = CALL(Name##_get_attr)(bearer##_in(*object), *keyval, &found, flag);                              \
        if (code == MPI_SUCCESS && *flag) *value = value_of(*keyval, found);                                        \
        ANSWER(code);                                                                                               \
    }                                                                                                               \
    ALSO(ENTRY_F08(name##_get_attr), ENTRY(name##_get_attr));
ATTRIBUTES(comm, Comm, comm)
ATTRIBUTES(type, Type, datatype)
ATTRIBUTES(win, Win, win)

REPLACEABLE void ENTRY(attr_put)(int *comm, int *keyval, int *value, int *ierror)
{
    int code = CALL(Comm_set_attr)(comm_in(*comm), *keyval, corelace_attribute_in(*value));
    ANSWER(code);
}

REPLACEABLE void ENTRY(attr_get)(int *comm, int *keyval, int *value, int *flag, int *ierror)
{
    void *found = NULL;
    int code = CALL(Comm_get_attr)(comm_in(*comm), *keyval, &found, flag);
    if (code == MPI_SUCCESS && *flag) *value = (int)value_of(*keyval, found);
    ANSWER(code);
}

/* Values of infos: Fortran says how much room there is without one for a zero at the end. */
REPLACEABLE void ENTRY(info_get)(int *info, char *key, int *valuelen, char *value, int *flag, int *ierror, size_t key_length, size_t value_length)
{
    char *c_key = corelace_stripped(key, key_length), *c_value = corelace_room(*valuelen > 0 ? (size_t)*valuelen + 1 : 1, 1);
    c_value[0] = 0;
    int code = CALL(Info_get)(info_in(*info), c_key, *valuelen, c_value, flag);
    if (code == MPI_SUCCESS && *flag) corelace_fill(value, value_length, c_value);
    free(c_key);
    free(c_value);
    ANSWER(code);
}
ALSO(ENTRY_F08(info_get), ENTRY(info_get));

REPLACEABLE void ENTRY(info_get_string)(int *info, char *key, int *buflen, char *value, int *flag, int *ierror, size_t key_length, size_t value_length)
{
    int room = *buflen > 0 ? *buflen + 1 : 0, is_asked_for = room > 0;
    char *c_key = corelace_stripped(key, key_length), *c_value = corelace_room((size_t)room + 1, 1);
    c_value[0] = 0;
    int code = CALL(Info_get_string)(info_in(*info), c_key, &room, c_value, flag);
    if (code == MPI_SUCCESS && *flag) {
        if (is_asked_for) corelace_fill(value, value_length, c_value);
        *buflen = room - 1;
    }
    free(c_key);
    free(c_value);
    ANSWER(code);
}
ALSO(ENTRY_F08(info_get_string), ENTRY(info_get_string));

REPLACEABLE void ENTRY(session_get_nth_pset)(int *session, int *info, int *n, int *pset_len, char *name, int *ierror, size_t length)
{
    int room = *pset_len > 0 ? *pset_len + 1 : 0, is_asked_for = room > 0;
    char *c_name = corelace_room((size_t)room + 1, 1);
    c_name[0] = 0;
    int code = CALL(Session_get_nth_pset)(session_in(*session), info_in(*info), *n, &room, c_name);
    if (code == MPI_SUCCESS) {
        if (is_asked_for) corelace_fill(name, length, c_name);
        else *pset_len = room - 1;
    }
    free(c_name);
    ANSWER(code);
}
ALSO(ENTRY_F08(session_get_nth_pset), ENTRY(session_get_nth_pset));

REPLACEABLE void ENTRY(session_init)(int *info, int *errhandler, int *session, int *ierror)
{
    MPI_Session c_session = MPI_SESSION_NULL;
    int code = CALL(Session_init)(info_in(*info), errhandler_in(*errhandler), &c_session);
    if (code == MPI_SUCCESS) {
        *session = session_out(c_session);
        corelace_tell_fortran();
    }
    ANSWER(code);
}
ALSO(ENTRY_F08(session_init), ENTRY(session_init));

REPLACEABLE void ENTRY(type_get_contents)(int *datatype, int *max_integers, int *max_addresses, int *max_datatypes, int *integers, MPI_Aint *addresses,
                                          int *datatypes, int *ierror)
{
    int ni = 0, na = 0, nd = 0, combiner;
    MPI_Datatype c_datatype = datatype_in(*datatype);
    MPI_Datatype *found = corelace_room(*max_datatypes > 0 ? (size_t)*max_datatypes : 0, sizeof *found);
    int code = CALL(Type_get_contents)(c_datatype, *max_integers, *max_addresses, *max_datatypes, integers, addresses, found);
    if (code == MPI_SUCCESS && PMPI_Type_get_envelope(c_datatype, &ni, &na, &nd, &combiner) == MPI_SUCCESS) {
        for (int i = 0; i < nd; i++) datatypes[i] = datatype_out(found[i]);
    }
    free(found);
    ANSWER(code);
}
ALSO(ENTRY_F08(type_get_contents), ENTRY(type_get_contents));

REPLACEABLE void ENTRY(type_get_contents_c)(int *datatype, MPI_Count *max_integers, MPI_Count *max_addresses, MPI_Count *max_large_counts, MPI_Count *max_datatypes,
                                            int *integers, MPI_Aint *addresses, MPI_Count *large_counts, int *datatypes, int *ierror)
{
    MPI_Count ni = 0, na = 0, nc = 0, nd = 0;
    int combiner;
    MPI_Datatype c_datatype = datatype_in(*datatype);
    MPI_Datatype *found = corelace_room(*max_datatypes > 0 ? (size_t)*max_datatypes : 0, sizeof *found);
    int code = CALL(Type_get_contents_c)(c_datatype, *max_integers, *max_addresses, *max_large_counts, *max_datatypes, integers, addresses, large_counts, found);
    if (code == MPI_SUCCESS && PMPI_Type_get_envelope_c(c_datatype, &ni, &na, &nc, &nd, &combiner) == MPI_SUCCESS) {
        for (MPI_Count i = 0; i < nd; i++) datatypes[i] = datatype_out(found[i]);
    }
    free(found);
    ANSWER(code);
}
ALSO(ENTRY_F08(type_get_contents_c), ENTRY(type_get_contents_c));

/* The address that is given back is of no use to programs without pointers of C, and what they hand over may be the buffer itself. */
#define DETACHES(name, Name, parameters, arguments, type)                               \
    REPLACEABLE void ENTRY(name) parameters                                             \
    {                                                                                   \
        void *found = NULL;                                                             \
        int code = CALL(Name) arguments;                                                \
        (void)address;                                                                  \
        ANSWER(code);                                                                   \
    }                                                                                   \
    REPLACEABLE void ENTRY_F08(name) parameters                                         \
    {                                                                                   \
        void *found = NULL;                                                             \
        int code = CALL(Name) arguments;                                                \
        if (code == MPI_SUCCESS) *(void **)address = found;                             \
        ANSWER(code);                                                                   \
    }
DETACHES(buffer_detach, Buffer_detach, (void *address, int *size, int *ierror), (&found, size), int)
DETACHES(buffer_detach_c, Buffer_detach_c, (void *address, MPI_Count *size, int *ierror), (&found, size), MPI_Count)
DETACHES(comm_detach_buffer, Comm_detach_buffer, (int *comm, void *address, int *size, int *ierror), (comm_in(*comm), &found, size), int)
DETACHES(comm_detach_buffer_c, Comm_detach_buffer_c, (int *comm, void *address, MPI_Count *size, int *ierror), (comm_in(*comm), &found, size), MPI_Count)
DETACHES(session_detach_buffer, Session_detach_buffer, (int *session, void *address, int *size, int *ierror), (session_in(*session), &found, size), int)
DETACHES(session_detach_buffer_c, Session_detach_buffer_c, (int *session, void *address, MPI_Count *size, int *ierror), (session_in(*session), &found, size),
         MPI_Count)

/* The arguments of a program: an array of strings up to the first blank one, `stride` bytes apart. */
static char **words(const char *argv, size_t length, size_t stride)
{
    size_t count = 0;
    char **list = corelace_room(1, sizeof *list);
    for (;; count++) {
        char *word = corelace_string(argv + count * stride, length);
        char **longer = corelace_room(count + 2, sizeof *longer);
        memcpy(longer, list, count * sizeof *list);
        free(list);
        list = longer;
        if (!*word) {
            free(word);
            list[count] = NULL;
            return list;
        }
        list[count] = word;
    }
}

static void forget(char **list)
{
    for (char **word = list; word && *word; word++) free(*word);
    free(list);
}

REPLACEABLE void ENTRY(comm_spawn)(char *command, char *argv, int *maxprocs, int *info, int *root, int *comm, int *intercomm, int *codes, int *ierror,
                                   size_t command_length, size_t argv_length)
{
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    char *c_command = corelace_string(command, command_length);
    char **c_argv = argv == corelace_argv_null_ ? NULL : words(argv, argv_length, argv_length);
    int code = CALL(Comm_spawn)(c_command, c_argv, *maxprocs, info_in(*info), *root, comm_in(*comm), &c_intercomm, errcodes(codes));
    *intercomm = comm_out(c_intercomm);
    free(c_command);
    forget(c_argv);
    ANSWER(code);
}
ALSO(ENTRY_F08(comm_spawn), ENTRY(comm_spawn));

REPLACEABLE void ENTRY(comm_spawn_multiple)(int *count, char *commands, char *argvs, int *maxprocs, int *infos, int *root, int *comm, int *intercomm, int *codes,
                                            int *ierror, size_t command_length, size_t argv_length)
{
    int rank = -1, n = 0;
    MPI_Comm c_comm = comm_in(*comm), c_intercomm = MPI_COMM_NULL;
    PMPI_Comm_rank(c_comm, &rank);
    /* Elsewhere the arguments need not be there at all. */
    if (rank == *root && *count > 0) n = *count;
    char **c_commands = corelace_room((size_t)n, sizeof *c_commands);
    char ***c_argvs = argvs == corelace_argvs_null_ || !n ? NULL : corelace_room((size_t)n, sizeof *c_argvs);
    for (int i = 0; i < n; i++) {
        c_commands[i] = corelace_string(commands + (size_t)i * command_length, command_length);
        if (c_argvs) c_argvs[i] = words(argvs + (size_t)i * argv_length, argv_length, (size_t)n * argv_length);
    }
    MPI_Info *c_infos = corelace_infos(infos, n);
    int code = CALL(Comm_spawn_multiple)(*count, c_commands, c_argvs, maxprocs, c_infos, *root, c_comm, &c_intercomm, errcodes(codes));
    *intercomm = comm_out(c_intercomm);
    for (int i = 0; i < n; i++) {
        free(c_commands[i]);
        if (c_argvs) forget(c_argvs[i]);
    }
    free(c_commands);
    free(c_argvs);
    free(c_infos);
    ANSWER(code);
}
ALSO(ENTRY_F08(comm_spawn_multiple), ENTRY(comm_spawn_multiple));
