"""Breaks the metadata of datasets at random, and walks through them: hostile.py DATA DIRECTORY COUNT WALK..."""
import pathlib
import random
import shutil
import subprocess
import sys

data, where, number = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
random.seed(1)
shutil.rmtree(where, ignore_errors=True)
PIECES = [b"0", b"-1", b"1", b"null", b"[]", b"{}", b'""', b"9223372036854775807", b"1e400", b"true", b'"zstd"',
          b'"string"', b'"float32"', b"\xff", b"/"]
paths = []
for i in range(number):
    name = random.choice(["ocean.zarr", "sst.zarr", "land.zarr", "xarray2.zarr", "xarray3.zarr"])
    copy = where / f"{i}.zarr"
    shutil.copytree(data / name, copy)
    files = [f for f in copy.rglob("*") if f.name in ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")]
    for file in random.sample(files, min(len(files), random.randint(1, 4))):
        text = bytearray(file.read_bytes())
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text))
            end = min(len(text), at + random.choice([0, 1, 1, 2, 8]))
            text[at:end] = random.choice(PIECES)
        file.write_bytes(text)
    paths.append(copy / ("zarr.json" if (copy / "zarr.json").exists() else ".zgroup"))
# Many in one process, for what one leaves behind.
for at in range(0, number, 20):
    subprocess.run(sys.argv[4:] + [str(path) for path in paths[at : at + 20]], check=True, timeout=300,
                   stdout=subprocess.DEVNULL if at else None)
