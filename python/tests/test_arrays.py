"""Types, fill values, attributes, formats, texts, caches, threads."""

import json
import os
import pickle
import threading

import numpy as np
import pytest

import nczchunk

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S5", "U3",
         "M8[ns]", "M8[D]", "m8[10ms]"]


def some_values(dtype, shape):
    numbers = np.arange(np.prod(shape)).reshape(shape)
    if np.dtype(dtype).kind in "mM":
        return numbers.astype("i8").view(dtype)
    return (numbers % 2 == 0).astype(dtype) if np.dtype(dtype).kind == "b" else numbers.astype(dtype)


@pytest.mark.parametrize("format", ["zarr2", "zarr3"])
@pytest.mark.parametrize("dtype", TYPES)
def test_types_and_fill_values(tmp_path, dtype, format):
    fill = some_values(dtype, (8,))[7]
    values = some_values(dtype, (4, 6))
    with nczchunk.create(tmp_path / "a", shape=(8, 6), dtype=dtype, chunks=(4, 4), fill_value=fill,
                         format=format) as array:
        array[:4] = values
    with nczchunk.open(tmp_path / "a") as array:
        assert array.dtype == np.dtype(dtype)
        assert array.fill_value == fill and array.fill_value.dtype.kind == np.dtype(dtype).kind
        assert np.array_equal(array[:4], values) and (array[4:] == fill).all()


@pytest.mark.parametrize("shards", [None, (8, 8)])
@pytest.mark.parametrize("codecs", [..., None, ["zstd"], [("blosc", {"cname": "lz4"})], ["gzip", "crc32c"]])
def test_codecs_are_read_by_zarr_python(tmp_path, codecs, shards):
    zarr = pytest.importorskip("zarr")
    values = np.random.default_rng(1).random((11, 13))
    array = nczchunk.create(tmp_path, "group/a", shape=values.shape, dtype="f8", chunks=(4, 4), shards=shards,
                            dims=("y", "x"), codecs=codecs, attrs={"units": "K", "nested": {"a": [1, None]}})
    array[...] = values
    found = zarr.open_group(tmp_path, mode="r")["group/a"]
    assert np.array_equal(found[...], values)
    assert dict(found.attrs) == {"units": "K", "nested": {"a": [1, None]}}
    assert found.metadata.dimension_names == ("y", "x") and array.dims == ("y", "x")
    assert array.chunks == (4, 4) and array.shards == shards


@pytest.mark.parametrize("format, shards", [("zarr2", None), ("zarr3", None), ("zarr3", (8, 8)), ("nczarr", None)])
def test_the_codecs_of_an_array_make_another_one(tmp_path, format, shards):
    for number, name in enumerate([None, "zstd", "blosc"] + ["gzip"] * (format != "nczarr")):
        given = {"name": "v", "shape": (8, 8), "dtype": "i4", "chunks": (4, 4), "shards": shards, "format": format,
                 "dims": ("y", "x")}
        configuration = {"cname": "lz4"} if name == "blosc" else {"level": 2}
        with nczchunk.create(tmp_path / f"a{number}", codecs=name and [(name, configuration)], **given) as array:
            found = array.codecs
        assert [one for one, _ in found if one != "bytes"] == ([name] if name else [])
        assert not name or dict(found)[name].items() >= configuration.items()
        with nczchunk.create(tmp_path / f"b{number}", codecs=found, **given) as again:
            assert again.codecs == found


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_arrays_of_zarr_python_are_read(tmp_path, zarr_format):
    zarr = pytest.importorskip("zarr")
    values = np.random.default_rng(2).integers(0, 99, (17, 19)).astype("i2")
    group = zarr.create_group(tmp_path, zarr_format=zarr_format)
    group.create_array("a", shape=values.shape, chunks=(5, 5), dtype="i2", fill_value=-1)[:] = values
    with nczchunk.open(tmp_path, "a") as array:
        assert np.array_equal(array[::-2, 3:], values[::-2, 3:]) and array.fill_value == -1


def test_attributes(tmp_path):
    attrs = {"units": "K", "scale": np.float32(0.5), "flags": np.array([1, 2], "i2")}
    array = nczchunk.create(tmp_path / "a", "v", shape=(2,), dtype="f4", dims=["x"], format="nczarr", attrs=attrs)
    array.attrs["texts"] = ["a", "bc"]
    array.attrs["gone"] = 1
    del array.attrs["gone"]
    with nczchunk.open(tmp_path / "a", "v") as again:
        found = again.attrs
        assert set(found) == {"units", "scale", "flags", "texts"} and len(found) == 4
        assert found["units"] == "K" and found["texts"] == ["a", "bc"]
        assert found["scale"].dtype == np.float32 and found["flags"].dtype == np.int16
        assert json.loads(found.as_json())["units"] == "K"
        with pytest.raises(PermissionError):
            found["new"] = 1
    with pytest.raises(TypeError):
        array.attrs["new"] = object()
    with pytest.raises(KeyError):
        del array.attrs["gone"]
    with pytest.raises(KeyError):
        array.attrs["gone"]


def test_texts_of_any_length(tmp_path):
    due = np.array([["", "a", "grüße"], ["x" * 1000, "b", "c"]], object)
    with nczchunk.create(tmp_path / "a", shape=(4, 3), dtype=str, chunks=(2, 2), fill_value="n/a") as array:
        array[:2] = due
        array[2, ::-1] = ["1", "2", "3"]
        assert array.fill_value == "n/a"
    with nczchunk.open(tmp_path / "a") as array:
        assert array[:2].tolist() == due.tolist()
        assert array[2].tolist() == ["3", "2", "1"]
        assert array[3, 1] == "n/a"
        assert array[::-2, ::-1].tolist() == [["n/a"] * 3, due[1, ::-1].tolist()]
        out = np.empty((3,), object)
        assert array.read_into(out, 0) is out and out.tolist() == due[0].tolist()


def test_the_strings_of_numpy_2_are_strings(tmp_path):
    if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
        pytest.skip("an older numpy")
    texts = np.array(["a", "grüße"], np.dtypes.StringDType())
    array = nczchunk.create(tmp_path / "a", shape=texts.shape, dtype=texts.dtype)
    array[...] = texts
    assert array.type_name == "string" and array[...].tolist() == texts.tolist()


def test_values_are_broadcast_and_cast(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(4, 6), dtype=">i2", endian="big", chunks=(3, 4))
    array[...] = 5
    array[1] = np.arange(6.0)
    array[:, ::2] += np.int16(1)
    due = np.full((4, 6), 5, "i2")
    due[1] = np.arange(6)
    due[:, ::2] += 1
    assert np.array_equal(array[...], due)
    with pytest.raises(ValueError):
        array[...] = np.zeros((3, 6))
    array[0, 0:0] = []
    array.resize((5, 3))
    assert array.shape == (5, 3) and np.array_equal(array[:4], due[:, :3]) and (array[4] == 0).all()


def test_a_scalar(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(), dtype="f8")
    array[()] = 2.5
    assert array[()] == 2.5 and array[...] == 2.5 and array[None].shape == (1,)
    with pytest.raises(TypeError):
        len(array)


def test_errors(tmp_path, sst):
    with pytest.raises(FileNotFoundError):
        nczchunk.open(tmp_path / "none")
    with pytest.raises(PermissionError):
        sst[...] = 0
    nczchunk.create(tmp_path / "a", shape=(4,), dtype="i4", chunks=(2,), codecs=["zstd"])[...] = 1
    with pytest.raises(FileExistsError):
        nczchunk.create(tmp_path / "a", shape=(4,), dtype="i4")
    nczchunk.create(tmp_path / "a", shape=(4,), dtype="i4", chunks=(2,), overwrite=True)[...] = 1
    (tmp_path / "a" / "c" / "1").write_bytes(b"rubbish")
    with nczchunk.open(tmp_path / "a") as array:
        assert array[0] == 1
        with pytest.raises(nczchunk.errors.Corrupt) as caught:
            array[2:]
        assert caught.value.status == -68 and caught.value.chunk == (1,)
        assert pickle.loads(pickle.dumps(caught.value)).chunk == (1,)
    (tmp_path / "a" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array", ')
    with pytest.raises(nczchunk.Error, match="line 1, column 42"):
        nczchunk.open(tmp_path / "a")
    with pytest.raises(ValueError, match="closed"):
        array[0]
    for wrong in [{"codecs": ["nothing"]}, {"dtype": [("a", "i4")]}, {"chunks": (1, 2)}, {"format": "zarr4"},
                  {"endian": "middle"}, {"dims": ["x", "y"]}]:
        with pytest.raises((nczchunk.Error, ValueError)):
            nczchunk.create(tmp_path / "b", **{"shape": (4,), "dtype": "i4", **wrong})
    with pytest.raises(ValueError):
        nczchunk.open(tmp_path / "a", mode="w")
    with pytest.raises(ValueError, match="NUL"):
        nczchunk.open(tmp_path / "a", "x\0y")


def test_a_zip_file(tmp_path):
    with nczchunk.NewZip(tmp_path / "a.zip") as new:
        nczchunk.create(new, "group/a", shape=(4,), dtype="i4")[...] = [1, 2, 3, 4]
    with nczchunk.open(tmp_path / "a.zip", "group/a") as array:
        assert array[...].tolist() == [1, 2, 3, 4]
    with pytest.raises(KeyError), nczchunk.NewZip(tmp_path / "b.zip"):
        raise KeyError
    assert [found.name for found in tmp_path.iterdir()] == ["a.zip"]


def test_listing(tmp_path):
    nczchunk.create(tmp_path, "g/a", shape=(4, 2), dtype="i4", chunks=(2, 2), dims=["y", "x"], attrs={"units": "K"})
    nodes = {node.name: node for node in nczchunk.list_nodes(tmp_path)}
    assert set(nodes) == {"", "g", "g/a"} and nodes["g"].is_group
    found = nodes["g/a"]
    assert (found.dtype, found.shape, found.chunks, found.dims) == ("int32", (4, 2), (2, 2), ("y", "x"))
    assert found.attrs == {"units": "K"} and found.problem is None
    assert [node.name for node in nczchunk.list_nodes(tmp_path, "g", recursive=False)] == ["g", "g/a"]


def test_a_cache_that_arrays_share(tmp_path):
    cache = nczchunk.Cache(1 << 20)
    for name in "ab":
        nczchunk.create(tmp_path, name, shape=(40, 40), dtype="f8", chunks=(20, 20))[...] = 1
    arrays = [nczchunk.open(tmp_path, name, cache=cache) for name in "ab"]
    for _ in range(2):
        assert all(array[3, 4] == 1 for array in arrays)
    found = cache.statistics()
    assert found.hits == 2 and found.misses == 2 and found.limit == 1 << 20
    with nczchunk.open(tmp_path, "a", cache=None) as array:
        assert array[0, 0] == 1
    assert cache.statistics().misses == 2


def test_threads_read_at_the_same_time(tmp_path):
    values = np.arange(400_000, dtype="i8").reshape(400, 1000)
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="i8", chunks=(16, 64), threads=2)
    array[...] = values
    wrong = []

    def read(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            a, b = sorted(rng.integers(0, 400, 2))
            index = np.s_[a:b + 1:int(rng.integers(1, 4)), ::int(rng.integers(1, 9))]
            if not np.array_equal(array[index], values[index]):
                wrong.append(index)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_are_as_many_as_processors(sst, monkeypatch):
    assert sst.threads == (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert pickle.loads(pickle.dumps(sst)).threads == 3
    sst.threads = 7
    assert pickle.loads(pickle.dumps(sst)).threads == 7
    sst.threads = None
    assert sst.threads == 3


def test_an_array_is_pickled(sst):
    again = pickle.loads(pickle.dumps(sst))
    assert np.array_equal(again[0], sst[0], equal_nan=True)


def test_verifying(tmp_path):
    nczchunk.create(tmp_path / "a", shape=(100_000,), dtype="i4", codecs=["gzip"])[...] = np.arange(100_000)
    (chunk,) = (found for found in (tmp_path / "a" / "c").iterdir())
    packed = bytearray(chunk.read_bytes())
    packed[-6] ^= 1
    chunk.write_bytes(packed)
    with nczchunk.open(tmp_path / "a", cache=None) as array:
        assert array[5] == 5
        array.verify()
        with pytest.raises(nczchunk.errors.Corrupt):
            array[5]


def test_a_handle_sees_what_another_has_written_once_it_is_refreshed(tmp_path):
    writer = nczchunk.create(tmp_path / "a", shape=(6,), dtype="i4", codecs=["zstd"])
    writer[...] = 1
    with nczchunk.open(tmp_path / "a") as reader:
        assert reader[0] == 1
        writer[...] = 2
        writer.resize((9,))
        writer.attrs["units"] = "K"
        assert reader.shape == (6,)
        reader.refresh()
        assert (reader[0], reader.shape, dict(reader.attrs)) == (2, (9,), {"units": "K"})
        nczchunk.create(tmp_path / "a", shape=(6,), dtype="i8", overwrite=True)
        with pytest.raises(ValueError, match="open it again"):
            reader.refresh()
