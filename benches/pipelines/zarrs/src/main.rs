//! Does one job with zarrs, and prints the seconds that it took, those of the processors, a checksum, and the most
//! memory of the process in bytes:
//!
//!     pipelines-zarrs ARRAY JOB WORK
//!
//! The jobs are those of ../peer.py. Those that end with "-at-once" have several chunks under way, as many as the
//! benchmark programs that come with zarrs have by default (zarrs_benchmark_read_sync and zarrs_reencode, from which
//! the allocator comes, too); the others have one, whose codecs may use all processors.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mimalloc::MiMalloc;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use zarrs::array::concurrency::concurrency_chunks_and_codec;
use zarrs::array::{
    Array, ArrayBytes, ArrayCodecTraits, ArrayIndicesTinyVec, ArrayShardedExt, ArrayShardedReadableExt,
    ArrayShardedReadableExtCache, ArraySubset, CodecOptions,
};
use zarrs::filesystem::FilesystemStore;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let given: Vec<String> = std::env::args().collect();
    let [_, path, job, work] = &given[..] else { return Err("usage: pipelines-zarrs ARRAY JOB WORK".into()) };
    if job == "all" || job.starts_with("copy") {
        let array = Array::open(Arc::new(FilesystemStore::new(path)?), "/")?;
        back_memory(array.shape().iter().product::<u64>() as usize)?;
    }
    let (begin, used) = (Instant::now(), processors());
    let source = Array::open(Arc::new(FilesystemStore::new(path)?), "/")?;
    let (found, whole) = match job.strip_suffix("-at-once") {
        None if job == "all" => (0, Some(source.retrieve_array_subset::<ArrayBytes>(&source.subset_all())?)),
        None => (by_chunks(&source, job, work, false)?, None),
        Some(job) => (by_chunks(&source, job, work, true)?, None),
    };
    let (seconds, used, peak) = (begin.elapsed(), processors() - used, most_memory()?);
    let found = match whole {
        Some(whole) => u64::from(checksum(&whole.into_fixed()?, source.shape())),
        None => found,
    };
    println!("{} {} {found} {peak}", seconds.as_secs_f64(), used.as_secs_f64());
    Ok(())
}

/// Reads the chunks or, for the job "inner", the chunks in the shards, and with "copy" writes them to a new array.
/// Returns the sum of their last elements.
fn by_chunks(source: &Array<FilesystemStore>, job: &str, work: &str, at_once: bool) -> Outcome<u64> {
    let target = if job == "copy" {
        let array = source.builder().build(Arc::new(FilesystemStore::new(Path::new(work).join("copy.zarr"))?), "/")?;
        array.store_metadata()?;
        Some(array)
    } else {
        None
    };
    let first = vec![0; source.shape().len()];
    let (grid, shape) = match source.effective_subchunk_shape() {
        Some(shape) if job == "inner" => (source.subchunk_grid_shape().to_vec(), shape),
        _ => (source.chunk_grid_shape().to_vec(), source.chunk_shape(&first)?),
    };
    let chunks = ArraySubset::new_with_shape(grid);
    let options = CodecOptions::default();
    let kept = ArrayShardedReadableExtCache::new(source); // the indices of the shards
    let sum = AtomicU64::new(0);
    let one = |chunk: &[u64], options: &CodecOptions| -> Outcome<()> {
        let bytes: ArrayBytes = match (&target, job) {
            (Some(_), _) => source.retrieve_array_subset_opt(&source.chunk_subset(chunk)?, options)?,
            (None, "inner") => source.retrieve_subchunk_opt(&kept, chunk, options)?,
            (None, _) => source.retrieve_chunk_opt(chunk, options)?,
        };
        if let Some(target) = &target {
            target.store_chunk_opt(chunk, bytes, options)?;
        } else if let Some(last) = bytes.into_fixed()?.last_chunk() {
            // Something of each, so that all have to be there.
            sum.fetch_add(u64::from(u16::from_le_bytes(*last)), Relaxed);
        }
        Ok(())
    };
    if at_once {
        let codecs = source.codecs().recommended_concurrency(&shape, source.data_type())?;
        let (num, options) = concurrency_chunks_and_codec(
            std::thread::available_parallelism()?.get(),
            chunks.num_elements_usize(),
            &options,
            &codecs,
        );
        let indices = chunks.indices();
        rayon_iter_concurrent_limit::iter_concurrent_limit!(
            num,
            indices,
            try_for_each,
            |chunk: ArrayIndicesTinyVec| one(&chunk, &options)
        )?;
    } else {
        chunks.indices().iter().try_for_each(|chunk| one(&chunk, &options))?;
    }
    Ok(sum.into_inner())
}

/// The CRC-32 of every seventh plane's every fifth row.
fn checksum(bytes: &[u8], shape: &[u64]) -> u32 {
    let (rows, row) = (shape[1] as usize, shape[2] as usize * 2);
    let mut hasher = crc32fast::Hasher::new();
    for plane in bytes.chunks_exact(rows * row).step_by(7) {
        plane.chunks_exact(row).step_by(5).for_each(|row| hasher.update(row));
    }
    hasher.finalize()
}

/// Uses three bytes for each element and gives them back to the system, and has the most memory counted from here.
fn back_memory(elements: usize) -> Outcome<()> {
    // Not by the allocator, which might keep it.
    // SAFETY: the mapping is new, and nothing refers to it when it ends.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(std::ptr::null_mut(), elements * 3, access, kind, -1, 0);
        if memory == libc::MAP_FAILED {
            return Err("there is not enough memory".into());
        }
        libc::madvise(memory, elements * 3, libc::MADV_HUGEPAGE);
        memory.cast::<u8>().write_bytes(1, elements * 3);
        libc::munmap(memory, elements * 3);
    }
    Ok(std::fs::write("/proc/self/clear_refs", "5")?)
}

fn most_memory() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("there is no VmHWM")?;
    Ok(line.split_whitespace().next().ok_or("VmHWM is empty")?.parse::<u64>()? * 1024)
}

/// What the processors took for this process.
fn processors() -> Duration {
    // SAFETY: the structure is the caller's, and zeros are a value of it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let time = |one: libc::timeval| Duration::new(one.tv_sec as u64, one.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}
