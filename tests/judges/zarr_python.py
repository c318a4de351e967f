"""Arrays as zarr-python 3 and numcodecs write them."""

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.core.array import ShardsConfigParam

from cases import ENOFILTER, Case, values

V2_CODECS = {
    "raw": dict(compressors=None),
    "blosc-lz4": dict(compressors=numcodecs.Blosc("lz4", 5, 1)),
    "blosc-lz4hc-bit": dict(compressors=numcodecs.Blosc("lz4hc", 5, 2)),
    "blosc-zstd": dict(compressors=numcodecs.Blosc("zstd", 3, 1)),
    "blosc-zlib-none": dict(compressors=numcodecs.Blosc("zlib", 3, 0)),
    "blosc-blosclz": dict(compressors=numcodecs.Blosc("blosclz", 9, 1)),
    "blosc-small-blocks": dict(compressors=numcodecs.Blosc("lz4", 5, 1, 1024)),
    "blosc-auto": dict(compressors=numcodecs.Blosc("zstd", 5, -1)),
    "zstd": dict(compressors=numcodecs.Zstd(3)),
    "zstd-checksum": dict(compressors=numcodecs.Zstd(3, checksum=True)),
    "zlib": dict(compressors=numcodecs.Zlib(4)),
    "gzip": dict(compressors=numcodecs.GZip(5)),
    "lz4": dict(compressors=numcodecs.LZ4()),
    "shuffle-zlib": dict(compressors=numcodecs.Zlib(4), filters=[numcodecs.Shuffle(4)]),
    "shuffle-of-2": dict(compressors=numcodecs.Zlib(4), filters=[numcodecs.Shuffle(2)]),
    "shuffle-of-8": dict(compressors=numcodecs.LZ4(), filters=[numcodecs.Shuffle(8)]),
    "fletcher32": dict(compressors=numcodecs.Zlib(1), filters=[numcodecs.Fletcher32()]),
    "crc32c": dict(compressors=None, filters=[numcodecs.checksum32.CRC32C()]),
    "bz2": dict(compressors=numcodecs.BZ2(4)),
    "shuffle-bz2": dict(compressors=numcodecs.BZ2(1), filters=[numcodecs.Shuffle(4)]),
    "crc32": dict(compressors=None, filters=[numcodecs.CRC32()]),
    "delta": dict(compressors=None, filters=[numcodecs.Delta("<i4")], dtype="<i4", fill_value=3),
    "bitround-bz2": dict(compressors=numcodecs.BZ2(1), filters=[numcodecs.BitRound(20)]),
    "three-filters": dict(compressors=numcodecs.Zstd(1), filters=[
        numcodecs.Shuffle(4), numcodecs.checksum32.CRC32C(), numcodecs.Fletcher32()]),
}

REFUSED = {
    "lzma": dict(compressors=numcodecs.LZMA()),
}

DTYPES = ["b1", "i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8",
          ">f8", "<c8", ">c16", "S5", "<U4", ">U3", "<M8[s]", "<M8[ns]", ">M8[D]", "<m8[ms]", "V8",
          [("a", "<i2"), ("b", "<f8")]]

FILLS = [("b1", True), ("i1", -3), ("<u8", 2**64 - 1), ("<i8", -2**63), ("<f2", 0.5), ("<f4", np.float32(0.1)),
         ("<f8", -np.inf), ("<c8", np.complex64(1 - 2j)),
         ("<c16", complex(np.nan, np.inf)), ("S5", b"ab"), ("<U4", "\u00e4b"), ("<M8[s]", np.datetime64("NaT", "s")),
         ("<M8[D]", np.datetime64("2001-02-03", "D")), ("<m8[ns]", np.timedelta64(5, "ns")),
         ("V4", np.void(b"\1\2\3\4"))]

SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)


def slug(dtype):
    """A type as a part of a name."""
    return "structure" if isinstance(dtype, list) else dtype.replace("<", "l").replace(">", "b")


def fill_values(root, version):
    """Arrays of which only a part is written."""
    for i, (dtype, fill) in enumerate(FILLS):
        path = root / f"v{version}-fill-{i}"
        data = values(SHAPE, dtype)
        array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=np.dtype(dtype), zarr_format=version,
                                  fill_value=fill)
        array[:, 10:] = data[:, 10:]
        data[:, :10] = np.array(fill, dtype)
        yield Case(f"v{version} {dtype} fill value {fill}", path, data)


def texts(root, version, all_settings):
    """Texts of any length, of which only a part is written."""
    for how, settings in all_settings.items():
        for fill in ("", "n/a"):
            path = root / f"v{version}-texts-{how}-{len(fill)}"
            data = values(SHAPE, object)
            array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=str, zarr_format=version,
                                      fill_value=fill, **settings)
            array[:, 7:] = data[:, 7:]
            data[:, :7] = fill
            yield Case(f"v{version} texts of any length, fill value '{fill}' {how}", path, data)


def v2(root):
    for codec, settings in V2_CODECS.items():
        path = root / f"v2-{codec}"
        settings = {"compressors": None, "filters": None, "dtype": "<f4", "fill_value": np.nan, **settings}
        data = values(SHAPE, settings["dtype"])
        array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, zarr_format=2, **settings)
        array[:] = data
        yield Case(f"v2 {codec}", path, data)
    for codec, settings in REFUSED.items():
        path = root / f"v2-{codec}"
        zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="<f4", zarr_format=2,
                          **{"compressors": None, "filters": None, **settings})
        yield Case(f"v2 {codec}", path, refused=(ENOFILTER, codec))
    for dtype in DTYPES:
        path = root / f"v2-type-{slug(dtype)}"
        data = values(SHAPE, dtype)
        array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=np.dtype(dtype), zarr_format=2,
                                  fill_value=None)
        array[:] = data
        yield Case(f"v2 {dtype}", path, data)
    for order in "CF":
        for separator in "./":
            path = root / f"v2-{order}{'d' if separator == '.' else 's'}"
            data = values(SHAPE, "<i4")
            array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="<i4", zarr_format=2, order=order,
                                      chunk_key_encoding={"name": "v2", "separator": separator}, fill_value=-7,
                                      attributes={"_ARRAY_DIMENSIONS": ["t", "y", "x"], "units": "K"})
            array[:, 3:, :30] = data[:, 3:, :30]
            expected = np.full(SHAPE, -7, "<i4")
            expected[:, 3:, :30] = data[:, 3:, :30]
            yield Case(f"v2 order {order} separator {separator}, not all written", path, expected,
                       dimensions=["t", "y", "x"], typed={"units": (2, "K")})
    yield from fill_values(root, 2)
    path = root / "v2-scalar"
    array = zarr.create_array(path, shape=(), chunks=(), dtype="<f8", zarr_format=2)
    array[...] = 2.5
    yield Case("v2 scalar", path, np.array(2.5))
    yield from texts(root, 2, {"": {}, "raw": dict(compressors=None), "order F": dict(order="F"),
                               "zlib": dict(compressors=numcodecs.Zlib(1))})


V3_CODECS = {
    "default": {},
    "raw": dict(compressors=None),
    "gzip": dict(compressors=GzipCodec(level=4)),
    "zstd-checksum": dict(compressors=ZstdCodec(level=3, checksum=True)),
    "blosc": dict(compressors=BloscCodec()),
    "blosc-bit": dict(compressors=BloscCodec(cname="lz4", shuffle="bitshuffle")),
    "crc32c": dict(compressors=[ZstdCodec(), Crc32cCodec()]),
    "big-endian": dict(serializer=BytesCodec(endian="big")),
    "transposed": dict(filters=[TransposeCodec(order=(2, 0, 1))]),
    "transposed-twice": dict(filters=[TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(1, 0, 2))]),
}


def v3(root):
    for codec, settings in V3_CODECS.items():
        path = root / f"v3-{codec}"
        data = values(SHAPE, "f4")
        array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="f4", zarr_format=3, fill_value=np.nan,
                                  dimension_names=["time", "lat", "lon"], attributes={"units": "K"}, **settings)
        array[:] = data
        yield Case(f"v3 {codec}", path, data, dimensions=["time", "lat", "lon"], attributes={"units": "K"})
    for dtype in ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]",
                  "m8[ns]", "U4", "S5", "V8", [("a", "<i2"), ("b", "<f8")]]:
        path = root / f"v3-type-{slug(dtype)}"
        data = values(SHAPE, dtype)
        array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=np.dtype(dtype), zarr_format=3)
        array[:] = data
        yield Case(f"v3 {dtype}", path, data)
    for dtype in ["U4", "M8[s]", "c8", "f2", "i8"]:
        path = root / f"v3-big-{slug(dtype)}"
        data = values(SHAPE, dtype)
        array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype=np.dtype(dtype), zarr_format=3,
                                  serializer=BytesCodec(endian="big"))
        array[:] = data
        yield Case(f"v3 {dtype}, big-endian", path, data)
    for location in ("start", "end"):
        for codec, settings in V3_CODECS.items():
            path = root / f"v3-sharded-{location}-{codec}"
            data = values(SHAPE, "f4")
            data[0:3, 0:10] = np.nan
            array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="f4", zarr_format=3, fill_value=np.nan,
                                      shards=ShardsConfigParam(shape=(6, 20, 48), index_location=location),
                                      **settings)
            array[:, :, :40] = data[:, :, :40]
            expected = np.full(SHAPE, np.nan, "f4")
            expected[:, :, :40] = data[:, :, :40]
            yield Case(f"v3 sharded, index at the {location}, {codec}", path, expected)
    yield from fill_values(root, 3)
    path = root / "v3.zip"
    with zarr.storage.ZipStore(path, mode="w") as store:
        data = values(SHAPE, "i4")
        array = zarr.create_array(store, name="a/b", shape=SHAPE, chunks=CHUNKS, dtype="i4", zarr_format=3)
        array[:] = data
        array[0] = data[1]
    data[0] = data[1]
    yield Case("v3 in a zip file, with chunks written twice", path, data, "a/b")
    yield from texts(root, 3, {"": {}, "raw": dict(compressors=None), "gzip": dict(compressors=GzipCodec()),
                               "crc32c": dict(compressors=[ZstdCodec(), Crc32cCodec()]),
                               "transposed": dict(filters=[TransposeCodec(order=(2, 0, 1))]),
                               "sharded": dict(shards=(6, 20, 48))})


def large(root):
    """Chunks of a megabyte, of which only parts have to be decoded."""
    shape, chunks = (20, 150, 400), (10, 100, 300)
    for version, codecs in [(2, V2_CODECS), (3, V3_CODECS)]:
        for codec, settings in codecs.items():
            path = root / f"large-v{version}-{codec}"
            if version == 2:
                settings = {"compressors": None, "filters": None, **settings}
            settings = {"dtype": "<f4", **settings}
            data = values(shape, settings["dtype"])
            array = zarr.create_array(path, shape=shape, chunks=chunks, zarr_format=version, **settings)
            array[:] = data
            yield Case(f"large v{version} {codec}", path, data)


def cases(root):
    yield from v2(root)
    yield from v3(root)
    yield from large(root)
