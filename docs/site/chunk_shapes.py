"""The tables of docs/chunk-shapes.md: what access patterns fetch from an array in chunks of one shape or another, and
how long that takes.

    chunk_shapes.py DIRECTORY --check      the figures of what is fetched, from plans of arrays without data
    chunk_shapes.py DIRECTORY --measure    writes these, and times with data, 190 MB in each of the chunk shapes

scripts/docs calls it with the library in the environment; with --measure on a machine that does nothing else.
"""

import datetime
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

import nczchunk

PAGE = pathlib.Path(__file__).resolve().parents[1] / "chunk-shapes.md"
SHAPE = (730, 180, 360)
TURNS = 7

# What is read: as the program's --slab has it, and as numpy's index.
PATTERNS = {
    "a map": ("365", np.s_[365]),
    "a series at a point": (":,90,180", np.s_[:, 90, 180]),
    "the series of a region": (":,80:100,170:190", np.s_[:, 80:100, 170:190]),
    "a month of a region": ("360:390,60:120,100:200", np.s_[360:390, 60:120, 100:200]),
    "an overview": ("::30,::6,::6", np.s_[::30, ::6, ::6]),
    "everything": ("...", np.s_[...]),
}
CHUNKS = {
    "maps": (1, 180, 360),
    "a few maps": (10, 180, 360),
    "tiles": (30, 60, 60),
    "long tiles": (146, 30, 30),
    "series": (730, 10, 10),
}


def values():
    rng = np.random.default_rng(7)
    lat = np.linspace(-1.5, 1.5, SHAPE[1], dtype="f4")[:, None]
    lon = np.linspace(0, 6.28, SHAPE[2], dtype="f4")[None, :]
    for day in range(SHAPE[0]):
        field = 25 * np.cos(lat) + 5 * np.sin(3 * lon + day / 30) * np.cos(lat) + np.sin(day / 58)
        yield np.round(field + rng.normal(0, 0.3, field.shape), 2).astype("f4")


def create(directory, chunks, data):
    """An array in chunks of a shape; with data, if there are any."""
    path = directory / f"{'-'.join(map(str, chunks))}.zarr"
    array = nczchunk.create(path, shape=SHAPE, dtype="f4", chunks=chunks, dims=("time", "lat", "lon"),
                            codecs=[("zstd", {"level": 3})], overwrite=True)
    if data is not None:
        array[...] = data
    array.close()
    return path


def fetched(path, slab):
    """How many chunks a hyperslab touches, and how many times the bytes that are selected these have."""
    told = subprocess.run(["nczchunk", "plan", path, "--slab", slab, "--svg", "/dev/null"], check=True,
                          capture_output=True, text=True).stdout
    return re.search(r"(\d+) of \d+ touched.* decoded, read amplification ([\d.]+)", told).groups()


def milliseconds(paths, index):
    """The least time of several reads of the same from each array, which is opened for it, in turns."""
    least = dict.fromkeys(paths, float("inf"))
    for _ in range(TURNS):
        for name, path in paths.items():
            begin = time.perf_counter()
            with nczchunk.open(path, threads=1) as array:
                array[index]
            least[name] = min(least[name], time.perf_counter() - begin)
    return {name: seconds * 1e3 for name, seconds in least.items()}


def table(cells):
    """Markdown: a row for each chunk shape, a column for each pattern."""
    lines = ["| chunks | " + " | ".join(PATTERNS) + " |", "|---|" + "---:|" * len(PATTERNS)]
    for name, chunks in CHUNKS.items():
        words = f"{name}, {' x '.join(map(str, chunks))}"
        lines.append("| " + " | ".join([words, *(cells[name, pattern] for pattern in PATTERNS)]) + " |")
    return "\n".join(lines)


def three_digits(number):
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}".replace(",", " ")


def measured(paths):
    cells = {}
    for pattern, (_, index) in PATTERNS.items():
        times = milliseconds(paths, index)
        best = min(times.values())
        for name, took in times.items():
            words = three_digits(took)
            cells[name, pattern] = f"**{words}**" if took == best else words
    return table(cells)


def replaced(text, what, lines):
    begin, end = f"<!-- {what}: written by scripts/docs -->\n", f"\n<!-- end of {what} -->"
    before, rest = text.split(begin)
    return before + begin + lines + end + rest.split(end)[1]


def main():
    directory, action = pathlib.Path(sys.argv[1]), sys.argv[2]
    directory.mkdir(parents=True, exist_ok=True)
    data = np.stack(list(values())) if action == "--measure" else None
    paths = {name: create(directory, chunks, data) for name, chunks in CHUNKS.items()}
    cells = {}
    for pattern, (slab, _) in PATTERNS.items():
        for name, path in paths.items():
            chunks, times = fetched(path, slab)
            cells[name, pattern] = f"{chunks} ({three_digits(float(times))} x)"
    text = PAGE.read_text()
    new = replaced(text, "what is fetched", table(cells))
    if action == "--measure":
        words = f"\n\nMilliseconds, one thread, warm files, the least of {TURNS}; {datetime.date.today()}."
        new = replaced(new, "how long it takes", measured(paths) + words)
        PAGE.write_text(new)
    elif new != text:
        sys.exit(f"docs/chunk-shapes.md is not what plans tell; now it is\n{table(cells)}")


main()
