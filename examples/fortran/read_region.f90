! SPDX-License-Identifier: MIT
!
! Read a two-dimensional array of numbers and add up its rows.
!
!     gfortran $(pkg-config --variable=includedir zarrcore)/zarrcore.f90 read_region.f90 $(pkg-config --libs zarrcore) -o read_region
!     ./read_region path/to/array
program read_region
    use zarrcore
    implicit none

    type(zarrcore_error) :: error
    type(c_ptr) :: array
    integer(c_int64_t) :: extent(zarrcore_max_dims)
    real(c_double), allocatable, target :: memory(:, :)
    character(len=4096) :: path
    integer :: row

    call get_command_argument(1, path)
    if (zarrcore_open(trim(path)//c_null_char, 0_c_int, array, error) /= zarrcore_ok) call stop_with(error)
    if (zarrcore_ndim(array) /= 2 .or. zarrcore_shape(array, extent) /= zarrcore_ok) then
        print '(a)', 'expected an array of two dimensions'
        stop 2
    end if

    allocate (memory(extent(1), extent(2)))
    if (zarrcore_read_as(array, 'f8'//c_null_char, 2_c_int, memory=c_loc(memory), nbytes=8_c_size_t*size(memory), &
                         strides=fortran_strides(extent(1:2), 8_c_int64_t), threads=0_c_int, error=error) /= zarrcore_ok) then
        call stop_with(error)
    end if
    do row = 1, int(extent(1))
        print '(es24.16)', sum(memory(row, :))
    end do
    deallocate (memory)
    call zarrcore_release(array)

contains

    subroutine stop_with(error)
        type(zarrcore_error), intent(in) :: error

        print '(a)', zarrcore_message(error)
        stop 1
    end subroutine stop_with

end program read_region
