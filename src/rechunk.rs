//! # Rechunking an array
//!
//! Make an array with other chunks of an array that you have opened, within a limit of memory:
//!
//! ```c
//! const size_t series[3] = {365, 24, 24};
//! nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
//!
//! options.memory = 256 << 20;
//! options.chunk_shape = series;
//! int status = nczchunk_rechunk(maps, "series.zarr", NULL, &options, NULL, context);
//! ```
//!
//! Set threads and a progress callback in the context. Progress counts as chunks the boxes in which the array is read
//! and written, and as bytes those that are read and those that are written.

use super::create::{chosen_codecs, format, given, nczchunk_codec_setting};
use super::prelude::*;
use super::var::endian;
use nczchunk::{Description, RechunkOptions, RechunkPlan, rechunk, rechunk_in, rechunk_plan};
use nczchunk_engine::transfer::Options;

/// How an array is rechunked. Set struct_size. A field that is 0 or NULL has its default. The pointers need to be valid
/// only during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_rechunk_options {
    /// sizeof(nczchunk_rechunk_options).
    pub struct_size: usize,
    /// The most bytes of memory that the call takes, in addition to what the program has. Storages that keep in memory
    /// what is written to them, and clients of networks, are not counted. 0 for 256 MiB.
    pub memory: usize,
    /// The lengths of a chunk of the new array, one for each dimension of the source. NULL for those of a Zarr array,
    /// and for netCDF-C's choice of any other.
    pub chunk_shape: *const usize,
    /// The lengths of a shard, for Zarr v3: multiples of chunk_shape. NULL for no shards or, without chunk_shape, for
    /// those of the source.
    pub shard_shape: *const usize,
    /// The codecs, in the order of encoding. NULL for those of a Zarr array, and for zstd of any other.
    pub codecs: *const nczchunk_codec_setting,
    /// The number of codecs.
    pub num_codecs: usize,
    /// 1 to store chunks uncompressed, without codecs.
    pub uncompressed: usize,
    /// NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR. 0 for Zarr v3.
    pub format: usize,
    /// The byte order of the stored data: NCZCHUNK_ENDIAN_LITTLE or NCZCHUNK_ENDIAN_BIG. 0 for this machine's.
    pub endian: usize,
    /// A storage for the temporary array, such as a local disk. NULL for the storage of the new array.
    pub temporary: *const nczchunk_storage,
}
growing!(nczchunk_rechunk_options, temporary: *const nczchunk_storage);

/// How an array is or was rechunked. Set struct_size; the library sets the other fields.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct nczchunk_rechunk_report {
    /// sizeof(nczchunk_rechunk_report).
    pub struct_size: usize,
    /// How often the elements are written: 1, or 2 with a temporary array; 0 for an array without elements.
    pub num_passes: usize,
    /// In how many boxes they are read and written, in all passes.
    pub num_boxes: usize,
    /// How many of these an earlier call had done.
    pub boxes_resumed: usize,
    /// How many chunks are read in all passes, each as often as it is.
    pub chunks_read: usize,
    /// The bytes of these chunks when they are decoded; SIZE_MAX for more.
    pub bytes_read: usize,
    /// The bytes that are written in all passes, before they are encoded; SIZE_MAX for more.
    pub bytes_written: usize,
    /// The most bytes of memory that it takes.
    pub memory: usize,
    /// The least memory that would do.
    pub least_memory: usize,
}
growing!(nczchunk_rechunk_report, least_memory: usize);

/// Writes the elements of an array to a new array with other chunks, codecs or another format, within a limit of
/// memory. path and name are those of nczchunk_array_create. The new array has the source's shape, element type, fill
/// value, names of dimensions and attributes.
///
/// The elements are read and written in boxes, so that each chunk of the new array is written once. If chunks of the
/// source would have to be read so often that it is better, two passes are made through a temporary array, which is
/// below the new one and is removed afterwards. It takes the disk space of all elements without codecs.
///
/// The new array exists once it is complete. A call that was ended in the middle, by an error, the progress callback or
/// a kill, leaves what is done, and the same call continues there, as long as the source is unchanged. To give up,
/// remove the directory.
///
/// report may be NULL. If the memory is too little, the call fails with NCZCHUNK_ENOMEM; then report and the message
/// of the context say how much is enough, and the other fields of report are 0.
///
/// Errors: NCZCHUNK_ENOMEM, NCZCHUNK_EINVAL (a NULL argument; an inconsistent option; an unfinished rechunking of
/// another array is there; the new array would be within the source or around it), NCZCHUNK_EEXIST (an array or
/// something else is there; nothing is overwritten), NCZCHUNK_ENOTBUILT (variable-length strings; the format does not
/// support the options), EAGAIN (another process has completed the array meanwhile), the status of the progress
/// callback, and those of nczchunk_array_create, of reading and of writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_rechunk(
    source: *const nczchunk_array,
    path: *const c_char,
    name: *const c_char,
    options: *const nczchunk_rechunk_options,
    report: *mut nczchunk_rechunk_report,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, |transfer, done| {
        let (path, name) = (file_path(path)?, optional_text(name)?);
        described(source, options, *transfer, report, |source, description, options| {
            let made = rechunk(source, path, name, description, options)?;
            *done = made.plan.passes.iter().map(|pass| pass.num_boxes).fold(0, usize::saturating_add);
            Ok((made.plan, made.boxes_resumed))
        })
    }))
}

/// Rechunks an array to a storage: see nczchunk_rechunk. In a new zip file nothing is continued, and a temporary array
/// needs another storage.
///
/// Errors: those of nczchunk_rechunk, and the status that a callback of the storage returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_rechunk_in(
    source: *const nczchunk_array,
    storage: *const nczchunk_storage,
    name: *const c_char,
    options: *const nczchunk_rechunk_options,
    report: *mut nczchunk_rechunk_report,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, |transfer, done| {
        let (storage, name) = (&handle(storage, "storage is NULL")?.0, optional_text(name)?);
        described(source, options, *transfer, report, |source, description, options| {
            let made = rechunk_in(source, storage, name, description, options)?;
            *done = made.plan.passes.iter().map(|pass| pass.num_boxes).fold(0, usize::saturating_add);
            Ok((made.plan, made.boxes_resumed))
        })
    }))
}

/// Reports how nczchunk_rechunk would rechunk an array, with as many threads as the context has. Nothing is read or
/// written.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; an inconsistent option), NCZCHUNK_ENOMEM (as nczchunk_rechunk), and those
/// of nczchunk_array_create that are about the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_rechunk_plan(
    source: *const nczchunk_array,
    options: *const nczchunk_rechunk_options,
    report: *mut nczchunk_rechunk_report,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, |transfer, _| {
        if report.is_null() {
            return Err(ErrorKind::Argument("report is NULL").into());
        }
        described(source, options, *transfer, report, |source, description, options| {
            Ok((rechunk_plan(source, description, options)?, 0))
        })
    }))
}

/// Calls `make` with what a structure of C's says, and reports what it returns.
///
/// # Safety
/// The pointers are those of the functions above.
unsafe fn described(
    source: *const nczchunk_array,
    options: *const nczchunk_rechunk_options,
    transfer: Options<'_>,
    report: *mut nczchunk_rechunk_report,
    make: impl FnOnce(&nczchunk::Array, &Description<'_>, &RechunkOptions<'_>) -> Result<(RechunkPlan, usize)>,
) -> Result<()> {
    let (source, from) = by_promise!((&handle(source, "source is NULL")?.array, read_growing(options)?));
    if !report.is_null() {
        by_promise!(size_of_growing(report))?;
    }
    let rank = source.variable().rank();
    // SAFETY: each list is NULL or has as many entries as are documented, and temporary is NULL or alive.
    let (chunk_shape, shard_shape, temporary) =
        unsafe { (given(from.chunk_shape, rank), given(from.shard_shape, rank), from.temporary.as_ref()) };
    // SAFETY: codecs is NULL or has as many entries, whose names and configurations are NULL or texts.
    let codecs = unsafe { chosen_codecs(from.codecs, from.num_codecs, from.uncompressed) }?;
    let (format, endian) = (format(from.format)?, endian(from.endian)?);
    let mut with = RechunkOptions::default().with_transfer(transfer);
    if from.memory != 0 {
        with = with.with_memory(from.memory);
    }
    if let Some(storage) = temporary {
        with = with.with_temporary(&storage.0);
    }
    let made = source.describe_as(format, |same| {
        // Each is described for as long as what it is described with lives.
        let formatted = same.with_endian(endian);
        let cut = match chunk_shape {
            Some(chunk_shape) => formatted.with_chunk_shape(chunk_shape).without_shards(),
            None => formatted,
        };
        let sharded = match shard_shape {
            Some(shard_shape) => cut.with_shard_shape(shard_shape),
            None => cut,
        };
        let encoded = match &codecs {
            Some(codecs) => sharded.with_codecs(codecs),
            None => sharded,
        };
        make(source, &encoded, &with)
    });
    let least = made.as_ref().err().map_or(0, |error| match error.kind() {
        ErrorKind::RechunkMemory { needed, .. } => needed,
        _ => 0,
    });
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut to = nczchunk_rechunk_report { least_memory: least, ..Default::default() };
    if let Ok((plan, resumed)) = &made {
        let passes = &plan.passes;
        to.num_passes = passes.len();
        to.num_boxes = passes.iter().map(|pass| pass.num_boxes).fold(0, usize::saturating_add);
        to.boxes_resumed = *resumed;
        to.chunks_read = passes.iter().map(|pass| pass.chunks_read).fold(0, usize::saturating_add);
        to.bytes_read = bytes(passes.iter().map(|pass| pass.bytes_read).fold(0, u64::saturating_add));
        to.bytes_written = bytes(plan.num_bytes.saturating_mul(passes.len() as u64));
        to.memory = passes.iter().map(|pass| pass.memory).max().unwrap_or(0);
        to.least_memory = plan.least_memory;
    }
    if !report.is_null() && (made.is_ok() || least > 0) {
        // SAFETY: it is a structure of the size that it says.
        unsafe { write_growing(report, to) }?;
    }
    made.map(|_| ()).map_err(|error| match error.kind() {
        // The options have no way to overwrite, which that message names.
        ErrorKind::NotOverwritten => ErrorKind::Exists.in_object(error.about()),
        _ => error,
    })
}
