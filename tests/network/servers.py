#!/usr/bin/env python3
"""Arrays in an object store that answers as S3 does, written and read by zarr-python and by the program nczchunk, and
in the tests' own store in Azure's dialect, where Azure's own client is the judge: see azure_judge.py.

    tests/network/servers.py PROGRAM AT_URL

AT_URL is at_url.cpp, which opens and makes arrays there by the interface for C++. Python's package, which is on the C
interface, does so as well: NCZCHUNK_LIBRARY and PYTHONPATH say where it is. Starts moto on the loopback interface, and
stops it. Exits 1 if what one writes is not what the other reads.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

import boto3
import numpy
import obstore.store
import zarr

import azure_judge

PROGRAM, AT_URL = sys.argv[1:]
BUCKET = "ocean"


def start():
    """The server, on a port that it chooses, and its address."""
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return server, address
        except OSError:
            assert server.poll() is None, "moto has ended"
            time.sleep(0.1)
    server.kill()
    sys.exit("moto does not answer")


def environment(address, **others):
    env = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    return {**env, **keys, **others}


def run(env, *arguments, fails=False):
    """What the program prints, on both streams if it has to fail."""
    done = subprocess.run([PROGRAM, *arguments], env=env, capture_output=True, text=True, timeout=300)
    if (done.returncode != 0) != fails:
        sys.exit(f"nczchunk {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if fails else "")


def expect(words, text):
    if words not in text:
        sys.exit(f"`{words}` is not in:\n{text}")


def store_of(address, path):
    store = obstore.store.S3Store(BUCKET, prefix=path, endpoint=address, access_key_id="key", region="us-east-1",
                                  secret_access_key="secret", client_options={"allow_http": True},
                                  virtual_hosted_style_request=False)
    return zarr.storage.ObjectStore(store)


def written_by_zarr(address, env):
    """A group of zarr-python's, with chunks, shards and consolidated metadata."""
    values = numpy.arange(60 * 50, dtype="f4").reshape(60, 50)
    store = store_of(address, "z.zarr")
    group = zarr.create_group(store, zarr_format=3)
    for name, shards in [("plain", None), ("sharded", (20, 20))]:
        array = group.create_array(name, shape=values.shape, chunks=(10, 10), shards=shards, dtype=values.dtype,
                                   dimension_names=["y", "x"])
        array[:] = values
    url = f"s3://{BUCKET}/z.zarr"
    for fragment in ["", "#mode=nczarr,s3", "#mode=zarr,s3"]:
        text = run(env, "list", url + fragment)
        expect("plain", text)
        expect("sharded", text)
    zarr.consolidate_metadata(store)
    expect("sharded", run(env, "list", url))
    for name in ["plain", "sharded"]:
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            run(env, "dump", f"{url}#mode=zarr", name, "--format", "npy", "--output", file.name)
            assert numpy.array_equal(numpy.load(file.name), values), name
        run(env, "map", url, name)
    # netCDF's other way to name the same.
    expect("plain", run(env, "list", f"{address}/{BUCKET}/z.zarr#mode=zarr,s3"))
    text = run(env, "info", "s3://no-such-bucket/z.zarr", fails=True)
    expect("s3://no-such-bucket/z.zarr: no such bucket", text)
    text = run(env, "info", f"s3://{BUCKET}/typo.zarr", fails=True)
    expect("typo.zarr: no such array or group", text)


def written_by_us(address, env, directory):
    """An array that the program copies there, from a file and back."""
    source = os.path.join(os.path.dirname(__file__), "../../data/coads_sst.nc")
    url = f"s3://{BUCKET}/copies/sst.zarr"
    run(env, "copy", source, "SST", url, "--format", "zarr3")
    local = os.path.join(directory, "sst.zarr")
    run(env, "copy", source, "SST", local, "--format", "zarr3")
    expected = zarr.open_array(local)[:]
    found = zarr.open_array(store_of(address, "copies/sst.zarr"), mode="r")[:]
    assert numpy.array_equal(expected, found, equal_nan=True)
    back = os.path.join(directory, "back.zarr")
    run(env, "copy", url, back)
    assert numpy.array_equal(expected, zarr.open_array(back)[:], equal_nan=True)
    # What is there is not replaced.
    expect("exists here", run(env, "copy", source, "SST", url, fails=True))
    # A file, as it is.
    client = client_of(address)
    client.upload_file(source, BUCKET, "files/sst.nc")
    expect("SST", run(env, "list", f"s3://{BUCKET}/files/sst.nc"))
    expect("90", run(env, "info", f"s3://{BUCKET}/files/sst.nc", "SST"))
    run(env, "copy", f"s3://{BUCKET}/files/sst.nc", "SST", os.path.join(directory, "of_file.zarr"))
    of_file = zarr.open_array(os.path.join(directory, "of_file.zarr"))[:]
    assert numpy.array_equal(expected, of_file, equal_nan=True)
    # A large object goes in parts.
    values = numpy.random.default_rng(1).integers(0, 2**62, 11 << 20)
    large = zarr.create_array(os.path.join(directory, "large.zarr"), shape=values.shape, chunks=values.shape,
                              dtype=values.dtype, compressors=None)
    large[:] = values
    run(env, "copy", os.path.join(directory, "large.zarr"), f"s3://{BUCKET}/large.zarr")
    etag = client.head_object(Bucket=BUCKET, Key="large.zarr/c/0")["ETag"]
    assert "-" in etag, f"88 MiB were written at once: {etag}"
    assert numpy.array_equal(zarr.open_array(store_of(address, "large.zarr"), mode="r")[:], values)
    assert not client.list_multipart_uploads(Bucket=BUCKET).get("Uploads"), "an upload was left"


def client_of(address):
    return boto3.client("s3", endpoint_url=address, aws_access_key_id="key", aws_secret_access_key="secret",
                        region_name="us-east-1")


def as_google(address, env, directory):
    """Google's XML interface is that of S3 with other headers: what zarr-python writes there is read by gs://. moto
    does not take writes without S3's signature, and knows no conditions of Google's."""
    key = {"gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    google = {name: value for name, value in env.items() if not name.startswith("AWS_")}
    google.update(GOOGLE_SERVICE_ACCOUNT_KEY=json.dumps(key), GOOGLE_ALLOW_HTTP="true")
    # Its requests have no signature of S3's.
    client = client_of(address)
    for found in client.list_objects_v2(Bucket=BUCKET, Prefix="z.zarr/")["Contents"]:
        client.put_object_acl(Bucket=BUCKET, Key=found["Key"], ACL="public-read")
    expect("sharded", run(google, "list", f"gs://{BUCKET}/z.zarr"))
    expected = zarr.open_array(store_of(address, "z.zarr"), path="sharded", mode="r")[:]
    copied = os.path.join(directory, "google.zarr")
    run(google, "copy", f"gs://{BUCKET}/z.zarr", "sharded", copied)
    assert numpy.array_equal(zarr.open_array(copied)[:], expected)


def costs(address, env):
    """What a plan says, before it is read, is what it takes."""
    url = f"s3://{BUCKET}/z.zarr#mode=zarr"
    for name in ["plain", "sharded"]:
        for slab in ["15,:", ":,:", "::7,3"]:
            plan = json.loads(run(env, "plan", url, name, "--slab", slab, "--json", "--run", "--threads", "1"))
            found = {key: plan["measured"][key] for key in ["requests", "bytes"]}
            assert found == {key: plan["cost"][key] for key in found}, plan


def by_the_c_interface(env):
    """Python's package is on the C interface: arrays, groups and xarray's datasets are at URLs as they are at paths."""
    code = """
import errno, os
import numpy, xarray, nczchunk
from nczchunk.xarray_backend import Backend
url = "s3://ocean/z.zarr"
expected = numpy.arange(60 * 50, dtype="f4").reshape(60, 50)
assert numpy.array_equal(nczchunk.open(url, "sharded")[5:, ::3], expected[5:, ::3])
assert {node.name for node in nczchunk.list_nodes(url)} == {"", "plain", "sharded"}
with xarray.open_dataset(url, engine=Backend) as dataset:
    assert numpy.array_equal(dataset.plain[:, 7], expected[:, 7])
nczchunk.create("s3://ocean/c.zarr", shape=(4, 5), dtype="f8", chunks=(2, 5))[:] = 7
assert (nczchunk.open("s3://ocean/c.zarr")[:] == 7).all()
nczchunk.create_group("s3://ocean/g.zarr")
group = nczchunk.open_group("s3://ocean/g.zarr", mode="r+")
group.attrs["units"] = "degC"
group.create("a", shape=(3,), dtype="i4")[:] = 5
again = nczchunk.open_group("s3://ocean/g.zarr")
assert dict(again.attrs) == {"units": "degC"} and (again["a"][:] == 5).all()
nczchunk.write_references("s3://ocean/z.zarr", "s3://ocean/refs/z.json", "plain")
assert numpy.array_equal(nczchunk.open("s3://ocean/refs/z.json", "plain")[:], expected)
os.environ["NCZCHUNK_NETWORK_TIMEOUT"] = "1"
try:
    nczchunk.open("http://127.0.0.1:1/a.zarr")
except OSError as error:
    assert error.errno == errno.EIO, error
else:
    raise AssertionError("somebody has answered where nobody listens")
"""
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(done.stderr)


def in_cpp(address, env):
    """What zarr-python has written is read in C++; what is written in C++ is read by zarr-python."""
    done = subprocess.run([AT_URL, f"s3://{BUCKET}/z.zarr", f"s3://{BUCKET}/cpp.zarr"], env=env, capture_output=True,
                          text=True, timeout=300)
    if done.returncode:
        sys.exit(done.stderr)
    expected = numpy.arange(0.5, 20.5).reshape(4, 5)
    expected[3, 4] = -1
    array = zarr.open_array(store_of(address, "cpp.zarr"), path="a", mode="r")
    assert array.attrs["units"] == "K" and numpy.array_equal(array[:], expected)


def memory(address, env):
    """What a process takes to read a large array of shards, as the system tells it: what is read, and for what is in
    flight and what is being decoded so much as is documented, whatever the array has."""
    shape, most = (32, 1024, 1024), 2 * 2 * 16 + 16
    values = numpy.random.default_rng(2).random(shape, "f4")
    array = zarr.create_array(store_of(address, "memory.zarr"), name="shards", shape=shape, dtype="f4",
                              chunks=(1, 256, 256), shards=(4, 1024, 1024))
    array[:] = values
    code = """
import numpy, nczchunk, sys
array = nczchunk.open("s3://ocean/memory.zarr", "shards")
found = array[:] if sys.argv[1] == "all" else numpy.full(array.shape, array[0, 0, 0])
print(numpy.sum(found[::5, 7, ::9], dtype="f8"))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    def peak(what):
        done = subprocess.run([sys.executable, "-c", code, what], env=env, capture_output=True, text=True, timeout=300)
        if done.returncode:
            sys.exit(done.stderr)
        found, kib = done.stdout.split()
        return int(kib) / 1024, float(found)

    without, _ = peak("one")
    taken, found = peak("all")
    assert found == numpy.sum(values[::5, 7, ::9], dtype="f8")
    assert 0 < taken - without <= most, f"{taken - without:.0f} MiB besides what is read"
    return taken - without


def two_writers(env):
    """Of writers that create one array at the same time one succeeds, and the others are told."""
    source = os.path.join(os.path.dirname(__file__), "../../data/coads_sst.nc")
    for attempt in range(3):
        url = f"s3://{BUCKET}/race{attempt}.zarr"
        racers = [subprocess.Popen([PROGRAM, "copy", source, "SST", url], env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True) for _ in range(4)]
        ends = [(*racer.communicate(timeout=300), racer.returncode) for racer in racers]
        assert [status for *_, status in ends].count(0) == 1, ends
        for _, words, status in ends:
            told = "another writer has made or changed" in words or "exists here" in words
            assert status == 0 or told, words


def main():
    server, address = start()
    try:
        client_of(address).create_bucket(Bucket=BUCKET)
        env = environment(address)
        with tempfile.TemporaryDirectory() as directory:
            written_by_zarr(address, env)
            print("what zarr-python writes is read")
            written_by_us(address, env, directory)
            print("what the program writes is read by zarr-python")
            as_google(address, env, directory)
            print("it is read by Google's interface as well")
            azure_judge.check(run, env, directory)
            print("what Azure's own client writes is read, and the other way round")
        by_the_c_interface(env)
        print("it is read and written by the C interface, Python and xarray")
        in_cpp(address, env)
        print("it is read and written in C++")
        costs(address, env)
        print("what a plan costs is known before")
        print(f"128 MiB in shards are read with {memory(address, env):.0f} MiB besides")
        two_writers(env)
        print("of several writers of one array one succeeds")
    finally:
        server.terminate()
        server.wait(timeout=60)


main()
