//! What is stored of an array: its chunks, one after another.

use nczchunk::{Access, Array, Hyperslab, Plan, Projection};

use crate::failure::Result;

/// What is stored of some chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    /// Chunks that are there.
    pub present: u64,
    /// Chunks that are not, and read as the fill value.
    pub absent: u64,
    /// Bytes that those that are there have as they are stored.
    pub bytes: u64,
}

/// The plan that has all chunks of an array.
pub fn whole(array: &Array) -> Result<Plan<'_>> {
    Ok(Plan::new(array.variable(), &Hyperslab::all(), Access::Read)?)
}

/// The indices of the i-th chunk of a plan.
pub fn chunk(plan: &Plan<'_>, i: usize) -> Result<Vec<isize>> {
    Ok(projections(plan, i)?.iter().map(|projection| projection.chunk_index).collect())
}

/// The projections of the i-th chunk of a plan.
pub fn projections(plan: &Plan<'_>, i: usize) -> Result<Vec<Projection>> {
    let mut projections = vec![Projection::default(); plan.rank()];
    plan.chunk(i, &mut projections)?;
    Ok(projections)
}

/// What is stored of the chunks of a plan. Each is asked for how long it is.
pub fn stored(array: &Array, plan: &Plan<'_>) -> Result<Stored> {
    let mut stored = Stored::default();
    for i in 0..plan.num_chunks() {
        match array.stored_chunk_len(&chunk(plan, i)?)? {
            Some(len) => {
                stored.present += 1;
                stored.bytes += len as u64;
            }
            None => stored.absent += 1,
        }
    }
    Ok(stored)
}

/// The codecs of an array in words, such as `shuffle, zstd (level 3)`.
pub fn codecs(array: &Array) -> Result<String> {
    let mut all = Vec::new();
    for (name, configuration) in array.codecs()? {
        let settings: String = configuration.chars().filter(|character| !"{}\"".contains(*character)).collect();
        let settings = settings.replace(':', " ").replace(',', ", ");
        all.push(if settings.is_empty() { name } else { format!("{name} ({settings})") });
    }
    Ok(if all.is_empty() { "none".to_owned() } else { all.join(", ") })
}
