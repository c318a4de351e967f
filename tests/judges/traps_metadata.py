"""Metadata as some writer is known to write them, and metadata that are to be refused."""

import dataclasses
import json

import numpy as np

from cases import EBADTYPE, EIO, ENCZARR, ENOFILTER, ENOTBUILT, values
from handmade import DATA, LITTLE, Maker, write

INF, NAN, NAT = float("inf"), float("nan"), np.datetime64("NaT")
NC_FILL = 9.969209968386869e36

# A type, a fill value as JSON text, and what it is.
FILLS_V2 = [
    ("<f4", '"NaN"', NAN), ("<f4", '"nan"', NAN), ("<f8", '"NAN"', NAN), ("<f4", '"Infinity"', INF),
    ("<f8", '"-Infinity"', -INF), ("<f4", '"-inf"', -INF), ("<f4", "NaN", NAN), ("<f8", "-Infinity", -INF),
    ("<f4", "0.1", np.float32(0.1)), ("<f8", "0.1", 0.1), ("<f4", "1e-45", np.float32(1e-45)),
    ("<f8", "5e-324", 5e-324), ("<f4", "3.4028234663852886e38", np.float32(3.4028234663852886e38)),
    ("<f2", "65504", 65504), ("<f8", "-0.0", -0.0), ("<f8", "9.96921e+36", NC_FILL),
    ("<i4", "null", 0), ("<f8", "null", 0), ("|b1", "null", False),
    ("<i4", '"0"', 0), ("<i4", '"-5"', -5), ("<i2", "[-32767]", -32767), ("<f4", "[1.5]", 1.5),
    ("|u1", "0.0", 0), ("<i8", "5.0", 5), ("<u8", "18446744073709551615", 2**64 - 1),
    ("<i8", "-9223372036854775808", -2**63), ("<i8", "9007199254740993", 2**53 + 1),
    ("|b1", "1", True), ("|b1", "true", True), ("<c8", "[1.5, -2.0]", 1.5 - 2j), ("<c16", '["NaN", 0.0]', NAN + 0j),
    ("<c8", "0", 0), ("|S5", '"YWIAAAA="', b"ab"), ("|S5", "0", b""), ("|S5", '""', b""),
    ("<U4", '"\u00e4b"', "\u00e4b"),
    ("<U4", "0", ""), ("|V4", '"AQIDBA=="', b"\1\2\3\4"), ("<M8[s]", "-9223372036854775808", NAT),
    ("<M8[s]", '"NaT"', NAT), ("<m8[ns]", "5", np.timedelta64(5, "ns")),
    (">i2", "-2", -2), (">f8", "1.5", 1.5), (">U2", '"ab"', "ab"),
]
FILLS_V3 = [
    ("float32", '"0x7fc00001"', np.array(0x7FC00001, "u4").view("f4")), ("float64", '"NaN"', NAN),
    ("float16", '"-Infinity"', -INF), ("float32", "1", 1), ("bool", "true", True),
    ("int64", "-9223372036854775808", -2**63), ("uint64", "18446744073709551615", 2**64 - 1),
    ("complex64", '["Infinity", "0xbf800000"]', complex(INF, -1)),
    ("complex128", "[1, 2.5]", 1 + 2.5j), ("int8", "-128", -128),
]
REFUSED_FILLS_V3 = [("int32", '"0"'), ("int32", "[0]"), ("bool", "0"), ("float32", '"nan"'), ("float32", '"0x7fc0"'),
                    ("uint8", "256"), ("int8", "0.5"), ("complex64", "1")]


def filled(dtype, fill):
    """An array of which the first chunk is to be missing, and what is read then."""
    dtype = np.dtype(dtype)
    data = values((4, 6), dtype)
    one = np.frombuffer(fill, dtype)[0] if dtype.kind == "V" else np.array(fill).astype(dtype.newbyteorder("="))
    return dict(data=data, skipped=[(0, 0)], fill=one)


def fill_values(make):
    for dtype, text, fill in FILLS_V2:
        yield make.v2(f"v2 {dtype} fill_value {text}", **filled(dtype, fill), fill_value="HERE",
                      text=lambda all, text=text: all.replace('"HERE"', text))
    yield make.v2("v2 fill_value is missing", **filled("<i4", 0), fill_value=...)
    structure = np.dtype([("a", "<i2"), ("b", "<f8")])
    fill = np.array([(3, 2.5)], structure)
    yield make.v2("v2 structure fill_value", data=values((4, 6), structure), skipped=[(1, 1)], fill=fill[0],
                  fill_value="AwAAAAAAAAAEQA==")
    for dtype, text, fill in FILLS_V3:
        yield make.v3(f"v3 {dtype} fill_value {text}", **filled(dtype, fill), fill_value="HERE",
                      codecs=[{"name": "bytes"}] if np.dtype(dtype).itemsize == 1 else [LITTLE],
                      text=lambda all, text=text: all.replace('"HERE"', text))
    for text in ("[1, 2, 3, 255]", '"AQID/w=="'):
        yield make.v3(f"v3 r32 fill_value {text}", **filled("V4", b"\1\2\3\xff"), data_type="r32", fill_value="HERE",
                      codecs=[{"name": "bytes"}], text=lambda all, text=text: all.replace('"HERE"', text))
    for text in ('"NaT"', "-9223372036854775808"):
        kind = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
        yield make.v3(f"v3 datetime64 fill_value {text}", **filled("<M8[s]", NAT), data_type=kind, fill_value="HERE",
                      text=lambda all, text=text: all.replace('"HERE"', text))
    for dtype, text in REFUSED_FILLS_V3:
        yield make.v3(f"v3 {dtype} fill_value {text} breaks the rules", data_type=dtype, fill_value="HERE",
                      refused=(ENCZARR, "fill_value"), text=lambda all, text=text: all.replace('"HERE"', text))
    yield make.v3("v3 fill_value is missing", fill_value=..., refused=(ENCZARR, "fill_value"))


def v2(make):
    for name, filters in [("[]", []), ("absent", ...)]:
        yield make.v2(f"v2 filters {name}", filters=filters)
    yield make.v2("v2 compressor absent", compressor=...)
    yield make.v2("v2 separator / that is named", separator="/", dimension_separator="/")
    yield make.v2("v2 separator / that is not named", separator="/", refused=(ENCZARR, "dimension_separator"))
    yield make.v2("v2 separator / that is not named, first chunk missing", separator="/",
                  skipped=[(0, 0), (0, 1)], refused=(ENCZARR, "dimension_separator"))
    yield make.v2("v2 separator is null", dimension_separator=None)
    yield make.v2("v2 no separator, one dimension", DATA.reshape(-1), (7,))
    yield make.v2("v2 no separator and no chunks", skipped=[(i, j) for i in (0, 1) for j in (0, 1)])
    three = values((5, 7, 3), "<f8")
    yield make.v2("v2 order F, three dimensions", three, (2, 3, 2), order="F")
    yield make.v2("v2 order F, big-endian, chunk larger than the array", three.astype(">f8"), (8, 9, 4), order="F")
    yield make.v2("v2 no dimensions", np.array(2.5), ())
    yield make.v2("v2 no dimensions, order F", np.array(2.5), (), order="F")
    yield make.v2("v2 chunks larger than the array", chunks=(100, 4))
    for shape in [(0, 6), (4, 0), (0, 0)]:
        yield make.v2(f"v2 no elements {shape}", np.zeros(shape, "<i4"), tuple(max(1, n) for n in shape))
    yield make.v2("v2 unknown keys", zarr_extra={"a": [1]}, node_type="array", _x=None)
    yield make.v2("v2 duplicate keys, the last counts", text=lambda text: '{"shape": [9], ' + text[1:])
    yield make.v2("v2 byte order mark", text=lambda text: "\ufeff" + text)
    yield make.v2("v2 NaN in the attributes", attributes='{"missing_value": NaN, "range": [-Infinity, Infinity]}')
    fields = values((4, 6), [("a", "<i2"), ("b", "<f8")])
    yield make.v2("v2 structure", fields, fill_value=None)
    yield make.v2("v2 structure of a structure and a field of several", fields.view("V10"), fill_value=None,
                  dtype=[["a", [["b", "<i2"]]], ["c", "<i2", [2, 2]]])
    yield make.v2("v2 structure, big-endian", fields.astype([("a", ">i2"), ("b", "<f8")]),
                  refused=(EBADTYPE, "big-endian"))
    yield make.v2("v2 texts of any length whose chunks hold something else", dtype="|O", filters=[{"id": "vlen-utf8"}],
                  fill_value="", refused=(EIO, "vlen-utf8"))
    yield make.v2("v2 objects", dtype="|O", filters=[{"id": "pickle"}], fill_value=None, refused=(EBADTYPE, "|O"))
    for dtype in ("<f16", "|J0", "<i3", "i4", ">M8[parsec]"):
        yield make.v2(f"v2 dtype {dtype}", dtype=dtype, refused=(EBADTYPE, dtype))
    yield make.v2("v2 dimension_separator -", dimension_separator="-", refused=(ENCZARR, "dimension_separator"))
    yield make.v2("v2 chunks [0, 3]", text=lambda text: text.replace("[2, 3]", "[0, 3]"), refused=(ENCZARR, "chunks"))
    yield make.v2("v2 chunks true", text=lambda text: text.replace("[2, 3]", "true"), refused=(ENCZARR, "chunks"))
    yield make.v2("v2 metadata that end early", text=lambda text: text[:-1], refused=(ENCZARR, ".zarray: line 1"))
    yield make.v2("v2 metadata 100 000 deep", text=lambda _: "[" * 100_000, refused=(ENCZARR, ".zarray"))
    yield make.v2("v2 metadata of no bytes", text=lambda _: "", refused=(ENCZARR, ".zarray"))
    yield make.v2("v2 shape of 2^64", text=lambda text: text.replace("[4, 6]", "[18446744073709551616, 6]"),
                  refused=(ENCZARR, "shape"))
    yield dataclasses.replace(make.v2("v2 attributes that are malformed", attributes="{"),
                              refused_attributes=(ENCZARR, ".zattrs: line 1"))


def nczarr(make):
    dims = {"dimrefs": ["/y", "/x"], "storage": "chunked"}
    yield make.v2("NCZarr of old, keys in .zarray", _NCZARR_ARRAY=dims)
    yield make.v2("NCZarr of old, small letters in .zarray",
                  _nczarr_array={"dimension_references": ["/y", "/x"], "storage": "chunked"})
    for name, attributes in [("by its key", {"_nczarr_array": {"dimension_references": [], "scalar": 1}}),
                             ("by its dimension", {"_ARRAY_DIMENSIONS": ["_scalar_"]})]:
        yield make.v2(f"NCZarr scalar {name}", np.array([2.5]), (1,), attributes=attributes, expected=np.array(2.5))


def v3(make):
    yield make.v3("v3 names alone", DATA.astype("u1"), data_type="uint8", codecs=["bytes"],
                  chunk_key_encoding="default")
    yield make.v3("v3 names in objects", data_type={"name": "int32"}, codecs=[LITTLE, {"name": "crc32c"}],
                  encode=crc32c)
    keys = [("default", None, lambda i: "/".join(["c", *map(str, i)])), ("v2", None, lambda i: ".".join(map(str, i))),
            ("default", ".", lambda i: ".".join(["c", *map(str, i)])), ("v2", "/", lambda i: "/".join(map(str, i)))]
    for name, separator, key in keys:
        encoding = {"name": name, **({"configuration": {"separator": separator}} if separator else {})}
        yield make.v3(f"v3 keys {name} separator {separator}", key=key, chunk_key_encoding=encoding)
        if not separator:
            yield make.v3(f"v3 keys {name} without any", key=key,
                          chunk_key_encoding={"name": name, "configuration": {}})
    yield make.v3("v3 keys of another kind", chunk_key_encoding={"name": "fanout"}, refused=(ENOTBUILT, "fanout"))
    yield make.v3("v3 key that must be understood", extra={"name": "x"}, refused=(ENOTBUILT, "extra"))
    yield make.v3("v3 key that need not be understood", extra={"name": "x", "must_understand": False})
    yield make.v3("v3 no storage transformers", storage_transformers=[])
    yield make.v3("v3 storage transformer", storage_transformers=[{"name": "x"}], refused=(ENOTBUILT, "transformers"))
    yield make.v3("v3 bytes without endian, one byte", DATA.astype("i1"), codecs=[{"name": "bytes"}])
    yield make.v3("v3 bytes without endian, four bytes", codecs=[{"name": "bytes"}], refused=(ENCZARR, "byte order"))
    yield make.v3("v3 codec endian of old", codecs=[{"name": "endian", "configuration": {"endian": "little"}}])
    yield make.v3("v3 big-endian", DATA.astype(">i4"), data_type="int32",
                  codecs=[{"name": "bytes", "configuration": {"endian": "big"}}])
    for order in ("C", "F"):
        yield transposed(make, f"v3 transpose {order} of old", order, (0, 1, 2) if order == "C" else (2, 1, 0))
    for order in [(1, 2, 0), (2, 0, 1), (0, 2, 1)]:
        yield transposed(make, f"v3 transpose {order}", list(order), order)
    yield make.v3("v3 transpose of one dimension twice", refused=(ENCZARR, "order"),
                  codecs=[{"name": "transpose", "configuration": {"order": [0, 0]}}, LITTLE])
    yield make.v3("v3 codecs []", codecs=[], refused=(ENCZARR, "codecs"))
    yield make.v3("v3 no codec that makes bytes", codecs=["gzip"], refused=(ENCZARR, "codecs"))
    yield make.v3("v3 codec that is unknown", codecs=[LITTLE, {"name": "zfpy"}], refused=(ENOFILTER, "zfpy"))
    for name in ("numcodecs.pcodec", "numcodecs.astype", "lz4", "zfp", "conditional"):
        yield make.v3(f"v3 codec {name}", codecs=[LITTLE, {"name": name, "configuration": {}}],
                      refused=(ENOFILTER, name))
    for name in ("string", "variable_length_utf8"):
        yield make.v3(f"v3 data_type {name}, and chunks that hold something else", data_type=name, fill_value="",
                      codecs=["vlen-utf8"], refused=(EIO, "vlen-utf8"))
    for name, configuration in [("numcodecs.delta", {}), ("bitround", {"keepbits": 3}), ("packbits", {}),
                                ("cast_value", {"data_type": "int16"})]:
        yield make.v3(f"v3 codec {name} behind the bytes", refused=(ENCZARR, f"codecs[1]: {name}"),
                      codecs=[LITTLE, {"name": name, "configuration": configuration}])
    for name in ("binary", "float128", "int3"):
        yield make.v3(f"v3 data_type {name}", data_type=name, fill_value="", codecs=["vlen-utf8"],
                      refused=(EBADTYPE, name))
    nested = {"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 3], "codecs": [LITTLE],
                                                            "index_codecs": [LITTLE]}}
    outer = {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": [nested],
                                                           "index_codecs": [LITTLE]}}
    yield make.v3("v3 shards within shards, of texts", codecs=[outer], data_type="string", fill_value="",
                  refused=(ENOTBUILT, "shards within shards"))
    yield make.v3("v3 two codecs bytes", codecs=[LITTLE, LITTLE], refused=(ENCZARR, "a second array-to-bytes codec"))
    yield make.v3("v3 delta of big-endian words", refused=(ENOTBUILT, "dtype"), codecs=[
        {"name": "numcodecs.delta", "configuration": {"dtype": ">i4"}}, LITTLE])
    raw = np.arange(24 * 3, dtype="u1").view("V3").reshape(4, 6)
    yield make.v3("v3 r24", raw, data_type="r24", codecs=["bytes"], fill_value=[0, 0, 0])
    draft = {"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0", "metadata_encoding": "x", "extensions": []}
    yield make.v3("v3 draft of 2021", text=lambda _: json.dumps(draft), refused=(ENOTBUILT, "2021"))
    yield make.v3("v3 NaN in the attributes", text=lambda text: text.replace('"zarr_format"',
                  '"attributes": {"x": NaN, "y": [-Infinity]}, "zarr_format"'))
    yield make.v3("v3 attributes null", attributes=None)
    yield make.v3("v3 no dimensions", np.array(2.5), ())
    yield make.v3("v3 dimension_names too few", dimension_names=["a"], refused=(ENCZARR, "dimension_names"))
    yield make.v3("v3 no elements", np.zeros((0, 6), "i4"), (1, 3))
    yield make.v3("v3 chunk lengths 0", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 3]}},
                  refused=(ENCZARR, "chunk_shape"))
    fields = values((4, 6), [("a", "<i2"), ("b", "<f8")])
    kind = {"name": "structured", "configuration": {"fields": [["a", "int16"], ["b", "float64"]]}}
    yield make.v3("v3 structure", fields, data_type=kind, fill_value="AAAAAAAAAAAAAA==")
    yield make.v3("v3 structure, big-endian", fields, data_type=kind, fill_value="AAAAAAAAAAAAAA==",
                  codecs=[{"name": "bytes", "configuration": {"endian": "big"}}], refused=(EBADTYPE, "big-endian"))


def transposed(make, name, written, order):
    data = values((5, 7, 3), "<f8")
    return make.v3(name, data, (2, 3, 2), codecs=[{"name": "transpose", "configuration": {"order": written}}, LITTLE],
                   encode=lambda chunk: np.frombuffer(chunk, "<f8").reshape(2, 3, 2).transpose(order).tobytes())


def crc32c(chunk):
    import google_crc32c
    return chunk + google_crc32c.value(chunk).to_bytes(4, "little")


def nczarr_v1(make):
    """The first version of NCZarr, which netCDF-C 4.8.0 writes, has documents of its own beside those of Zarr."""
    def case(name, documents, dimensions, typed=None, **settings):
        made = make.v2(f"NCZarr version 1, {name}", **settings)
        write(made.path / ".nczgroup", json.dumps({"dims": {"y": "4", "x": "6"}, "vars": ["x"], "groups": []}))
        for document, content in documents.items():
            write(made.path / "x" / document, json.dumps(content))
        made.dimensions, made.typed = dimensions, typed
        return made

    array = {"dimrefs": ["/y", "/x"], "storage": "chunked"}
    yield case("an array", {".nczarray": array}, ["y", "x"])
    yield case("types of attributes", {".nczarray": array, ".nczattr": {"types": {"level": "<i2"}}}, ["y", "x"],
               {"level": (3, np.int16(3))}, attributes={"level": 3})
    types = {"types": {"level": "<i2"}}
    yield case("types of attributes under the other name", {".nczarray": array, ".nczattrs": types},
               ["y", "x"], {"level": (3, np.int16(3))}, attributes={"level": 3})
    yield case("a scalar", {".nczarray": {"dimrefs": [], "storage": "scalar"}}, [], data=np.array([7], "<i4"),
               chunks=(1,), expected=np.array(7, "<i4"))


def cases(root):
    make = Maker(root)
    for part in (fill_values, v2, nczarr, nczarr_v1, v3):
        yield from part(make)
