#!/usr/bin/env python3
"""One library reads hyperslabs from files, as asked on standard input: a line of JSON for each, answered by one. Each
has its defaults; nczchunk's number of threads may be given.

    reader.py LIBRARY LIBNCZCHUNK
"""

import itertools
import json
import os
import pathlib
import resource
import sys
import time
import zlib

import numpy as np

from cfdb_ import Cfdb


def indices(start, count, stride):
    return tuple(slice(s, s + (c - 1) * t + 1, t) for s, c, t in zip(start, count, stride))


class Nczchunk:
    def __init__(self, library):
        os.environ["NCZCHUNK_LIBRARY"] = library
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "src"))
        # Where to read into; nothing has each read make a new array.
        self.into = None

    def open(self, path, threads):
        import nczchunk
        array = nczchunk.open(path, "v", threads=threads)

        def read(*slab):
            if self.into is None:
                return array[indices(*slab)]
            array.read_into(self.into, indices(*slab))
            return self.into

        return read, array.close


class TensorStore:
    def open(self, path, _threads):
        import tensorstore as ts
        driver = "zarr3" if (pathlib.Path(path) / "zarr.json").exists() else "zarr"
        array = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/v"}}, open=True).result()
        return lambda *slab: array[indices(*slab)].read(order="C").result(), lambda: None


class ZarrPython:
    pipeline = None

    def open(self, path, _threads):
        import zarr
        if self.pipeline:
            import zarrs  # noqa: F401
            zarr.config.set({"codec_pipeline.path": self.pipeline})
        array = zarr.open_group(path, mode="r")["v"]
        return lambda *slab: np.ascontiguousarray(array[indices(*slab)]), lambda: None


class Zarrs(ZarrPython):
    pipeline = "zarrs.ZarrsCodecPipeline"


class NetCdf:
    def open(self, path, _threads):
        import netCDF4
        dataset = netCDF4.Dataset(f"file://{path}#mode=zarr,file")
        variable = dataset["v"]
        variable.set_auto_maskandscale(False)
        return lambda *slab: np.ascontiguousarray(variable[indices(*slab)]), dataset.close


class Xarray:
    def open(self, path, _threads):
        import xarray
        dataset = xarray.open_zarr(path, chunks=None, consolidated=False, mask_and_scale=False)
        return lambda *slab: np.ascontiguousarray(dataset["v"][indices(*slab)].values), dataset.close


class CodecAlone:
    """Reads each chunk that a hyperslab touches and decodes it into the same memory, and delivers nothing."""

    # Where to deliver to; nothing has each read make a new array.
    into = None

    def open(self, path, _threads):
        import numcodecs
        path = pathlib.Path(path) / "v"
        sharded = path / "zarr.json"
        if sharded.exists():
            stored, chunk_shape = of_shards(path, json.loads(sharded.read_text()))
            codecs, dtype = [numcodecs.Zstd()], "f4"
        else:
            metadata = json.loads((path / ".zarray").read_text())
            codecs = [numcodecs.get_codec(metadata["compressor"])]
            codecs += [numcodecs.get_codec(filter) for filter in reversed(metadata["filters"] or [])]
            stored = {tuple(map(int, file.name.split("."))): (file, 0, -1)
                      for file in path.iterdir() if not file.name.startswith(".")}
            chunk_shape, dtype = metadata["chunks"], metadata["dtype"]
        room = np.empty(chunk_shape, dtype)

        def read(*slab):
            out = self.memory(slab[1])
            lines = [sorted({index // len_ for index in range(start, start + count * stride, stride)})
                     for start, count, stride, len_ in zip(*slab, chunk_shape)]
            for chunk in itertools.product(*lines):
                file, begin, len_ = stored[chunk]
                with open(file, "rb", buffering=0) as opened:
                    opened.seek(begin)
                    encoded = opened.read(len_)
                for codec in codecs[:-1]:
                    encoded = codec.decode(encoded)
                codecs[-1].decode(encoded, out=room)
                self.deliver(room, chunk, out)
            return out

        return read, lambda: None

    def memory(self, count):
        return np.zeros(0)

    def deliver(self, room, chunk, out):
        pass


def of_shards(path, metadata):
    """The file, the offset and the length of each chunk of an array whose shards have their index at the end; and the
    shape of the chunks."""
    shard_shape = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    chunk_shape = metadata["codecs"][0]["configuration"]["chunk_shape"]
    per_shard = [outer // inner for outer, inner in zip(shard_shape, chunk_shape)]
    num_chunks, crc32c = int(np.prod(per_shard)), 4
    stored = {}
    for file in (path / "c").rglob("*"):
        if not file.is_file():
            continue
        index = np.frombuffer(file.read_bytes()[-16 * num_chunks - crc32c:-crc32c], "<u8").reshape(-1, 2)
        shard = map(int, file.relative_to(path / "c").parts)
        corner = [number * per for number, per in zip(shard, per_shard)]
        for within, (begin, len_) in zip(np.ndindex(*per_shard), index.tolist()):
            stored[tuple(map(sum, zip(corner, within)))] = (file, begin, len_)
    return stored, chunk_shape


class CodecAndCopy(CodecAlone):
    """Copies each chunk to its place besides: the least that delivers, one chunk after another."""

    def memory(self, count):
        return np.empty(count, "f4") if self.into is None else self.into

    def deliver(self, room, chunk, out):
        box = (slice(index * len_, (index + 1) * len_) for index, len_ in zip(chunk, room.shape))
        place = out[tuple(box)]
        place[...] = room[tuple(slice(len_) for len_ in place.shape)]


LIBRARIES = {
    "codec alone": CodecAlone,
    "codec and copy": CodecAndCopy,
    "TensorStore": TensorStore,
    "zarrs": Zarrs,
    "zarr-python": ZarrPython,
    "netCDF-C": NetCdf,
    "xarray": Xarray,
    "cfdb": Cfdb,
}


# What most reads and caches take, in elements: so much memory stays with the machine while a read is repeated.
SMALL = 32 << 20


def main():
    name = sys.argv[1]
    library = Nczchunk(sys.argv[2]) if name == "nczchunk" else LIBRARIES[name]()
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            answer = measure(library, ask)
        except Exception as error:  # noqa: BLE001 - whatever a library says, the others go on
            answer = {"failed": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), flush=True)


def measure(library, ask):
    """The least wall and CPU time of some turns. Each opens the array anew, so that nothing is left in a cache."""
    # Libraries load what they need with the first array.
    threads = ask.get("threads")
    library.open(ask["path"], threads)[1]()
    library.into = np.zeros(ask["slabs"][0][1], "f4") if ask.get("into_used") else None
    walls, cpus, crc = [], [], None
    num_elements = sum(int(np.prod(count)) for _, count, _ in ask["slabs"])
    back_memory(SMALL)
    budget = time.perf_counter() + ask["budget"]
    while not walls or (time.perf_counter() < budget and len(walls) < 7):
        if num_elements > SMALL:
            back_memory(num_elements)
        cpu, wall = usage(), time.perf_counter()
        read, close = library.open(ask["path"], threads)
        if isinstance(library, CodecAlone):
            cpu, wall = usage(), time.perf_counter()
        slabs = [read(*slab) for slab in ask["slabs"]]
        walls.append(time.perf_counter() - wall)
        cpus.append(usage() - cpu)
        if crc is None:
            crc = 0
            for out in slabs:
                crc = zlib.crc32(np.ascontiguousarray(out).view("u1").reshape(-1), crc)
        del slabs
        close()
    library.into = None
    return {"wall": min(walls), "cpu": min(cpus), "crc": crc, "turns": len(walls)}


def back_memory(num_elements):
    """Uses as much memory as so many elements take, and gives it back to the system. A virtual machine may have to ask
    its host for memory that nobody has used for a while, which takes longer than what is measured here."""
    np.empty(num_elements, "f4").fill(0)


def usage():
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime


main()
