"""The engine of xarray, beside xarray's own."""

import shutil

import numpy as np
import pytest

import nczchunk

xarray = pytest.importorskip("xarray")


@pytest.fixture(params=[2, 3])
def path(request, tmp_path):
    """A dataset as xarray writes it: packed values with gaps, times, texts, coordinates."""
    rng = np.random.default_rng(4)
    values = rng.normal(10, 3, (9, 5, 7)).round(1)
    values[rng.random(values.shape) < 0.2] = np.nan
    dataset = xarray.Dataset(
        {"sst": (("time", "lat", "lon"), values, {"units": "degC"}), "count": ("time", np.arange(9))},
        coords={"time": np.arange("2020-01-01", "2020-01-10", dtype="M8[D]").astype("M8[ns]"),
                "lat": np.linspace(-10, 10, 5), "lon": np.arange(7.0)},
        attrs={"title": "made up"})
    packed = {"sst": {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -999, "chunks": (4, 3, 3)}}
    dataset.to_zarr(tmp_path / "a.zarr", zarr_format=request.param, consolidated=False, encoding=packed)
    return tmp_path / "a.zarr"


def test_a_dataset_is_as_xarray_reads_it(path):
    due = xarray.open_zarr(path, chunks=None, consolidated=False)
    with xarray.open_dataset(path, engine="nczchunk") as found:
        xarray.testing.assert_identical(found.load(), due.load())


def zipped(path):
    """The same in a zip file."""
    return shutil.make_archive(path.with_suffix(""), "zip", path)


def test_zip_files_and_names_of_netcdf(path):
    due = xarray.open_zarr(path, chunks=None, consolidated=False)
    for same in [zipped(path), f"file://{path}", f"file://{path}#mode=zarr,file"]:
        with xarray.open_dataset(same, engine="nczchunk") as found:
            xarray.testing.assert_identical(found.load(), due.load())
            assert np.isnan(found["sst"].values).any()


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype, fill", [("f2", -1), ("f4", -999), ("f8", 1e20), ("i2", -999), ("u1", 255), ("i8", -1),
                                         ("c8", 3 + 4j), ("c16", 3 + 4j)])
def test_what_marks_missing_elements(tmp_path, dtype, fill, zarr_format):
    marked = np.array([1, fill, 3], dtype)
    dataset = xarray.Dataset({"v": ("x", marked, {"_FillValue": marked[1]})})
    dataset.to_zarr(tmp_path / "a.zarr", zarr_format=zarr_format, consolidated=False)
    due = xarray.open_zarr(tmp_path / "a.zarr", chunks=None, consolidated=False)
    assert np.isnan(due["v"].values).tolist() == [False, True, False]
    for path in [tmp_path / "a.zarr", zipped(tmp_path / "a.zarr")]:
        with xarray.open_dataset(path, engine="nczchunk") as found:
            xarray.testing.assert_identical(found.load(), due.load())


def test_netcdf_s_zarr_has_the_fill_value_of_its_metadata(tmp_path):
    array = nczchunk.create(tmp_path / "a", "v", shape=(3,), dtype="i2", dims=["x"], fill_value=-9, format="nczarr")
    array[:2] = [1, 2]
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
        assert found["v"].values[:2].tolist() == [1, 2] and np.isnan(found["v"].values[2])


def test_a_variable_that_cannot_be_opened_is_named(tmp_path):
    for name in "ab":
        nczchunk.create(tmp_path, name, shape=(2,), dtype="i4", dims=["x"])[...] = 3
    text = (tmp_path / "b" / "zarr.json").read_text()
    (tmp_path / "b" / "zarr.json").write_text(text.replace('"zstd"', '"zfp"'))
    with pytest.raises(nczchunk.Error, match=r"variable 'b' cannot be opened: .*zfp.*drop_variables=\['b'\]"):
        xarray.open_dataset(tmp_path, engine="nczchunk")
    for left_out in ["b", ["b"]]:
        with xarray.open_dataset(tmp_path, engine="nczchunk", drop_variables=left_out) as found:
            assert list(found.variables) == ["a"] and found["a"].values.tolist() == [3, 3]
    (tmp_path / "b" / "zarr.json").write_text("{")
    with pytest.raises(nczchunk.errors.Corrupt, match="variable 'b'"):
        xarray.open_dataset(tmp_path, engine="nczchunk")


def test_it_is_read_lazily_and_by_dask(path):
    pytest.importorskip("dask")
    due = xarray.open_zarr(path, chunks=None, consolidated=False)
    with xarray.open_dataset(path, engine="nczchunk") as found:
        assert not found["sst"].variable._in_memory
        part = found["sst"][::-2, 1:3, [0, 4, 2]]
        xarray.testing.assert_identical(part.load(), due["sst"][::-2, 1:3, [0, 4, 2]].load())
    with xarray.open_dataset(path, engine="nczchunk", chunks={}) as found:
        assert found["sst"].chunks == ((4, 4, 1), (3, 2), (3, 3, 1))
        for scheduler in ("threads", "processes"):
            mean = found["sst"].mean("time").compute(scheduler=scheduler)
            xarray.testing.assert_allclose(mean, due["sst"].mean("time"))


def test_groups_and_what_cannot_be_read(tmp_path):
    nczchunk.create(tmp_path, "g/a", shape=(4,), dtype="i4", dims=["x"])[...] = 3
    with xarray.open_dataset(tmp_path, engine="nczchunk", group="g") as found:
        assert found["a"].values.tolist() == [3, 3, 3, 3] and found["a"].dims == ("x",)
    with pytest.raises(FileNotFoundError):
        xarray.open_dataset(tmp_path / "none", engine="nczchunk")


def test_netcdf_classic(tmp_path):
    pytest.importorskip("scipy")
    due = xarray.Dataset({"v": (("time", "x"), np.arange(12, dtype="i4").reshape(3, 4), {"units": "m"})},
                         coords={"time": [0.5, 1.5, 2.5]}, attrs={"title": "made up"})
    due.to_netcdf(tmp_path / "a.nc", engine="scipy", unlimited_dims=["time"])
    with xarray.open_dataset(tmp_path / "a.nc", engine="nczchunk") as found:
        xarray.testing.assert_identical(found.load(), due)
        assert found.encoding["unlimited_dims"] == {"time"}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_trees_of_groups(tmp_path, zarr_format):
    if not hasattr(xarray, "open_datatree"):
        pytest.skip("xarray before 2024.10 has no trees")
    due = xarray.DataTree.from_dict({
        "/": xarray.Dataset({"a": ("x", np.arange(3.0))}, attrs={"title": "root"}),
        "/ocean": xarray.Dataset({"sst": (("x", "y"), np.ones((3, 2), "f4"))}),
        "/ocean/deep": xarray.Dataset({"t": ("z", np.arange(4))}),
        "/ocean/deep/empty": xarray.Dataset(attrs={"nothing": 1}),
    })
    due.to_zarr(tmp_path / "a", zarr_format=zarr_format, consolidated=False)
    with xarray.open_datatree(tmp_path / "a", engine="nczchunk") as found:
        xarray.testing.assert_identical(found.load(), due)
    with xarray.open_datatree(tmp_path / "a", engine="nczchunk", group="ocean", chunks={}) as found:
        xarray.testing.assert_identical(found["deep"].to_dataset().load(), due["ocean/deep"].to_dataset())
    groups = xarray.open_groups(tmp_path / "a", engine="nczchunk")
    assert sorted(groups) == ["/", "/ocean", "/ocean/deep", "/ocean/deep/empty"]
