#!/bin/sh
# exports.sh NM LIBRARY: the shared library exports exactly the names in exports.txt.
# A new function is a promise to every program linked to it, so its name is added there by hand.
set -eu
LC_ALL=C
export LC_ALL
"$1" --dynamic --defined-only --format=posix "$2" | cut -d ' ' -f 1 | sort |
    diff -u "$(dirname "$0")/exports.txt" -
