import os
import pathlib

import pytest

import nczchunk

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


def pytest_configure(config):
    config.addinivalue_line("markers", "unix: needs forks, signals or links as Unix has them")


def pytest_runtest_setup(item):
    if os.name == "nt" and item.get_closest_marker("unix"):
        pytest.skip("for Unix alone")


@pytest.fixture
def sst():
    """Sea surface temperatures of twelve months, float32."""
    with nczchunk.open(DATA / "coads_sst.zarr") as array:
        yield array
