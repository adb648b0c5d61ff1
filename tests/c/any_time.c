/* What any thread may call at any time, at every thread level: several at once, while the main thread sends messages, makes errors
 * and duplicates communicators. Before MPI_Init and after MPI_Finalize, too, unless an argument asks for the threads alone. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 1500 };

static void returns(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static void infos(int round)
{
    MPI_Info info, copy;
    char key[16], value[16] = "", nth[MPI_MAX_INFO_KEY + 1];
    int flag = 0, keys = 0, length = sizeof value;
    sprintf(key, "key%d", round % 100);
    MPI_Info_create(&info);
    MPI_Info_set(info, key, "value");
    MPI_Info_set(info, "other", "x");
    MPI_Info_dup(info, &copy);
    MPI_Info_get_string(copy, key, &length, value, &flag);
    CHECK(flag && strcmp(value, "value") == 0);
    MPI_Info_get_nkeys(copy, &keys);
    SAME(keys, 2);
    MPI_Info_get_nthkey(copy, 1, nth);
    CHECK(strcmp(nth, "other") == 0);
    MPI_Info_delete(copy, key);
    MPI_Info_free(&copy);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
}

static void error_codes(void)
{
    int class = 0, code = 0, found = 0, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of paper");
    MPI_Error_class(code, &found);
    SAME(found, class);
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "out of paper") == 0 && length == 12);
    MPI_Error_string(MPI_ERR_RANK, text, &length);
    CHECK(strstr(text, "MPI_ERR_RANK"));
    SAME(MPI_Remove_error_string(code), MPI_SUCCESS);
    SAME(MPI_Remove_error_code(code), MPI_SUCCESS);
    SAME(MPI_Remove_error_class(class), MPI_SUCCESS);
}

static void keys_and_handlers(void)
{
    int keys[3] = {0};
    MPI_Errhandler handler;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[0], NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keys[1], NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keys[2], NULL);
    CHECK(keys[0] != keys[1] && keys[1] != keys[2]);
    MPI_Comm_free_keyval(&keys[0]);
    MPI_Type_free_keyval(&keys[1]);
    MPI_Win_free_keyval(&keys[2]);
    CHECK(keys[0] == MPI_KEYVAL_INVALID && keys[2] == MPI_KEYVAL_INVALID);
    MPI_Comm_create_errhandler(returns, &handler);
    CHECK(handler != MPI_ERRHANDLER_NULL);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
}

static void questions(int expect_initialized)
{
    int flag = -1, version = 0, subversion = -1, length = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    SAME(flag, expect_initialized);
    MPI_Finalized(&flag);
    CHECK(flag == 0 || flag == 1);
    MPI_Get_version(&version, &subversion);
    CHECK(version == 5 && subversion == 0);
    MPI_Get_library_version(text, &length);
    SAME(length, strlen(text));
}

/* Not among those of section 11.4.1, but here at any time. */
static void memory(void)
{
    void *piece = NULL;
    MPI_Alloc_mem(100, MPI_INFO_NULL, &piece);
    CHECK(piece != NULL);
    memset(piece, 1, 100);
    MPI_Free_mem(piece);
}

static void *work(void *unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        int flag = 1, level = -1;
        infos(round);
        error_codes();
        keys_and_handlers();
        questions(1);
        MPI_Is_thread_main(&flag);
        SAME(flag, 0);
        MPI_Query_thread(&level);
        SAME(level, MPI_THREAD_FUNNELED);
    }
    return NULL;
}

static void outside(int expect_initialized)
{
    questions(expect_initialized);
    memory();
    infos(expect_initialized);
    error_codes();
    keys_and_handlers();
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int level, flag = 0, after, before, alone = argc > 1;
    if (!alone) outside(0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SAME(level, MPI_THREAD_FUNNELED);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    after = (rank + 1) % size;
    before = (rank + size - 1) % size;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int round = 0; round < 300; round++) {
        MPI_Comm copy;
        MPI_Info info;
        int in = -1, code;
        MPI_Sendrecv(&rank, 1, MPI_INT, after, 1, &in, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(in, before);
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
        MPI_Info_free(&info);
        MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
        code = MPI_Send(&in, -1, MPI_INT, after, 1, copy);
        CHECK(code != MPI_SUCCESS);
        MPI_Comm_free(&copy);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    if (!alone) outside(1);
    if (rank == 0 && failures == 0) puts("no errors");
    return failures > 0;
}
