#!/usr/bin/env python3
"""Measures reads from files by nczchunk and by others, in one run, and writes a table.

    bench.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--steps N] [--only TEXT] [--readme README.md]

DIRECTORY gets the arrays, unless they are there from an earlier run. --steps is the length of the longest array in
time: 1500 by default, which is 1.5 GB. --only chooses the arrays whose names contain the text. Beside the table a plot
is written, and into the README what stands there of it.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

import data

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ["TensorStore", "zarrs", "zarr-python", "netCDF-C", "xarray"]
# Not libraries, but what bounds them.
BOUNDS = ["codec alone", "codec and copy"]
BEGIN, END = "<!-- files: written by scripts/bench-files -->", "<!-- end of files -->"
# The arrays and the jobs that the README shows.
CHOSEN = [f"{array}: {job}" for array in ("zstd, time", "zstd, tiles", "raw, one chunk")
          for job in ("everything", "one series", "one map", "stride (7,2,2)")]
PACKAGES = {"TensorStore": "tensorstore", "zarrs": "zarrs", "zarr-python": "zarr", "netCDF-C": "netCDF4",
            "xarray": "xarray"}


class Reader:
    """A process in which one library reads."""

    def __init__(self, name, library):
        self.name = name
        command = [sys.executable, str(HERE / "reader.py"), name, library]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)

    def ask(self, what):
        print(json.dumps(what), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"failed": "the process ended"}


def can_read(peer, array):
    return not (peer == "netCDF-C" and array["codec"] == "sharded")


def in_turns(readers, ask):
    """The least of two times of each reader. They take turns, for whoever comes first may get memory that the machine
    has not used for long, which costs more than what is measured here."""
    answers = {}
    for _ in range(2):
        for name, reader in readers.items():
            answer, before = reader.ask(ask), answers.get(name)
            if before and "failed" not in before and "failed" not in answer:
                answer = {**answer, **{key: min(answer[key], before[key]) for key in ("wall", "cpu")}}
            answers[name] = answer
    return answers


def ratio(answer, own, key):
    return f"{answer[key] / own[key]:.2f}" if "failed" not in answer else "–"


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


class Row:
    """What the plot and the README show in a row: a job on an array with two threads, as the table tells it. Not with
    one, for zarrs and xarray then use two all the same."""

    name, access = "", "read"

    def __init__(self, array, cells):
        self.title, self.own = f"{array}: {cells[0]}", cells[2]
        peers = zip(PEERS, cells[4 + len(BOUNDS):])
        self.others = {peer: float(cell.split(" / ")[0]) for peer, cell in peers if cell != "–"}

    def relative(self, subject):
        return next((ratio for peer, ratio in self.others.items() if peer.lower() == subject), None)

    def cells(self):
        best = min(self.others, key=self.others.get)
        netcdf = self.others.get("netCDF-C")
        return f"| {self.title} | {self.own} | {best} {self.others[best]:.2f} | {f'{netcdf:.2f}' if netcdf else '–'} |"


def rows_of(table):
    """The rows of the written table."""
    array = None
    for line in table.splitlines():
        heading = re.match(r"## (.*), \d+ x ", line)
        array = heading.group(1) if heading else array
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[1] == "2" and data.INTO_USED not in line:
            yield Row(array, cells)


def excerpt(rows, date):
    """What stands in the README."""
    return [
        BEGIN,
        "| from files, float32 (time, lat, lon) | nczchunk | next best | netCDF-C |",
        "|---|---:|---:|---:|",
        *(row.cells() for row in rows if row.title in CHOSEN),
        "",
        f"{date}, two threads on two cores, warm files. *Next best* and *netCDF-C*: how many times as long they take,",
        "with all that opening the array takes. All arrays, all peers and how it is measured:",
        "[docs/files.md](docs/files.md).",
        END,
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--only", default="")
    parser.add_argument("--readme", type=pathlib.Path)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    arrays = data.make(options.directory, options.steps)
    readers = {name: Reader(name, options.library) for name in ["nczchunk", *BOUNDS, *PEERS]}
    versions = ", ".join(f"{peer} {importlib.metadata.version(package)}" for peer, package in PACKAGES.items())
    lines = ["# Reads from files", "", "Written by `scripts/bench-files`; do not edit.", "",
             f"- {datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores;",
             f"  {versions}",
             "- The files are warm. Every read opens the array anew. The time is the least of a few and includes the",
             "  opening. All libraries returned the same bytes (the same CRC-32).",
             "- Columns of the other libraries: their time as a multiple of nczchunk's, by the clock and, behind the",
             "  slash, by CPU. zarrs and xarray use both cores even if they are set to use one thread, and",
             "  TensorStore reads files in parallel with decoding.",
             "- *codec alone*: numcodecs decodes the file of every chunk into the same memory, and returns nothing.",
             "  *codec and copy*: numpy then copies each chunk from there to its destination.",
             f"- *{data.INTO_USED}*: nczchunk reads into an array of the caller that was used before. The",
             "  other rows use a new array, whose memory the system first has to find and clear, as for the other",
             "  libraries.",
             "", "![Times of reads from files relative to nczchunk's](files.svg)", ""]
    for name, array in arrays.items():
        if options.only not in name:
            continue
        lines += [f"## {name}, {array['steps']} x {data.LAT} x {data.LON}, chunks of "
                  f"{' x '.join(map(str, array['chunks']))}", "",
                  "| | threads | nczchunk | CPU | " + " | ".join(BOUNDS + PEERS) + " |",
                  "|---|---:|---:|---:|" + "---:|" * len(BOUNDS + PEERS)]
        whole = None
        for job, hyperslabs in data.jobs(array["steps"]).items():
            into_used = job == data.INTO_USED
            for threads in (1, 2):
                ask = {"path": array["path"], "threads": threads, "slabs": hyperslabs, "budget": 0.2,
                       "into_used": into_used}
                has_codec = array["codec"] not in ("raw", "sharded") and job.startswith("everything") and threads == 1
                asked = {"nczchunk": readers["nczchunk"]}
                asked |= {bound: readers[bound] for bound in BOUNDS if has_codec}
                asked |= {peer: readers[peer] for peer in PEERS if can_read(peer, array) and not into_used}
                answers = in_turns(asked, ask)
                own = answers["nczchunk"]
                if "failed" in own:
                    sys.exit(f"{name}, {job}: nczchunk: {own['failed']}")
                whole = own["crc"] if job == "everything" else whole
                if into_used and own["crc"] != whole:
                    sys.exit(f"{name}, {job}: other bytes than in a new array")
                cells = [job, str(threads), milliseconds(own["wall"]), milliseconds(own["cpu"])]
                cells += [ratio(answers[bound], own, "wall") if has_codec else "" for bound in BOUNDS]
                copied = answers.get("codec and copy", own)
                if copied.get("crc") != own["crc"]:
                    sys.exit(f"{name}, {job}: the codec delivers other bytes")
                for peer in PEERS:
                    answer = answers.get(peer, {"failed": "not supported"})
                    if "failed" not in answer and answer["crc"] != own["crc"]:
                        sys.exit(f"{name}, {job}: {peer} delivers other bytes")
                    if "failed" in answer:
                        cells.append("–")
                    else:
                        cells.append(f"{ratio(answer, own, 'wall')} / {ratio(answer, own, 'cpu')}")
                lines.append("| " + " | ".join(cells) + " |")
                print(name, lines[-1], flush=True)
        lines.append("")
        options.output.write_text("\n".join(lines))
    show(options.output, options.readme)


def show(table, readme):
    """Draws the plot of a table, and writes into the README what stands there of it."""
    sys.path.insert(0, str(HERE.parent / "peers"))
    import report
    text = table.read_text()
    date, rows = re.search(r"^- ([0-9-]+), ", text, re.MULTILINE).group(1), list(rows_of(text))
    results = {"peers": [peer.lower() for peer in PEERS], "date": date, "threads": "two threads",
               "machine": {"model": platform.machine()}}
    table.with_suffix(".svg").write_text(report.plot(rows, results))
    if readme:
        before, rest = readme.read_text().split(BEGIN)
        readme.write_text(before + "\n".join(excerpt(rows, date)) + rest.split(END)[1])


if __name__ == "__main__":
    main()
