"""Reads and writes hyperslabs of chunked arrays: Zarr v2 and v3 (with or without shards) and NCZarr. Reads netCDF, HDF5
and cfdb files.

>>> array = nczchunk.open("data/coads_sst.zarr")
>>> array[0, 10:30, ::-3].shape
(20, 60)
"""

from . import _c, errors
from .advise import advise
from .array import Array, ChunkLocation, ReadCost, open
from .cache import Cache, CacheStatistics
from .create import NewZip, create
from .errors import Error
from .group import Group, create_group, open_group
from .limits import MemoryLimits
from .listing import Node, list_nodes
from .rechunk import RechunkReport, rechunk, rechunk_plan
from .references import write_references
from .storage import concat, with_external_links

__version__: str = _c.c.version().decode()
__all__ = ["Array", "Cache", "CacheStatistics", "ChunkLocation", "Error", "Group", "MemoryLimits", "NewZip", "Node",
           "ReadCost", "RechunkReport", "advise", "concat", "create", "create_group", "errors", "has_codec",
           "list_nodes", "open", "open_group", "rechunk", "rechunk_plan", "with_external_links", "write_references"]


def has_codec(name: str) -> bool:
    """Whether the library was built with the codec of this name, such as "zstd"."""
    return bool(_c.c.has_codec(_c.text("name", name)))
