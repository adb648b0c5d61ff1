! A token goes round the ring of ranks once; each rank adds its number to it.
!
!     mpirun -n 4 examples/fortran/ring.f90
program ring
  use mpi_f08
  implicit none
  type(MPI_Status) :: status
  integer :: rank, ranks, next, previous, token

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = modulo(rank + 1, ranks)
  previous = modulo(rank - 1, ranks)

  if (rank == 0) then
    token = 0
    call MPI_Send(token, 1, MPI_INTEGER, next, 7, MPI_COMM_WORLD)
    call MPI_Recv(token, 1, MPI_INTEGER, previous, 7, MPI_COMM_WORLD, status)
    print '(a, i0, a, i0, a, i0)', 'token from rank ', status%MPI_SOURCE, ': ', token, ' of ', ranks * (ranks - 1) / 2
  else
    call MPI_Recv(token, 1, MPI_INTEGER, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    token = token + rank
    call MPI_Send(token, 1, MPI_INTEGER, next, 7, MPI_COMM_WORLD)
  end if
  call MPI_Finalize()
end program ring
