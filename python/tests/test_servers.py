"""Storages of obstore at servers: which arrays Dask takes for the same, and answers of which little is known."""

import http.server
import os
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import nczchunk
from nczchunk import storage

DATE = "Thu, 26 Nov 2026 10:00:00 GMT"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = os.path.join(self.server.directory, self.path.split("?")[0].lstrip("/"))
        if not os.path.isfile(path):
            return self.answer(404, b"", {})
        with open(path, "rb") as file:
            data = file.read()
        headers = {"ETag": self.server.etag, "Last-Modified": DATE}
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return self.answer(200, data, headers)
        first, last = asked.groups()
        begin = int(first) if first else max(len(data) - int(last), 0)
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        if begin >= end:
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
        return self.answer(206, data[begin:end], headers | {"Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture
def serve():
    """Serves a directory; returns the address."""
    servers = []

    def start(directory, etag='"1"'):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.directory, server.etag, server.daemon_threads = os.fspath(directory), etag, True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def s3(address, **options):
    store = pytest.importorskip("obstore.store")
    config = {"endpoint": address, "region": "us-east-1", "skip_signature": True, **options}
    return store.S3Store("bucket", config=config, client_options={"allow_http": True})


def test_dask_tells_servers_apart(tmp_path, serve):
    dask, da = pytest.importorskip("dask.base"), pytest.importorskip("dask.array")
    arrays, addresses = [], []
    for value in (1, 2):
        nczchunk.create(tmp_path / f"{value}" / "bucket" / "a", shape=(4,), dtype="i4")[...] = value
        addresses.append(serve(tmp_path / f"{value}"))
        arrays.append(nczchunk.open(s3(addresses[-1]), "a"))
    first, second = map(dask.tokenize, arrays)
    assert first != second
    found = da.compute(*map(da.from_array, arrays))
    assert [one.tolist() for one in found] == [[1] * 4, [2] * 4]
    # Other stores of the same options are the same, also within other storages.
    assert first == dask.tokenize(nczchunk.open(s3(addresses[0]), "a"))
    assert first != dask.tokenize(nczchunk.open(s3(addresses[0], virtual_hosted_style_request=False), "a"))
    linked = [nczchunk.open(nczchunk.with_external_links(s3(address)), "a") for address in addresses]
    assert len({first, second, *map(dask.tokenize, linked)}) == 4
    zarr = pytest.importorskip("zarr")
    if hasattr(zarr.storage, "ObjectStore"):
        wrapped = [nczchunk.open(zarr.storage.ObjectStore(s3(address)), "a") for address in addresses]
        assert dask.tokenize(wrapped[0]) != dask.tokenize(wrapped[1])
    secret = nczchunk.open(s3(addresses[0], access_key_id="key", secret_access_key="hunter2"), "a")
    assert "hunter2" not in repr(secret.__dask_tokenize__())


def test_dask_tells_servers_apart_that_the_environment_chooses(tmp_path, serve, monkeypatch):
    dask, store = pytest.importorskip("dask.base"), pytest.importorskip("obstore.store")
    for name, value in (("REGION", "us-east-1"), ("SKIP_SIGNATURE", "true"), ("ALLOW_HTTP", "true")):
        monkeypatch.setenv(f"AWS_{name}", value)
    arrays, datasets = [], []
    for value in (1, 2):
        nczchunk.create(tmp_path / f"{value}" / "bucket" / "a", "v", shape=(4,), dtype="i4", dims=["t"])[...] = value
        monkeypatch.setenv("AWS_ENDPOINT_URL", serve(tmp_path / f"{value}"))
        arrays.append(nczchunk.open(store.S3Store("bucket"), "a/v"))
        datasets.append(dask.tokenize(storage.identity_of_paths(store.S3Store("bucket"))))
        assert dask.tokenize(arrays[-1]) == dask.tokenize(nczchunk.open(store.S3Store("bucket"), "a/v"))
    assert [array[...].tolist() for array in arrays] == [[1] * 4, [2] * 4]
    assert len({*map(dask.tokenize, arrays)}) == len({*datasets}) == 2


def test_dask_tells_storages_in_memory_apart():
    dask, zarr = pytest.importorskip("dask.base"), pytest.importorskip("zarr")
    stores = [zarr.storage.MemoryStore(), zarr.storage.StorePath(zarr.storage.MemoryStore(), "below")]
    if obstore := pytest.importorskip("obstore.store"):
        stores.append(obstore.MemoryStore())
    tokens = set()
    for store in stores:
        for name in "ab":
            array = nczchunk.create(store, name, shape=(4,), dtype="i4")
            tokens.add(dask.tokenize(array))
            assert dask.tokenize(array) in tokens and len(tokens) == 2 * stores.index(store) + "ab".index(name) + 1


def test_dask_tells_joined_paths_apart(tmp_path, monkeypatch):
    dask = pytest.importorskip("dask.base")
    tokens = set()
    for directory in "xy":
        for part in "ab":
            nczchunk.create(tmp_path / directory / part, "v", shape=(4,), dtype="i4", dims=["t"])
        monkeypatch.chdir(tmp_path / directory)
        array = nczchunk.open(nczchunk.concat(["a", "b"], "t"), "v")
        tokens.add(dask.tokenize(array))
        os.utime(tmp_path / directory / "b", (1, 1))
        tokens.add(dask.tokenize(array))
    assert len(tokens) == 4


def write_zip(path, value):
    """Writes a file, in place of another one if there is one."""
    with nczchunk.NewZip(f"{path}.new") as new:
        nczchunk.create(new, "v", shape=(4,), dtype="i4", dims=["t"])[...] = value
    os.replace(f"{path}.new", path)


def test_dask_tells_a_file_from_the_one_that_replaces_it(tmp_path):
    dask, da = pytest.importorskip("dask.base"), pytest.importorskip("dask.array")
    path = tmp_path / "a.zip"
    for given in (path, nczchunk.with_external_links(path), f"file://{path}#mode=zarr,zip"):
        write_zip(path, 1)
        first = nczchunk.open(given, "v")
        write_zip(path, 2)
        second = nczchunk.open(given, "v")
        assert (da.from_array(second) - da.from_array(first)).compute().tolist() == [1] * 4
        assert dask.tokenize(second) == dask.tokenize(nczchunk.open(given, "v"))
    # Of joined files, those that were replaced cannot be read.
    joined = nczchunk.concat([path, path], "t")
    first = nczchunk.open(joined, "v")
    write_zip(path, 3)
    assert dask.tokenize(first) != dask.tokenize(nczchunk.open(joined, "v"))


def test_dask_tells_names_with_a_scheme_apart_wherever_the_process_works(tmp_path, monkeypatch):
    dask = pytest.importorskip("dask.base")
    nczchunk.create(tmp_path / "a", shape=(4,), dtype="i4")
    array = nczchunk.open(f"file://{tmp_path}/a#mode=zarr,file")
    first = dask.tokenize(array)
    monkeypatch.chdir(tmp_path)
    assert dask.tokenize(array) == first
    os.utime(tmp_path / "a", (1, 1))
    assert dask.tokenize(array) != first


def test_all_processes_know_an_array_of_fsspec_by_the_same_token(tmp_path):
    for package in ("dask", "fsspec"):
        pytest.importorskip(package)
    nczchunk.create(tmp_path / "a", shape=(4,), dtype="i4")
    program = """
import sys, fsspec, nczchunk
from dask.base import tokenize
files, memory = fsspec.filesystem("file"), fsspec.filesystem("memory")
print(*(tokenize(nczchunk.open(given)) for given in (files.get_mapper(sys.argv[1]), files.get_mapper(sys.argv[1]))))
print(tokenize(nczchunk.storage.identity(files)), tokenize(nczchunk.storage.identity(memory)))
"""
    first, second = ([line.split() for line in subprocess.run(
        [sys.executable, "-c", program, tmp_path / "a"], capture_output=True, text=True, check=True,
        timeout=60).stdout.splitlines()] for _ in range(2))
    assert first[0] == second[0] and len(set(first[0])) == 1 and first[1][0] == second[1][0]
    # Memory is that of a process.
    assert first[1][1] != second[1][1]


def test_the_environment_chooses_the_server_of_a_url(monkeypatch):
    for given in ("s3://b/a", b"S3://b/a", nczchunk.concat(["s3://b/a"], "t"),
                  nczchunk.with_external_links("az://b/a")):
        found = set()
        for name, value in (("AWS_ENDPOINT_URL", "http://a"), ("AWS_ENDPOINT_URL", "http://b"),
                            ("AZURE_STORAGE_ACCOUNT_NAME", "c"), ("OTHER", "d"), ("OTHER", "e")):
            with monkeypatch.context() as context:
                context.setenv(name, value)
                found.add(storage.server_of(given))
        assert len(found) == 4 and not any("http" in one for one in found)
    assert storage.server_of("a/b") is None and storage.server_of(object()) is None
    assert storage.identity("s3://b//a") != storage.identity("s3://b/a")


def test_an_answer_that_is_too_short_is_an_error():
    request = SimpleNamespace(from_end=0, offset=0, size=40)
    with pytest.raises(OSError, match="^read 12 bytes, expected 40; the object may have changed during the read$"):
        storage._filled(request, (bytes(12), 100, 0))


def test_which_urls_can_be_written_to():
    for url in ["s3://b/a.zarr", b"S3://b/a.zarr", "gs://b/a", "az://c/a#mode=zarr", "s3://b/a#mode=nczarr,s3",
                "https://host/b/a.zarr#mode=zarr,s3", "http://host/b/a#s3", "http://host/b/a#mode=zarr&mode=s3"]:
        assert storage.is_writable(url) and not storage.is_http(url), url
    for url in ["http://host/a.zarr", "HTTPS://host/s3/a.zarr", "http://host/a#mode=zarr"]:
        assert not storage.is_writable(url) and storage.is_http(url), url
    for url in ["s3://b/a.nc#mode=bytes", "s3://b/a.zip#mode=zarr,zip", "https://host/b/a.nc#mode=bytes,s3"]:
        assert not storage.is_writable(url) and not storage.is_http(url), url
    assert not storage.is_writable("s3:/b/a") and not storage.is_writable("ftp://host/a")


def test_a_group_at_an_http_server_is_read_only_for_the_right_reason(monkeypatch):
    # As if the library had found a group there.
    monkeypatch.setattr(nczchunk.group, "one_node", lambda *_: nczchunk.Node(
        "", True, None, None, None, None, None, None, {}, None, "Zarr v3", {}))
    with pytest.raises(PermissionError, match='^http://host/a.zarr: HTTP servers are read-only: open it with mode="r"'):
        nczchunk.open_group("http://host/a.zarr", mode="r+")
    assert nczchunk.open_group("s3://bucket/a.zarr", mode="r+").name == ""


def test_passwords_in_urls_are_not_shown():
    store = pytest.importorskip("obstore.store")
    for given in (store.HTTPStore("http://me:hunter2@127.0.0.1:1/a", client_options={"allow_http": True},
                                  retry_config={"max_retries": 0}), "https://me:hunter2@127.0.0.1:1/a"):
        with pytest.raises(Exception) as raised:
            nczchunk.open(given)
        assert "hunter2" not in str(raised.value) and "127.0.0.1:1" in str(raised.value)
    with pytest.raises(nczchunk.Error, match="127.0.0.1:1") as raised:
        nczchunk.list_nodes("https://me:at@hunter2@127.0.0.1:1/a")
    assert "hunter2" not in str(raised.value)


def sharded(path, first):
    """A shard with two of four chunks, whose length does not depend on which."""
    values = np.arange(1, 33, dtype="i4") + 100 * first
    nczchunk.create(path, shape=(64,), dtype="i4", chunks=(16,), shards=(64,), codecs=None)[
        16 * first:16 * first + 32] = values


@pytest.mark.parametrize("etag", ['W/"1"', '""'])
def test_a_weak_etag_is_no_version(tmp_path, serve, etag):
    store = pytest.importorskip("obstore.store")
    sharded(tmp_path / "old", 0)
    sharded(tmp_path / "new", 1)
    address = serve(tmp_path, etag)
    array = nczchunk.open(store.HTTPStore(f"{address}/old", client_options={"allow_http": True}), cache=None)
    assert array[16:32].tolist() == list(range(17, 33))
    os.replace(tmp_path / "new" / "c" / "0", tmp_path / "old" / "c" / "0")
    assert array[16:32].tolist() == list(range(101, 117))


def test_azure_has_no_ranges_from_the_end(tmp_path, serve):
    store = pytest.importorskip("obstore.store")
    sharded(tmp_path / "container" / "a", 0)
    address = serve(tmp_path)
    azure = store.AzureStore("container", config={"account_name": "account", "endpoint": address,
                                                  "skip_signature": True}, client_options={"allow_http": True})
    for threads in (1, 3):
        array = nczchunk.open(azure, "a", threads=threads)
        assert array[...].tolist() == [*range(1, 33), *[0] * 32]
