! The module mpi: interfaces in which a buffer may have any type, addresses as wide integers, strings, memory of the library.
program module_of_mpi
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, ierr, errors, total, i, win, request, length, wide
  integer :: info, datatype, relative, group, newgroup, ranges(3, 1)
  integer(kind=MPI_ADDRESS_KIND) :: base, there, lb, extent, attribute
  integer(kind=MPI_ADDRESS_KIND), parameter :: eight = 8
  integer(kind=MPI_COUNT_KIND) :: elements
  integer :: status(MPI_STATUS_SIZE)
  integer :: lengths(2), types(2)
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  double precision :: x(3), y(3)
  complex(kind=8) :: z
  type(c_ptr) :: memory
  real(8), pointer :: seen(:)
  logical :: flag
  character(len=30) :: value
  character(len=MPI_MAX_PROCESSOR_NAME) :: host
  character(len=MPI_MAX_ERROR_STRING) :: sentence
  type :: mixed
    sequence
    double precision :: d
    integer :: i, j
  end type mixed
  type(mixed) :: one, other

  errors = 0
  call MPI_Init_thread(MPI_THREAD_SINGLE, i, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)

  ! Buffers of several types and ranks.
  x = [1.0d0, 2.0d0, 3.0d0] * (rank + 1)
  call MPI_Allreduce(x, y, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  call check(all(y == [1.0d0, 2.0d0, 3.0d0] * ranks), 'maximum')
  z = cmplx(rank, 1, 8)
  call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  call check(nint(real(z)) == ranks * (ranks - 1) / 2 .and. nint(aimag(z)) == ranks, 'complex sum')
  flag = rank == 0
  call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call check(flag .eqv. ranks == 1, 'logical and')
  flag = rank == 0
  call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
  call check(flag, 'logical or')

  ! A structure from MPI_BOTTOM.
  one = mixed(rank + 0.5d0, rank, 2 * rank)
  lengths = [1, 2]
  types = [MPI_DOUBLE_PRECISION, MPI_INTEGER]
  call MPI_Get_address(one%d, places(1), ierr)
  call MPI_Get_address(one%i, places(2), ierr)
  call check(MPI_Aint_diff(places(2), places(1)) == 8, 'difference of addresses')
  call MPI_Type_create_struct(2, lengths, places, types, datatype, ierr)
  call MPI_Type_commit(datatype, ierr)
  call MPI_Type_create_struct(2, lengths, [0_MPI_ADDRESS_KIND, eight], types, relative, ierr)
  call MPI_Type_commit(relative, ierr)
  call MPI_Isend(MPI_BOTTOM, 1, datatype, rank, 3, MPI_COMM_WORLD, request, ierr)
  call MPI_Recv(other, 1, relative, rank, 3, MPI_COMM_WORLD, status, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call check(other%d == rank + 0.5d0 .and. other%i == rank .and. other%j == 2 * rank, 'structure from MPI_BOTTOM')
  call MPI_Get_elements_x(status, relative, elements, ierr)
  call check(elements == 3, 'elements')
  call MPI_Type_free(relative, ierr)
  call MPI_Type_get_extent(datatype, lb, extent, ierr)
  call check(lb == places(1), 'lower bound')
  call MPI_Type_free(datatype, ierr)

  ! Infos: blanks around keys and values do not count.
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, ' colour ', '  deep blue  ', ierr)
  call MPI_Info_get_valuelen(info, 'colour', length, flag, ierr)
  call check(flag .and. length == 9, 'length of a value')
  call MPI_Info_get(info, 'colour', 4, value, flag, ierr)
  call check(flag .and. value == 'deep', 'part of a value')
  length = len(value)
  call MPI_Info_get_string(info, 'colour', length, value, flag, ierr)
  call check(flag .and. value == 'deep blue' .and. length == 9, 'value')
  call MPI_Info_get_nthkey(info, 0, value, ierr)
  call check(value == 'colour', 'key')
  call MPI_Info_free(info, ierr)
  call check(info == MPI_INFO_NULL, 'freed info')

  ! Groups by ranges, texts of errors, the host's name.
  call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
  ranges(:, 1) = [0, ranks - 1, 1]
  call MPI_Group_range_incl(group, 1, ranges, newgroup, ierr)
  call MPI_Group_compare(group, newgroup, i, ierr)
  call check(i == MPI_IDENT, 'group by ranges')
  call MPI_Group_free(group, ierr)
  call MPI_Group_free(newgroup, ierr)
  call MPI_Error_string(MPI_ERR_TRUNCATE, sentence, length, ierr)
  call check(length > 0 .and. len_trim(sentence) == length, 'text of an error')
  call MPI_Get_processor_name(host, length, ierr)
  call check(length > 0 .and. len_trim(host) == length, 'name of the host')

  ! Memory of the library, by address and by a pointer of C; windows and their attributes.
  call MPI_Alloc_mem(64 * eight, MPI_INFO_NULL, memory, ierr)
  call c_f_pointer(memory, seen, [64])
  seen = rank
  call MPI_Win_create(seen, 64 * eight, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  x(1) = 10 + rank
  call MPI_Put(x, 1, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), eight - 3, 1, MPI_DOUBLE_PRECISION, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call check(seen(6) == 10 + mod(rank + ranks - 1, ranks), 'put')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, attribute, flag, ierr)
  call check(flag .and. attribute == 512, 'size of a window')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, attribute, flag, ierr)
  call check(flag .and. attribute == 8, 'unit of a window')
  call MPI_Win_get_attr(win, MPI_WIN_BASE, attribute, flag, ierr)
  call MPI_Get_address(seen, there, ierr)
  call check(flag .and. attribute == there, 'base of a window')
  call MPI_Win_free(win, ierr)
  call MPI_Free_mem(seen, ierr)
  call MPI_Win_allocate(80 * eight, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
  call check(base /= 0, 'address of a window')
  call MPI_Win_free(win, ierr)

  ! Kinds.
  call MPI_Sizeof(x, wide, ierr)
  call check(wide == 8, 'size of double precision')
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, datatype, ierr)
  call MPI_Type_size(datatype, i, ierr)
  call check(i == 8, 'type by size')
  call MPI_Type_create_f90_real(15, 300, datatype, ierr)
  call MPI_Allreduce(x, y, 3, datatype, MPI_SUM, MPI_COMM_SELF, ierr)
  call check(all(x == y), 'type by precision')
  call MPI_Type_create_f90_integer(12, datatype, ierr)
  call MPI_Type_size(datatype, i, ierr)
  call check(i == 8, 'integer by digits')

  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. total == 0) print '(a)', 'no errors'
  call MPI_Finalize(ierr)
contains
  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    errors = errors + 1
    print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
  end subroutine check
end program module_of_mpi
