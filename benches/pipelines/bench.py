#!/usr/bin/env python3
"""Measures zarr-python with the codec pipelines that there are for it, beside nczchunk, zarrs and TensorStore.

    bench.py DIRECTORY OUTPUT [--side N] [--only TEXT] [--job NAME...] [--peer TEXT] [--turns N] [--make]

DIRECTORY gets the arrays and the results, which --only (what the name of an array begins with), --job (keys of JOBS
and AT_ONCE) and --peer (what its name contains) add to: of each the least counts. Its bin/ has the PROGRAMS. OUTPUT
gets the tables.
"""

import argparse
import datetime
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version

import numpy as np
import zarr

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "files"))
import data  # noqa: E402

PEERS = ["nczchunk, pipeline", "nczchunk", "nczchunk, C", "zarr-python, fused", "zarr-python, batched", "zarrs",
         "zarrs, Rust", "TensorStore"]
PROGRAMS = {"nczchunk, C": "nczchunk", "zarrs, Rust": "pipelines-zarrs"}
PACKAGES = {"zarr-python": "zarr", "zarrs": "zarrs", "TensorStore": "tensorstore", "numpy": "numpy"}
JOBS = {"all": "all at once", "chunks": "by chunks", "inner": "by inner chunks", "copy": "round trip, by chunks"}
# Of the programs alone, with as many chunks under way as zarrs' own programs have.
AT_ONCE = {"chunks-at-once": "by chunks", "inner-at-once": "by inner chunks", "copy-at-once": "round trip, by chunks"}
CHUNK, INNER = 256, 64


def arrays(side):
    """What create_array() is told of each array."""
    from zarr.codecs import ZstdCodec

    chunk = min(CHUNK, side // 2)
    zstd = [ZstdCodec(level=3)]
    return {
        "raw": {"chunks": (chunk,) * 3, "compressors": None},
        "zstd": {"chunks": (chunk,) * 3, "compressors": zstd},
        "shards, zstd": {"chunks": (INNER,) * 3, "shards": (chunk,) * 3, "compressors": zstd},
    }


def values(first, last, side):
    """Elements of a smooth field with noise, uint16."""
    z, y, x = np.ogrid[first:last, :side, :side]
    noise = np.random.default_rng(first).integers(0, 16, (last - first, side, side), "u2")
    return ((z * 3 + y * 2 + x).astype("u2") * 4 & 0xFFF0) + noise


def made(directory, name, given, side):
    path = directory / f"{name.replace(', ', '-')}-{side}.zarr"
    if not path.exists():
        part = path.with_suffix(".part")
        array = zarr.create_array(part, shape=(side,) * 3, dtype="u2", overwrite=True, **given)
        step = (given.get("shards") or given["chunks"])[0]
        for first in range(0, side, step):
            array[first:first + step] = values(first, first + step, side)
        part.rename(path)
    return path


def warm(path):
    """Has the system read the files, unless it has them."""
    for file in path.rglob("*"):
        if file.is_file():
            file.read_bytes()


def run(peer, path, job, directory):
    """The seconds, those of the processors, the most memory in bytes, and the checksum."""
    work, script = directory / "work", [sys.executable, str(HERE / "peer.py")]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    command = [str(directory / "bin" / PROGRAMS[peer])] if peer in PROGRAMS else [*script, peer]
    child = subprocess.run([*command, str(path), job, str(work)], capture_output=True, text=True)
    copied = None
    if child.returncode == 0 and job.startswith("copy"):
        check = [*script, "check", str(work / "copy.zarr")]
        copied = subprocess.run(check, capture_output=True, text=True, check=True).stdout.strip()
    shutil.rmtree(work)
    if child.returncode:
        lines = child.stderr.strip().splitlines()
        return {"error": lines[-1][:200] if lines else f"exit {child.returncode}"}
    seconds, cpu, checksum, peak = child.stdout.split()
    return {"seconds": float(seconds), "cpu": float(cpu), "peak": int(peak), "checksum": copied or checksum}


def row_name(array, job):
    return f"{array}: {JOBS[job]}" if job in JOBS else f"{array}: {AT_ONCE[job]}, several at once"


def measure(directory, options):
    """Adds to the results that there are."""
    side = options.side
    kept = directory / f"results-{side}.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for name, given in arrays(side).items():
        if not name.startswith(options.only):
            continue
        path = made(directory, name, given, side)
        if options.make:
            continue
        for job in [*JOBS, *AT_ONCE]:
            if job.startswith("inner") and "shards" not in given or job not in options.job:
                continue
            row = results.get(row_name(name, job), {})
            warm(path)
            for _ in range(options.turns):
                for peer in (peer for peer in (PROGRAMS if job in AT_ONCE else PEERS) if options.peer in peer):
                    found, before = run(peer, path, job, directory), row.get(peer)
                    if before is None or "error" in found or found["seconds"] < before.get("seconds", 0):
                        row[peer] = found
                    results[row_name(name, job)] = row
                    kept.write_text(json.dumps(results, indent=1))
                    print(row_name(name, job), peer, found, flush=True)
            sums = {one["checksum"] for one in row.values() if "error" not in one}
            if row and len(sums) != 1 or any("error" in row[peer] for peer in row if peer.startswith("nczchunk")):
                sys.exit(f"{row_name(name, job)}: {row}")
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--only", default="")
    parser.add_argument("--job", nargs="*", default=[*JOBS, *AT_ONCE])
    parser.add_argument("--peer", default="")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--make", action="store_true", help="only make the arrays")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    results = measure(options.directory, options)
    if options.make:
        return
    options.output.write_text("\n".join(page(results, options.side)) + "\n")


def page(results, side):
    """The lines of the page."""
    versions = ", ".join(f"{name} {version(package)}" for name, package in PACKAGES.items())
    crates = tomllib.loads((HERE / "zarrs" / "Cargo.lock").read_text())["package"]
    crate = next(one["version"] for one in crates if one["name"] == "zarrs")
    return [
        "# zarr-python's codec pipelines", "", "Written by `scripts/bench-pipelines`; do not edit.", "",
        f"- {datetime.date.today()}, {data.machine()}; Python {platform.python_version()},",
        f"  {versions}; the crate zarrs {crate}",
        f"- The arrays are those of zarrs' public benchmark: {side}^3 uint16 in chunks of "
        f"{min(CHUNK, side // 2)}^3, raw and zstd, and in",
        f"  shards of the same shape with chunks of {INNER}^3, zstd; in directories, warm. All libraries returned the",
        "  same elements.",
        "- Every peer has its defaults, with which each uses all processors. *nczchunk, pipeline*, *fused*,",
        "  *batched* and *zarrs* are zarr-python with this codec pipeline; *nczchunk* is the Python package itself.",
        "  *nczchunk, C* and *zarrs, Rust* are programs that call the library without Python.",
        "- Other columns: their time as a multiple of that of the first; the least of some processes. Behind it the",
        "  peak of the memory of the process.", "",
        *table(results, side, JOBS, PEERS), "",
        "One chunk or shard after another is read or copied above. zarrs' own programs, `zarrs_benchmark_read_sync`",
        "and `zarrs_reencode`, have several under way. So has this program, as many as they have by default; that of",
        "C reads and writes in as many threads as there are processors, each with a chunk or shard of its own.", "",
        *table(results, side, AT_ONCE, list(PROGRAMS)),
        *(f"\n{name}: {peer} says: {one['error']}" for name, row in results.items() for peer, one in row.items()
          if "error" in one)]


def table(results, side, jobs, peers):
    """Its lines: a row for each job that all peers have done."""
    first = peers[0]
    lines = [f"| | {' | '.join(peers)} |", "|---|" + "---:|" * len(peers)]
    names = [row_name(array, job) for array in arrays(side) for job in jobs]
    for name, row in ((name, results.get(name, {})) for name in names):
        if all(peer in row for peer in peers):
            cells = [f"{row[first]['seconds']:.2f} s, {size(row[first]['peak'])}"]
            cells += ["fails" if "error" in row[peer] else
                      f"{row[peer]['seconds'] / row[first]['seconds']:.2f}, {size(row[peer]['peak'])}"
                      for peer in peers[1:]]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def size(number):
    return f"{number / 1e9:.2f} GB"


main()
