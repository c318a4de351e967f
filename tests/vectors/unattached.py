#!/usr/bin/env python3
"""Writes unattached.nc: a small netCDF-4 file whose variables say the numbers of their dimensions and list no scales.

    pip install netCDF4==1.7.5.1.post1
    tests/vectors/unattached.py tests/vectors/unattached.nc

netCDF-C writes such files where a program asks for it (`NC_NODIMSCALE_ATTACH`), which netCDF4 does not do.
"""

import ctypes
import pathlib
import sys

import netCDF4

NETCDF4, NODIMSCALE_ATTACH, BYTE = 0x1000, 0x40000, 1


def main():
    libraries = pathlib.Path(netCDF4.__file__).parents[1] / "netcdf4.libs"
    netcdf = ctypes.CDLL(str(next(libraries.glob("libnetcdf-*"))))

    def call(name, *arguments):
        """Calls a function of netCDF-C whose last argument is where it writes a number."""
        number = ctypes.c_int()
        status = getattr(netcdf, name)(*arguments, ctypes.byref(number))
        assert status == 0, (name, status)
        return number.value

    file = call("nc_create", sys.argv[1].encode(), NETCDF4 | NODIMSCALE_ATTACH)
    group = call("nc_def_grp", file, b"g")
    sizes = {"t": (file, 0), "y": (file, 3), "x": (group, 2)}
    dims = {name: call("nc_def_dim", of, name.encode(), ctypes.c_size_t(size)) for name, (of, size) in sizes.items()}
    for of, name, names, count in [
            (file, "t", "t", 2), (file, "v", "ty", 4), (group, "x", "x", 2), (group, "w", "ytx", 0),
            (group, "long", "t", 5)]:
        variable = call("nc_def_var", of, name.encode(), BYTE, len(names), (ctypes.c_int * 3)(*map(dims.get, names)))
        for i in range(count):
            index = (ctypes.c_size_t * 3)(i)
            assert netcdf.nc_put_var1_schar(of, variable, index, ctypes.byref(ctypes.c_byte(i))) == 0
    assert netcdf.nc_close(file) == 0


if __name__ == "__main__":
    main()
