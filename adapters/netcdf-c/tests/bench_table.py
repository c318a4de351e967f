"""Makes a table of what `bench` printed in several rounds, stock and adapted.

bench_table.py [--check] RESULTS GUIDE: RESULTS has the files stock.N and adapted.N. The table goes between the guide's
two markers; with --check it is only printed, and ratios far from what the guide promises are an error.
"""

import datetime
import pathlib
import platform
import sys

BEGIN, END = "<!-- The table begins. -->\n", "<!-- The table ends. -->\n"


def least_times(results, kind):
    """The least time of each workload over all rounds, in the order of the program."""
    times = {}
    for path in sorted(results.glob(f"{kind}.*")):
        for line in path.read_text().splitlines():
            direction, workload, seconds = line.split("\t")
            key = workload, direction
            times[key] = min(times.get(key, float("inf")), float(seconds))
    return times


def in_words(seconds):
    for unit, size in (("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            number = seconds / size
            return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return "0"


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def today():
    return datetime.date.today()


def main():
    check = sys.argv[1] == "--check"
    results, guide = map(pathlib.Path, sys.argv[-2:])
    stock, adapted = least_times(results, "stock"), least_times(results, "adapted")
    ratios = {key: stock[key] / adapted[key] for key in stock}
    workloads = list(dict.fromkeys(workload for workload, _ in stock))

    rounds = len(list(results.glob("stock.*")))
    table = [
        f"{processor()}, {today()}, netCDF-C 4.10.1, the least of {rounds} interleaved rounds.",
        "",
        "| | get: stock | adapted | times faster | put: stock | adapted | times faster |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for workload in workloads:
        cells = [workload]
        for direction in ("get", "put"):
            key = workload, direction
            cells += [in_words(stock[key]), in_words(adapted[key]), f"**{ratios[key]:.3g}**"]
        table.append("| " + " | ".join(cells) + " |")
    table = "\n".join(table) + "\n"
    print(table)

    if not check:
        text = guide.read_text()
        before, rest = text.split(BEGIN)
        guide.write_text(before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1])
        return

    # A shared machine is not quiet enough for the guide's promises: these are what no noise explains.
    failed = []
    for (workload, direction), ratio in ratios.items():
        least = 4 if "strides" in workload else 3.5 if workload.startswith("one element") else 0.7
        if ratio < least:
            failed.append(f"{direction} {workload}: {ratio:.2f}, not {least}")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
