//! The cases: one dimension, its chunks and what is selected of it.

/// Along one dimension: its length, its chunks' and a valid selection. All in elements.
#[derive(Debug, Clone, Copy)]
pub struct Dim {
    pub len: usize,
    pub chunklen: usize,
    pub start: usize,
    pub count: usize,
    pub stride: usize,
}

/// Every valid selection. Where at most one element is selected the stride is of no consequence, and only the extremes
/// of it are tried.
pub fn slices(len: usize, chunklen: usize) -> Vec<Dim> {
    let mut all = Vec::new();
    for start in 0..=len {
        for count in 0..=len - start {
            let strides: Vec<usize> = match count {
                0 | 1 => vec![1, isize::MAX as usize],
                _ => (1..=(len - 1 - start) / (count - 1)).collect(),
            };
            all.extend(strides.into_iter().map(|stride| Dim { len, chunklen, start, count, stride }));
        }
    }
    all
}
