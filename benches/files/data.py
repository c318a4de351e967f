"""The arrays that are read from files: float32 (time, lat, lon), smooth in space and time, with noise, rounded to
hundredths as observations are."""

import json
import os
import pathlib
import platform

import numcodecs
import numpy as np
import zarr

LAT, LON = 360, 720

# The chunks of an array cut along time only, and in tiles.
LAYOUTS = {"time": (1, LAT, LON), "tiles": (24, 90, 180)}

# A cube that is read in slabs.
CUBE, CUBE_CHUNK = 512, 64

BLOSC = {"zarr_format": 2, "compressors": numcodecs.Blosc("lz4", 5, 1)}
ZLIB = {"zarr_format": 2, "filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib(4)}

# Of each codec: the share of the full length in time, and what zarr-python is told.
CODECS = {
    "zstd": (1.0, {"zarr_format": 2, "compressors": numcodecs.Zstd(3)}),
    "blosc": (0.25, BLOSC),
    "zlib": (0.25, ZLIB),
    "raw": (0.25, {"zarr_format": 2, "compressors": None}),
    "sharded": (0.25, {"zarr_format": 3}),
}


def machine():
    """The processor's name, or at least its architecture, and how many there are."""
    known = pathlib.Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{name}, {os.cpu_count()} cores"


def values(steps):
    rng = np.random.default_rng(7)
    lat = np.linspace(-1.5, 1.5, LAT, dtype="f4")[:, None]
    lon = np.linspace(0, 6.28, LON, dtype="f4")[None, :]
    out = np.empty((steps, LAT, LON), "f4")
    for step in range(steps):
        field = 25 * np.cos(lat) + 5 * np.sin(3 * lon + step / 30) * np.cos(lat) + np.sin(step / 58)
        out[step] = np.round(field + rng.normal(0, 0.3, field.shape).astype("f4"), 2)
    return out


def make(root, steps):
    """Writes all arrays below a directory, unless they are there; tells where each is and its length in time."""
    root = pathlib.Path(root)
    done = root / "done.json"
    if done.exists() and json.loads(done.read_text())["steps"] == steps:
        return json.loads(done.read_text())["arrays"]
    data = values(steps)
    arrays = {}
    for codec, (share, settings) in CODECS.items():
        length = int(steps * share)
        for layout, chunks in LAYOUTS.items():
            path = root / f"{codec}-{layout}.zarr"
            others = {key: value for key, value in settings.items() if key != "zarr_format"}
            if codec == "raw" and layout == "time":
                chunks = (length, LAT, LON)
            if codec == "sharded":
                others["shards"] = (24, LAT, LON) if layout == "time" else (96, LAT, LON)
            group = zarr.create_group(path, zarr_format=settings["zarr_format"], overwrite=True)
            array = group.create_array("v", shape=(length, LAT, LON), chunks=chunks, dtype="f4", fill_value=-999.0,
                                       **others)
            if array.metadata.zarr_format == 2:
                array.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
            array[:] = data[:length]
            name = "one chunk" if chunks[0] == length else layout
            arrays[f"{codec}, {name}"] = {"path": str(path), "steps": length, "codec": codec, "chunks": chunks}
    done.write_text(json.dumps({"steps": steps, "arrays": arrays}))
    return arrays


def make_cube(root, steps):
    """Writes the cube below a directory, of the values of so many steps, unless it is there; tells where it is."""
    path = pathlib.Path(root) / f"cube-{steps}.zarr"
    if path.exists():
        return path
    data = values(steps).reshape(-1)
    part = path.with_suffix(".part")
    cube = zarr.create_group(part, zarr_format=2, overwrite=True).create_array(
        "v", shape=(CUBE,) * 3, chunks=(CUBE_CHUNK,) * 3, dtype="f4", fill_value=0,
        compressors=numcodecs.Zstd(3))
    length = CUBE * CUBE * CUBE_CHUNK
    for first in range(0, CUBE, CUBE_CHUNK):
        cube[first:first + CUBE_CHUNK] = np.resize(data[first * 1000:], length).reshape(-1, CUBE, CUBE)
    part.rename(path)
    return path


INTO_USED = "everything, into used memory"


def jobs(steps):
    """What is read of an array, one hyperslab after another: the start, count and stride of each."""
    mid = steps // 2
    maps = [([mid + step, 0, 0], [1, LAT, LON], [1, 1, 1]) for step in range(min(48, steps - mid))]
    return {
        "everything": [([0, 0, 0], [steps, LAT, LON], [1, 1, 1])],
        INTO_USED: [([0, 0, 0], [steps, LAT, LON], [1, 1, 1])],
        "one series": [([0, 123, 456], [steps, 1, 1], [1, 1, 1])],
        "one map": maps[:1],
        "48 maps, one by one": maps,
        "a box": [([mid, 100, 200], [min(30, steps - mid), 60, 80], [1, 1, 1])],
        "stride (7,2,2)": [([3, 1, 0], [(steps - 4) // 7 + 1, LAT // 2, LON // 2], [7, 2, 2])],
    }
