"""The table of what the adapter relies on in netCDF-C: internals_table.py HEADERS PAGE [--write].

Fails if the page's table is not that of the lists in src/host.h and src/check.c, which the compiler checks. "Since" is
the oldest version that this project builds in which it is as the adapter needs it; what is in both forms of the lists
is there since 4.9.2, and what only the newer one has since 4.9.3. HEADERS is the directory of src/.
"""
import collections
import pathlib
import re
import sys

BEGIN, END = "<!-- The internals begin. -->", "<!-- The internals end. -->"


def functions(text):
    """The names in the lists of host.h, by the name of the list."""
    found = collections.defaultdict(list)
    part, is_offered = None, None
    for line in text.splitlines():
        if line.startswith("#if"):
            is_offered = line.split()[1]
        elif line.startswith("#else"):
            is_offered = "not " + is_offered
        elif line.startswith("#endif"):
            is_offered = None
        elif match := re.match(r"#define (HOST_\w+)\(X\)", line):
            part = match[1]
        for name in re.findall(r"X\([^,]+, (\w+),", line):
            found[part, is_offered].append(name)
    return found


def rows(source):
    in_check = "the compiler: its type, in `check.c`"
    called = "the compiler: its type, in `check.c`; the linker"
    lists = functions((source / "host.h").read_text())
    table = []
    for (part, condition), names in lists.items():
        if condition == "NETCDF_CACHE_OFFERS":
            continue  # proposed, and in no version
        since = {"NETCDF_CACHE_COUNTS": "4.9.3", "not NETCDF_CACHE_COUNTS": "4.9.2 only"}.get(condition, "4.9.2")
        table += [(f"`{name}()`", since, called) for name in names]
    text = (source / "check.c").read_text()
    members = collections.defaultdict(list)
    for structure, member in re.findall(r"^    X\((\w+), [^,]+, ([\w.\[\]]+), \w+\)", text, re.MULTILINE):
        members[structure, "4.9.2"].append(member)
    counts = text.split("#if NETCDF_CACHE_COUNTS")[1].split("#else")
    for part, since in zip(counts, ("4.9.3", "4.9.2 only")):
        for structure, member in re.findall(r"^MEMBER\((\w+), [^,]+, (\w+), \w+\)", part, re.MULTILINE):
            members[structure, since].append(member)
    members["struct NCZMAP_API", "4.9.2"].append("close")
    for (structure, since), names in members.items():
        table.append((f"`{structure}`: " + ", ".join(f"`{name}`" for name in names), since, in_check))
    assert len(table) > 25, table
    return table


def main():
    source, page = map(pathlib.Path, sys.argv[1:3])
    lines = ["| function, or members of a structure | since | what notices a change |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows(source)]
    text = page.read_text()
    before, rest = text.split(BEGIN)
    found, after = rest.split(END)
    wanted = "\n\n" + "\n".join(lines) + "\n\n"
    if sys.argv[3:] == ["--write"]:
        page.write_text(before + BEGIN + wanted + END + after)
    elif found != wanted:
        sys.exit(f"{page} has another table than {source}/host.h and check.c: run this with --write")


main()
