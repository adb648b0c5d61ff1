/*
 * Asynchronous input and output of gfortran's library, done at once instead: a program that gives ASYNCHRONOUS='YES' cannot tell the difference.
 *
 * A program whose ranks can share a process has a copy of that library in it, so that its units belong to a rank. In the archive that compilers bring along the one
 * object that does this with threads is not made for shared libraries; this stands for it. A unit without an "async unit", which only the first of these functions
 * would make, is never handed to the others.
 */
void _gfortrani_init_async_unit(void *unit);
void _gfortrani_init_async_unit(void *unit) { (void)unit; }

#define NEVER_CALLED(name) void _gfortrani_##name(void); void _gfortrani_##name(void) { __builtin_trap(); }
NEVER_CALLED(async_close)
NEVER_CALLED(async_wait)
NEVER_CALLED(async_wait_id)
NEVER_CALLED(collect_async_errors)
NEVER_CALLED(enqueue_close)
NEVER_CALLED(enqueue_data_transfer_init)
NEVER_CALLED(enqueue_done)
NEVER_CALLED(enqueue_done_id)
NEVER_CALLED(enqueue_transfer)

__thread void *thread_unit;
