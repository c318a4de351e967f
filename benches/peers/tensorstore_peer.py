"""What TensorStore takes: Zarr v3 in its memory store, one thread, into the caller's memory."""

from importlib.metadata import version

import numpy as np
import tensorstore as ts

from driver import FILL_VALUE, serve


class TensorStore:
    def versions(self):
        return {"tensorstore": version("tensorstore"), "numpy": np.__version__}

    def unload(self):
        self.store = self.context = None

    def load(self, array):
        self.unload()
        self.context = ts.Context({"data_copy_concurrency": {"limit": 1}})
        codecs = [{"name": "bytes", "configuration": {"endian": array.order}}]
        if array.codec == "zstd":
            codecs.append({"name": "zstd", "configuration": {"level": 1}})
        self.store = ts.open(
            {
                "driver": "zarr3",
                "kvstore": {"driver": "memory"},
                "metadata": {
                    "shape": array.dimlens,
                    "data_type": array.kind,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": array.chunklens}},
                    "codecs": codecs,
                    "fill_value": array.dtype.type(FILL_VALUE).item(),
                },
            },
            context=self.context,
            create=True,
        ).result()
        for place, values in array.pieces():
            self.store[place].write(values).result()
        for key, chunk in array.chunk_files():
            self.store.kvstore[key] = chunk

    def reader(self, box, out):
        target = ts.array(out, context=self.context, copy=False)
        # With a stride of 2, TensorStore's domain begins at half the start; the target's begins at 0.
        origin = (0,) * len(box.count)
        return lambda: target.write(self.store[box.slices].translate_to[origin]).result()

    def writer(self, box, values):
        return lambda: self.store[box.slices].write(values).result()

    def element(self, position):
        return self.store[position].read().result()


serve(TensorStore())
