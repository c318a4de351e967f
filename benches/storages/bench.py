#!/usr/bin/env python3
"""Measures reads from a server with latency, by nczchunk and by others in the same run.

    bench.py LIBRARY DIRECTORY OUTPUT [--netcdf LIBRARY] [--rows ROWS] [--latencies MS] [--quick | --gaps]

LIBRARY is libnczchunk with the feature network; that of --netcdf is netCDF-C with its own client for S3. With --rows or
--latencies only these are measured, and the others stay as they are in DIRECTORY/results.json, which has the numbers.
The tables go to OUTPUT. With --gaps only nczchunk reads, with several values of NCZCHUNK_NETWORK_GAP, and prints the
table of docs/requests.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import urllib.request
from importlib.metadata import version

import data

HERE = pathlib.Path(__file__).parent
NETCDF, GAP = "netCDF-C S3", "nczchunk wide gap"
REPETITIONS = 12  # with little latency
PEERS = ["tensorstore", "zarrs-python", "zarr-python, obstore", "zarr-python, fsspec", NETCDF, GAP]
PACKAGES = ["tensorstore", "zarrs", "zarr", "obstore", "fsspec", "aiohttp", "numpy"]


def run(library, row, url, repetitions, environment):
    """The least seconds, with their requests, bytes and requests in flight; the time of processors in ms; the sum; the
    peak of the memory in MiB."""
    command = [sys.executable, HERE / "peer.py", library, row, url, str(repetitions)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        child = subprocess.Popen(command, stdout=out, stderr=error, env=environment)
        patience = threading.Timer(240, child.kill)
        patience.start()
        try:
            child.wait()
        finally:
            patience.cancel()
            if child.returncode is None:
                child.kill()
        out.seek(0), error.seek(0)
        lines, words = out.read().splitlines(), error.read().strip().splitlines()
    if child.returncode:
        return {"error": words[-1][:200] if words else f"exit {child.returncode}"}
    samples = [[float(word) for word in line.split()] for line in lines[:-1]]
    found, peak = lines[-1].split()
    seconds, _, requests, sent, most = min(samples)
    cpu = min(sample[1] for sample in samples) * 1000
    return {"seconds": seconds, "cpu": cpu, "requests": int(requests), "bytes": int(sent), "most": int(most),
            "sum": found, "peak": int(peak) / 2**20}


def measured(library, row, url, repetitions, environment, has_peak):
    """The same, if asked for with the peak of a process that does it once; nothing if the row is not the library's."""
    if library == NETCDF:
        # It makes one request after the other, which takes up to a minute.
        is_there = row in data.UNSHARDED and "NETCDF_WITH_S3" in environment
        return run(library, row, url, 1, environment) if is_there else {"none": True}
    if library == GAP:
        if row not in data.SHARDED:
            return {"none": True}
        environment = {**environment, "NCZCHUNK_NETWORK_GAP": str(2 << 20)}
    result = run(library, row, url, repetitions, environment)
    if "error" in result or repetitions == 1 or not has_peak:
        return result
    return {**result, "peak": run(library, row, url, 1, environment).get("peak", 0)}


def cell(of, tell):
    """What a table says of a library's row."""
    return "-" if "none" in of else "failed" if "error" in of else tell(of)


def behind(results, latencies):
    """What another library does with fewer requests or bytes or, by more than a tenth, in less time."""
    found = []
    for words, what, of, most in [("fewer requests", "requests", latencies[-1], 1),
                                  ("fewer bytes, by more than a tenth", "bytes", latencies[-1], 1.1),
                                  *((f"less time at {latency} ms, by more than a tenth", "seconds", latency, 1 / 0.9)
                                    for latency in latencies)]:
        rows = []
        for row, cells in results[str(of)].items():
            others = [(cells[peer][what], peer) for peer in PEERS if peer != GAP and what in cells[peer]]
            best, who = min(others)
            if cells["nczchunk"].get(what, float("inf")) > most * best:
                rows.append(f"{row} ({who})")
        found.append(wrapped(f"- {words}: {', '.join(rows) or 'none'}", "  "))
    return found


def table(out, header, rows):
    out.append("| " + " | ".join(header) + " |")
    out.append("|---" * len(header) + "|")
    out += ["| " + " | ".join(row) + " |" for row in rows]
    out.append("")


def wrapped(text, indent=""):
    return textwrap.fill(text, 120, subsequent_indent=indent, break_on_hyphens=False)


def ratio(ours, theirs):
    return f"{theirs / ours:.2g}" if ours else ("1" if not theirs else "-")


def processor():
    """Its name, where the system tells it."""
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def gaps(library, url, latencies, environment):
    """What fewer requests cost: rows of which parts of shards are needed, with wider gaps that are read."""
    found, rows = {}, ["window of a scene", "sharded window", "sharded map"]
    for latency in latencies:
        urllib.request.urlopen(f"{url}/-/latency/{latency}").close()
        for row in rows:
            for gap in [None, 128, 256, 512, 1024, 2048]:
                given = {"NCZCHUNK_NETWORK_GAP": str(gap << 10)} if gap else {}
                found[row, gap, latency] = run(library, row, url, 5, {**environment, **given})
    times = [f"ms at {latency} ms" for latency in latencies]
    lines = [[row, f"{gap} KiB" if gap else "default", str(of["requests"]), f"{of['bytes'] / 1024:.0f}",
              *(f"{found[row, gap, latency]['seconds'] * 1000:.0f}" for latency in latencies)]
             for (row, gap, latency), of in found.items() if latency == latencies[0]]
    out = []
    table(out, ["", "gap", "requests", "KiB", *times], lines)
    print("\n".join(out))


def report(results, latencies):
    """The page."""
    out = [(HERE / "head.md").read_text().strip(), ""]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    out += [wrapped(f"Measured on {datetime.date.today()} with {os.cpu_count()} cores ({processor()}), Python "
                    f"{platform.python_version()}, {versions}."), ""]
    out += ["## Where another library is better", "", *behind(results, latencies), ""]
    for latency in latencies:
        of = results[str(latency)]
        out += [f"## Time at {latency} ms", "", "Milliseconds of nczchunk; then how many times as long each other "
                "library takes. Below 1 it is faster.", ""]
        rows = []
        for row in data.ROWS:
            ours = of[row]["nczchunk"]
            cells = [row, cell(ours, lambda ours: f"{ours['seconds'] * 1000:.1f}")]
            cells += [cell(of[row][peer], lambda their: "-" if "error" in ours
                           else ratio(ours["seconds"], their["seconds"])) for peer in PEERS]
            rows.append(cells)
        table(out, ["", "nczchunk, ms", *PEERS], rows)
    last = results[str(latencies[-1])]
    for what, words in [("requests", "Requests"), ("bytes", "KiB from the server"), ("cpu", "Time of processors, ms"),
                        ("peak", "Peak of memory, MiB")]:
        scale = 1024 if what == "bytes" else 1
        out += [f"## {words}", ""]
        if what == "peak":
            out += ["Of a process that does it once, Python and the library included, as the system tells the process "
                    "itself (`VmHWM`).", ""]
        rows = [[row, *(cell(last[row][who], lambda found: f"{found[what] / scale:.0f}")
                        for who in ["nczchunk", *PEERS])] for row in data.ROWS]
        table(out, ["", "nczchunk", *PEERS], rows)
    failures = sorted({f"- {peer}, {row}: `{found['error']}`" for of in results.values() for row, cells in of.items()
                       for peer, found in cells.items() if "error" in found})
    if failures:
        out += ["## Failures", "", *failures, ""]
    return "\n".join(out)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--netcdf")
    parser.add_argument("--rows", type=lambda rows: rows.split(","), default=list(data.ROWS))
    parser.add_argument("--latencies", type=lambda given: [int(latency) for latency in given.split(",")])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--gaps", action="store_true")
    given = parser.parse_args()
    store = given.directory / "data"
    if not (store / "complete").exists():
        data.write(store)
    latencies, repetitions = ([0, 10], 1) if given.quick else ([0, 10, 50], 3)
    direct = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment = {**direct, "NCZCHUNK_LIBRARY": os.path.abspath(given.library),
                   "PYTHONPATH": str(HERE.parent.parent / "python" / "src")}
    if given.netcdf:
        library = pathlib.Path(given.netcdf).absolute()
        environment |= {"NETCDF_WITH_S3": str(library), "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
                        "AWS_REGION": "us-east-1", "HDF5_PLUGIN_PATH": os.environ["HDF5_PLUGIN_PATH"]}
    server = subprocess.Popen([sys.executable, HERE / "server.py", store], stdout=subprocess.PIPE, text=True)
    kept = given.directory / "results.json"
    is_part = given.latencies or len(given.rows) < len(data.ROWS)
    results = json.loads(kept.read_text()) if kept.exists() and is_part else {}
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        if given.gaps:
            return gaps("nczchunk", url, given.latencies or latencies, environment)
        for latency in given.latencies or latencies:
            urllib.request.urlopen(f"{url}/-/latency/{latency}").close()
            for row in given.rows:
                has_peak = latency == latencies[-1]
                # A time is short with little latency, and the first ones are those of new connections.
                turns = repetitions if latency > 10 or given.quick else REPETITIONS
                # The first to read would find the server's memory cold.
                run("nczchunk", row, url, 1, environment)
                cells = {who: measured(who, row, url, turns, environment, has_peak)
                         for who in ["nczchunk", *PEERS]}
                results.setdefault(str(latency), {})[row] = cells
                sums = {float(found["sum"]) for found in cells.values() if "sum" in found}
                if len(sums) > 1:
                    sys.exit(f"{row}: what was read differs: {sums}")
                words = [f"{who} {found['seconds'] * 1000:.0f} ms ({found['requests']})" if "error" not in found
                         else f"{who} failed: {found['error']}" for who, found in cells.items() if "none" not in found]
                print(f"{latency} ms, {row}: {', '.join(words)}", flush=True)
                kept.write_text(json.dumps(results, indent=1))
    finally:
        server.terminate()
        server.wait(timeout=60)
    if all(row in results.get(str(latency), {}) for latency in latencies for row in data.ROWS):
        given.output.write_text(report(results, latencies))
    if any("error" in cells["nczchunk"] for of in results.values() for cells in of.values()):
        sys.exit("nczchunk has failed")


main()
