#!/usr/bin/env python3
"""Which lines of the library the tests come by, from what llvm-cov exports: coverage.py FILE...

scripts/coverage calls it.

Prints a table by file, then the lines that no test comes by and tests/coverage.txt does not argue, then what of
tests/coverage.txt is for no such line, each of which makes it exit with 1. Lines that are argued count as missed.
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "engine/src", ROOT / "arrays/src", ROOT / "src"]
ARGUED = ROOT / "tests" / "coverage.txt"

TEST_ITEM = re.compile(r"^( *)#\[cfg\((?:all\(|any\()?test\b")


def lines_of_tests():
    """The lines of tests in each file of the library; None for all of them."""
    tests = {}
    for path in sorted(path for folder in SOURCES for path in folder.rglob("*.rs")):
        lines = path.read_text(encoding="utf-8").split("\n")
        own = tests.setdefault(path, set())
        number = 0
        while number < len(lines):
            if not (item := TEST_ITEM.match(lines[number])):
                number += 1
                continue
            begin = number
            while lines[number].lstrip().startswith("#["):
                number += 1
            if module := re.match(r"^.*\bmod (\w+);$", lines[number]):
                folder = path.parent if path.name in ("mod.rs", "lib.rs") else path.with_suffix("")
                tests[folder / f"{module[1]}.rs"] = None
                for below in (folder / module[1]).rglob("*.rs"):
                    tests[below] = None
            elif not lines[number].endswith(";"):
                while lines[number] != f"{item[1]}}}":
                    number += 1
            if own is not None:
                own.update(range(begin + 1, number + 2))
            number += 1
        if tests.get(path, own) is not None:
            tests[path] = own
    return tests


def lines_with_code(exported):
    """How often the tests come by each line with code, for each file of the library."""
    tests, found, path = lines_of_tests(), {}, None
    for line in (line for file in exported for line in file.read_text(encoding="utf-8").split("\n")):
        kind, _, rest = line.partition(":")
        if kind == "SF":
            path = Path(rest)
        elif kind == "DA" and any(map(path.is_relative_to, SOURCES)) and tests.get(path, set()) is not None:
            number, count = map(int, rest.split(",")[:2])
            if number not in tests.get(path, set()):
                counts = found.setdefault(path, {})
                counts[number] = counts.get(number, 0) + count
    return found


def argued():
    """How often tests/coverage.txt has each (file, code): behind a bar, and behind a question mark."""
    always, sometimes = Counter(), Counter()
    text = re.sub(r"^#.*\n", "", ARGUED.read_text(encoding="utf-8"), flags=re.M)
    for block in filter(None, (block.strip("\n") for block in text.split("\n\n"))):
        file, last = None, ""
        for last in block.split("\n"):
            if line := re.match(r"    ([|?]) (.*)", last):
                (always if line[1] == "|" else sometimes)[file, line[2].strip()] += 1
            elif not last.startswith("    "):
                file = last
        if file is None or not re.match(r"    [^|? ]", last):
            sys.exit(f"{ARGUED.name}: an entry is the file, lines of it behind bars, and why:\n{block}")
    return always, sometimes


def main():
    (always, sometimes), left, table = argued(), [], []
    for path, counts in lines_with_code([Path(file) for file in sys.argv[1:]]).items():
        name = str(path.relative_to(ROOT))
        code = path.read_text(encoding="utf-8").split("\n")
        missed = [number for number, count in sorted(counts.items()) if count == 0]
        for number in missed:
            entry = (name, code[number - 1].strip())
            if entries := next((entries for entries in (always, sometimes) if entries[entry]), None):
                entries[entry] -= 1
            else:
                left.append(f"{name}:{number}: {entry[1]}")
        table.append((len(counts) - len(missed), len(counts), name))
    for covered, lines, name in sorted(table, key=lambda row: (row[0] / row[1], row[2])):
        print(f"{100 * covered / lines:6.1f} % {covered:6d} of {lines:5d}  {name}")
    for line in left:
        print(line)
    stale = sorted(always.elements())
    for name, text in stale:
        print(f"{ARGUED.name}: tests come by this line, or it is not there: {name}: {text}")
    covered, lines = sum(row[0] for row in table), sum(row[1] for row in table)
    print(f"{100 * covered / lines:.2f} % of the lines: {covered} of {lines}; {lines - covered - len(left)} are argued")
    if left or stale:
        sys.exit(f"{len(left)} lines are missed and not argued; {len(stale)} are argued and not missed")


main()
