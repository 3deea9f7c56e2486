! SPDX-License-Identifier: MIT
!
! Read a two-dimensional array of float64 from Fortran and add up its rows.
!
!     gfortran read_region.f90 $(pkg-config --libs zarrcore) -o read_region
!     ./read_region path/to/array
!
! Zarr counts dimensions in C order.  An array of shape (rows, columns) is read into memory(rows, columns) by saying
! with the strides that rows lie next to each other in Fortran's memory.
module zarrcore
    use, intrinsic :: iso_c_binding
    implicit none

    integer, parameter :: max_dims = 64

    ! struct zarrcore_error of zarrcore.h
    type, bind(c) :: zarrcore_error
        integer(c_int32_t) :: struct_size = 0
        integer(c_int32_t) :: status = 0
        integer(c_int32_t) :: sys_errno = 0
        integer(c_int32_t) :: chunk_ndim = -1
        integer(c_int64_t) :: chunk(max_dims)
        integer(c_int32_t) :: in_shard
        integer(c_int32_t) :: reserved
        integer(c_int64_t) :: inner_chunk
        integer(c_int64_t) :: offset
        integer(c_int64_t) :: nbytes
        character(kind=c_char) :: codec(32)
        character(kind=c_char) :: key(256)
        character(kind=c_char) :: message(320)
    end type zarrcore_error

    interface
        integer(c_int) function zarrcore_open(path, flags, array, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: flags
            type(c_ptr), intent(out) :: array
            type(zarrcore_error), intent(inout) :: error
        end function zarrcore_open

        subroutine zarrcore_release(array) bind(c)
            import :: c_ptr
            type(c_ptr), value :: array
        end subroutine zarrcore_release

        integer(c_int) function zarrcore_ndim(array) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_ndim

        integer(c_int) function zarrcore_shape(array, shape) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: array
            integer(c_int64_t), intent(out) :: shape(*)
        end function zarrcore_shape

        integer(c_int) function zarrcore_kind(array) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_kind

        integer(c_int64_t) function zarrcore_itemsize(array) bind(c)
            import :: c_int64_t, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_itemsize

        integer(c_int) function zarrcore_read(array, start, step, count, memory, strides, threads, error) bind(c)
            import :: c_int, c_int64_t, c_ptr, zarrcore_error
            type(c_ptr), value :: array
            integer(c_int64_t), intent(in) :: start(*), step(*), count(*)
            type(c_ptr), value :: memory
            integer(c_int64_t), intent(in) :: strides(*)
            integer(c_int), value :: threads
            type(zarrcore_error), intent(inout) :: error
        end function zarrcore_read
    end interface

contains

    subroutine stop_with(error)
        type(zarrcore_error), intent(in) :: error
        integer :: i

        do i = 1, size(error%message)
            if (error%message(i) == c_null_char) exit
            write (*, '(a)', advance='no') error%message(i)
        end do
        write (*, *)
        stop 1
    end subroutine stop_with

end module zarrcore

program read_region
    use zarrcore
    implicit none

    type(zarrcore_error) :: error
    type(c_ptr) :: array
    integer(c_int64_t) :: extent(max_dims), start(2), step(2), strides(2)
    real(c_double), allocatable, target :: memory(:, :)
    character(len=4096) :: path
    integer :: row, ndim

    call get_command_argument(1, path)
    error%struct_size = int(c_sizeof(error), c_int32_t)
    if (zarrcore_open(trim(path)//c_null_char, 0_c_int, array, error) /= 0) call stop_with(error)

    ndim = zarrcore_ndim(array)
    if (ndim /= 2 .or. zarrcore_kind(array) /= ichar('f') .or. zarrcore_itemsize(array) /= 8) then
        print '(a)', 'expected a two-dimensional array of float64'
        stop 2
    end if
    if (zarrcore_shape(array, extent) /= 0) stop 3

    allocate (memory(extent(1), extent(2)))
    start = 0
    step = 1
    strides = [8_c_int64_t, 8*extent(1)]
    if (zarrcore_read(array, start, step, extent, c_loc(memory), strides, 0_c_int, error) /= 0) call stop_with(error)

    do row = 1, int(extent(1))
        print '(es24.16)', sum(memory(row, :))
    end do
    call zarrcore_release(array)
end program read_region
