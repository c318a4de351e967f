"""Makes tables of what `jobs` and `jobs.py` printed in several rounds: stock, adapted, adapted and decoding, and
adapted and roomy (NCZCHUNK.CACHE_SIZE=25165824).

jobs_table.py [--check] RESULTS GUIDE: RESULTS has the files stock.N, adapted.N, decoding.N and roomy.N. The tables go
between the guide's two markers; with --check they are only printed, and a job that is clearly slower than with stock
netCDF-C, needs clearly more memory or reads other values is an error.
"""

import pathlib
import sys

from bench_table import processor, today

BEGIN, END = "<!-- The jobs begin. -->\n", "<!-- The jobs end. -->\n"

# What all variables may keep, as in src/ncz_keep.c, and what the C library's allocator adds to it.
BOUND, REST = 24 * 1024, 20 * 1024


def measured(results, kind):
    """The least time, CPU time, resident set (in KiB) and page faults of each job over all rounds, and its sum."""
    jobs = {}
    for path in sorted(results.glob(f"{kind}.*")):
        for line in path.read_text().splitlines():
            name, *numbers = line.split("\t")
            wall, cpu, _, resident, faults, total = map(float, numbers)
            if name in jobs:
                *least, before = jobs[name]
                assert abs(before - total) <= 1e-9 * abs(total), f"{name}: other values in another round"
                jobs[name] = *map(min, least, (wall, cpu, resident, faults)), total
            else:
                jobs[name] = wall, cpu, resident, faults, total
    return jobs


def in_words(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def main():
    check = sys.argv[1] == "--check"
    results, guide = map(pathlib.Path, sys.argv[-2:])
    kinds = "stock", "adapted", "decoding", "roomy"
    stock, adapted, decoding, roomy = (measured(results, kind) for kind in kinds)
    rounds = len(list(results.glob("stock.*")))

    table = [
        f"{processor()}, {today()}, netCDF-C 4.10.1, the least of {rounds} interleaved rounds.",
        "",
        "| | wall: stock | adapted | times faster | CPU: times less | peak RSS: stock | adapted | page faults: stock "
        "| adapted |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    failed = []
    for name, (wall, cpu, resident, faults, total) in stock.items():
        new_wall, new_cpu, new_resident, new_faults, new_total = adapted[name]
        table.append(
            f"| {name} | {in_words(wall)} | {in_words(new_wall)} | **{wall / new_wall:.3g}** | **{cpu / new_cpu:.3g}** "
            f"| {resident / 1024:.0f} MB | {new_resident / 1024:.0f} MB | {faults:.0f} | {new_faults:.0f} |"
        )
        # Small jobs on a shared machine are noisy: these are what no noise explains.
        for kind in adapted, decoding:
            _, new_cpu, new_resident, _, new_total = kind[name]
            if cpu / new_cpu < 0.7 and new_cpu - cpu > 0.05:
                failed.append(f"{name}: {cpu / new_cpu:.2f} times as fast")
            if new_resident > 1.5 * resident and new_resident > resident + BOUND + REST:
                failed.append(f"{name}: {new_resident:.0f} KiB, not {resident:.0f}")
            if abs(total - new_total) > 1e-9 * abs(total):
                failed.append(f"{name}: {new_total}, not {total}")
        # What is promised of the default, for every job.
        _, _, new_resident, _, _ = adapted[name]
        if new_resident > 1.5 * resident:
            failed.append(f"{name}: {new_resident:.0f} KiB, not {resident:.0f}")
        new_total = roomy[name][-1]
        if abs(total - new_total) > 1e-9 * abs(total):
            failed.append(f"{name}, NCZCHUNK.CACHE_SIZE=25165824: {new_total}, not {total}")
    table += [
        "",
        "The same with `NCZCHUNK.DECODE=1` and `NCZCHUNK.THREADS=2`, measured in the same rounds:",
        "",
        "| | wall: stock | adapted | decoding | times faster than stock | than adapted | CPU: stock | adapted "
        "| decoding | peak RSS: stock | adapted | decoding |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in stock:
        kinds = [kind[name] for kind in (stock, adapted, decoding)]
        walls, cpus, residents = zip(*(kind[:3] for kind in kinds))
        cells = [*map(in_words, walls), *(f"**{wall / walls[2]:.3g}**" for wall in walls[:2]), *map(in_words, cpus)]
        cells += [f"{resident / 1024:.0f} MB" for resident in residents]
        table.append(f"| {name} | {' | '.join(cells)} |")
    table += [
        "",
        "The same with `NCZCHUNK.CACHE_SIZE=25165824`, measured in the same rounds:",
        "",
        "| | wall: stock | adapted | with 24 MiB | times faster | peak RSS: stock | adapted | of stock | with 24 MiB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in stock:
        walls, _, residents = zip(*(kind[name][:3] for kind in (stock, adapted, roomy)))
        cells = [*map(in_words, walls), f"**{walls[0] / walls[2]:.3g}**"]
        memory = [f"{resident / 1024:.0f} MB" for resident in residents]
        cells += [*memory[:2], f"**{residents[1] / residents[0]:.3g}**", memory[2]]
        table.append(f"| {name} | {' | '.join(cells)} |")
    table = "\n".join(table) + "\n"
    print(table)

    if not check:
        before, rest = guide.read_text().split(BEGIN)
        guide.write_text(before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1])
    elif failed:
        sys.exit("\n".join(failed))


main()
