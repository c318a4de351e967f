"""Dask's workers, which are processes, read and write by nczchunk."""

import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import nczchunk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr", "3.1")

OURS = {"codec_pipeline.path": "nczchunk.zarr.CodecPipeline"}
VALUES = np.random.default_rng(3).normal(15, 8, (24, 30, 40)).astype("f4")


def use_ours():
    """Has zarr-python use nczchunk in each worker."""
    import nczchunk.zarr  # noqa: F401
    zarr.config.set(OURS)


@pytest.fixture(scope="module")
def client():
    with zarr.config.set(OURS), distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1") as cluster:
        with distributed.Client(cluster) as client:
            client.run(use_ours)
            yield client


@pytest.fixture
def stored(tmp_path):
    """Paths of an array in chunks and of one in shards, with dimensions for xarray."""
    for name, shards in (("chunks", None), ("shards", (12, 30, 20))):
        group = zarr.create_group(tmp_path / name)
        group.create_array("t", shape=VALUES.shape, dtype="f4", chunks=(6, 15, 20), shards=shards,
                           dimension_names=("time", "lat", "lon"), attributes={"units": "degC"})[...] = VALUES
    return tmp_path


def test_the_program_of_the_page(tmp_path):
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/dask.md"
    block = r"^<!-- run: by scripts/test-python -->\n```python\n(.*?)^```$"
    [program] = re.findall(block, page.read_text(), re.MULTILINE | re.DOTALL)
    path = tmp_path / "program.py"
    path.write_text(program + '    print(client.run(lambda: zarr.config.get("codec_pipeline.path")))\n')
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.count("'nczchunk.zarr.CodecPipeline'") == 2, done.stderr


@pytest.mark.parametrize("layout", ["chunks", "shards"])
def test_a_mean_over_time(client, stored, layout):
    xarray = pytest.importorskip("xarray")
    due = VALUES.mean(0, dtype="f8")
    path = stored / layout
    ours = nczchunk.open(path, "t")
    found = da.from_array(ours, chunks=ours.shards or ours.chunks).mean(0, dtype="f8").compute()
    np.testing.assert_allclose(found, due, rtol=1e-12)
    with xarray.open_dataset(path, engine="nczchunk", chunks={}) as dataset:
        assert dataset["t"].chunks[0][0] % 6 == 0
        np.testing.assert_allclose(dataset["t"].mean("time", dtype="f8").compute(), due, rtol=1e-12)
    with xarray.open_zarr(path, consolidated=False) as dataset:
        np.testing.assert_allclose(dataset["t"].mean("time", dtype="f8").compute(), due, rtol=1e-12)


def test_a_mean_over_time_of_several_files(client, tmp_path):
    xarray = pytest.importorskip("xarray")
    paths = [tmp_path / f"{part}.zarr" for part in range(3)]
    for part, path in enumerate(paths):
        given = xarray.Dataset({"t": (("time", "lat", "lon"), VALUES[part * 8:part * 8 + 8])},
                               coords={"time": np.arange(8) + part * 8})
        given.to_zarr(path, consolidated=False)
    with xarray.open_mfdataset(paths, engine="nczchunk", chunks={}, parallel=True, combine="by_coords") as dataset:
        assert dataset.sizes["time"] == 24
        np.testing.assert_allclose(dataset["t"].mean("time", dtype="f8").compute(), VALUES.mean(0, dtype="f8"),
                                   rtol=1e-12)


def test_a_rechunk(client, stored):
    ours = nczchunk.open(stored / "chunks", "t")
    target = nczchunk.create(stored / "series", shape=VALUES.shape, dtype="f4", chunks=(24, 10, 10))
    da.store(da.from_array(ours, chunks=ours.chunks).rechunk(target.chunks), target, lock=False)
    assert np.array_equal(nczchunk.open(stored / "series")[...], VALUES)
    again = zarr.create_array(stored / "again", shape=VALUES.shape, dtype="f4", chunks=(24, 10, 10))
    da.from_zarr(zarr.open_array(stored / "series", mode="r")).rechunk(again.chunks).to_zarr(again)
    assert np.array_equal(nczchunk.open(stored / "again")[...], VALUES)


def test_arrays_are_sent_without_their_elements(stored):
    ours = nczchunk.open(stored / "chunks", "t")
    ours[...]  # the cache is full
    assert len(pickle.dumps(ours)) < 1000
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(stored / "chunks", engine="nczchunk") as dataset:
        assert len(pickle.dumps(dataset)) < 10000
    with zarr.config.set(OURS):
        array = zarr.open_array(stored / "chunks", path="t")
        array[...]
        assert len(pickle.dumps(array)) < 10000


def test_graphs_are_sent_without_elements(stored):
    cloudpickle = pytest.importorskip("cloudpickle")
    xarray = pytest.importorskip("xarray")
    with zarr.config.set(OURS):
        for path, name in ((stored / "chunks", "t"), (stored / "shards", "t")):
            ours = nczchunk.open(path, name)
            whole = ours[...]  # the caches are full
            with xarray.open_dataset(path, engine="nczchunk", chunks={}) as dataset, \
                    xarray.open_zarr(path, consolidated=False, chunks={}) as by_pipeline:
                for lazy in (da.from_array(ours, chunks=ours.chunks), dataset["t"].data, by_pipeline["t"].data):
                    assert np.array_equal(lazy.compute(scheduler="sync"), whole)
                    graph = cloudpickle.dumps(lazy.mean(0, dtype="f8").__dask_graph__())
                    assert len(graph) < 500 * lazy.npartitions + 10000 < VALUES.nbytes
                    assert whole[0, 0].tobytes() not in graph


def write_part(kind, path, first, last):
    """Writes rows of a chunk that others write to, too."""
    if kind == "list":
        nczchunk.open(path, mode="r+")[list(range(first, last))] = np.full((last - first, 8), first + 1, "i4")
    elif kind == "package":
        nczchunk.open(path, mode="r+")[first:last] = first + 1
    else:
        use_ours()
        rows = list(range(first, last)) if kind == "pipeline, list" else slice(first, last)
        zarr.open_array(path, mode="r+").oindex[rows] = first + 1


@pytest.mark.parametrize("shards", [None, (64, 8)])
@pytest.mark.parametrize("kinds", [["package"], ["pipeline"], ["list"], ["pipeline, list"], [
    "package", "pipeline", "list", "pipeline, list"]])
def test_parts_of_a_chunk_that_workers_write_are_not_lost(client, tmp_path, kinds, shards):
    path = tmp_path / "a"
    nczchunk.create(path, shape=(64, 8), dtype="i4", chunks=(64, 8) if shards is None else (16, 8), shards=shards)
    rows = np.arange(64)
    client.gather([client.submit(write_part, kinds[i % len(kinds)], os.fspath(path), 2 * i, 2 * i + 2, pure=False)
                   for i in range(32)])
    assert nczchunk.open(path)[...].tolist() == np.repeat(rows // 2 * 2 + 1, 8).reshape(64, 8).tolist()


def test_parts_of_a_chunk_that_threads_write_are_not_lost(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(64, 8), dtype="i4", chunks=(64, 8))
    threads = [threading.Thread(target=array.__setitem__, args=(i, i + 1)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array[:, 0].tolist() == list(range(1, 65))


def test_regions_of_xarray_that_share_a_chunk(client, tmp_path):
    xarray = pytest.importorskip("xarray")
    whole = xarray.Dataset({"t": (("time", "lat", "lon"), VALUES)})
    whole.to_zarr(tmp_path / "a", compute=False, encoding={"t": {"chunks": (24, 30, 40)}}, consolidated=False)
    # xarray refuses what Dask would write in parts of a chunk.
    with pytest.raises(ValueError, match="overlap"):
        whole.chunk(time=5).to_zarr(tmp_path / "a", region={"time": slice(0, 24)}, consolidated=False)

    def write(first):
        use_ours()
        part = xarray.Dataset({"t": (("time", "lat", "lon"), VALUES[first:first + 2])})
        part.to_zarr(tmp_path / "a", region={"time": slice(first, first + 2)}, consolidated=False)

    client.gather(client.map(write, range(0, 24, 2)))
    assert np.array_equal(nczchunk.open(tmp_path / "a", "t")[...], VALUES)


def test_cubed_on_its_local_executor(stored):
    cubed = pytest.importorskip("cubed")
    spec = cubed.Spec(work_dir=os.fspath(stored / "work"), allowed_mem="200MB")
    with zarr.config.set(OURS):
        array = cubed.from_zarr(os.fspath(stored / "chunks"), path="t", spec=spec)
        np.testing.assert_allclose(cubed.mean(array, axis=0).compute(), VALUES.mean(0), rtol=1e-5)
        cubed.to_zarr(array.rechunk((24, 10, 10)), os.fspath(stored / "cubed"))
    assert np.array_equal(nczchunk.open(stored / "cubed")[...], VALUES)
    assert pathlib.Path(stored / "cubed").is_dir()
