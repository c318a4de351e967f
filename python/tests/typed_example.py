"""An example of the types of the package, which mypy --strict checks."""

import sys

import nczchunk
from nczchunk import Array, Group


def first(group: Group) -> float:
    array = group["sst"]
    assert isinstance(array, Array)
    array.attrs["units"] = "K"
    array.threads = None
    return float(array[0, 0])


path = f"{sys.argv[1]}/new.zarr"
root = nczchunk.create_group(path, attrs={"title": "t"})
sst: Array = nczchunk.create(path, "sst", shape=(4, 5), dtype="f4", chunks=(2, 5), dims=("y", "x"),
                             codecs=[("zstd", {"level": 3}), "crc32c"], fill_value=-1)
sst[...] = 3
shape: tuple[int, ...] = sst.append([[1, 2, 3, 4, 5]])
sizes: list[int] = [chunk.nbytes for chunk in sst.locate() if chunk.nbytes is not None]
names: list[str] = [node.name for node in nczchunk.list_nodes(path) if not node.is_group]
with nczchunk.open(path, "sst", threads=2, cache=nczchunk.Cache(1 << 20)) as opened:
    print(first(root), opened.shape, sizes, names, opened.nchunks_initialized, sst.info)
try:
    nczchunk.open(f"{path}/none")
except nczchunk.Error as error:
    status: int | None = error.status
