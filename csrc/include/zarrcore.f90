! SPDX-License-Identifier: MIT
!
! zarrcore.h for Fortran 2018: arrays and trees, read and written.  Compile this file with the program:
!
!     gfortran $(pkg-config --variable=includedir zarrcore)/zarrcore.f90 program.f90 $(pkg-config --libs zarrcore)
!
! What each function does is said in zarrcore.h.  Arguments that may be NULL there are optional here.  Texts are terminated by
! c_null_char.  Dimensions are counted from 0 and in C order: an array of shape (rows, columns) is read into memory(rows, columns) by
! strides for which rows lie next to each other (fortran_strides), or without them into memory(columns, rows).
module zarrcore
    use, intrinsic :: iso_c_binding
    implicit none
    public

    integer, parameter :: zarrcore_max_dims = 64

    enum, bind(c)
        enumerator :: zarrcore_ok = 0, zarrcore_err_memory = -1, zarrcore_err_argument = -2, zarrcore_err_corrupt = -3, &
            zarrcore_err_checksum = -4, zarrcore_err_size = -5, zarrcore_err_range = -6, zarrcore_err_io = -7, &
            zarrcore_err_missing = -8, zarrcore_err_unsupported = -9, zarrcore_err_overflow = -10, &
            zarrcore_err_cancelled = -11, zarrcore_err_callback = -12, zarrcore_err_encode = -13, &
            zarrcore_err_metadata = -14, zarrcore_err_locked = -15, zarrcore_err_stale = -17, zarrcore_err_value = -18, &
            zarrcore_err_exists = -19
    end enum

    ! Flags of zarrcore_open and zarrcore_open_store.
    integer(c_int), parameter :: zarrcore_read_write = 1, zarrcore_sync = 2, zarrcore_missing_is_error = 4, &
        zarrcore_follow_symlinks = 8, zarrcore_create = 16, zarrcore_locks = 32
    ! Of zarrcore_write, zarrcore_write_as and zarrcore_append.
    integer(c_int), parameter :: zarrcore_write_empty = 1

    ! One may be used for many calls; struct_size 0 stands for this size.
    type, bind(c) :: zarrcore_error
        integer(c_int32_t) :: struct_size = 0
        integer(c_int32_t) :: status = 0
        integer(c_int32_t) :: sys_errno = 0
        integer(c_int32_t) :: chunk_ndim = -1
        integer(c_int64_t) :: chunk(zarrcore_max_dims) = 0
        integer(c_int32_t) :: in_shard = 0
        integer(c_int32_t) :: reserved = 0
        integer(c_int64_t) :: inner_chunk = 0
        integer(c_int64_t) :: offset = 0
        integer(c_int64_t) :: nbytes = 0
        character(kind=c_char) :: codec(32) = c_null_char
        character(kind=c_char) :: key(256) = c_null_char
        character(kind=c_char) :: message(320) = c_null_char
    end type zarrcore_error

    ! cancelled is c_loc of an integer(c_int), volatile and target; progress c_funloc of a function of zarrcore_progress.  Either may be
    ! left as it is.  struct_size is that of the structure.
    type, bind(c) :: zarrcore_watch
        integer(c_int32_t) :: struct_size = 8 + 3*storage_size(0_c_intptr_t)/8
        integer(c_int32_t) :: reserved = 0
        type(c_ptr) :: cancelled = c_null_ptr
        type(c_funptr) :: progress = c_null_funptr
        type(c_ptr) :: user = c_null_ptr
    end type zarrcore_watch

    ! c_funloc of a function of zarrcore_allocate and of a subroutine of zarrcore_deallocate.
    type, bind(c) :: zarrcore_allocator
        integer(c_int32_t) :: struct_size = 8 + 3*storage_size(0_c_intptr_t)/8
        integer(c_int32_t) :: reserved = 0
        type(c_ptr) :: user = c_null_ptr
        type(c_funptr) :: allocate = c_null_funptr
        type(c_funptr) :: release = c_null_funptr
    end type zarrcore_allocator

    abstract interface
        integer(c_int) function zarrcore_progress(user, done, expected) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: user
            integer(c_int64_t), value :: done, expected
        end function zarrcore_progress

        type(c_ptr) function zarrcore_allocate(user, nbytes, alignment) bind(c)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: user
            integer(c_size_t), value :: nbytes, alignment
        end function zarrcore_allocate

        subroutine zarrcore_deallocate(user, memory) bind(c)
            import :: c_ptr
            type(c_ptr), value :: user, memory
        end subroutine zarrcore_deallocate
    end interface

    interface

        ! ---- the library ----

        integer(c_int) function zarrcore_set_num_threads(threads) bind(c)
            import :: c_int
            integer(c_int), value :: threads
        end function zarrcore_set_num_threads

        integer(c_int) function zarrcore_shutdown() bind(c)
            import :: c_int
        end function zarrcore_shutdown

        ! Without a watch: no longer.
        integer(c_int) function zarrcore_set_watch(watch, error) bind(c)
            import :: c_int, zarrcore_error, zarrcore_watch
            type(zarrcore_watch), intent(in), optional :: watch
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_set_watch

        ! Without an allocator: from the system.
        integer(c_int) function zarrcore_set_allocator(allocator, error) bind(c)
            import :: c_int, zarrcore_allocator, zarrcore_error
            type(zarrcore_allocator), intent(in), optional :: allocator
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_set_allocator

        ! ---- handles ----

        integer(c_int) function zarrcore_open(path, flags, array, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: flags
            type(c_ptr), intent(out) :: array
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_open

        subroutine zarrcore_release(array) bind(c)
            import :: c_ptr
            type(c_ptr), value :: array
        end subroutine zarrcore_release

        integer(c_int) function zarrcore_close(array, error) bind(c)
            import :: c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: array
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_close

        integer(c_int) function zarrcore_flush(array, error) bind(c)
            import :: c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: array
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_flush

        integer(c_int) function zarrcore_set_cache(array, nbytes) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: array
            integer(c_int64_t), value :: nbytes
        end function zarrcore_set_cache

        integer(c_int) function zarrcore_set_write_buffer(array, nbytes, error) bind(c)
            import :: c_int, c_int64_t, c_ptr, zarrcore_error
            type(c_ptr), value :: array
            integer(c_int64_t), value :: nbytes
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_set_write_buffer

        ! ---- what an array is ----

        integer(c_int) function zarrcore_ndim(array) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_ndim

        integer(c_int) function zarrcore_shape(array, shape) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: array
            integer(c_int64_t), intent(out) :: shape(*)
        end function zarrcore_shape

        integer(c_int) function zarrcore_chunk_shape(array, shape) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: array
            integer(c_int64_t), intent(out) :: shape(*)
        end function zarrcore_chunk_shape

        integer(c_int) function zarrcore_kind(array) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_kind

        integer(c_int64_t) function zarrcore_itemsize(array) bind(c)
            import :: c_int64_t, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_itemsize

        integer(c_int) function zarrcore_is_writable(array) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: array
        end function zarrcore_is_writable

        integer(c_int) function zarrcore_decompose(array, ranks, rank, start, count) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: array
            integer(c_int), value :: ranks, rank
            integer(c_int64_t), intent(out) :: start(*), count(*)
        end function zarrcore_decompose

        ! ---- regions: kind is as numpy spells it, such as "f8" ----

        integer(c_int) function zarrcore_read_as(array, kind, ndim, start, step, count, memory, nbytes, strides, threads, &
                                                 error) bind(c)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t, zarrcore_error
            type(c_ptr), value :: array
            character(kind=c_char), intent(in) :: kind(*)
            integer(c_int), value :: ndim
            integer(c_int64_t), intent(in), optional :: start(*), step(*), count(*)
            type(c_ptr), value :: memory
            integer(c_size_t), value :: nbytes
            integer(c_int64_t), intent(in), optional :: strides(*)
            integer(c_int), value :: threads
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_read_as

        integer(c_int) function zarrcore_write_as(array, kind, ndim, start, step, count, memory, nbytes, strides, threads, &
                                                  flags, error) bind(c)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t, zarrcore_error
            type(c_ptr), value :: array
            character(kind=c_char), intent(in) :: kind(*)
            integer(c_int), value :: ndim
            integer(c_int64_t), intent(in), optional :: start(*), step(*), count(*)
            type(c_ptr), value :: memory
            integer(c_size_t), value :: nbytes
            integer(c_int64_t), intent(in), optional :: strides(*)
            integer(c_int), value :: threads, flags
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_write_as

        ! ---- trees ----

        integer(c_int) function zarrcore_open_store(path, flags, store, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: flags
            type(c_ptr), intent(out) :: store
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_open_store

        subroutine zarrcore_release_store(store) bind(c)
            import :: c_ptr
            type(c_ptr), value :: store
        end subroutine zarrcore_release_store

        integer(c_int) function zarrcore_open_array(store, path, array, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: array
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_open_array

        integer(c_int) function zarrcore_create_array(store, path, document, array, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*), document(*)
            type(c_ptr), intent(out), optional :: array
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_create_array

        integer(c_int) function zarrcore_create_group(store, path, document, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*)
            character(kind=c_char), intent(in), optional :: document(*)
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_create_group

        integer(c_int) function zarrcore_resize(store, path, ndim, shape, error) bind(c)
            import :: c_char, c_int, c_int64_t, c_ptr, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: ndim
            integer(c_int64_t), intent(in) :: shape(*)
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_resize

        integer(c_int) function zarrcore_append(store, path, axis, kind, ndim, count, memory, nbytes, strides, threads, &
                                                flags, error) bind(c)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: axis
            character(kind=c_char), intent(in) :: kind(*)
            integer(c_int), value :: ndim
            integer(c_int64_t), intent(in) :: count(*)
            type(c_ptr), value :: memory
            integer(c_size_t), value :: nbytes
            integer(c_int64_t), intent(in), optional :: strides(*)
            integer(c_int), value :: threads, flags
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_append

        integer(c_int) function zarrcore_erase(store, path, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*)
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_erase

        integer(c_int) function zarrcore_set_attribute(store, path, name, text, error) bind(c)
            import :: c_char, c_int, c_ptr, zarrcore_error
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: path(*)
            character(kind=c_char), intent(in), optional :: name(*)
            character(kind=c_char), intent(in) :: text(*)
            type(zarrcore_error), intent(inout), optional :: error
        end function zarrcore_set_attribute
    end interface

contains

    ! The message of an error as Fortran has texts.
    function zarrcore_message(error) result(text)
        type(zarrcore_error), intent(in) :: error
        character(len=:), allocatable :: text
        integer :: i

        text = ''
        do i = 1, size(error%message)
            if (error%message(i) == c_null_char) exit
            text = text//error%message(i)
        end do
    end function zarrcore_message

    ! Strides in bytes of memory in which the first dimension lies next to each other, as Fortran has it.
    pure function fortran_strides(shape, itemsize) result(strides)
        integer(c_int64_t), intent(in) :: shape(:), itemsize
        integer(c_int64_t) :: strides(size(shape))
        integer :: d

        strides = itemsize
        do d = 2, size(shape)
            strides(d) = strides(d - 1)*max(shape(d - 1), 1_c_int64_t)
        end do
    end function fortran_strides

end module zarrcore
