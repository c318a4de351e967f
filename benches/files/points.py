#!/usr/bin/env python3
"""Measures reads of random points by their coordinates, and of lists along dimensions, by nczchunk and others.

    points.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--steps N]
"""

import argparse
import datetime
import importlib.metadata
import os
import pathlib
import platform
import resource
import sys
import time

import data
import numcodecs
import numpy as np
import zarr

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = {"nczchunk": None, "TensorStore": "tensorstore", "zarr-python": "zarr"}


def made(directory, steps):
    path = directory / f"points-{steps}.zarr"
    if not path.exists():
        part = path.with_suffix(".part")
        array = zarr.create_group(part, zarr_format=2, overwrite=True).create_array(
            "v", shape=(steps, data.LAT, data.LON), chunks=(24, 90, 180), dtype="f4", fill_value=-999.0,
            compressors=numcodecs.Zstd(3))
        array[...] = data.values(steps)
        part.rename(path)
    return path


def readers(path):
    """For each library a function that opens the array and reads points, and one that reads lists."""
    import nczchunk
    import tensorstore as ts

    def opened():
        return ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": f"{path}/v"}}, open=True).result()

    def of_zarr():
        return zarr.open_group(path, mode="r")["v"]

    return {
        "nczchunk": (lambda at: nczchunk.open(path, "v").vindex[at], lambda at: nczchunk.open(path, "v").oindex[at]),
        "TensorStore": (lambda at: opened().vindex[at].read().result(),
                        lambda at: opened().oindex[at].read().result()),
        "zarr-python": (lambda at: of_zarr().vindex[at], lambda at: of_zarr().oindex[at]),
    }


def measured(function, index):
    """The least seconds of three turns, those of the processors, and what was read."""
    best = None
    for _ in range(3):
        used, begin = processors(), time.perf_counter()
        found = np.asarray(function(index))
        one = time.perf_counter() - begin, processors() - used
        best = min(best or one, one)
    return *best, found


def processors():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=480)
    options = parser.parse_args()
    os.environ["NCZCHUNK_LIBRARY"] = options.library
    sys.path.insert(0, str(ROOT / "python" / "src"))
    options.directory.mkdir(parents=True, exist_ok=True)
    path, rng = made(options.directory, options.steps), np.random.default_rng(5)
    shape = options.steps, data.LAT, data.LON

    def points(num):
        return 0, tuple(rng.integers(0, length, num) for length in shape)

    rows = {
        "1 000 000 random points": points(1_000_000),
        "10 000 random points": points(10_000),
        "100 random points": points(100),
        "lists of 40 rows and 60 columns, all times": (1, (
            slice(None), *(np.sort(rng.choice(length, num, False)) for length, num in zip(shape[1:], (40, 60))))),
    }
    versions = ", ".join(f"{name} {importlib.metadata.version(package)}" for name, package in PEERS.items() if package)
    lines = ["# Points and lists", "", "Written by `scripts/bench-files --points`; do not edit.", "",
             f"- {datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores; {versions}",
             f"- float32, {' x '.join(map(str, shape))} in chunks of 24 x 90 x 180, zstd; warm. Every library has its",
             "  defaults, and opens the array anew. All returned the same elements.",
             "- Other columns: their time as a multiple of nczchunk's, by the clock and, behind the slash, by CPU.", "",
             "| | nczchunk | CPU | TensorStore | zarr-python |", "|---|---:|---:|---:|---:|"]
    for name, (which, index) in rows.items():
        found = {peer: measured(both[which], index) for peer, both in readers(path).items()}
        seconds, cpu, own = found["nczchunk"]
        cells = [name, f"{seconds * 1e3:.3g} ms", f"{cpu * 1e3:.3g} ms"]
        for peer in ("TensorStore", "zarr-python"):
            if not np.array_equal(found[peer][2], own):
                sys.exit(f"{name}: {peer} reads other elements")
            cells.append(f"{found[peer][0] / seconds:.2f} / {found[peer][1] / cpu:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
