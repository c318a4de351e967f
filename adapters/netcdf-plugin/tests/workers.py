"""Reads an array by Dask's workers, which are processes, through xarray and netCDF4 with the plugin preloaded, and
compares its mean with that of zarr-python. What is sent to them has no elements.

    workers.py ZARR NAME
"""

import sys

import cloudpickle
import numpy as np
import xarray
import zarr
from distributed import Client, LocalCluster


def is_preloaded():
    with open("/proc/self/maps") as maps:
        return "nczchunk_netcdf_preload" in maps.read()


def main():
    path, name = sys.argv[1:]
    values = zarr.open_group(path, mode="r")[name][...]
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                      host="127.0.0.1") as cluster, Client(cluster) as client:
        assert all(client.run(is_preloaded).values())
        with xarray.open_dataset(path, engine="netcdf4", chunks={}, decode_times=False,
                                 mask_and_scale=False) as dataset:
            lazy = dataset[name].data
            graph = cloudpickle.dumps(lazy.__dask_graph__())
            assert len(graph) < 500 * lazy.npartitions + 10000, len(graph)
            assert np.array_equal(lazy.compute(), values, equal_nan=True)
            np.testing.assert_allclose(lazy.mean(0, dtype="f8").compute(), values.mean(0, dtype="f8"), rtol=1e-12)


if __name__ == "__main__":
    main()
