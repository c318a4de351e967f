! Reads sea surface temperatures: a map, a series, and every tenth row and column into a section of another array.
!
!     gfortran example.f90 $(pkg-config --cflags --libs nczchunk-fortran) && ./a.out coads_sst.zarr
program example
    use nczchunk
    implicit none
    type(nczchunk_array) :: sst
    type(nczchunk_plan) :: plan
    character(512) :: path
    real :: map(180, 90), series(12), both(18, 2, 9)
    integer :: month

    call get_command_argument(1, path)
    call sst%open(trim(path))
    print '(4a, 3(1x, i0))', sst%format(), ', ', sst%type_name(), ':', sst%shape()

    ! C calls the array (time, lat, lon); here it is data(lon, lat, time).
    call sst%read(map, start=[1, 1, 7], count=[180, 90, 1])
    print '(a, f0.2)', 'July: ', map(90, 45)
    call sst%read(series, start=[90, 45, 1], count=[1, 1, 12])
    print '(a, f0.2)', 'July of the series: ', series(7)
    call sst%read(both(:, 1, :), start=[1, 1, 7], count=[18, 9, 1], stride=[10, 10, 1])
    print '(a, f0.2)', 'Every tenth: ', both(10, 1, 5) - map(91, 41)

    ! A plan tells what a read costs before it is done, and is executed as often as wanted.
    call plan%make(sst, series, start=[90, 45, 1], count=[1, 1, 12])
    print '(a, i0)', 'Chunks of a series: ', plan%num_chunks()
    do month = 1, 2
        call plan%read(series)
    end do
    call plan%free()
    call sst%close()
end program example
