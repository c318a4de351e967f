//! Codecs that compute with elements, against what numcodecs makes of them (`tests/vectors/arithmetic.py`).

use std::ops::Range;

use super::codecs::{CodecSpec, read_v2};
use super::dtype;
use super::make::make;
use crate::codec::testing::{decoded, encoded};
use crate::codec::{Codec, CodecRegistry};
use crate::element::Elements;
use crate::json::{self, At};

struct Vector {
    about: String,
    codec: Box<dyn Codec>,
    elements: Vec<u8>,
    encoded: Vec<u8>,
    decoded: Vec<u8>,
}

fn vectors() -> Vec<Vector> {
    let mut file = &include_bytes!("../../../tests/vectors/arithmetic.bin")[..];
    let mut vectors = Vec::new();
    while let Some(end) = file.iter().position(|byte| *byte == b'\n') {
        let (line, mut rest) = (json::read(&file[..end]).unwrap(), &file[end + 1..]);
        let at = At::root(&line);
        let (element, endian) = dtype::parse(at.require("dtype").unwrap().text().unwrap()).unwrap();
        let spec =
            read_v2(at.require("codec").unwrap(), Elements { element, endian }, &CodecRegistry::default()).unwrap();
        assert!(matches!(spec, CodecSpec::Known(_)));
        let mut parts = at.require("lengths").unwrap().usizes().unwrap().into_iter().map(|len| {
            let (part, after) = rest.split_at(len);
            rest = after;
            part.to_vec()
        });
        let (elements, encoded, decoded) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        drop(parts);
        let about = String::from_utf8(file[..end].to_vec()).unwrap();
        let codec = make(&spec, element, &CodecRegistry::default()).unwrap();
        vectors.push(Vector { about, codec, elements, encoded, decoded });
        file = rest;
    }
    assert!(vectors.len() > 80);
    vectors
}

#[test]
fn elements_are_encoded_as_numcodecs_does() {
    for Vector { about, codec, elements, encoded: due, decoded: back } in vectors() {
        let found = encoded(&*codec, &elements);
        assert!(found.len() <= codec.encoded_bound(elements.len()), "{about}");
        // bzip2's encoders differ in what they make.
        if codec.name() != "bz2" {
            assert_eq!(found, due, "{about}");
        }
        assert_eq!(decoded(&*codec, &found, 0..back.len(), back.len()).unwrap(), back, "{about}");
    }
}

#[test]
fn what_numcodecs_encodes_is_decoded_whole_and_in_part() {
    for Vector { about, codec, encoded: stored, decoded: due, .. } in vectors() {
        let all = decoded(&*codec, &stored, 0..due.len(), due.len()).unwrap_or_else(|error| panic!("{about}: {error}"));
        assert_eq!(all, due, "{about}");
        for begin in (0..=due.len()).step_by(3) {
            for end in (begin..=due.len()).step_by(5) {
                let part = |stored: &[u8], needed: Range<usize>| {
                    let is_all = needed == (0..due.len());
                    let there = if is_all { 0..usize::MAX } else { codec.needed_encoded(needed.clone(), due.len()) };
                    let (first, last) = (there.start.min(stored.len()), there.end.min(stored.len()));
                    let mut part = stored[..last].to_vec();
                    part[..first].fill(0x5A);
                    decoded(&*codec, &part, needed, due.len())
                };
                let found = part(&stored, begin..end).unwrap_or_else(|e| panic!("{about}: {begin}..{end}: {e}"));
                assert!(begin == end || found[begin..end] == due[begin..end], "{about}: {begin}..{end}");
            }
        }
    }
}

#[test]
fn what_is_cut_off_or_too_long_is_noticed() {
    for Vector { about, codec, encoded: stored, decoded: due, .. } in vectors() {
        for len in 0..stored.len() {
            let found = decoded(&*codec, &stored[..len], 0..due.len(), due.len()).map_or(0, |found| found.len());
            assert!(found < due.len(), "{about}: {len}");
        }
        let more = [&stored[..], &[0; 16]].concat();
        let least = due.len() / 2;
        assert!(codec.name() == "bz2" || decoded(&*codec, &more, 0..due.len(), due.len()).is_err(), "{about}");
        assert!(decoded(&*codec, &stored, 0..least, least).is_err(), "{about}");
    }
}
