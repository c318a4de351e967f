"""The engine of xarray, beside xarray's own."""

import inspect
import json
import os
import pickle
import shutil
import warnings

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


def test_in_netcdf_s_zarr_only_the_attribute_marks_missing_elements(tmp_path):
    # netCDF's default is an element like others.
    array = nczchunk.create(tmp_path / "a", "v", shape=(3,), dtype="u1", dims=["x"], fill_value=255, format="nczarr")
    array[:2] = [1, 2]
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
        assert found["v"].dtype == "u1" and found["v"].values.tolist() == [1, 2, 255]
    array.attrs["_FillValue"] = np.uint8(255)
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
        assert found["v"].values[:2].tolist() == [1, 2] and np.isnan(found["v"].values[2])


@pytest.mark.parametrize("dtype, fill, attribute", [
    ("f4", 0, -999.0), ("i2", -1, 0), ("f4", 0, "NaN"), ("i4", 0, "x"), ("f4", 0, None), ("S1", b"b", "x"),
    ("f8", np.nan, "AAAAAAAA+H8="), (str, "b", None), (str, None, None)])
def test_in_zarr_2_the_metadata_mark_missing_elements_whatever_the_attribute(tmp_path, dtype, fill, attribute):
    zarr = pytest.importorskip("zarr")
    attrs = {} if attribute is None else {"_FillValue": attribute}
    array = nczchunk.create(tmp_path, "v", shape=(3,), dtype=dtype, dims=["x"], fill_value=fill, format="zarr2",
                            attrs=attrs)
    array[...] = ["a", "b", ""] if np.dtype(dtype).kind in "US" else [0, 1, -1]
    if tuple(map(int, zarr.__version__.split(".")[:2])) < (3, 1) and dtype is str:
        pytest.skip("an older zarr-python, which has strings as objects")
    due = xarray.open_zarr(tmp_path, chunks=None, consolidated=False)
    with xarray.open_dataset(tmp_path, engine="nczchunk") as found:
        xarray.testing.assert_identical(found.load(), due.load())


@pytest.mark.parametrize("dtype, text, due", [
    ("f4", "NaN", [True, False, False]), ("f8", "Infinity", [False, True, False]),
    ("f4", "-Infinity", [False, False, True]), ("f8", "AAAAAAAA8H8=", [False, True, False])])
def test_fill_values_that_are_texts(tmp_path, dtype, text, due):
    array = nczchunk.create(tmp_path, "v", shape=(3,), dtype=dtype, dims=["x"], attrs={"_FillValue": text})
    array[...] = [np.nan, np.inf, -np.inf]
    with xarray.open_dataset(tmp_path, engine="nczchunk") as found:
        assert np.isnan(found["v"].values).tolist() == [True, *due[1:]]


@pytest.mark.parametrize("dtype, value", [
    ("f4", "!NaN"), ("f8", ["x"]), ("f4", ["1", "2"]), ("c8", ["1", "2", "3"]), ("S1", "!"), ("S1", ["eA==", "eA=="])])
def test_a_fill_value_that_is_none_of_its_type_is_left_as_it_is(tmp_path, dtype, value):
    array = nczchunk.create(tmp_path, "v", shape=(2,), dtype=dtype, dims=["x"], attrs={"_FillValue": value})
    array[...] = ["a", "b"] if dtype == "S1" else [1, 2]
    nczchunk.create(tmp_path, "w", shape=(2,), dtype="f4", dims=["x"], attrs={"_FillValue": 3.0})[...] = [3, 4]
    with pytest.warns(xarray.SerializationWarning, match="variable 'v': the attribute _FillValue is no value of"):
        found = xarray.open_dataset(tmp_path, engine="nczchunk", mask_and_scale=False)
    assert found["v"].attrs["_FillValue"] == value and np.array_equal(found["v"].values, array[...])
    with pytest.warns(xarray.SerializationWarning, match="variable 'v'"):
        found = xarray.open_dataset(tmp_path, engine="nczchunk")
    assert not found["v"].isnull().any() and np.isnan(found["w"].values).tolist() == [True, False]


@pytest.mark.parametrize("dtype, values, value", [("S2", [b"x", b"y"], ["eA=="]), ("f8", [1.5, 2], ["1.5"]),
                                                  ("c16", [1.5, 2], ["1.5"])])
def test_the_only_item_of_a_list_is_the_fill_value(tmp_path, dtype, values, value):
    nczchunk.create(tmp_path, "v", shape=(2,), dtype=dtype, dims=["x"], attrs={"_FillValue": value})[...] = values
    with xarray.open_dataset(tmp_path, engine="nczchunk") as found:
        assert found["v"].isnull().values.tolist() == [True, False]


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
    with pytest.raises(FileNotFoundError, match="g/a: this is an array, and not a group"):
        xarray.open_dataset(tmp_path, engine="nczchunk", group="g/a")
    with xarray.open_dataset(tmp_path, engine="nczchunk", group=None) as found:
        assert not found.variables


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


DECODERS = [
    {"decode_cf": False}, {"mask_and_scale": False}, {"decode_times": False}, {"concat_characters": False},
    {"decode_coords": False}, {"decode_coords": "all"}, {"use_cftime": True}, {"decode_timedelta": True},
    {"decode_timedelta": False}, {"drop_variables": ["packed"]}, {"drop_variables": "text"}, {}]


@pytest.fixture(params=["NETCDF4", "NETCDF3_CLASSIC"])
def netcdf(request, tmp_path):
    """A netCDF file with something for each of xarray's decoders."""
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=request.param) as file:
        file.set_auto_maskandscale(False)
        for name, length in [("x", 3), ("letters", 4)]:
            file.createDimension(name, length)
        file.empty, file.title = "", "made up"

        def add(name, dtype, dims, values, fill_value=None, **attrs):
            variable = file.createVariable(name, dtype, dims, fill_value=fill_value)
            variable.setncatts(attrs)
            variable.set_auto_mask(False)
            variable.set_auto_scale(False)
            variable[...] = values

        add("packed", "i2", ("x",), [1, 20000, -1], -1, scale_factor=np.float32(0.1), add_offset=np.float32(1.7))
        add("missing", "f4", ("x",), [1, -9999.9, 2], missing_value=np.float32(-9999.9), coordinates="height")
        add("several", "f4", ("x",), [0.1, 0.3, 2], missing_value=np.array([0.1, 0.3], "f4"))
        add("limited", "f4", ("x",), [1, 2, 3], valid_min=np.float32(0.1), counts=np.array([1, 2], "i4"))
        add("unsigned", "i1", ("x",), [-1, 2, 3], -1, _Unsigned="true")
        add("time", "i4", ("x",), [0, 1, 2], units="days since 2000-01-01")
        add("period", "i4", ("x",), [0, 1, 2], units="hours")
        add("height", "f8", (), 2.0)
        add("text", "S1", ("x", "letters"), np.array([list("abcd"), list("ef  "), list("gh  ")], "S1"))
        add("letter", "S1", ("x",), np.array([b"a", b"_", b"c"]), b"_")
    return tmp_path / "a.nc"


@pytest.mark.parametrize("options", DECODERS, ids=str)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_netcdf_files_are_as_netcdf4_python_reads_them_with_each_decoder(netcdf, options):
    if options.get("use_cftime"):
        pytest.importorskip("cftime")
    with xarray.open_dataset(netcdf, engine="netcdf4", **options) as due:
        with xarray.open_dataset(netcdf, engine="nczchunk", **options) as found:
            xarray.testing.assert_identical(found.load(), due.load())
            for name in due.variables:
                assert found[name].dtype == due[name].dtype, name
                for key in ["_FillValue", "missing_value", "scale_factor", "add_offset"]:
                    ours, theirs = (np.asarray(one[name].encoding.get(key)) for one in (found, due))
                    assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist(), (name, key)


def test_the_class_of_the_engine_has_the_options_of_its_name(tmp_path):
    from nczchunk.xarray_backend import Backend

    nczchunk.create(tmp_path, "v", shape=(2,), dtype="i2", dims=["x"], attrs={"_FillValue": 0})
    for engine in ["nczchunk", Backend]:
        with xarray.open_dataset(tmp_path, engine=engine, decode_cf=False) as found:
            assert found["v"].dtype == "i2" and found["v"].attrs == {"_FillValue": 0}
    given = inspect.signature(Backend.open_dataset).parameters
    assert Backend.open_dataset_parameters == tuple(name for name in given if name != "self")


@pytest.fixture
def ragged(tmp_path):
    """Variables that are shorter than their unlimited dimensions, which are defined in groups above or their own."""
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("u", None)
        file.createDimension("x", 2)
        group = file.createGroup("g")
        own = group.createGroup("own")
        own.createDimension("t", None)
        for owner, name, dims, dtype, shape in [
                (file, "long", ("t", "x"), "f4", (5, 2)), (file, "short", ("t", "x"), "f4", (3, 2)),
                (file, "t", ("t",), "i4", (4,)), (file, "never", ("t", "x"), "f8", (0, 2)),
                (file, "letters", ("t",), "S1", (2,)),
                (file, "texts", ("t",), str, (2,)), (group, "longest", ("t", "x"), "i4", (7, 2)),
                (own, "v", ("t", "u"), "i4", (3, 1)), (own, "w", ("t",), "i4", (1,))]:
            variable = owner.createVariable(name, dtype, dims)
            values = np.arange(np.prod(shape)).reshape(shape)
            where = tuple(slice(0, length) for length in shape)
            if values.size:
                variable[where] = values.astype(str).astype(object) if dtype is str else values.astype(dtype)
    return tmp_path / "a.nc"


@pytest.mark.parametrize("group", [None, "g", "g/own"])
def test_short_variables_have_fill_values_up_to_their_unlimited_dimension(ragged, group):
    due = xarray.open_dataset(ragged, engine="netcdf4", group=group)
    with due, xarray.open_dataset(ragged, engine="nczchunk", group=group) as found:
        assert dict(found.sizes) == dict(due.sizes) and found.encoding["unlimited_dims"]
        xarray.testing.assert_identical(found.load(), due.load())


def test_short_variables_of_joined_files_are_refused_by_name(ragged, tmp_path):
    document = tmp_path / "joined.json"
    document.write_text(json.dumps({"nczchunk_concat": {"dimension": "t", "paths": ["a.nc", "a.nc"]}}))
    for path in (nczchunk.concat([ragged, ragged], "t"), document):
        with pytest.raises(NotImplementedError, match="variable 'short'.*shorter than its unlimited dimension"):
            xarray.open_dataset(path, engine="nczchunk", drop_variables=["texts", "letters", "long", "t"])
        with xarray.open_dataset(path, engine="nczchunk", group="g") as found:
            assert found.sizes["t"] == 14


def test_the_preferred_chunks_of_joined_files_are_as_long_as_the_dimension(tmp_path):
    netCDF4, da = pytest.importorskip("netCDF4"), pytest.importorskip("dask.array")
    for name, long, short in [("a.nc", 5, 5), ("b.nc", 14, 3)]:
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createDimension("t", None)
            for variable, length in [("long", long), ("short", short)]:
                file.createVariable(variable, "f4", ("t",), chunksizes=(4,))[:] = np.arange(length)
    joined = nczchunk.concat([tmp_path / "a.nc", tmp_path / "b.nc"], "t")
    with xarray.open_dataset(joined, engine="nczchunk", chunks={}) as found:
        assert found.sizes == {"t": 19}
        assert found["short"].chunks == ((4, 1, 3, 4, 4, 3),) and isinstance(found["short"].data, da.Array)
        assert found["long"].chunks == ((4, 1, 4, 4, 4, 2),)
        values = found["short"].values
        assert values[:8].tolist() == [*range(5), *range(3)] and (values[8:] > 9e36).all()


def test_an_array_that_is_readable_only_after_it_was_listed(tmp_path, monkeypatch):
    from nczchunk import xarray_backend

    nczchunk.create(tmp_path, "v", shape=(2,), dtype="i2", dims=["x"])
    listed = nczchunk.list_nodes(tmp_path)
    assert listed[1].name == "v"
    listed[1] = listed[1]._replace(shape=None, dims=None, unlimited=None, problem="it could not be read")
    monkeypatch.setattr(xarray_backend, "list_nodes", lambda *_, **given: listed)
    with xarray.open_dataset(tmp_path, engine="nczchunk") as found:
        assert found["v"].shape == (2,) and "unlimited_dims" not in found.encoding


def test_parts_of_short_variables_are_read_lazily_as_any_other(tmp_path):
    netCDF4 = pytest.importorskip("netCDF4")
    due = np.full((4, 2, 7), -1, "i2")
    due[:2, :, :3] = np.arange(12).reshape(2, 2, 3)
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for dim, length in [("u", None), ("x", 2), ("t", None)]:
            file.createDimension(dim, length)
        file.createVariable("v", "i2", ("u", "x", "t"), fill_value=-1)[:2, :, :3] = due[:2, :, :3]
        file.createVariable("w", "i2", ("u", "t"))[:4, :7] = 0
    with xarray.open_dataset(tmp_path / "a.nc", engine="nczchunk", mask_and_scale=False) as found:
        for index in [..., 0, 3, -4, (1, 1, 2), (1, 1, 6), np.s_[::-1, :, ::-1], np.s_[1:, 0, 2:5], np.s_[:, :, 6:1:-2],
                      np.s_[3:, :, 3:], np.s_[:, 1, ::3], np.s_[2::-1, :, 2::-1], np.s_[:, :, 3:3],
                      [3, 0, 1], np.s_[:, [1, 0], [6, 0, 2, 2]]]:
            part = found["v"][index]
            assert not part.variable._in_memory
            orthogonal = np.ix_(range(4), [1, 0], [6, 0, 2, 2]) if isinstance(index, tuple) and list in map(
                type, index) else index
            assert part.dtype == "i2" and np.array_equal(part.values, due[orthogonal]), index


@pytest.mark.parametrize("format", ["netcdf", "zarr2", "zarr3"])
def test_strings_have_the_types_that_xarray_gives_them(tmp_path, format):
    dataset = xarray.Dataset({"s": ("x", np.array(["a", "böd", ""], object)), "n": ("x", np.arange(3))})
    if format == "netcdf":
        pytest.importorskip("netCDF4")
        dataset.to_netcdf(tmp_path / "a", engine="netcdf4")
        given = {"engine": "netcdf4"}
    else:
        dataset.to_zarr(tmp_path / "a", zarr_format=int(format[-1]), consolidated=False)
        given = {"engine": "zarr", "consolidated": False}
    with xarray.open_dataset(tmp_path / "a", **given) as due:
        with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
            assert found["s"].dtype == due["s"].dtype and found["s"].encoding["dtype"] == due["s"].encoding["dtype"]
            for index in [..., 1, slice(None, None, -1), [2, 0]]:
                xarray.testing.assert_identical(found["s"][index].load(), due["s"][index].load())
            found.to_zarr(tmp_path / "b", consolidated=False)
    with xarray.open_dataset(tmp_path / "b", engine="nczchunk") as again:
        assert again["s"].values.tolist() == ["a", "böd", ""]


def test_variables_of_a_dataset_share_what_is_open(tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not tell which files are open")
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 2)
        for i in range(20):
            file.createVariable(f"v{i}", "i4", ("x",))[:] = i
    before = len(os.listdir("/proc/self/fd"))
    with xarray.open_dataset(tmp_path / "a.nc", engine="nczchunk") as found:
        assert len(os.listdir("/proc/self/fd")) <= before + 2
        again = pickle.loads(pickle.dumps(found))
        assert len(os.listdir("/proc/self/fd")) <= before + 4
        assert all((one[f"v{i}"] == i).all() for one in (found, again) for i in range(20))
    arrays = nczchunk.open_group(tmp_path / "a.nc").arrays()
    assert len(os.listdir("/proc/self/fd")) <= before + 6
    assert all((arrays[f"v{i}"][...] == i).all() for i in range(20))


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_what_lies_in_a_file_as_it_is_has_no_chunks_that_dask_should_have(tmp_path, format):
    pytest.importorskip("dask")
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=format) as file:
        file.createDimension("t", 10)
        file.createVariable("v", "i4", ("t",))[:] = range(10)
        if format == "NETCDF4":
            file.createVariable("packed", "i4", ("t",), zlib=True, chunksizes=(10,))[:] = 1
    for chunks in [{"t": 4}, {}, "auto"]:
        given = {"drop_variables": "packed", "chunks": chunks}
        with warnings.catch_warnings(), xarray.open_dataset(tmp_path / "a.nc", engine="netcdf4", **given) as due:
            warnings.simplefilter("error")
            with xarray.open_dataset(tmp_path / "a.nc", engine="nczchunk", **given) as found:
                assert found["v"].chunks == due["v"].chunks and found["v"].values.tolist() == list(range(10))
    if format == "NETCDF4":
        with xarray.open_dataset(tmp_path / "a.nc", engine="nczchunk") as found:
            assert found["packed"].encoding["preferred_chunks"] == {"t": 10}


def test_a_list_reads_what_it_names_and_not_what_is_between(tmp_path, monkeypatch):
    due = np.arange(1000 * 6).reshape(1000, 6)
    array = nczchunk.create(tmp_path / "a", "v", shape=due.shape, dtype="i4", chunks=(1, 6), dims=("t", "x"))
    array[...] = due
    most = []
    monkeypatch.setattr(nczchunk.Array, "_transfer", counted(nczchunk.Array._transfer, most))
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
        for times, places in [([0, 999], slice(None)), ([999, 0, 5, 5], [1, 0]), (slice(3, 9, 2), [5, 2]), (7, [0])]:
            part = found["v"].isel(t=times, x=places).values
            np.testing.assert_array_equal(part, due[times][..., places])
        points = found["v"].isel(t=xarray.DataArray([0, 999], dims="p"), x=xarray.DataArray([1, 2], dims="p"))
        np.testing.assert_array_equal(points.values, [due[0, 1], due[999, 2]])
    assert sum(most) < 100


def test_points_are_read_alone(tmp_path, monkeypatch):
    due = np.arange(60 * 50 * 40, dtype="i4").reshape(60, 50, 40)
    for name, dtype in [("v", "i4"), ("s", str), ("u", "U6")]:
        nczchunk.create(tmp_path / "a", name, shape=due.shape, dtype=dtype, chunks=(7, 7, 7), dims=("t", "y", "x"))[
            ...] = due.astype(dtype)
    rng, read = np.random.default_rng(1), []
    where = {dim: xarray.DataArray(rng.integers(-length, length, (5, 6)), dims=("p", "q"))
             for dim, length in zip("tyx", due.shape)}
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
        every = found.load()
    monkeypatch.setattr(nczchunk.Array, "_call", counted_bytes(nczchunk.Array._call, read))
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk") as found:
        # Points, points along a line for all of a dimension, and those that fill what they span.
        dense = {"t": where["t"], "y": xarray.DataArray([1, 2, 1, 2], dims="d"),
                 "x": xarray.DataArray([3, 3, 4, 4], dims="d")}
        for given in [where, {dim: where[dim] for dim in "ty"}, {**where, "t": slice(None, None, -2)}, dense]:
            for name in "vsu":
                part = found[name].isel(given).load()
                xarray.testing.assert_identical(part, every[name].isel(given))
                assert part.dtype == found[name].dtype and part.values.dtype == found[name].dtype
        read.clear()
        found["v"].isel(where).load()
        assert sum(read) == 30 * 4


def test_of_points_that_fill_an_array_nothing_is_counted(tmp_path, monkeypatch):
    from nczchunk.xarray_backend import _LazyArray, _Source
    from xarray.core.indexing import VectorizedIndexer

    nczchunk.create(tmp_path / "a", "v", shape=(50, 40), dtype="i4")
    array = _LazyArray(_Source(tmp_path / "a", None), "v", (50, 40), np.dtype("i4"))
    few, many = (VectorizedIndexer((np.arange(num) % 50, np.arange(num) % 40)) for num in (10, 2000))
    scattered = VectorizedIndexer((np.arange(25).reshape(5, 5), np.arange(25).reshape(5, 5)))
    assert not array._are_few_points(few) and not array._are_few_points(scattered)
    monkeypatch.setattr(np, "unique", None)
    assert not array._are_few_points(many)


def counted_bytes(function, numbers):
    """A function of the memory of a transfer that adds how many bytes that has to a list."""
    def call(self, action, arguments, memory, *given):
        numbers.append(memory.nbytes)
        return function(self, action, arguments, memory, *given)

    return call


def counted(function, numbers):
    """A function of a selection that adds how many elements that has to a list."""
    def call(self, action, selection, *given, **more):
        numbers.append(int(np.prod(selection.count)))
        return function(self, action, selection, *given, **more)

    return call


def test_groups_are_listed_once_for_their_dimensions(tmp_path, monkeypatch):
    netCDF4 = pytest.importorskip("netCDF4")
    if not hasattr(xarray, "DataTree"):
        pytest.skip("an older xarray")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        for i in range(30):
            file.createGroup(f"g{i}").createVariable("v", "i4", ("t",))[:i] = i
    listed = []
    list_nodes = nczchunk.xarray_backend.list_nodes
    monkeypatch.setattr(nczchunk.xarray_backend, "list_nodes",
                        lambda *given, **more: listed.append(more.get("recursive", True)) or list_nodes(*given, **more))
    groups = xarray.open_groups(tmp_path / "a.nc", engine="nczchunk")
    assert all(groups[f"/g{i}"].sizes["t"] == 29 for i in range(30))
    assert listed.count(True) <= 2


def test_an_element_has_the_type_of_its_array(tmp_path):
    for name, dtype in [("b", "S5"), ("u", "U7"), ("t", "M8[s]"), ("i", "i2")]:
        nczchunk.create(tmp_path / "a", name, shape=(3,), dtype=dtype, dims=["x"])
    with xarray.open_dataset(tmp_path / "a", engine="nczchunk", decode_cf=False) as found:
        for name in "buti":
            part = found[name][1]
            assert part.dtype == found[name].dtype and part.values.dtype == found[name].dtype, name


def test_what_dask_has_of_a_netcdf_file_is_written_to_zarr_as_it_is(tmp_path):
    pytest.importorskip("dask")
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", 10)
        file.createVariable("v", "i4", ("t",), chunksizes=(4,))[:] = range(10)
    # As xarray's own engine has it: the chunks of a file are none of Zarr.
    with xarray.open_dataset(tmp_path / "a.nc", engine="nczchunk", chunks={"t": 5}) as found:
        found.to_zarr(tmp_path / "b", consolidated=False)
    with xarray.open_dataset(tmp_path / "b", engine="nczchunk") as again:
        assert again["v"].values.tolist() == list(range(10)) and again["v"].encoding["chunks"] == (5,)


def test_paths_begin_at_home_or_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    nczchunk.create(tmp_path / "a", "v", shape=(2,), dtype="i4", dims=["x"])[...] = 3
    monkeypatch.chdir(tmp_path)
    for path in ["~/a", os.path.join("~", "a"), "a"]:
        with xarray.open_dataset(path, engine="nczchunk") as found:
            assert found["v"].values.tolist() == [3, 3]
            assert os.path.samefile(found["v"].encoding["source"], tmp_path / "a")
            assert os.path.isabs(found["v"].encoding["source"])
    if hasattr(xarray, "open_datatree"):
        assert xarray.open_datatree("~/a", engine="nczchunk")["v"].values.tolist() == [3, 3]


def test_the_options_of_the_engine_are_given_by_xarray(tmp_path):
    nczchunk.create(tmp_path / "a", "v", shape=(40,), dtype="i4", dims=["x"], chunks=(20,))[...] = 3
    cache = nczchunk.Cache(1 << 20)
    for given in [{"chunk_cache": cache, "threads": 1}, {"backend_kwargs": {"chunk_cache": cache}}]:
        before = cache.statistics().misses
        with xarray.open_dataset(tmp_path / "a", engine="nczchunk", **given) as found:
            assert found["v"][:30].values.tolist() == [3] * 30
        assert cache.statistics().misses > before
    for wrong in [{"chunk_cache": True}, {"threads": 0}, {"memory_limits": 5}]:
        with pytest.raises((TypeError, ValueError), match=next(iter(wrong)).removeprefix("chunk_")):
            xarray.open_dataset(tmp_path / "a", engine="nczchunk", **wrong)


def test_dask_tells_datasets_from_those_that_replace_them(tmp_path):
    dask = pytest.importorskip("dask")

    def write(path, value):
        with nczchunk.NewZip(f"{path}.new") as new:
            nczchunk.create(new, "v", shape=(4,), dtype="i4", dims=["t"])[...] = value
        os.replace(f"{path}.new", path)

    path = tmp_path / "a.zip"

    def joined():
        return xarray.open_dataset(nczchunk.concat([path], "t"), engine="nczchunk", chunks={})

    def chunked():
        return xarray.open_dataset(path, engine="nczchunk").chunk({"t": 2})

    for opened in (joined, chunked):
        write(path, 1)
        first = opened()
        assert opened()["v"].data.name == first["v"].data.name
        write(path, 2)
        second = opened()
        assert first["v"].data.name != second["v"].data.name
        # Of joined files, those that were replaced cannot be read.
        both = [second] if opened is joined else [second, first]
        assert [one["v"].values[0] for one in dask.compute(*both)] == [2, 1][:len(both)]
