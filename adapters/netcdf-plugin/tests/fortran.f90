! netcdf-fortran on the plugin: the programs of netCDF's users in Fortran read shards, and a variable that is one chunk
! map by map: fortran SHARDS WHOLE. Dimensions are in Fortran's order.
program plugin
    use netcdf
    implicit none
    integer :: ncid, varid, i, dimids(3), lengths(3)
    real, allocatable :: sst(:, :, :), map(:, :)
    integer(kind=2) :: strided(3, 2)
    character(len=512) :: path
    character(len=nf90_max_name) :: name

    call get_command_argument(1, path)
    call check(nf90_open(trim(path), nf90_nowrite, ncid))
    call check(nf90_inq_varid(ncid, 'sst', varid))
    call check(nf90_inquire_variable(ncid, varid, dimids=dimids))
    do i = 1, 3
        call check(nf90_inquire_dimension(ncid, dimids(i), name, lengths(i)))
    end do
    if (any(lengths /= [6, 4, 3])) stop 'the dimensions are wrong'
    ! The whole variable at once, and parts of it as another type.
    allocate (sst(6, 4, 3))
    call check(nf90_get_var(ncid, varid, sst))
    do i = 0, 47
        if (sst(mod(i, 6) + 1, mod(i/6, 4) + 1, i/24 + 1) /= real(i)/4) stop 'a value is wrong'
    end do
    if (any(sst(:, :, 3) /= -1)) stop 'what is missing is not the fill value'
    call check(nf90_get_var(ncid, varid, strided, start=[1, 1, 1], count=[3, 2, 1], stride=[2, 2, 1]))
    if (any(strided /= int(sst(1:5:2, 1:3:2, 1), 2))) stop 'a strided value is wrong'
    call check(nf90_get_att(ncid, varid, 'units', name))
    if (name(1:5) /= 'Deg C') stop 'an attribute is wrong'
    call check(nf90_close(ncid))

    call get_command_argument(2, path)
    allocate (map(100, 100))
    call check(nf90_open(trim(path), nf90_nowrite, ncid))
    call check(nf90_inq_varid(ncid, 'v', varid))
    do i = 1, 100
        call check(nf90_get_var(ncid, varid, map, start=[1, 1, i], count=[100, 100, 1]))
        if (map(1, 1) /= real(i - 1)*10000 .or. map(100, 100) /= real(i)*10000 - 1) stop 'a map is wrong'
    end do
    call check(nf90_close(ncid))
    print '(a)', 'netcdf-fortran: all is right'
contains
    subroutine check(status)
        integer, intent(in) :: status

        if (status == nf90_noerr) return
        print '(a)', trim(nf90_strerror(status))
        stop 1
    end subroutine check
end program plugin
