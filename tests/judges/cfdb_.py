"""Files as cfdb writes them, with everything at random, and those that are refused. cfdb reads what is to be read."""

import itertools
import pathlib
import random
import warnings

import booklet
import cfdb
import lz4.frame
import numpy as np
import zstandard

from cases import EIO, ENOTBUILT, ENOTFOUND, ENOTVAR, Case

FILES = 36
EBUSY = 16
COMPRESSIONS = ["zstd", "lz4", "zstd_shuffle", "lz4_shuffle"]


def some_dtype(rng):
    """A type of a data variable, packed or not."""
    kind = rng.choice(["plain", "plain", "float", "integer", "time"])
    if kind == "float":
        return cfdb.dtypes.dtype(rng.choice(["float32", "float64"]), precision=rng.choice([0, 1, 2]), min_value=-50,
                                 max_value=rng.choice([20, 100, 100_000]))
    if kind == "integer":
        return cfdb.dtypes.dtype(rng.choice(["int32", "int64"]), min_value=-50, max_value=rng.choice([90, 1000]))
    if kind == "time":
        return cfdb.dtypes.dtype(rng.choice(["datetime64[D]", "datetime64[m]"]), min_value="1999-01-01",
                                 max_value="2010-01-01")
    return cfdb.dtypes.dtype(rng.choice(["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                         "uint64", "float16", "float32", "float64", "datetime64[ns]",
                                         "datetime64[s]"]))


def some_values(rng, shape, dtype):
    """Values that a type has."""
    numbers = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 90, shape)
    decoded = np.dtype(dtype.dtype_decoded)
    if decoded.kind == "M":
        return np.datetime64("2000-01-01", np.datetime_data(decoded)[0]) + numbers
    if decoded.kind == "f":
        values = (numbers / 4 - 5).astype(decoded)
        values[numbers == 7] = np.nan
        return values
    return (numbers % 2 == 0) if decoded.kind == "b" else numbers.astype(decoded)


class Axis:
    """A coordinate: numbers from low up to high, each as a value of its type."""

    def __init__(self, rng, name):
        self.name, self.low, self.high = name, 0, rng.randint(1, 12)
        self.dtype = rng.choice(["int16", "int32", "uint32", "float32", "float64", "datetime64[D]", "datetime64[h]"])

    def values(self, low, high):
        numbers = np.arange(low, high)
        if self.dtype.startswith("datetime"):
            return np.datetime64("2001-01-01", self.dtype[11:-1]) + numbers
        return numbers.astype(self.dtype) / 4 if self.dtype.startswith("float") else (numbers + 500).astype(self.dtype)

    def change(self, rng, coordinate):
        """Adds values before or behind the others, or takes some away."""
        how, length = rng.choice(["prepend", "prepend", "append", "truncate"]), rng.randint(1, 9)
        if how == "prepend":
            coordinate.prepend(self.values(self.low - length, self.low))
            self.low -= length
        elif how == "append":
            coordinate.append(self.values(self.high, self.high + length))
            self.high += length
        elif self.high - self.low > 4:
            low, high = self.low + rng.randint(0, 2), self.high - rng.randint(0, 1)
            coordinate.truncate(self.values(low, low + 1)[0], self.values(high - 1, high)[0])
            self.low, self.high = low, high


def write_some(rng, variable):
    """Writes to parts of a variable; some chunks stay absent."""
    for _ in range(rng.randint(0, 3)):
        part = []
        for length in variable.shape:
            begin = rng.randrange(length)
            part.append(slice(begin, rng.randint(begin + 1, length)))
        shape = tuple(one.stop - one.start for one in part)
        variable[tuple(part)] = some_values(rng, shape, variable.dtype)


def make(rng, path):
    compression, buckets = rng.choice(COMPRESSIONS), rng.choice([7, 50, 12007, 144013])
    axes = [Axis(rng, f"axis_{i}") for i in range(rng.randint(1, 3))]
    with cfdb.open_dataset(path, "n", compression=compression, n_buckets=buckets) as file:
        for axis in axes:
            file.create.coord.generic(axis.name, axis.values(axis.low, axis.high), dtype=axis.dtype,
                                      chunk_shape=(rng.randint(1, 6),))
        for i in range(4):
            of = rng.sample(axes, rng.randint(1, len(axes)))
            chunks = tuple(rng.randint(1, 6) for _ in of)
            variable = file.create.data_var.generic(f"v{i}", tuple(axis.name for axis in of), some_dtype(rng), chunks)
            variable.attrs["number"] = i
    for _ in range(rng.randint(1, 3)):
        with cfdb.open_dataset(path, "w") as file:
            for name in file.data_var_names:
                write_some(rng, file[name])
            for axis in rng.sample(axes, rng.randint(0, len(axes))):
                axis.change(rng, file[axis.name])
            for name in file.data_var_names:
                write_some(rng, file[name])
            if rng.random() < 0.2:
                file.prune()


def stored(variable):
    """All elements as they are stored."""
    dtype = variable.dtype.dtype_decoded if variable.dtype.dtype_encoded is None else variable.dtype.dtype_encoded
    out = np.zeros(variable.shape, dtype)
    for index, chunk in variable.iter_chunks(decoded=False):
        out[index] = chunk
    return out


def told(dtype):
    """The attributes that say what stored elements stand for."""
    if dtype.dtype_encoded is None:
        return {}
    attributes = {"add_offset": dtype.offset, "dtype_decoded": dtype.name}
    if dtype.kind == "f":
        attributes["scale_factor"] = 1 / 10**dtype.precision
    if dtype.kind == "M":
        attributes["units"] = {"D": "days", "m": "minutes"}[np.datetime_data(dtype.dtype_decoded)[0]] + \
            " since 1970-01-01"
    if dtype.fillvalue is not None:
        attributes["_FillValue"] = dtype.fillvalue
    return attributes


def at_random(root):
    rng = random.Random(5)
    for i in range(FILES):
        path = root / f"{i}.cfdb"
        make(rng, path)
        with cfdb.open_dataset(path) as file:
            for name in file.var_names:
                variable = file[name]
                values = stored(variable)
                decoded = variable.data
                if variable.dtype.dtype_encoded is not None:
                    same = variable.dtype.decode(values)
                    assert same.tobytes() == decoded.tobytes(), f"cfdb reads {name} in two ways"
                attributes = told(variable.dtype) | ({"number": int(name[1:])} if name[0] == "v" else {})
                yield Case(f"{path.name}, {name}", path, values, name, dimensions=list(variable.coord_names),
                           attributes=attributes)


def frames():
    """Encoders of frames with everything that cfdb does not ask for, and other programs may."""
    yes = (False, True)
    for size, linked, content, block, told in itertools.product((4, 5, 7), yes, yes, yes, yes):
        yield "lz4", f"{size} {linked} {content} {block} {told}", lambda bytes_, options=dict(
            block_size=size, block_linked=linked, content_checksum=content, block_checksum=block,
            store_size=told): lz4.frame.compress(bytes_, **options)
    for told, checksum in itertools.product(yes, yes):
        codec = zstandard.ZstdCompressor(write_content_size=told, write_checksum=checksum)
        yield "zstd", f"{told} {checksum}", codec.compress


def of_other_frames(root):
    """A chunk of 250 000 bytes, in many blocks, of which some do not compress."""
    values = np.arange(125_000, dtype="int16") // 100
    values[40_000:90_000] = np.random.default_rng(3).integers(-30_000, 30_000, 50_000)
    for compression, encoders in itertools.groupby(frames(), lambda frame: frame[0]):
        path = root / f"frames-{compression}.cfdb"
        encoders = list(encoders)
        with cfdb.open_dataset(path, "n", compression=compression, n_buckets=61) as file:
            file.create.coord.generic("x", np.arange(len(values), dtype="int32"), chunk_shape=(len(values),))
            for i, _ in enumerate(encoders):
                file.create.data_var.generic(f"v{i}", ("x",), "int16", chunk_shape=(len(values),))
        with booklet.open(path, "w") as file:
            for i, (_, _, encode) in enumerate(encoders):
                file[f"v{i}!0"] = encode(values.tobytes())
        for i, (_, name, _) in enumerate(encoders):
            yield Case(f"{path.name}, {name}", path, values, f"v{i}")


def refused(root):
    path = root / "refused.cfdb"
    with cfdb.open_dataset(path, "n", n_buckets=61) as file:
        file.create.coord.generic("x", np.arange(4, dtype="int16"), chunk_shape=(2,))
        file.create.data_var.generic("text", ("x",), "str", chunk_shape=(2,))
        file.create.data_var.generic("place", ("x",), cfdb.dtypes.dtype("point", precision=2), chunk_shape=(2,))
        file["text"][0:4] = np.array(["a", "b", "c", "d"])
    yield Case("texts", path, array="text", refused=(ENOTBUILT, "str"))
    yield Case("geometries", path, array="place", refused=(ENOTBUILT, "geometries"))
    yield Case("no such variable", path, array="y", refused=(ENOTFOUND, "y"))
    yield Case("the file itself", path, refused=(ENOTVAR, "not an array"))
    with cfdb.open_dataset(path, "w"):
        yield Case("a file that cfdb has open to write", path, array="x", refused=(EBUSY, "open to write"))
    with cfdb.open_dataset(path):
        yield Case("a file that cfdb has open to read", path, np.arange(4, dtype="int16"), "x")

    bytes_ = path.read_bytes()
    for name, old, new, words in [
        ("remote", b'"remote":false', b'"remote":true ', "only a part"),
        ("later", b'"format_version":1', b'"format_version":2', "newer version"),
        ("unknown", b'"zstd_shuffle"', b'"zstd_xhuffle"', "compression"),
    ]:
        assert old in bytes_
        other = root / f"{name}.cfdb"
        other.write_bytes(bytes_.replace(old, new))
        yield Case(name, other, array="x", refused=(ENOTBUILT, words))
    not_closed = root / "not-closed.cfdb"
    not_closed.write_bytes(bytes_[:33] + b"\xff" * 4 + bytes_[37:])
    yield Case("a file that was not closed", not_closed, array="x", refused=(ENOTBUILT, "did not close"))
    index_only = root / "index-only.cfdb"
    index_only.write_bytes(bytes_[:300])
    yield Case("a file that ends within its index", index_only, array="x", refused=(EIO, "index"))

    other = root / "other.blt"
    with booklet.open(other, "n", key_serializer="str", value_serializer="bytes") as file:
        file["key"] = b"value"
    yield Case("a booklet file of others", other, array="x", refused=(ENOTBUILT, "did not write"))
    fixed = root / "fixed.blt"
    with booklet.FixedLengthValue(fixed, "n", key_serializer="str", value_len=4) as file:
        file["key"] = b"four"
    yield Case("values of one length", fixed, array="x", refused=(ENOTBUILT, "fixed length"))


def cases(root):
    root = pathlib.Path(root)
    root.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from at_random(root)
        yield from of_other_frames(root)
        yield from refused(root)
