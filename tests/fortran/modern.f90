! The module mpi_f08: typed handles, optional error codes, sections of arrays, large counts, functions of the program.
module functions
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, save :: handled = 0, last_code = 0, copied = 0, deleted = 0, queried = 0, freed = 0
contains
  subroutine largest(in, inout, count, datatype)
    type(c_ptr), value :: in, inout
    integer :: count
    type(MPI_Datatype) :: datatype
    integer, pointer :: left(:), right(:)
    call c_f_pointer(in, left, [count])
    call c_f_pointer(inout, right, [count])
    if (datatype /= MPI_INTEGER) return
    right = max(left, right)
  end subroutine largest

  subroutine largest_c(in, inout, count, datatype)
    type(c_ptr), value :: in, inout
    integer(MPI_COUNT_KIND) :: count
    type(MPI_Datatype) :: datatype
    integer, pointer :: left(:), right(:)
    call c_f_pointer(in, left, [count])
    call c_f_pointer(inout, right, [count])
    if (datatype == MPI_INTEGER) right = max(left, right)
  end subroutine largest_c

  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_WORLD) handled = handled + 1
    last_code = code
  end subroutine handler

  subroutine win_handler(win, code)
    type(MPI_Win) :: win
    integer :: code
    if (win /= MPI_WIN_NULL) handled = handled + 100
    last_code = code
  end subroutine win_handler

  subroutine copy(comm, keyval, extra, old, new, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, old, new
    logical :: flag
    copied = copied + 1
    new = old + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine remove(comm, keyval, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine remove

  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    queried = queried + int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 7)
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 3
    status%MPI_TAG = 4
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    freed = freed + int(extra)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine cancel
end module functions

program modern
  use mpi_f08
  use functions
  implicit none
  integer :: rank, ranks, errors, next, before
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = modulo(rank + 1, ranks)
  before = modulo(rank - 1, ranks)
  call handles_and_statuses()
  call sections()
  call sections_later()
  call sections_of_windows()
  call callbacks()
  call large_counts()
  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. errors == 0) print '(a)', 'no errors'
  call MPI_Finalize()
contains
  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    errors = errors + 1
    print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
  end subroutine check

  subroutine handles_and_statuses()
    type(MPI_Comm) :: comm, graph
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, states(2), again
    integer :: value, old(MPI_STATUS_SIZE), code, length, found(2), many
    logical :: flag, weighted
    integer :: sources(1), targets(1)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    comm = MPI_COMM_WORLD
    call check(comm == MPI_COMM_WORLD .and. comm /= MPI_COMM_SELF .and. comm%MPI_VAL == MPI_COMM_WORLD%MPI_VAL, 'equal handles')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call check(comm /= MPI_COMM_WORLD, 'another handle')
    call MPI_Comm_set_name(comm, 'copy')
    call MPI_Comm_get_name(comm, name, length)
    call check(name == 'copy' .and. length == 4, 'name')
    call MPI_Irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, requests(1))
    call MPI_Isend(rank, 1, MPI_INTEGER, next, 11, comm, requests(2))
    call MPI_Waitall(2, requests, states)
    call check(states(1)%MPI_SOURCE == before .and. states(1)%MPI_TAG == 11 .and. value == before, 'statuses')
    call check(all(requests == MPI_REQUEST_NULL), 'null requests')
    call MPI_Status_f082f(states(1), old, code)
    call MPI_Status_f2f08(old, again)
    call check(old(MPI_SOURCE) == before .and. again%MPI_TAG == 11 .and. code == MPI_SUCCESS, 'statuses of both forms')
    call MPI_Isend(rank, 1, MPI_INTEGER, next, 12, comm, requests(1))
    call MPI_Irecv(value, 1, MPI_INTEGER, before, 12, comm, requests(2))
    many = 0
    do while (many < 2)
      call MPI_Waitsome(2, requests, length, found, MPI_STATUSES_IGNORE)
      call check(all(found(:length) >= 1 .and. found(:length) <= 2), 'indices')
      many = many + length
    end do
    call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
    call check(flag, 'all complete')
    call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, flag, status)
    call check(.not. flag, 'nothing to probe')
    sources = before
    targets = next
    call MPI_Dist_graph_create_adjacent(comm, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, many, length, weighted)
    call check(many == 1 .and. length == 1 .and. .not. weighted, 'neighbours without weights')
    call MPI_Comm_free(graph)
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL, 'freed communicator')
  end subroutine handles_and_statuses

  ! Sections of arrays with gaps, in calls that complete them.
  subroutine sections()
    integer :: a(6, 8), b(6, 8), line(4), i
    integer, allocatable :: all_of(:, :)
    a = reshape([(100 * rank + i, i = 1, 48)], [6, 8])
    b = -1
    call MPI_Sendrecv(a(2:6:2, 1:8:3), 9, MPI_INTEGER, next, 1, b(1:5:2, 2:8:3), 9, MPI_INTEGER, before, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(b(1:5:2, 2:8:3) == a(2:6:2, 1:8:3) + 100 * (before - rank)), 'sections sent and received')
    call check(count(b == -1) == 39, 'nothing else is touched')
    ! Backwards.
    call MPI_Sendrecv(a(6:1:-1, 3), 6, MPI_INTEGER, next, 2, b(:, 1), 6, MPI_INTEGER, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(:, 1) == a(6:1:-1, 3) + 100 * (before - rank)), 'a section backwards')
    ! A reduction in place, and into rows.
    b = rank
    call MPI_Allreduce(MPI_IN_PLACE, b(3, 1:8:2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(b(3, 1:8:2) == ranks * (ranks - 1) / 2) .and. count(b == rank) >= 44, 'a row reduced in place')
    line = rank
    allocate (all_of(2 * ranks, 4))
    all_of = -5
    call MPI_Allgather(line, 4, MPI_INTEGER, all_of(1:2 * ranks:2, :), 4, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(reshape(all_of(1:2 * ranks:2, :), [4 * ranks]) == [((i - 1) / 4, i = 1, 4 * ranks)]), 'gathered into rows')
    call check(all(all_of(2:2 * ranks:2, :) == -5), 'rows between')
    a = rank
    if (rank == 0) a(4, ::2) = [7, 8, 9, 10]
    call MPI_Bcast(a(4, ::2), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(a(4, ::2) == [7, 8, 9, 10]) .and. all(a(3, :) == rank), 'a row broadcast')
  end subroutine sections

  ! The same in operations that complete later.
  subroutine sections_later()
    integer, asynchronous :: a(20), b(20), c(4, 6)
    type(MPI_Request) :: requests(2), request
    integer :: i, round
    logical :: flag
    a = [(rank * 1000 + i, i = 1, 20)]
    b = -1
    call MPI_Irecv(b(2:20:4), 5, MPI_INTEGER, before, 21, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a(1:20:4), 5, MPI_INTEGER, next, 21, MPI_COMM_WORLD, requests(2))
    b(1) = 77
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(b(2:20:4) == [(before * 1000 + i, i = 1, 20, 4)]), 'sections sent and received later')
    call check(b(1) == 77 .and. b(3) == -1, 'what lies between is the program''s')
    ! Fewer elements than the section has: the others may change meanwhile.
    call MPI_Irecv(b(1:19:2), 3, MPI_INTEGER, before, 22, MPI_COMM_WORLD, requests(1))
    b(19) = 4711
    call MPI_Send(a(1:19:2), 3, MPI_INTEGER, next, 22, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE)
    end do
    call check(all(b(1:5:2) == before * 1000 + [1, 3, 5]) .and. b(19) == 4711, 'elements behind the last one')
    ! Collective, and persistent in several rounds.
    c = rank + 1
    call MPI_Iallreduce(MPI_IN_PLACE, c(2, :), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(c(2, :) == ranks * (ranks + 1) / 2) .and. all(c(1, :) == rank + 1), 'a row reduced later')
    call MPI_Send_init(a(1:20:5), 4, MPI_INTEGER, next, 23, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(b(1:20:5), 4, MPI_INTEGER, before, 23, MPI_COMM_WORLD, requests(2))
    do round = 1, 3
      a = [(rank * 1000 + i * round, i = 1, 20)]
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check(all(b(1:20:5) == [(before * 1000 + i * round, i = 1, 20, 5)]), 'sections of persistent operations')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    ! In two parts, the second of which is written after the first has gone.
    call MPI_Psend_init(a(1:20:2), 2, 5_MPI_COUNT_KIND, MPI_INTEGER, next, 24, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(b(2:20:2), 2, 5_MPI_COUNT_KIND, MPI_INTEGER, before, 24, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do round = 1, 2
      b = -1
      call MPI_Startall(2, requests)
      a(1:10) = rank + round
      call MPI_Pready(0, requests(1))
      a(11:20) = rank + 10 * round
      call MPI_Pready_range(1, 1, requests(1))
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(requests(2), 0, flag)
      end do
      call check(all(b(2:10:2) == before + round), 'a part that has arrived')
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check(all(b(12:20:2) == before + 10 * round) .and. all(b(1:19:2) == -1), 'sections in parts')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    ! What the library keeps must have no gaps.
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Buffer_attach(a(1:20:2), 40, i)
    call check(i == MPI_ERR_BUFFER, 'a buffer with gaps is refused')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine sections_later

  subroutine sections_of_windows()
    type(MPI_Win) :: win
    integer, asynchronous :: mine(12), a(12)
    integer :: i
    integer(MPI_ADDRESS_KIND), parameter :: bytes = 48
    mine = 0
    a = [(10 * rank + i, i = 1, 12)]
    call MPI_Win_create(mine, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:12:3), 4, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(mine == [10 * before + [1, 4, 7, 10], 0, 0, 0, 0, 0, 0, 0, 0]), 'a section put')
    a = -1
    call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win)
    call MPI_Get(a(12:3:-3), 4, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
    call MPI_Win_unlock(next, win)
    call check(all(a(12:3:-3) == 10 * rank + [1, 4, 7, 10]) .and. a(1) == -1, 'a section got')
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(a(12:3:-3), 4, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(mine(:4) == 2 * (10 * before + [1, 4, 7, 10])), 'a section accumulated')
    call MPI_Win_free(win)
  end subroutine sections_of_windows

  subroutine callbacks()
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: errhandler
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    type(MPI_Comm) :: comm
    type(MPI_Win) :: win
    integer :: keyval, value(2), code, class, elements
    integer, asynchronous :: exposed(4)
    integer(MPI_ADDRESS_KIND) :: attribute
    logical :: flag
    call MPI_Op_create(largest, .true., op)
    value = [rank, -rank]
    call MPI_Allreduce(MPI_IN_PLACE, value, 2, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(value == [ranks - 1, 0]), 'an operation of the program')
    call MPI_Op_free(op)
    call MPI_Op_create_c(largest_c, .true., op)
    value = [rank, -rank]
    call MPI_Allreduce(MPI_IN_PLACE, value, 2, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(value == [ranks - 1, 0]), 'an operation with large counts')
    call MPI_Op_free(op)
    call MPI_Comm_create_errhandler(handler, errhandler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)
    call MPI_Errhandler_free(errhandler)
    call MPI_Send(value, 1, MPI_INTEGER, ranks, 1, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call check(handled == 1 .and. last_code == code .and. class == MPI_ERR_RANK, 'an error handler of the program')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Win_create(exposed, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_create_errhandler(win_handler, errhandler)
    call MPI_Win_set_errhandler(win, errhandler)
    call MPI_Errhandler_free(errhandler)
    call MPI_Win_call_errhandler(win, MPI_ERR_OTHER)
    call check(handled == 101 .and. last_code == MPI_ERR_OTHER, 'an error handler of a window')
    call MPI_Win_free(win)
    call MPI_Comm_create_keyval(copy, remove, keyval, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 2_MPI_ADDRESS_KIND**40)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_get_attr(comm, keyval, attribute, flag)
    call check(flag .and. attribute == 2_MPI_ADDRESS_KIND**40 + 5 .and. copied == 1, 'a copied attribute')
    call MPI_Comm_free(comm)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call check(deleted == 2, 'deleted attributes')
    call MPI_Comm_free_keyval(keyval)
    call check(keyval == MPI_KEYVAL_INVALID, 'a freed keyval')
    call MPI_Grequest_start(query, release, cancel, 17_MPI_ADDRESS_KIND, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, elements)
    call check(queried == 17 .and. freed == 17 .and. status%MPI_SOURCE == 3 .and. status%MPI_TAG == 4 .and. elements == 7, &
               'a generalized request')
  end subroutine callbacks

  subroutine large_counts()
    integer(MPI_COUNT_KIND) :: many, size, lb, extent
    integer(MPI_ADDRESS_KIND) :: extent_of_small, lb_of_small
    type(MPI_Datatype) :: datatype, parts(2), inner
    type(MPI_Status) :: status
    integer :: a(10), b(10), ni, na, nd, combiner, integers(1)
    integer(MPI_ADDRESS_KIND) :: addresses(1)
    many = 10
    a = rank
    b = -1
    call MPI_Sendrecv(a, many, MPI_INTEGER, next, 31, b, many, MPI_INTEGER, before, 31, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, size)
    call check(all(b == before) .and. size == 10, 'a large count')
    call MPI_Sendrecv(a(1:10:2), 5_MPI_COUNT_KIND, MPI_INTEGER, next, 32, b(2:10:2), 5_MPI_COUNT_KIND, MPI_INTEGER, before, 32, &
                      MPI_COMM_WORLD, status)
    call check(all(b == before), 'a large count of a section')
    many = 3 * 2_MPI_COUNT_KIND**30
    call MPI_Type_contiguous(many, MPI_INTEGER, datatype)
    call MPI_Type_size(datatype, size)
    call check(size == 4 * many, 'the size of a large type')
    call MPI_Type_get_extent(datatype, lb_of_small, extent_of_small)
    call MPI_Type_get_extent_x(datatype, lb, extent)
    call check(extent == 4 * many .and. extent_of_small == extent .and. lb == lb_of_small, 'the extent of a large type')
    call MPI_Type_free(datatype)
    call MPI_Type_contiguous(3, MPI_REAL, inner)
    call MPI_Type_contiguous(2, inner, datatype)
    call MPI_Type_get_envelope(datatype, ni, na, nd, combiner)
    call MPI_Type_get_contents(datatype, 1, 0, 2, integers, addresses, parts)
    call check(ni == 1 .and. na == 0 .and. nd == 1 .and. combiner == MPI_COMBINER_CONTIGUOUS .and. integers(1) == 2, 'contents')
    call MPI_Type_size(parts(1), ni)
    call check(ni == 12, 'the type within')
    call MPI_Type_free(parts(1))
    call MPI_Type_free(inner)
    call MPI_Type_free(datatype)
  end subroutine large_counts
end program modern
