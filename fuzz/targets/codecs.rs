//! Every codec, on bytes that its encoder made and on bytes that nobody should make.
//!
//! The input begins with a byte for the codec and two for the length of a chunk. Then come, by the fourth byte, the
//! chunk as it is stored, or a chunk that is to be stored. A part of a chunk that decodes has to be the same as that
//! part of the whole.

#![no_main]

use std::sync::Mutex;

use libfuzzer_sys::fuzz_target;
use nczchunk::{
    Blosc, BloscShuffle, Buffer, ChunkReader, ChunkStore, Crc32c, Filled, Fletcher32, Gzip, Hyperslab, Lz4, Request,
    Result, Shuffle, Variable, Zlib, Zstd,
};
use nczchunk_fuzz::Input;

/// Gives a store a codec, by its number, the size of elements, and how many bytes a chunk has.
fn add_codec(store: &mut ChunkStore<'_>, number: u8, type_size: usize, len: u32) -> Result<()> {
    const CNAMES: [&str; 5] = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"];
    const SHUFFLES: [BloscShuffle; 3] = [BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit];
    let size = type_size as u32;
    match number % 28 {
        0 => store.add_codec(Crc32c),
        1 => store.add_codec(Fletcher32),
        2 => store.add_codec(Gzip::default()),
        3 => store.add_codec(Lz4),
        4 => store.add_codec(Shuffle::new(type_size)),
        5 => store.add_codec(Zlib::default()),
        6 => store.add_codec(Zstd::default()),
        22 => store.add_filter(5, &[8, 0, len, 1, 1, 0, 5, 2]),
        23 => store.add_filter(6, &[2, 0, len, 0, 1, 0, 0, 1, 7]),
        24 => store.add_filter(32000, &[]),
        25 => store.add_filter(32004, &[]),
        26 => store.add_filter(32008, &[0, 2, size, 0, 2]),
        27 => store.add_filter(32008, &[0, 2, size, 0, 3]),
        blosc => {
            let (cname, shuffle) = (CNAMES[usize::from(blosc - 7) % 5], SHUFFLES[usize::from(blosc - 7) / 5]);
            store.add_codec(Blosc::new(cname, 5, shuffle, type_size, 0))
        }
    }
}

/// One chunk, as it is stored.
struct OneChunk(Mutex<Vec<u8>>);

impl ChunkReader for OneChunk {
    fn fill(&self, _: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let stored = self.0.lock().unwrap();
        buffer.write(&stored[..stored.len().min(buffer.capacity())]);
        Ok(Filled::Stored(stored.len()))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, _: &Request<'_>, bytes: &[u8]) -> Result<()> {
        *self.0.lock().unwrap() = bytes.to_vec();
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (number, len) = (input.byte(), 1 + (input.between(0, 255) | input.between(0, 15) << 8));
    let how = input.byte();
    let (is_chunk, type_size) = (how & 1 == 1, [1, 2, 3, 4, 8, 16, 20, 255][usize::from(how >> 1) % 8]);
    let bytes = input.rest();

    // Blosc codes the elements' size in its header; the shuffle takes whole elements.
    let variable = Variable::new(&[len], &[len], 1).unwrap();
    let mut store = ChunkStore::new(OneChunk(Mutex::new(bytes.to_vec()))).unwrap();
    add_codec(&mut store, number, type_size, len as u32).unwrap();
    // blosclz and some of HDF5's filters are decoded only.
    if is_chunk && store.is_writable() {
        let chunk: Vec<u8> = bytes.iter().copied().cycle().take(len).chain(vec![0; len]).take(len).collect();
        nczchunk::write(&variable, &store, &Hyperslab::all(), &chunk).unwrap();
        assert_eq!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::all()).unwrap(), chunk);
    }
    store.set_verify(true);
    let whole = nczchunk::read::<u8>(&variable, &store, &Hyperslab::all());
    store.set_verify(false);
    for (begin, count) in [(0, 1), (len / 3, len.div_ceil(3)), (len - 1, 1)] {
        let part = nczchunk::read::<u8>(&variable, &store, &Hyperslab::new(&[begin], &[count]));
        if let Ok(whole) = &whole {
            assert_eq!(part.unwrap(), whole[begin..][..count]);
        }
    }
});
