"""How much memory may be taken for what is stored: what would take more is refused with the name of the limit, and can
be read with another limit."""

import json
import pickle

import numpy as np
import pytest

import nczchunk
from conftest import DATA
from nczchunk import MemoryLimits

GIBIBYTE = 1 << 30


def _refused(limit):
    """That a call raises a MemoryError which names this limit and tells how to raise it."""
    return pytest.raises(MemoryError, match=rf"the limit {limit}; raise it by .*MemoryLimits")


def _frame_of_a_string(length):
    """A chunk of zstd with one string of so many times the letter x: 4 bytes for each 128 KiB."""
    def block(kind, content, size, is_last=False):
        return (size << 3 | kind << 1 | is_last).to_bytes(3, "little") + content

    header, size = bytes([0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]), 128 << 10
    begin = (1).to_bytes(4, "little") + length.to_bytes(4, "little")
    rest = block(1, b"x", length % size, True)
    return header + block(0, begin, 8) + block(1, b"x", size) * (length // size) + rest


def test_a_small_chunk_of_strings_that_decodes_to_a_gibibyte(tmp_path):
    nczchunk.create(tmp_path, "a", shape=(1,), dtype=str)
    (tmp_path / "a/c").mkdir()
    stored = _frame_of_a_string(GIBIBYTE - 8)
    assert len(stored) < 34_000
    (tmp_path / "a/c/0").write_bytes(stored)
    with _refused("string_chunk_bytes = 268435456") as raised:
        nczchunk.open(tmp_path, "a")[...]
    assert raised.value.chunk == (0,)
    with _refused("string_chunk_bytes = 1000"):
        nczchunk.open(tmp_path, "a", memory_limits=MemoryLimits(string_chunk_bytes=1000))[...]


def test_a_limit_is_raised_and_stays_with_the_array(tmp_path):
    nczchunk.create(tmp_path, "a", shape=(2,), dtype=str)[...] = ["x" * 5000, "y"]
    with _refused("string_chunk_bytes = 4000"):
        nczchunk.open(tmp_path, "a", memory_limits=MemoryLimits(string_chunk_bytes=4000))[1]
    few, enough = (nczchunk.open(tmp_path, "a", memory_limits=MemoryLimits(string_chunk_bytes=limit))
                   for limit in [4000, 6000])
    for one in [enough, pickle.loads(pickle.dumps(enough))]:
        assert one[1] == "y"
    with _refused("string_chunk_bytes = 4000"):
        pickle.loads(pickle.dumps(few))[1]


def test_a_sparse_file_of_three_gibibytes(tmp_path):
    for length, limits, raises in [
            (1 << 20, None, pytest.raises(ValueError, match="3221225472")),
            (3 << 29, MemoryLimits(chunk_bytes=GIBIBYTE), _refused("chunk_bytes = 1073741824"))]:
        array = nczchunk.create(tmp_path, "a", shape=(length,), chunks=(length,), dtype="u1", overwrite=True,
                                memory_limits=limits)
        (tmp_path / "a/c").mkdir(exist_ok=True)
        with open(tmp_path / "a/c/0", "wb") as file:
            file.truncate(3 << 30)
        with raises:
            array[0]


def test_large_metadata_are_read_and_may_be_refused(tmp_path):
    nczchunk.create(tmp_path, "large", shape=(2,), dtype="i4", attrs={"text": "x" * (17 << 20)})
    nczchunk.create(tmp_path, "many", shape=(2,), dtype="i4", attrs={f"a{i}": i for i in range(20_000)})
    assert (tmp_path / "large/zarr.json").stat().st_size > 16 << 20
    assert len(nczchunk.open(tmp_path, "large").attrs["text"]) == 17 << 20
    attrs = dict(nczchunk.open(tmp_path, "many").attrs)
    assert len(attrs) == 20_000 and attrs["a19999"] == 19_999
    assert [len(node.attrs) for node in nczchunk.list_nodes(tmp_path)] == [0, 1, 20_000]
    for name, limit in [("large", 16 << 20), ("many", 1 << 20)]:
        limits = MemoryLimits(metadata_bytes=limit)
        with _refused(f"metadata_bytes = {limit}"):
            nczchunk.open(tmp_path, name, memory_limits=limits)
        assert f"metadata_bytes = {limit}" in nczchunk.list_nodes(tmp_path, name, memory_limits=limits)[0].problem


def test_consolidated_metadata_above_16_mib(tmp_path):
    """A group with the metadata of 40 000 arrays in one document."""
    nczchunk.create(tmp_path, "a", shape=(2,), dtype="i4")[...] = [3, 4]
    one = json.loads((tmp_path / "a/zarr.json").read_text())
    group = {"zarr_format": 3, "node_type": "group", "consolidated_metadata": {
        "kind": "inline", "must_understand": False, "metadata": {f"a{i}": one for i in range(40_000)}}}
    (tmp_path / "zarr.json").write_text(json.dumps(group))
    assert (tmp_path / "zarr.json").stat().st_size > 16 << 20
    assert nczchunk.open(tmp_path, "a")[...].tolist() == [3, 4]
    assert [node.problem for node in nczchunk.list_nodes(tmp_path)] == [None, None]


def test_everything_that_opens_takes_limits(tmp_path):
    xarray = pytest.importorskip("xarray")
    limits, few = MemoryLimits(chunk_bytes=GIBIBYTE), MemoryLimits(metadata_bytes=100)
    for path, name in [("coads_sst.zarr", ""), ("coads_sst.nc", "SST")]:
        with nczchunk.open(DATA / path, name, memory_limits=limits) as array:
            assert array.shape == (12, 90, 180) and array[0, 45, 90] > 20
    with _refused("metadata_bytes = 100"):
        nczchunk.open(DATA / "coads_sst.zarr", memory_limits=few)
    with nczchunk.NewZip(tmp_path / "a.zip", memory_limits=MemoryLimits(string_chunk_bytes=4000)) as new:
        array = nczchunk.create(new, "a", shape=(1,), dtype=str)
        array[0] = "x" * 5000
        with _refused("string_chunk_bytes = 4000"):
            array[0]
        with pytest.raises(ValueError, match="memory_limits: .*NewZip"):
            nczchunk.create(new, "b", shape=(1,), dtype="i4", memory_limits=limits)
    path = tmp_path / "new"
    assert nczchunk.create(path, "x", shape=(2,), dtype="i4", dims=["x"], memory_limits=limits)[...].tolist() == [0, 0]
    assert xarray.open_dataset(path, engine="nczchunk", memory_limits=limits)["x"].shape == (2,)
    with pytest.raises(MemoryError, match="metadata_bytes = 100"):
        xarray.open_dataset(path, engine="nczchunk", memory_limits=few)


@pytest.mark.parametrize("given, kind, message", [
    ({"chunk_bytes": 0}, ValueError, "chunk_bytes: expected an integer from 1 "),
    ({"metadata_bytes": 2**64}, ValueError, "metadata_bytes: "),
    ({"string_chunk_bytes": 1.5}, TypeError, "string_chunk_bytes: expected an integer"),
])
def test_limits_are_numbers_of_bytes(given, kind, message):
    with pytest.raises(kind, match=message):
        MemoryLimits(**given)


def test_other_things_are_no_limits(tmp_path):
    for use in [nczchunk.open, nczchunk.list_nodes, nczchunk.NewZip,
                lambda path, **given: nczchunk.create(path, shape=(1,), dtype="i4", **given)]:
        with pytest.raises(TypeError, match="memory_limits: expected MemoryLimits or None"):
            use(tmp_path / "a", memory_limits={"chunk_bytes": 1})
    assert not (tmp_path / "a").exists()
    assert np.array_equal(MemoryLimits(), (None, None, None))


def test_attributes_that_cannot_be_read_are_no_empty_ones(tmp_path):
    nczchunk.create(tmp_path, "a", shape=(2,), dtype="i4", format="zarr2", attrs={"units": "m"})[...] = 7
    (tmp_path / "a/.zattrs").write_text('{"units": ')
    array = nczchunk.open(tmp_path, "a")
    assert array[...].tolist() == [7, 7]
    for use in [lambda: array.attrs["units"], lambda: dict(array.attrs), lambda: repr(array.attrs)]:
        with pytest.raises(nczchunk.Error, match=".zattrs"):
            use()
