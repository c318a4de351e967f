"""What is measured: the arrays, and the rows of the tables."""

import pathlib

import numcodecs
import numpy
import zarr

SHAPE = (240, 240, 360)
CHUNKS, SMALL, SHARDS = (24, 60, 60), (12, 30, 30), (120, 120, 180)
NUM_ARRAYS = 100
# A band of a satellite image in one shard, and a window of it: 9 x 9 of 45 x 45 chunks.
SCENE, TILE, WINDOW = 10980, 244, 2048

ROWS = {
    "map": ("plain", (5, slice(None), slice(None))),
    "series": ("plain", (slice(None), 100, 200)),
    "strided": ("plain", (slice(None, None, 30), slice(None, None, 5), slice(None, None, 7))),
    "everything": ("plain", (slice(None), slice(None), slice(None))),
    "sharded map": ("sharded", (5, slice(None), slice(None))),
    "sharded series": ("sharded", (slice(None), 100, 200)),
    "sharded window": ("sharded", (slice(0, 30), slice(0, 100), slice(0, 150))),
    "sharded everything": ("sharded", (slice(None), slice(None), slice(None))),
    "uncompressed columns": ("raw", (slice(None), slice(0, 40), slice(0, 40))),
    "open 100 arrays": (None, None),
    "window of a scene": ("scene", (slice(0, WINDOW), slice(0, WINDOW))),
}
# What netCDF-C can read: Zarr without shards.
UNSHARDED = {"map", "series", "strided", "everything", "uncompressed columns", "open 100 arrays"}
SHARDED = set(ROWS) - UNSHARDED


def write(directory):
    """Writes the arrays, and a group of many with consolidated metadata."""
    t, y, x = (numpy.arange(n, dtype="f4") for n in SHAPE)
    random = numpy.random.default_rng(1)
    values = numpy.sin(t / 9)[:, None, None] + numpy.cos(y / 31)[:, None] * numpy.sin(x / 17)
    values = numpy.round((values + random.normal(size=SHAPE) / 50) * 256).astype("f4") / 256
    zstd = zarr.codecs.ZstdCodec(level=1)
    for name, chunks, shards, compressors in [("plain", CHUNKS, None, zstd), ("sharded", SMALL, SHARDS, zstd),
                                              ("raw", CHUNKS, None, None)]:
        array = zarr.create_array(f"{directory}/{name}.zarr", shape=SHAPE, dtype="f4", chunks=chunks, shards=shards,
                                  compressors=compressors, overwrite=True)
        array[:] = values
    group = zarr.create_group(f"{directory}/group.zarr", overwrite=True)
    for i in range(NUM_ARRAYS):
        array = group.create_array(f"v{i:03}", shape=(10 + i, 20), chunks=(5, 5), dtype="f4")
        array.attrs["units"] = "K"
    zarr.consolidate_metadata(group.store)
    # For netCDF-C, the same in Zarr v2: a bucket with groups.
    for name, compressors in [("plain", [numcodecs.Zstd(level=1)]), ("raw", None)]:
        group = zarr.create_group(f"{directory}/v2/{name}.zarr", overwrite=True, zarr_format=2)
        array = group.create_array("v", shape=SHAPE, dtype="f4", chunks=CHUNKS, compressors=compressors)
        array[:] = values
    group = zarr.create_group(f"{directory}/v2/group.zarr", overwrite=True, zarr_format=2)
    for i in range(NUM_ARRAYS):
        group.create_array(f"v{i:03}", shape=(10 + i, 20), chunks=(5, 5), dtype="f4").attrs["units"] = "K"
    x = numpy.arange(SCENE, dtype="u2")
    scene = 2000 + (x[:, None] // 13 * 7 ^ x // 11 * 5) % 1500 + random.integers(0, 200, (SCENE, SCENE), dtype="u2")
    shape = (SCENE, SCENE)
    array = zarr.create_array(f"{directory}/scene.zarr", shape=shape, dtype="u2", chunks=(TILE, TILE), shards=shape,
                              compressors=zstd, overwrite=True)
    array[:] = scene
    pathlib.Path(f"{directory}/complete").touch()
