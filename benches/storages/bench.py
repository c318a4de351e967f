#!/usr/bin/env python3
"""Measures reads from a server with latency, by nczchunk and by others in the same run.

    bench.py LIBRARY DIRECTORY OUTPUT [--quick]

LIBRARY is libnczchunk with the feature network. The tables go to OUTPUT, the numbers to DIRECTORY/results.json.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import urllib.request
from importlib.metadata import version

import data

HERE = pathlib.Path(__file__).parent
PEERS = ["tensorstore", "zarrs-python", "zarr-python, obstore", "zarr-python, fsspec"]
PACKAGES = ["tensorstore", "zarrs", "zarr", "obstore", "fsspec", "aiohttp", "numpy"]


def run(library, row, url, repetitions, environment):
    """The least seconds, with their requests, bytes and requests in flight; the time of processors in ms; the sum."""
    command = [sys.executable, HERE / "peer.py", library, row, url, str(repetitions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        try:
            out, error = child.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            child.kill()
            return {"error": "no answer within 300 s"}
    if child.returncode:
        return {"error": error.strip().splitlines()[-1][:200] if error.strip() else f"exit {child.returncode}"}
    *lines, total = out.splitlines()
    samples = [[float(word) for word in line.split()] for line in lines]
    seconds, _, requests, sent, most = min(samples)
    cpu = min(sample[1] for sample in samples) * 1000
    return {"seconds": seconds, "cpu": cpu, "requests": int(requests), "bytes": int(sent), "most": int(most),
            "sum": total}


def measured(library, row, url, repetitions, environment):
    """The same, and the peak of the memory of a process that does it once, as the system tells its parent."""
    result = run(library, row, url, repetitions, environment)
    if "error" in result:
        return result
    command = [sys.executable, str(HERE / "peer.py"), library, row, url, "1"]
    quiet = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawn(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1)])
    os.close(quiet)
    _, _, usage = os.wait4(child, 0)
    return {**result, "peak": usage.ru_maxrss / 1024}


def table(out, header, rows):
    out.append("| " + " | ".join(header) + " |")
    out.append("|---" * len(header) + "|")
    out += ["| " + " | ".join(row) + " |" for row in rows]
    out.append("")


def ratio(ours, theirs):
    return f"{theirs / ours:.2g}" if ours else ("1" if not theirs else "-")


def report(results, latencies):
    """The page."""
    out = [(HERE / "head.md").read_text().strip(), ""]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    out += [f"Measured on {datetime.date.today()} with {os.cpu_count()} cores ({platform.machine()}), Python "
            f"{platform.python_version()}, {versions}.", ""]
    for latency in latencies:
        of = results[str(latency)]
        out += [f"## Time at {latency} ms", "", "Milliseconds of nczchunk; then how many times as long each other "
                "library takes. Below 1 it is faster.", ""]
        rows = []
        for row in data.ROWS:
            ours = of[row]["nczchunk"]
            cells = [row, "failed" if "error" in ours else f"{ours['seconds'] * 1000:.1f}"]
            cells += ["failed" if "error" in of[row][peer] or "error" in ours
                      else ratio(ours["seconds"], of[row][peer]["seconds"]) for peer in PEERS]
            rows.append(cells)
        table(out, ["", "nczchunk, ms", *PEERS], rows)
    last = results[str(latencies[-1])]
    for what, words in [("requests", "Requests"), ("bytes", "KiB from the server"), ("cpu", "Time of processors, ms"),
                        ("peak", "Peak of memory, MiB")]:
        scale = 1024 if what == "bytes" else 1
        out += [f"## {words}", ""]
        if what == "peak":
            out += ["Of a process that does it once, Python and the library included, as its parent sees it.", ""]
        rows = []
        for row in data.ROWS:
            cells = [last[row][who] for who in ["nczchunk", *PEERS]]
            rows.append([row, *("failed" if "error" in cell else f"{cell[what] / scale:.0f}" for cell in cells)])
        table(out, ["", "nczchunk", *PEERS], rows)
    failures = sorted({f"- {peer}, {row}: `{cell['error']}`" for of in results.values() for row, cells in of.items()
                       for peer, cell in cells.items() if "error" in cell})
    if failures:
        out += ["## Failures", "", *failures, ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    store = given.directory / "data"
    if not (store / "group.zarr" / "zarr.json").exists():
        data.write(store)
    latencies, repetitions = ([0, 10], 1) if given.quick else ([0, 10, 50], 3)
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment = {**kept, "NCZCHUNK_LIBRARY": os.path.abspath(given.library),
                   "PYTHONPATH": str(HERE.parent.parent / "python" / "src")}
    server = subprocess.Popen([sys.executable, HERE / "server.py", store], stdout=subprocess.PIPE, text=True)
    results = {}
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        for latency in latencies:
            urllib.request.urlopen(f"{url}/-/latency/{latency}").close()
            for row in data.ROWS:
                cells = {who: measured(who, row, url, repetitions, environment) for who in ["nczchunk", *PEERS]}
                results.setdefault(str(latency), {})[row] = cells
                sums = {float(cell["sum"]) for cell in cells.values() if "sum" in cell}
                if len(sums) > 1:
                    sys.exit(f"{row}: what was read differs: {sums}")
                words = [f"{who} {cell['seconds'] * 1000:.0f} ms ({cell['requests']})" if "error" not in cell
                         else f"{who} failed: {cell['error']}" for who, cell in cells.items()]
                print(f"{latency} ms, {row}: {', '.join(words)}", flush=True)
    finally:
        server.terminate()
        server.wait(timeout=60)
    (given.directory / "results.json").write_text(json.dumps(results, indent=1))
    given.output.write_text(report(results, latencies))
    if any("error" in cells["nczchunk"] for of in results.values() for cells in of.values()):
        sys.exit("nczchunk has failed")


main()
