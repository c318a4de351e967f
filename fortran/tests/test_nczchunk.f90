! The module nczchunk against the raw copy of an array, and against what it has written itself: test_nczchunk DATA MADE,
! the directory of the tree's data and a new directory to write to.
program test_nczchunk
    use nczchunk
    use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_int, c_null_char, c_size_t
    use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
    implicit none
    character(512) :: data_directory, made
    real(real32), allocatable :: raw(:, :, :)
    integer :: unit

    interface
        function make_array(path, name, type_name, fastest) bind(c)
            import :: c_char, c_int, c_size_t
            character(kind=c_char), intent(in) :: path(*), name(*), type_name(*)
            integer(c_size_t), value :: fastest
            integer(c_int) :: make_array
        end function make_array
    end interface

    call get_command_argument(1, data_directory)
    call get_command_argument(2, made)
    allocate (raw(180, 90, 12))
    open (newunit=unit, file=trim(data_directory)//'/coads_sst.f32', access='stream', form='unformatted', status='old')
    read (unit) raw
    close (unit)
    call it_tells_what_it_is()
    call reads_go_to_their_places()
    call integers_are_of_either_kind()
    call indices_may_be_large()
    call types_and_shapes_are_checked()
    call messages_count_as_fortran_does()
    call plans_are_executed_in_parts()
    call attributes_are_read()
    call every_type_is_written_and_read()
    call strings_are_read()
    deallocate (raw)
    print '(a)', 'all is right'

contains

    subroutine check(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what

        if (condition) return
        print '(2a)', 'not so: ', what
        stop 1
    end subroutine check

    subroutine it_tells_what_it_is()
        type(nczchunk_array) :: sst
        integer :: stat
        character(300) :: errmsg
        character(600) :: path, name

        call sst%open(trim(data_directory)//'/coads_sst.zarr')
        call check(sst%rank() == 3 .and. all(sst%shape() == [180, 90, 12]), 'the shape is in Fortran''s order')
        call check(all(sst%chunk_shape() == [50, 40, 5]), 'the chunks are, too')
        call check(sst%type_name() == 'float32' .and. sst%format() == 'Zarr v2', 'the type and the format')
        call check(sst%dimension_name(1) == 'COADSX' .and. sst%dimension_name(3) == 'TIME', 'the names of dimensions')
        call check(sst%dimension_name(4) == '' .and. sst%dimension_name(0) == '', 'there is no such dimension')
        call sst%close()
        call sst%close()
        call check(sst%rank() == 0, 'what is closed has no dimensions')
        call sst%open(trim(data_directory)//'/nothing.zarr', stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_enotfound .and. index(errmsg, 'nothing.zarr') > 0, 'what is not there')
        call sst%open(trim(data_directory)//'/coads_sst.nc', 'SST')
        call check(sst%format() == 'netCDF classic', 'a variable of a file')
        call sst%set_threads(0, stat)
        call check(stat == nczchunk_einval, 'no thread')
        call sst%set_threads(-1, stat)
        call check(stat == nczchunk_einval, 'less than no thread')
        call sst%close()
        path = trim(data_directory)//'/coads_sst.nc'
        name = 'SST'
        call sst%open(path, name)
        call check(sst%rank() == 3, 'blanks behind a path and a name')
        call sst%close()
        call check(len(nczchunk_version()) > 0 .and. len(nczchunk_strerror(nczchunk_einval)) > 0, 'texts')
    end subroutine it_tells_what_it_is

    subroutine reads_go_to_their_places()
        type(nczchunk_array) :: sst
        real(real32), allocatable :: all_of_it(:, :, :), wide(:, :, :, :)
        real(real32) :: map(180, 90), series(12), one

        call sst%open(trim(data_directory)//'/coads_sst.zarr')
        call sst%set_threads(2)
        allocate (all_of_it(180, 90, 12))
        call sst%read(all_of_it)
        call check(all(all_of_it == raw), 'the whole array')
        call sst%read(map, start=[1, 1, 7], count=[180, 90, 1])
        call check(all(map == raw(:, :, 7)), 'a map')
        call sst%read(series, start=[90_int64, 45_int64, 1_int64], count=[1_int64, 1_int64, 12_int64])
        call check(all(series == raw(90, 45, :)), 'a series')
        call sst%read(one, start=[90, 45, 3], count=[1, 1, 1])
        call check(one == raw(90, 45, 3), 'a scalar')
        call sst%read(all_of_it(1:60, 1:30, 1:4), start=[3, 2, 1], stride=[3, 3, 3])
        call check(all(all_of_it(1:60, 1:30, 1:4) == raw(3:180:3, 2:89:3, 1:10:3)), 'strides, into a part')
        ! Sections that leave gaps, and backwards; nothing else is touched.
        allocate (wide(2, 360, 90, 3))
        wide = -1
        call sst%read(wide(2, 1:360:2, 90:1:-1, 2), start=[1, 1, 5], count=[180, 90, 1])
        call check(all(wide(2, 1:360:2, 90:1:-1, 2) == raw(:, :, 5)), 'a section')
        call check(all(wide(1, :, :, :) == -1) .and. all(wide(2, 2:360:2, :, 2) == -1) .and. &
            all(wide(2, :, :, 1:3:2) == -1), 'what is beside the section')
        call sst%read(series(1:0), start=[1, 1, 1], count=[1, 1, 0])
        call sst%close()
    end subroutine reads_go_to_their_places

    subroutine integers_are_of_either_kind()
        type(nczchunk_array) :: sst
        type(nczchunk_plan) :: plan
        real(real32) :: series(12), some(3, 2, 1), part(9, 3, 3)
        integer(int32) :: short(6) = [1, -1, 1, -1, 12, -1]
        integer, allocatable :: none(:)
        integer :: stat
        character(300) :: errmsg

        call sst%open(trim(data_directory)//'/coads_sst.zarr')
        call sst%read(series, count=[1_int64, 1_int64, 12_int64])
        call check(all(series == raw(1, 1, :)), 'a count of int64 without a start')
        call sst%read(part, stride=[20_int64, 30_int64, 4_int64])
        call check(all(part == raw(::20, ::30, ::4)), 'a stride of int64 alone')
        call sst%read(some, start=[50_int64, 40_int64, 5_int64], count=[3, 2, 1], stride=[2_int64, 3_int64, 1_int64])
        call check(all(some == raw(50:54:2, 40:43:3, 5:5)), 'lists of different kinds')
        call sst%read(some, start=[50, 40, 5], stride=[2_int64, 3_int64, 1_int64])
        call check(all(some == raw(50:54:2, 40:43:3, 5:5)), 'lists of different kinds, the other way round')
        call sst%read(series, count=short(1:5:2))
        call check(all(series == raw(1, 1, :)), 'a list that is a section')
        call sst%read(series, start=none, count=int(short(1:5:2), int64))
        call check(all(series == raw(1, 1, :)), 'a list that is not allocated is not given')
        call sst%read(some, start=[50_int64, 40_int64], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einval .and. index(errmsg, 'each dimension') > 0, 'too few integers of int64')
        call sst%read(some, start=[50., 40., 5.], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einval .and. index(errmsg, 'int32 or int64') > 0, 'a list of real numbers')
        call sst%read(some, start=[50_int16, 40_int16, 5_int16], stat=stat)
        call check(stat == nczchunk_einval, 'a list of short integers')

        call plan%make(sst, some, [50_int64, 40_int64, 5_int64], [3, 2, 1], [2_int64, 3_int64, 1_int64])
        some = 0
        call plan%read(some)
        call check(all(some == raw(50:54:2, 40:43:3, 5:5)), 'a plan')
        call plan%make(sst, series, count=[1_int64, 1_int64, 12_int64])
        call plan%read(series)
        call check(all(series == raw(1, 1, :)), 'a plan without a start')
        call plan%free()
        call sst%close()
    end subroutine integers_are_of_either_kind

    subroutine indices_may_be_large()
        integer(int64), parameter :: length = 3000000000_int64, first = length - 4
        type(nczchunk_array) :: array
        type(nczchunk_plan) :: plan
        integer(int32) :: numbers(5), numbers_read(5)

        call check(make_array(trim(made)//'/all.zarr'//c_null_char, 'long'//c_null_char, 'int32'//c_null_char, &
            int(length, c_size_t)) == 0, 'a long array is made')
        call array%open(trim(made)//'/all.zarr', 'long', writable=.true.)
        call check(all(array%shape() == [length, 4_int64]), 'it is long')
        numbers = [1, 2, 3, 4, 5]
        call array%write(numbers, start=[first, 4_int64], count=[5, 1])
        call array%read(numbers_read, start=[first, 4_int64], count=[5, 1])
        call check(all(numbers_read == numbers), 'elements beyond 2^31')
        call plan%make(array, numbers_read(1:2), [2_int64, 4_int64], [2, 1], stride=[first - 1, 1_int64])
        call check(plan%num_chunks() == 2, 'a plan beyond 2^31')
        call plan%read(numbers_read(1:2))
        call check(all(numbers_read(1:2) == [0, 2]), 'the plan is executed')
        call plan%free()
        call array%close()
    end subroutine indices_may_be_large

    subroutine types_and_shapes_are_checked()
        type(nczchunk_array) :: sst
        integer :: stat
        character(300) :: errmsg
        real(real32) :: map(180, 90), small(3)
        real(real64) :: double(3)
        integer(int32) :: integers(3)

        call sst%read(small, stat=stat)
        call check(stat == nczchunk_einval, 'an array that is not open')
        call sst%open(trim(data_directory)//'/coads_sst.zarr')
        call sst%read(double, start=[1, 1, 1], count=[3, 1, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_ebadtype .and. index(errmsg, 'type') > 0, 'double precision')
        call sst%read(integers, start=[1, 1, 1], count=[3, 1, 1], stat=stat)
        call check(stat == nczchunk_ebadtype, 'integers of the same length')
        call sst%read(map, stat=stat)
        call check(stat == nczchunk_einval, 'a rank without a count')
        call sst%read(map, start=[1, 1, 1], count=[90, 180, 1], stat=stat)
        call check(stat == nczchunk_einval, 'a shape that is not the count')
        call sst%read(small, start=[1, 1, 1], count=[2, 1, 1], stat=stat)
        call check(stat == nczchunk_einval, 'more room than elements')
        call sst%read(small, start=[1, 1], count=[3, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einval .and. index(errmsg, 'each dimension') > 0, 'too few integers')
        call sst%read(small, start=[0, 1, 1], count=[3, 1, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einvalcoords .and. index(errmsg, 'from 1') > 0, 'a start of 0')
        call sst%read(small, start=[179, 1, 1], count=[3, 1, 1], stat=stat)
        call check(stat == nczchunk_eedge, 'beyond the end')
        call sst%read(small, start=[200, 1, 1], count=[3, 1, 1], stat=stat)
        call check(stat == nczchunk_einvalcoords, 'a start beyond the end')
        call sst%read(small, start=[1, 1, 1], count=[3, 1, 1], stride=[0, 1, 1], stat=stat)
        call check(stat == nczchunk_estride, 'a stride of 0')
        call sst%read(small, start=[3, 1, 1], count=[3, 1, 1], stride=[-1, 1, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_estride .and. index(errmsg, 'stride') > 0, 'a stride below 0')
        call sst%write(small, start=[1, 1, 1], count=[3, 1, 1], stat=stat)
        call check(stat == nczchunk_eperm, 'a write to what is open to be read')
        call sst%close()
    end subroutine types_and_shapes_are_checked

    subroutine messages_count_as_fortran_does()
        type(nczchunk_array) :: array
        type(nczchunk_plan) :: plan
        real(real32) :: six(3, 2)
        integer(int32) :: numbers(3)
        character(*), parameter :: beyond = ' reach beyond the dimension, whose length is '
        character(300) :: errmsg
        integer :: stat

        call array%open(trim(data_directory)//'/coads_sst.zarr')
        call array%read(six, start=[179, 1, 7], count=[3, 2, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_eedge .and. &
            errmsg == 'dimension 1: start 179, count 3, stride 1'//beyond//'180', 'a read: '//trim(errmsg))
        call array%read(six, start=[1, 1, 13], count=[3, 2, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einvalcoords .and. &
            errmsg == 'dimension 3: start 13, count 1, stride 1'//beyond//'12', 'a start: '//trim(errmsg))
        ! What the library said last is not what the module says itself.
        call array%read(six, start=[1, 0, 13], count=[3, 2, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einvalcoords .and. errmsg == 'start counts from 1', 'a start of 0: '//trim(errmsg))
        call plan%make(array, six, [1, 88, 1], [3, 2, 1], [1, 3, 1], stat, errmsg)
        call check(stat == nczchunk_eedge .and. &
            errmsg == 'dimension 2: start 88, count 2, stride 3'//beyond//'90', 'a plan: '//trim(errmsg))
        call array%close()
        call open_new(array, 'int32')
        call array%write(numbers(1:2), start=[3, 1], count=[2, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_eedge .and. &
            errmsg == 'dimension 1: start 3, count 2, stride 1'//beyond//'3', 'a write: '//trim(errmsg))
        call array%close()
    end subroutine messages_count_as_fortran_does

    subroutine plans_are_executed_in_parts()
        type(nczchunk_array) :: sst
        type(nczchunk_plan) :: plan
        real(real32) :: map(90, 45), other(90, 45), smaller(90, 44)
        integer(int32) :: integers(90, 45)
        real(real64) :: double(90, 45)
        integer :: stat, part
        character(300) :: errmsg

        call plan%read(map, stat=stat)
        call check(stat == nczchunk_einval .and. plan%num_chunks() == 0, 'no plan')
        call sst%open(trim(data_directory)//'/coads_sst.zarr')
        call plan%make(sst, map, start=[1, 1, 7], count=[90, 45, 1], stride=[2, 2, 1])
        call check(plan%num_chunks() == 12 .and. plan%num_bytes() == 4*90*45, 'what it costs')
        call check(plan%chunk_bytes() >= plan%num_bytes(), 'the bytes of the chunks')
        do part = 1, 5
            call plan%read(map, part, 5)
        end do
        call check(all(map == raw(1:180:2, 1:90:2, 7)), 'all parts')
        call plan%read(other)
        call check(all(other == map), 'another array with the same layout')
        call plan%read(smaller, stat=stat)
        call check(stat == nczchunk_einval, 'another layout')
        integers = 5
        call plan%read(integers, stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_ebadtype .and. index(errmsg, 'type') > 0, 'integers, of the same length')
        call check(all(integers == 5), 'what is refused is left alone')
        call plan%read(double, stat=stat)
        call check(stat == nczchunk_ebadtype, 'double precision, by a plan')
        call plan%read(map, 6, 5, stat=stat)
        call check(stat == nczchunk_einvalcoords, 'no such part')
        call plan%free()
        call plan%free()
        call sst%close()
    end subroutine plans_are_executed_in_parts

    subroutine attributes_are_read()
        type(nczchunk_array) :: sst
        character(:), allocatable :: text
        real(real64), allocatable :: numbers(:)
        integer :: stat

        call sst%open(trim(data_directory)//'/coads_sst.zarr')
        call sst%get_attribute('units', text)
        call check(text == 'Deg C' .and. len(text) == 5, 'a text')
        call sst%get_attribute('missing_value', numbers)
        call check(size(numbers) == 1 .and. numbers(1) < -9e33_real64, 'numbers')
        call sst%get_attribute('missing_value', text, stat)
        call check(stat == nczchunk_echar, 'numbers are no text')
        call sst%get_attribute('units', numbers, stat)
        call check(stat == nczchunk_echar, 'text is no numbers')
        call sst%get_attribute('none', text, stat)
        call check(stat == nczchunk_enotatt, 'no attribute')
        call sst%close()
    end subroutine attributes_are_read

    ! open_new(array, type_name): a new array of 3 x 4 elements.
    subroutine open_new(array, type_name)
        type(nczchunk_array), intent(inout) :: array
        character(*), intent(in) :: type_name

        call check(make_array(trim(made)//'/all.zarr'//c_null_char, type_name//c_null_char, &
            type_name//c_null_char, 3_c_size_t) == 0, type_name//' is made')
        call array%open(trim(made)//'/all.zarr', type_name, writable=.true.)
        call check(array%type_name() == type_name .and. all(array%shape() == [3, 4]), type_name//' is open')
    end subroutine open_new

    subroutine every_type_is_written_and_read()
        type(nczchunk_array) :: array
        integer(int8) :: bytes(3, 4), bytes_read(3, 4)
        integer(int16) :: shorts(3, 4), shorts_read(3, 4)
        integer(int64) :: longs(3, 4), longs_read(3, 4)
        complex(real32) :: complexes(3, 4), complexes_read(3, 4)
        real(real64) :: doubles(6, 4), doubles_read(3, 4)
        logical(c_bool) :: logicals(3, 4), logicals_read(3, 4)
        character(5) :: texts(3, 4), texts_read(3, 4)
        integer :: i

        bytes = reshape([(int(i, int8), i=1, 12)], [3, 4])
        call open_new(array, 'int8')
        call array%write(bytes)
        call array%read(bytes_read)
        call check(all(bytes == bytes_read), 'bytes')
        call array%close()

        shorts = reshape([(int(-i, int16), i=1, 12)], [3, 4])
        call open_new(array, 'uint16')
        call array%write(shorts)
        call array%read(shorts_read)
        call check(all(shorts == shorts_read), 'integers without a sign have the bits of those with one')
        call array%close()

        longs = reshape([(2_int64**40 + i, i=1, 12)], [3, 4])
        call open_new(array, 'int64')
        call array%write(longs(2:3, :), start=[2, 1])
        longs_read = -1
        call array%read(longs_read)
        call check(all(longs(2:3, :) == longs_read(2:3, :)) .and. all(longs_read(1, :) == 0), 'a part is written')
        call array%close()

        complexes = reshape([(cmplx(i, -i, real32), i=1, 12)], [3, 4])
        call open_new(array, 'complex64')
        call array%write(complexes)
        call array%read(complexes_read)
        call check(all(complexes == complexes_read), 'complex numbers')
        call array%close()

        doubles = reshape([(i/8d0, i=1, 24)], [6, 4])
        call open_new(array, 'float64')
        call array%write(doubles(1:6:2, :), start=[1_int64, 1_int64])
        call array%read(doubles_read)
        call check(all(doubles(1:6:2, :) == doubles_read), 'a section is written')
        call array%close()

        logicals = shorts > -7
        call open_new(array, 'bool')
        call array%write(logicals)
        call array%read(logicals_read)
        call check(count(logicals .eqv. logicals_read) == 12, 'logicals')
        call array%close()

        texts = 'ab cd'
        texts(2, 3) = 'x'
        call open_new(array, 'S5')
        call array%write(texts)
        call array%read(texts_read)
        call check(all(texts == texts_read), 'texts of one length')
        call array%close()
    end subroutine every_type_is_written_and_read

    subroutine strings_are_read()
        type(nczchunk_array) :: array
        character(:), allocatable :: strings(:)
        character(5) :: fixed(3, 4)
        character(300) :: errmsg
        integer :: stat

        call open_new(array, 'string')
        call array%read_strings(strings)
        call check(size(strings) == 12 .and. len(strings) == 4 .and. strings(1) == 'a' .and. strings(2) == '' .and. &
            strings(3) == 'ccc' .and. strings(12) == 'last', 'all strings')
        call array%read_strings(strings, start=[3, 1], count=[1, 2], stride=[1, 3])
        call check(size(strings) == 2 .and. strings(1) == 'ccc' .and. strings(2) == 'last', 'some strings')
        call array%read_strings(strings, count=[0, 1])
        call check(size(strings) == 0, 'no strings')
        call array%read_strings(strings, [3_int64, 1_int64], [1, 2], [1_int64, 3_int64])
        call check(size(strings) == 2 .and. strings(1) == 'ccc' .and. strings(2) == 'last', 'int64 for strings')
        call array%read_strings(strings, count=[2_int64, 1_int64])
        call check(size(strings) == 2 .and. strings(1) == 'a' .and. strings(2) == '', 'a count of int64 for strings')
        call array%read_strings(strings, start=[4, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einvalcoords .and. index(errmsg, 'dimension 1: start 4, count 3') == 1, &
            'strings beyond the end: '//trim(errmsg))
        call array%read_strings(strings, start=[0, 1], stat=stat, errmsg=errmsg)
        call check(stat == nczchunk_einvalcoords .and. index(errmsg, 'from 1') > 0, 'strings from 0 on')
        call array%read(fixed, stat=stat)
        call check(stat == nczchunk_ebadtype, 'strings of any length are no texts of one length')
        call array%close()
    end subroutine strings_are_read
end program test_nczchunk
