"""One library reads one row from a server, in a process of its own.

    peer.py LIBRARY ROW URL REPETITIONS

Prints for each repetition the seconds, those of processors, and what the server has counted: requests, bytes, the most
at the same time. The last line is a sum of what was read, which the caller compares. Each repetition opens the array
anew. Before them the client is used once, so that what is loaded and started once is not measured.
"""

import ctypes
import os
import pathlib
import sys
import time
import urllib.request

import numpy

import data

library, row, url, repetitions = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])


def counts():
    return [int(word) for word in urllib.request.urlopen(f"{url}/-/counts").read().split()]


def zarr_store(kind):
    """The whole server, so that its connections are kept."""
    import zarr
    if kind == "fsspec":
        return zarr.storage.FsspecStore.from_url(url, read_only=True)
    import obstore.store
    client = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
    return zarr.storage.ObjectStore(client, read_only=True)


def netcdf_c():
    """netCDF-C's own client for S3: the server is one for which the first part of a path is the bucket."""
    netcdf = ctypes.CDLL(os.environ["NETCDF_WITH_S3"])

    def check(status):
        if status:
            raise OSError(ctypes.cast(netcdf.nc_strerror(status), ctypes.c_char_p).value.decode())

    netcdf.nc_strerror.restype = ctypes.c_void_p

    def opened(name):
        number = ctypes.c_int()
        check(netcdf.nc_open(f"{url}/v2/{name}#mode=zarr,s3".encode(), 0, ctypes.byref(number)))
        return number

    def read(name, index):
        file, variable = opened(name), ctypes.c_int()
        check(netcdf.nc_inq_varid(file, b"v", ctypes.byref(variable)))
        ranges = [range(n)[i] if isinstance(i, slice) else range(i, i + 1) for i, n in zip(index, data.SHAPE)]
        found = numpy.empty([len(r) for r in ranges], "f4")
        start, count = ((ctypes.c_size_t * 3)(*f) for f in ([r.start for r in ranges], found.shape))
        step = (ctypes.c_ssize_t * 3)(*[r.step for r in ranges])
        check(netcdf.nc_get_vars_float(file, variable, start, count, step, found.ctypes.data_as(ctypes.c_void_p)))
        check(netcdf.nc_close(file))
        return found

    def shapes(name):
        file, lens = opened(name), []
        for variable in range(data.NUM_ARRAYS):
            dimensions = (ctypes.c_int * 2)()
            check(netcdf.nc_inq_vardimid(file, variable, dimensions))
            pair = [ctypes.c_size_t(), ctypes.c_size_t()]
            for dimension, found in zip(dimensions, pair):
                check(netcdf.nc_inq_dimlen(file, dimension, ctypes.byref(found)))
            lens.append(tuple(found.value for found in pair))
        check(netcdf.nc_close(file))
        return sorted(lens)

    return read, shapes


def reader():
    """Functions that read a selection of an array, and the lengths of all arrays of a group."""
    if library == "netCDF-C S3":
        return netcdf_c()
    if library.startswith("nczchunk"):
        import nczchunk
        # As long as an array is open, its connections are kept.
        global kept
        kept = nczchunk.open(f"{url}/plain.zarr")

        def shapes(name):
            return [tuple(node.shape) for node in nczchunk.list_nodes(f"{url}/{name}") if not node.is_group]

        return lambda name, index: nczchunk.open(f"{url}/{name}")[index], shapes
    if library == "tensorstore":
        import tensorstore

        def opened(name):
            spec = {"driver": "zarr3", "kvstore": f"{url}/{name}/"}
            return tensorstore.open(spec, read=True, open=True)

        def group(name):
            # It does not know consolidated metadata: each array is opened, all at the same time.
            every = [opened(f"{name}/v{i:03}") for i in range(data.NUM_ARRAYS)]
            return [tuple(array.result().shape) for array in every]

        return lambda name, index: opened(name).result()[index].read().result(), group
    import zarr
    if library == "zarrs-python":
        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    store = zarr_store("fsspec" if library == "zarr-python, fsspec" else "obstore")

    def group(name):
        opened = zarr.open_group(store, path=name, mode="r", use_consolidated=True)
        return [array.shape for _, array in sorted(opened.arrays())]

    return lambda name, index: zarr.open_array(store, path=name, mode="r")[index], group


read, shapes = reader()
name, index = data.ROWS[row]
read("plain.zarr", (0, 0, 0))
total = 0
for _ in range(repetitions):
    counts()
    begin, worked = time.perf_counter(), time.process_time()
    found = shapes("group.zarr") if name is None else read(f"{name}.zarr", index)
    seconds = time.perf_counter() - begin
    print(seconds, time.process_time() - worked, *counts())
    total = len(found) * 1000 + sum(shape[0] for shape in found) if name is None else numpy.sum(found, dtype="f8")
# Not ru_maxrss, which a process inherits from the one that starts it.
status = pathlib.Path("/proc/self/status").read_text().splitlines()
print(total, next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024)
