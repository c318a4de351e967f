"""Has Doxygen see the headers' prose: prints a header with its opening comment as the page of the file, and with each
section (a comment that begins with a line of dashes) as a group of what is declared in it.

header_filter.py HEADER
"""

import pathlib
import re
import sys

SECTIONS = {
    ".h": re.compile(r"/\* -{20,}\n \* ([^\n]+)\n(.*?) ?\*/\n", re.DOTALL),
    ".hpp": re.compile(r"// -{20,}\n// ([^\n]+)\n((?:// ?[^\n]*\n)*)"),
}

MAIN_PAGE = """/**
 * @mainpage API reference
 * Each header is a guided tour; its sections are here in the same order, under Modules.
 *
 * - nczchunk.h: hyperslabs, plans, stores, codecs, caches, in C
 * - nczchunk_array.h: arrays that are opened by name, in C
 * - nczchunk.hpp, nczchunk_array.hpp: the same for C++17
 */
"""


def filtered(path):
    comment, text = re.match(r"/\*\n(.*?)\*/\n(.*)", path.read_text(), re.DOTALL).groups()
    # What lies behind the braces round all of it is nothing that programs use.
    end = "\n} // namespace NCZCHUNK_NAMESPACE" if path.suffix == ".hpp" else "\n#ifdef __cplusplus"
    text = text[: text.rindex(end)]
    number = 0

    def section(found):
        nonlocal number
        number += 1
        title, prose = found.groups()
        lines = [re.sub(r"^ ?(\*|//) ?", "", line) for line in prose.splitlines()]
        name = f"{path.name.replace('.', '_')}_{number:02}"
        return "\n".join(
            ["/** @} */"] * (number > 1)
            + ["/**", f" * @defgroup {name} {path.name}: {title.capitalize()}"]
            + [f" * {line}" for line in lines]
            + [" * @{", " */", ""]
        )

    text = SECTIONS[path.suffix].sub(section, text)
    text = f"{MAIN_PAGE if path.name == 'nczchunk.h' else ''}/**\n * @file\n{comment}*/\n{text}\n/** @}} */\n"
    text += "} // namespace\n" if path.suffix == ".hpp" else "#ifdef __cplusplus\n}\n#endif\n"
    # In prose a # is a #, and no link.
    return re.sub(r"^( \* .*|\s*/// .*)$", lambda line: re.sub(r"#(?=\w)", r"\\#", line[0]), text, flags=re.MULTILINE)


sys.stdout.write(filtered(pathlib.Path(sys.argv[1])))
