#!/usr/bin/env python3
"""Writes chunkshape_h5py.json beside it: what h5py guesses for many shapes.

    chunkshape_h5py.py      with a Python that has h5py
"""

import json
import pathlib
import random

import h5py
from h5py._hl.filters import guess_chunk

rng = random.Random(38)
cases = [((0,), 8), ((0, 0), 4), ((0, 721, 1440), 4), ((1,), 1), ((1024, 1024), 1), ((365, 721, 1440), 4),
         ((8760, 721, 1440), 2), ((1000, 1000), 8), ((3, 3, 100000), 8), ((7, 11, 13, 17, 19, 23), 4),
         ((4294967295,), 1), ((5, 5), 1048576), ((5, 5), 1048575), ((2147483647,) * 5, 8), ((1,) * 32, 8)]
for rank in range(1, 7):
    for _ in range(30):
        lengths = tuple(int(10 ** rng.uniform(0, 9 / rank ** 0.5)) for _ in range(rank))
        grows = rng.random() < 0.2
        cases.append(((0, *lengths[1:]) if grows else lengths, rng.choice((1, 2, 3, 4, 8, 16, 24, 1000))))
rows = [[list(shape), size, list(guess_chunk(shape, None, size))] for shape, size in cases]
about = (f"h5py {h5py.__version__} guess_chunk, which has no target; each row: [dimension lengths (0 = unlimited and "
         "empty), element size in bytes, chunk lengths]. Written by chunkshape_h5py.py.")
text = ",\n".join(f"    {json.dumps(row)}" for row in rows)
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(f'{{\n  "about": {json.dumps(about)},\n  "rows": [\n{text}\n  ]\n}}\n')
