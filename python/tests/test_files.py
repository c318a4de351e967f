"""netCDF classic and cfdb files, beside those who know them."""

import numpy as np
import pytest

import nczchunk


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_netcdf_classic(tmp_path, format):
    netCDF4 = pytest.importorskip("netCDF4")
    path, values = tmp_path / "a.nc", np.arange(60, dtype="i2").reshape(5, 3, 4)
    with netCDF4.Dataset(path, "w", format=format) as file:
        for name, length in (("time", None), ("y", 3), ("x", 4)):
            file.createDimension(name, length)
        file.createVariable("v", "i2", ("time", "y", "x"))[:] = values
        file["v"].units = "m"
    with nczchunk.open(path, "v") as array:
        assert array.dims == ("time", "y", "x") and array.attrs["units"] == "m"
        assert np.array_equal(array[::-2, 1:, ::3], values[::-2, 1:, ::3])
        with pytest.raises(nczchunk.Error):
            nczchunk.open(path, "v", mode="r+")
    (node,) = (node for node in nczchunk.list_nodes(path) if not node.is_group)
    assert node.unlimited == (True, False, False)
