"""Rechunks one array with each tool, and measures each from outside: time, peak memory beyond that of the same tool
with a tiny array, and the bytes that it reads and writes.

    bench.py NCZCHUNK DIRECTORY OUTPUT [--steps N] [--memory MIB...] [--seconds N]

NCZCHUNK is the program. Each tool runs in a process of its own, which is run by `bench.py --run TOOL ...`. What a tool
cannot do in a few minutes, or at all, is noted in the table.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

LATITUDES, LONGITUDES = 721, 1440
TINY = 2
MOST_SECONDS = 600


def directions(steps):
    """The shapes: maps to series, and tiles to maps."""
    return {"maps to series": ((1, LATITUDES, LONGITUDES), (steps, 24, 24)),
            "tiles to maps": ((steps, 24, 24), (1, LATITUDES, LONGITUDES))}


def new_array(path, shape, chunks, dtype):
    """A new array of Zarr v2, encoded with blosc by zarr-python, which all of them read."""
    import numcodecs
    import zarr

    return zarr.open_array(path, mode="w", shape=shape, chunks=chunks, dtype=dtype,
                           compressor=numcodecs.Blosc(cname="lz4", clevel=5))


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


def command(tool, nczchunk, source, target, chunks, memory):
    """What rechunks the array."""
    lengths = ",".join(map(str, chunks))
    if tool == "nczchunk":
        return [nczchunk, "rechunk", source, target, "--format", "zarr2", "--codec", "blosc:cname=lz4,clevel=5",
                "--chunks", lengths, "--memory", str(memory)]
    if tool == "nccopy":
        dims = ",".join(f"{name}/{length}" for name, length in zip(("time", "lat", "lon"), chunks))
        return ["nccopy", "-d", "1", "-c", dims, "-h", str(memory), "-m", str(memory // 4), source + ".nc", target]
    return [sys.executable, __file__, "--run", tool, source, target, lengths, str(memory)]


def measure(arguments, most_seconds=MOST_SECONDS):
    """Runs a program: the seconds, the peak of its memory, the bytes that it read and wrote, and why it failed."""
    begun = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = moved = 0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]) << 10)
            io = dict(line.split(": ") for line in
                      pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
            moved = max(moved, int(io["rchar"]) + int(io["wchar"]))
        except (OSError, IndexError, ValueError):
            pass
        if time.monotonic() - begun > most_seconds:
            process.kill()
            process.wait()
            return None, peak, moved, f"more than {most_seconds} s"
        time.sleep(0.002)
    error = process.stderr.read().strip().splitlines()
    failed = None if process.returncode == 0 else (error[-1] if error else f"status {process.returncode}")
    return time.monotonic() - begun, peak, moved, failed


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nczchunk")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=365)
    parser.add_argument("--memory", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--tools", nargs="+", default=["nczchunk", "rechunkit", "rechunker", "tensorstore", "nccopy"])
    parser.add_argument("--seconds", type=int, default=MOST_SECONDS)
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    rows = []
    for direction, (old, new) in directions(given.steps).items():
        source, tiny = str(given.directory / "source"), str(given.directory / "tiny")
        target = str(given.directory / "target")
        make(source, given.steps, old)
        make(tiny, TINY, (min(old[0], TINY), *old[1:]))
        for path in (source, tiny):
            to_netcdf(path)
        of_tiny = tuple(min(a, b) for a, b in zip(new, (TINY, LATITUDES, LONGITUDES)))
        for memory in given.memory:
            for tool in given.tools:
                remove(target)
                _, base, _, _ = measure(command(tool, given.nczchunk, tiny, target, of_tiny, memory << 20))
                if tool == "nczchunk":
                    # All that it takes counts.
                    _, base, _, _ = measure([given.nczchunk, "--version"])
                remove(target)
                seconds, peak, moved, failed = measure(
                    command(tool, given.nczchunk, source, target, new, memory << 20), given.seconds)
                if not failed and not same(source, target):
                    failed = "wrong elements"
                taken = max(0, peak - base) / (1 << 20)
                result = failed[:70] if failed else f"{seconds:.1f} s"
                rows.append((direction, memory, tool, result, f"{taken:.0f} MiB", f"{moved / 1e9:.1f} GB",
                             "yes" if taken <= memory and not failed else "no"))
                print(*rows[-1], sep=" | ", flush=True)
                remove(target)
    head = ("array", "limit, MiB", "tool", "time", "peak memory", "read and written", "within the limit")
    lines = ["| " + " | ".join(head) + " |", "|---|---:|---|---:|---:|---:|---|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    given.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        tool, source, target, lengths, memory = sys.argv[2:]
        globals()[f"run_{tool}"](source, target, tuple(map(int, lengths.split(","))), int(memory))
    else:
        main()
