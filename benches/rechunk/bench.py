"""Rechunks one array with each tool, and measures each from outside: time, peak memory beyond that of the same tool
with a tiny array, and the bytes that it reads and writes.

    bench.py NCZCHUNK DIRECTORY [--steps N] [--memory MIB...] [--tools TOOL...] [--directions DIRECTION...]
             [--seconds N] [--newer PYTHON] [--page docs/rechunking.md]

NCZCHUNK is the program. Each tool runs in a process of its own, which is run by `bench.py --run TOOL ...`; PYTHON runs
those that need Zarr 3 or later. What a tool cannot do in so many seconds, or at all, is noted in the table. DIRECTORY
keeps the arrays and the results, so that tools can be measured one by one; the page gets the table of all results.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time

LATITUDES, LONGITUDES = 721, 1440
TINY = 2
MOST_SECONDS = 600
THREADS = 2
TOOLS = {"nczchunk": "nczchunk", "rechunkit": "rechunkit", "rechunker": "rechunker, Dask", "cubed": "Cubed",
         "p2p": "Dask's p2p, xarray", "tensorstore": "TensorStore", "nccopy": "nccopy, deflate"}
NEWER = {"cubed", "p2p"}
BEGIN, END = "<!-- written by scripts/bench-rechunk -->", "<!-- end -->"


def directions(steps):
    """The shapes: maps to series, and tiles to maps."""
    return {"maps to series": ((1, LATITUDES, LONGITUDES), (steps, 24, 24)),
            "tiles to maps": ((steps, 24, 24), (1, LATITUDES, LONGITUDES))}


def new_array(path, shape, chunks, dtype):
    """A new array of Zarr v2, encoded with blosc by zarr-python, which all of them read."""
    import numcodecs
    import zarr

    how = {"shape": shape, "chunks": chunks, "dtype": dtype}
    codec = numcodecs.Blosc(cname="lz4", clevel=5)
    if hasattr(zarr, "create_array"):
        return zarr.create_array(path, zarr_format=2, compressors=codec, **how)
    return zarr.open_array(path, mode="w", compressor=codec, **how)


def make(path, steps, chunks):
    """An array of smooth noise."""
    import numpy as np

    array = new_array(path, (steps, LATITUDES, LONGITUDES), chunks, "f4")
    random = np.random.default_rng(1)
    x, y = np.linspace(0, 9, LONGITUDES, dtype="f4"), np.linspace(0, 5, LATITUDES, dtype="f4")
    for begin in range(0, steps, chunks[0]):
        end = min(steps, begin + chunks[0])
        block = np.empty((end - begin, LATITUDES, LONGITUDES), "f4")
        for i in range(begin, end):
            noise = random.integers(0, 256, (LATITUDES, LONGITUDES)).astype("f4") / 256
            block[i - begin] = np.round((np.sin(x + i / 9)[None] * np.cos(y)[:, None] * 20 + noise) * 64) / 64
        array[begin:end] = block
    return array


# What runs in a process of its own.

def run_rechunkit(source, target, chunks, memory):
    import rechunkit
    import zarr

    read = zarr.open_array(source, mode="r")
    write = new_array(target, read.shape, chunks, read.dtype)
    for where, data in rechunkit.rechunker(lambda where: read[where], read.shape, read.dtype, read.chunks, chunks,
                                           memory):
        write[where] = data


def run_rechunker(source, target, chunks, memory):
    import rechunker
    import zarr

    read = zarr.open_array(source, mode="r")
    rechunker.rechunk(read, chunks, memory, target, temp_store=target + ".temporary").execute()
    shutil.rmtree(target + ".temporary", ignore_errors=True)


def run_tensorstore(source, target, chunks, memory):
    import tensorstore as ts

    context = ts.Context({"cache_pool": {"total_bytes_limit": memory // 2}, "data_copy_concurrency": {"limit": 2},
                          "file_io_concurrency": {"limit": 2}})
    read = ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": source}}, context=context).result()
    write = ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": target}}, context=context, create=True,
                    dtype=read.dtype, shape=read.shape, chunk_layout=ts.ChunkLayout(chunk_shape=chunks)).result()
    write.write(read).result()


def run_cubed(source, target, chunks, memory):
    import cubed
    import zarr

    spec = cubed.Spec(work_dir=target + ".temporary", allowed_mem=memory, reserved_mem=0, executor_name="threads",
                      executor_options={"max_workers": THREADS})
    read = zarr.open_array(source, mode="r")
    write = new_array(target, read.shape, chunks, read.dtype)
    cubed.store([cubed.from_zarr(source, spec=spec).rechunk(chunks)], [write])
    shutil.rmtree(target + ".temporary", ignore_errors=True)


def run_p2p(source, target, chunks, memory):
    import dask.array
    import distributed
    import psutil
    import xarray
    import zarr

    # The limit of a worker counts what its process has already.
    limit = memory + psutil.Process().memory_info().rss
    with dask.config.set({"distributed.p2p.storage.buffer": memory // 4, "distributed.p2p.comm.buffer": memory // 4,
                          # Else a worker whose limit is small waits forever.
                          "distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False,
                          "array.rechunk.method": "p2p", "temporary-directory": target + ".temporary"}), \
            distributed.LocalCluster(n_workers=1, threads_per_worker=THREADS, processes=False,
                                     dashboard_address=":0", memory_limit=limit) as cluster, \
            distributed.Client(cluster):
        read = zarr.open_array(source, mode="r")
        write = new_array(target, read.shape, chunks, read.dtype)
        sst = xarray.DataArray(dask.array.from_zarr(source), dims=("time", "lat", "lon"))
        dask.array.store(sst.chunk(dict(zip(sst.dims, chunks))).data, write, lock=False)
    shutil.rmtree(target + ".temporary", ignore_errors=True)


def command(tool, nczchunk, source, target, chunks, memory, newer):
    """What rechunks the array."""
    lengths = ",".join(map(str, chunks))
    if tool == "nczchunk":
        return [nczchunk, "rechunk", source, target, "--format", "zarr2", "--codec", "blosc:cname=lz4,clevel=5",
                "--chunks", lengths, "--memory", str(memory)]
    if tool == "nccopy":
        dims = ",".join(f"{name}/{length}" for name, length in zip(("time", "lat", "lon"), chunks))
        return ["nccopy", "-d", "1", "-c", dims, "-h", str(memory), "-m", str(memory // 4), source + ".nc", target]
    return [newer if tool in NEWER else sys.executable, __file__, "--run", tool, source, target, lengths, str(memory)]


def measure(arguments, most_seconds=MOST_SECONDS):
    """Runs a program: the seconds by the clock and of the processors, the peak of its memory, the bytes that it read
    and wrote, and why it failed."""
    begun = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = moved = cpu = 0
    ticks = os.sysconf("SC_CLK_TCK")
    failed = None
    while process.poll() is None:
        try:
            of = pathlib.Path(f"/proc/{process.pid}")
            peak = max(peak, int((of / "status").read_text().split("VmHWM:")[1].split()[0]) << 10)
            io = dict(line.split(": ") for line in (of / "io").read_text().splitlines())
            moved = max(moved, int(io["rchar"]) + int(io["wchar"]))
            cpu = max(cpu, sum(map(int, (of / "stat").read_text().rsplit(")", 1)[1].split()[11:13])) / ticks)
        except (OSError, IndexError, ValueError):
            pass
        if not failed and time.monotonic() - begun > most_seconds:
            process.kill()
            failed = f"more than {most_seconds} s"
        time.sleep(0.002)
    error = process.stderr.read().strip().splitlines()
    if not failed and process.returncode:
        failed = error[-1] if error else f"status {process.returncode}"
    return time.monotonic() - begun, cpu, peak, moved, failed


def same(source, target):
    """Whether some elements of two arrays are the same."""
    import netCDF4
    import numpy as np
    import zarr

    one = zarr.open_array(source, mode="r")
    is_file = os.path.isfile(target)
    other = netCDF4.Dataset(target)["sst"] if is_file else zarr.open_array(target, mode="r")
    where = [np.s_[:, 5, 7], np.s_[-1, :, 3], np.s_[0, 700, ::7]]
    return all(np.array_equal(one[slab], np.asarray(other[slab])) for slab in where)


def to_netcdf(source):
    import netCDF4
    import zarr

    array = zarr.open_array(source, mode="r")
    with netCDF4.Dataset(source + ".nc", "w") as file:
        for name, length in zip(("time", "lat", "lon"), array.shape):
            file.createDimension(name, length)
        variable = file.createVariable("sst", "f4", ("time", "lat", "lon"), zlib=True, complevel=1,
                                       chunksizes=array.chunks, fill_value=False)
        step = array.chunks[0]
        for begin in range(0, array.shape[0], step):
            variable[begin:begin + step] = array[begin:begin + step]


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    pathlib.Path(path).unlink(missing_ok=True)


def measured(tool, given, arrays, new, memory):
    """What a tool takes: a row of the results."""
    source, tiny = arrays
    target = str(given.directory / "target")

    def run(source, chunks, seconds):
        for path in (target, target + ".temporary"):
            remove(path)
        return measure(command(tool, given.nczchunk, source, target, chunks, memory << 20, given.newer), seconds)

    if tool == "nczchunk":
        # All that it takes counts.
        base = measure([given.nczchunk, "--version"])[2]
    else:
        of_tiny = tuple(min(a, b) for a, b in zip(new, (TINY, LATITUDES, LONGITUDES)))
        base = run(tiny, of_tiny, given.seconds)[2]
    seconds, cpu, peak, moved, failed = run(source, new, given.seconds)
    if not failed and not same(source, target):
        failed = "wrong elements"
    for path in (target, target + ".temporary"):
        remove(path)
    return {"seconds": seconds, "cpu": cpu, "peak": max(0, peak - base), "moved": moved, "failed": failed}


def table(results, limits):
    """The lines of a table of all results."""
    lines = ["| array | limit | tool | time | CPU | peak memory | read and written | within the limit |",
             "|---|---:|---|---:|---:|---:|---:|---|"]
    for direction in directions(1):
        for memory in limits:
            for tool, name in TOOLS.items():
                found = results.get(f"{direction}, {memory}, {tool}")
                if not found:
                    continue
                time = found["failed"] or f"{found['seconds']:.1f} s"
                holds = "no" if found["peak"] > memory << 20 else "until then" if found["failed"] else "yes"
                lines.append(f"| {direction} | {memory} MiB | {name} | {time[:70]} | {found['cpu']:.1f} s | "
                             f"{found['peak'] / (1 << 20):.0f} MiB | {found['moved'] / 1e9:.1f} GB | {holds} |")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nczchunk")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=365)
    parser.add_argument("--memory", type=int, nargs="*", default=[64, 256, 1024])
    parser.add_argument("--tools", nargs="*", default=list(TOOLS))
    parser.add_argument("--directions", nargs="+", default=list(directions(1)))
    parser.add_argument("--seconds", type=int, default=MOST_SECONDS)
    parser.add_argument("--newer", default=sys.executable)
    parser.add_argument("--page", type=pathlib.Path)
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    kept = given.directory / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for direction in given.directions:
        old, new = directions(given.steps)[direction]
        arrays = []
        for steps in (given.steps, TINY):
            path = given.directory / f"{direction.replace(' ', '-')}-{steps}"
            if not path.exists():
                make(str(path) + ".part", steps, (min(old[0], steps), *old[1:]))
                pathlib.Path(str(path) + ".part").rename(path)
            if not os.path.exists(f"{path}.nc"):
                to_netcdf(str(path))
            arrays.append(str(path))
        for memory in given.memory:
            for tool in given.tools:
                results[f"{direction}, {memory}, {tool}"] = measured(tool, given, arrays, new, memory)
                print(*table({key: value for key, value in results.items() if key == f"{direction}, {memory}, {tool}"},
                             [memory])[2:], flush=True)
                kept.write_text(json.dumps(results, indent=1))
    limits = sorted({int(key.split(", ")[1]) for key in results})
    lines = [BEGIN, *table(results, limits), "",
             f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores; the files are warm.", END]
    if given.page:
        before, rest = given.page.read_text().split(BEGIN)
        given.page.write_text(before + "\n".join(lines) + rest.split(END)[1])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        tool, source, target, lengths, memory = sys.argv[2:]
        globals()[f"run_{tool}"](source, target, tuple(map(int, lengths.split(","))), int(memory))
    else:
        main()
