"""Arrays with everything at random, as zarr-python and TensorStore write them."""

import random

import numcodecs
import numpy as np
import tensorstore as ts
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.core.array import ShardsConfigParam

from cases import Case, values

NUMBER = 150
DTYPES = ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[ns]", "S3",
          "U2"]


class Random(random.Random):
    def some(self, choices, most):
        """Up to so many of the choices, in any order, each once."""
        return self.sample(choices, self.randint(0, min(most, len(choices))))

    def lengths(self):
        """A shape, its chunks and a number of chunks in a shard for each dimension."""
        rank = self.randint(0, 5)
        shape = [self.choice([1, 2, 3, 5, 7, 11, 16]) for _ in range(rank)]
        chunks = [self.randint(1, length + 2) for length in shape]
        return shape, chunks, [self.randint(1, 3) for _ in range(rank)]

    def order(self, rank):
        return self.sample(range(rank), rank)

    def part(self, shape):
        """A part of an array that is written."""
        return tuple(slice(begin, self.randint(begin, length)) for length in shape
                     for begin in [self.randint(0, length // 2)])


def blosc_v2(rng):
    cname = rng.choice(["lz4", "lz4hc", "blosclz", "zlib", "zstd"])
    return numcodecs.Blosc(cname, rng.randint(0, 9), rng.randint(-1, 2), rng.choice([0, 64, 300]))


def by_zarr_v2(rng, path, dtype, shape, chunks, _):
    # Only whole elements can be shuffled.
    filters = rng.some([numcodecs.Shuffle(dtype.itemsize)], 1)
    filters += rng.some([numcodecs.Fletcher32(), numcodecs.checksum32.CRC32C(), numcodecs.Zlib(1)], 3)
    compressor = rng.choice([None, numcodecs.Zstd(1), numcodecs.Zlib(1), numcodecs.GZip(1), numcodecs.LZ4(),
                             blosc_v2(rng)])
    return zarr.create_array(path, shape=shape, chunks=chunks, dtype=dtype, zarr_format=2, order=rng.choice("CF"),
                             filters=filters or None, compressors=compressor,
                             chunk_key_encoding={"name": "v2", "separator": rng.choice("./")})


def by_zarr_v3(rng, path, dtype, shape, chunks, counts):
    blosc = BloscCodec(cname=rng.choice(["lz4", "zstd", "zlib", "blosclz"]),
                       shuffle=rng.choice(["noshuffle", "shuffle", "bitshuffle"]))
    zstd = ZstdCodec(level=1, checksum=rng.random() < 0.5)
    compressors = rng.some([zstd, GzipCodec(level=1), Crc32cCodec(), blosc], 3)
    filters = [TransposeCodec(order=rng.order(len(shape))) for _ in range(rng.randint(0, 2))]
    shards = None
    if shape and rng.random() < 0.6:
        shards = ShardsConfigParam(shape=[c * n for c, n in zip(chunks, counts)],
                                   index_location=rng.choice(["start", "end"]))
    keys = {"name": rng.choice(["default", "v2"]), "separator": rng.choice("./")}
    return zarr.create_array(path, shape=shape, chunks=chunks, dtype=dtype, zarr_format=3, shards=shards,
                             filters=filters, serializer=BytesCodec(endian=rng.choice(["little", "big"])),
                             compressors=compressors, chunk_key_encoding=keys)


def by_tensorstore(rng, path, dtype, shape, chunks, counts):
    """Transpositions may be before and within shards, which zarr-python does not do."""
    def transposition():
        order = rng.order(len(shape))
        return order, {"name": "transpose", "configuration": {"order": order}}

    def bytes_():
        return {"name": "bytes", "configuration": {"endian": rng.choice(["little", "big"])}}

    order, outer = transposition()
    others = rng.some([{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"},
                       {"name": "zstd", "configuration": {"level": 1}}], 3)
    codecs = [transposition()[1], bytes_(), *others]
    grid = chunks
    if rng.random() < 0.7:
        grid = [c * n for c, n in zip(chunks, counts)]
        inner = {"chunk_shape": [chunks[d] for d in order], "codecs": codecs,
                 "index_codecs": [bytes_(), *rng.some([{"name": "crc32c"}], 1)],
                 "index_location": rng.choice(["start", "end"])}
        codecs = [outer, {"name": "sharding_indexed", "configuration": inner}]
    metadata = {"shape": shape, "data_type": dtype.name, "codecs": codecs,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid}}}
    return ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"}, "metadata": metadata},
                   create=True).result()


WRITERS = {"zarr-python v2": by_zarr_v2, "zarr-python v3": by_zarr_v3, "TensorStore v3": by_tensorstore}


def cases(root):
    for name, create in WRITERS.items():
        rng = Random(name)
        for i in range(NUMBER):
            dtype = np.dtype(rng.choice(DTYPES[:14] if create is by_tensorstore else DTYPES))
            if create is by_zarr_v2 and dtype.kind not in "SMm":
                dtype = dtype.newbyteorder(rng.choice("<>"))
            shape, chunks, counts = rng.lengths()
            path = root / f"{name.replace(' ', '-')}-{i}"
            array = create(rng, path, dtype, shape, chunks, counts)
            data = values(shape, dtype).astype(dtype.newbyteorder("="))
            expected, part = np.zeros(shape, data.dtype), rng.part(shape)
            expected[part] = data[part]
            array[part] = expected[part]
            if dtype.kind in "Mm": # what is not written is no time
                expected = np.asarray(array[...])
            yield Case(f"{name}, random array {i}", path, expected)
