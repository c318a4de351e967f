//! All codecs: against chunks that numcodecs encoded (`tests/vectors/codecs.py`), in part, truncated, spoilt, and back.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::Codec;
use super::testing::{decoded, encoded};
use crate::buffer::Buffer;
use crate::error::Result;

#[test]
fn codecs_are_known_by_name() {
    use super::{has, is_known};
    assert_eq!((has("zstd"), is_known("zstd")), (cfg!(feature = "zstd"), true));
    for name in ["snappy", ""] {
        assert!(!has(name) && !is_known(name));
    }
}

/// Decodes in steps what is in these ranges of a chunk of this size; `None` if the codec cannot do that.
#[allow(dead_code, reason = "tests of codecs use it, and all of these can be left out")]
pub(super) fn in_steps(
    codec: &dyn Codec,
    stored: &[u8],
    ranges: &[Range<usize>],
    (size, is_to_end): (usize, bool),
) -> Result<Option<Vec<u8>>> {
    let mut memory = vec![MaybeUninit::new(0xA5); ranges.iter().map(Range::len).sum()];
    let mut kept = Buffer::new(&mut memory);
    let mut steps = super::steps::Steps::new(ranges, size, is_to_end, &mut kept);
    let can = codec.decode_in_steps(stored, &mut steps)?;
    if can {
        steps.check()?;
    }
    Ok(can.then(|| kept.filled().to_vec()))
}

/// Whatever the library was built with.
#[test]
fn what_is_encoded_comes_back() {
    let codecs: &[&dyn Codec] = &[
        #[cfg(all(feature = "blosc", feature = "lz4"))]
        &super::public::Blosc::new("lz4", 5, super::public::BloscShuffle::Byte, 4, 0),
        #[cfg(feature = "crc32c")]
        &super::public::Crc32c,
        #[cfg(feature = "fletcher32")]
        &super::public::Fletcher32,
        #[cfg(feature = "gzip")]
        &super::public::Gzip::default(),
        #[cfg(feature = "lz4")]
        &super::public::Lz4,
        #[cfg(feature = "shuffle")]
        &super::public::Shuffle::new(4),
        #[cfg(feature = "zlib")]
        &super::public::Zlib::default(),
        #[cfg(all(feature = "zstd", not(miri)))]
        &super::public::Zstd::default(),
    ];
    let chunk: Vec<u8> = (0..1000u32).flat_map(|i| (i * i / 50).to_le_bytes()).collect();
    for codec in codecs {
        let stored = encoded(*codec, &chunk);
        for needed in [0..chunk.len(), 0..1000, 2000..3000] {
            let found = decoded(*codec, &stored, needed.clone(), chunk.len()).unwrap();
            assert!(found[needed.clone()] == chunk[needed.clone()], "{} {needed:?}", codec.name());
        }
    }
}

#[cfg(all(feature = "default", not(miri)))]
mod vectors {
    use super::{decoded, encoded, in_steps};
    use crate::codec::public::*;
    use crate::error::ErrorKind;

    /// A chunk as numcodecs encoded it.
    struct Vector {
        about: String,
        codec: Box<dyn Codec>,
        chunk: Vec<u8>,
        stored: Vec<u8>,
    }

    /// The chunk of this length, as `codecs.py` makes it.
    fn chunk(len: usize) -> Vec<u8> {
        let byte = |i: usize| match i {
            _ if i % 20_000 < 40 => (i as u32).wrapping_mul(2_654_435_761) >> 24,
            _ if i % 8 < 6 => (i / 16_384 + i % 8 / 2 * 16) as u32,
            _ => (i / 32 % 2) as u32,
        };
        (0..len).map(|i| byte(i) as u8).collect()
    }

    /// The codec of this name, with the parameters of `codecs.py`.
    fn codec(name: &str, parameters: &[&str]) -> Box<dyn Codec> {
        let number = |i: usize| parameters[i].parse().unwrap();
        match name {
            "blosc" => {
                let shuffle = match parameters[1] {
                    "none" => BloscShuffle::None,
                    "byte" => BloscShuffle::Byte,
                    "bit" => BloscShuffle::Bit,
                    _ => BloscShuffle::Auto,
                };
                Box::new(Blosc::new(parameters[0], 5, shuffle, number(2), number(3)))
            }
            "crc32c" => Box::new(Crc32c),
            "fletcher32" => Box::new(Fletcher32),
            "gzip" => Box::new(Gzip::default()),
            "lz4" => Box::new(Lz4),
            "shuffle" => Box::new(Shuffle::new(number(0))),
            "zlib" => Box::new(Zlib::default()),
            _ => Box::new(Zstd::default()),
        }
    }

    fn vectors() -> Vec<Vector> {
        let mut file = &include_bytes!("../../../tests/vectors/codecs.bin")[..];
        let mut vectors = Vec::new();
        while let Some(end) = file.iter().position(|byte| *byte == b'\n') {
            let about = String::from_utf8(file[..end].to_vec()).unwrap();
            let words: Vec<&str> = about.split(' ').collect();
            let [name, parameters @ .., len, stored] = &words[..] else { panic!("{about}") };
            let (codec, chunk) = (codec(name, parameters), chunk(len.parse().unwrap()));
            let (stored, rest) = file[end + 1..].split_at(stored.parse().unwrap());
            vectors.push(Vector { codec, chunk, stored: stored.to_vec(), about });
            file = rest;
        }
        assert!(vectors.len() > 150 && file.is_empty());
        vectors
    }

    /// Ranges of so many bytes: all if there are few, else some.
    fn ranges(len: usize) -> impl Iterator<Item = (usize, usize)> {
        let step = if len > 5000 {
            3989
        } else if len > 100 {
            37
        } else {
            1
        };
        let places = move || (0..len).step_by(step).chain([len]);
        places().flat_map(move |begin| places().filter(move |end| *end >= begin).map(move |end| (begin, end)))
    }

    #[test]
    fn what_numcodecs_encodes_is_decoded_whole_and_in_part() {
        for Vector { about, codec, chunk, stored } in vectors() {
            let all = decoded(&*codec, &stored, 0..chunk.len(), chunk.len()).unwrap_or_else(|e| panic!("{about}: {e}"));
            assert!(all == chunk && about.split(' ').next() == Some(codec.name()), "{about}");
            for (begin, end) in ranges(chunk.len()) {
                let is_all = end - begin == chunk.len();
                let there = if is_all { 0..usize::MAX } else { codec.needed_encoded(begin..end, chunk.len()) };
                let (first, last) = (there.start.min(stored.len()), there.end.min(stored.len()));
                let mut part = stored[..last].to_vec();
                part[..first].fill(0x5A);
                let part = decoded(&*codec, &part, begin..end, chunk.len())
                    .unwrap_or_else(|e| panic!("{about}: {begin}..{end}: {e}"));
                assert!(begin == end || part[begin..end] == chunk[begin..end], "{about}: {begin}..{end}");
            }
        }
    }

    /// Codecs that decode in steps, which are all but lz4 and shuffle.
    #[test]
    fn what_numcodecs_encodes_is_decoded_in_steps() {
        for Vector { about, codec, chunk, stored } in vectors() {
            if ["lz4", "shuffle"].contains(&codec.name()) {
                assert_eq!(in_steps(&*codec, &stored, &[], (chunk.len(), false)), Ok(None));
                continue;
            }
            let some = ranges(chunk.len()).filter(|(begin, end)| begin < end);
            for (begin, end) in some.step_by(if chunk.len() > 100 { 7 } else { 1 }) {
                let third = (end - begin).div_ceil(3);
                let parts = [begin..begin + third, (end - third).max(begin + third)..end];
                let parts = if parts[1].is_empty() { &parts[..1] } else { &parts[..] };
                let due: Vec<u8> = parts.iter().flat_map(|part| chunk[part.clone()].iter().copied()).collect();
                for is_to_end in [false, true] {
                    let found = in_steps(&*codec, &stored, parts, (chunk.len(), is_to_end));
                    assert!(found.is_ok_and(|found| found.unwrap() == due), "{about}: {parts:?} {is_to_end}");
                }
            }
        }
    }

    #[test]
    fn what_is_decoded_in_steps_is_checked() {
        for Vector { about, codec, chunk, mut stored } in vectors() {
            if ["lz4", "shuffle"].contains(&codec.name()) || chunk.len() < 2 {
                continue;
            }
            let (size, is_summed) = (chunk.len(), !["blosc", "zstd"].contains(&codec.name()));
            let all = [0..size, size / 3..size / 3 + 1];
            let whole = |stored: &[u8]| in_steps(&*codec, stored, &all[..1], (size, true)).map(Option::unwrap);
            let part = |stored: &[u8], is_to_end| in_steps(&*codec, stored, &all[1..], (size, is_to_end));
            let less = size - 1;
            let kind = in_steps(&*codec, &stored, std::slice::from_ref(&(0..less)), (less, true))
                .map(drop)
                .map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::DecodedLength { found: None, expected: less }), "{about}");
            let step = if stored.len() > 1500 { 31 } else { 1 };
            for len in (0..stored.len()).step_by(step) {
                assert!(whole(&stored[..len]).is_err(), "{about}: {len} of {}", stored.len());
                assert!(!is_summed || part(&stored[..len], true).is_err(), "{about}: {len} of {}", stored.len());
                let _ = part(&stored[..len], false);
            }
            if stored.len() > 300 {
                continue;
            }
            for at in 0..stored.len() {
                for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                    stored[at] ^= change;
                    if let Ok(found) = whole(&stored) {
                        assert!(!is_summed || found == chunk, "{about}: {at} {change}");
                    }
                    let _ = part(&stored, false);
                    stored[at] ^= change;
                }
            }
        }
    }

    #[test]
    fn what_has_no_room_is_not_encoded() {
        use super::{Buffer, MaybeUninit};
        let chunk = chunk(4096);
        for name in ["blosc", "crc32c", "fletcher32", "gzip", "lz4", "shuffle", "zlib", "zstd"] {
            let parameters: &[&str] = if name == "shuffle" { &["4"] } else { &["zstd", "byte", "4", "0"] };
            let codec = codec(name, parameters);
            assert!(codec.can_encode() && codec.is_concurrent());
            for room in [0, 3, 20] {
                let mut memory = vec![MaybeUninit::uninit(); room];
                let error = codec.encode(&chunk, &mut Buffer::new(&mut memory)).unwrap_err();
                assert_eq!(error.status(), crate::status::EFILTER, "{name}: {error}");
                assert!(error.to_string().contains(name), "{name}: {error}");
            }
        }
        // A codec that only decodes says so.
        let mut memory = vec![MaybeUninit::uninit(); 2 * chunk.len()];
        let snappy = Blosc::new("snappy", 5, BloscShuffle::None, 1, 0);
        let error = snappy.encode(&chunk, &mut Buffer::new(&mut memory)).unwrap_err();
        assert_eq!((snappy.can_encode(), error.status()), (false, crate::status::EFILTER), "{error}");
        assert_eq!(
            encoded(&Blosc::default(), &chunk),
            encoded(&*self::codec("blosc", &["lz4", "byte", "8", "0"]), &chunk)
        );
    }

    #[test]
    fn too_little_room_is_noticed() {
        for Vector { about, codec, chunk, stored } in vectors() {
            if chunk.len() > 1 {
                let least = chunk.len() - 1;
                let kind = decoded(&*codec, &stored, 0..least, least).map(drop).map_err(|error| error.kind());
                assert_eq!(kind, Err(ErrorKind::DecodedLength { found: None, expected: least }), "{about}");
            }
        }
    }

    #[test]
    fn truncated_chunks_are_never_taken_for_whole_ones() {
        for Vector { about, codec, chunk, stored } in vectors() {
            let step = if stored.len() > 1500 { 31 } else { 1 };
            for len in (0..stored.len()).step_by(step) {
                let result = decoded(&*codec, &stored[..len], 0..chunk.len(), chunk.len());
                let found = result.map_or(0, |found| found.len());
                assert!(found < chunk.len() || chunk.is_empty(), "{about}: {len} of {}", stored.len());
                let _ = decoded(&*codec, &stored[..len], 0..chunk.len() / 2, chunk.len());
            }
        }
    }

    #[test]
    fn spoilt_chunks_are_errors_or_bytes() {
        for Vector { about, codec, chunk, mut stored } in vectors() {
            if stored.len() > 300 {
                continue;
            }
            let is_summed = ["crc32c", "fletcher32", "gzip", "zlib"].contains(&codec.name());
            for at in 0..stored.len() {
                for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                    stored[at] ^= change;
                    // In the headers of these four a change may leave the bytes as they are, but not alter them.
                    if let Ok(all) = decoded(&*codec, &stored, 0..chunk.len(), chunk.len()) {
                        let is_whole = all.len() == chunk.len();
                        assert!(!is_summed || !is_whole || all == chunk, "{about}: {at} {change}");
                    }
                    let _ = decoded(&*codec, &stored, chunk.len() / 3..chunk.len() / 2, chunk.len());
                    stored[at] ^= change;
                }
            }
        }
    }

    /// Element sizes for blosc; fewer for long chunks, for the tests' codecs are built without optimisation.
    fn sizes_of_elements(len: usize) -> &'static [usize] {
        match len {
            0..=1000 => &[1, 2, 3, 4, 8, 16, 17, 255, 300],
            1001..=100_000 => &[1, 4, 17],
            _ => &[4],
        }
    }

    /// Chunks to encode, with the codecs to encode them with.
    fn to_encode() -> Vec<(String, Box<dyn Codec>, Vec<u8>)> {
        let mut cases = Vec::new();
        let mut add = |name: &str, parameters: &str, len: usize| {
            let codec = codec(name, &parameters.split_whitespace().collect::<Vec<_>>());
            cases.push(([name, parameters, &len.to_string()].join(" ").replace("  ", " "), codec, chunk(len)));
        };
        for len in [0, 1, 2, 100, 127, 128, 129, 1000, 70_001, 600_000] {
            for name in ["crc32c", "fletcher32", "gzip", "lz4", "zlib", "zstd"] {
                // numcodecs decodes none of these that hold nothing.
                if len > 0 || !["fletcher32", "lz4", "zstd"].contains(&name) {
                    add(name, "", len);
                }
            }
            for inner in ["lz4", "lz4hc", "zlib", "zstd"].into_iter().filter(|_| len > 0) {
                for shuffle in ["none", "byte", "bit", "auto"] {
                    for size in sizes_of_elements(len) {
                        for block in [0, 1, 20_000] {
                            add("blosc", &format!("{inner} {shuffle} {size} {block}"), len);
                        }
                    }
                }
            }
            for size in [0, 1, 2, 3, 4, 8, 16, 20] {
                // numcodecs shuffles whole elements only.
                if len % size.max(1) == 0 {
                    add("shuffle", &size.to_string(), len);
                }
            }
        }
        cases
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for (about, codec, chunk) in to_encode() {
            let stored = encoded(&*codec, &chunk);
            assert!(stored.len() <= codec.encoded_bound(chunk.len()), "{about}");
            let all = decoded(&*codec, &stored, 0..chunk.len(), chunk.len());
            assert!(all.unwrap_or_else(|error| panic!("{about}: {error}")) == chunk, "{about}");
            let part = chunk.len() / 3..chunk.len() / 2;
            let found = decoded(&*codec, &stored, part.clone(), chunk.len()).unwrap();
            assert!(part.is_empty() || found[part.clone()] == chunk[part], "{about}");
        }
    }

    #[test]
    fn noise_stays_within_the_bound() {
        let mut random = fastrand::Rng::with_seed(7);
        for (about, codec, chunk) in to_encode() {
            let noise: Vec<u8> = (0..chunk.len()).map(|_| random.u8(..)).collect();
            let stored = encoded(&*codec, &noise);
            assert!(decoded(&*codec, &stored, 0..noise.len(), noise.len()).unwrap() == noise, "{about}");
        }
    }

    /// Writes what `codecs.py check` gives numcodecs to decode, to the file that `CODECS_WRITTEN` names.
    #[test]
    #[ignore = "writes a file"]
    fn written() {
        let mut file = Vec::new();
        for (about, codec, chunk) in to_encode() {
            let stored = encoded(&*codec, &chunk);
            file.extend(format!("{about} {}\n", stored.len()).bytes());
            file.extend(stored);
        }
        std::fs::write(std::env::var_os("CODECS_WRITTEN").expect("CODECS_WRITTEN"), file).unwrap();
    }
}

/// Without room for all that a chunk is encoded to there is an error, and nothing is written beyond the buffer.
#[cfg(all(feature = "gzip", feature = "shuffle"))]
#[test]
fn nothing_is_encoded_without_room() {
    let chunk: Vec<u8> = (0..101).collect();
    for codec in [&crate::Gzip::new(6) as &dyn Codec, &crate::Shuffle::new(4)] {
        let due = encoded(codec, &chunk);
        for size in 0..due.len() {
            let mut memory = vec![MaybeUninit::new(0xA5); size];
            let error = codec.encode(&chunk, &mut Buffer::new(&mut memory)).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::Encode { .. }), "{} {size} {error}", codec.name());
        }
    }
}
