/* One-sided: wrong calls are told by the classes of the standard, and say whose window it was; what was there before stays. */
#include "check.h"

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

#define REFUSED(call, class) SAME(class_of(call), class)

static int says(int code, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    return strstr(text, words) != NULL;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int next = (rank + 1) % size, value = 3, other = 4, result = 0, flag;
    int *base;
    MPI_Win win, dynamic;
    MPI_Request request;
    MPI_Group all, none = MPI_GROUP_EMPTY;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_SIZE);
    REFUSED(MPI_Win_create(&value, 4, 0, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_DISP);
    REFUSED(MPI_Win_create(NULL, 4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_BASE);
    REFUSED(MPI_Win_allocate(-5, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_SIZE);
    REFUSED(MPI_Win_allocate_c(5, -1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_DISP);
    REFUSED(MPI_Win_allocate_shared_c(-5, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_SIZE);
    CHECK(win == MPI_WIN_NULL);

    MPI_Win_allocate(10 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_get_group(win, &all);

    /* Outside of every epoch. */
    REFUSED(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Get(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Get_accumulate_c(&value, 1, MPI_INT, &result, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Fetch_and_op(&value, &result, MPI_INT, next, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Compare_and_swap(&value, &other, &result, MPI_INT, next, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Rput_c(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Rget_c(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Raccumulate_c(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win, &request), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush(next, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_local(next, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock(next, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);

    /* Inside of another. */
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_start(none, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    if (size > 1) REFUSED(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);

    /* Arguments. */
    int code = MPI_Put(&value, 1, MPI_INT, next, 10, 1, MPI_INT, win);
    SAME(class_of(code), MPI_ERR_RMA_RANGE);
    char whose[128];
    sprintf(whose, "bytes 40 to 43 of the window of rank %d, expected a part of its 40 bytes", next);
    CHECK(says(code, whose));
    REFUSED(MPI_Get(&value, 1, MPI_INT, next, 10, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    REFUSED(MPI_Fetch_and_op(&value, &result, MPI_INT, next, 1 << 20, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    REFUSED(MPI_Compare_and_swap(&value, &other, &result, MPI_INT, next, 10, win), MPI_ERR_RMA_RANGE);
    REFUSED(MPI_Put(&value, 1, MPI_INT, next, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    REFUSED(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    REFUSED(MPI_Put(&value, -1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    REFUSED(MPI_Put(base, 2, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_TRUNCATE);
    REFUSED(MPI_Get(&value, 1, MPI_INT, next, 0, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
    REFUSED(MPI_Put(&value, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    REFUSED(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
    REFUSED(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_MAXLOC, win), MPI_ERR_OP);
    REFUSED(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE);
    REFUSED(MPI_Compare_and_swap(&value, &other, &result, MPI_FLOAT, next, 0, win), MPI_ERR_TYPE);
    REFUSED(MPI_Win_lock(77, rank, 0, win), MPI_ERR_LOCKTYPE);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    REFUSED(MPI_Win_lock_all(1 << 20, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_post(none, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_start(none, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_attach(win, &value, 4), MPI_ERR_RMA_FLAVOR);
    REFUSED(MPI_Win_detach(win, &value), MPI_ERR_RMA_FLAVOR);
    SAME(MPI_Put(&value, 1, MPI_INT, next, 9, 1, MPI_INT, win), MPI_SUCCESS);
    SAME(MPI_Win_unlock(next, win), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) SAME(base[i], i == 9 ? 3 : 0);

    /* A fence, in whose epoch something was done. */
    MPI_Win_fence(0, win);
    SAME(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_SUCCESS);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    REFUSED(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);

    /* Exposed. */
    MPI_Win_post(all, 0, win);
    REFUSED(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    MPI_Win_start(all, 0, win);
    REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    SAME(MPI_Put(&value, 1, MPI_INT, next, 1, 1, MPI_INT, win), MPI_SUCCESS);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    SAME(base[1], 3);
    SAME(MPI_Win_free(&win), MPI_SUCCESS);
    MPI_Group_free(&all);

    /* Memory that is not attached, or no longer. */
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    int *memory = calloc(8, sizeof(int));
    MPI_Aint mine, *theirs = calloc(size, sizeof *theirs);
    MPI_Get_address(memory, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, theirs, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, dynamic);
    REFUSED(MPI_Put(&value, 1, MPI_INT, next, theirs[next], 1, MPI_INT, dynamic), MPI_ERR_RMA_RANGE);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_Win_attach(dynamic, memory, 4 * sizeof(int)), MPI_SUCCESS);
    SAME(MPI_Win_attach(dynamic, memory + 4, 4 * sizeof(int)), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    int row[3] = {1, 2, 3};
    SAME(MPI_Put(row, 3, MPI_INT, next, MPI_Aint_add(theirs[next], 3 * sizeof(int)), 3, MPI_INT, dynamic), MPI_SUCCESS);
    MPI_Win_flush_all(dynamic);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 8; i++) SAME(memory[i], i >= 3 && i < 6 ? i - 2 : 0);
    SAME(MPI_Win_detach(dynamic, memory), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    REFUSED(MPI_Put(row, 3, MPI_INT, next, MPI_Aint_add(theirs[next], 3 * sizeof(int)), 3, MPI_INT, dynamic), MPI_ERR_RMA_RANGE);
    SAME(MPI_Put(row, 3, MPI_INT, next, MPI_Aint_add(theirs[next], 4 * sizeof(int)), 3, MPI_INT, dynamic), MPI_SUCCESS);
    REFUSED(MPI_Win_shared_query(dynamic, rank, &mine, &flag, &base), MPI_ERR_RMA_FLAVOR);
    MPI_Win_unlock_all(dynamic);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_Win_detach(dynamic, memory + 4), MPI_SUCCESS);
    MPI_Win_free(&dynamic);
    free(memory);
    free(theirs);
    return conclude();
}
