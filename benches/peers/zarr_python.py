"""What zarr-python takes: Zarr v3 in its memory store, one thread, into the caller's memory."""

import numpy as np
import zarr
from zarr.codecs import ZstdCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.buffer.cpu import NDBuffer
from zarr.core.sync import sync
from zarr.storage import MemoryStore

from driver import FILL_VALUE, serve


class ZarrPython:
    def versions(self):
        return {"zarr-python": zarr.__version__, "numpy": np.__version__}

    def unload(self):
        self.array = None

    def load(self, array):
        self.unload()
        zarr.config.set({"async.concurrency": 1, "threading.max_workers": 1})
        store = MemoryStore()
        self.array = zarr.create_array(
            store,
            shape=array.dimlens,
            chunks=array.chunklens,
            dtype=array.dtype.newbyteorder("<" if array.order == "little" else ">"),
            compressors=ZstdCodec(level=1) if array.codec == "zstd" else None,
            filters=None,
            fill_value=array.dtype.type(FILL_VALUE).item(),
        )
        for place, values in array.pieces():
            self.array[place] = values
        buffer = default_buffer_prototype().buffer
        for key, chunk in array.chunk_files():
            sync(store.set(key, buffer.from_bytes(chunk)))

    def reader(self, box, out):
        buffer = NDBuffer.from_numpy_array(out)
        return lambda: self.array.get_basic_selection(box.slices, out=buffer)

    def writer(self, box, values):
        return lambda: self.array.set_basic_selection(box.slices, values)

    def element(self, position):
        return self.array[position]


serve(ZarrPython())
