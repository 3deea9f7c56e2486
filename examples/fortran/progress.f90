! SPDX-License-Identifier: MIT
!
! Read an array of numbers under a watch, with memory from functions of the program, and print their sum.  It is read by one thread, since
! what these functions count is not made for more.
!
!     progress array [cancel]
module counted
    use zarrcore
    implicit none

    integer(c_int), target, volatile :: cancelled = 0
    integer(c_int64_t) :: calls = 0
    integer :: pieces = 0

    interface
        type(c_ptr) function aligned_alloc(alignment, nbytes) bind(c)
            import :: c_ptr, c_size_t
            integer(c_size_t), value :: alignment, nbytes
        end function aligned_alloc

        subroutine free(memory) bind(c)
            import :: c_ptr
            type(c_ptr), value :: memory
        end subroutine free
    end interface

contains

    integer(c_int) function progress(user, done, expected) bind(c)
        type(c_ptr), value :: user
        integer(c_int64_t), value :: done, expected

        calls = calls + 1
        print '(i0, a, i0, a, l1)', done, ' of ', expected, ' chunks ', c_associated(user)
        progress = 0
    end function progress

    type(c_ptr) function take(user, nbytes, alignment) bind(c)
        type(c_ptr), value :: user
        integer(c_size_t), value :: nbytes, alignment

        if (c_associated(user)) print '(a)', 'there is no user'
        pieces = pieces + 1
        take = aligned_alloc(alignment, (nbytes + alignment - 1)/alignment*alignment)
    end function take

    subroutine give(user, memory) bind(c)
        type(c_ptr), value :: user, memory

        if (c_associated(user)) print '(a)', 'there is no user'
        pieces = pieces - 1
        call free(memory)
    end subroutine give

end module counted

program show_progress
    use counted
    implicit none

    character(len=1000) :: path
    type(c_ptr) :: array
    type(zarrcore_error) :: error
    integer(c_int64_t) :: extent(zarrcore_max_dims)
    integer :: status
    real(c_double), allocatable, target :: memory(:)

    call get_command_argument(1, path)
    if (command_argument_count() > 1) cancelled = 1
    if (zarrcore_set_allocator(zarrcore_allocator(allocate=c_funloc(take), release=c_funloc(give)), error) /= zarrcore_ok) &
        call stop_with(error)
    if (zarrcore_set_watch(zarrcore_watch(cancelled=c_loc(cancelled), progress=c_funloc(progress)), error) /= zarrcore_ok) &
        call stop_with(error)
    if (zarrcore_open(trim(path)//c_null_char, 0_c_int, array, error) /= zarrcore_ok) call stop_with(error)
    status = zarrcore_shape(array, extent)
    allocate (memory(product(extent(1:zarrcore_ndim(array)))))
    if (zarrcore_read_as(array, 'f8'//c_null_char, zarrcore_ndim(array), memory=c_loc(memory), nbytes=8_c_size_t*size(memory), &
                         threads=1_c_int, error=error) /= zarrcore_ok) call stop_with(error)
    print '(es24.16)', sum(memory)
    deallocate (memory)
    call zarrcore_release(array)
    status = zarrcore_set_watch()
    status = zarrcore_shutdown()
    if (zarrcore_set_allocator(error=error) /= zarrcore_ok) call stop_with(error)
    print '(i0, a)', pieces, ' pieces of memory are left'

contains

    subroutine stop_with(error)
        type(zarrcore_error), intent(in) :: error

        print '(a)', zarrcore_message(error)
        stop 1
    end subroutine stop_with

end program show_progress
