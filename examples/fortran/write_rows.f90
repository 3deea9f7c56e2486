! SPDX-License-Identifier: MIT
!
! Create an array, write it row by row (each chunk is encoded once), and append to it.
!
!     gfortran $(pkg-config --variable=includedir zarrcore)/zarrcore.f90 write_rows.f90 $(pkg-config --libs zarrcore) -o write_rows
!     ./write_rows path/to/store
program write_rows
    use zarrcore
    implicit none

    integer, parameter :: rows = 20, columns = 7
    character(len=*), parameter :: f8 = 'f8'//c_null_char, name = 'fields/height'//c_null_char
    character(len=*), parameter :: document = &
        '{"zarr_format": 3, "node_type": "array", "shape": [20, 7], "data_type": "float64",' &
        //' "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 7]}},' &
        //' "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "dimension_names": ["y", "x"],' &
        //' "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]}'//c_null_char

    type(zarrcore_error) :: error
    type(c_ptr) :: store, array
    real(c_double), target :: line(columns), more(2, columns)
    character(len=4096) :: path
    integer :: row, column

    call get_command_argument(1, path)
    call check(zarrcore_open_store(trim(path)//c_null_char, ior(zarrcore_read_write, zarrcore_create), store, error))
    call check(zarrcore_create_array(store, name, document, array, error))
    call check(zarrcore_set_write_buffer(array, 1048576_c_int64_t, error))
    do row = 1, rows
        line = [(row + column/100d0, column=1, columns)]
        call check(zarrcore_write_as(array, f8, 2_c_int, start=[row - 1_c_int64_t, 0_c_int64_t], &
                                     count=[1_c_int64_t, int(columns, c_int64_t)], memory=c_loc(line), &
                                     nbytes=c_sizeof(line), threads=0_c_int, flags=0_c_int, error=error))
    end do
    call check(zarrcore_close(array, error))

    more(1, :) = -1
    more(2, :) = -2
    call check(zarrcore_append(store, name, 0_c_int, f8, 2_c_int, int(shape(more), c_int64_t), c_loc(more), &
                               c_sizeof(more), fortran_strides(int(shape(more), c_int64_t), 8_c_int64_t), 0_c_int, &
                               0_c_int, error))
    call check(zarrcore_set_attribute(store, name, 'units'//c_null_char, '"m"'//c_null_char, error))
    call zarrcore_release_store(store)

contains

    subroutine check(status)
        integer(c_int), intent(in) :: status

        if (status /= zarrcore_ok) then
            print '(a)', zarrcore_message(error)
            stop 1
        end if
    end subroutine check

end program write_rows
