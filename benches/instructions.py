"""Counts the instructions that calls of the library take, and compares them with what benches/instructions.json says.

    instructions.py [--update] PROGRAM LIBRARY-DIRECTORY

Called by scripts/instructions. Valgrind counts what happens inside nczchunk_read_vars and nczchunk_plan_read, the
callback included. It shows programs a processor without AVX-512, always the same one, so the counts of one compiler's
output are the same on all machines.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FIGURES = pathlib.Path(__file__).with_suffix(".json")
UNITS = {"W1": "chunk", "W3": "chunk", "W7": "call", "W7k": "call", "W8a": "call", "W8ak": "call", "W9": "chunk",
         "W9s": "chunk", "W11": "call", "W17": "call", "W17k": "call"}
TOLERANCE = 0.05


def count(program, libraries, workload, calls):
    """All instructions of so many calls, and the chunks that one touches."""
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out.name}"]
        command += ["--collect-atstart=no", "--toggle-collect=nczchunk_read_vars",
                    "--toggle-collect=nczchunk_plan_read", program, workload, str(calls)]
        # Symbols are looked up when the program starts, not in its first call.
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": libraries, "LD_BIND_NOW": "1"}
        chunks = int(subprocess.check_output(command, text=True, env=environment))
        found = re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(out.name).read_text(), re.MULTILINE)
        if found is None or int(found[1]) == 0:
            sys.exit(f"{workload}: valgrind has counted nothing")
        return int(found[1]), chunks


def measure(program, libraries, workload):
    """Instructions per chunk or per call, without what only the first call does."""
    first, _ = count(program, libraries, workload, 1)
    both, chunks = count(program, libraries, workload, 2)
    return round((both - first) / (chunks if UNITS[workload] == "chunk" else 1), 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("program")
    parser.add_argument("libraries")
    options = parser.parse_args()

    rustc = subprocess.check_output(["rustc", "--version"], text=True).strip()
    committed = {"rustc": "", "instructions": {}}
    if not options.update:
        committed = json.loads(FIGURES.read_text())
    found = {"rustc": rustc, "instructions": {}}
    too_many = []
    for workload, unit in UNITS.items():
        now = measure(options.program, options.libraries, workload)
        found["instructions"][workload] = now
        before = committed["instructions"].get(workload)
        line = f"{workload:4} {now:12,.1f} instructions a {unit}"
        if before is None:
            if not options.update:
                too_many.append(workload)
                line += "  NO FIGURE IS COMMITTED"
        else:
            line += f"  {now / before - 1:+7.1%} of {before:,.1f}"
            if now > before * (1 + TOLERANCE):
                too_many.append(workload)
                line += "  TOO MANY"
            elif now < before * (1 - TOLERANCE):
                line += "  fewer: run scripts/instructions --update"
        print(line, flush=True)
    if options.update:
        FIGURES.write_text(json.dumps(found, indent=2) + "\n")
        print(f"written to {FIGURES.name}")
    if too_many:
        if rustc != committed["rustc"]:
            print(f"The committed figures are of {committed['rustc']}, these of {rustc}.")
        sys.exit(
            f"More instructions than are committed, by more than {TOLERANCE:.0%}: {', '.join(too_many)}. "
            "If that is the price of something, run scripts/instructions --update and say of what in the commit."
        )


main()
