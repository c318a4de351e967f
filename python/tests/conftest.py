import pathlib

import pytest

import nczchunk

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


@pytest.fixture
def sst():
    """Sea surface temperatures of twelve months, float32."""
    with nczchunk.open(DATA / "coads_sst.zarr") as array:
        yield array
