"""Zarr v3's rectilinear grids, with everything at random: put together by hand, and by zarr-python from 3.3 on; and
metadata that make no sense."""

import itertools
import json
import zlib

import numpy as np
import zarr
from zarr.codecs import BytesCodec, GzipCodec, TransposeCodec

from cases import ENCZARR, ENOTBUILT, Case, values
from handmade import LITTLE, Maker, write
from random_arrays import DTYPES, Random

NUMBER = 80
DTYPES = [dtype for dtype in DTYPES if np.dtype(dtype).kind in "biufc"]


def lists(rng, length):
    """The lengths of chunks that reach the end of a dimension or go beyond it."""
    lengths = []
    while sum(lengths) < length or not lengths:
        lengths.extend([rng.randint(1, max(1, length // 2 + 1))] * rng.choice([1, 1, 2, 5]))
    return lengths + [rng.randint(1, 3) for _ in range(rng.choice([0, 0, 0, 2]))]


def exact(rng, length):
    """The same as zarr-python makes them: they end where the dimension does."""
    ends = [min(end, length) for end in itertools.accumulate(lists(rng, length), initial=0)]
    return [end - begin for begin, end in itertools.pairwise(ends) if end > begin]


def spelled(rng, lengths):
    """A list as the metadata have it: some runs with how long they are, some length by length."""
    spelling = []
    for length, run in itertools.groupby(lengths):
        count = len(list(run))
        while count:
            part = rng.randint(1, count)
            spelling += [[length, part]] if part > 1 or rng.random() < 0.3 else [length]
            count -= part
    return spelling


def grid(spelling, name="rectilinear", **changes):
    return {"name": name, "configuration": {"kind": "inline", "chunk_shapes": spelling, **changes}}


def by_hand(rng, root, i):
    shape = [rng.choice([1, 2, 5, 11, 16, 24]) for _ in range(rng.randint(1, 4))]
    data = values(shape, np.dtype(rng.choice(DTYPES)).newbyteorder("<"))
    all_lengths, spelling = [], []
    for length in shape:
        if rng.random() < 0.25:
            one = rng.randint(1, length + 2)
            all_lengths.append([one] * -(-length // one))
            spelling.append(one)
        else:
            all_lengths.append(lists(rng, length))
            spelling.append(spelled(rng, all_lengths[-1]))
    codecs, expected, order = [LITTLE], data.copy(), list(range(len(shape)))
    if rng.random() < 0.5:
        rng.shuffle(order)
        codecs.insert(0, {"name": "transpose", "configuration": {"order": order}})
    is_gzip = rng.random() < 0.5
    if is_gzip:
        codecs.append({"name": "numcodecs.zlib", "configuration": {"level": 1}})
    metadata = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data.dtype.name,
                "chunk_grid": grid(spelling), "chunk_key_encoding": {"name": "default"},
                "fill_value": [0, 0] if data.dtype.kind == "c" else False if data.dtype.kind == "b" else 0,
                "codecs": codecs}
    path = root / f"by-hand-{i}"
    write(path / "zarr.json", json.dumps(metadata))
    for indices in itertools.product(*(range(len(one)) for one in all_lengths)):
        begin = [sum(one[:index]) for one, index in zip(all_lengths, indices)]
        lens = [one[index] for one, index in zip(all_lengths, indices)]
        place = tuple(slice(b, b + n) for b, n in zip(begin, lens))
        inside = data[place]
        if not inside.size:
            continue
        if rng.random() < 0.2:
            expected[place] = 0
            continue
        block = np.full(lens, 1, data.dtype)
        block[tuple(slice(0, n) for n in inside.shape)] = inside
        stored = block.transpose(order).tobytes()
        write(path / "c" / "/".join(map(str, indices)), zlib.compress(stored) if is_gzip else stored)
    return Case(f"rectilinear, by hand {i}", path, expected.astype(data.dtype.newbyteorder("=")))


def by_zarr(rng, root, i):
    shape = [rng.choice([1, 2, 5, 11, 16, 24]) for _ in range(rng.randint(1, 4))]
    chunks = [exact(rng, length) if d == 0 or rng.random() < 0.7 else rng.randint(1, length + 2)
              for d, length in enumerate(shape)]
    dtype, path = np.dtype(rng.choice(DTYPES)), root / f"by-zarr-python-{i}"
    array = zarr.create_array(path, shape=shape, chunks=chunks, dtype=dtype, zarr_format=3,
                              filters=rng.some([TransposeCodec(order=rng.order(len(shape)))], 1),
                              serializer=BytesCodec(endian=rng.choice(["little", "big"])),
                              compressors=rng.some([GzipCodec(level=1)], 1))
    data, expected, part = values(shape, dtype), np.zeros(shape, dtype), rng.part(shape)
    expected[part] = data[part]
    array[part] = data[part]
    if rng.random() < 0.3:
        # As far as it goes: what zarr-python leaves behind the end is not looked at.
        shape[0] = rng.randint(1, shape[0])
        array.resize(shape)
        expected = expected[:shape[0]]
    return Case(f"rectilinear, zarr-python {i}", path, np.ascontiguousarray(expected))


def traps(make):
    """Of an array of 4 x 6 elements."""
    huge = 2**62
    for spelling, word in [
        ([[2], 3], "ends before"), ([[2, 1], 3], "ends before"), ([[[1, 3]], 3], "ends before"), ([[], 3], "empty"),
        ([[2, 0, 2], 3], "is 0"), ([0, 3], "is 0"), ([[[0, 9]], 3], "is 0"), ([[[2, 0], 4], 3], "repeated 0 times"),
        ([[[2, 2, 2]], 3], "how often"), ([[[2]], 3], "how often"), ([[4, -1], 3], "integer"),
        ([[2.5, 2], 3], "integer"), ([["2", 2], 3], "integer"), ([None, 3], "integer"),
        ([[[[2, 2]]], 3], "integer"), ([[4]], "each dimension"),
        ([[4], 6, 1], "each dimension"), ([[[huge, 2]], 3], "counted"), ([[[1, huge], [1, huge], 1], 3], "counted"),
        ([[2**64, 2], 3], "integer"), ([[4, [2, 2**64]], 3], "integer"), (4, "list"),
    ]:
        yield make.v3(f"rectilinear {spelling}", chunk_grid=grid(spelling), refused=(ENCZARR, word))
    other = {"kind": "reference"}
    yield make.v3("rectilinear of another kind", chunk_grid=grid([2, 3], **other), refused=(ENOTBUILT, "inline"))
    codecs = {"chunk_shape": [1, 3], "codecs": [LITTLE], "index_codecs": [LITTLE]}
    yield make.v3("rectilinear shards", chunk_grid=grid([[2, 2], 3]), refused=(ENOTBUILT, "rectilinear"),
                  codecs=[{"name": "sharding_indexed", "configuration": codecs}])
    # A run of many chunks takes no more than one, and regular lengths may be written as any others.
    yield make.v3("rectilinear with 2^61 chunks behind the end", chunk_grid=grid([[[2, 2], [1, 2**61]], [[3, 2]]]))
    yield make.v3("rectilinear with regular lengths", chunk_grid=grid([2, 3]))


def cases(root):
    rng = Random("rectilinear")
    for i in range(NUMBER):
        yield by_hand(rng, root, i)
    if "rectilinear_chunks" in zarr.config.get("array"):
        with zarr.config.set({"array.rectilinear_chunks": True}):
            for i in range(NUMBER):
                yield by_zarr(rng, root, i)
    yield from traps(Maker(root))
