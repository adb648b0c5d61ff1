! What Fortran keeps between calls is a rank's own, whatever a rank is: units and their files, saved and common variables, what STOP ends.
module kept
  implicit none
  integer :: of_module = 0
end module kept

program units
  use mpi_f08
  use kept
  implicit none
  integer :: rank, ranks, i, read_back, length
  integer, save :: saved = 5
  character(len=200) :: argument, line, folder
  logical :: is_open
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, folder, length)
  if (length == 0) stop 'the folder is missing'
  saved = saved + rank
  of_module = of_module + 10 * rank
  write (argument, '(2a, i0)') trim(folder), '/of_rank_', rank
  ! One unit in every rank, with another file behind it.
  open (10, file=argument, status='replace', action='readwrite')
  do i = 1, 3
    write (10, '(i0, 1x, f6.2, 1x, i0)') rank, rank + 0.25, i
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  rewind (10)
  do i = 1, 3
    read (10, '(a)') line
    read (line, *) read_back
    if (read_back /= rank) error stop 'this file is another rank''s'
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  ! Another rank's closing closes nothing here.
  if (rank == 0) close (10, status='delete')
  call MPI_Barrier(MPI_COMM_WORLD)
  inquire (10, opened=is_open)
  if (is_open .neqv. rank /= 0) error stop 'a unit was closed by another rank'
  if (rank /= 0) close (10, status='delete')
  if (saved /= 5 + rank .or. of_module /= 10 * rank) error stop 'a variable was changed by another rank'
  open (11, file=argument, asynchronous='yes', status='replace', form='formatted')
  write (11, '(a)', asynchronous='yes') 'later'
  wait (11)
  close (11, status='delete')
  write (*, '(a, i0)') 'done on rank ', rank
  call MPI_Finalize()
end program units
