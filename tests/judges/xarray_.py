"""Datasets as xarray's to_zarr writes them."""

import numpy as np
import pandas as pd
import xarray as xr

from cases import Case, netcdf_type, values

T, Y, X = 9, 20, 31


# What is in the attribute _FillValue with Zarr v3; with Zarr v2 it is the fill value itself.
FILLS = {"sst": np.float32(np.nan).tobytes(), "packed": np.int16(-32767).tobytes(),
         "filled": np.float32(-999).tobytes(), "lat": np.float64(np.nan).tobytes(), "lon": np.float32(np.nan).tobytes(),
         "ref": np.float64(np.nan).tobytes()}

ENCODINGS = {"default": {}, "chunked": {"sst": {"chunks": (2, 7, 10)}},
             "sharded": {"sst": {"chunks": (2, 7, 10), "shards": (4, 14, 20)}}}


def dataset():
    rng = np.random.default_rng(3)
    sst = (rng.integers(0, 300, (T, Y, X)) / 8).astype("f4")
    sst[:, ::5, ::7] = np.nan
    coordinates = {"time": pd.date_range("2001-01-01", periods=T, freq="6h"), "lat": np.linspace(-90, 90, Y),
                   "lon": np.arange(X, dtype="f4") * 2, "level": ("level", np.array(["a", "bcd"])), "ref": 2.5}
    dims = ("time", "lat", "lon")
    variables = {
        "sst": (dims, sst, {"units": "K", "valid_range": [0.5, 40.0], "count": 3}),
        "packed": (dims, sst * 2, {}, {"dtype": "i2", "scale_factor": 0.25, "add_offset": 1.0, "_FillValue": -32767}),
        "mask": (("lat", "lon"), sst[0] > 10),
        "ids": (("lat",), np.arange(Y, dtype="u8") * 2**58),
        "lag": (("time",), np.arange(T).astype("m8[h]").astype("m8[ns]")),
        "station": (("time", "lat"), values((T, Y), object)),
        "filled": (("lat", "lon"), sst[1], {}, {"_FillValue": np.float32(-999.0)}),
    }
    return xr.Dataset(variables, coordinates, {"title": "made up"})


def cases(root):
    whole = dataset()
    for version in (2, 3):
        for consolidated in (True, False):
            for how, encoding in ENCODINGS.items():
                if how == "sharded" and version == 2:
                    continue
                path = root / f"v{version}-{consolidated}-{how}"
                whole.to_zarr(path, zarr_format=version, consolidated=consolidated, encoding=encoding)
                plain = xr.open_zarr(path, consolidated=consolidated, decode_cf=False, chunks=None)
                for name, variable in plain.variables.items():
                    expected = variable.values
                    if expected.dtype.kind == "T":
                        expected = expected.astype(object)
                    typed = {"units": (2, "K"), "valid_range": (6, np.array([0.5, 40.0])), "count": (4, np.int32(3))}
                    if version == 3 and "_FillValue" in variable.attrs and expected.dtype.kind in "iuf":
                        fill = np.frombuffer(FILLS[str(name)], expected.dtype)
                        typed = {**(typed if name == "sst" else {}), "_FillValue": (netcdf_type(expected.dtype), fill)}
                    elif name != "sst":
                        typed = None
                    yield Case(f"v{version} {how}, consolidated {consolidated}: {name}", path, expected, str(name),
                               dimensions=list(variable.dims), typed=typed)
        path = root / f"v{version}-appended"
        whole.isel(time=slice(0, 5)).to_zarr(path, zarr_format=version, consolidated=True)
        whole.isel(time=slice(5, None)).drop_vars(["mask", "ids", "filled", "lat", "lon", "level", "ref"]).to_zarr(
            path, append_dim="time", zarr_format=version, consolidated=True)
        yield Case(f"v{version} appended to", path, whole["sst"].values, "sst", dimensions=["time", "lat", "lon"])
