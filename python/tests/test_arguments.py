"""What is given to the package is what reaches the library, or is refused with the argument's name."""

import ctypes
import os
import pathlib
import pickle
import sys

import numpy as np
import pytest

import nczchunk
from nczchunk import _c
from nczchunk.types import dtype_of


@pytest.fixture
def new(tmp_path):
    """Creates an array from a description of which some is given."""
    usual = {"shape": (4,), "dtype": "i4", "overwrite": True}
    return lambda **given: nczchunk.create(tmp_path / "new", **{**usual, **given})


@pytest.mark.parametrize("argument, given, kind, message", [
    ("shape", 3, TypeError, r"shape: expected a sequence of integers, such as \(3,\), found 3"),
    ("shape", "3", TypeError, "shape: expected a sequence"),
    ("shape", (-1,), ValueError, r"shape\[0\]: expected an integer from 0 to \d+, found -1"),
    ("shape", (2**64 + 5,), ValueError, r"shape\[0\]: .* found 18446744073709551621"),
    ("shape", (3.0,), TypeError, r"shape\[0\]: expected an integer, found 3.0"),
    ("chunks", (2**64 + 3,), ValueError, r"chunks\[0\]: "),
    ("chunks", (0,), ValueError, r"chunks\[0\]: expected an integer from 1 "),
    ("chunks", (1, 2), ValueError, "chunks: expected 1 items, as shape has, found 2"),
    ("chunks", 2, TypeError, "chunks: "),
    ("shards", (-4,), ValueError, r"shards\[0\]: "),
    ("dims", "x", TypeError, "dims: expected a list with a name or None for each dimension, found 'x'"),
    ("dims", [3], TypeError, "dims: expected a str, found 3"),
    ("dims", ["a\0b"], ValueError, r"dims: 'a\\x00b' contains a NUL"),
    ("codecs", "zstd", TypeError, r'codecs: expected a list such as \["zstd"\], found \'zstd\''),
    ("codecs", ("zstd", {"level": 3}), TypeError, r"codecs\[1\]: expected a name or a pair"),
    ("codecs", [("zstd", 3)], TypeError, r"codecs\[0\]: expected a name or a pair"),
    ("codecs", [("zstd", {"level": object()})], TypeError, r"codecs\[0\]: .*JSON"),
    ("codecs", [("zstd", {"level": 99})], ValueError,
     r"zstd: \$.level: expected an integer from -131072 to 22, found 99"),
    ("codecs", [("zstd", {"levl": 3})], ValueError, r"zstd: \$.levl: unknown setting; the codec has: level, checksum"),
    ("codecs", [("gzip", {"level": 99})], ValueError, r"gzip: \$.level: expected an integer from 0 to 9, found 99"),
    ("codecs", [("blosc", {"clevel": 42})], ValueError, r"blosc: \$.clevel: expected an integer from 0 to 9, found 42"),
    ("attrs", [1], TypeError, r"attrs: expected a mapping of names to values, found \[1\]"),
    ("attrs", {1: 2}, TypeError, "attrs: expected a str, found 1"),
    ("attrs", {"a": object()}, TypeError, r"attrs\['a'\]: .*JSON"),
    ("attrs", {"a": np.zeros(2, "c8")}, TypeError, r"attrs\['a'\]: .*ndarray cannot be stored as JSON"),
    ("fill_value", 2**40, ValueError, "fill_value: expected a value of the type int32, found 1099511627776"),
    ("fill_value", -999.5, ValueError, "fill_value: expected a value of the type int32, found -999.5"),
    ("fill_value", float("nan"), ValueError, "fill_value: "),
    ("fill_value", [1, 2], ValueError, "fill_value: "),
    ("fill_value", "7", ValueError, "fill_value: "),
    ("dtype", "i3", TypeError, "dtype: expected a numpy type, .* found 'i3'"),
    ("dtype", [("a", "i4")], NotImplementedError,
     r"dtype: structured types are not supported, found \[\('a', '<i4'\)\]"),
    ("codecs", [("zstd", {"level": 99})], ValueError, r"zstd: \$.level: expected an integer from .* found 99"),
    ("codecs", [("zstd", {"levl": 9})], ValueError, r"zstd: \$.levl: unknown setting; the codec has: level, checksum"),
    ("codecs", ["zst"], NotImplementedError, "zst: "),
    ("format", "zarr4", ValueError, "format: expected one of 'zarr3', 'zarr2', 'nczarr', found 'zarr4'"),
    ("format", ["zarr3"], ValueError, "format: "),
    ("separator", "..", ValueError, "separator: expected one of None, '.', '/', found '..'"),
    ("separator", "\u0141", ValueError, "separator: "),
    ("endian", "middle", ValueError, "endian: "),
    ("name", "a\0b", ValueError, "name: .*NUL"),
    ("name", "\udcff", ValueError, "name: .* is not valid Unicode"),
    ("name", b"a", TypeError, "name: expected a str"),
    ("threads", 0, ValueError, "threads: expected an integer from 1 to "),
    ("threads", -1, ValueError, "threads: "),
    ("threads", 2**64 + 1, ValueError, "threads: "),
    ("threads", 1.5, TypeError, "threads: "),
    ("cache", 1 << 20, TypeError, "cache: expected a Cache, None, or ... for the default, found 1048576"),
])
def test_wrong_arguments_are_named(new, tmp_path, argument, given, kind, message):
    with pytest.raises(kind, match=message):
        new(**{argument: given})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype, wrong", [
    ("f4", 1e300), ("f4", 1j), ("S3", b"abcd"), ("U2", "abc"), ("?", 2), ("u1", -1),
    ("f8", np.complex128(1 + 2j)), ("M8[D]", np.datetime64("2020-01-01T12")), ("M8[ns]", np.datetime64("2500-01-01")),
    ("m8[ns]", np.timedelta64(10**10, "s")), (str, 3), (str, "a\0")])
def test_a_fill_value_that_the_type_does_not_have(new, dtype, wrong):
    with pytest.raises((TypeError, ValueError), match="fill_value: "):
        new(dtype=dtype, fill_value=wrong)


@pytest.mark.skipif(np.dtype("g").itemsize == 8, reason="a long double is a double")
def test_types_that_no_format_has(new):
    for dtype in "gG":
        message = f"dtype: elements of type {np.dtype(dtype)} are not supported"
        with pytest.raises(NotImplementedError, match=f"^{message}$"):
            new(dtype=dtype)


def test_a_type_that_numpy_lacks():
    with pytest.raises(NotImplementedError, match="^float7: numpy lacks this type; import ml_dtypes first$"):
        dtype_of("float7")


def test_a_time_that_the_type_has_is_a_fill_value(new):
    for dtype, value in [("M8[ns]", np.datetime64("2200-01-01T00:00:01")), ("M8[s]", np.datetime64("2500-01-01")),
                         ("M8[s]", np.datetime64("2020-01-01", "ns")), ("m8[s]", np.timedelta64(10**10, "s")),
                         ("M8[ns]", np.datetime64("NaT")), ("m8[D]", np.timedelta64("NaT", "s"))]:
        found = new(dtype=dtype, fill_value=value).fill_value
        assert found == value or np.isnat(found) and np.isnat(value)


def test_types_of_ml_dtypes_keep_their_names(new):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    names = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint2"]
    for name in names + ["float4_e2m1fn"] * hasattr(ml_dtypes, "float4_e2m1fn"):
        dtype = np.dtype(getattr(ml_dtypes, name))
        for given in [dtype, dtype.type, dtype.newbyteorder(">")]:
            array = new(dtype=given, fill_value=1)
            assert (array.type_name, array.dtype, array.fill_value) == (name, dtype, 1)
        array[:3] = np.array([1, 0, 1], dtype)
        assert array[...].tolist() == [1, 0, 1, 1]
        for wrong in [float("nan"), 1000] if "int" in name else [1e300, 1000][:1 + name.startswith("float4")]:
            with pytest.raises(ValueError, match=f"fill_value: expected a value of the type {name}"):
                new(dtype=dtype, fill_value=wrong)
    assert new(dtype="V2").type_name == "V2"


def test_other_wrong_arguments(new, tmp_path):
    array = new(chunks=(2,))
    array[...] = 5
    for wrong in [(2**64,), (-1,), 3, (1, 2), ("1",), "1"]:
        with pytest.raises((TypeError, ValueError), match="shape"):
            array.resize(wrong)
    assert array.shape == (4,) and array[...].tolist() == [5, 5, 5, 5]
    with pytest.raises(ValueError, match="threads: "):
        array.threads = 0
    with pytest.raises(ValueError, match="threads: "):
        nczchunk.open(tmp_path / "new", threads=2**64)
    with pytest.raises(TypeError, match="cache: "):
        nczchunk.open(tmp_path / "new", cache=3)
    with pytest.raises(ValueError, match="mode: expected one of 'r', 'r\\+', found 'w'"):
        nczchunk.open(tmp_path / "new", mode="w")
    for wrong in [-1, 2**64, 1.5, "1"]:
        with pytest.raises((TypeError, ValueError), match="limit: "):
            nczchunk.Cache(wrong)
    for wrong in [3, b"a", "a\0b", "\udcff"]:
        with pytest.raises((TypeError, ValueError)):
            array.attrs[wrong] = 1
        with pytest.raises((TypeError, ValueError)):
            del array.attrs[wrong]
    with pytest.raises(ValueError, match="name: "):
        nczchunk.has_codec("zstd\0")
    with pytest.raises(ValueError, match="group: "):
        nczchunk.list_nodes(tmp_path, "a\0")
    texts = new(dtype=str)
    for wrong in [3, "a\0", "\udcff", b"a"]:
        with pytest.raises((TypeError, ValueError), match="values: "):
            texts[...] = wrong


def test_the_contents_of_a_file_are_no_path(tmp_path):
    with pytest.raises(ValueError, match="path: .*contains a NUL") as caught:
        nczchunk.open(b"\x89HDF\0" * 10_000)
    assert len(str(caught.value)) < 2000


def test_a_path_with_a_nul_is_no_other_path(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2,), dtype="i4")
    array[...] = 7
    for path in [f"{tmp_path}/a\0/b", os.fsencode(tmp_path / "a") + b"\0"]:
        for use in [nczchunk.open, nczchunk.list_nodes, nczchunk.NewZip,
                    lambda path: nczchunk.create(path, shape=(2,), dtype="i4", overwrite=True)]:
            with pytest.raises(ValueError, match="path: .* contains a NUL"):
                use(path)
    for path in [3, None, ["a"]]:
        with pytest.raises(TypeError, match="path: "):
            nczchunk.open(path)
    assert nczchunk.open(tmp_path / "a")[...].tolist() == [7, 7]


def test_relative_paths_stay_right_when_the_working_directory_changes(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    for path in ["a", b"b", pathlib.Path("c"), os.path.join(".", "d")]:
        nczchunk.create(path, "g/v", shape=(4,), dtype="i4", dims=["x"], chunks=(2,))[...] = 7
        array, group = nczchunk.open(path, "g/v", "r+"), nczchunk.open_group(path, "g", "r+")
        joined = nczchunk.concat([path, path], "x")
        monkeypatch.chdir(tmp_path / "other")
        nczchunk.create(path, "g/v", shape=(4,), dtype="i4", chunks=(2,), overwrite=True)[...] = 9
        assert pickle.loads(pickle.dumps(array))[...].tolist() == group["v"][...].tolist() == [7] * 4
        assert nczchunk.open(joined, "g/v")[...].tolist() == [7] * 8
        group.attrs["a"] = 1
        array.append([8])
        monkeypatch.chdir(tmp_path)
        with nczchunk.open(path, "g/v") as found:
            assert found[...].tolist() == [7, 7, 7, 7, 8] and nczchunk.open_group(path, "g").attrs["a"] == 1


def test_what_gives_one_length_after_another_is_taken(new):
    array = new(shape=map(int, "44"), chunks=map(int, "22"), shards=map(int, "44"))
    assert (array.shape, array.chunks, array.shards) == ((4, 4), (2, 2), (4, 4))
    for chunks in ["22", b"22"]:
        with pytest.raises(TypeError, match="chunks"):
            new(shape=(4, 4), chunks=chunks)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names in UTF-8 only")
def test_paths_that_are_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/gr\xfc\xdfe.zarr"
    nczchunk.create(path, "x", shape=(2,), dtype="i4")[...] = 7
    for same in [path, os.fsdecode(path), pathlib.Path(os.fsdecode(path))]:
        with nczchunk.open(same, "x") as array:
            assert array[...].tolist() == [7, 7]
        assert [node.name for node in nczchunk.list_nodes(same)] == ["", "x"]
    assert nczchunk.open(b"file://" + path + b"#mode=zarr,file", "x")[0] == 7
    with pytest.raises(FileNotFoundError):
        nczchunk.open(path + b"x", "x")
    # A new zip file is the exception.
    with pytest.raises(ValueError, match="not valid for a file"):
        nczchunk.NewZip(os.fsencode(tmp_path) + b"/gr\xfc\xdfe.zip")


def test_nothing_crosses_into_c_unchecked():
    # An argument that would be cut off is refused by every function that has one of its type.
    wrong = {ctypes.c_size_t: [-1, 2**64], ctypes.c_int: [-2**31 - 1, 2**31], ctypes.c_char_p: [b"a\0b", "a"]}
    for name, _, kinds in _c._FUNCTIONS:
        for i, kind in enumerate(kinds):
            for value in wrong.get(kind, []):
                arguments = [b"" if one is ctypes.c_char_p else 0 for one in kinds]
                arguments[i] = value
                with pytest.raises((TypeError, ValueError), match="expected "):
                    getattr(_c.c, name)(*arguments)
    for value in [-1, 2**64]:
        with pytest.raises(ValueError):
            _c.Description(rank=value)
        with pytest.raises(ValueError):
            _c.sizes([1, value])
    with pytest.raises(ValueError):
        _c.Description(type_name=b"a\0b")
    with pytest.raises(ValueError):
        _c.signed_sizes([2**63])


def test_a_text_without_dimensions(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(), dtype=str, fill_value="n/a")
    assert array[...] == "n/a" and array[()] == "n/a"
    array[...] = "grüße"
    assert array[()] == "grüße" and array[None].tolist() == ["grüße"] and str(np.asarray(array)) == "grüße"
    out = np.empty((), object)
    assert array.read_into(out) is out and out[()] == "grüße"
    row = nczchunk.create(tmp_path / "b", shape=(3,), dtype=str)
    row[1] = "x"
    assert row[1] == "x" and row[...].tolist() == ["", "x", ""]


def test_lengths_that_no_memory_has(tmp_path):
    # Other programs create such arrays; what fits is read.
    array = nczchunk.create(tmp_path / "a", shape=(2**63 - 1,), dtype="i1", chunks=(1 << 20,), fill_value=3)
    assert array[-1] == 3 and array[2**62:2**62 + 3].tolist() == [3, 3, 3] and array[::2**61].tolist() == [3] * 4
    with pytest.raises((MemoryError, ValueError)):
        array[...]
    text = (tmp_path / "a" / "zarr.json").read_text()
    (tmp_path / "a" / "zarr.json").write_text(text.replace(str(2**63 - 1), str(2**63)))
    with nczchunk.open(tmp_path / "a") as array:
        assert array.shape == (2**63,)
        assert array[2**63 - 1] == 3 and array[-1] == 3 and array[2**63 - 2:].tolist() == [3, 3]
        assert array[::2**63].tolist() == [3]
        for index in [..., slice(None, None, -1)]:
            with pytest.raises(MemoryError, match="9223372036854775808.*select less"):
                array[index]
    with pytest.raises(ValueError, match=r"shape\[1\]: expected an integer from 0 to 18446744073709551615"):
        nczchunk.create(tmp_path / "b", shape=(3, 2**64), dtype="i1")
        assert "9223372036854775808" in repr(array)


def test_what_can_be_opened_is_told(tmp_path):
    for name in ["g/a", "b"]:
        nczchunk.create(tmp_path, name, shape=(4,), dtype="i4")
    for name in ["", "g", "nothing"]:
        with pytest.raises(FileNotFoundError, match="the arrays are: 'b', 'g/a'$"):
            nczchunk.open(tmp_path, name)
    for i in range(20):
        nczchunk.create(tmp_path, f"many/{i}", shape=(4,), dtype="i4")
    with pytest.raises(FileNotFoundError, match=r"'b', .*'many/\d+', \.\.\.$"):
        nczchunk.open(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such file or directory$"):
        nczchunk.open(tmp_path / "none")


def test_what_cannot_be_written_is_told(tmp_path):
    nczchunk.create(tmp_path, "g/a", shape=(4,), dtype="i4")[...] = 5
    with nczchunk.open(tmp_path, "g/a") as array:
        for write in [lambda: array.__setitem__(0, 1), lambda: array.resize((5,)), lambda: array.attrs.update(a=1),
                      lambda: array.attrs.__setitem__("a", 1), lambda: array.attrs.__delitem__("a")]:
            with pytest.raises(PermissionError, match='g/a: opened read-only: open it with mode="r\\+"'):
                write()
    with pytest.raises(FileExistsError, match="g/a: an array or group exists here: pass overwrite=True"):
        nczchunk.create(tmp_path, "g/a", shape=(4,), dtype="i4")
    with pytest.raises(FileExistsError, match=f"{tmp_path.name}: an array or group exists here"):
        nczchunk.create(tmp_path, shape=(4,), dtype="i4")
    with nczchunk.open(tmp_path, "g/a", "r+") as array:
        for wrong, message in [([1, 2, 3], r"values: expected the shape \(4,\), .* found \(3,\)"),
                               ("x", "values: expected elements of the type int32"),
                               (2**40, "values: expected elements of the type int32")]:
            with pytest.raises((ValueError, OverflowError), match=message):
                array[...] = wrong
        assert array[...].tolist() == [5] * 4
    texts = nczchunk.create(tmp_path / "texts", shape=(2,), dtype="S2")
    with pytest.raises(ValueError, match="values: expected elements"):
        texts[...] = "\u0141"
