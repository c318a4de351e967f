#!/usr/bin/env python3
"""Measures reads from files by nczchunk's Python package and by others, each with its defaults, and writes a table.

    bench.py LIBNCZCHUNK DIRECTORY OUTPUT.md [--steps N] [--only TEXT] [--job TEXT...] [--make]
                                             [--readme README.md]

DIRECTORY gets the arrays, unless they are there from an earlier run, and the results. --steps is the length of the
longest array in time: 1500 by default, which is 1.5 GB. --only and --job choose the arrays and the jobs whose names
contain one of the texts; what they measure replaces these results and keeps all others. The table, the plot beside it
and what stands in the README are made of all results.
"""

import argparse
import datetime
import importlib.metadata
import json
import pathlib
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
MACHINE = data.machine()
PACKAGES = {"TensorStore": "tensorstore", "zarrs": "zarrs", "zarr-python": "zarr", "xarray": "xarray"}


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
    """The least of three times of each reader. They take turns, for whoever comes first may get memory that the machine
    has not used for long, which costs more than what is measured here."""
    answers = {}
    for _ in range(3):
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
    """A job on an array: what each library needs for it, as the table, the plot and the README show it."""

    name, access = "", "read"

    def __init__(self, array, job, answers):
        self.title, self.job, self.own, self.answers = f"{array}: {job}", job, answers["nczchunk"], answers
        self.others = {peer: answers[peer]["wall"] / self.own["wall"] for peer in PEERS
                       if "failed" not in answers.get(peer, {"failed": ""})}

    def relative(self, subject):
        return next((ratio for peer, ratio in self.others.items() if peer.lower() == subject), None)

    def in_table(self):
        cells = [self.job, milliseconds(self.own["wall"]), milliseconds(self.own["cpu"])]
        cells += [ratio(self.answers[bound], self.own, "cpu") if bound in self.answers else "" for bound in BOUNDS]
        cells += [f"{self.others[peer]:.2f} / {ratio(self.answers[peer], self.own, 'cpu')}" if peer in self.others
                  else "–" for peer in PEERS]
        return "| " + " | ".join(cells) + " |"

    def in_readme(self):
        best = min(self.others, key=self.others.get)
        netcdf = self.others.get("netCDF-C")
        return (f"| {self.title} | {milliseconds(self.own['wall'])} | {best} {self.others[best]:.2f} | "
                f"{f'{netcdf:.2f}' if netcdf else '–'} |")


def measure(readers, array, job, hyperslabs, name):
    """What each reader answers: the seconds, those of the processors and the checksum, the same of all."""
    into_used = job == data.INTO_USED
    # The system has the files in memory, whatever it has done since they were last read.
    for file in pathlib.Path(array["path"]).rglob("*"):
        if file.is_file():
            file.read_bytes()
    ask = {"path": array["path"], "slabs": hyperslabs, "budget": 0.2, "into_used": into_used}
    bounds = [] if array["codec"] == "raw" else BOUNDS if job.startswith("everything") else BOUNDS[:1]
    asked = {"nczchunk": readers["nczchunk"]}
    asked |= {bound: readers[bound] for bound in bounds}
    asked |= {peer: readers[peer] for peer in PEERS if can_read(peer, array) and not into_used}
    answers = in_turns(asked, ask)
    for bound_or_peer, answer in answers.items():
        if "failed" in answer and bound_or_peer not in PEERS:
            sys.exit(f"{name}, {job}: {bound_or_peer}: {answer['failed']}")
        if answer.get("crc", 0) != answers["nczchunk"]["crc"] and bound_or_peer != "codec alone" \
                and "failed" not in answer:
            sys.exit(f"{name}, {job}: {bound_or_peer} delivers other bytes")
    return answers


def version_of(peer):
    if peer == "netCDF-C":
        import netCDF4  # not at the top: the readers are other processes
        return netCDF4.__netcdf4libversion__
    return importlib.metadata.version(PACKAGES[peer])


def page(arrays, rows, date):
    versions = ", ".join(f"{peer} {version_of(peer)}" for peer in PEERS)
    lines = ["# Reads from files", "", "Written by `scripts/bench-files`; do not edit.", "",
             f"- {date}, {MACHINE};",
             f"  {versions}",
             "- From Python, each library with its defaults: nczchunk, TensorStore, zarrs, zarr-python and xarray use",
             "  all processors, netCDF-C one. zarrs is its pipeline in zarr-python.",
             "- The files are warm. Every read opens the array anew. The time is the least of a few and includes the",
             "  opening. All libraries returned the same bytes (the same CRC-32).",
             "- Columns of the other libraries: their time as a multiple of nczchunk's, by the clock and, behind the",
             "  slash, by CPU.",
             "- *codec alone*: numcodecs decodes each chunk that is touched into the same memory, and returns nothing.",
             "  *codec and copy*: numpy then copies each chunk from there to its destination. Both in one thread, so",
             "  only their CPU time is compared. A library that decodes all of a chunk by this codec needs at least",
             "  the time of *codec alone*; where another one needs little more, nothing can be much faster.",
             f"- *{data.INTO_USED}*: nczchunk reads into an array of the caller that was used before. The",
             "  other rows use a new array, whose memory the system first has to find and clear, as for the other",
             "  libraries.",
             "- nczchunk keeps decoded chunks of which a part was read a second time (*48 maps, one by one*).",
             "", "![Times of reads from files relative to nczchunk's](files.svg)", ""]
    for name, array in arrays.items():
        of_array = [row for row in rows if row.title.startswith(f"{name}: ")]
        if not of_array:
            continue
        lines += [f"## {name}, {array['steps']} x {data.LAT} x {data.LON}, chunks of "
                  f"{' x '.join(map(str, array['chunks']))}", "",
                  "| | nczchunk | CPU | " + " | ".join(BOUNDS + PEERS) + " |",
                  "|---|---:|---:|" + "---:|" * len(BOUNDS + PEERS)]
        lines += [row.in_table() for row in of_array] + [""]
    return "\n".join(lines)


def excerpt(rows, date):
    """What stands in the README."""
    return [
        BEGIN,
        "| from files, float32 (time, lat, lon) | nczchunk | next best | netCDF-C |",
        "|---|---:|---:|---:|",
        *(row.in_readme() for row in rows if row.title in CHOSEN),
        "",
        f"{date}, {MACHINE}, from Python, warm files, each library with its defaults. *Next best*",
        "and *netCDF-C*: how many times as long they take, with all that opening the array takes. All arrays, all",
        "peers and how it is measured: [docs/files.md](docs/files.md).",
        END,
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--only", default="")
    parser.add_argument("--job", nargs="*", default=[""])
    parser.add_argument("--make", action="store_true", help="only make the arrays")
    parser.add_argument("--readme", type=pathlib.Path)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    arrays = data.make(options.directory, options.steps)
    if options.make:
        return
    kept = options.directory / f"results-{options.steps}.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    readers = {name: Reader(name, options.library) for name in ["nczchunk", *BOUNDS, *PEERS]}
    for name, array in arrays.items():
        for job, hyperslabs in data.jobs(array["steps"]).items():
            if options.only in name and any(text in job for text in options.job):
                found = results.setdefault(name, {})[job] = measure(readers, array, job, hyperslabs, name)
                print(name, Row(name, job, found).in_table(), flush=True)
                kept.write_text(json.dumps(results, indent=1))
    rows = [Row(name, job, results[name][job]) for name, array in arrays.items() if name in results
            for job in data.jobs(array["steps"]) if job in results[name]]
    date = datetime.date.today()
    options.output.write_text(page(arrays, rows, date))
    sys.path.insert(0, str(HERE.parent / "peers"))
    import report
    drawn = {"peers": [peer.lower() for peer in PEERS], "date": str(date), "threads": "defaults",
             "machine": {"model": MACHINE}}
    options.output.with_suffix(".svg").write_text(report.plot([row for row in rows if row.others], drawn))
    if options.readme:
        before, rest = options.readme.read_text().split(BEGIN)
        options.readme.write_text(before + "\n".join(excerpt(rows, date)) + rest.split(END)[1])


if __name__ == "__main__":
    main()
