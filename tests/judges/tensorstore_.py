"""Arrays as TensorStore writes them."""

import itertools

import numpy as np
import tensorstore as ts

from cases import EBADTYPE, ENOFILTER, ENOTBUILT, Case, native, values

SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)

V2 = {
    "default": {},
    "raw": {"compressor": None},
    "gzip": {"compressor": {"id": "gzip", "level": 1}},
    "zlib": {"compressor": {"id": "zlib", "level": 6}},
    "zstd": {"compressor": {"id": "zstd", "level": 3}},
    "blosc": {"compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, "blocksize": 0}},
    "blosc-zstd-bit": {"compressor": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 2, "blocksize": 512}},
    "order-F": {"order": "F"},
    "separator": {"dimension_separator": "/"},
    "big-endian": {"dtype": ">f4"},
    "fill": {"fill_value": "NaN"},
    "no-fill": {"fill_value": None},
    "one-chunk": {"chunks": [100, 100, 100]},
}

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
CRC = {"name": "crc32c"}
ZSTD = {"name": "zstd", "configuration": {"level": 1}}
GZIP = {"name": "gzip", "configuration": {"level": 2}}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle"}}


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def sharding(inner, chunk_shape=(3, 5, 8), index=(LITTLE, CRC), location="end"):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(chunk_shape), "codecs": list(inner), "index_codecs": list(index),
        "index_location": location}}


def v3_codecs():
    yield "little", [LITTLE]
    yield "big", [BIG]
    for name, codec in [("zstd", ZSTD), ("gzip", GZIP), ("blosc", BLOSC), ("crc32c", CRC)]:
        yield name, [LITTLE, codec]
    yield "crc32c and gzip", [BIG, CRC, GZIP]
    for order in itertools.permutations(range(3)):
        yield f"transposed {order}", [transpose(*order), LITTLE, ZSTD]
    yield "transposed twice", [transpose(1, 2, 0), transpose(0, 2, 1), BIG]
    for location in ("start", "end"):
        yield f"sharded, {location}", [sharding([LITTLE, ZSTD], location=location)]
        yield f"sharded, {location}, big", [sharding([BIG], index=[BIG], location=location)]
        yield f"sharded, {location}, index without a checksum", [sharding([LITTLE, GZIP], index=[LITTLE],
                                                                          location=location)]
    yield "sharded, transposed within", [sharding([transpose(2, 0, 1), LITTLE, BLOSC])]
    # The shards are (6, 10, 16), so (10, 16, 6) where they are sharded.
    yield "transposed, then sharded", [transpose(1, 2, 0), sharding([LITTLE], (5, 8, 3))]
    yield "transposed, then sharded, transposed within", [
        transpose(1, 2, 0), sharding([transpose(0, 2, 1), BIG, CRC], (2, 4, 6), location="start")]


def spec(path, version, metadata, **more):
    return {"driver": "zarr" if version == 2 else "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"},
            "metadata": metadata, **more}


def write(spec_, data, part=()):
    """Creates an array and writes a part of the data to it."""
    array = ts.open(spec_, create=True, delete_existing=True).result()
    array[part] = data[part]
    return array


def v2(root):
    for name, settings in V2.items():
        metadata = {"shape": SHAPE, "chunks": CHUNKS, "dtype": "<f4", **settings}
        data = values(SHAPE, metadata["dtype"])
        write(spec(root / f"v2-{name}", 2, metadata), native(data))
        yield Case(f"v2 {name}", root / f"v2-{name}", data)
    for dtype in ["|b1", "|i1", "|u1", "<i2", ">i2", "<u2", ">u4", "<i8", ">u8", "<f2", ">f8", "<c8", ">c16"]:
        name = dtype.replace("<", "l").replace(">", "b").replace("|", "")
        data = values(SHAPE, dtype)
        write(spec(root / f"v2-{name}", 2, {"shape": SHAPE, "chunks": CHUNKS, "dtype": dtype}), native(data))
        yield Case(f"v2 {dtype}", root / f"v2-{name}", data)
    fields = [["a", "<i2"], ["b", "<f8"]]
    data = values(SHAPE, [tuple(field) for field in fields])
    metadata = {"shape": SHAPE, "chunks": CHUNKS, "dtype": fields}
    for field in "ab":
        array = ts.open(spec(root / "v2-fields", 2, metadata, field=field), create=True, open=True).result()
        array[...] = np.ascontiguousarray(data[field])
    yield Case("v2 two fields", root / "v2-fields", data)
    for dtype in SMALL:
        yield small(spec(root / f"v2-{dtype}", 2, {"shape": SHAPE, "chunks": CHUNKS, "dtype": dtype}), dtype,
                    f"v2 {dtype}", root / f"v2-{dtype}")


# Numbers that numpy has from ml_dtypes only; here they are bytes with a name.
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz",
         "int2", "int4"]


def small(spec_, dtype, name, path):
    array = ts.open(spec_, create=True, delete_existing=True).result()
    data = np.arange(np.prod(SHAPE)).reshape(SHAPE) % (4 if dtype == "int2" else 13) - 2
    data = data.astype(array.dtype.numpy_dtype)
    array[:, :25] = data[:, :25]
    found = np.ascontiguousarray(array.read().result())
    return Case(name, path, found.view(f"V{found.itemsize}"), type=0)


def v3_metadata(codecs=None, chunks=CHUNKS, dtype="float32", **more):
    metadata = {"shape": SHAPE, "data_type": dtype,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}, **more}
    return metadata if codecs is None else {**metadata, "codecs": codecs}


def v3(root):
    for i, (name, codecs) in enumerate(v3_codecs()):
        chunks = (6, 10, 16) if "sharded" in name else CHUNKS
        data = values(SHAPE, "f4")
        path = root / f"v3-{i}"
        write(spec(path, 3, v3_metadata(codecs, chunks, fill_value="NaN", dimension_names=["t", None, "x"])), data,
              np.s_[:, :25])
        expected = np.full(SHAPE, np.nan, "f4")
        expected[:, :25] = data[:, :25]
        yield Case(f"v3 {name}", path, expected, dimensions=["t", "", "x"])
    for dtype in ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                  "float64", "complex64", "complex128"]:
        data = values(SHAPE, dtype)
        write(spec(root / f"v3-{dtype}", 3, v3_metadata(dtype=dtype)), data)
        yield Case(f"v3 {dtype}", root / f"v3-{dtype}", data)
    # TensorStore writes codecs that suit an order that is asked for.
    for inner in itertools.permutations(range(3)):
        layout = {"chunk": {"shape": CHUNKS}, "inner_order": list(inner)}
        data = values(SHAPE, "i4")
        path = root / f"v3-inner-{''.join(map(str, inner))}"
        write({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"}, "dtype": "int32",
               "schema": {"chunk_layout": layout, "domain": {"shape": SHAPE}}}, data)
        yield Case(f"v3 inner order {inner}", path, data)
    for keys in [{"name": "default"}, {"name": "v2"}, {"name": "default", "configuration": {"separator": "."}},
                 {"name": "v2", "configuration": {"separator": "/"}}]:
        path = root / f"v3-keys-{keys['name']}-{len(keys)}"
        data = values(SHAPE, "i4")
        write(spec(path, 3, v3_metadata(dtype="int32", chunk_key_encoding=keys)), data)
        yield Case(f"v3 keys {keys}", path, data)
    for dtype in SMALL:
        for name, order in [("", LITTLE), (", big-endian", BIG)][:1 if "8" in dtype or "int" in dtype else 2]:
            path = root / f"v3-{dtype}{name[-3:]}"
            yield small(spec(path, 3, v3_metadata([order], dtype=dtype)), dtype, f"v3 {dtype}{name}", path)
    for i, codecs in enumerate([
        [sharding([sharding([LITTLE], (3, 5, 8))], (3, 5, 16))],
        [sharding([sharding([BIG, BLOSC], (3, 5, 8), location="start")], (3, 5, 16))],
        [transpose(1, 2, 0), sharding([
            transpose(2, 0, 1), sharding([transpose(1, 0, 2), LITTLE], (3, 5, 4))], (5, 8, 6))],
        [sharding([sharding([sharding([LITTLE], (1, 5, 8))], (3, 5, 8))], (3, 5, 16))],
    ]):
        path, data = root / f"v3-nested-{i}", values(SHAPE, "f4")
        write(spec(path, 3, v3_metadata(codecs, (6, 10, 16), fill_value=2.5)), data, np.s_[:, :25])
        data[:, 25:] = 2.5
        yield Case(f"v3 shards within shards {i}", path, data)


def cases(root):
    yield from v2(root)
    yield from v3(root)
