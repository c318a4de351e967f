#!/usr/bin/env python3
"""Arrays as the system's netCDF-C writes them, which is often an older one: a program of its own, for a process has one
libnetcdf only.

    netcdf_c_installed.py DIRECTORY    writes arrays and, beside each, what it holds; prints a list of them as JSON
"""

import ctypes
import ctypes.util
import json
import pathlib
import re
import sys
from ctypes import byref, c_char_p, c_int, c_size_t

import numpy as np

from cases import NETCDF, values

NETCDF4, UNLIMITED, CHUNKED = 0x1000, 0, 0
SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)
DIMENSIONS = ["time", "lat", "lon"]
FILLS = {"f8": 9.9692099683868690e36, "i2": -32767}


class NetCDF:
    """The few functions of netCDF-C that are needed."""

    def __init__(self, library):
        self.c = ctypes.CDLL(library)
        self.c.nc_inq_libvers.restype = c_char_p
        self.version = self.c.nc_inq_libvers().decode().split()[0]
        self.is_old = [int(number) for number in re.findall("[0-9]+", self.version)[:3]] < [4, 9, 3]

    def __getattr__(self, name):
        def call(*arguments):
            status = getattr(self.c, "nc_" + name)(*arguments)
            if status:
                raise OSError(f"nc_{name}: {status}")
        return call

    def new(self, name, *arguments):
        """What a function gives back through its last argument."""
        given = c_int()
        getattr(self, name)(*arguments, byref(given))
        return given.value


class File:
    """A data set that is being written, and its cases."""

    def __init__(self, netcdf, root, mode, name):
        self.netcdf, self.path, self.mode = netcdf, root / f"{mode}-{name}", mode
        self.name = f"{mode} by netCDF-C {netcdf.version}, {name}"
        self.id = netcdf.new("create", f"file://{self.path}#mode={mode},file".encode(), NETCDF4)
        self.dimensions = {}
        self.cases = []

    def dimension(self, name, length):
        self.dimensions[name] = self.netcdf.new("def_dim", self.id, name.encode(), c_size_t(length))

    def variable(self, name, dimensions, data, type_=None, chunks=None, deflate=None, fletcher=False):
        """Defines a variable, and writes its first values: as many as there are."""
        ids = (c_int * max(1, len(dimensions)))(*[self.dimensions[one] for one in dimensions])
        kind = type_ or NETCDF[data.dtype.str[1:]]
        variable = self.netcdf.new("def_var", self.id, name.encode(), kind, len(dimensions), ids)
        if chunks:
            self.netcdf.def_var_chunking(self.id, variable, CHUNKED, (c_size_t * len(chunks))(*chunks))
        if deflate is not None:
            self.netcdf.def_var_deflate(self.id, variable, deflate, 1, 4)
        if fletcher:
            self.netcdf.def_var_fletcher32(self.id, variable, 1)
        self.netcdf.put_att_text(self.id, variable, b"units", c_size_t(6), b"Kelvin")
        data = np.ascontiguousarray(data).reshape(data.shape)
        start, count = (c_size_t * max(1, data.ndim))(), (c_size_t * max(1, data.ndim))(*data.shape)
        self.netcdf.put_vara(self.id, variable, start, count, data.ctypes.data_as(ctypes.c_void_p))

    def case(self, name, expected, dimensions, type_=None, refused=None):
        stored = None
        if refused is None:
            stored = f"{self.path}-{name}.npy"
            np.save(stored, expected)
        self.cases.append(dict(name=f"{self.name}: {name}", path=str(self.path), array=name, values=stored,
                               dimensions=dimensions, type=type_, refused=refused, typed={"units": [2, "Kelvin"]}))


def variables(file):
    for dimension, length in zip(DIMENSIONS, SHAPE):
        file.dimension(dimension, length)
    for name, settings in [("default", {}), ("chunked", dict(chunks=CHUNKS)), ("zlib", dict(chunks=CHUNKS, deflate=0)),
                           ("shuffled", dict(chunks=CHUNKS, deflate=1))]:
        for dtype in NETCDF:
            data = values(SHAPE, dtype)
            file.variable(f"{name}_{dtype}", DIMENSIONS, data, **settings)
            file.case(f"{name}_{dtype}", data, DIMENSIONS)
    file.variable("scalar", [], np.array(2.5))
    file.case("scalar", np.array(2.5), [])
    texts = np.array([b"a", b"\0", b"~"] * 10, "S1")
    file.variable("char", ["lat"], texts, type_=2)
    if file.mode == "nczarr" or not file.netcdf.is_old:
        file.case("char", texts, ["lat"], 2)
    else: # four bytes are said, one is stored, and nothing else tells
        file.case("char", None, ["lat"], 2, [-127, "30 bytes"])
    try:
        file.dimension("record", UNLIMITED)
    except OSError: # versions before 4.9.3 have no such dimensions in NCZarr
        file.dimension("record", 3)
    for dtype, fill in FILLS.items():
        data = values((3, 30), dtype)
        file.variable(f"record_{dtype}", ["record", "lat"], data, chunks=(2, 7))
        file.case(f"record_{dtype}", data, ["record", "lat"])
        part = np.full(SHAPE, fill, dtype)
        part[:3] = values((3, *SHAPE[1:]), dtype)
        file.variable(f"part_{dtype}", DIMENSIONS, part[:3], chunks=CHUNKS)
        file.case(f"part_{dtype}", part, DIMENSIONS)


def main():
    root = pathlib.Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    library = ctypes.util.find_library("netcdf")
    cases = []
    for mode in ("nczarr", "zarr") if library else ():
        netcdf = NetCDF(library)
        file = File(netcdf, root, mode, "variables")
        variables(file)
        netcdf.close(file.id)
        cases += file.cases
    print(json.dumps(cases))


if __name__ == "__main__":
    main()
