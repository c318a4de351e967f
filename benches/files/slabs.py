"""A cube of 512 x 512 x 512 float32 in zstd chunks of 64 x 64 x 64, read in slabs of some rows into one array: how much
longer that takes than to read it at once, and how often chunks are decoded."""

import time

import data
import numpy as np

ROWS = (data.CUBE_CHUNK, 6, 4, 1)
TURNS = 3


def measure(library, path, rows, out):
    """The least time of some turns. Each opens the array anew."""
    times = []
    for _ in range(TURNS):
        begun = time.perf_counter()
        array = library.open(path, "v")
        for first in range(0, data.CUBE, rows):
            array.read_into(out[first:first + rows], [first, 0, 0])
        array.close()
        times.append(time.perf_counter() - begun)
    return min(times)


def lines(library, path):
    """The lines of the section."""
    expected, out = (np.zeros((data.CUBE,) * 3, "f4") for _ in range(2))
    at_once = measure(library, path, data.CUBE, expected)
    found = ["## A cube in slabs", "",
             "nczchunk reads 512 x 512 x 512 float32 in zstd chunks of 64 x 64 x 64, with one thread and the array's",
             "own cache, at once and slab by slab.", "",
             "| rows a slab | time | times as long as at once |", "|---:|---:|---:|",
             f"| {data.CUBE} | {at_once * 1e3:.0f} ms | 1.00 |"]
    for rows in ROWS:
        out[:] = 0
        taken = measure(library, path, rows, out)
        if not np.array_equal(out.view("u4"), expected.view("u4")):
            raise SystemExit(f"slabs of {rows} rows deliver other bytes")
        found.append(f"| {rows} | {taken * 1e3:.0f} ms | {taken / at_once:.2f} |")
    return [*found, ""]
