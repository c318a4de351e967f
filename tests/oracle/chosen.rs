//! Points and lists of indices, against the oracle: the array in memory, of which every element is looked up by itself.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use nczchunk_c::{objects::*, points::*, store::*, var::*};

use super::subject::{Context, FOREIGN};

/// An array of bytes, element after element, and the chunks that it is cut into.
struct Cut {
    dimlens: Vec<usize>,
    chunklens: Vec<usize>,
    origins: Vec<isize>,
    /// Of the first dimension, if its chunks have a list of lengths: these, and what each decodes to.
    lens: Vec<(usize, usize)>,
    /// The axes of a chunk, slowest first.
    order: Vec<usize>,
    size: usize,
    word: usize,
    is_foreign: bool,
    is_lending: bool,
    gap: usize,
    chunks: Mutex<BTreeMap<Vec<isize>, Vec<u8>>>,
    log: Mutex<Vec<(bool, Vec<isize>)>>,
}

impl Cut {
    fn random(rng: &mut fastrand::Rng) -> Self {
        let rank = rng.usize(0..=4);
        let longest = [0, 60, 12, 7, 5][rank];
        let dimlens: Vec<usize> = (0..rank).map(|_| rng.usize(1..=longest)).collect();
        let chunklens: Vec<usize> = dimlens.iter().map(|&len| rng.usize(1..=len + 1)).collect();
        let size = [1, 2, 3, 4, 8, 12, 16][rng.usize(0..7)];
        let word = if size % 3 == 0 { 1 } else { size.min(8) };
        let mut lens = Vec::new();
        if rank > 0 && rng.u8(..) < 64 {
            while lens.iter().map(|(len, _)| len).sum::<usize>() < dimlens[0] {
                let len = rng.usize(1..=4);
                lens.push((len, len + rng.usize(0..=1)));
            }
        }
        let has_origins = lens.is_empty() && rng.u8(..) < 64;
        let origins = dimlens.iter().map(|_| if has_origins { rng.isize(-9..=9) } else { 0 }).collect();
        let mut order: Vec<usize> = (0..rank).collect();
        if rng.bool() {
            rng.shuffle(&mut order);
        }
        Cut {
            dimlens,
            chunklens,
            origins,
            lens,
            order,
            size,
            word,
            is_foreign: word > 1 && rng.bool(),
            is_lending: rng.bool(),
            gap: [0, 1, 9, 1000][rng.usize(0..4)],
            chunks: Mutex::default(),
            log: Mutex::default(),
        }
    }

    /// The chunk that an index lies in along a dimension, the place in it, and how many elements the chunk decodes to.
    fn locate(&self, d: usize, index: usize) -> (isize, usize, usize) {
        if d > 0 || self.lens.is_empty() {
            let (chunklen, index) = (self.chunklens[d] as isize, index as isize + self.origins[d]);
            return (index.div_euclid(chunklen), index.rem_euclid(chunklen) as usize, chunklen as usize);
        }
        let (mut chunk, mut begin) = (0, 0);
        while index >= begin + self.lens[chunk].0 {
            begin += self.lens[chunk].0;
            chunk += 1;
        }
        (chunk as isize, index - begin, self.lens[chunk].1)
    }

    /// The chunk of an element, where the element begins there, and how many bytes the chunk has.
    fn place(&self, element: &[usize]) -> (Vec<isize>, usize, usize) {
        let found: Vec<_> = element.iter().enumerate().map(|(d, &index)| self.locate(d, index)).collect();
        let (mut place, mut len) = (0, 1);
        for &d in &self.order {
            place = place * found[d].2 + found[d].1;
            len *= found[d].2;
        }
        (found.iter().map(|&(chunk, _, _)| chunk).collect(), place * self.size, len * self.size)
    }

    fn fill(&self) -> Vec<u8> {
        (0..self.size as u8).map(|byte| 0xF0 ^ byte).collect()
    }

    /// An element from memory to a chunk, or back.
    fn stored(&self, element: &[u8]) -> Vec<u8> {
        let words = element.chunks(self.word);
        words
            .flat_map(|word| if self.is_foreign { word.iter().rev().copied().collect() } else { word.to_vec() })
            .collect()
    }

    fn read(&self, element: &[usize]) -> Vec<u8> {
        let (chunk, place, _) = self.place(element);
        match self.chunks.lock().unwrap().get(&chunk) {
            Some(chunk) => self.stored(&chunk[place..place + self.size]),
            None => self.fill(),
        }
    }

    fn write(&self, element: &[usize], value: &[u8]) {
        let (chunk, place, len) = self.place(element);
        let mut chunks = self.chunks.lock().unwrap();
        let blank = || self.stored(&self.fill()).repeat(len / self.size);
        chunks.entry(chunk).or_insert_with(blank)[place..place + self.size].copy_from_slice(&self.stored(value));
    }

    fn elements(&self) -> Vec<Vec<usize>> {
        product(&self.dimlens.iter().map(|&len| (0..len).collect()).collect::<Vec<_>>())
    }

    /// Notes what a callback was asked for.
    ///
    /// # Safety
    /// `user` is one of these, and there are as many indices as dimensions.
    unsafe fn asked<'c>(user: *mut c_void, rank: usize, indices: *const isize, writes: bool) -> (&'c Cut, Vec<isize>) {
        // SAFETY: the caller's promise.
        let (cut, chunk) = unsafe { (&*user.cast::<Cut>(), std::slice::from_raw_parts(indices, rank).to_vec()) };
        cut.log.lock().unwrap().push((writes, chunk.clone()));
        (cut, chunk)
    }
}

/// All combinations of one of each.
fn product(of: &[Vec<usize>]) -> Vec<Vec<usize>> {
    of.iter().fold(vec![vec![]], |all, next| {
        all.iter().flat_map(|one| next.iter().map(move |&index| one.iter().copied().chain([index]).collect())).collect()
    })
}

/// What is read or written: its elements in order, and the arguments of the call.
enum Request {
    Points(Vec<usize>, usize),
    Lists { start: Vec<usize>, count: Vec<usize>, stride: Vec<isize>, lists: Vec<Option<Vec<usize>>> },
}

fn random_request(rng: &mut fastrand::Rng, cut: &Cut) -> (Request, Vec<Vec<usize>>) {
    if rng.bool() {
        let all = cut.elements();
        let num = rng.usize(0..=2 * all.len().min(100));
        // Of few elements, so that some are named several times; or a permutation of all, which covers chunks.
        let mut points: Vec<Vec<usize>> = (0..num).map(|_| all[rng.usize(0..all.len())].clone()).collect();
        if rng.u8(..) < 64 {
            points = all;
            rng.shuffle(&mut points);
        }
        return (Request::Points(points.concat(), points.len()), points);
    }
    let (mut start, mut count, mut stride, mut lists, mut of) = (vec![], vec![], vec![], vec![], vec![]);
    for &len in &cut.dimlens {
        let slice = (rng.usize(0..len), rng.usize(1..=3));
        let num = rng.usize(0..=(len - 1 - slice.0) / slice.1 + 1);
        let indices = || (0..num).map(|k| slice.0 + k * slice.1).collect();
        let list = match rng.u8(0..4) {
            0 => None,
            1 => Some(Vec::from_iter((0..len).rev())),
            _ => Some((0..rng.usize(0..=len + 2)).map(|_| rng.usize(0..len)).collect()),
        };
        start.push(slice.0);
        stride.push(slice.1 as isize);
        of.push(list.clone().unwrap_or_else(indices));
        count.push(of[of.len() - 1].len());
        lists.push(list);
    }
    (Request::Lists { start, count, stride, lists }, product(&of))
}

impl Request {
    /// # Safety
    /// The memory has room for what is selected.
    unsafe fn run(
        &self,
        (var, store): (*mut nczchunk_var, *mut nczchunk_chunk_store),
        data: *mut c_void,
        writes: bool,
        context: *mut nczchunk_context,
    ) -> c_int {
        // SAFETY: there are as many entries as needed, and the caller's promise.
        unsafe {
            match self {
                Request::Points(points, num) if writes => {
                    nczchunk_write_points(var, store, *num, points.as_ptr(), data, context)
                }
                Request::Points(points, num) => nczchunk_read_points(var, store, *num, points.as_ptr(), data, context),
                Request::Lists { start, count, stride, lists } => {
                    let list = |list: &Option<Vec<usize>>| list.as_ref().map_or(ptr::null(), |list| list.as_ptr());
                    let lists: Vec<_> = lists.iter().map(list).collect();
                    let (start, count, stride, lists) =
                        (start.as_ptr(), count.as_ptr(), stride.as_ptr(), lists.as_ptr());
                    match writes {
                        true => nczchunk_write_lists(var, store, start, count, stride, lists, data, context),
                        false => nczchunk_read_lists(var, store, start, count, stride, lists, data, context),
                    }
                }
            }
        }
    }

    /// The same with one index beyond its dimension, if it has an index.
    fn beyond(&self, rng: &mut fastrand::Rng, dimlens: &[usize]) -> Option<Request> {
        match self {
            Request::Points(points, num) => {
                let (mut points, at) = (points.clone(), rng.usize(0..points.len().max(1)));
                let beyond = dimlens.get(at % dimlens.len().max(1))? + rng.usize(0..2);
                *points.get_mut(at)? = beyond;
                Some(Request::Points(points, *num))
            }
            Request::Lists { start, count, stride, lists } => {
                let mut lists = lists.clone();
                let d = lists.iter().position(|list| list.as_ref().is_some_and(|list| !list.is_empty()))?;
                *lists[d].as_mut()?.last_mut()? = dimlens[d];
                let (start, count, stride) = (start.clone(), count.clone(), stride.clone());
                Some(Request::Lists { start, count, stride, lists })
            }
        }
    }
}

/// Reads and writes what one random request selects of a random array.
pub fn check(rng: &mut fastrand::Rng, threads: usize) {
    let cut = Cut::random(rng);
    let elements = cut.elements();
    for element in &elements {
        let (chunk, ..) = cut.place(element);
        if chunk.iter().sum::<isize>() % 4 != 1 {
            let value: Vec<u8> = (0..cut.size).map(|_| rng.u8(..)).collect();
            cut.write(element, &value);
        }
    }
    let (request, selected) = random_request(rng, &cut);
    let expected: Vec<u8> = selected.iter().flat_map(|element| cut.read(element)).collect();
    let mut touched: Vec<Vec<isize>> = selected.iter().map(|element| cut.place(element).0).collect();
    touched.sort();
    touched.dedup();
    let (rank, none) = (cut.dimlens.len(), ptr::null_mut());
    let (mut var, mut store) = (ptr::null_mut(), ptr::null_mut());
    let user = ptr::from_ref(&cut).cast_mut().cast();
    let context = Context::new(threads);
    // SAFETY: all lists have the entries that they need, memory has room for what is selected, and the callbacks do
    // what is documented.
    unsafe {
        let (dimlens, chunklens) = (cut.dimlens.as_ptr(), cut.chunklens.as_ptr());
        assert_eq!(nczchunk_var_new(rank, dimlens, chunklens, cut.size, &raw mut var, none), 0);
        assert_eq!(nczchunk_var_set_fill_value(var, cut.fill().as_ptr().cast(), none), 0);
        if cut.is_foreign {
            assert_eq!(nczchunk_var_set_endian(var, FOREIGN, none), 0);
        }
        for (d, &origin) in cut.origins.iter().enumerate() {
            assert_eq!(nczchunk_var_set_origin(var, d, origin, none), 0);
        }
        if !cut.lens.is_empty() {
            let (lens, encoded): (Vec<usize>, Vec<usize>) = cut.lens.iter().copied().unzip();
            let status = nczchunk_var_set_chunk_lengths(var, 0, lens.len(), lens.as_ptr(), encoded.as_ptr(), none);
            assert_eq!(status, 0);
        }
        assert_eq!(nczchunk_var_set_chunk_order(var, cut.order.as_ptr(), none), 0);
        let made = if cut.is_lending {
            let callbacks = nczchunk_zero_copy_callbacks {
                struct_size: size_of::<nczchunk_zero_copy_callbacks>(),
                user,
                lend: Some(lend),
                lend_to_write: Some(lend_to_write),
                concurrent: (threads > 1).into(),
                ..std::mem::zeroed()
            };
            nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store, none)
        } else {
            let callbacks = nczchunk_reader_callbacks {
                struct_size: size_of::<nczchunk_reader_callbacks>(),
                user,
                fill: Some(fill),
                store: Some(keep),
                concurrent: (threads > 1).into(),
                ranges: (cut.gap > 0).into(),
                gap: cut.gap,
                ..std::mem::zeroed()
            };
            nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, none)
        };
        assert_eq!(made, 0);
        let log = || context.in_order(std::mem::take(&mut *cut.log.lock().unwrap()));
        log();

        let mut out = vec![0xEE; expected.len()];
        let status = request.run((var, store), out.as_mut_ptr().cast(), false, context.pointer);
        assert_eq!((status, out == expected), (0, true), "{:?} {:?} {selected:?}", cut.dimlens, cut.chunklens);
        let mut asked = log();
        if cut.gap > 0 {
            asked.dedup();
        }
        assert!(asked.into_iter().eq(touched.iter().map(|chunk| (false, chunk.clone()))));

        if let Some(beyond) = request.beyond(rng, &cut.dimlens) {
            for writes in [false, true] {
                let status = beyond.run((var, store), out.as_mut_ptr().cast(), writes, context.pointer);
                assert_eq!((status, out == expected, log()), (-40, true, vec![]), "{:?}", cut.dimlens);
            }
        }

        let mut data: Vec<u8> = (0..expected.len()).map(|_| rng.u8(..)).collect();
        let before = cut.chunks.lock().unwrap().clone();
        let mut is_selected: BTreeMap<&[usize], ()> = BTreeMap::new();
        for (element, value) in selected.iter().zip(data.chunks(cut.size)) {
            cut.write(element, value);
            is_selected.insert(element, ());
        }
        let after: Vec<Vec<u8>> = elements.iter().map(|element| cut.read(element)).collect();
        *cut.chunks.lock().unwrap() = before;
        let status = request.run((var, store), data.as_mut_ptr().cast(), true, context.pointer);
        assert_eq!(status, 0);
        let now: Vec<Vec<u8>> = elements.iter().map(|element| cut.read(element)).collect();
        assert!(now == after, "{:?} {:?} {selected:?}", cut.dimlens, cut.chunklens);
        // Each chunk is stored once, and fetched before unless each of its elements is selected.
        let noted = log();
        let stored = noted.iter().filter(|(writes, _)| *writes).map(|(_, chunk)| chunk);
        assert!(stored.eq(&touched));
        if !cut.is_lending {
            let is_left = |element: &&Vec<usize>| !is_selected.contains_key(element.as_slice());
            let mut left: Vec<_> = elements.iter().filter(is_left).map(|element| cut.place(element).0).collect();
            left.sort();
            let is_partly = |chunk: &&Vec<isize>| left.binary_search(chunk).is_ok();
            let fetched = noted.iter().filter(|(writes, _)| !writes).map(|(_, chunk)| chunk);
            assert!(fetched.eq(touched.iter().filter(is_partly)), "{:?} {selected:?}", cut.dimlens);
        }
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
    }
}

unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is what was stored.
    unsafe {
        let loan = &mut *loan;
        let (cut, chunk) = Cut::asked(user, loan.rank, loan.chunk_indices, false);
        let mut chunks = cut.chunks.lock().unwrap();
        let Some(bytes) = chunks.get_mut(&chunk) else { return -139 };
        (loan.data, loan.nbytes) = (bytes.as_mut_ptr().cast(), bytes.len());
    }
    0
}

unsafe extern "C" fn lend_to_write(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: as above.
    unsafe {
        let loan = &mut *loan;
        let (cut, chunk) = Cut::asked(user, loan.rank, loan.chunk_indices, true);
        let mut chunks = cut.chunks.lock().unwrap();
        let is_new = !chunks.contains_key(&chunk);
        let bytes = chunks.entry(chunk).or_insert_with(|| vec![0xDD; loan.chunk_bytes]);
        (loan.data, loan.nbytes) = (bytes.as_mut_ptr().cast(), bytes.len());
        if is_new { -139 } else { 0 }
    }
}

unsafe extern "C" fn fill(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer has room for `size` bytes.
    unsafe {
        let request = &mut *request;
        let (cut, chunk) = Cut::asked(user, request.rank, request.chunk_indices, false);
        let chunks = cut.chunks.lock().unwrap();
        let Some(bytes) = chunks.get(&chunk) else { return -139 };
        assert_eq!(bytes.len(), request.chunk_bytes);
        request.nbytes = bytes.len() - request.offset;
        let bytes = &bytes[request.offset..][..request.size];
        request.buffer.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    0
}

unsafe extern "C" fn keep(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer holds `size` bytes.
    unsafe {
        let request = &*request;
        let (cut, chunk) = Cut::asked(user, request.rank, request.chunk_indices, true);
        let bytes = std::slice::from_raw_parts(request.buffer.cast(), request.size).to_vec();
        cut.chunks.lock().unwrap().insert(chunk, bytes);
    }
    0
}
