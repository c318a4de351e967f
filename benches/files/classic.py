#!/usr/bin/env python3
"""Measures reads of netCDF classic files by nczchunk, by netCDF-C, by scipy's memory map, and by bare loops of preads
over the same ranges, and writes a table.

    classic.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--records N]

DIRECTORY gets the files, unless they are there from an earlier run, and the compiled loop. --records is how many
records they have: 10000 by default, which is 2.6 GB.
"""

import argparse
import ctypes
import datetime
import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
import time

import netCDF4
import numpy as np
from scipy.io import netcdf_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "judges"))

# What lies between two ranges is read with them if it is less than GAP bytes, up to MOST bytes.
GAP, MOST = 16 << 10, 1 << 20

# The shape of a map, and whether the variable has records. Each file has two such variables, which take turns.
FILES = {"records of 64.8 kB": ((90, 180), True), "records of 1.6 kB": ((20, 20), True),
         "one fixed variable": ((90, 180), False)}


def make(path, shape, has_records, steps):
    if path.exists():
        return
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.set_fill_off()
        for name, length in zip(("time", "y", "x"), (None if has_records else steps, *shape)):
            file.createDimension(name, length)
        variables = [file.createVariable(name, "f4", ("time", "y", "x")) for name in ("v", "w")]
        for begin in range(0, steps, 500):
            values = rng.random((min(500, steps - begin), *shape), dtype="f4")
            for variable in variables:
                variable[begin:begin + len(values)] = values


def jobs(shape):
    """Hyperslabs: start, count, stride."""
    steps, y, x = shape
    return {
        "a map": ([steps // 2, 0, 0], [1, y, x], [1, 1, 1]),
        "a series at one place": ([0, y // 2, x // 2], [steps, 1, 1], [1, 1, 1]),
        "every 7th record, every 3rd row and column": ([1, 0, 1], [(steps - 2) // 7 + 1, (y - 1) // 3 + 1,
                                                                 (x - 2) // 3 + 1], [7, 3, 3]),
        "everything": ([0, 0, 0], [steps, y, x], [1, 1, 1]),
    }


def room(shape, dtype):
    """An array that begins with a page: the system copies faster to some addresses than to others."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 4096, "u1")
    begin = -memory.ctypes.data % 4096
    return memory[begin:begin + size].view(dtype).reshape(shape)


class Nczchunk:
    def __init__(self, library, path):
        self.array = library.open(path, "v").array

    def prepare(self, slab):
        from nczchunk._c import c
        out, array = room(slab[1], "f4"), self.array._pointer
        start, count = ((ctypes.c_size_t * 3)(*numbers) for numbers in slab[:2])
        stride, into, context = (ctypes.c_ssize_t * 3)(*slab[2]), ctypes.c_void_p(out.ctypes.data), None

        def read():
            if c.array_read(array, start, count, stride, into, context):
                sys.exit("nczchunk could not read")
            return out
        read.kept = self.array
        return read


def indices(slab):
    return tuple(slice(s, s + (c - 1) * t + 1, t) for s, c, t in zip(*slab))


class NetCdf:
    def __init__(self, _, path):
        self.variable = netCDF4.Dataset(path)["v"]
        self.variable.set_auto_maskandscale(False)

    def prepare(self, slab):
        index = indices(slab)
        return lambda: self.variable[index]


class Scipy:
    def __init__(self, _, path):
        self.file = netcdf_file(path, "r", mmap=True)

    def prepare(self, slab):
        index = indices(slab)
        return lambda: self.file.variables["v"].data[index].astype("f4")


class Bare:
    """Preads of the ranges that hold the values, neighbours among them as one; with or without plain loops in C that
    move the values to where they belong and swap them."""

    def __init__(self, library, path, where):
        self.file = os.open(path, os.O_RDONLY)
        self.begin, self.pitch = where
        self.c = library

    def ranges(self, slab, shape):
        """The offset and length of each range, and where in it the rows begin."""
        (t, y, x), (nt, ny, nx), (st, sy, sx) = slab
        rows = np.arange(ny) * sy + y
        records = np.arange(nt) * st + t
        begins = (self.begin + records[:, None] * self.pitch + (rows * shape[2] + x)[None, :] * 4).ravel()
        length = ((nx - 1) * sx + 1) * 4
        offsets, lengths, rows = [], [], []
        for begin in begins.tolist():
            if offsets and begin - (offsets[-1] + lengths[-1]) < GAP and begin + length - offsets[-1] <= MOST:
                lengths[-1] = begin + length - offsets[-1]
            else:
                offsets.append(begin)
                lengths.append(length)
                rows.append([])
            rows[-1].append(begin - offsets[-1])
        return offsets, lengths, rows

    def prepare(self, slab, shape, delivers):
        """A function that reads a hyperslab; it returns the values if it delivers them."""
        offsets, lengths, rows = self.ranges(slab, shape)
        num = len(offsets)
        # Without gaps all lands where it belongs.
        apart = sum(lengths) == 4 * int(np.prod(slab[1]))
        buffer = room(sum(lengths) if apart else max(lengths), "u1")
        out = room(slab[1], "f4") if delivers and not apart else buffer
        num_rows = (ctypes.c_size_t * num)(*map(len, rows))
        flat = [row for one in rows for row in one]
        offsets, lengths = (ctypes.c_int64 * num)(*offsets), (ctypes.c_size_t * num)(*lengths)
        flat = (ctypes.c_size_t * len(flat))(*flat)
        file, num, num_words, distance, num_out = map(ctypes.c_size_t, (self.file, num, slab[1][2], slab[2][2],
                                                                        int(np.prod(slab[1]))))
        at, out_at, is_apart = ctypes.c_void_p(buffer.ctypes.data), ctypes.c_void_p(out.ctypes.data), int(apart)
        c = self.c

        def read():
            if delivers and not apart:
                failed = c.bare_deliver(file, num, offsets, lengths, num_rows, flat, num_words, distance, at, out_at)
            else:
                failed = c.bare_read(file, num, offsets, lengths, at, is_apart)
                if delivers:
                    c.bare_swap(at, num_out)
            if failed:
                sys.exit("the bare loop could not read")
            return out.view("f4").reshape(slab[1]) if delivers else None
        read.num, read.kept = num.value, buffer
        return read


def where(path):
    """Where the variable v begins in a file, and how many bytes lie between two records or maps."""
    with netcdf_file(path, "r", mmap=True) as file:
        data = file.variables["v"].data
        begin = data.__array_interface__["data"][0] - np.frombuffer(file._mm_buf, "u1").__array_interface__["data"][0]
        pitch = data.strides[0]
        del data
    return begin, pitch


def measure(readers, budget):
    """The least time of each reader. They take turns; in its turn each reads a few times, so that none finds in the
    processor's caches only what another has left there."""
    least = [float("inf")] * len(readers)
    end = time.perf_counter() + budget * len(readers)
    rounds = 0
    while rounds < 2 or (rounds < 100 and time.perf_counter() < end):
        for i, read in enumerate(readers):
            for _ in range(5):
                begin = time.perf_counter()
                read()
                least[i] = min(least[i], time.perf_counter() - begin)
        rounds += 1
    return least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--records", type=int, default=10_000)
    options = parser.parse_args()
    from binding import Library
    options.directory.mkdir(parents=True, exist_ok=True)
    loop = options.directory / "bare.so"
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", loop, HERE / "bare.c"], check=True)
    library, bare = Library(options.library), ctypes.CDLL(str(loop))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("netCDF4", "scipy"))
    lines = ["# Reads of netCDF classic files", "", "Written by `scripts/bench-files --classic`; do not edit.", "",
             f"- {datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores; "
             f"{versions} with netCDF-C {netCDF4.__netcdf4libversion__}",
             "- The files are warm and open; one thread; the least time of several, in turns. All deliver the same",
             "  values, which is checked first.",
             "- *bare*: preads of the same ranges in C, and plain loops that move the values to where they belong and",
             "  swap their bytes (cc -O3 -march=native); *preads alone*: without these loops.",
             "- The others: how many times as long as nczchunk they take.", ""]
    for name, (shape, has_records) in FILES.items():
        path = options.directory / f"{name.replace(' ', '-')}-{options.records}.nc"
        make(path, shape, has_records, options.records)
        shape = (options.records, *shape)
        lines += [f"## {name}, {' x '.join(map(str, shape))} float", "",
                  "| | nczchunk | bare | preads alone | their number | netCDF-C | scipy, mapped |",
                  "|---|---:|---:|---:|---:|---:|---:|"]
        own, peers = Nczchunk(library, path), [NetCdf(None, path), Scipy(None, path)]
        alone = Bare(bare, path, where(path))
        for job, slab in jobs(shape).items():
            bares = [alone.prepare(slab, shape, delivers) for delivers in (True, False)]
            readers = [own.prepare(slab), *bares, *(peer.prepare(slab) for peer in peers)]
            due = np.array(readers[0]())
            for who, read in zip(("the bare loop", "preads alone", "netCDF-C", "scipy"), readers[1:]):
                got = read()
                if got is not None and not np.array_equal(got.reshape(due.shape), due):
                    sys.exit(f"{name}, {job}: {who} delivers other values")
            del due
            times = measure(readers, 0.5)
            others = [f"{other / times[0]:.2f}" for other in times[1:]]
            lines.append(f"| {job} | {times[0] * 1e3:.3g} ms | {others[0]} | {others[1]} | {bares[0].num} | "
                         f"{others[2]} | {others[3]} |")
            print(name, lines[-1], flush=True)
        lines.append("")
        options.output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
