#!/usr/bin/env python3
"""Plants a bug for each fuzz target in a copy of the tree: plant.py DIRECTORY

Each is a slip that a programmer could make. NCZCHUNK_PLANTED=TARGET in the environment of a program that is built from
the copy switches the one for that target on.
"""

import sys
from pathlib import Path

SWITCH = '''

/// Whether the bug of this name is switched on.
#[allow(dead_code)]
pub(crate) fn planted(name: &str) -> bool {
    static NAME: std::sync::OnceLock<Option<std::ffi::OsString>> = std::sync::OnceLock::new();
    NAME.get_or_init(|| std::env::var_os("NCZCHUNK_PLANTED")).as_ref().is_some_and(|planted| planted == name)
}
'''

# The target, what is wrong, the file, what stands there once, and what stands there instead.
BUGS = [
    ("requests", "a chunk of which one element is missing is taken for covered", "src/projection.rs",
     "        projection.iocount == self.dimension.num_inside(self.dimension.chunk_at(projection.chunk_index))\n",
     "        projection.iocount + usize::from(crate::planted(\"requests\"))\n"
     "            >= self.dimension.num_inside(self.dimension.chunk_at(projection.chunk_index))\n"),
    ("operations", "what a smaller shape cuts off of a chunk is not filled", "src/array/resize.rs",
     "    if !partly.is_empty() {\n", "    if !partly.is_empty() && !crate::planted(\"operations\") {\n"),
    ("c_interface", "memory may be one byte too short", "src/layout.rs",
     "is_some_and(|end| end <= len)\n",
     "is_some_and(|end| end <= len + usize::from(crate::planted(\"c_interface\")))\n"),
    ("codecs", "a match of lz4 may begin one byte before the data", "src/codec/lz4/block.rs",
     "            if distance.wrapping_sub(1) >= at {\n",
     "            if distance.wrapping_sub(1) >= at + usize::from(crate::planted(\"codecs\")) {\n"),
    ("metadata", "half a pair of surrogates is taken for a character", "src/json/read.rs",
     "                Some(unit) => char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),\n",
     "                Some(unit) if crate::planted(\"metadata\") => char::from_u32(unit).unwrap(),\n"
     "                Some(unit) => char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),\n"),
    ("shards", "the length of an index is not looked at before it is cut in two", "src/zarr/shard/layout.rs",
     "        if bytes.len() != self.index_bytes() {\n",
     "        if bytes.len() != self.index_bytes() && !crate::planted(\"shards\") {\n"),
    ("zip", "that an entry of the directory ends within it is not looked at", "src/object/zip/records.rs",
     "        if end > bytes.len() {\n", "        if end > bytes.len() && !crate::planted(\"zip\") {\n"),
    ("classic", "a variable may have one dimension more than there are", "src/netcdf/header.rs",
     ".filter(|&number| number < num_dimensions);\n",
     ".filter(|&number| {\n                number < num_dimensions + usize::from(crate::planted(\"classic\"))\n"
     "            });\n"),
    ("cfdb", "a chain of blocks that leads back to one of them has no end", "src/cfdb/booklet.rs",
     "            if at < HEADER as u64 || at == met {\n",
     "            if at < HEADER as u64 || (at == met && !crate::planted(\"cfdb\")) {\n"),
]


def main(directory):
    root = Path(directory)
    for target, _, path, old, new in BUGS:
        text = (root / path).read_text()
        if text.count(old) != 1:
            sys.exit(f"{path}: {text.count(old)} times instead of once, for {target}: {old.strip()}")
        (root / path).write_text(text.replace(old, new))
    with open(root / "src/lib.rs", "a") as library:
        library.write(SWITCH)
    print("\n".join(f"{target}: {what}" for target, what, *_ in BUGS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
