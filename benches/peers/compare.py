"""Runs the library and its peers on the same workloads, side by side, and writes down what each took.

    compare.py [--quick] [--only W1,W3] --runner PROGRAM [--peer NAME=COMMAND]... [--missing NAME=REASON]... OUTPUT.json

Called by scripts/bench, which builds and installs what is compared. Every program is told the same commands
(README.md), so that only one of them works at a time. For each workload all are made to deliver it once, and what they
deliver has to be the same; then they take turns in being timed.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys

# Arrays above this are held by one program at a time, not by all at once.
TOGETHER = 600 << 20

# Of workloads that are many calls: how many each program makes. None of them gets faster with more.
CALLS = {"hdf5": 100_000, "netcdf-c": 100_000, "zarrs": 10_000, "tensorstore": 1000, "zarr-python": 200}

# What takes seconds each time is left out by --quick.
SLOW = {
    "zarr-python": {"W9", "W9s", "W9w", "W9sw", "W11"},
    "netcdf-c": {"W11", "W18", "W18i"},
    "hdf5": {"W12b", "W12bw"},
}


class Program:
    """One of the programs, started when it is first asked."""

    def __init__(self, name, command):
        self.name, self.command, self.process = name, command, None
        # One thread; memory in pages of the usual size, as the C programs have it.
        self.environment = dict(os.environ, NUMPY_MADVISE_HUGEPAGE="0", RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1")

    def ask(self, words):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment
            )
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended when told: {words}")
        answer = json.loads(line)
        if "error" in answer:
            sys.exit(f"{self.name} failed when told: {words}\n{answer['error']}")
        return answer

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Subject:
    """What is timed: a program, or one of the things that the runner can do."""

    def __init__(self, name, program):
        self.name, self.program = name, program

    def calls(self, workload):
        return min(workload["calls"], CALLS.get(self.name, workload["calls"]))

    def command(self, workload, calls, repetitions, budget):
        words = [workload["access"], workload["name"], self.name, calls, repetitions, budget]
        words += [comma(workload[key]) for key in ("start", "count", "stride")]
        return " ".join(map(str, words + [workload["layout"]]))


def comma(numbers):
    return ",".join(map(str, numbers))


class Comparison:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(options.output).parent
        self.frames = self.directory / "frames"
        self.runner = Program("nczchunk", [options.runner, "serve"])
        self.peers = [Program(name, shlex.split(command)) for name, command in map(split, options.peer)]
        self.table = json.loads(subprocess.check_output([options.runner, "list"]))
        self.results = {}

    def run(self):
        subprocess.run([self.options.runner, "frames", self.frames], check=True)
        versions = {}
        for peer in self.peers:
            versions |= peer.ask("versions")
            peer.stop()
        for group in self.groups():
            self.run_group(group)
        return {
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "quick": self.options.quick,
            "machine": machine(),
            "versions": library_versions() | versions,
            "peers": [peer.name for peer in self.peers],
            "missing": dict(map(split, self.options.missing)),
            "workloads": self.results,
        }

    def groups(self):
        """The workloads of one array; each write alone, because it changes the array."""
        groups = {}
        for workload in self.table["workloads"]:
            if self.options.only and workload["name"] not in self.options.only:
                continue
            array = workload["array"]
            workload["together"] = array["bytes"] <= TOGETHER or array["every"] != 1
            if self.options.quick and not workload["together"]:
                self.results[workload["name"]] = self.describe(workload) | {"left_out": "takes too long for --quick"}
                continue
            key = workload["name"] if workload["access"] == "write" else array["name"]
            groups.setdefault(key, []).append(workload)
        return groups.values()

    def run_group(self, group):
        array, together = group[0]["array"], group[0]["together"]
        load = f"load {array['name']} {array['type']} {array['order']} {array['codec']} {array['every']} "
        load += f"{comma(array['dimlens'])} {comma(array['chunklens'])} {self.frames.resolve()}"
        everybody = [self.runner] if all(workload["alone"] for workload in group) else [self.runner, *self.peers]
        parties = [everybody] if together else [[program] for program in everybody]
        expected = {}
        for programs in parties:
            loaded = {program.name: program.ask(load) for program in programs}
            for workload in group:
                subjects = self.subjects(workload, programs)
                result = self.results.setdefault(workload["name"], self.describe(workload))
                for subject in list(subjects):
                    reason = loaded[subject.program.name].get("skipped")
                    if self.options.quick and workload["name"] in SLOW.get(subject.name, ()):
                        reason = "takes too long for --quick"
                    if reason:
                        result["subjects"][subject.name] = {"skipped": reason}
                        subjects.remove(subject)
                self.verify(workload, subjects, expected)
                self.measure(workload, subjects, result)
            for program in programs:
                program.stop()
            shutil.rmtree(self.directory / "nczarr", ignore_errors=True)
            (self.directory / "nczarr").mkdir()

    def subjects(self, workload, programs):
        own = [Subject(name, self.runner) for name in workload["subjects"]] if self.runner in programs else []
        peers = [] if workload["alone"] else [peer for peer in programs if peer is not self.runner]
        return own + [Subject(peer.name, peer) for peer in peers]

    def describe(self, workload):
        described = {key: workload[key] for key in ("title", "access", "bytes", "calls", "together")}
        return described | {"subjects": {}}

    def verify(self, workload, subjects, expected):
        """Everybody has to deliver the same bytes: those of the ideal, which has no chunks to go wrong in. After a
        write, what counts is the array."""
        for subject in subjects:
            # The runner, which comes first, does it as often as each of the others will.
            is_first = subject.program is self.runner and not workload["alone"]
            everybody = [Subject(peer.name, peer) for peer in self.peers] if is_first else []
            for calls in {one.calls(workload) for one in [subject, *everybody]}:
                crc = subject.program.ask(subject.command(workload, calls, 0, 0))["crc"]
                # Decoding alone delivers nothing.
                if crc is not None and expected.setdefault((workload["name"], calls), crc) != crc:
                    sys.exit(f"{workload['name']}: {subject.name} does not deliver what the others do")

    def measure(self, workload, subjects, result):
        rounds, repetitions, budget = (1, 2, 0.2) if self.options.quick else (5, 6, 0.8)
        samples = {subject.name: {"seconds": [], "memcpy": []} for subject in subjects}
        for number in range(rounds):
            for subject in subjects[number:] + subjects[:number]:
                found = samples[subject.name]
                # What takes seconds has two turns, what takes many of them one.
                if min(found["seconds"], default=0) > (1.0 if number >= 2 else 8.0):
                    continue
                answer = subject.program.ask(subject.command(workload, subject.calls(workload), repetitions, budget))
                found["seconds"] += answer["seconds"]
                found["memcpy"] += answer["memcpy"]
        for subject in subjects:
            found = samples[subject.name]
            calls = subject.calls(workload) or 1
            result["subjects"][subject.name] = {
                "seconds": min(found["seconds"]) / calls,
                "median": statistics.median(found["seconds"]) / calls,
                "memcpy": min(found["memcpy"]) / calls,
                "repetitions": len(found["seconds"]),
                "calls": calls,
            }
        own = result["subjects"].get("nczchunk")
        print(f"{workload['name']:6} {workload['title']:48} nczchunk {milliseconds(own)}", end="", flush=True)
        for subject in subjects:
            if own and subject.name != "nczchunk":
                print(f"  {subject.name} {result['subjects'][subject.name]['seconds'] / own['seconds']:.3g}", end="")
        print(flush=True)


def milliseconds(measured):
    return f"{measured['seconds'] * 1e3:.4g} ms" if measured else "-"


def split(pair):
    return tuple(pair.split("=", 1))


def output(*command):
    try:
        return subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    lscpu = dict(re.findall(r"^(.+?):\s+(.*)$", output("lscpu"), re.MULTILINE))
    memory = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return {
        "model": lscpu.get("Model name", platform.machine()),
        "cores": os.cpu_count(),
        "caches": {key: lscpu[key] for key in ("L1d cache", "L2 cache", "L3 cache") if key in lscpu},
        "memory": f"{int(memory[1]) / (1 << 20):.0f} GiB" if memory else "",
        "system": f"{platform.system()} {platform.release()}",
    }


def library_versions():
    return {
        "nczchunk": output("git", "describe", "--always", "--dirty", "--tags"),
        "rustc": output("rustc", "--version").removeprefix("rustc ").split(" ")[0],
        "gcc": output("gcc", "-dumpfullversion"),
        "libc": " ".join(platform.libc_ver()),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", type=lambda names: names.split(","), default=[])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--missing", action="append", default=[])
    parser.add_argument("output")
    comparison = Comparison(parser.parse_args())
    try:
        results = comparison.run()
    finally:
        for program in (comparison.runner, *comparison.peers):
            program.stop()
    with open(comparison.options.output, "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


main()
