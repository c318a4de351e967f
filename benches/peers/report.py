"""Makes a table and a plot of what compare.py has written.

    report.py RESULTS.json DIRECTORY [README.md]

DIRECTORY gets performance.md and performance.svg; in the README the lines between the two comments that say so are
replaced.
"""

import json
import math
import pathlib
import re
import sys
import textwrap
from html import escape

NAMES = {
    "tensorstore": "TensorStore",
    "zarrs": "zarrs",
    "zarr-python": "zarr-python",
    "hdf5": "HDF5",
    "netcdf-c": "netCDF-C",
    "xarray": "xarray",
    "ideal": "ideal",
    "bare": "bare loop",
    "memcpy": "memcpy",
}

# What the README shows.
CHOSEN = ["W1", "W3", "W8c", "W9", "W11", "W15", "W17", "W18", "W1w"]

# Below this memcpy of the output says nothing about memory.
MEMCPY_FROM = 1 << 20

BEGIN, END = "<!-- performance: written by scripts/bench -->", "<!-- end of performance -->"


class Workload:
    def __init__(self, name, result):
        self.name, self.title, self.access = name, result["title"], result["access"]
        self.bytes, self.together, self.subjects = result["bytes"], result["together"], result["subjects"]
        self.own = self.subjects.get("nczchunk", {})
        self.left_out = result.get("left_out")

    def seconds(self, subject):
        if subject == "memcpy":
            return self.own.get("memcpy") if self.bytes >= MEMCPY_FROM and self.own.get("calls") == 1 else None
        return self.subjects.get(subject, {}).get("seconds")

    def relative(self, subject):
        """Time, in times of nczchunk's; None if there is none. Of programs that did not take turns, what they have in
        common is memcpy."""
        seconds = self.seconds(subject)
        if not seconds or not self.own:
            return None
        measured = self.subjects.get(subject, self.own)
        machine = 1 if self.together or not self.seconds("memcpy") else self.own["memcpy"] / measured["memcpy"]
        return seconds / self.own["seconds"] * machine

    def bench(self):
        return f"`cargo bench --bench transfers -- {self.name}/`"


def short(number):
    """Three digits at most, none of them after the third: 0.97, 1.25, 12.5, 125, 12 500."""
    if number is None:
        return "–"
    if number < 10:
        return f"{number:.2f}"
    if number < 100:
        return f"{number:.1f}"
    return f"{float(f'{number:.3g}'):,.0f}".replace(",", " ")


def time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(workloads, peers, threads):
    head = ["", "", "nczchunk", "of memcpy", "of ideal"] + ["of bare loop", "2 threads"] * threads
    head += [NAMES[peer] for peer in peers]
    lines = [row(head), "|" + "---|" * 2 + "---:|" * (len(head) - 2)]
    for w in workloads:
        if w.left_out:
            lines.append(row([w.name, w.title, w.left_out] + [""] * (len(head) - 3)))
            continue
        cells = [w.name, w.title, time(w.own["seconds"]), short(w.relative("memcpy")), short(w.relative("ideal"))]
        if threads:
            faster = w.relative("nczchunk-2")
            cells += [short(w.relative("bare")), short(1 / faster) if faster else ""]
        lines.append(row(cells + [peer_cell(w, peer) for peer in peers]))
    return lines


def variants(workloads, subject, head):
    """How long the workloads take in another way of nczchunk's, relative to its usual one."""
    found = [w for w in workloads if w.relative(subject)]
    lines = [row(["", "", "nczchunk", head]), "|---|---|---:|---:|"]
    return lines + [row([w.name, w.title, time(w.own["seconds"]), short(w.relative(subject))]) for w in found]


def peer_cell(workload, peer):
    return "skipped" if "skipped" in workload.subjects.get(peer, {}) else short(workload.relative(peer))


def skipped(workloads, results):
    """Who is missing where, and why."""
    reasons = {}
    for w in workloads:
        for subject, measured in w.subjects.items():
            if "skipped" in measured:
                reasons.setdefault((subject, measured["skipped"]), []).append(w.name)
    lines = [f"- {NAMES[peer]} is not in the table: {reason}." for peer, reason in results["missing"].items()]
    return lines + [
        f"- {NAMES[subject]} skips {', '.join(names)}: {reason}." for (subject, reason), names in reasons.items()
    ]


def noise(workloads):
    """How much memcpy of the same bytes differed between the programs, which should be nothing."""
    spreads = {}
    for w in workloads:
        found = [m["memcpy"] for m in w.subjects.values() if "memcpy" in m and m["calls"] == 1]
        if found and w.bytes >= MEMCPY_FROM:
            spreads[w.name] = max(found) / min(found) - 1
    return spreads


def machine(results):
    m = results["machine"]
    caches = ", ".join(f"{name.removesuffix(' cache')} {size}" for name, size in m["caches"].items())
    return f"{m['model']}, {m['cores']} cores, {caches}; {m['memory']}; {m['system']}"


def prose(words, indent=""):
    """The lines of a paragraph."""
    return textwrap.wrap(words, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def item(words):
    """The lines of an item of a list."""
    return prose("- " + words, "  ")


def document(workloads, results, threads):
    reads = [w for w in workloads if w.access == "read"]
    writes = [w for w in workloads if w.access == "write"]
    peers = results["peers"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items() if version)
    spreads = noise(workloads)
    worst = max(spreads, key=spreads.get) if spreads else None
    lines = ["# Performance", "", "Written by `scripts/bench`; do not edit.", ""]
    lines += [f"- {results['date']}" + (", `--quick`" if results["quick"] else "")]
    lines += [*item(machine(results)), *item(versions), ""]
    lines += ["![Times relative to nczchunk's](performance.svg)", "", "## How it is measured", ""]
    lines += [
        *prose(
            "All programs get the same data, in memory and warm, and use one thread. Before the measurement each "
            "program executes every workload once, and all return the same bytes (the same CRC-32). Then they take "
            "turns; the times are the least of all turns. The caller's memory is already in use and begins with a "
            "cache line. [benches/peers/README.md](../benches/peers/README.md) describes the procedure, and "
            "[benches/transfers/workloads.rs](../benches/transfers/workloads.rs) the workloads."
        ),
        "",
        "- **nczchunk**: the time of one call.",
        *item(
            "**of memcpy**: nczchunk's speed as a fraction of the speed at which libc's memcpy copies the same number "
            "of bytes. Above 1 nczchunk is faster. Left out below 1 MiB."
        ),
        *item(
            "**of ideal**: nczchunk's speed as a fraction of the speed of the same selection from one contiguous "
            "array, without chunks; for compressed chunks, of decoding alone."
        ),
    ]
    if threads:
        lines += item(
            "**of bare loop**: nczchunk's speed as a fraction of the speed of a loop over the pieces of the same "
            "chunks that knows everything beforehand. The remaining distance to the ideal is the price of chunks on "
            "this machine."
        )
        lines.append("- **2 threads**: the speedup with two threads.")
    lines += [
        "- **the others**: their time as a multiple of nczchunk's.",
        "",
        *prose(
            "The arrays of W8 and W17 are too large for all programs at once. There the programs ran one after the "
            "other. From 1 MiB on, each time is divided by that of memcpy in the same program before the comparison."
        ),
        "",
        "## Reads",
        "",
        *table(reads, peers, threads),
        "",
        "## Writes",
        "",
        *table(writes, peers, False),
        "",
        "## Plans that are kept",
        "",
        *prose(
            "Here nczchunk executes an existing plan. The last column is the time of the same read in one call, which "
            "has to compute everything anew, as a multiple of this."
        ),
        "",
        *variants(workloads, "nczchunk-once", "one call"),
        "",
        "## Small reads that may use eight threads",
        "",
        "The last column is the time with eight threads as a multiple of the time with one.",
        "",
        *variants(workloads, "nczchunk-8", "8 threads"),
        "",
        "## Notes",
        "",
        *skipped(workloads, results),
        *item(
            "zarrs reads and writes boxes. With strides, its time is that of the box around the hyperslab and of a "
            "plain gather."
        ),
        "- HDF5 and zarrs have no transposed reads. There W18 and W18i are a read and a transposing loop over blocks.",
        *item(
            "W17 and W17r: TensorStore, zarr-python and zarrs make fewer calls, and find more of their data in the "
            "cache."
        ),
    ]
    if worst:
        lines += item(
            f"Noise: memcpy of the same bytes differed between the programs by {spreads[worst]:.0%} at most "
            f"({worst}), by {sorted(spreads.values())[len(spreads) // 2]:.0%} in the median."
        )
    lines += ["- [performance.json](performance.json) has the least and the median of all samples."]
    return "\n".join(lines) + "\n"


def excerpt(workloads, results, threads):
    """What stands in the README."""
    chosen = [w for w in workloads if w.name in CHOSEN and w.own]
    head = ["chunks in memory", "of memcpy", "of ideal"] + ["2 threads"] * threads
    head += ["next best", *(["netCDF-C"] if "netcdf-c" in results["peers"] else []), "bench"]
    lines = [row(head), "|---|" + "---:|" * (len(head) - 2) + "---|"]
    for w in chosen:
        best = min((peer for peer in results["peers"] if w.relative(peer)), key=w.relative, default=None)
        cells = [("write: " if w.access == "write" else "") + w.title, short(w.relative("memcpy"))]
        cells.append(short(w.relative("ideal")))
        if threads:
            faster = w.relative("nczchunk-2")
            cells.append(short(1 / faster) if faster else "")
        cells.append(f"{NAMES[best]} {short(w.relative(best))}" if best else "")
        if "netcdf-c" in results["peers"]:
            cells.append(peer_cell(w, "netcdf-c"))
        lines.append(row(cells + [w.bench()]))
    return [
        BEGIN,
        *lines,
        "",
        *prose(
            f"{results['date'][:10]}, {results['machine']['model']}, one thread. *Of memcpy* and *of ideal*: "
            "nczchunk's speed as a part of that of copying as many bytes, and of the same selection from one "
            "contiguous array. *Next best* and *netCDF-C*: how many times as long they take. All workloads, all "
            "peers, versions and how it is measured: [docs/performance.md](docs/performance.md)."
        ),
        END,
    ]


COLOURS = {
    "memcpy": "#9a9a9a",
    "ideal": "#333333",
    "tensorstore": "#e08214",
    "zarrs": "#b2543a",
    "zarr-python": "#3f7fbf",
    "hdf5": "#5a9e4b",
    "netcdf-c": "#8a5bb5",
    "xarray": "#d46a9f",
}


def plot(workloads, results):
    """A row for each workload, a mark for each program, on a logarithmic scale of times relative to nczchunk's."""
    workloads = [w for w in workloads if w.own]
    yardsticks = [s for s in ("memcpy", "ideal") if any(w.relative(s) for w in workloads)]
    subjects = [*yardsticks, *results["peers"]]
    left, right, top, height = 330, 44, 78, 21
    width = 1000
    values = [v for w in workloads for s in subjects if (v := w.relative(s))]
    low = min(-1, math.floor(math.log10(min(values))))
    high = max(1, math.ceil(math.log10(max(values))))
    bottom = top + height * len(workloads)

    def x(value):
        return left + (width - left - right) * (math.log10(value) - low) / (high - low)

    def text(at, y, words, anchor="start", size=12, colour="#222", weight="normal"):
        return (
            f'<text x="{at:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" '
            f'font-weight="{weight}">{escape(words)}</text>'
        )

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 44}" '
        f'viewBox="0 0 {width} {bottom + 44}" font-family="sans-serif">',
        f'<rect width="{width}" height="{bottom + 44}" fill="white"/>',
        text(16, 24, "Time relative to nczchunk's", size=16, weight="bold"),
        text(
            width - right, 24,
            f"{results['date'][:10]}, {results['machine']['model']}, {results.get('threads', 'one thread')}",
            "end", 11, "#666",
        ),
    ]
    at = 16
    for subject in subjects:
        out.append(mark(subject, at + 5, 46))
        out.append(text(at + 15, 50, NAMES[subject]))
        at += 30 + 7.2 * len(NAMES[subject])
    for number in range(len(workloads)):
        if number % 2 == 0:
            y = top + number * height
            out.append(f'<rect x="0" y="{y}" width="{width}" height="{height}" fill="#f5f5f5"/>')
    for power in range(low, high + 1):
        at = x(10**power)
        colour, thick = ("#222", 1.5) if power == 0 else ("#d8d8d8", 1)
        out.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}" stroke="{colour}" stroke-width="{thick}"/>'
        )
        label = f"{10**power:,}".replace(",", " ") if power >= 0 else f"{10.0**power:g}"
        out.append(text(at, bottom + 18, label, "middle", 11, "#444"))
    out.append(text(x(1) + 5, bottom + 36, "slower than nczchunk →", "start", 11, "#666"))
    out.append(text(x(1) - 5, bottom + 36, "← faster", "end", 11, "#666"))
    for number, w in enumerate(workloads):
        y = top + (number + 0.5) * height
        out.append(text(16, y + 4, w.name, weight="bold"))
        out.append(text(74, y + 4, ("write: " if w.access == "write" else "") + w.title))
        for subject in subjects:
            value = w.relative(subject)
            if value:
                tip = f"{w.name}, {NAMES[subject]}: {short(value)}"
                out.append(f"<g><title>{escape(tip)}</title>{mark(subject, x(value), y)}</g>")
    return "\n".join([*out, "</svg>"]) + "\n"


def mark(subject, x, y):
    """Yardsticks are bars, peers are dots."""
    colour = COLOURS[subject]
    if subject in ("memcpy", "ideal"):
        return f'<rect x="{x - 1.75:.1f}" y="{y - 7:.1f}" width="3.5" height="14" fill="{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}" fill-opacity="0.85" stroke="white"/>'


def main():
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    directory = pathlib.Path(sys.argv[2])
    workloads = [Workload(name, result) for name, result in results["workloads"].items()]
    # Reads, then writes; W9 before W10.
    workloads.sort(key=lambda w: (w.access, [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", w.name)]))
    threads = any(w.relative("nczchunk-2") for w in workloads)
    (directory / "performance.md").write_text(document(workloads, results, threads))
    (directory / "performance.svg").write_text(plot(workloads, results))
    if len(sys.argv) > 3:
        readme = pathlib.Path(sys.argv[3])
        before, rest = readme.read_text().split(BEGIN)
        after = rest.split(END)[1]
        readme.write_text(before + "\n".join(excerpt(workloads, results, threads)) + after)


if __name__ == "__main__":
    main()
