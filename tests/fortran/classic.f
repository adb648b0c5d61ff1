! Fixed form and mpif.h, as programs of MPI-1 are written: no interfaces, names that MPI has removed since, common blocks.
      program classic
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierr, errors, next, before
      integer status(MPI_STATUS_SIZE), states(MPI_STATUS_SIZE, 2)
      integer requests(2), which, i, total, value, keyval, keyval2
      integer lengths(2), places(2), types(2), pair, extent, bytes
      integer handler, length, grid, cartesian, place(1), dims(1)
      logical flag, periods(1)
      integer numbers(4), counter, sums(2), newcomm, old
      double precision real8, clock
      character*20 text
      character*(MPI_MAX_OBJECT_NAME) name
      common /shared/ counter, numbers
      external copies, deletes, adds
      integer operation, made
      common /calls/ made

      errors = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      next = mod(rank + 1, ranks)
      before = mod(rank + ranks - 1, ranks)

! Common blocks are a rank's own.
      counter = 100 + rank
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      if (counter .ne. 100 + rank) errors = errors + 1

! Statuses, indices that count from 1, the ignored status.
      value = -1
      call MPI_IRECV(value, 1, MPI_INTEGER, before, 5, MPI_COMM_WORLD,
     +               requests(1), ierr)
      requests(2) = MPI_REQUEST_NULL
      call MPI_SEND(rank, 1, MPI_INTEGER, next, 5, MPI_COMM_WORLD,ierr)
      call MPI_WAITANY(2, requests, which, status, ierr)
      if (which .ne. 1 .or. value .ne. before) errors = errors + 1
      if (status(MPI_SOURCE) .ne. before) errors = errors + 1
      if (status(MPI_TAG) .ne. 5) errors = errors + 1
      call MPI_GET_COUNT(status, MPI_INTEGER, i, ierr)
      if (i .ne. 1) errors = errors + 1
      call MPI_WAITANY(2, requests, which, MPI_STATUS_IGNORE, ierr)
      if (which .ne. MPI_UNDEFINED) errors = errors + 1
      real8 = 0.5d0 + rank
      call MPI_IRECV(text, 20, MPI_CHARACTER, before, 6,
     +               MPI_COMM_WORLD, requests(1), ierr)
      call MPI_ISEND('from a ring         ', 20, MPI_CHARACTER, next,
     +               6, MPI_COMM_WORLD, requests(2), ierr)
      call MPI_WAITALL(2, requests, states, ierr)
      if (text .ne. 'from a ring') errors = errors + 1
      if (states(MPI_SOURCE, 1) .ne. before) errors = errors + 1
      if (requests(1) .ne. MPI_REQUEST_NULL) errors = errors + 1

! MPI_IN_PLACE and MPI_BOTTOM are addresses.
      total = rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM,
     +                   MPI_COMM_WORLD, ierr)
      if (total .ne. ranks * (ranks - 1) / 2) errors = errors + 1
      call MPI_OP_CREATE(adds, .true., operation, ierr)
      call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, operation,
     +                   MPI_COMM_WORLD, ierr)
      if (total .ne. ranks * (ranks - 1) / 2) errors = errors + 1
      call MPI_OP_FREE(operation, ierr)
      if (operation .ne. MPI_OP_NULL) errors = errors + 1

! Removed names: displacements are INTEGERs.
      lengths(1) = 1
      lengths(2) = 2
      places(1) = 0
      places(2) = 8
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      call MPI_TYPE_STRUCT(2, lengths, places, types, pair, ierr)
      call MPI_TYPE_COMMIT(pair, ierr)
      call MPI_TYPE_EXTENT(pair, extent, ierr)
      call MPI_TYPE_SIZE(pair, bytes, ierr)
      if (extent .ne. 16 .or. bytes .ne. 16) errors = errors + 1
      call MPI_TYPE_FREE(pair, ierr)

! Attributes of MPI-1, with functions of this program.
      made = 0
      call MPI_KEYVAL_CREATE(copies, deletes, keyval, 3, ierr)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval2,
     +                       0, ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, keyval, 40 + rank, ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, keyval2, -7, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, newcomm, ierr)
      call MPI_ATTR_GET(newcomm, keyval, value, flag, ierr)
      if (.not. flag .or. value .ne. 43 + rank) errors = errors + 1
      call MPI_ATTR_GET(newcomm, keyval2, value, flag, ierr)
      if (.not. flag .or. value .ne. -7) errors = errors + 1
      call MPI_COMM_FREE(newcomm, ierr)
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, keyval, ierr)
      if (made .ne. 3) errors = errors + 1
      call MPI_ATTR_GET(MPI_COMM_WORLD, keyval, value, flag, ierr)
      if (flag) errors = errors + 1
      call MPI_KEYVAL_FREE(keyval, ierr)
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, keyval2, ierr)
      call MPI_KEYVAL_FREE(keyval2, ierr)
      if (keyval2 .ne. MPI_KEYVAL_INVALID) errors = errors + 1
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
      if (.not. flag .or. value .lt. 32767) errors = errors + 1

! Error handlers, codes and their texts.
      call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
      call MPI_SEND(rank, 1, MPI_INTEGER, ranks + 1, 1, MPI_COMM_WORLD,
     +              ierr)
      if (ierr .eq. MPI_SUCCESS) errors = errors + 1
      call MPI_ERROR_CLASS(ierr, value, ierr)
      if (value .ne. MPI_ERR_RANK) errors = errors + 1
      call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, handler, ierr)
      if (handler .ne. MPI_ERRORS_RETURN) errors = errors + 1

! Strings with blanks behind, logicals, a grid.
      call MPI_COMM_SET_NAME(MPI_COMM_WORLD, 'all of us   ', ierr)
      name = 'x'
      call MPI_COMM_GET_NAME(MPI_COMM_WORLD, name, length, ierr)
      if (name .ne. 'all of us' .or. length .ne. 9) errors = errors + 1
      dims(1) = ranks
      periods(1) = .true.
      call MPI_CART_CREATE(MPI_COMM_WORLD, 1, dims, periods, .false.,
     +                     cartesian, ierr)
      periods(1) = .false.
      call MPI_CART_GET(cartesian, 1, dims, periods, place, ierr)
      if (.not. periods(1) .or. place(1) .ne. rank) errors = errors + 1
      call MPI_TOPO_TEST(cartesian, grid, ierr)
      if (grid .ne. MPI_CART) errors = errors + 1
      call MPI_COMM_FREE(cartesian, ierr)
      clock = MPI_WTIME()
      if (MPI_WTIME() .lt. clock) errors = errors + 1

      call MPI_ALLREDUCE(errors, total, 1, MPI_INTEGER, MPI_SUM,
     +                   MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. total .eq. 0) print '(a)', 'no errors'
      if (errors .ne. 0) print *, 'rank', rank, errors, ' errors'
      call MPI_FINALIZE(ierr)
      end

      subroutine copies(comm, keyval, extra, old, new, flag, ierr)
      implicit none
      include 'mpif.h'
      integer comm, keyval, extra, old, new, ierr, made
      logical flag
      common /calls/ made
      made = made + 1
      new = old + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end

      subroutine deletes(comm, keyval, value, extra, ierr)
      implicit none
      include 'mpif.h'
      integer comm, keyval, value, extra, ierr, made
      common /calls/ made
      made = made + 1
      ierr = MPI_SUCCESS
      end

      subroutine adds(in, inout, count, type)
      implicit none
      include 'mpif.h'
      integer count, type, i
      integer in(count), inout(count)
      if (type .ne. MPI_INTEGER) stop 1
      do 10 i = 1, count
         inout(i) = inout(i) + in(i)
   10 continue
      end
