#!/usr/bin/env python3
"""Tries the mutants that cargo-mutants lists, in minutes instead of hours. scripts/mutants calls it.

A mutant is the library with one slip: an operator that is another one, a function that returns a constant, an arm or a
guard that is missing. A test has to fail with each, or tests/mutants.txt has to say why none can.

To compile the library again for each of thousands of mutants takes ten seconds each. So all mutants of a group of files
are built at once into a copy of the tree, each behind a switch, NCZCHUNK_MUTANT=number, which is off without it:

    a < b                     (if mutant(7) { a <= b } else { a < b })
    fn len(&self) -> usize {  fn len(&self) -> usize { if mutant(8) { return 0; }

Each test is run once to see which switches it comes by, and each mutant is tried with those tests that come by its
own, the quickest first. What cannot be put behind a switch, because it is in a constant or the compiler refuses it
there, is compiled alone.

The results are kept in build/mutants/state.json, by the mutant and its file's text without the tests in it: what was
found once stays found until the file changes. What no test has found is tried again when a test has changed.
"""

import argparse
import contextlib
import functools
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter
import tree_sitter_rust

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
STATE = WORK / "state.json"
EXPLAINED = ROOT / "tests" / "mutants.txt"

ENGINE = ["--no-default-features", "--lib", "--test", "facts", "--test", "rust_api"]
ALL = ["--lib", "--test", "arrays", "--test", "netcdf", "--test", "capi", "--test", "rust_api"]

# The files of each group, and which tests there are for it, as arguments to cargo test.
GROUPS = {
    "projection": (["engine/src/projection.rs"], ENGINE),
    "hyperslab": (["engine/src/hyperslab.rs"], ENGINE),
    "dims": (["engine/src/dims.rs"], ENGINE),
    "variable": (["engine/src/variable.rs"], ALL),
    "plan": (["engine/src/plan.rs"], ENGINE),
    "copy": (["engine/src/copy/mod.rs"], ENGINE),
    "codec": (["engine/src/codec/**/*.rs", "engine/src/zstream.rs"], ALL),
    "json": (["arrays/src/json/*.rs"], ALL),
    "zarr": (["arrays/src/zarr/**/*.rs"], ALL),
    "netcdf": (["arrays/src/netcdf/*.rs"], ALL),
    "cfdb": (["arrays/src/cfdb/*.rs"], ALL),
    "hdf5": (["arrays/src/hdf5/*.rs"], [*ALL, "--test", "hdf5"]),
    "zip": (["arrays/src/object/zip/*.rs"], ALL),
}

# These are tests themselves.
TESTS = ["**/tests.rs", "**/tests/**", "**/testing.rs", "**/hostile.rs"]

# Seconds of the processor's time that a test may take besides the fivefold of what it takes without a mutant. Tests
# that take longer without one are left to scripts/test.
LONGEST = 4

TEST_MODULE = re.compile(r"^#\[cfg\((?:all\(|any\()?test\b.*\n(?:pub(?:\(crate\))? )?mod \w+ \{", re.M)

# What the copy's engine/src/lib.rs has besides. RECORD has each switch that is come by told once, in a file.
SWITCH = """
#[doc(hidden)]
pub mod mutants {
    use std::sync::atomic::{AtomicU32, AtomicU8, Ordering::Relaxed};

    const UNKNOWN: u32 = u32::MAX;
    const RECORD: u32 = u32::MAX - 1;
    static ON: AtomicU32 = AtomicU32::new(UNKNOWN);
    static SEEN: [AtomicU8; NUMBER_OF_MUTANTS] = [const { AtomicU8::new(0) }; NUMBER_OF_MUTANTS];

    #[inline]
    pub fn on(number: u32) -> bool {
        match ON.load(Relaxed) {
            UNKNOWN | RECORD => first(number),
            on => on == number,
        }
    }

    #[cold]
    fn first(number: u32) -> bool {
        if ON.load(Relaxed) == UNKNOWN {
            let text = std::env::var("NCZCHUNK_MUTANT").unwrap_or_default();
            ON.store(if text == "record" { RECORD } else { text.parse().unwrap_or(0) }, Relaxed);
        }
        if ON.load(Relaxed) == RECORD && SEEN[number as usize].swap(1, Relaxed) == 0 {
            use std::io::Write;
            let path = std::env::var("NCZCHUNK_MUTANTS_SEEN").unwrap();
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(format!("{number}\\n").as_bytes()).unwrap();
        }
        ON.load(Relaxed) == number
    }
}
"""

# And its arrays/src/lib.rs.
THAT_SWITCH = """
mod mutants {
    pub(crate) use nczchunk_engine::mutants::on;
}
"""


@dataclass
class Mutant:
    """One of those that cargo-mutants lists."""

    file: str
    name: str  # as cargo-mutants says it, without the place
    genre: str
    replacement: str
    returns: str
    line: int
    start: int  # in bytes
    end: int
    code: str  # the line in which it begins
    key: str
    number: int = 0


@dataclass
class Test:
    """A test of the Rust test programs."""

    program: str
    name: str
    seconds: float
    seen: set = field(default_factory=set)


@dataclass
class Edit:
    """A part of a file that mutants change; without an end, something that is put in."""

    start: int
    end: int
    kind: str
    mutants: list
    node: object = None
    inner: list = field(default_factory=list)


def say(text):
    print(f"-- {text}", flush=True)


def die(text):
    sys.exit(f"mutants: {text}")


# The copy of the tree.


@functools.cache
def tree_files():
    """Every file by its name, as they are when this begins: the tree may be worked on while mutants are tried."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name: (ROOT / name).read_bytes() for name in names if name and (ROOT / name).is_file()}


def write_if_new(path, data):
    """Cargo builds again what is newer, so a file that is the same is left alone."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def sync(changed):
    """Makes the copy the tree, but for the files of which the text is given."""
    files = tree_files()
    for name, data in files.items():
        write_if_new(TREE / name, changed.get(name) or data)
    for path in (path for folder in ("src", "engine", "arrays") for path in (TREE / folder).rglob("*.rs")):
        if str(path.relative_to(TREE)) not in files:
            path.unlink()


def hash_of_tests():
    """Changes whenever something does that a test depends on."""
    digest = hashlib.sha256()
    for name, data in sorted(tree_files().items()):
        if name.endswith(".rs") and name.startswith(("src/", "engine/", "arrays/", "tests/")):
            digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()[:16]


# What mutants there are.


@functools.cache
def mutants_of(group):
    files, _ = GROUPS[group]
    command = ["cargo-mutants", "mutants", "--dir", str(ROOT), "--list", "--json"]
    for pattern in files:
        command += ["--file", pattern]
    for pattern in TESTS:
        command += ["--exclude", pattern]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    texts, mutants = {}, []
    for entry in listed:
        file = entry["file"]
        if file not in texts:
            text = tree_files()[file].decode()
            own = TEST_MODULE.split(text, maxsplit=1)[0]
            texts[file] = (text.split("\n"), own.count("\n"), hashlib.sha256(own.encode()).hexdigest()[:16])
        lines, own_lines, digest = texts[file]
        span = entry["span"]
        if span["start"]["line"] > own_lines:
            continue  # in a module of tests that cargo-mutants does not know for one, for it has a feature

        def offset(at):
            before = sum(len(line.encode()) + 1 for line in lines[: at["line"] - 1])
            return before + len(lines[at["line"] - 1][: at["column"] - 1].encode())

        place = re.compile(r"^[^:]+:\d+:\d+: ")
        mutants.append(
            Mutant(
                file=file,
                name=place.sub("", entry["name"]),
                genre=entry["genre"],
                replacement=entry["replacement"],
                returns=(entry["function"] or {}).get("return_type", ""),
                line=span["start"]["line"],
                start=offset(span["start"]),
                end=offset(span["end"]),
                code=lines[span["start"]["line"] - 1].strip(),
                key=f"{entry['name']} {digest}",
            )
        )
    return mutants


# Mutants behind switches.


def edits_of(text, mutants):
    """Where the mutants of a file go. Those that have no place are left out."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
    root = parser.parse(text).root_node
    edits = {}

    def add(start, end, kind, mutant, node=None):
        edits.setdefault((start, end, kind), Edit(start, end, kind, [], node)).mutants.append(mutant)

    for mutant in mutants:
        node = root.descendant_for_byte_range(mutant.start, max(mutant.start, mutant.end - 1))
        if mutant.genre == "FnValue":
            # Behind a switch, two ways to return would have to be of the one type that is not named.
            if "impl " not in mutant.returns:
                add(mutant.start, mutant.start, "return", mutant)
        elif mutant.genre in ("BinaryOperator", "UnaryOperator"):
            kinds = ("binary_expression", "compound_assignment_expr")
            if mutant.genre == "UnaryOperator":
                kinds = ("unary_expression",)
            while node and node.type not in kinds:
                node = node.parent
            if node and any(child.start_byte == mutant.start for child in node.children):
                # Another operator may bind otherwise, so all of a chain of them is in the switch.
                while node.type == node.parent.type == "binary_expression":
                    node = node.parent
                add(node.start_byte, node.end_byte, "operator", mutant, node)
        elif mutant.genre == "MatchArmGuard":
            add(mutant.start, mutant.end, "guard", mutant)
        elif mutant.genre == "MatchArm":
            while node and node.type != "match_arm":
                node = node.parent
            pattern = node and node.child_by_field_name("pattern")
            if pattern and node.start_byte <= mutant.start:
                guard = pattern.child_by_field_name("condition")
                if guard:
                    add(guard.start_byte, guard.end_byte, "guard", mutant)
                elif any(text[arm.start_byte : arm.end_byte].startswith(b"_ =>") for arm in node.parent.children):
                    # The compiler knows that this arm takes what falls through the switch.
                    add(pattern.end_byte, pattern.end_byte, "arm", mutant)
    return list(edits.values())


def switched(text, mutants):
    """The file with all mutants behind switches: its text, and where each mutant is in it."""
    outermost = Edit(-1, len(text) + 1, "file", [])
    stack = [outermost]
    order = {"guard": 0, "operator": 1, "arm": 2, "return": 2}
    for edit in sorted(edits_of(text, mutants), key=lambda e: (e.start, -e.end, order[e.kind])):
        def contains(outer):
            if edit.start == edit.end:
                return outer.start < edit.start < outer.end or outer.kind == "file"
            return outer.start <= edit.start and edit.end <= outer.end

        while not contains(stack[-1]):
            stack.pop()
        stack[-1].inner.append(edit)
        if edit.start != edit.end:
            stack.append(edit)

    out, marks = bytearray(), []

    def on(mutant):
        return b"crate::mutants::on(%d)" % mutant.number

    def marked(mutant, *parts):
        begin = len(out)
        out.extend(b"".join(parts))
        marks.append((begin, len(out), mutant))

    def plain(start, end, edit):
        at = start
        for inner in sorted(edit.inner, key=lambda e: (e.start, e.end)):
            out.extend(text[at : inner.start])
            render(inner)
            at = inner.end
        out.extend(text[at:end])

    def render(edit):
        if edit.kind == "return":
            for mutant in edit.mutants:
                marked(mutant, b"if ", on(mutant), b" { return ", mutant.replacement.encode(), b"; } ")
        elif edit.kind == "arm":
            (mutant,) = edit.mutants
            marked(mutant, b" if !", on(mutant))
        elif edit.kind == "guard":
            out.extend(b"(")
            for mutant in edit.mutants:
                if mutant.genre == "MatchArm":
                    marked(mutant, b"!", on(mutant), b" && ")
            out.extend(b"(")
            for mutant in edit.mutants:
                if mutant.genre == "MatchArmGuard" and mutant.replacement == "true":
                    marked(mutant, on(mutant), b" || ")
            for mutant in edit.mutants:
                if mutant.genre == "MatchArmGuard" and mutant.replacement == "false":
                    marked(mutant, b"!", on(mutant), b" && ")
            out.extend(b"(")
            plain(edit.start, edit.end, edit)
            out.extend(b")))")
        else:
            out.extend(b"(")
            for mutant in edit.mutants:
                changed = (text[edit.start : mutant.start], mutant.replacement.encode(), text[mutant.end : edit.end])
                marked(mutant, b"if ", on(mutant), b" { (", *changed, b") } else ")
            # What begins with `if` or `match` would end there as a statement, without the parentheses.
            out.extend(b"{ (")
            plain(edit.start, edit.end, edit)
            out.extend(b") })")

    plain(0, len(text), outermost)
    return bytes(out), marks


# Cargo.

# What the tests of the codecs are made with is compiled once, and then it is quick.
CONFIG = ["--config", 'profile.test.package."*".opt-level=2']


def environment():
    """Warnings about what mutants leave unused are of no interest."""
    changed = {
        "CARGO_TARGET_DIR": str(WORK / "target"),
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "CARGO_INCREMENTAL": "1",
        "RUSTFLAGS": "--cap-lints=allow",
        "NCZCHUNK_SEED": "1",
    }
    return {**os.environ, **changed}


def cargo(command, arguments):
    """What cargo says in JSON, and whether it has succeeded."""
    run = subprocess.run(
        ["cargo", *command, *CONFIG, "--locked", "--message-format=json", *arguments],
        cwd=TREE, env=environment(), capture_output=True, text=True,
    )
    messages = [json.loads(line) for line in run.stdout.split("\n") if line.startswith("{")]
    return messages, run.returncode == 0, run.stderr


def errors_of(messages):
    """Errors of the compiler: file, place in bytes, code, text."""
    for message in messages:
        told = message.get("message")
        if message.get("reason") != "compiler-message" or told["level"] != "error":
            continue
        for span in told["spans"]:
            if span["is_primary"]:
                while span.get("expansion") and not span["file_name"].startswith(("src/", "engine/", "arrays/")):
                    span = span["expansion"]["span"]
                yield span["file_name"], span["byte_start"], (told["code"] or {}).get("code"), told["rendered"]


def refused_for_itself(mutant, code):
    """Whether what the compiler says is said of the mutant, and not of the switch around it."""
    if mutant.genre in ("BinaryOperator", "UnaryOperator"):
        return code in ("E0277", "E0368", "E0369", "E0600")
    return mutant.genre == "FnValue" and code != "E0015"


def build_switched(mutants, arguments):
    """Builds the test programs with all mutants: (programs, those refused, those that have to be alone)."""
    left = list(mutants)
    refused, alone = [], []
    while True:
        changed, marks = {}, {}
        for file in sorted({mutant.file for mutant in left}):
            text = tree_files()[file]
            changed[file], marks[file] = switched(text, [mutant for mutant in left if mutant.file == file])
        placed = {mark[2].number for places in marks.values() for mark in places}
        alone += [mutant for mutant in left if mutant.number not in placed]
        left = [mutant for mutant in left if mutant.number in placed]
        number = str(max((mutant.number for mutant in mutants), default=0) + 1)
        for library, switch in (("engine", SWITCH.replace("NUMBER_OF_MUTANTS", number)), ("arrays", THAT_SWITCH)):
            name = f"{library}/src/lib.rs"
            changed[name] = tree_files()[name] + switch.encode()
        sync(changed)
        messages, good, stderr = cargo(["check"], arguments)
        if good:
            break
        bad = {}
        for file, at, code, text in errors_of(messages):
            around = [mark for mark in marks.get(file, ()) if mark[0] <= at <= mark[1]]
            if not around:
                die(f"the compiler refuses the copy for what is no mutant:\n{text}")
            mutant = min(around, key=lambda mark: mark[1] - mark[0])[2]
            bad.setdefault(mutant.number, (mutant, code))
        if not bad:
            die(f"the copy cannot be built:\n{stderr}")
        for mutant, code in bad.values():
            (refused if refused_for_itself(mutant, code) else alone).append(mutant)
        left = [mutant for mutant in left if mutant.number not in bad]
    return build_programs(arguments) or die("the tests of the copy cannot be built"), refused, alone


def build_programs(arguments):
    messages, good, stderr = cargo(["test", "--no-run"], arguments)
    if not good:
        return None
    artifacts = [m for m in messages if m.get("reason") == "compiler-artifact" and m.get("executable")]
    return [m["executable"] for m in artifacts if m["profile"]["test"]] or die(f"there are no tests:\n{stderr}")


# Tests.


def run_test(program, names, mutant, seconds, seen=None):
    """Whether the tests pass: "passed", "failed", or "endless" where they take much more time than they should."""
    limit = int(5 * seconds + LONGEST)

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    scratch = WORK / "scratch"
    scratch.mkdir(exist_ok=True)
    env = {**environment(), "NCZCHUNK_MUTANT": str(mutant), "TMPDIR": str(scratch)}
    if seen:
        env["NCZCHUNK_MUTANTS_SEEN"] = str(seen)
    process = subprocess.Popen(
        [program, "--quiet", "--exact", *names],
        cwd=TREE, env=env, preexec_fn=limits, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    # The limit is one of the processor's time, for others may use it, too; this one is for tests that wait for ever.
    # Ticks are counted, and not the time: this program may be stopped together with the test.
    ticks = 0
    while True:
        try:
            code = process.wait(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            ticks += 1
            if ticks > 200 * limit:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
                break
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "endless"
    return "passed" if code == 0 else "failed"


def record(programs):
    """Every test with its time, and the switches it comes by."""
    tests, longer = [], []
    seen = WORK / "seen.txt"
    for program in programs:
        command = [program, "--list", "--format", "terse"]
        listing = subprocess.run(command, cwd=TREE, env=environment(), check=True, capture_output=True, text=True)
        for name in re.findall(r"^(.*): test$", listing.stdout, flags=re.M):
            seen.unlink(missing_ok=True)
            begin = time.monotonic()
            result = run_test(program, [name], "record", 0, seen)
            seconds = time.monotonic() - begin
            if result == "failed":
                die(f"the test {name} fails without a mutant")
            if result == "endless":
                longer.append(name)
                continue
            numbers = set(map(int, seen.read_text().split())) if seen.exists() else set()
            tests.append(Test(program, name, seconds, numbers))
    say(f"{len(tests)} tests come by the switches")
    if longer:
        say(f"left out, for they take longer than {LONGEST} s: {', '.join(longer)}")
    return tests


def try_mutant(number, tests):
    """What becomes of a mutant: (result, the test that has told)."""
    batches = []
    for test in sorted(tests, key=lambda test: test.seconds):
        # A few tests a program: to begin it takes longer than most of them.
        last = batches[-1] if batches else None
        if last and last[0].program == test.program and sum(t.seconds for t in last) + test.seconds < 0.5:
            last.append(test)
        else:
            batches.append([test])
    for batch in batches:
        names = [test.name for test in batch]
        result = run_test(batch[0].program, names, number, sum(test.seconds for test in batch))
        if result != "passed":
            return result, names[0] if len(names) == 1 else f"{names[0]} or {len(names) - 1} more"
    return "survived", ""


def try_alone(mutant, arguments, tests):
    """A mutant that is no switch: compiled by itself, first with the library's own tests. The tests are all that come
    by its file, and those of constants."""
    text = tree_files()[mutant.file]
    changed = text[: mutant.start] + mutant.replacement.encode() + text[mutant.end :]
    if mutant.genre == "MatchArm" and changed[mutant.start :].lstrip().startswith(b","):
        changed = text[: mutant.start] + changed[mutant.start :].lstrip()[1:]
    if mutant.genre == "StructField":
        changed = text[: mutant.start] + changed[mutant.start :].lstrip().removeprefix(b",")
    sync({mutant.file: changed})

    def name(program):
        return re.sub(r"-[0-9a-f]+$", "", program)

    done = set()
    for some in ([argument for argument in arguments if argument in ("--lib", "--no-default-features")], arguments):
        programs = build_programs(some)
        if programs is None:
            return "refused", ""
        by_name = {name(program): program for program in programs if name(program) not in done}
        here = [Test(by_name[name(t.program)], t.name, t.seconds) for t in tests if name(t.program) in by_name]
        result, test = try_mutant(0, here)
        if result != "survived":
            break
        done |= by_name.keys()
    return result, test


# Results.


class State:
    def __init__(self):
        self.results = json.loads(STATE.read_text()) if STATE.exists() else {}

    def put(self, mutant, result, test, seconds, tests):
        self.results[mutant.key] = {"result": result, "test": test, "seconds": round(seconds, 2), "tests": tests}
        new = STATE.with_suffix(".new")
        new.write_text(json.dumps(self.results, indent=0, sort_keys=True))
        new.replace(STATE)

    def result(self, mutant):
        return self.results.get(mutant.key, {}).get("result")

    def seconds(self, mutant):
        return self.results.get(mutant.key, {}).get("seconds", 0)

    def is_done(self, mutant, tests):
        found = self.results.get(mutant.key)
        return bool(found) and (found["result"] != "survived" or found["tests"] == tests)


def explanations():
    """(file, name, code) of each block of tests/mutants.txt."""
    found = {}
    text = re.sub(r"^#.*\n", "", EXPLAINED.read_text(encoding="utf-8"), flags=re.M)
    for block in filter(None, (block.strip("\n") for block in text.split("\n\n"))):
        head, *rest = block.split("\n")
        file, _, name = head.partition(": ")
        if len(rest) < 2 or any(not line.startswith("    ") for line in rest):
            die(f"{EXPLAINED.name}: an entry is the mutant, the line of code, and why:\n{block}")
        found[(file, name, rest[0].strip())] = " ".join(line.strip() for line in rest[1:])
    return found


def try_groups(names, state, tests_hash, deadline):
    """Tries the mutants of groups that have the same tests, all built at once."""
    arguments = GROUPS[names[0]][1]
    groups = {name: mutants_of(name) for name in names}
    mutants = [mutant for name in names for mutant in groups[name]]
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    explained = explanations()

    def is_due(mutant):
        if state.result(mutant) == "survived" and (mutant.file, mutant.name, mutant.code) in explained:
            return False
        return not state.is_done(mutant, tests_hash)

    due = {mutant.number for mutant in mutants if is_due(mutant)}
    if not due:
        return
    say(f"{', '.join(names)}: {len(due)} of {len(mutants)} mutants are to be tried")
    begin = time.monotonic()
    programs, refused, alone = build_switched(mutants, arguments)
    for mutant in refused:
        if mutant.number in due:
            state.put(mutant, "refused", "", 0, tests_hash)
    due -= {mutant.number for mutant in refused}
    say(f"built in {time.monotonic() - begin:.0f} s; {len(alone)} are compiled alone")
    tests = record(programs)
    is_alone = {mutant.number for mutant in alone}

    def go_on(name, which, attempt):
        begin, tried = time.monotonic(), 0
        for mutant in which:
            if time.monotonic() > deadline:
                break
            at = time.monotonic()
            result, test = attempt(mutant)
            state.put(mutant, result, test, time.monotonic() - at, tests_hash)
            tried += 1
            if result == "survived" and (mutant.file, mutant.name, mutant.code) not in explained:
                print(f"{mutant.file}:{mutant.line}: {mutant.name}", flush=True)
        if tried:
            say(f"{name}: {tried} mutants, {(time.monotonic() - begin) / tried:.2f} s each")

    for name in names:
        which = [mutant for mutant in groups[name] if mutant.number in due - is_alone]
        go_on(name, which, lambda mutant: try_mutant(mutant.number, [t for t in tests if mutant.number in t.seen]))
    for name in names:
        which = [mutant for mutant in groups[name] if mutant.number in due & is_alone]

        def attempt(mutant):
            here = {other.number for other in mutants if other.file == mutant.file}
            # A test of a constant comes by no switch at all.
            return try_alone(mutant, arguments, [test for test in tests if test.seen & here or not test.seen])

        go_on(f"{name}, alone", which, attempt)


def report(names, state, may_be_left):
    """Prints the totals; whether nothing is left that has to be done."""
    explained, used, good = explanations(), set(), True
    total = Counter()
    columns = ("mutants", "found", "endless", "explained", "survived", "refused", "left")
    print("| group | " + " | ".join(columns) + " | seconds each |\n|---|" + "---:|" * (len(columns) + 1))
    survivors = []
    for name in names:
        counts, seconds = Counter(), 0.0
        for mutant in mutants_of(name):
            counts["mutants"] += 1
            result = state.result(mutant)
            entry = (mutant.file, mutant.name, mutant.code)
            if result in (None, "survived") and entry in explained:
                used.add(entry)
            if result == "survived" and entry not in explained:
                survivors.append(mutant)
            kinds = {None: "left", "failed": "found", "survived": "explained" if entry in explained else "survived"}
            counts[kinds.get(result, result)] += 1
            seconds += state.seconds(mutant)
        tried = counts["mutants"] - counts["refused"] - counts["left"]
        each = f"{seconds / tried:.2f}" if tried else ""
        print(f"| {name} | " + " | ".join(str(counts[column]) for column in columns) + f" | {each} |")
        total += counts
    print("| all | " + " | ".join(str(total[column]) for column in columns) + " | |")
    for mutant in survivors:
        print(f"{mutant.file}:{mutant.line}: {mutant.name}\n    {mutant.code}")
        good = False
    ours = tuple(pattern.split("*")[0] for name in names for pattern in GROUPS[name][0])
    for entry in explained:
        if entry not in used and entry[0].startswith(ours):
            print(f"{EXPLAINED.name}: no mutant survives that is {entry[0]}: {entry[1]}\n    {entry[2]}")
            good = False
    if total["left"]:
        say(f"{total['left']} mutants are left; the next call goes on")
        good = good and may_be_left
    return good


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutants")
    parser.add_argument("--minutes", type=float, help="how long to go on; the next call goes on from there")
    parser.add_argument("--report", action="store_true", help="print what is known and try nothing")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    arguments = parser.parse_args()
    names = arguments.groups or list(GROUPS)
    for name in names:
        if name not in GROUPS:
            die(f"there is no group {name}; there are {', '.join(GROUPS)}")
    WORK.mkdir(parents=True, exist_ok=True)
    state, tests_hash = State(), hash_of_tests()
    for name in names:
        mutants_of(name)  # of the tree as it is now
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    if not arguments.report:
        with contextlib.suppress(KeyboardInterrupt):
            for arguments_of in (ENGINE, ALL):
                same = [name for name in names if GROUPS[name][1] is arguments_of]
                if same and time.monotonic() < deadline:
                    try_groups(same, state, tests_hash, deadline)
    sys.exit(0 if report(names, state, arguments.report or arguments.minutes) else 1)


main()
