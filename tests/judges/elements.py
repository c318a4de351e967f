"""Arrays with codecs that compute with elements, checksums and packed bits, as zarr-python writes them by numcodecs: as
filters of Zarr v2 and as codecs of Zarr v3, of many types, in both byte orders, with chunks that are missing or that
reach beyond the array."""

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BytesCodec, ShardingCodec, ZstdCodec
from zarr.codecs import numcodecs as of_v3
from zarr.core.array import ShardsConfigParam

from cases import Case, values

SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)

INTEGERS = ["|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">u8"]
FLOATS = ["<f4", ">f4", "<f8", ">f8"]
# numcodecs' BitRound knows no big-endian ones.
LITTLE_FLOATS = ["<f2", "<f4", "<f8"]


def filters():
    """A name, the filters of Zarr v2, and the type of the elements. numcodecs decides what is lost."""
    for dtype in INTEGERS + FLOATS:
        yield "delta", [numcodecs.Delta(dtype)], dtype
    yield "delta in fewer bytes", [numcodecs.Delta("<i4", "<i2")], "<i4"
    yield "delta in big-endian words", [numcodecs.Delta("<i4", ">i2")], "<i4"
    yield "delta, shuffle", [numcodecs.Delta("<i8", "<i4"), numcodecs.Shuffle(4)], "<i8"
    for dtype, astype in [("<f8", "|u1"), ("<f4", "<i2"), (">f8", ">i4"), ("<i4", "<i2"), ("<f8", "<f4")]:
        yield f"fixedscaleoffset as {astype}", [numcodecs.FixedScaleOffset(10, 0.25, dtype, astype)], dtype
    yield "fixedscaleoffset, delta", [numcodecs.FixedScaleOffset(10, 2, "<f8", "<i4"), numcodecs.Delta("<i4")], "<f8"
    for dtype in FLOATS:
        yield "quantize", [numcodecs.Quantize(2, dtype)], dtype
    yield "quantize in fewer bytes", [numcodecs.Quantize(1, "<f8", "<f4")], "<f8"
    for dtype in LITTLE_FLOATS:
        yield "bitround", [numcodecs.BitRound(5)], dtype
    yield "packbits", [numcodecs.PackBits()], "|b1"
    yield "packbits, crc32", [numcodecs.PackBits(), numcodecs.CRC32()], "|b1"
    for location in ("start", "end"):
        for sum_ in (numcodecs.CRC32, numcodecs.Adler32, numcodecs.checksum32.CRC32C):
            yield f"{sum_.codec_id} at the {location}", [sum_(location)], ">i4"
    yield "delta, fletcher32", [numcodecs.Delta("<i2"), numcodecs.Fletcher32()], "<i2"


def codecs():
    """As `filters`, of Zarr v3, where the byte order is that of the codec `bytes`."""
    for dtype in ("i1", "u2", "i4", "u8", "f4", "f8"):
        yield "delta", dict(filters=[of_v3.Delta(dtype=f"<{dtype}")]), dtype
    yield "delta in fewer bytes", dict(filters=[of_v3.Delta(dtype="<i4", astype="<i2")]), "i4"
    # scale and offset as texts would be taken for what they say; zarr-python writes numbers.
    for dtype, astype in [("f8", "u1"), ("f4", "i2"), ("i4", "i2")]:
        yield f"fixedscaleoffset as {astype}", dict(filters=[
            of_v3.FixedScaleOffset(offset=10, scale=0.25, dtype=f"<{dtype}", astype=f"<{astype}")]), dtype
    for dtype in ("f4", "f8"):
        yield "quantize", dict(filters=[of_v3.Quantize(digits=2, dtype=f"<{dtype}")]), dtype
    for dtype in ("f2", "f4", "f8"):
        yield "bitround", dict(filters=[of_v3.BitRound(keepbits=5)]), dtype
    yield "packbits", dict(filters=[of_v3.PackBits()]), "b1"
    yield "bz2", dict(compressors=[of_v3.BZ2(level=3)]), "f4"
    for location in ("start", "end"):
        for sum_ in (of_v3.CRC32, of_v3.Adler32):
            yield f"{sum_.codec_name} at the {location}", dict(compressors=[sum_(location=location)]), "i4"
    yield "crc32, adler32", dict(compressors=[of_v3.CRC32(), of_v3.Adler32()]), "f8"


def write(path, name, version, dtype, fill, **settings):
    """An array of which a part is written: some chunks are missing, others are not whole."""
    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=np.dtype(dtype), zarr_format=version,
                              fill_value=fill, **settings)
    data = values(SHAPE, dtype)
    if np.dtype(dtype).kind == "f" and ("delta" in name or "fixed" in name):
        # A NaN is lost in integers, and in all differences behind it.
        data = np.nan_to_num(data)
    if np.dtype(dtype).itemsize == 1 and np.dtype(dtype).kind != "b":
        data = data % 50
    array[:, :25, :32] = data[:, :25, :32]
    return Case(f"v{version} {name} {dtype}", path, array[...])


def big_endian(case, path, name, dtype, fill, settings):
    """As an array of Zarr v3 that is there, with big-endian words. zarr-python 3.1.6 writes those that numcodecs has
    made of a type as it should, but does not swap them as it reads: so the values are those of the other array."""
    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=np.dtype(dtype), zarr_format=3, fill_value=fill,
                              serializer=BytesCodec(endian="big"), **settings)
    array[:, :25, :32] = case.values[:, :25, :32]
    return Case(f"v3 {name}, big-endian {dtype}", path, case.values)


def fill_value(dtype, name):
    kind = np.dtype(dtype).kind
    return np.nan if kind == "f" and "delta" not in name and "fixed" not in name else kind == "b" or 3


def nested(root):
    """Shards within shards."""
    for i, (order, codecs_) in enumerate([("C", [BytesCodec()]), ("C", [BytesCodec(endian="big"), ZstdCodec()])]):
        for location in ("start", "end"):
            inner = ShardingCodec(chunk_shape=(3, 5, 8), codecs=codecs_, index_location=location)
            outer = ShardingCodec(chunk_shape=(3, 10, 16), codecs=[inner])
            path = root / f"nested-{i}-{location}"
            array = zarr.create_array(path, shape=SHAPE, chunks=(6, 20, 32), dtype="f4", zarr_format=3,
                                      fill_value=np.nan, serializer=outer, compressors=None, filters=None)
            array[:, :25, :16] = values(SHAPE, "f4")[:, :25, :16]
            yield Case(f"v3 shards within shards, {i}, index at the {location}", path, array[...])


def cases(root):
    for i, (name, list_, dtype) in enumerate(filters()):
        yield write(root / f"v2-{i}", name, 2, dtype, fill_value(dtype, name), filters=list_, compressors=None)
        yield write(root / f"v2-{i}-zlib", f"{name}, zlib", 2, dtype, fill_value(dtype, name), filters=list_,
                    compressors=numcodecs.Zlib(1))
    for i, (name, settings, dtype) in enumerate(codecs()):
        settings = {"compressors": None, "filters": None, **settings}
        fill = fill_value(dtype, name)
        case = write(root / f"v3-{i}", name, 3, dtype, fill, **settings)
        yield case
        if np.dtype(dtype).itemsize > 1:
            yield big_endian(case, root / f"v3-{i}-big", name, dtype, fill, settings)
        yield write(root / f"v3-{i}-shards", f"{name}, in shards", 3, dtype, fill,
                    shards=ShardsConfigParam(shape=(6, 20, 48), index_location="end"), **settings)
    yield from nested(root)
