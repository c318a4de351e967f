"""Does one job on a LocalCluster of two processes, or by Cubed, and prints a line of JSON: the seconds, those of the
processors in all processes, the bytes that workers sent to each other, those of the pickled graph, and a checksum.

    job.py PEER JOB ARRAY WORK

ARRAY is a group with the array "v" (time, lat, lon) in Zarr v2. JOB is "mean", over time, or "rechunk", into series.
"""

import json
import pathlib
import resource
import shutil
import sys
import time
import zlib

import cloudpickle
import dask.array
import distributed
import numpy as np
import xarray
import zarr

SERIES = (-1, 45, 45)
PIPELINES = {"codec pipeline": "nczchunk.zarr.CodecPipeline"}


def use(peer):
    """Has this process, or a worker, use what the peer needs."""
    if peer.removeprefix("Cubed, ") in PIPELINES:
        import nczchunk.zarr  # noqa: F401

        zarr.config.set({"codec_pipeline.path": PIPELINES[peer.removeprefix("Cubed, ")]})
    elif peer == "nczchunk":
        import nczchunk  # noqa: F401
    else:
        import netCDF4  # noqa: F401


def opened(peer, path):
    """The array as one of Dask's, in its own chunks."""
    if peer == "nczchunk":
        return xarray.open_dataset(path, engine="nczchunk", chunks={}, mask_and_scale=False)["v"].data
    if peer.startswith("netCDF4"):
        url = str(path) if peer == "netCDF4, adapted" else f"file://{path}#mode=zarr,file"
        return xarray.open_dataset(url, engine="netcdf4", chunks={}, mask_and_scale=False)["v"].data
    return xarray.open_zarr(path, consolidated=False, chunks={}, mask_and_scale=False)["v"].data


def by_dask(peer, job, path, new):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                  host="127.0.0.1") as cluster, distributed.Client(cluster) as client:
        use(peer)
        client.run(use, peer)
        # What workers import with the first task is not measured.
        opened(peer, path)[0].compute()
        used, begin = sum(client.run(processors).values()) + processors(), time.perf_counter()
        array = opened(peer, path)
        if job == "mean":
            result = array.mean(0, dtype="f8")
            graph = len(cloudpickle.dumps(result.__dask_graph__()))
            found = result.compute()
        else:
            result = array.rechunk(SERIES)
            graph = len(cloudpickle.dumps(result.__dask_graph__()))
            chunks = tuple(one[0] for one in result.chunks)
            if peer == "nczchunk":
                import nczchunk

                target = nczchunk.create(new, shape=result.shape, dtype=result.dtype, chunks=chunks, codecs=["zstd"])
                dask.array.store(result, target, lock=False)
            else:
                dask.array.store(result, zarr.create_array(
                    new, shape=result.shape, dtype=result.dtype, chunks=chunks,
                    compressors=zarr.codecs.ZstdCodec(level=3)), lock=False)
            found = None
        seconds = time.perf_counter() - begin
        used = sum(client.run(processors).values()) + processors() - used
        sent = sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())
    return seconds, used, sent, graph, found


def by_cubed(peer, job, path, new):
    import cubed

    use(peer)
    spec = cubed.Spec(work_dir=str(new.parent / "cubed"), allowed_mem="1GB")
    begin, used = time.perf_counter(), processors()
    array = cubed.from_zarr(str(path), path="v", spec=spec)
    found = None
    if job == "mean":
        found = cubed.mean(array, axis=0).compute()
    else:
        chunks = tuple(length if chunk < 0 else chunk for chunk, length in zip(SERIES, array.shape))
        cubed.to_zarr(array.rechunk(chunks), str(new))
    return time.perf_counter() - begin, processors() - used, 0, 0, found


def processors():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    peer, job, path, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    new = work / "series.zarr"
    run = by_cubed if peer.startswith("Cubed") else by_dask
    seconds, used, sent, graph, found = run(peer, job, path, new)
    if found is None:
        found = zarr.open_array(new, mode="r")[::7]
    else:
        found = np.round(np.asarray(found), 2 if peer.startswith("Cubed") else 6)
    print(json.dumps({"seconds": seconds, "cpu": used, "sent": sent, "graph": graph,
                      "sum": float(found.sum(dtype="f8")), "checksum": zlib.crc32(np.ascontiguousarray(found).data)}))
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
