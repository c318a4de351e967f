"""Does one job with one library, and prints the seconds that it took, those of the processors, a checksum, and the most
memory of the process in bytes.

    peer.py PEER ARRAY JOB WORK

JOB is "all", "chunks" (one after another), "inner" (the chunks in the shards, one after another) or "copy" (from chunk
to chunk into a new array, copy.zarr below WORK). Every library has its own number of threads, which is that of the
processors. nczchunk.c and zarrs/ do the same from C and from Rust.

    peer.py check ARRAY

prints the checksum of what one of them has copied.
"""

import itertools
import json
import math
import pathlib
import resource
import sys
import time
import zlib

import numpy as np

INNER = 64
PIPELINES = {
    "nczchunk, pipeline": "nczchunk.zarr.CodecPipeline",
    "zarr-python, batched": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "zarr-python, fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarrs": "zarrs.ZarrsCodecPipeline",
}


def of_nczchunk(path, new):
    import nczchunk

    source = nczchunk.open(path)
    if new is None:
        return source, source.shape, source.shards or source.chunks, None
    target = nczchunk.create(new, shape=source.shape, dtype=source.dtype, chunks=source.chunks, shards=source.shards,
                             fill_value=source.fill_value, codecs=source.codecs)
    return source, source.shape, source.shards or source.chunks, target


def of_zarr_python(pipeline, path, new):
    import zarr

    zarr.config.set({"codec_pipeline.path": pipeline})
    source = zarr.open_array(path, mode="r")
    target = None if new is None else zarr.create_array(
        new, shape=source.shape, dtype=source.dtype, chunks=source.chunks, shards=source.shards,
        compressors=source.compressors)
    return source, source.shape, source.shards or source.chunks, target


class TensorStoreArray:
    """An array that is read and written by indexing."""

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return self.array[index].read(order="C").result()

    def __setitem__(self, index, values):
        self.array[index].write(values).result()


def of_tensorstore(path, new):
    import tensorstore as ts

    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}
    source = ts.open(spec, open=True).result()
    target = None
    if new is not None:
        metadata = source.spec(retain_context=False).to_json()["metadata"]
        target = TensorStoreArray(ts.open({**spec, "kvstore": {"driver": "file", "path": str(new)},
                                           "metadata": metadata}, create=True).result())
    return TensorStoreArray(source), source.shape, source.chunk_layout.write_chunk.shape, target


def main():
    if sys.argv[1] == "check":
        copy = of_tensorstore(sys.argv[2], None)[0]
        print(zlib.crc32(memoryview(np.ascontiguousarray(copy[:, ::16])).cast("B")))
        return
    peer, path, job, work = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    new = work / "copy.zarr" if job == "copy" else None
    if peer == "nczchunk":
        import nczchunk  # noqa: F401 - what is imported is not measured
    elif peer == "TensorStore":
        import tensorstore  # noqa: F401
    else:
        import zarr

        __import__(PIPELINES[peer].split(".")[0])
        zarr.registry.get_pipeline_class()
    if job in ("all", "copy"):
        back_memory(path)
    begin, used = time.perf_counter(), processors()
    if peer == "nczchunk":
        source, shape, chunks, target = of_nczchunk(path, new)
    elif peer == "TensorStore":
        source, shape, chunks, target = of_tensorstore(path, new)
    else:
        source, shape, chunks, target = of_zarr_python(PIPELINES[peer], path, new)
    found = 0
    if job == "all":
        found = source[...]
    else:
        size = (INNER,) * len(shape) if job == "inner" else chunks
        for at in itertools.product(*(range(0, length, step) for length, step in zip(shape, size))):
            index = tuple(slice(first, first + step) for first, step in zip(at, size))
            part = source[index]
            if target is not None:
                target[index] = part
            else:
                # Something of each, so that all have to be there.
                found += int(part[-1, -1, -1])
    seconds, used = time.perf_counter() - begin, processors() - used
    peak = most_memory()
    if job == "all":
        found = zlib.crc32(memoryview(np.ascontiguousarray(found[::7, ::5])).cast("B"))
    print(seconds, used, found, peak)


def back_memory(path):
    """Uses as much memory as an array takes, and gives it back to the system. A virtual machine may have to ask its
    host for memory that nobody has used for a while, also for its cache of files, which takes longer than to read."""
    shape = json.loads((pathlib.Path(path) / "zarr.json").read_text())["shape"]
    np.empty(math.prod(shape) * 3, "u1").fill(1)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the most memory is counted from here


def most_memory():
    # Not ru_maxrss, which a process inherits from the one that starts it.
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def processors():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


main()
