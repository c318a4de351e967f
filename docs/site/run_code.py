"""Runs all code in the pages, and compares what it prints with what stands there.

    run_code.py DIRECTORY [--update] [PAGE...]

scripts/docs calls it with the library installed and in the environment. Every page gets an empty directory below
DIRECTORY, with links to the tree's data and examples, in which its code is run, block after block. The pages of the
tour have one directory in common, for who reads them in their order does what they say in one:

- console: each line that begins with `$ ` is a command for bash, and what it prints must be what follows. With --update
  what it prints is written there;
- sh: commands for bash, none of which may fail;
- c, cpp, python: a program, which must end with 0. C without a main function is the body of one;
- rust: as rustdoc tests it;
- literalinclude: a file that CMake builds and runs as an example or as a test;
- text, json, diff: not code.

A comment before a block says more: `<!-- file: NAME -->` that it is this file, which later blocks use (and that it is
not run by itself); `<!-- run: in the tree -->` that it is run in the root of the tree; `<!-- run: by SCRIPT -->` that a
script does that .ci/run calls, and `<!-- run all: by SCRIPT -->` that it does so with all blocks that follow. What is
only indented may be nothing but commands of the tree's scripts, to be run by hand. A picture in a directory named
pictures is drawn by the page's code, and must be the same.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from pages import PAGES, ROOT, TOUR

FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})(?P<language>[\w{}-]*) *(?P<argument>.*)$")
COMMENT = re.compile(r"^<!-- (file|run|run all): (.*) -->$")
PICTURE = re.compile(r"!\[[^]]*\]\(((?:[\w./-]*/)?pictures/[\w.-]+)\)")
PREPARED = set()
NOT_CODE = {"text", "json", "diff"}
COMPILERS = {
    "c": ["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "cpp": ["c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
}
FRAMES = {
    "c": '#include <stdio.h>\n#include <nczchunk_array.h>\nint main(void)\n{{\n{}    return 0;\n}}\n',
    "cpp": '#include <vector>\n#include <nczchunk_array.hpp>\nint main()\n{{\n{}}}\n',
}


class Wrong(Exception):
    """What is wrong with a block."""


class Page:
    def __init__(self, name, directory):
        self.name = name
        self.path = ROOT / name
        self.directory = directory / ("docs-tour" if name in TOUR else name.replace("/", "-").removesuffix(".md"))
        self.lines = self.path.read_text().split("\n")
        self.number = self.ran = 0

    def prepare(self):
        if self.directory in PREPARED:
            return
        PREPARED.add(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        for name in ("data", "examples"):
            (self.directory / name).symlink_to(ROOT / name)

    def blocks(self):
        """Each block: its number of the line, language, argument, lines, the comment before it."""
        comment, at = ("", ""), 0
        while at < len(self.lines):
            line = self.lines[at]
            found = FENCE.match(line)
            if found:
                end = next(i for i in range(at + 1, len(self.lines)) if self.lines[i].strip() == found["fence"])
                yield at, found["language"], found["argument"], self.lines[at + 1 : end], comment
                # What was yielded may have changed the page.
                end = next(i for i in range(at + 1, len(self.lines)) if self.lines[i].strip() == found["fence"])
                at, comment = end, ("", "") if comment[0] != "run all" else comment
            elif remark := COMMENT.match(line):
                comment = remark.groups()
            elif line.startswith("    ") and not self.in_list(at) and not (ROOT / line.split()[0]).is_file():
                raise Wrong(f"{self.name}:{at + 1}: code that is only indented, and no script: say what it is")
            at += 1

    def in_list(self, at):
        before = [line for line in self.lines[:at] if line and not line.startswith(" ")]
        return bool(before) and re.match(r"([-*]|\d+\.) ", before[-1]) is not None

    def run(self, update):
        self.prepare()
        for at, language, argument, lines, (kind, value) in self.blocks():
            try:
                self.block(at, language, argument, lines, kind, value, update)
            except Wrong as wrong:
                raise Wrong(f"{self.name}:{at + 1}: {wrong}") from None
        self.pictures(update)
        if update:
            self.path.write_text("\n".join(self.lines))

    def block(self, at, language, argument, lines, kind, value, update):
        text = "\n".join(lines) + "\n"
        if language == "{literalinclude}":
            return self.included(argument)
        if language.startswith("{") or language in NOT_CODE:
            return None
        self.number += 1
        if kind == "file":
            (self.directory / value).write_text(text)
            return None
        self.ran += 1
        if value.startswith("by "):
            return self.by(value.removeprefix("by "), lines)
        where = ROOT if value == "in the tree" else self.directory
        if language == "console":
            return self.console(at, lines, where, update)
        if language == "sh":
            return command(["bash", "-euo", "pipefail", "-c", text], where)
        if language == "python":
            return command([sys.executable, "-W", "error", "-c", text], where)
        if language in COMPILERS:
            return self.program(language, text)
        if language == "rust":
            return self.rust(at)
        raise Wrong(f"nothing is known to run {language or 'a block without a language'}")

    def console(self, at, lines, where, update):
        printed, expected = [], [line for line in lines]
        while lines:
            line = lines.pop(0)
            if not line.startswith("$ "):
                continue # what the command before it printed
            words = [line]
            while words[-1].endswith("\\"):
                words.append(lines.pop(0))
            output = subprocess.run(["bash", "-c", "\n".join(words)[2:]], cwd=where, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True).stdout
            printed += words + output.removesuffix("\n").split("\n") * bool(output)
        printed = [line.rstrip() for line in printed]
        if update:
            self.lines[at + 1 : at + 1 + len(expected)] = printed
        elif printed != expected:
            raise Wrong("it prints\n" + "\n".join(printed) + "\n(scripts/docs --update writes it there)")

    def program(self, language, text):
        if not re.search(r"^int main\(", text, re.MULTILINE):
            text = FRAMES[language].format(text)
        source = self.directory / f"block-{self.number}.{language}"
        source.write_text(text)
        program = source.with_suffix("")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "nczchunk"], check=True, capture_output=True,
                               text=True).stdout
        command([*COMPILERS[language], "-o", program, source, *shlex.split(flags)], self.directory)
        command([program], self.directory)

    def rust(self, at):
        """All of the page's Rust, at its first block; with the library as it was built for the program."""
        if "```rust" in self.lines[:at]:
            return
        built = ROOT / "build/release/cargo/release/deps"
        library = max(built.glob("libnczchunk-*.rlib"), key=lambda path: path.stat().st_mtime)
        command(["rustdoc", "--test", "--edition", "2024", "-L", f"dependency={built}", "--extern",
                 f"nczchunk={library}", self.path], self.directory)

    def included(self, argument):
        path = (self.path.parent / argument.strip()).resolve().relative_to(ROOT)
        name = re.escape(path.name if path.suffix == ".h" else path.stem.removeprefix("test_"))
        if path.suffix == ".cpp" and path.parts[0] == "examples":
            name = rf"add_cpp_example\({name}"
        if not re.search(rf"\b{name}\b", (ROOT / path.parts[0] / "CMakeLists.txt").read_text()):
            raise Wrong(f"{path} is not run by CMake")

    def by(self, script, lines):
        """That a script which .ci/run calls runs a block; or .ci/run itself, each command of it as a step."""
        steps = (ROOT / ".ci/run").read_text()
        wanted = [script] if script != ".ci/run" else [words for line in lines if (words := line.split("#")[0].strip())]
        for words in wanted:
            step = r'(step "[^"]+"|beside "[^"]+" (\w\S*|"[^"]*"))'
            if not re.search(rf"^{step} {re.escape(words)}( --quick)?$", steps, re.MULTILINE):
                raise Wrong(f".ci/run has no step: {words}")

    def pictures(self, update):
        for name in PICTURE.findall("\n".join(self.lines)):
            drawn, kept = self.directory / pathlib.Path(name).name, self.path.parent / name
            if not drawn.exists():
                raise Wrong(f"{self.name}: nothing on the page draws {drawn.name}")
            if update:
                kept.parent.mkdir(exist_ok=True)
                shutil.copyfile(drawn, kept)
            elif not kept.exists() or kept.read_bytes() != drawn.read_bytes():
                raise Wrong(f"{self.name}: {name} is not what is drawn (scripts/docs --update)")


def command(words, where):
    done = subprocess.run(words, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True)
    if done.returncode:
        raise Wrong(f"exit code {done.returncode}\n{done.stdout}")


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    directory, *names = [argument for argument in arguments if argument != "--update"]
    home = pathlib.Path.home()
    os.environ |= {
        "LC_ALL": "C.UTF-8", "COLUMNS": "80",
        # What is installed in the home directory is not installed in that of whoever runs this.
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(home / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(home / ".rustup")),
        "HOME": str(pathlib.Path(directory).resolve() / "home"),
    }
    failed = ran = 0
    for name in names or PAGES:
        page = Page(name, pathlib.Path(directory).resolve())
        try:
            page.run(update)
        except Wrong as wrong:
            print(wrong, file=sys.stderr)
            failed += 1
        ran += page.ran
    print(f"{ran} pieces of code on {len(names or PAGES)} pages, {failed} pages with errors")
    sys.exit(1 if failed else 0)


main()
