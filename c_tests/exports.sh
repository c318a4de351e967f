#!/bin/sh
# exports.sh NM LIBRARY LIST...: the shared library exports exactly the names in the lists: those of nczchunk.h in
# exports.txt, those of nczchunk_array.h in exports_array.txt. A new function is a promise to every program linked to
# it, so its name is added there by hand.
set -eu
LC_ALL=C
export LC_ALL
nm=$1
library=$2
shift 2
exported=$(mktemp)
trap 'rm -f "$exported"' EXIT
"$nm" --dynamic --defined-only --format=posix "$library" | cut -d ' ' -f 1 | sort >"$exported"
sort "$@" | diff -u - "$exported"
