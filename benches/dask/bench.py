#!/usr/bin/env python3
"""Measures a mean over time and a rechunk by Dask's workers, which are processes, and by Cubed.

    bench.py DIRECTORY [--steps N] [--turns N] [--only TEXT] [--preload LIBRARY] [--page docs/dask.md]

DIRECTORY gets the array and the results, which --only (what the name of a row contains) adds to. LIBRARY is the plugin
for netCDF-C that is preloaded: without it, netCDF-C is measured as it is only. The page gets the table.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import textwrap
from importlib.metadata import version

import zarr

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "files"))
import data  # noqa: E402

BEGIN, END = "<!-- written by scripts/bench-dask -->", "<!-- end -->"
READERS = ["zarr-python", "codec pipeline", "nczchunk", "netCDF4, stock", "netCDF4, adapted"]
WRITERS = ["zarr-python", "codec pipeline", "nczchunk"]
CUBED = ["Cubed, zarr-python", "Cubed, codec pipeline"]
ROWS = {"mean": READERS + CUBED, "rechunk": WRITERS + CUBED}


def made(directory, steps):
    path = directory / f"cube-{steps}.zarr"
    if not path.exists():
        import numcodecs

        part = path.with_suffix(".part")
        array = zarr.create_group(part, zarr_format=2, overwrite=True).create_array(
            "v", shape=(steps, data.LAT, data.LON), chunks=(24, 90, 180), dtype="f4", fill_value=-999.0,
            compressors=numcodecs.Zstd(3))
        array.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
        array[...] = data.values(steps)
        part.rename(path)
    return path


def run(peer, job, path, work, preload):
    # No worker's library starts threads beside the worker's own.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if peer == "netCDF4, adapted":
        environment["LD_PRELOAD"] = preload
    command = [sys.executable, str(HERE / "job.py"), peer, job, str(path), str(work)]
    child = subprocess.run(command, capture_output=True, text=True, env=environment)
    if child.returncode:
        sys.exit(f"{job}, {peer}: {child.stderr[-3000:]}")
    return json.loads(child.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=480)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--preload")
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    path = made(options.directory, options.steps)
    kept = options.directory / f"results-{options.steps}.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    rows = {f"{job}: {peer}": (job, peer) for job, peers in ROWS.items() for peer in peers
            if peer != "netCDF4, adapted" or options.preload}
    for name, (job, peer) in rows.items():
        if options.only in name:
            found = [run(peer, job, path, options.directory / "work", options.preload) for _ in range(options.turns)]
            results[name] = min(found, key=lambda one: one["seconds"])
            kept.write_text(json.dumps(results, indent=1))
            print(name, results[name], flush=True)
    for of in ROWS:
        # Cubed's mean is of float32.
        if len({results[name]["checksum"] for name, (job, peer) in rows.items()
                if job == of and name in results and (job == "rechunk" or not peer.startswith("Cubed"))}) > 1:
            sys.exit(f"{of}: the results differ")
    lines = [BEGIN, "| | seconds | CPU | sent between workers | graph |", "|---|---:|---:|---:|---:|"]
    for name, (_, peer) in rows.items():
        if name in results:
            best = results[name]
            cells = [name, f"{best['seconds']:.2f}", f"{best['cpu']:.2f}"]
            cells += ["–", "–"] if peer.startswith("Cubed") else [
                f"{best['sent'] / 1e6:.1f} MB", f"{best['graph'] / 1e3:.0f} kB"]
            lines.append("| " + " | ".join(cells) + " |")
    packages = ", ".join(f"{name} {version(name)}" for name in ("dask", "distributed", "xarray", "zarr", "netCDF4",
                                                                "cubed"))
    megabytes = options.steps * data.LAT * data.LON * 4 / 1e6
    told = (f"{datetime.date.today()}, {data.machine()}; {packages}. {megabytes:.0f} MB of float32 in chunks of "
            f"24 x 90 x 180 (zstd), warm; two workers with a thread each; the least of {options.turns} runs. All "
            f"results are the same.")
    lines += ["", *textwrap.wrap(told, 118), END]
    if options.page:
        before, rest = options.page.read_text().split(BEGIN)
        options.page.write_text(before + "\n".join(lines) + rest.split(END)[1])


if __name__ == "__main__":
    main()
