! The Fortran half of a program whose other half is languages.c, and a tool in Fortran that comes between this program and the library.
subroutine mpi_bcast(buffer, count, datatype, root, comm, ierror)
  implicit none
  integer :: buffer(*), count, datatype, root, comm, ierror, broadcasts
  common /tool/ broadcasts
  broadcasts = broadcasts + 1
  call pmpi_bcast(buffer, count, datatype, root, comm, ierror)
end subroutine mpi_bcast

program languages
  implicit none
  include 'mpif.h'
  integer, external :: barriers, value_of_fortran, source_of
  integer :: rank, ierr, keyval, errors, broadcasts, pair(2), datatype
  integer(kind=MPI_ADDRESS_KIND) :: value, address
  integer :: status(MPI_STATUS_SIZE)
  logical :: flag
  common /tool/ broadcasts
  errors = 0
  broadcasts = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call PMPI_Barrier(MPI_COMM_WORLD, ierr)
  if (barriers() /= 1) errors = errors + 1
  pair = [rank, 9]
  call MPI_Bcast(pair, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  if (broadcasts /= 1 .or. pair(1) /= 0) errors = errors + 1

  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 1234_MPI_ADDRESS_KIND, ierr)
  if (value_of_fortran(MPI_COMM_SELF, keyval) /= 1234) errors = errors + 1
  call set_in_c(MPI_COMM_SELF, keyval, address)
  call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag, ierr)
  if (.not. flag .or. value /= address) errors = errors + 1
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierr)
  call MPI_Comm_free_keyval(keyval, ierr)

  call MPI_Type_contiguous(1, MPI_INTEGER, datatype, ierr)
  call MPI_Type_commit(datatype, ierr)
  call MPI_Sendrecv_replace(pair, 2, datatype, rank, 1, rank, 1, MPI_COMM_WORLD, status, ierr)
  if (source_of(status, datatype) /= rank) errors = errors + 1
  call MPI_Type_free(datatype, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. errors == 0) print '(a)', 'no errors'
  if (errors /= 0) print *, errors, ' errors'
  call MPI_Finalize(ierr)
end program languages
