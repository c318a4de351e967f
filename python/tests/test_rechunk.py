"""rechunk(): other chunks within a limit of memory."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nczchunk
from nczchunk import errors


@pytest.fixture
def maps(tmp_path):
    values = np.arange(240 * 40 * 40, dtype="i4").reshape(240, 40, 40)
    with nczchunk.create(tmp_path / "maps", shape=values.shape, dtype="i4", chunks=(1, 40, 40), codecs=None,
                         dims=("time", "y", "x"), fill_value=-1, attrs={"units": "K"}) as array:
        array[...] = values
    with nczchunk.open(tmp_path / "maps") as array:
        yield array, values


def test_an_array_gets_other_chunks(maps, tmp_path):
    source, values = maps
    report = nczchunk.rechunk(source, tmp_path / "series", chunks=(240, 10, 10))
    assert report.num_passes == 1 and report.chunks_read == 240 and report.bytes_written == values.nbytes
    with nczchunk.open(tmp_path / "series") as array:
        assert array.chunks == (240, 10, 10) and array.dims == ("time", "y", "x")
        assert array.attrs["units"] == "K" and array.fill_value == -1
        assert np.array_equal(array[...], values)
    with pytest.raises(errors.Exists):
        nczchunk.rechunk(source, tmp_path / "series", chunks=(240, 10, 10))


@pytest.mark.parametrize("options", [
    {"shards": (240, 20, 20), "codecs": ["zstd"]}, {"format": "zarr2", "codecs": [("zlib", {"level": 1})]},
    {"codecs": None, "endian": "big"}, {"memory": 64 << 20}])
def test_options(maps, tmp_path, options):
    source, values = maps
    nczchunk.rechunk(source, tmp_path / "new", "a/b", chunks=(240, 10, 10), **options)
    with nczchunk.open(tmp_path / "new", "a/b") as array:
        assert np.array_equal(array[...], values)
        assert array.shards == options.get("shards")


def test_progress_is_told_and_what_it_raises_ends_the_call(maps, tmp_path):
    (source, values), told = maps, []
    nczchunk.rechunk(source, tmp_path / "series", chunks=(240, 10, 10), memory=9 << 20,
                     progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    assert told == sorted(told) and len({total for _, total in told}) == 1

    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        nczchunk.rechunk(source, tmp_path / "ended", progress=stop)
    assert not (tmp_path / "ended" / "zarr.json").exists()
    nczchunk.rechunk(source, tmp_path / "ended")
    with nczchunk.open(tmp_path / "ended") as found:
        assert np.array_equal(found[...], values)
    # In another thread than the main one, too.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(nczchunk.rechunk, source, tmp_path / "thread", progress=lambda *far: told.append(far)).result()
    with pytest.raises(TypeError, match="expected a function"):
        nczchunk.rechunk(source, tmp_path / "x", progress=3)


def test_what_progress_raises_when_all_is_done_comes_after_the_array_is_complete(maps, tmp_path):
    source, values = maps

    def stop(done, total):
        if done == total:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        nczchunk.rechunk(source, tmp_path / "series", chunks=(240, 10, 10), progress=stop)
    with nczchunk.open(tmp_path / "series") as array:
        assert np.array_equal(array[...], values)


def test_two_passes_have_a_temporary_array(maps, tmp_path):
    source, values = maps
    source.threads = 1
    memory = 9 << 20
    plan = nczchunk.rechunk_plan(source, chunks=(240, 10, 10), memory=memory)
    assert plan.num_passes == 2 and plan.memory <= memory
    report = nczchunk.rechunk(source, tmp_path / "series", chunks=(240, 10, 10), memory=memory,
                              temporary=tmp_path / "scratch")
    assert report == plan
    assert not any((tmp_path / "scratch").iterdir())
    with nczchunk.open(tmp_path / "series") as array:
        assert np.array_equal(array[...], values)


def test_too_little_memory_is_an_error_that_says_how_much_is_enough(maps, tmp_path):
    source, _ = maps
    with pytest.raises(MemoryError, match=r"rechunking needs at least \d+ bytes of memory"):
        nczchunk.rechunk(source, tmp_path / "series", chunks=(240, 10, 10), memory=1)
    assert not (tmp_path / "series").exists()


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"chunks": (240, 10)}, ValueError, "chunks: expected 3 items"), ({"chunks": (0, 1, 1)}, ValueError, "chunks"),
    ({"format": "hdf5"}, ValueError, "format"), ({"memory": 0}, ValueError, "memory"),
    ({"codecs": "zstd"}, TypeError, "codecs"), ({"memory": "1M"}, TypeError, "memory")])
def test_wrong_arguments(maps, tmp_path, options, error, words):
    with pytest.raises(error, match=words):
        nczchunk.rechunk(maps[0], tmp_path / "series", **options)
    with pytest.raises(error, match=words):
        nczchunk.rechunk_plan(maps[0], **options)


def test_the_source_is_an_array(tmp_path):
    with pytest.raises(TypeError, match="source: expected an open Array"):
        nczchunk.rechunk("maps", tmp_path / "series")
