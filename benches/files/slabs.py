#!/usr/bin/env python3
"""Measures reads of a cube of 512 x 512 x 512 float32 in zstd chunks of 64 x 64 x 64, in slabs of some rows into one
array and at once, and writes a table.

    slabs.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--steps N]

DIRECTORY gets the cube, unless it is there from an earlier run, of so many of data.py's steps again and again.
"""

import argparse
import datetime
import os
import pathlib
import platform
import sys
import time

import data
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "judges"))
from binding import Library  # noqa: E402

ROWS = (data.CUBE, data.CUBE_CHUNK, 6, 4, 1)
TURNS = 7


def read(library, path, rows, out):
    """The seconds that it takes to open the array and to read all of it: of this process's CPU, and by the clock."""
    begun, cpu = time.perf_counter(), time.process_time()
    array = library.open(path, "v")
    for first in range(0, data.CUBE, rows):
        array.read_into(out[first:first + rows], [first, 0, 0])
    array.close()
    return time.process_time() - cpu, time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=520)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    library, path = Library(options.library), str(data.make_cube(options.directory, options.steps))
    expected, out = (np.zeros((data.CUBE,) * 3, "f4") for _ in range(2))
    read(library, path, data.CUBE, expected)
    least = dict.fromkeys(ROWS, (float("inf"), float("inf")))
    for _ in range(TURNS):
        for rows in ROWS:
            out[:] = 0
            least[rows] = tuple(map(min, least[rows], read(library, path, rows, out)))
            if not np.array_equal(out.view("u4"), expected.view("u4")):
                sys.exit(f"slabs of {rows} rows deliver other bytes")
    lines = ["# A cube in slabs", "", "Written by `scripts/bench-files --slabs`; do not edit.", "",
             f"- {datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores",
             "- nczchunk reads 512 x 512 x 512 float32 in zstd chunks of 64 x 64 x 64, with one thread and the",
             "  array's own cache, at once and slab by slab, all into one array. The files are warm. Every turn opens",
             f"  the array anew. All are measured in turns, {TURNS} times; the times are the least.", "",
             "| rows a slab | CPU | as much as at once | by the clock | as long as at once |",
             "|---:|---:|---:|---:|---:|"]
    of_all = least[data.CUBE]
    lines += [f"| {rows} | {cpu * 1e3:.0f} ms | {cpu / of_all[0]:.2f} | {clock * 1e3:.0f} ms | "
              f"{clock / of_all[1]:.2f} |" for rows, (cpu, clock) in least.items()]
    options.output.write_text("\n".join([*lines, ""]))
    print("\n".join(lines[-len(ROWS):]))


main()
