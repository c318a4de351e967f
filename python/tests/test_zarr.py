"""zarr-python with nczchunk's codec pipeline does what it does with its own."""

import asyncio
import logging
import os
import pickle
import random
import shutil

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", "3.1")

from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec  # noqa: E402
from zarr.storage import LocalStore, MemoryStore, WrapperStore  # noqa: E402

import nczchunk.zarr  # noqa: E402

OURS, THEIRS = "nczchunk.zarr.CodecPipeline", "zarr.core.codec_pipeline.BatchedCodecPipeline"
# How many cases hypothesis tries.
EXAMPLES = int(os.environ.get("NCZCHUNK_TEST_EXAMPLES", "5"))
TYPES = ["?", "i1", "<i2", ">i4", "u8", "f2", "<f4", ">f8", "c8", "M8[s]", "m8[ms]", "S3", "<U2", ">U3"]


@pytest.fixture(autouse=True)
def ours():
    with zarr.config.set({"codec_pipeline.path": OURS}):
        yield


@pytest.fixture
def left(caplog):
    """What was left to zarr-python."""
    caplog.set_level(logging.DEBUG, "nczchunk.zarr")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "nczchunk.zarr"]


def values_of(rng, dtype, shape):
    """Random elements, among them many zeros."""
    numbers = rng.integers(0, 5, shape) * rng.integers(0, 2, (*shape[:1], *[1] * (len(shape) - 1)))
    kind = np.dtype(dtype).kind
    if kind in "mM":
        return numbers.astype("i8").view(np.dtype(dtype).newbyteorder("=")).astype(dtype)
    if kind in "SU":
        return np.where(numbers == 0, "", numbers.astype(str)).astype(dtype)
    return numbers.astype(dtype)


def description(rng, dtype):
    """The keyword arguments of create_array() for a random array."""
    shape = tuple(rng.randint(1, 20) for _ in range(rng.randint(0, 3)))
    chunks = tuple(rng.randint(1, 7) for _ in shape)
    zarr_format = rng.choice([2, 3, 3])
    made = {"shape": shape, "chunks": chunks or "auto", "dtype": dtype, "zarr_format": zarr_format,
            "config": {"write_empty_chunks": rng.random() < 0.3, "order": rng.choice("CF")}}
    if np.dtype(dtype).kind not in "SU":
        zero, one = values_of(np.random.default_rng(1), dtype, (2,))[0], np.ones(1, "i8").astype(dtype)[0]
        made["fill_value"] = rng.choice([zero, one, *([np.nan] if np.dtype(dtype).kind == "f" else [])])
    if zarr_format == 2:
        made["order"] = rng.choice("CF")
        made["compressors"] = rng.choice([None, "auto"])
        return made
    made["compressors"] = rng.choice([None, "auto", ZstdCodec(level=1), GzipCodec(level=1), BloscCodec(cname="lz4"),
                                      [ZstdCodec(), Crc32cCodec()]])
    if shape and rng.random() < 0.4:
        made["shards"] = tuple(length * rng.randint(1, 3) for length in chunks)
    if len(shape) > 1 and rng.random() < 0.3:
        made["filters"] = [TransposeCodec(order=tuple(rng.sample(range(len(shape)), len(shape))))]
    if rng.random() < 0.3:
        made["chunk_key_encoding"] = {"name": rng.choice(["default", "v2"]), "separator": rng.choice("./")}
    return made


def index_of(rng, shape):
    """A random index, and the name of what takes it."""
    kind = rng.choice(["basic", "basic", "basic", "oindex", "vindex", "blocks", "mask"]) if shape else "basic"
    if kind == "vindex":
        num = rng.randint(1, 9)
        return kind, tuple(np.array([rng.randrange(length) for _ in range(num)]) for length in shape)
    if kind == "mask":
        return "vindex", np.random.default_rng(rng.randrange(99)).random(shape) < 0.3
    if kind == "blocks":
        return kind, 0

    def item(length):
        choice = rng.random()
        if choice < 0.2 and kind == "basic":
            return rng.randrange(-length, length)
        if choice < 0.4 and kind == "oindex":
            return sorted(rng.sample(range(length), rng.randint(1, length)))
        first, last = sorted(rng.sample(range(length + 1), 2))
        return rng.choice([slice(None), slice(first, last), slice(first, last, rng.randint(1, 4))])

    return kind, tuple(item(length) for length in shape)


def of(array, kind):
    return array if kind == "basic" else getattr(array, kind)


def bits(values, dtype):
    return np.asarray(values).astype(dtype).tobytes()


def keys(array):
    return sorted({str(key) for key in collected(array.store.list_prefix(""))})


def collected(found):
    async def collect():
        return [one async for one in found]

    return asyncio.run(collect())


def store_of(kind, path):
    """A store of this kind that is empty."""
    if kind == "memory":
        return MemoryStore()
    if kind == "zip":
        return zarr.storage.ZipStore(f"{path}.zip", mode="w")
    if kind == "fsspec":
        pytest.importorskip("fsspec")
        return zarr.storage.FsspecStore.from_url(f"file://{path}", storage_options={"auto_mkdir": True})
    if kind == "obstore":
        return zarr.storage.ObjectStore(pytest.importorskip("obstore.store").MemoryStore())
    return WrapperStore(MemoryStore()) if kind == "wrapped" else LocalStore(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ["memory", "zip", "fsspec", "obstore", "wrapped"])
@pytest.mark.parametrize("dtype", ["<f4", ">i4"])
def test_random_arrays_in_other_stores_are_read_and_written_alike(tmp_path, kind, dtype):
    arrays_are_alike(tmp_path, kind, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_random_arrays_are_read_and_written_alike(tmp_path, dtype):
    arrays_are_alike(tmp_path, "local", dtype)


def arrays_are_alike(tmp_path, kind, dtype):
    for seed in range(2):
        rng, numbers = random.Random(f"{dtype} {seed}"), np.random.default_rng(seed)
        made = description(rng, dtype)
        with zarr.config.set({"codec_pipeline.path": THEIRS}):
            theirs = zarr.create_array(LocalStore(tmp_path / f"theirs {seed}"), **made)
        ours = zarr.create_array(store_of(kind, tmp_path / f"ours {seed}"), **made)
        assert type(ours._async_array.codec_pipeline) is nczchunk.zarr.CodecPipeline
        for _ in range(8):
            kind, index = index_of(rng, theirs.shape)
            due = np.asarray(of(theirs, kind)[index])
            found = np.asarray(of(ours, kind)[index])
            assert (found.shape, found.dtype) == (due.shape, due.dtype), (made, index)
            assert bits(found, dtype) == bits(due, dtype), (made, index)
            new = values_of(numbers, dtype, due.shape) if due.ndim else values_of(numbers, dtype, (1,))[0]
            for array in (theirs, ours):
                of(array, kind)[index] = new
            if rng.random() < 0.1:
                for array in (theirs, ours):
                    array.resize(tuple(length + 2 for length in array.shape))
        assert keys(ours) == keys(theirs), made
        with zarr.config.set({"codec_pipeline.path": THEIRS}):
            # Zarr v3 forgets the order of bytes that an array has in memory.
            assert bits(zarr.open_array(ours.store)[...], dtype) == bits(theirs[...], dtype), made


def test_whole_selections_are_ours(tmp_path, left):
    values = np.arange(40 * 30, dtype="f4").reshape(40, 30)
    for number, given in enumerate([{"shards": (20, 10)}, {}, {"zarr_format": 2}, {"chunks": (40, 30)}]):
        given = {"shape": (40, 30), "chunks": (10, 5), "dtype": "f4", **given}
        array = zarr.create_array(tmp_path / str(number), **given)
        array[...] = values + 1
        array[3:30, 7] = 5
        array[::3, 2:20:4] = values[::3, 2:20:4]
        for index in [np.s_[...], np.s_[5], np.s_[3:30:2, -4], np.s_[0, 0], np.s_[39:, 29:]]:
            assert array[index].shape == values[index].shape
        array.resize((50, 30))
        array[45:] = 9
        assert (array[45:] == 9).all() and (array[40:45] == 0).all()
    assert left() == []
    # This is left, and as right.
    assert array.oindex[[1, 3], :].tolist() == array[1:4:2].tolist()
    assert left() != []


@pytest.mark.parametrize("is_written", [True, False])
@pytest.mark.parametrize("shards", [None, (32,)])
def test_chunks_of_fill_values_are_stored_alike(tmp_path, shards, is_written):
    for pipeline in (OURS, THEIRS):
        with zarr.config.set({"codec_pipeline.path": pipeline, "array.write_empty_chunks": is_written}):
            array = zarr.create_array(tmp_path / pipeline, shape=(64,), chunks=(8,), shards=shards, dtype="i4",
                                      compressors=None)
            array[:4], array[60:], array[:16] = 5, 0, np.repeat([0, 1], 8)
    sizes = [{path.name: path.stat().st_size for path in (tmp_path / pipeline / "c").iterdir()}
             for pipeline in (OURS, THEIRS)]
    assert sizes[0] == sizes[1]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ["local", "memory", "zip", "fsspec", "obstore", "wrapped"])
def test_stores_are_ours(tmp_path, left, kind):
    values = np.arange(100.0)
    for shards in (None, (28,)):
        array = zarr.create_array(store_of(kind, tmp_path / str(shards)), name="g/a", shape=(100,), chunks=(7,),
                                  shards=shards, dtype="f8")
        array[...] = values
        assert np.array_equal(array[...], values) and array[41] == 41 and left() == []
        assert array._async_array.codec_pipeline.opened._found[0] is not None
        # What is behind the end that was known at first stays as it is.
        array.resize((110,))
        array[100:105] = 7
        array[98:100] = 5
        array.resize((4000,))
        array[3999] = 9
        assert array[96:106].tolist() == [96, 97, 5, 5, 7, 7, 7, 7, 7, 0] and array[3999] == 9 and left() == []


def test_a_store_that_raises_raises_that(tmp_path):
    class Failing(WrapperStore):
        fails = False

        async def get(self, *arguments, **named):
            if self.fails:
                raise LookupError("out of order")
            return await self._store.get(*arguments, **named)

    store = Failing(MemoryStore())
    array = zarr.create_array(store, shape=(100,), chunks=(7,), dtype="f8")
    array[...] = 1
    store.fails = True
    with pytest.raises(LookupError, match="out of order"):
        array[...]


def test_reads_in_a_loop_of_the_user_s(tmp_path):
    async def use():
        store = WrapperStore(MemoryStore())
        array = await zarr.api.asynchronous.create_array(store, shape=(100,), chunks=(7,), dtype="f8")
        await array.setitem(slice(None), 3.0)
        # More than there are threads that a loop has.
        found = await asyncio.gather(*[array.getitem(slice(None)) for _ in range(100)])
        opened = array.codec_pipeline.opened
        return all((one == 3).all() for one in found), opened._found[2] is asyncio.get_running_loop()

    for _ in range(2):
        assert asyncio.run(use()) == (True, True)


def test_what_the_library_does_not_have_is_left_to_zarr_python(tmp_path, left):
    texts = zarr.create_array(tmp_path / "texts", shape=(3,), chunks=(2,), dtype=str)
    texts[:] = np.array(["a", "", "grüße"], dtype=texts.dtype)
    assert list(texts[:]) == ["a", "", "grüße"]
    parts = np.dtype([("a", "i4"), ("b", "f8")])
    structured = zarr.create_array(tmp_path / "structured", shape=(3,), chunks=(2,), dtype=parts, zarr_format=2)
    structured[:] = np.array([(1, 2.5), (3, 4.5), (0, 0)], parts)
    assert structured[:].tolist() == [(1, 2.5), (3, 4.5), (0, 0)]
    assert len(left()) >= 4
    # nczchunk fills what is missing with the attribute _FillValue, if Zarr v2 says nothing else.
    array = zarr.create_array(tmp_path / "fill", shape=(3,), chunks=(2,), dtype="i4", zarr_format=2, fill_value=None,
                              attributes={"_FillValue": -9})
    assert array[:].tolist() == [0, 0, 0]


def test_missing_chunks_are_refused(tmp_path):
    error = getattr(zarr.errors, "ChunkNotFoundError", None)
    if error is None:
        pytest.skip("zarr-python before 3.2 reads them")
    with zarr.config.set({"array.read_missing_chunks": False}):
        array = zarr.create_array(tmp_path / "a", shape=(8,), chunks=(4,), dtype="i4")
        array[:4] = 1
        assert array[:4].tolist() == [1] * 4
        with pytest.raises(error):
            array[...]


def test_chunks_of_several_lengths(tmp_path):
    values = np.arange(60.0).reshape(10, 6)
    with zarr.config.set({"array.rectilinear_chunks": True}):
        try:
            array = zarr.create_array(tmp_path / "a", shape=(10, 6), chunks=[[5, 2, 3], [2, 2, 2]], dtype="f8")
        except (TypeError, ValueError):
            pytest.skip("zarr-python before 3.2 does not have them")
        array[...] = values
        array[3:9:2, 1] = values[3:9:2, 1] = -1
        assert np.array_equal(array[...], values) and np.array_equal(array[5:, ::2], values[5:, ::2])


def test_read_only_stores_and_errors_are_those_of_zarr_python(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(8,), chunks=(4,), dtype="i4", compressors=[ZstdCodec()])
    array[...] = 1
    read = zarr.open_array(tmp_path / "a", mode="r")
    with pytest.raises(ValueError, match="read.only"):
        read[...] = 2
    assert (read[...] == 1).all()
    (tmp_path / "a" / "c" / "0").write_bytes(b"rubbish")
    with pytest.raises(Exception) as ours:
        read[...]
    with zarr.config.set({"codec_pipeline.path": THEIRS}), pytest.raises(type(ours.value)):
        zarr.open_array(tmp_path / "a", mode="r")[...]


def test_an_array_that_others_replace(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(8,), chunks=(4,), dtype="i4")
    array[...] = 1
    other = zarr.open_array(tmp_path / "a")
    other.resize((12,))
    other[...] = 2
    assert array[...].tolist() == [2] * 8
    shutil.rmtree(tmp_path / "a")
    assert array[...].tolist() == [0] * 8
    zarr.create_array(tmp_path / "a", shape=(8,), chunks=(2,), dtype="i4")[...] = 3
    # It is not the array that was opened, and its chunks are not as long.
    with pytest.raises(ValueError):
        array[...]


def test_arrays_are_pickled(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(8,), chunks=(4,), dtype="i4")
    array[...] = 7
    again = pickle.loads(pickle.dumps(array))
    assert type(again._async_array.codec_pipeline) is nczchunk.zarr.CodecPipeline and (again[...] == 7).all()


def test_groups_of_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    due = xarray.Dataset({"t": (("time", "x"), np.random.default_rng(1).random((6, 4)))},
                         coords={"time": np.arange("2000-01-01", "2000-01-07", dtype="M8[D]").astype("M8[ns]")})
    for version in (2, 3):
        due.to_zarr(tmp_path / str(version), zarr_format=version)
        due.isel(time=slice(2, 4)).drop_vars("x", errors="ignore").to_zarr(
            tmp_path / str(version), region={"time": slice(2, 4)})
        due.to_zarr(tmp_path / str(version), append_dim="time")
        with xarray.open_zarr(tmp_path / str(version)) as found:
            xarray.testing.assert_identical(found.load(), xarray.concat([due, due], "time"))


def test_the_properties_that_zarr_python_tests(tmp_path_factory):
    hypothesis = pytest.importorskip("hypothesis")
    strategies = pytest.importorskip("zarr.testing.strategies")
    data = hypothesis.strategies.data()
    stores = hypothesis.strategies.builds(lambda: LocalStore(tmp_path_factory.mktemp("store")))

    @hypothesis.settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(data=data)
    def check(data):
        array = data.draw(strategies.arrays(stores=stores, shapes=hypothesis.extra.numpy.array_shapes(
            max_dims=3, min_side=1, max_side=9), zarr_formats=hypothesis.strategies.sampled_from([2, 3])))
        values = array[:]
        for _ in range(3):
            index = data.draw(strategies.basic_indices(shape=array.shape))
            assert_same(array[index], values[index])
            new = data.draw(strategies.numpy_arrays(
                shapes=hypothesis.strategies.just(np.shape(values[index])), dtype=array.dtype))
            array[index], values[index] = new, new
            assert_same(array[:], values)
            index, of_numpy = data.draw(strategies.orthogonal_indices(shape=array.shape))
            assert_same(array.oindex[index], values[of_numpy])
        with zarr.config.set({"codec_pipeline.path": THEIRS}):
            assert_same(zarr.open_array(array.store, path=array.path)[:].astype(array.dtype), values)

    check()


def assert_same(found, due):
    np.testing.assert_array_equal(np.asarray(found), np.asarray(due))


def test_the_hierarchies_that_zarr_python_tests(tmp_path_factory):
    hypothesis = pytest.importorskip("hypothesis")
    stateful = pytest.importorskip("zarr.testing.stateful")
    hypothesis.stateful.run_state_machine_as_test(
        lambda: stateful.ZarrHierarchyStateMachine(LocalStore(tmp_path_factory.mktemp("store"))),
        settings=hypothesis.settings(max_examples=max(2, EXAMPLES // 5), stateful_step_count=20, deadline=None,
                                     database=None, derandomize=True,
                                     suppress_health_check=list(hypothesis.HealthCheck)))
