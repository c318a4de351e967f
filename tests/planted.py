#!/usr/bin/env python3
"""Plants bugs in a copy of the tree, for which whatever looks for bugs has to find them: planted.py DIRECTORY

Each is a slip that a programmer could make. NCZCHUNK_PLANTED=NAME in the environment of a program that is built from
the copy switches the one of that name on; without it the program is what it is in the tree.

    planted.py --list GROUP     the names of a group's bugs, and what is wrong: fuzz, models, checkers
    planted.py --check          whether each can be planted in this tree: what stands there does so once
"""

import sys
from pathlib import Path

# Nothing is allocated, for there are tests in which allocations fail.
SWITCH = '''

/// Whether the bug of this name is switched on.
#[allow(dead_code, unsafe_code)]
pub(crate) fn planted(name: &str) -> bool {
    static NAME: std::sync::OnceLock<Option<&'static std::ffi::CStr>> = std::sync::OnceLock::new();
    let find = || {
        // SAFETY: the name is a text with a NUL at its end, and so is what is found; nobody changes the environment.
        let found = unsafe { libc::getenv(c"NCZCHUNK_PLANTED".as_ptr()) };
        (!found.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(found) })
    };
    NAME.get_or_init(find).is_some_and(|planted| planted.to_bytes() == name.as_bytes())
}
'''

# The crates that have the switch.
ROOTS = ["engine/src/lib.rs", "arrays/src/lib.rs", "src/lib.rs", "models/src/main.rs"]

# The name, what is wrong, the file, what stands there once, and what stands there instead. These are named after the
# fuzz target that has to find them.
FUZZ = [
    ("requests", "a chunk of which one element is missing is taken for covered", "engine/src/projection.rs",
     "        num_selected == self.dimension.inside(chunk, projection.limit)\n",
     "        num_selected + usize::from(crate::planted(\"requests\"))\n"
     "            >= self.dimension.inside(chunk, projection.limit)\n"),
    ("operations", "what a smaller shape cuts off of a chunk is not filled", "arrays/src/array/resize.rs",
     "    if !found.partly.is_empty() {\n", "    if !found.partly.is_empty() && !crate::planted(\"operations\") {\n"),
    ("c_interface", "memory may be one byte too short", "engine/src/layout.rs",
     "is_some_and(|end| end <= len)\n",
     "is_some_and(|end| end <= len + usize::from(crate::planted(\"c_interface\")))\n"),
    ("codecs", "where a match of lz4 begins is not looked at", "engine/src/codec/lz4/block.rs",
     "            if distance.wrapping_sub(1) >= at {\n",
     "            if distance.wrapping_sub(1) >= at && !crate::planted(\"codecs\") {\n"),
    ("metadata", "half a pair of surrogates is taken for a character", "arrays/src/json/read.rs",
     "                    let character = escaped.unwrap_or(char::REPLACEMENT_CHARACTER);\n",
     "                    let _ = if crate::planted(\"metadata\") { escaped.unwrap() } else { ' ' };\n"
     "                    let character = escaped.unwrap_or(char::REPLACEMENT_CHARACTER);\n"),
    ("shards", "the length of an index is not looked at before it is cut in two", "arrays/src/zarr/shard/layout.rs",
     "        if bytes.len() != self.index_bytes() {\n",
     "        if bytes.len() != self.index_bytes() && !crate::planted(\"shards\") {\n"),
    ("zip", "that an entry of the directory ends within it is not looked at", "arrays/src/object/zip/records.rs",
     "        if end > bytes.len() {\n", "        if end > bytes.len() && !crate::planted(\"zip\") {\n"),
    ("classic", "a file without records is taken for one that has some", "arrays/src/netcdf/file.rs",
     "    if file.num_records == 0 {\n", "    if file.num_records == 0 && !crate::planted(\"classic\") {\n"),
    ("cfdb", "a chain of blocks that leads back to one of them has no end", "arrays/src/cfdb/booklet.rs",
     "        if at < HEADER as u64 || at == met {\n",
     "        if at < HEADER as u64 || (at == met && !crate::planted(\"cfdb\")) {\n"),
    ("hdf5", "the length of a text is not compared with the object that it is in", "arrays/src/hdf5/attribute.rs",
     "        let heap = collection(file, id.address)?;\n",
     "        let heap = collection(file, id.address)?;\n"
     "        let _ = if crate::planted(\"hdf5\") { &heap.get(id.number)?[..len as usize] } else { &[] };\n"),
]

# These are for scripts/models. Each name begins with that of the models of which one has to find it.
MODELS = [
    ("shared/end", "the end of a value is not ordered behind its other owners' last use of it", "engine/src/shared.rs",
     "        if self.inner().owners.fetch_sub(1, Ordering::Release) == 1 {\n",
     "        let order = if crate::planted(\"shared/end\") { Ordering::Relaxed } else { Ordering::Release };\n"
     "        if self.inner().owners.fetch_sub(1, order) == 1 {\n"),
    ("shared/only", "the last owner but one takes the value out", "engine/src/shared.rs",
     "        if this.inner().owners.fetch_sub(1, Ordering::Release) != 1 {\n",
     "        let last = 1 + usize::from(crate::planted(\"shared/only\"));\n"
     "        if this.inner().owners.fetch_sub(1, Ordering::Release) > last {\n"),
    ("pool/order", "what was done to a thing before it was put back is not seen by who takes it", "engine/src/pool.rs",
     "slot.swap(ptr::null_mut(), Ordering::Acquire)",
     "slot.swap(\n                ptr::null_mut(),\n"
     "                if crate::planted(\"pool/order\") { Ordering::Relaxed } else { Ordering::Acquire },\n"
     "            )"),
    ("pool/lost", "two threads that put things back at the same time use one place", "engine/src/pool.rs",
     "        let is_kept = self.idle.iter().any(|slot| {\n",
     "        let is_kept = self.idle.iter().any(|slot| {\n"
     "            if crate::planted(\"pool/lost\") && slot.load(Ordering::Relaxed).is_null() {\n"
     "                slot.store(pointer.as_ptr(), Ordering::Release);\n                return true;\n            }\n"),
    ("lock/notify", "one of those who wait is woken instead of all", "engine/src/lock.rs",
     "        self.changed.notify_all();\n",
     "        if crate::planted(\"lock/notify\") {\n            return self.changed.notify_one();\n        }\n"
     "        self.changed.notify_all();\n"),
    ("lock/fork", "a child waits for what its parent's threads hold", "engine/src/lock.rs",
     "        if std::process::id() != self.process {\n",
     "        if std::process::id() != self.process && !crate::planted(\"lock/fork\") {\n"),
    ("cache/twice", "nobody waits for a chunk that another fetches", "engine/src/cache/mod.rs",
     "                State::Loading { .. } => table = inner.table.wait(table),\n",
     "                State::Loading { .. } if crate::planted(\"cache/twice\") => break (None, None),\n"
     "                State::Loading { .. } => table = inner.table.wait(table),\n"),
    ("cache/wait", "those who wait for a chunk are not told that it is there", "engine/src/cache/mod.rs",
     "        inner.table.notify();\n",
     "        if !crate::planted(\"cache/wait\") {\n            inner.table.notify();\n        }\n"),
    ("cache/over", "a fetch that is over takes away another one's place in the table", "engine/src/cache/mod.rs",
     "        if !self.is_over {\n",
     "        let is_taken = |table: &mut Table| {\n"
     "            let place = table.find(&self.key);\n"
     "            place.is_some_and(|number| matches!(table.slot(number).state, State::Loading { .. }))\n"
     "        };\n"
     "        let is_due = || inner.table.lock().is_some_and(|mut table| is_taken(&mut table));\n"
     "        if !self.is_over || (crate::planted(\"cache/over\") && is_due()) {\n"),
    ("cache/lent", "the memory of a chunk is used again while somebody has it", "engine/src/cache/entry.rs",
     "    pub(super) fn into_memory(self) -> Option<Memory> {\n",
     "    pub(super) fn into_memory(self) -> Option<Memory> {\n"
     "        if crate::planted(\"cache/lent\") {\n"
     "            let memory = std::ptr::from_ref(&self.0.memory).cast_mut();\n"
     "            return Some(unsafe { memory.replace(Memory::EMPTY) });\n        }\n"),
    ("cache/limit", "there is room for a chunk as long as the limit is not passed without it",
     "engine/src/cache/table.rs",
     "        let mut due = self.bytes.saturating_add(size).saturating_sub(limit);\n",
     "        let more = if crate::planted(\"cache/limit\") { 0 } else { size };\n"
     "        let mut due = self.bytes.saturating_add(more).saturating_sub(limit);\n"),
    ("cache/stale", "a chunk that is written to while it is fetched is kept as it was", "engine/src/cache/table.rs",
     "            State::Loading { stale } => *stale = true,\n",
     "            State::Loading { stale } => *stale = !crate::planted(\"cache/stale\"),\n"),
    ("cache/request", "what a request brings is kept though the chunk was written to meanwhile",
     "engine/src/cache/mod.rs",
     "            keep &= turn.num_writes.is_none_or(|before| table.last_write(&key) <= before);\n",
     "            let is_new = turn.num_writes.is_none_or(|before| table.last_write(&key) <= before);\n"
     "            keep &= is_new || crate::planted(\"cache/request\");\n"),
    ("cache/new", "a chunk that is being written to is kept as it was", "engine/src/cache/mod.rs",
     "            keep &= !table.is_written(&key);\n",
     "            keep &= !table.is_written(&key) || crate::planted(\"cache/new\");\n"),
    ("cache/sizes", "a chunk is found by whoever needs one of another size", "engine/src/cache/mod.rs",
     "            let is_same_size = slot.size == size;\n",
     "            let is_same_size = slot.size == size || crate::planted(\"cache/sizes\");\n"),
    ("queue/twice", "two workers take the same block", "engine/src/transfer/queue.rs",
     "        let begin = self.next.fetch_add(block, Relaxed);\n",
     "        let begin = if crate::planted(\"queue/twice\") {\n"
     "            let begin = self.next.load(Relaxed);\n            self.next.store(begin + block, Relaxed);\n"
     "            begin\n        } else {\n            self.next.fetch_add(block, Relaxed)\n        };\n"),
    ("queue/failure", "the failure that is told is the last, not the first in order", "engine/src/transfer/queue.rs",
     "        if chunk < self.end.load(Relaxed) {\n            self.end",
     "        if chunk < self.end.load(Relaxed) || crate::planted(\"queue/failure\") {\n            self.end"),
    ("transfer/panic", "a worker that panics does not tell it", "engine/src/transfer/execute.rs",
     "            &|| queue.fail_all(ErrorKind::Internal.into()),\n",
     "            &|| {\n                if !crate::planted(\"transfer/panic\") {\n"
     "                    queue.fail_all(ErrorKind::Internal.into());\n                }\n            },\n"),
    ("transfer/join", "the threads of a call are not joined", "engine/src/threads/mod.rs",
     "        self.threads.drain(..).for_each(Thread::join);\n",
     "        let skipped = usize::from(crate::planted(\"transfer/join\"));\n"
     "        self.threads.drain(..).skip(skipped).for_each(Thread::join);\n"),
    ("threads/working", "a call does not wait for threads that have begun", "engine/src/threads/station.rs",
     "        while state.working > 0 {\n",
     "        while state.working > 0 && !crate::planted(\"threads/working\") {\n"),
    ("threads/close", "threads are not woken to leave", "engine/src/threads/station.rs",
     "        self.state().is_closed = true;\n        self.called.notify_all();\n",
     "        self.state().is_closed = true;\n"
     "        if !crate::planted(\"threads/close\") {\n            self.called.notify_all();\n        }\n"),
]

# These are for scripts/check-checkers, which says who has to find them.
CHECKERS = [
    ("bounds", "memory for a chunk is one byte shorter than it says", "engine/src/alloc.rs",
     "            let layout = Self::layout(len).ok_or(Failed)?;\n",
     "            let layout = Self::layout(len - usize::from(crate::planted(\"bounds\"))).ok_or(Failed)?;\n"),
    ("race", "a worker's block of chunks begins with the last of the block before", "engine/src/transfer/queue.rs",
     "        (begin < end).then(|| begin..end.min(begin.saturating_add(block)))\n",
     "        let overlap = usize::from(crate::planted(\"race\") && begin > self.begin);\n"
     "        (begin < end).then(|| begin - overlap..end.min(begin.saturating_add(block)))\n"),
    ("leak", "what a pool keeps is not freed with it", "engine/src/pool.rs",
     "            if let Some(pointer) = NonNull::new(slot.load(Ordering::Relaxed)) {\n",
     "            let found = NonNull::new(slot.load(Ordering::Relaxed));\n"
     "            if let Some(pointer) = found.filter(|_| !crate::planted(\"leak\")) {\n"),
    ("wrap", "how far a request reaches is computed modulo 2^64", "engine/src/hyperslab.rs",
     "                Some(reach) => start.checked_add(reach).filter(|&last| last < dimlen),\n",
     "                Some(reach) if crate::planted(\"wrap\") => {\n"
     "                    Some(start.wrapping_add(reach)).filter(|&last| last < dimlen)\n                }\n"
     "                Some(reach) => start.checked_add(reach).filter(|&last| last < dimlen),\n"),
    ("abort", "an allocation that fails ends the program", "engine/src/alloc.rs",
     "        let layout = Layout::new::<T>();\n        if layout.size() == 0 {\n",
     "        let layout = Layout::new::<T>();\n        if layout.size() == 0 || crate::planted(\"abort\") {\n"),
    ("stale", "a buffer that cannot grow keeps the memory that it has freed", "engine/src/alloc.rs",
     "            *self = Scratch::EMPTY;\n",
     "            let before = self.0;\n"
     "            *self = Scratch::EMPTY;\n"
     "            if crate::planted(\"stale\") {\n                self.0 = before;\n            }\n"),
    ("projection", "the last element of a chunk is left out where the stride leads to it", "engine/src/projection.rs",
     "div(chunklen - 1 - first, stride) + 1 } else { 1 };\n",
     "div((chunklen - 1 - first).saturating_sub(usize::from(crate::planted(\"projection\"))), stride) + 1 }"
     " else { 1 };\n"),
    ("tail", "of a row of lines what follows the last whole one is not written", "engine/src/copy/x86/lines.rs",
     "        if cursor.left > 0 {\n", "        if cursor.left > 0 && !crate::planted(\"tail\") {\n"),
    ("avx512-tail", "the last byte of a row that is gathered by vectors of 64 bytes is not written",
     "engine/src/copy/x86/avx512/gather.rs",
     "(Gather::<W, STRIDE, SWAP>::load_masks(rest), first_bytes(rest));\n",
     "(\n        Gather::<W, STRIDE, SWAP>::load_masks(rest),\n"
     "        first_bytes(rest - usize::from(crate::planted(\"avx512-tail\"))),\n    );\n"),
    ("portable-tail", "the last bytes of a unit are not copied if they are no 16", "engine/src/copy/portable.rs",
     "        copy_piece(last);\n",
     "        if !crate::planted(\"portable-tail\") || unit % 16 == 0 {\n            copy_piece(last);\n        }\n"),
    ("place", "what a chunk leaves is another's before it has been given back", "engine/src/cache/slab.rs",
     "        // SAFETY: the place is whole pages of the slab, whose bytes nobody uses any more.\n",
     "        if crate::planted(\"place\") {\n"
     "            self.slab.free.fetch_or(1 << self.index, Ordering::Release);\n        }\n"
     "        // SAFETY: the place is whole pages of the slab, whose bytes nobody uses any more.\n"),
    ("ranges", "ranges of one chunk are read from whatever has its name", "engine/src/transfer/read.rs",
     "        let is_constant = filler.versions() == Versions::Constant;\n",
     "        let is_constant = filler.versions() == Versions::Constant || crate::planted(\"ranges\");\n"
     "        let opening = if crate::planted(\"ranges\") { Opening::Nothing } else { opening };\n"),
    ("flight-ranges", "ranges of one chunk that are in flight may be of several versions",
     "engine/src/transfer/divided.rs",
     "        let is_mixed = divided.is_mixed && !divided.is_absent;\n",
     "        let is_mixed = divided.is_mixed && !divided.is_absent && !crate::planted(\"flight-ranges\");\n"),
    ("index", "a shard of the same length is taken for the one that the index is of", "arrays/src/fetch/chunks.rs",
     "        if found != Some(opened.state) {\n",
     "        if crate::planted(\"index\") {\n"
     "            return Ok(found.map(|(len, _)| len) == Some(opened.state.0));\n        }\n"
     "        if found != Some(opened.state) {\n"),
    ("parts", "a part is written to what the cache has", "engine/src/transfer/write.rs",
     "                store.fetch(&request, 0..chunk_bytes, &mut buffer, encoded)?.fill(&mut buffer)?\n            }\n",
     "            let cache = store.cache().filter(|_| crate::planted(\"parts\"));\n"
     "            let ready = |cache: &crate::cache::Part| {\n"
     "                cache.ready(piece.indices, &(0..chunk_bytes), chunk_bytes, cache.begin())\n            };\n"
     "            match cache.map(ready).transpose()?.flatten() {\n"
     "                Some(entry) => buffer.write(entry.bytes()),\n"
     "                None => store.fetch(&request, 0..chunk_bytes, &mut buffer, encoded)?.fill(&mut buffer)?,\n"
     "            }\n            }\n"),
    ("forget", "what is written stays in the writer's cache as it was", "engine/src/transfer/write.rs",
     "        write.add(&chunk)?;\n",
     "        if !crate::planted(\"forget\") {\n            write.add(&chunk)?;\n        }\n"),
    ("settled", "a file has a version as soon as it is there", "arrays/src/object/directory/unix.rs",
     "    is_settled.then_some(",
     "    (is_settled || crate::planted(\"settled\")).then_some("),
    ("shape", "another shape starts from the one that the handle knows", "arrays/src/array/mod.rs",
     "        let mut now = self.reopened()?;\n",
     "        let mut now = self.reopened()?;\n"
     "        if crate::planted(\"shape\") {\n            now.opened.variable = self.variable().try_clone()?;\n"
     "        }\n"),
    # In C, for the one that looks at C alone.
    ("undefined", "a sum of ints may be too large for one", "c_tests/memory_array.h",
     "    uint8_t one = (uint8_t)number;\n",
     "    const char *planted = getenv(\"NCZCHUNK_PLANTED\");\n"
     "    int more = planted != NULL && strcmp(planted, \"undefined\") == 0 ? 0x7fffffff : 0;\n"
     "    int sum = (int)number + more;\n"
     "    uint8_t one = (uint8_t)sum;\n"),
]

GROUPS = {"fuzz": FUZZ, "models": MODELS, "checkers": CHECKERS}


def planted(root):
    """The files with all bugs in them."""
    texts = {}
    for name, _, path, old, new in FUZZ + MODELS + CHECKERS:
        text = texts.get(path) or (root / path).read_text()
        if text.count(old) != 1:
            sys.exit(f"{path}: {text.count(old)} times instead of once, for {name}: {old.strip()}")
        texts[path] = text.replace(old, new)
    return texts


def plant(directory):
    root = Path(directory)
    for path, text in planted(root).items():
        (root / path).write_text(text)
    for path in ROOTS:
        with open(root / path, "a") as file:
            file.write(SWITCH)


def main(arguments):
    match arguments:
        case ["--list", group] if group in GROUPS:
            print("\n".join(f"{name}: {what}" for name, what, *_ in GROUPS[group]))
        case ["--check"]:
            planted(Path(__file__).parent.parent)
        case [directory] if not directory.startswith("-"):
            plant(directory)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
