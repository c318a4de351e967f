"""Azure's own client for Python is the judge of the tests' own store in Azure's dialect, and of what the program does
there: each reads what the other has written. The server of the tests does what this client expects of Azure, or the
client says so; an error that only the library's client and the server share would be seen here.
"""

import logging
import os
import pathlib
import subprocess

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient

ROOT = pathlib.Path(__file__).parent.parent.parent
CONTAINER = "ocean"
# The client warns of answers without words, which those to HEAD are.
logging.getLogger("azure").setLevel(logging.ERROR)
# The server checks no signatures.
KEY = "a2V5"


def server():
    """The server of the Rust tests, which ends with its input, and its address."""
    command = "cargo test --locked --features network,parquet --test network -- --ignored --nocapture --exact"
    process = subprocess.Popen([*command.split(), "stores::serve_others"], cwd=ROOT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    lines = (line.strip() for line in process.stdout)
    return process, next(line for line in lines if line.startswith("http://")).rstrip("/")


def files_of(directory):
    """The files below a directory by their names in a store."""
    paths = [path for path in pathlib.Path(directory).rglob("*") if path.is_file()]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def blobs_of(container, path):
    """The objects below a path, as Azure's client lists and reads them."""
    names = [blob.name for blob in container.list_blobs(name_starts_with=f"{path}/")]
    return {name.removeprefix(f"{path}/"): container.download_blob(name).readall() for name in names}


def is_refused(kind, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind:
        return True
    return False


def server_is_as_azure(container):
    """What the client expects: conditions, ranges, parts, lists and removals."""
    blob = container.get_blob_client("judge/a")
    first = blob.upload_blob(b"0123456789")["etag"]
    assert is_refused(ResourceExistsError, blob.upload_blob, b"other")
    assert blob.download_blob(offset=3, length=4).readall() == b"3456"
    second = blob.upload_blob(b"abc", overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified)["etag"]
    assert second != first
    assert is_refused(HttpResponseError, blob.upload_blob, b"x", overwrite=True, etag=first,
                      match_condition=MatchConditions.IfNotModified)
    assert is_refused(HttpResponseError, blob.download_blob, etag=first, match_condition=MatchConditions.IfNotModified)
    assert blob.download_blob().readall() == b"abc" and blob.get_blob_properties().size == 3
    parts = container.get_blob_client("judge/b/parts")
    parts.stage_block("MDAy", b"world")
    parts.stage_block("MDAx", b"hello ")
    assert not parts.exists()
    parts.commit_block_list(["MDAx", "MDAy"])
    assert parts.download_blob().readall() == b"hello world"
    names = [found.name for found in container.walk_blobs("judge/", delimiter="/")]
    assert sorted(names) == ["judge/a", "judge/b/"], names
    for each in (blob, parts):
        each.delete_blob()
        assert not each.exists() and is_refused(ResourceNotFoundError, each.delete_blob)


def check(run, env, directory):
    """The program's arrays are read by Azure's client, and those that this has written by the program."""
    process, address = server()
    try:
        keys = {"account_name": "devstoreaccount1", "account_key": KEY}
        sizes = {"max_single_put_size": 4 << 20, "max_block_size": 1 << 20}
        service = BlobServiceClient(f"{address}/devstoreaccount1", keys, **sizes)
        container = service.get_container_client(CONTAINER)
        server_is_as_azure(container)
        env = {**env, "AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": address}
        source = ROOT / "data" / "coads_sst.nc"
        local = os.path.join(directory, "azure.zarr")
        run(env, "copy", source, "SST", local, "--format", "zarr3", "--chunks", "3,45,45")
        files = files_of(local)
        assert len(files) > 30
        url = f"az://{CONTAINER}"
        run(env, "copy", local, f"{url}/ours.zarr")
        assert blobs_of(container, "ours.zarr") == files
        for name, data in files.items():
            container.upload_blob(f"theirs 1%.zarr/{name}", data)
        back = os.path.join(directory, "azure_back.zarr")
        run(env, "copy", f"{url}/theirs 1%.zarr", back)
        assert files_of(back) == files
        # Objects in parts, either way.
        run(env, "copy", os.path.join(directory, "large.zarr"), f"{url}/large.zarr")
        assert blobs_of(container, "large.zarr")["c/0"] == files_of(os.path.join(directory, "large.zarr"))["c/0"]
        container.upload_blob("parts/theirs.nc", source.read_bytes() + bytes(9 << 20))
        text = run(env, "info", f"{url}/parts/theirs.nc", "SST")
        assert "90" in text, text
    finally:
        process.stdin.close()
        process.wait(timeout=60)
