"""What users of xarray do with the cube that `jobs make` made.

jobs.py JOB DIRECTORY prints a line as `jobs` does: name, seconds, CPU seconds (of them in the system), KiB of the
largest resident set of a process, page faults, sum of what was read. Without arguments it prints the names of the jobs.
"""

import resource
import sys
import time

import dask
import netCDF4
import numpy
import xarray


def climatology(url, scheduler):
    """The mean of each month, by Dask, with two workers, in pieces of whole chunks."""
    with dask.config.set(scheduler=scheduler, num_workers=2):
        with xarray.open_dataset(url, engine="netcdf4", chunks={"time": 48, "lat": 180, "lon": 360}) as dataset:
            cube = dataset["v0"]
            month = ("time", numpy.arange(cube.sizes["time"]) // 30 % 12)
            return cube.assign_coords(month=month).groupby("month").mean("time").sum().values


def maps(url):
    total = 0.0
    with xarray.open_dataset(url, engine="netcdf4") as dataset:
        for step in range(min(96, dataset.sizes["time"])):
            total += float(dataset["v0"].isel(time=step).sum())
    return total


def series(url):
    total, cube = 0.0, netCDF4.Dataset(url)["v0"]
    random = numpy.random.default_rng(7)
    for _ in range(20):
        total += float(cube[:, random.integers(cube.shape[1]), random.integers(cube.shape[2])].sum())
    return total


def variables(url, number):
    """An element each step of some variables, then maps of each."""
    total = 0.0
    with netCDF4.Dataset(url.replace("/cube#", "/many#")) as dataset:
        chosen = list(dataset.variables.values())[:number]
        for variable in chosen:
            for step in range(variable.shape[0]):
                total += float(variable[step, 30, 60])
        for variable in chosen:
            for step in range(6):
                total += float(variable[step].sum())
    return total


JOBS = {
    "xarray: monthly climatology, Dask, 2 threads": lambda url: climatology(url, "threads"),
    "xarray: monthly climatology, Dask, 2 processes": lambda url: climatology(url, "processes"),
    "xarray: maps, one by one": maps,
    "netCDF4: time series at random points": series,
    "netCDF4: 1 variable, elements, then maps": lambda url: variables(url, 1),
    "netCDF4: 20 variables": lambda url: variables(url, 20),
    "netCDF4: 100 variables": lambda url: variables(url, 100),
}


def main():
    if len(sys.argv) == 1:
        print("\n".join(JOBS))
        return
    job, directory = sys.argv[1:]
    begin = time.monotonic()
    total = JOBS[job](f"file://{directory}/cube#mode=nczarr,file")
    seconds = time.monotonic() - begin
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    system = sum(u.ru_stime for u in used)
    cpu = system + sum(u.ru_utime for u in used)
    faults = sum(u.ru_minflt for u in used)
    print(job, seconds, cpu, system, max(u.ru_maxrss for u in used), faults, float(total), sep="\t")


if __name__ == "__main__":
    main()
