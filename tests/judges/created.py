"""Arrays that nczchunk creates, writes, and gives other shapes, read by others: zarr-python, TensorStore, netCDF-C.

Each reader is asked for what it is known to read. Every value is compared bit for bit with what was written, by random
hyperslabs.
"""

import json
import random
import zipfile

import netCDF4
import numpy as np
import tensorstore
import zarr

from binding import BIG, LITTLE, NCZARR, READ, WRITE, ZARR_V2, ZARR_V3, Failed, NewZip
from zarr_python import values

SHAPE, CHUNKS, SHARDS = (7, 30, 41), (3, 5, 16), (6, 20, 32)
DIMS = ["time", "lat", "lon"]
ATTRIBUTES = {"units": "K", "scale": 0.5, "flags": [1, 2], "names": ["a", "b\u00e4"]}

CODECS = {
    "raw": [],
    "zstd": [("zstd", {"level": 3})],
    "zstd with a checksum": [("zstd", {"level": 1, "checksum": True})],
    "blosc lz4": [("blosc", {"cname": "lz4", "shuffle": 1})],
    "blosc zstd bits": [("blosc", {"cname": "zstd", "clevel": 3, "shuffle": 2})],
    "blosc zlib": [("blosc", {"cname": "zlib", "clevel": 1, "shuffle": 0})],
    "gzip": [("gzip", {"level": 5})],
    "zlib": [("zlib", {"level": 4})],
    "lz4": [("lz4", {})],
    "shuffle zlib": [("shuffle", {}), ("zlib", {"level": 4})],
    "fletcher32": [("fletcher32", {})],
    "shuffle zstd": [("shuffle", {}), ("zstd", {})],
    "zstd crc32c": [("zstd", {}), ("crc32c", {})],
    "bz2": [("bz2", {"level": 2})],
    "zlib crc32": [("zlib", {}), ("crc32", {})],
    "zlib adler32 at the end": [("zlib", {}), ("adler32", {"location": "end"})],
}

# Codecs of elements, and the types of these. They lose nothing of the values that are written.
ELEMENT_CODECS = {
    "delta": ([("delta", {}), ("zlib", {})], ["i1", "u2", "i4", "u8"]),
    "delta in fewer bytes": ([("delta", {"astype": "<i2"}), ("zlib", {})], ["i4", "i8"]),
    "fixedscaleoffset": ([("fixedscaleoffset", {"offset": 3, "scale": 2, "astype": "<i4"})], ["i4", "i8", "i2"]),
    "quantize": ([("quantize", {"digits": 1}), ("bz2", {})], ["f4", "f8"]),
    "bitround": ([("numcodecs.bitround", {"keepbits": 18})], ["f4", "f8"]),
    "packbits": ([("numcodecs.packbits", {})], ["b1"]),
    "packbits crc32": ([("numcodecs.packbits", {}), ("crc32", {})], ["b1"]),
}
CODECS |= {name: codecs for name, (codecs, _) in ELEMENT_CODECS.items()}

# numpy's spelling, and nczchunk's name.
TYPES = {
    "b1": "bool", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32",
    "i8": "int64", "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64",
    "c16": "complex128", "S5": "S5", "U4": "U4", "M8[s]": "datetime64[s]", "M8[ns]": "datetime64[ns]",
    "m8[ms]": "timedelta64[ms]", "V8": "V8", "O": "string",
}
NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")

# NCZCHUNK_ENOTBUILT
NOT_BUILT = -128

NAMES = {ZARR_V2: "v2", ZARR_V3: "v3", NCZARR: "nczarr"}


def by_zarr_python(path, name, _):
    return zarr.open_group(path, mode="r")[name][...] if name else zarr.open_array(path, mode="r")[...]


def by_tensorstore(path, name, format):
    driver = "zarr3" if format == ZARR_V3 else "zarr"
    where = {"driver": driver, "kvstore": {"driver": "file", "path": str(path / name) + "/"}}
    return tensorstore.open(where, open=True, read=True).result().read().result()


def by_netcdf(path, name, _, mode="zarr"):
    with netCDF4.Dataset(f"file://{path}#mode={mode},file") as dataset:
        dataset.set_auto_maskandscale(False)
        return dataset[name][...]


def by_nczarr(path, name, format):
    return by_netcdf(path, name, format, "nczarr")


def by_nczchunk(library):
    def read(path, name, _):
        with library.open(path, name, READ) as array:
            out = array.read(object if array.type_name == "string" else f"V{array.element_size}")
        return out
    return read


def readers(format, codecs, dtype, shards):
    """Who reads such an array."""
    # zarr-python 3.1.6 fails on shards of structures and raw bytes, those that it has written itself, too: it hashes
    # the fill value.
    them = [] if shards and dtype == "V8" else [by_zarr_python]
    ids = [name for name, _ in codecs]
    settings = dict(codecs)
    has_type = dtype in NUMBERS or dtype in ("b1", "f2", "c8", "c16")
    plain = all(name in ("zstd", "blosc", "gzip", "zlib") for name in ids)
    if format == ZARR_V3:
        if has_type and all(name in ("zstd", "blosc", "gzip", "crc32c") for name in ids):
            them.append(by_tensorstore)
    elif has_type and plain and "checksum" not in settings.get("zstd", {}):
        them.append(by_tensorstore)
    if format == NCZARR and not shards:
        them += [by_netcdf, by_nczarr]
    return them


def same(got, expected):
    got = np.asarray(got)
    if expected.dtype == object:
        return got.shape == expected.shape and got.astype(object).tolist() == expected.tolist()
    if got.dtype.kind == expected.dtype.kind:
        got = got.astype(expected.dtype)
    return got.shape == expected.shape and np.ascontiguousarray(got).tobytes() == expected.tobytes()


def write_at_random(library, array, expected, rng, times=12):
    """Writes random hyperslabs to the array, and to what is expected of it."""
    for _ in range(times):
        start, count, stride = [], [], []
        for length in expected.shape:
            first = rng.randrange(length)
            step = rng.choice([1, 1, 1, 2, 3])
            start.append(first)
            stride.append(step)
            count.append(rng.randint(1, (length - 1 - first) // step + 1))
        data = values(tuple(count), expected.dtype)
        library.set_threads(rng.choice([1, 2]))
        array.write(data, start, stride)
        expected[tuple(slice(s, s + (c - 1) * t + 1, t) for s, c, t in zip(start, count, stride))] = data


class Case:
    """An array: how it is created, and who reads it."""

    def __init__(self, format, dtype="f4", codecs=None, shards=False, separator=None, endian=None, shape=SHAPE):
        self.format, self.dtype, self.shape, self.shards = format, np.dtype(dtype), shape, shards
        self.codec = codecs or "zstd"
        self.separator, self.endian = separator, endian
        self.readers = readers(format, CODECS[self.codec], dtype, shards)

    def __str__(self):
        said = [NAMES[self.format], self.dtype.str, self.codec, "sharded" if self.shards else "", self.separator or "",
                "big-endian" if self.endian == BIG else "", "x".join(map(str, self.shape))]
        return " ".join(word for word in said if word)

    def fill_value(self):
        if self.dtype.kind in "fc":
            return np.array(np.nan, self.dtype)
        if self.dtype.kind in "iu":
            return np.array(77, self.dtype)
        if self.dtype == object:
            return "n/a"
        return None

    def create(self, library, path, name):
        rank = len(self.shape)
        return library.create(
            path, name, TYPES[self.dtype.str[1:]], self.shape, chunks=CHUNKS[:rank],
            shards=SHARDS[:rank] if self.shards else None, dims=DIMS[:rank], fill_value=self.fill_value(),
            codecs=CODECS[self.codec], attributes=ATTRIBUTES, format=self.format, separator=self.separator,
            endian=self.endian)

    def check(self, library, path, rng):
        """What is wrong with it; None if nothing is."""
        name = "group/data"
        fill = self.fill_value()
        expected = np.zeros(self.shape, self.dtype) if fill is None else np.full(self.shape, fill, self.dtype)
        with self.create(library, path, name) as array:
            write_at_random(library, array, expected, rng)
            if self.shape:
                cut = tuple(rng.randint(1, length) for length in self.shape)
                array.resize(cut)
                array.resize(self.shape)
                kept = tuple(slice(0, length) for length in cut)
                whole, expected = expected, np.zeros_like(expected)
                expected[...] = 0 if fill is None and self.dtype.kind not in "SUMmV" else (
                    np.zeros((), self.dtype) if fill is None else fill)
                expected[kept] = whole[kept]
                write_at_random(library, array, expected, rng, 3)
        for read in [*self.readers, by_nczchunk(library)]:
            who = read.__name__.replace("_", " ")
            try:
                got = read(path, name, self.format)
            except Exception as error: # whatever the reader raises
                return f"{who}: {type(error).__name__}: {str(error)[:200]}"
            if read.__name__ == "read" and self.dtype != object:
                got = np.ascontiguousarray(got).view(self.dtype).reshape(self.shape) if got.size else got
            if by_netcdf in self.readers and not self.shape:
                got = np.asarray(got).reshape(())
            if not same(got, expected):
                return f"{who}: the values differ"
        return self.check_attributes(path, name)

    def check_attributes(self, path, name):
        array = zarr.open_group(path, mode="r")[name]
        attributes = dict(array.attrs)
        if any(attributes.get(key) != value for key, value in ATTRIBUTES.items()):
            return f"the attributes are {attributes}"
        dims = list(array.metadata.dimension_names or ()) if self.format == ZARR_V3 else attributes["_ARRAY_DIMENSIONS"]
        if self.shape and dims != DIMS[:len(self.shape)]:
            return f"the dimensions are {dims}"
        if self.format == NCZARR:
            with netCDF4.Dataset(f"file://{path}#mode=zarr,file") as dataset:
                variable = dataset[name]
                if self.shape and variable.dimensions != tuple(dims):
                    return f"netCDF's dimensions are {variable.dimensions}"
                told = {key: variable.getncattr(key) for key in ATTRIBUTES}
                if told["units"] != "K" or told["scale"] != 0.5 or list(told["flags"]) != [1, 2]:
                    return f"netCDF's attributes are {told}"
        return None


def all_cases():
    for codec, (_, dtypes) in ELEMENT_CODECS.items():
        for dtype in dtypes:
            for endian in (LITTLE, BIG):
                yield Case(ZARR_V2, dtype, codec, endian=endian)
            yield Case(ZARR_V3, dtype, codec)
            yield Case(ZARR_V3, dtype, codec, shards=True)
    for codec in [name for name in CODECS if name not in ELEMENT_CODECS]:
        yield Case(ZARR_V2, codecs=codec)
        yield Case(ZARR_V3, codecs=codec)
        yield Case(ZARR_V3, codecs=codec, shards=True)
        if codec not in ("gzip", "lz4", "zstd crc32c", "zstd with a checksum", "zlib crc32", "zlib adler32 at the end"):
            yield Case(NCZARR, codecs=codec)
    for dtype in TYPES:
        yield Case(ZARR_V2, dtype, "blosc lz4")
        yield Case(ZARR_V3, dtype)
        if dtype != "O":
            yield Case(ZARR_V3, dtype, "blosc lz4", shards=True)
        if dtype in NUMBERS:
            yield Case(NCZARR, dtype, "shuffle zlib")
            yield Case(NCZARR, dtype, "blosc lz4")
    for format in (ZARR_V2, ZARR_V3, NCZARR):
        for separator in "./":
            # netCDF-C reads absent chunks of big-endian words wrong: it does not swap the fill value.
            for endian in [LITTLE] if format == NCZARR else [LITTLE, BIG]:
                yield Case(format, "i4", separator=separator, endian=endian)
                yield Case(format, "f8", "raw", separator=separator, endian=endian)
                if format == ZARR_V3:
                    yield Case(format, "f8", separator=separator, endian=endian, shards=True)
        yield Case(format, "f8", shape=(41,))
        yield Case(format, "f8", shape=())


def types_of_attributes(library, root):
    """Attributes keep netCDF's types where netCDF's keys are, and are removed."""
    path = root / "attributes"
    with library.create(path, "v", "float32", (4,), dims=["x"], format=NCZARR) as array:
        for dtype in NUMBERS:
            array.set_attribute(f"a_{dtype}", np.array([1, 2], dtype))
        array.set_attribute("one", np.float32(0.1))
        array.set_attribute("texts", ["a", "bc"])
        array.set_attribute("gone", "x")
        array.remove_attribute("gone")
    with netCDF4.Dataset(f"file://{path}#mode=zarr,file") as dataset:
        variable = dataset["v"]
        for dtype in NUMBERS:
            found = variable.getncattr(f"a_{dtype}")
            if found.dtype != np.dtype(dtype) or list(found) != [1, 2]:
                return f"{dtype}: {found!r}"
        if variable.one != np.float32(0.1) or list(variable.texts) != ["a", "bc"] or "gone" in variable.ncattrs():
            return f"{variable.ncattrs()}"
    return None


def texts_for_netcdf(library, root):
    """Characters and texts, which netCDF-C takes for its strings."""
    path = root / "texts"
    for type_name, expected in [("char", [b"a", b"b", b"", b"\x7f"]), ("S5", [b"ab", b"", b"hello", b"x"])]:
        data = np.array(expected, "S1" if type_name == "char" else type_name)
        with library.create(path, type_name, type_name, (4,), dims=["x"], format=NCZARR) as array:
            array.write(data, [0])
        for mode in ("zarr", "nczarr"):
            with netCDF4.Dataset(f"file://{path}#mode={mode},file") as dataset:
                found = [text.encode() for text in dataset[type_name][...]]
            if found != expected:
                return f"{type_name}, mode={mode}: {found}"
    return None


def arrays_of_netcdf(library, root):
    """Attributes of an array of netCDF-C's own are changed, and netCDF-C reads them; another shape is refused."""
    path = root / "netcdf"
    with netCDF4.Dataset(f"file://{path}#mode=nczarr,file", "w") as dataset:
        dataset.createDimension("x", 4)
        dataset.createVariable("v", "i2", ("x",)).setncattr("old", np.int16(1))
    with library.open(path, "v", WRITE) as array:
        array.set_attribute("new", np.array([3], "u1"))
        try:
            array.resize((5,))
            return "another shape is not refused"
        except Failed as error:
            if error.status != NOT_BUILT:
                return str(error)
    try:
        library.create(path, "w", "int16", (4,), dims=["x"], format=NCZARR).__exit__()
        return "another array, which netCDF-C would not see, is not refused"
    except Failed as error:
        if error.status != NOT_BUILT:
            return str(error)
    with netCDF4.Dataset(f"file://{path}#mode=nczarr,file") as dataset:
        variable = dataset["v"]
        found = {name: variable.getncattr(name) for name in variable.ncattrs()}
        if found != {"old": 1, "new": 3} or found["old"].dtype != "i2" or found["new"].dtype != "u1":
            return f"{found}"
    return None


def consolidated(library, root, format):
    """What zarr-python has consolidated does not hide what is created and changed."""
    number = 3 if format == ZARR_V3 else 2
    path = root / f"consolidated-{number}"
    group = zarr.open_group(path, mode="w", zarr_format=number)
    group.create_array("old", shape=(4,), dtype="i4")
    group.create_group("g")
    zarr.consolidate_metadata(path)
    library.create(path, "g/new", "int16", (5,), format=format).__exit__()
    found = zarr.open_group(path, mode="r")
    if found["g/new"].shape != (5,):
        return "the new array is hidden"
    zarr.consolidate_metadata(path)
    with library.open(path, "old", WRITE) as array:
        array.resize((9,))
        array.set_attribute("units", "m")
    found = zarr.open_group(path, mode="r")["old"]
    if found.shape != (9,) or dict(found.attrs) != {"units": "m"}:
        return f"the old array is {found.shape} {dict(found.attrs)}"
    return None


def zip_file(library, root):
    """A new zip file, read by Python and zarr-python; one array has chunks that are written twice."""
    for format in (ZARR_V2, ZARR_V3):
        path = root / f"new-{format}.zip"
        new, expected = NewZip(path), {}
        for name in ("x", "group/y"):
            expected[name] = values(SHAPE, "i4")
            with library.create(new, name, "int32", SHAPE, CHUNKS, format=format, attributes=ATTRIBUTES) as array:
                array.write(expected[name], [0] * len(SHAPE))
                expected[name][1:, 3:] = -1
                array.write(expected[name][1:, 3:], [1, 3, 0])
        if path.exists():
            return "it is there before it is finished"
        new.finish()
        with zipfile.ZipFile(path) as packed:
            if packed.testzip() is not None:
                return f"{packed.testzip()} is broken"
        with zarr.storage.ZipStore(path, mode="r") as store:
            group = zarr.open_group(store, mode="r")
            for name, data in expected.items():
                if not same(group[name][...], data) or dict(group[name].attrs)["units"] != "K":
                    return f"{NAMES[format]}: zarr-python: the values of {name} differ"
        for name, data in expected.items():
            with library.open(path, name) as array:
                if not same(array.read("i4"), data):
                    return f"{NAMES[format]}: the values of {name} differ"
    return None


def listed(library, root):
    """What is listed is what zarr-python finds."""
    for path, format in [(root / "consolidated-2", ZARR_V2), (root / "consolidated-3", ZARR_V3)]:
        expected = {"": None}
        for name, node in zarr.open_group(path, mode="r", use_consolidated=False).members(max_depth=None):
            expected[name] = (str(node.dtype), node.shape) if isinstance(node, zarr.Array) else None
        got = library.list(path)
        names = [name for name, _ in got]
        if {name: what and what[:2] for name, what in got} != expected or names != sorted(names):
            return f"{NAMES[format]}: {got}"
    return None


def check_all(library, root):
    """How many arrays there are, and how many are wrong; those are printed."""
    rng, num, failed = random.Random(2), 0, 0

    def note(name, wrong):
        nonlocal num, failed
        num += 1
        if wrong:
            failed += 1
            print(f"created {name}: {wrong}")

    root.mkdir(parents=True)
    for case in all_cases():
        try:
            wrong = case.check(library, root / f"{num}", rng)
        except Failed as error:
            wrong = str(error)
        note(str(case), wrong)
    note("attributes", types_of_attributes(library, root))
    note("texts for netCDF-C", texts_for_netcdf(library, root))
    note("attributes of netCDF-C's arrays", arrays_of_netcdf(library, root))
    note("consolidated v2", consolidated(library, root, ZARR_V2))
    note("consolidated v3", consolidated(library, root, ZARR_V3))
    note("listed", listed(library, root))
    note("zip file", zip_file(library, root))
    return num, failed
