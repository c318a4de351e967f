#!/usr/bin/env python3
"""Checks the cost model of `nczchunk advise`: what it predicts beside what reads take, for files on this machine and
for a server with latency, by chunk shape and by what is read. Writes a table.

    check.py NCZCHUNK LIBNCZCHUNK DIRECTORY OUTPUT.md [--where files server] [--layouts LAYOUT...]

NCZCHUNK and LIBNCZCHUNK are built with the feature network. DIRECTORY keeps the arrays and the rows of the table, so
that it can be measured in parts.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SHAPE = (240, 360, 576)
BANDWIDTH_BYTES = 32 << 20
CHUNKS = {"maps": (1, 360, 576), "series": (240, 24, 24), "cubes": (24, 90, 96), "small": (12, 36, 48)}
PATTERNS = {"map": (1, 360, 576), "series": (240, 1, 1), "24x100x100": (24, 100, 100), "100x40x40": (100, 40, 40)}
LATENCY_MS = 20
REPEATS, LEAST_PLACES, MOST_PLACES = 3, 16, 100
ALLOWED = 0.3


def values():
    """Smooth values with noise."""
    t, y, x = np.ogrid[:SHAPE[0], :SHAPE[1], :SHAPE[2]]
    noise = np.random.default_rng(38).integers(0, 16, SHAPE)
    return (np.round((np.sin(t / 20) + np.cos(y / 40) + np.sin(x / 50)) * 640 + noise) / 64).astype("f4")


def predict(program, path, pattern, *options):
    """What advise says of the shape that the array has, in seconds."""
    told = subprocess.run([program, "advise", path, "--pattern", pattern, "--json", "--threads", "1", *options],
                          check=True, capture_output=True, text=True)
    return next(row for row in json.loads(told.stdout)["chunk_shapes"] if row["name"] == "present")["mean_seconds"]


def places(lens, number):
    """So many places of a read, evenly spread over all that there are: each dimension takes the multiples of a number
    of its own, whose fractional parts are so spread."""
    ratios = (2 ** 0.5, 3 ** 0.5, 5 ** 0.5)
    for i in range(number):
        starts = (int((i * ratio + 0.5) % 1 * (size - n + 1)) for n, size, ratio in zip(lens, SHAPE, ratios))
        yield tuple(slice(start, start + n) for start, n in zip(starts, lens))


def measure(array, lens, seconds):
    """How long a read takes at any place: the mean of many places, of each of which the least of three times counts,
    because what other programs do in the meantime makes some reads longer. What is read is kept, as programs keep it:
    so each read gives memory that is new."""
    kept = []

    def timed(slab):
        before = time.perf_counter()
        kept.append(array[slab])
        return time.perf_counter() - before

    number = int(min(max(seconds / REPEATS / timed(next(places(lens, 1))), LEAST_PLACES), MOST_PLACES))
    rounds = [[timed(slab) for slab in places(lens, number)] for _ in range(REPEATS)]
    return statistics.mean(map(min, zip(*rounds)))


def bandwidth(url):
    """The bytes a second in which an object comes from a server without latency: the most of five times."""
    best = float("inf")
    for _ in range(5):
        before = time.perf_counter()
        with urllib.request.urlopen(f"{url}/bandwidth") as response:
            size = len(response.read())
        best = min(best, time.perf_counter() - before)
    return size / best


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "library", "directory", "output"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--where", nargs="+", default=["files", "server"])
    parser.add_argument("--layouts", nargs="*", default=list(CHUNKS))
    options = parser.parse_args()
    os.environ["NCZCHUNK_LIBRARY"] = str(options.library)
    sys.path.insert(0, str(HERE.parents[1] / "python" / "src"))
    import nczchunk
    options.directory.mkdir(parents=True, exist_ok=True)
    done = options.directory / "bandwidth"
    if not done.exists():
        data = values()
        for name, chunks in CHUNKS.items():
            with nczchunk.create(options.directory / name, shape=SHAPE, dtype="f4", chunks=chunks) as array:
                array[...] = data
        done.write_bytes(os.urandom(BANDWIDTH_BYTES))
    kept = options.directory / "rows.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    server = subprocess.Popen([sys.executable, HERE.parent / "storages" / "server.py", str(options.directory)],
                              stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    # A virtual machine may have to ask its host for memory that nobody has used for a while.
    np.ones(1 << 30, "u1")
    try:
        for where in options.where:
            root, costs = str(options.directory), []
            if where == "server":
                costs = ["--latency", f"{LATENCY_MS}ms", "--in-flight", "64", "--bandwidth", f"{bandwidth(url):.0f}"]
                root = url
                urllib.request.urlopen(f"{url}/-/latency/{LATENCY_MS}").close()
            for name in options.layouts:
                path = f"{root}/{name}"
                with nczchunk.open(path, threads=1, cache=None) as array:
                    array[0, 0, 0]
                    for pattern, lens in PATTERNS.items():
                        predicted = statistics.median(predict(options.program, path, pattern, *costs)
                                                      for _ in range(3))
                        measured = measure(array, lens, 1.5)
                        rows[f"{where} {name} {pattern}"] = [predicted, measured]
                        print(f"{where} {name} {pattern}: {predicted * 1e3:.1f} ms, {measured * 1e3:.1f} ms, "
                              f"{predicted / measured - 1:+.0%}", flush=True)
                        kept.write_text(json.dumps(rows, indent=1))
    finally:
        server.terminate()
    lines = ["| where | chunks | read | predicted | measured | off by |", "|---|---|---|---:|---:|---:|"]
    for key, (predicted, measured) in sorted(rows.items()):
        where, name, pattern = key.split()
        lines.append(f"| {where} | {' x '.join(map(str, CHUNKS[name]))} | {pattern} | {predicted * 1e3:.1f} ms | "
                     f"{measured * 1e3:.1f} ms | {predicted / measured - 1:+.0%} |")
    options.output.write_text("\n".join([*lines, ""]))
    worst = max((abs(predicted / measured - 1) for predicted, measured in rows.values()), default=0)
    if worst > ALLOWED:
        sys.exit(f"a prediction is off by {worst:.0%}")


main()
