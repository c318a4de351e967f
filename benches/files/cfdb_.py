#!/usr/bin/env python3
"""Measures reads from cfdb files by nczchunk and by cfdb itself, in one run, and writes a table.

    cfdb_.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--steps N]

DIRECTORY gets the files, unless they are there from an earlier run. --steps is the length in time: 365 by default.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
import warnings

import numpy as np

import data

COMPRESSIONS = ["zstd_shuffle", "zstd", "lz4_shuffle", "lz4"]


class Cfdb:
    """cfdb's own reader. It has no strides, so that a box is read and numpy takes what is wanted of it."""

    def open(self, path, threads):
        import cfdb
        warnings.simplefilter("ignore")
        file = cfdb.open_dataset(path)
        variable = file["v"]

        def read(start, count, stride):
            box = tuple(slice(s, s + (c - 1) * t + 1) for s, c, t in zip(start, count, stride))
            return np.ascontiguousarray(variable[box].data[tuple(slice(None, None, t) for t in stride)])

        return read, file.close


def make(root, steps):
    """Writes a file of each compression below a directory, unless they are there."""
    import cfdb
    paths = {compression: root / f"{compression}.cfdb" for compression in COMPRESSIONS}
    done = root / "done-cfdb.json"
    if done.exists() and json.loads(done.read_text()) == steps:
        return paths
    values = data.values(steps)
    for compression, path in paths.items():
        with cfdb.open_dataset(path, "n", compression=compression) as file:
            for name, length in [("time", steps), ("lat", data.LAT), ("lon", data.LON)]:
                file.create.coord.generic(name, np.arange(length, dtype="int32"))
            variable = file.create.data_var.generic("v", ("time", "lat", "lon"), "float32", data.LAYOUTS["tiles"])
            variable[0:steps, 0:data.LAT, 0:data.LON] = values
    done.write_text(json.dumps(steps))
    return paths


def main():
    from bench import Reader, milliseconds, ratio
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=365)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    paths = make(options.directory, options.steps)
    own, other = Reader("nczchunk", options.library), Reader("cfdb", options.library)
    lines = ["# Reads from cfdb files", "", "Written by `scripts/bench-files --cfdb`; do not edit.", "",
             f"- {datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores; "
             f"cfdb {importlib.metadata.version('cfdb')}",
             "- The files are warm. Every read opens the variable anew; the time is the least of up to seven.",
             "- Both delivered the same bytes (the same CRC-32).",
             f"- float32, {options.steps} x {data.LAT} x {data.LON}, chunks of "
             f"{' x '.join(map(str, data.LAYOUTS['tiles']))}, by one thread.",
             "- cfdb: how many times as long as nczchunk it takes.", ""]
    for compression, path in paths.items():
        lines += [f"## {compression}", "", "| | nczchunk | cfdb |", "|---|---:|---:|"]
        for job, slabs in data.jobs(options.steps).items():
            ask = {"path": str(path), "threads": 1, "slabs": slabs, "budget": 1.5}
            answers = own.ask(ask), other.ask(ask)
            for name, answer in zip(["nczchunk", "cfdb"], answers):
                if "failed" in answer:
                    sys.exit(f"{compression}, {job}: {name}: {answer['failed']}")
            if answers[0]["crc"] != answers[1]["crc"]:
                sys.exit(f"{compression}, {job}: cfdb delivers other bytes")
            lines.append(f"| {job} | {milliseconds(answers[0]['wall'])} | {ratio(answers[1], answers[0], 'wall')} |")
            print(compression, lines[-1], flush=True)
        lines.append("")
    options.output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
