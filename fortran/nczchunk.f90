!> Hyperslabs of chunked arrays in Fortran: Zarr, NCZarr, netCDF, HDF5, cfdb. docs/fortran.md is a tour.
!>
!>     use nczchunk
!>     type(nczchunk_array) :: sst
!>     real :: map(180, 90)
!>
!>     call sst%open('coads_sst.zarr')
!>     call sst%read(map, start=[1, 1, 7], count=[180, 90, 1])
!>     call sst%close()
!>
!> Dimensions are in Fortran's order, the fastest first: an array that C calls (time, lat, lon) is data(lon, lat, time)
!> here, in the same memory. Indices count from 1. Elements are read straight to their places, without a copy, also if
!> data is a section such as data(1:9:2, :). start, count and stride may each be int32 or int64, which is checked when
!> the program runs: they are type(*), so that C finds their type in the descriptor, as that of data.
!>
!> Procedures that can fail have the optional arguments stat and errmsg, as ALLOCATE has: stat is 0 or a status
!> (nczchunk_einval and so on); errmsg, a character variable, is set to what failed, and left alone otherwise. Without
!> stat an error stops the program, and the message is printed. Objects are not copied by assignment; one object serves
!> one thread at a time.
module nczchunk
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_loc, c_null_char, c_null_ptr, &
        c_ptr, c_size_t, c_double
    use, intrinsic :: iso_fortran_env, only: error_unit, int64
    implicit none
    private
    public :: nczchunk_array, nczchunk_plan, nczchunk_version, nczchunk_strerror

    !> The statuses that programs look at; docs/statuses.md has all of them. They are netCDF's.
    integer, parameter, public :: nczchunk_noerr = 0, nczchunk_einval = -36, nczchunk_eperm = -37, &
        nczchunk_einvalcoords = -40, nczchunk_enotatt = -43, nczchunk_ebadtype = -45, nczchunk_enotnc = -51, &
        nczchunk_echar = -56, nczchunk_eedge = -57, nczchunk_estride = -58, nczchunk_enomem = -61, nczchunk_eio = -68, &
        nczchunk_enotfound = -90

    integer(c_int), parameter :: for_reading = 0, for_writing = 1

    !> The room for a message of this module's own C, which has the same number.
    integer, parameter :: message_length = 256

    !> An open array. Close it with close.
    type :: nczchunk_array
        private
        type(c_ptr) :: array = c_null_ptr, context = c_null_ptr
    contains
        !> open(path, name, writable, stat, errmsg): opens an array, see nczchunk_array_open. name is the array's path
        !> below path; writable=.true. opens it to be written, too. Blanks at the end of path and name do not count.
        procedure :: open => array_open
        !> close(): what is not open may be closed.
        procedure :: close => array_close
        !> set_threads(n, stat, errmsg): lets reads and writes use n threads, 1 or more.
        procedure :: set_threads => array_set_threads
        !> rank(): the number of dimensions.
        procedure :: rank => array_rank
        !> shape(): the lengths of the dimensions, as integer(int64).
        procedure :: shape => array_shape
        !> chunk_shape(): the lengths of the chunks.
        procedure :: chunk_shape => array_chunk_shape
        !> type_name(): numpy's name of the type of the elements, such as 'float32'.
        procedure :: type_name => array_type_name
        !> format(): the format that it is stored in, such as 'Zarr v3'.
        procedure :: format => array_format
        !> dimension_name(d): the name of a dimension, counted from 1; empty if it has none.
        procedure :: dimension_name => array_dimension_name
        !> read(data, start, count, stride, stat, errmsg): reads a hyperslab into an array of any rank, whose type has
        !> to be that of the elements: real(real32) for float32; integers without a sign have the bits of those with
        !> one. start, count and stride have an integer (int32 or int64) for each dimension. By default start is 1,
        !> count the shape of data, and stride, which is at least 1, is 1. With count, dimensions of one element need
        !> not be in data.
        procedure :: read => array_read
        !> write(data, start, count, stride, stat, errmsg): writes a hyperslab, with the arguments of read.
        procedure :: write => array_write
        !> read_strings(strings, start, count, stride, stat, errmsg): reads strings of any length, in Fortran's order of
        !> elements, each filled up with blanks to the length of the longest. By default all of the array is read.
        procedure :: read_strings => array_read_strings
        procedure, private :: attribute_text => array_attribute_text
        procedure, private :: attribute_numbers => array_attribute_numbers
        !> get_attribute(name, value, stat, errmsg): value is character(:) or real(real64), dimension(:), allocatable.
        generic :: get_attribute => attribute_text, attribute_numbers
    end type nczchunk_array

    !> A plan: which chunks of an array are read into which memory. It may be executed many times, into every array
    !> that is laid out as the one that it was made for, and in parts by several threads. Free it with free.
    type :: nczchunk_plan
        private
        type(c_ptr) :: plan = c_null_ptr
    contains
        !> make(array, data, start, count, stride, stat, errmsg): with the arguments of read. data is not read into, and
        !> the array has to stay open.
        procedure :: make => plan_make
        procedure :: free => plan_free
        !> num_chunks(): how many chunks are read; num_bytes(): how many bytes are selected in them; chunk_bytes(): how
        !> many bytes these chunks have.
        procedure :: num_chunks => plan_num_chunks
        procedure :: num_bytes => plan_num_bytes
        procedure :: chunk_bytes => plan_chunk_bytes
        !> read(data, part, num_parts, stat, errmsg): executes the plan, or one of num_parts parts of it. Several
        !> threads may execute different parts at the same time.
        procedure :: read => plan_read
    end type nczchunk_plan

    !> nczchunk_attribute of the C interface.
    type, bind(c) :: c_attribute
        integer(c_size_t) :: struct_size = 0
        type(c_ptr) :: name = c_null_ptr
        integer(c_size_t) :: type = 0, num_values = 0
        type(c_ptr) :: values = c_null_ptr
    end type c_attribute

    interface
        function c_version() bind(c, name='nczchunk_version')
            import :: c_ptr
            type(c_ptr) :: c_version
        end function
        function c_strerror(status) bind(c, name='nczchunk_strerror')
            import :: c_ptr, c_int
            integer(c_int), value :: status
            type(c_ptr) :: c_strerror
        end function
        function c_strlen(text) bind(c, name='strlen')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: c_strlen
        end function
        function c_context_new(context) bind(c, name='nczchunk_context_new')
            import :: c_ptr, c_int
            type(c_ptr) :: context
            integer(c_int) :: c_context_new
        end function
        subroutine c_context_free(context) bind(c, name='nczchunk_context_free')
            import :: c_ptr
            type(c_ptr), value :: context
        end subroutine
        function c_context_message(context) bind(c, name='nczchunk_context_message')
            import :: c_ptr
            type(c_ptr), value :: context
            type(c_ptr) :: c_context_message
        end function
        function c_context_set_threads(context, threads) bind(c, name='nczchunk_context_set_threads')
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: context
            integer(c_size_t), value :: threads
            integer(c_int) :: c_context_set_threads
        end function
        function c_array_open(path, name, mode, array, context) bind(c, name='nczchunk_array_open')
            import :: c_ptr, c_int, c_char
            character(kind=c_char), intent(in) :: path(*), name(*)
            integer(c_int), value :: mode
            type(c_ptr) :: array
            type(c_ptr), value :: context
            integer(c_int) :: c_array_open
        end function
        subroutine c_array_close(array) bind(c, name='nczchunk_array_close')
            import :: c_ptr
            type(c_ptr), value :: array
        end subroutine
        pure function c_array_var(array) bind(c, name='nczchunk_array_var')
            import :: c_ptr
            type(c_ptr), value, intent(in) :: array
            type(c_ptr) :: c_array_var
        end function
        pure function c_var_rank(var) bind(c, name='nczchunk_var_rank')
            import :: c_ptr, c_size_t
            type(c_ptr), value, intent(in) :: var
            integer(c_size_t) :: c_var_rank
        end function
        function c_var_dimlen(var, d) bind(c, name='nczchunk_var_dimlen')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: var
            integer(c_size_t), value :: d
            integer(c_size_t) :: c_var_dimlen
        end function
        function c_var_chunklen(var, d) bind(c, name='nczchunk_var_chunklen')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: var
            integer(c_size_t), value :: d
            integer(c_size_t) :: c_var_chunklen
        end function
        function c_array_type_name(array) bind(c, name='nczchunk_array_type_name')
            import :: c_ptr
            type(c_ptr), value :: array
            type(c_ptr) :: c_array_type_name
        end function
        function c_array_format(array) bind(c, name='nczchunk_array_format')
            import :: c_ptr
            type(c_ptr), value :: array
            type(c_ptr) :: c_array_format
        end function
        function c_array_dimname(array, d) bind(c, name='nczchunk_array_dimname')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: array
            integer(c_size_t), value :: d
            type(c_ptr) :: c_array_dimname
        end function
        function c_array_attribute(array, name, attribute, context) bind(c, name='nczchunk_array_attribute')
            import :: c_ptr, c_int, c_char, c_attribute
            type(c_ptr), value :: array, context
            character(kind=c_char), intent(in) :: name(*)
            type(c_attribute) :: attribute
            integer(c_int) :: c_array_attribute
        end function
        function c_read_strings(array, start, count, stride, block, nbytes, num_strings, message, context) &
            bind(c, name='nczchunk_fortran_read_strings')
            import :: c_ptr, c_int, c_size_t, c_char
            type(c_ptr), value :: array, context
            type(*), intent(in), optional :: start(:), count(:), stride(:)
            type(c_ptr) :: block
            integer(c_size_t) :: nbytes, num_strings
            character(kind=c_char) :: message(*)
            integer(c_int) :: c_read_strings
        end function
        subroutine c_free(memory) bind(c, name='free')
            import :: c_ptr
            type(c_ptr), value :: memory
        end subroutine
        function c_transfer(array, access, data, start, count, stride, message, context) &
            bind(c, name='nczchunk_fortran_transfer')
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: array, context
            integer(c_int), value :: access
            type(*), dimension(..) :: data
            type(*), intent(in), optional :: start(:), count(:), stride(:)
            character(kind=c_char) :: message(*)
            integer(c_int) :: c_transfer
        end function
        function c_plan(array, data, start, count, stride, plan, message, context) bind(c, name='nczchunk_fortran_plan')
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: array, context
            type(*), dimension(..) :: data
            type(*), intent(in), optional :: start(:), count(:), stride(:)
            type(c_ptr) :: plan
            character(kind=c_char) :: message(*)
            integer(c_int) :: c_plan
        end function
        function c_numbers(type, num_values, values, numbers) bind(c, name='nczchunk_fortran_numbers')
            import :: c_ptr, c_int, c_size_t, c_double
            integer(c_size_t), value :: type, num_values
            type(c_ptr), value :: values
            real(c_double), intent(out) :: numbers(*)
            integer(c_int) :: c_numbers
        end function
        subroutine c_plan_free(plan) bind(c, name='nczchunk_fortran_plan_free')
            import :: c_ptr
            type(c_ptr), value :: plan
        end subroutine
        function c_plan_totals(plan, chunks, bytes, chunk_bytes) bind(c, name='nczchunk_fortran_plan_totals')
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: plan
            integer(c_size_t) :: chunks, bytes, chunk_bytes
            integer(c_int) :: c_plan_totals
        end function
        function c_plan_read(plan, data, part, num_parts, message, context) bind(c, name='nczchunk_fortran_plan_read')
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: plan, context
            type(*), dimension(..) :: data
            integer(c_int), value :: part, num_parts
            character(kind=c_char) :: message(*)
            integer(c_int) :: c_plan_read
        end function
    end interface

contains

    !> The version of the library in use, such as '0.3.0'.
    function nczchunk_version() result(version)
        character(:), allocatable :: version

        version = text_of(c_version())
    end function nczchunk_version

    !> The message for a status.
    function nczchunk_strerror(status) result(message)
        integer, intent(in) :: status
        character(:), allocatable :: message

        message = text_of(c_strerror(int(status, c_int)))
    end function nczchunk_strerror

    subroutine array_open(self, path, name, writable, stat, errmsg)
        class(nczchunk_array), intent(inout) :: self
        character(*), intent(in) :: path
        character(*), intent(in), optional :: name
        logical, intent(in), optional :: writable
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(:), allocatable :: below
        integer(c_int) :: status, mode

        call self%close()
        below = ''
        if (present(name)) below = trim(name)
        mode = for_reading
        if (present(writable)) mode = merge(for_writing, for_reading, writable)
        status = c_context_new(self%context)
        if (status == 0) &
            status = c_array_open(trim(path)//c_null_char, below//c_null_char, mode, self%array, self%context)
        call report(status, self%context, stat, errmsg)
        if (status /= 0) call self%close()
    end subroutine array_open

    subroutine array_close(self)
        class(nczchunk_array), intent(inout) :: self

        call c_array_close(self%array)
        call c_context_free(self%context)
        self%array = c_null_ptr
        self%context = c_null_ptr
    end subroutine array_close

    subroutine array_set_threads(self, n, stat, errmsg)
        class(nczchunk_array), intent(in) :: self
        integer, intent(in) :: n
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg

        ! A number below 0 would be a large one without a sign. 0 is refused.
        call report(c_context_set_threads(self%context, int(max(n, 0), c_size_t)), self%context, stat, errmsg)
    end subroutine array_set_threads

    pure function array_rank(self) result(rank)
        class(nczchunk_array), intent(in) :: self
        integer :: rank

        rank = int(c_var_rank(c_array_var(self%array)))
    end function array_rank

    function array_shape(self) result(lengths)
        class(nczchunk_array), intent(in) :: self
        integer(int64) :: lengths(self%rank())
        integer :: d

        do d = 1, size(lengths)
            lengths(d) = int(c_var_dimlen(c_array_var(self%array), int(size(lengths) - d, c_size_t)), int64)
        end do
    end function array_shape

    function array_chunk_shape(self) result(lengths)
        class(nczchunk_array), intent(in) :: self
        integer(int64) :: lengths(self%rank())
        integer :: d

        do d = 1, size(lengths)
            lengths(d) = int(c_var_chunklen(c_array_var(self%array), int(size(lengths) - d, c_size_t)), int64)
        end do
    end function array_chunk_shape

    function array_type_name(self) result(name)
        class(nczchunk_array), intent(in) :: self
        character(:), allocatable :: name

        name = text_of(c_array_type_name(self%array))
    end function array_type_name

    function array_format(self) result(name)
        class(nczchunk_array), intent(in) :: self
        character(:), allocatable :: name

        name = text_of(c_array_format(self%array))
    end function array_format

    function array_dimension_name(self, d) result(name)
        class(nczchunk_array), intent(in) :: self
        integer, intent(in) :: d
        character(:), allocatable :: name

        name = text_of(c_array_dimname(self%array, int(self%rank() - d, c_size_t)))
    end function array_dimension_name

    subroutine array_read(self, data, start, count, stride, stat, errmsg)
        class(nczchunk_array), intent(in) :: self
        type(*), dimension(..), intent(inout) :: data
        type(*), intent(in), optional :: start(:), count(:), stride(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(kind=c_char) :: message(message_length)

        call report(c_transfer(self%array, for_reading, data, start, count, stride, message, self%context), &
            self%context, stat, errmsg, message)
    end subroutine array_read

    subroutine array_write(self, data, start, count, stride, stat, errmsg)
        class(nczchunk_array), intent(in) :: self
        type(*), dimension(..), intent(in) :: data
        type(*), intent(in), optional :: start(:), count(:), stride(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(kind=c_char) :: message(message_length)

        call report(c_transfer(self%array, for_writing, data, start, count, stride, message, self%context), &
            self%context, stat, errmsg, message)
    end subroutine array_write

    subroutine array_read_strings(self, strings, start, count, stride, stat, errmsg)
        class(nczchunk_array), intent(in) :: self
        character(:), allocatable, intent(out) :: strings(:)
        type(*), intent(in), optional :: start(:), count(:), stride(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(kind=c_char) :: message(message_length)
        type(c_ptr) :: block
        integer(c_size_t) :: nbytes, num_strings
        integer(c_int) :: status

        block = c_null_ptr
        nbytes = 0
        status = c_read_strings(self%array, start, count, stride, block, nbytes, num_strings, message, self%context)
        if (status == 0) call divide(block, nbytes, num_strings, strings)
        if (status == 0) call c_free(block)
        call report(status, self%context, stat, errmsg, message)
    end subroutine array_read_strings

    !> Strings that follow each other, each with a NUL behind it, as strings of one length.
    subroutine divide(block, nbytes, n, strings)
        type(c_ptr), intent(in) :: block
        integer(c_size_t), intent(in) :: nbytes, n
        character(:), allocatable, intent(out) :: strings(:)
        character(kind=c_char), pointer :: bytes(:)
        integer(c_size_t) :: at, begin, i
        integer :: longest, pass

        bytes => null()
        if (n > 0) call c_f_pointer(block, bytes, [nbytes])
        longest = 0
        do pass = 1, 2
            if (pass == 2) allocate (character(longest) :: strings(n))
            begin = 1
            do i = 1, n
                at = begin
                do while (bytes(at) /= c_null_char)
                    at = at + 1
                end do
                if (pass == 1) longest = max(longest, int(at - begin))
                if (pass == 2) call copy(bytes(begin:at - 1), strings(i))
                begin = at + 1
            end do
        end do
    end subroutine divide

    subroutine copy(bytes, text)
        character(kind=c_char), intent(in) :: bytes(:)
        character(*), intent(out) :: text
        integer :: i

        text = ''
        do i = 1, size(bytes)
            text(i:i) = bytes(i)
        end do
    end subroutine copy

    subroutine array_attribute_text(self, name, value, stat, errmsg)
        class(nczchunk_array), intent(in) :: self
        character(*), intent(in) :: name
        character(:), allocatable, intent(out) :: value
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_attribute) :: attribute
        character(kind=c_char), pointer :: bytes(:)
        integer(c_int) :: status

        status = find_attribute(self, name, attribute)
        if (status == 0 .and. attribute%type /= 2) status = nczchunk_echar
        if (status == 0) then
            call c_f_pointer(attribute%values, bytes, [attribute%num_values])
            allocate (character(attribute%num_values) :: value)
            call copy(bytes, value)
        end if
        call report(status, self%context, stat, errmsg)
    end subroutine array_attribute_text

    subroutine array_attribute_numbers(self, name, value, stat, errmsg)
        class(nczchunk_array), intent(in) :: self
        character(*), intent(in) :: name
        real(c_double), allocatable, intent(out) :: value(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_attribute) :: attribute
        integer(c_int) :: status

        status = find_attribute(self, name, attribute)
        if (status == 0) then
            allocate (value(attribute%num_values))
            status = c_numbers(attribute%type, attribute%num_values, attribute%values, value)
        end if
        call report(status, self%context, stat, errmsg)
    end subroutine array_attribute_numbers

    function find_attribute(self, name, attribute) result(status)
        class(nczchunk_array), intent(in) :: self
        character(*), intent(in) :: name
        type(c_attribute), intent(out) :: attribute
        integer(c_int) :: status

        attribute%struct_size = storage_size(attribute)/8
        status = c_array_attribute(self%array, name//c_null_char, attribute, self%context)
    end function find_attribute

    subroutine plan_make(self, array, data, start, count, stride, stat, errmsg)
        class(nczchunk_plan), intent(inout) :: self
        class(nczchunk_array), intent(in) :: array
        type(*), dimension(..), intent(in) :: data
        type(*), intent(in), optional :: start(:), count(:), stride(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(kind=c_char) :: message(message_length)

        call self%free()
        call report(c_plan(array%array, data, start, count, stride, self%plan, message, array%context), &
            array%context, stat, errmsg, message)
    end subroutine plan_make

    subroutine plan_free(self)
        class(nczchunk_plan), intent(inout) :: self

        call c_plan_free(self%plan)
        self%plan = c_null_ptr
    end subroutine plan_free

    function plan_num_chunks(self) result(n)
        class(nczchunk_plan), intent(in) :: self
        integer(int64) :: n, all(3)

        all = plan_totals(self)
        n = all(1)
    end function plan_num_chunks

    function plan_num_bytes(self) result(n)
        class(nczchunk_plan), intent(in) :: self
        integer(int64) :: n, all(3)

        all = plan_totals(self)
        n = all(2)
    end function plan_num_bytes

    function plan_chunk_bytes(self) result(n)
        class(nczchunk_plan), intent(in) :: self
        integer(int64) :: n, all(3)

        all = plan_totals(self)
        n = all(3)
    end function plan_chunk_bytes

    !> 0 for what is no plan.
    function plan_totals(self) result(all)
        class(nczchunk_plan), intent(in) :: self
        integer(int64) :: all(3)
        integer(c_size_t) :: found(3)

        all = 0
        if (c_plan_totals(self%plan, found(1), found(2), found(3)) == 0) all = found
    end function plan_totals

    subroutine plan_read(self, data, part, num_parts, stat, errmsg)
        class(nczchunk_plan), intent(in) :: self
        type(*), dimension(..), intent(inout) :: data
        integer, intent(in), optional :: part, num_parts
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(kind=c_char) :: message(message_length)
        type(c_ptr) :: context
        integer(c_int) :: status, i, n

        i = 1
        n = 1
        if (present(part)) i = part
        if (present(num_parts)) n = num_parts
        ! A context of its own: other threads may execute other parts.
        message = c_null_char
        status = c_context_new(context)
        if (status == 0) status = c_plan_read(self%plan, data, i, n, message, context)
        call report(status, context, stat, errmsg, message)
        call c_context_free(context)
    end subroutine plan_read

    !> Tells who asks how a call of C has ended, with the message of this module's own C, or with that in the context.
    !> Otherwise an error stops the program.
    subroutine report(status, context, stat, errmsg, message)
        integer(c_int), intent(in) :: status
        type(c_ptr), intent(in) :: context
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(kind=c_char), intent(in), target, optional :: message(message_length)
        type(c_ptr) :: own
        character(:), allocatable :: said

        if (present(stat)) stat = status
        if (status == 0) return
        own = c_null_ptr
        ! By itself: as an argument of a call that has errmsg, too, gfortran 12 gets the length of errmsg wrong.
        if (present(message)) own = c_loc(message)
        said = text_of(own)
        if (len(said) == 0) said = text_of(c_context_message(context))
        if (len(said) == 0) said = nczchunk_strerror(int(status))
        if (present(errmsg)) errmsg = said
        if (present(stat)) return
        write (error_unit, '(a)') 'nczchunk: '//said
        error stop 1
    end subroutine report

    !> A string of C.
    function text_of(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(:), allocatable :: text
        character(kind=c_char), pointer :: bytes(:)
        integer(c_size_t) :: n

        if (.not. c_associated(pointer)) then
            text = ''
            return
        end if
        n = c_strlen(pointer)
        call c_f_pointer(pointer, bytes, [n])
        allocate (character(n) :: text)
        call copy(bytes, text)
    end function text_of
end module nczchunk
