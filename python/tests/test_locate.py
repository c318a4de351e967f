"""Where chunks are stored, beside what others read of these bytes."""

import os
import signal
import zipfile

import numpy as np
import pytest

import nczchunk
from conftest import DATA


def read_bytes(path, chunk):
    """The bytes of a chunk, as dd reads them."""
    with open(path / chunk.object, "rb") as file:
        file.seek(chunk.offset)
        return file.read(chunk.nbytes)


@pytest.mark.parametrize("shards", [None, (6, 4)])
def test_the_bytes_are_the_chunk(tmp_path, shards):
    values = np.arange(70, dtype="<i2").reshape(10, 7)
    with nczchunk.create(tmp_path, "g/a", shape=(10, 7), dtype="<i2", chunks=(3, 2), shards=shards, codecs=None,
                         fill_value=-1, endian="little") as array:
        array[:6] = values[:6]
        chunks = array.locate()
        assert [chunk.indices for chunk in chunks] == [(i, j) for i in range(4) for j in range(4)]
        for chunk in chunks:
            i, j = chunk.indices
            key = (i // 2, j // 2) if shards else (i, j)
            assert chunk.object == f"g/a/c/{key[0]}/{key[1]}"
            if i >= 2:
                assert chunk.offset is None and chunk.nbytes is None
                continue
            found = np.frombuffer(read_bytes(tmp_path, chunk), "<i2").reshape(3, 2)
            inside = values[3 * i:3 * i + 3, 2 * j:2 * j + 2]
            assert np.array_equal(found[:, :inside.shape[1]], inside)


def test_an_index_selects_chunks(sst):
    chunks = sst.locate((0, slice(80, None), slice(40, 150)))
    assert [chunk.indices for chunk in chunks] == [(0, 2, k) for k in range(3)]
    # In either direction they are the same.
    assert sst.locate((slice(None, None, -5), 0, -1)) == sst.locate((slice(1, None, 5), 0, -1))
    assert sst.locate((0, 0, slice(0, 0))) == []
    cost = sst.read_cost((0, slice(80, None), slice(40, 150)))
    assert (cost.requests, cost.bytes) == (3, sum(chunk.nbytes or 0 for chunk in chunks))
    assert (cost.index_requests, cost.index_bytes) == (0, 0)
    stored = [chunk for chunk in sst.locate() if chunk.nbytes is not None]
    assert len(stored) == 34
    for chunk in stored:
        assert chunk.nbytes == (DATA / "coads_sst.zarr" / chunk.object).stat().st_size


def test_an_entry_of_a_zip_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for path in sorted((DATA / "coads_sst.zarr").iterdir()):
            file.write(path, f"top/{path.name}")
    with nczchunk.open(tmp_path / "a.zip") as array, zipfile.ZipFile(tmp_path / "a.zip") as file:
        for chunk in array.locate():
            if chunk.nbytes is not None:
                assert len(file.read(chunk.object)) == chunk.nbytes


def test_a_file_is_the_object():
    path = DATA / "coads_sst.nc"
    with nczchunk.open(path, "COADSY") as array:
        (chunk,) = array.locate()
        assert chunk.object == "" and chunk.indices == (0,)
        found = path.read_bytes()[chunk.offset:chunk.offset + chunk.nbytes]
        assert np.array_equal(np.frombuffer(found, ">f8"), array[:])


def test_what_cannot_be_located(sst):
    with pytest.raises(IndexError):
        sst.locate((12, 0, 0))
    sst.close()
    with pytest.raises(ValueError):
        sst.locate()


@pytest.mark.unix
def test_a_signal_ends_it(tmp_path):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    # All chunks are absent; to tell of them takes long.
    with nczchunk.create(tmp_path, "a", shape=(10_000_000,), dtype="int8", chunks=(1,)) as array:
        before = signal.signal(signal.SIGALRM, stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Stop):
                array.locate()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def test_references_lead_to_the_same_values(tmp_path):
    path, references = DATA / "coads_sst.nc", tmp_path / "refs.json"
    nczchunk.write_references(path, references)
    with nczchunk.open(path, "SST") as due, nczchunk.open(references, "SST") as found:
        assert found.format == "Zarr v2" and found.dims == due.dims
        np.testing.assert_array_equal(found[...], due[...])
    nczchunk.write_references(path, references, "COADSY", url="https://example.org/a.nc")
    assert '"COADSY/0":["https://example.org/a.nc",' in references.read_text()
    with pytest.raises(FileNotFoundError):
        nczchunk.write_references(tmp_path / "no.nc", references)


def test_references_are_written_where_a_directory_is_and_to_no_other_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = DATA / "coads_sst.nc"
    for missing in [tmp_path / "no" / "refs.json", "no/refs.json", "ftp://host/refs.json", f"file://{tmp_path}/no/r"]:
        with pytest.raises(FileNotFoundError, match="No such file or directory: '.*(no|ftp://host)'$"):
            nczchunk.write_references(path, missing)
    # The URL is the library's to use or refuse. HTTP servers are read-only in every build.
    for url in ["http://127.0.0.1:1/a/refs.json", "HTTPS://127.0.0.1:1/refs.json"]:
        with pytest.raises(NotImplementedError, match="(?i)^https?://127.0.0.1:1.*: not supported: "):
            nczchunk.write_references(path, url)
    for url in ["s3://refs.json", "s3://bucket/", "s3://"]:
        with pytest.raises(ValueError, match=f"^output: the URL names no object in a bucket: {url}$"):
            nczchunk.write_references(path, url)
    assert not os.listdir(tmp_path)
    nczchunk.write_references(path, f"file://{tmp_path}/refs.json")
    assert os.listdir(tmp_path) == ["refs.json"]
    with nczchunk.open("refs.json", "SST") as found:
        assert found.shape == (12, 90, 180)
