//! What chunks cost by themselves: the pieces of the same chunks, in the same order, moved by the plain loops of the
//! ideal. There is no request to check, no chunk to ask for and nothing to find out: all of that is known before the
//! time is taken.
//!
//! Between this and the ideal lies what the cut into chunks costs on the machine at hand.

use super::ideal::Moves;
use super::transpose::transpose;
use super::workloads::{Kind, Workload};

/// What lies in one chunk along one dimension. All in bytes.
struct Part {
    chunk: usize,
    first: usize,
    memory: usize,
    count: usize,
}

/// The rows of all pieces, one after the other.
pub struct Bare {
    kind: Kind,
    moves: Moves,
    transposed: bool,
    /// Per dimension: the parts, and the steps from an element to the next in a chunk and in memory.
    dimensions: Vec<(Vec<Part>, usize, usize)>,
}

impl Bare {
    /// For chunks of these lengths; there may be one, all of the array.
    pub fn new(workload: &Workload, chunklens: &[usize]) -> Self {
        let array = workload.array;
        let size = array.kind.size();
        let (mut chunk_weight, mut weight) = (chunklens.iter().product::<usize>() * size, size);
        let imap = workload.imap();
        let mut dimensions = Vec::new();
        for d in (0..array.dimlens.len()).rev() {
            let (chunklen, stride) = (chunklens[d], workload.stride[d] as usize);
            let memory_weight = imap[d] as usize * size;
            let mut parts: Vec<Part> = Vec::new();
            let mut current = None;
            for k in 0..workload.count[d] {
                let at = workload.start[d] + k * stride;
                if current.replace(at / chunklen) == Some(at / chunklen) {
                    parts.last_mut().expect("it has begun").count += 1;
                } else {
                    let (chunk, first) = (at / chunklen * chunk_weight, at % chunklen * weight);
                    parts.push(Part { chunk, first, memory: k * memory_weight, count: 1 });
                }
            }
            dimensions.push((parts, stride * weight, memory_weight));
            chunk_weight *= array.dimlens[d] / chunklen;
            weight *= chunklen;
        }
        dimensions.reverse();
        Bare { kind: array.kind, moves: Moves::new(workload), transposed: workload.transposed, dimensions }
    }

    /// Moves every piece of the chunks, which lie one after the other, to `out`.
    pub fn read(&self, chunks: &[u8], out: &mut [u8]) {
        let mut piece = Vec::with_capacity(self.dimensions.len());
        self.pieces(&mut piece, chunks, out);
    }

    /// Chunk by chunk: a part of every dimension.
    fn pieces<'s>(&'s self, piece: &mut Vec<&'s Part>, chunks: &[u8], out: &mut [u8]) {
        let Some((parts, ..)) = self.dimensions.get(piece.len()) else {
            let first: usize = piece.iter().map(|part| part.chunk + part.first).sum();
            let (from, out) = (&chunks[first..], &mut out[piece.iter().map(|part| part.memory).sum()..]);
            return if self.transposed { self.columns(piece, from, out) } else { self.rows(piece, 0, from, out) };
        };
        for part in parts {
            piece.push(part);
            self.pieces(piece, chunks, out);
            piece.pop();
        }
    }

    /// Row by row.
    fn rows(&self, piece: &[&Part], d: usize, from: &[u8], out: &mut [u8]) {
        let (_, step, memory_step) = self.dimensions[d];
        let count = piece[d].count;
        if d + 1 == piece.len() {
            return self.moves.row(&mut out[..count * memory_step], from, step);
        }
        for i in 0..count {
            self.rows(piece, d + 1, &from[i * step..], &mut out[i * memory_step..]);
        }
    }

    /// The rows of the chunk become columns of memory.
    fn columns(&self, piece: &[&Part], from: &[u8], out: &mut [u8]) {
        let [(_, step, _), (_, element, out_step)] = self.dimensions[..] else { panic!("a plane") };
        assert_eq!(element, self.kind.size());
        transpose(self.kind, [piece[0].count, piece[1].count], from, step, out, out_step);
    }
}
