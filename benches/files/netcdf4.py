#!/usr/bin/env python3
"""Measures reads of netCDF-4 files by nczchunk, by one thread and by two, by hidefix, and by those that read with
libhdf5: h5py, netCDF4-python, and xarray with h5netcdf. Then the same over HTTP, where each request takes 50 ms, beside
h5py with fsspec and xarray with references that kerchunk made. Beside zstd's times is what libzstd alone takes to
decode the chunks of each row: no reader that calls it can be faster. Writes tables.

    netcdf4.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--steps N] [--only deflate|zstd|"no filter"|http]

The library is one with URLs (NCZCHUNK_NETWORK).

DIRECTORY gets the files, unless they are there from an earlier run. --steps is how many maps they have: 3000 by
default, which is 194 MB in each of three files before they are compressed. With --only the other sections of the
output stay as they are.
"""

import argparse
import ctypes
import ctypes.util
import datetime
import importlib.metadata
import itertools
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

# Before netCDF4 is: after it, the filters of hdf5plugin find netCDF4's HDF5 and not h5py's.
import hdf5plugin
import h5py
import netCDF4
import numpy as np
import xarray

from classic import NetCdf, indices, measure, room

MAP, CHUNK = (90, 180), (30, 45, 60)
FILTERS = {"deflate": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
           "zstd": {**hdf5plugin.Zstd(3), "shuffle": True}, "no filter": {}}

# What profiles and other measurements of the same files have shown (2026-11-26 and 28, one thread).
NOTES = """\
## What binds

- *deflate*: libdeflate takes 0.89 of *everything*; the rest is to read the file, to gather what was shuffled, and to
  copy it to where it belongs. zlib-rs, which decodes chunks of which less than three quarters are needed, would take a
  tenth more, and libhdf5's zlib takes more than twice as long.
- *zstd*: libzstd alone takes most of the time, as the last column says, and the others call it as well. Of the rest of
  *everything* two thirds go into copying the elements to where they belong, half of that for memory itself.
  A C program that does nothing else (reads each chunk into the same memory, has libzstd decode it, and gathers what was
  shuffled straight to its place) takes 0.95 of the time; by way of a copy, as other libraries do it, 1.07.
- *no filter, everything*: to copy from the page cache is all there is to do, and netCDF-C does that as well.
- *no filter, a series*: each of 3000 elements takes a system call while the file is in memory, by nczchunk as by
  libhdf5, and calls are nearly all of the time. Of a file that is not in memory, nczchunk reads what lies less than
  16 KiB apart at once, here 313 KB of each chunk: 11 ms from the disk, libhdf5 42 ms, the least of twelve each.
- *two threads* take 0.50 to 0.55 of the time of one with a filter. Like hidefix, which reads with all cores, the Python
  package keeps its threads from read to read. To wake one is not worth it for a map without a filter, which takes
  0.03 ms.
"""


def make(path, steps, filters):
    if path.exists():
        return
    rng, (y, x) = np.random.default_rng(1), np.ogrid[:MAP[0], :MAP[1]]
    unfinished = path.with_suffix(".partial")
    with h5py.File(unfinished, "w") as file:
        scales = [file.create_dataset(name, data=np.arange(length, dtype="f8"))
                  for name, length in zip(("time", "y", "x"), (steps, *MAP))]
        v = file.create_dataset("v", (steps, *MAP), "f4", chunks=CHUNK, **filters)
        for d, scale in enumerate(scales):
            scale.make_scale(scale.name[1:])
            v.dims[d].attach_scale(scale)
        for begin in range(0, steps, CHUNK[0]):
            time = np.arange(begin, min(begin + CHUNK[0], steps))[:, None, None]
            smooth = 280 + 20 * np.cos(y / 29) + 5 * np.sin(x / 57 + time / 58)
            v[begin:begin + CHUNK[0]] = np.round(smooth + rng.normal(0, 0.3, smooth.shape), 2)
    unfinished.rename(path)


def jobs(steps):
    """Hyperslabs: start, count, stride."""
    y, x = MAP
    return {
        "everything": ([0, 0, 0], [steps, y, x], [1, 1, 1]),
        "a series at one place": ([0, y // 2, x // 2], [steps, 1, 1], [1, 1, 1]),
        "a map": ([steps // 2, 0, 0], [1, y, x], [1, 1, 1]),
        "a box": ([steps // 4, y // 4, x // 4], [steps // 4, y // 3, x // 3], [1, 1, 1]),
        "every 7th step, 3rd row, 3rd column": ([1, 0, 1], [(steps - 2) // 7 + 1, (y - 1) // 3 + 1, (x - 2) // 3 + 1],
                                                [7, 3, 3]),
    }


class Nczchunk:
    def __init__(self, path, threads):
        import nczchunk
        self.array = nczchunk.open(path, "v", threads=threads, cache=None)

    def prepare(self, slab):
        out, index = room(slab[1], "f4"), indices(slab)

        def read():
            self.array.read_into(out, index)
            return out
        return read


class H5py:
    def __init__(self, path):
        self.array = h5py.File(path, rdcc_nbytes=0)["v"]

    def prepare(self, slab):
        index = indices(slab)
        return lambda: self.array[index]


class NetCdf4(NetCdf):
    def __init__(self, path):
        super().__init__(None, path)
        self.variable.set_var_chunk_cache(size=0)


class Xarray:
    def __init__(self, path):
        self.array = xarray.open_dataset(path, engine="h5netcdf", cache=False, driver_kwds={"rdcc_nbytes": 0})["v"]

    def prepare(self, slab):
        index = indices(slab)
        return lambda: self.array[index].values


class Hidefix:
    """It reads with all cores, and what it does not read it says when it is asked."""

    def __init__(self, path):
        self.path, self.array = str(path), None

    def prepare(self, slab):
        import hidefix
        index = indices(slab)

        def read():
            if any(step != 1 for step in slab[2]):
                raise RuntimeError("hidefix reads no strides")
            self.array = self.array or hidefix.Index(self.path).dataset("v")
            return self.array[index].reshape(slab[1])
        return read


class Decoding:
    """libzstd alone, by one thread: the chunks that are needed are in memory, and each is decoded to the same place."""

    def __init__(self, path):
        self.path = path
        self.zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
        self.zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
        self.zstd.ZSTD_decompressDCtx.restype = ctypes.c_size_t
        self.zstd.ZSTD_decompressDCtx.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                                  ctypes.c_size_t]
        self.zstd.ZSTD_versionString.restype = ctypes.c_char_p
        self.context = self.zstd.ZSTD_createDCtx()

    def version(self):
        return self.zstd.ZSTD_versionString().decode()

    def prepare(self, slab):
        wanted = []
        for start, count, stride, length in zip(*slab, CHUNK):
            wanted.append(sorted({(start + i * stride) // length * length for i in range(count)}))
        # Whoever opens the file first decides whether libhdf5 keeps chunks.
        with h5py.File(self.path, rdcc_nbytes=0) as file:
            chunks = [file["v"].id.read_direct_chunk(at)[1] for at in itertools.product(*wanted)]
        size = int(np.prod(CHUNK)) * 4
        room, decode, context = np.empty(size, "u1"), self.zstd.ZSTD_decompressDCtx, self.context
        room[:] = 0
        given = [(np.frombuffer(chunk, "u1").ctypes.data, len(chunk)) for chunk in chunks]

        def read():
            for address, length in given:
                if decode(context, room.ctypes.data, size, address, length) != size:
                    raise RuntimeError(f"libzstd does not decode a chunk to {size} bytes")
            return chunks
        return read


class H5pyFsspec:
    def __init__(self, url):
        import fsspec
        self.array = h5py.File(fsspec.open(url, "rb").open(), rdcc_nbytes=0)["v"]

    def prepare(self, slab):
        index = indices(slab)
        return lambda: self.array[index]


class XarrayKerchunk:
    def __init__(self, references):
        options = {"fo": str(references), "remote_protocol": "http", "remote_options": {"asynchronous": True}}
        self.array = xarray.open_dataset("reference://", engine="zarr", cache=False, backend_kwargs={
            "consolidated": False, "storage_options": options})["v"]

    def prepare(self, slab):
        index = indices(slab)
        return lambda: self.array[index].values


def over_http(options):
    """The lines of the table over HTTP. To open is measured, too, for there libraries differ most."""
    import kerchunk.hdf
    server = subprocess.Popen([sys.executable, pathlib.Path(__file__).parent / "http50.py", options.directory],
                              stdout=subprocess.PIPE, text=True)
    try:
        path = options.directory / f"deflate-{options.steps}.nc"
        url = f"{server.stdout.readline().strip()}/{path.name}"
        with open(path, "rb") as file:
            found = kerchunk.hdf.SingleHdf5ToZarr(file, url, inline_threshold=300).translate()
        references = options.directory / "kerchunk.json"
        references.write_text(json.dumps(found))
        lines = [f"## deflate over HTTP, {path.stat().st_size / 1e6:.3g} MB", "",
                 f"A server on the loopback interface that takes 50 ms for each request; {datetime.date.today()}, load "
                 f"{os.getloadavg()[0]:.1f} at the beginning.",
                 "*To open* is to open the file",
                 "and its variable; xarray has the references, which kerchunk made before, and opens those. *By",
                 "references* is nczchunk with the same ones.", "",
                 "| | nczchunk | nczchunk, by references | h5py, fsspec | xarray, kerchunk |",
                 "|---|---:|---:|---:|---:|"]
        makers = [lambda: Nczchunk(url, 2), lambda: Nczchunk(references, 2), lambda: H5pyFsspec(url),
                  lambda: XarrayKerchunk(references)]
        everyone, times = [], []
        for make in makers:
            begin = time.perf_counter()
            everyone.append(make())
            times.append(time.perf_counter() - begin)

        def line(job, least):
            others = " | ".join(f"{other / least[0]:.2f}" for other in least[1:])
            lines.append(f"| {job} | {least[0] * 1e3:.3g} ms | {others} |")
            print("HTTP", lines[-1], flush=True)

        line("to open", times)
        for job, slab in jobs(options.steps).items():
            due, least = None, []
            for who, make in zip(everyone, makers):
                # What others keep of the file is forgotten: each read is the first of an array that was opened.
                best = float("inf")
                for _ in range(2):
                    read = (make() if not isinstance(who, Nczchunk) else who).prepare(slab)
                    begin = time.perf_counter()
                    values = np.array(read())
                    best = min(best, time.perf_counter() - begin)
                if due is not None and not np.array_equal(values, due):
                    sys.exit(f"HTTP, {job}: {type(who).__name__} delivers other values")
                due = values if due is None else due
                least.append(best)
            line(job, least)
        return lines + [""]
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--only", choices=[*FILTERS, "http"])
    options = parser.parse_args()
    os.environ["NCZCHUNK_LIBRARY"] = options.library
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "src"))
    options.directory.mkdir(parents=True, exist_ok=True)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}"
                         for name in ("h5py", "netCDF4", "xarray", "h5netcdf", "hidefix"))
    lines = ["# Reads of netCDF-4 files", "", "Written by `scripts/bench-netcdf4`; do not edit.", "",
             f"- {datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load "
             f"{os.getloadavg()[0]:.1f} at the beginning;", f"  {versions}, HDF5 {h5py.version.hdf5_version}",
             f"- {options.steps} x {MAP[0]} x {MAP[1]} float in chunks of {CHUNK[0]} x {CHUNK[1]} x {CHUNK[2]}, with",
             "  shuffle where there is a filter. The files are warm and open; the least time of several, in turns. All",
             "  deliver the same values, which is checked first.",
             "- No library keeps decoded chunks from one read to the next. *nczchunk*: by one thread. The others: how",
             "  many times as long as that they take; *-* if a library reads no such filter, or no strides. hidefix",
             "  reads with all cores.", ""]
    sections = {}
    if options.only:
        for section in options.output.read_text().split("\n## ")[1:]:
            sections[section.split(",")[0].split("\n")[0]] = ("## " + section).rstrip().split("\n") + [""]

    def write():
        parts = [line for name, part in sections.items() if name != "What binds" for line in part]
        options.output.write_text("\n".join(lines + parts) + "\n" + NOTES)

    for name, filters in FILTERS.items():
        if options.only not in (None, name):
            continue
        path = options.directory / f"{name.replace(' ', '-')}-{options.steps}.nc"
        make(path, options.steps, filters)
        alone = Decoding(path) if name == "zstd" else None
        part = [f"## {name}, {path.stat().st_size / 1e6:.3g} MB", "",
                "| | nczchunk | two threads | hidefix | h5py | netCDF4-python | xarray, h5netcdf |"
                + (f" libzstd {alone.version()} alone |" if alone else ""), "|---|" + (7 if alone else 6) * "---:|"]
        everyone = [Nczchunk(path, 1), Nczchunk(path, 2), Hidefix(path), H5py(path), NetCdf4(path), Xarray(path)]
        for job, slab in jobs(options.steps).items():
            readers = [one.prepare(slab) for one in everyone]
            due, can = np.array(readers[0]()), []
            for who, read in zip(everyone, readers):
                try:
                    same = np.array_equal(read(), due)
                except (OSError, RuntimeError):
                    can.append(False)
                    continue
                if not same:
                    sys.exit(f"{name}, {job}: {type(who).__name__} delivers other values")
                can.append(True)
            del due
            if alone:
                readers.append(alone.prepare(slab))
                can.append(True)
            times = iter(measure([read for read, does in zip(readers, can) if does], 0.5))
            least = [next(times) if does else None for does in can]
            others = " | ".join("-" if other is None else f"{other / least[0]:.2f}" for other in least[1:])
            part.append(f"| {job} | {least[0] * 1e3:.3g} ms | {others} |")
            print(name, part[-1], flush=True)
        sections[name] = [*part, ""]
        write()
    if options.only in (None, "http"):
        sections["deflate over HTTP"] = over_http(options)
        write()


if __name__ == "__main__":
    main()
