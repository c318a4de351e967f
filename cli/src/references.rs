//! `nczchunk references`: which bytes of which files the chunks are, for programs that read references.

use std::path::PathBuf;

use clap::Args;
use nczchunk::Error;
use nczchunk::object::{Directory, Storage};

use crate::failure::{Failure, Result};
use crate::open_storage;
use crate::output;

/// Writes references to the chunks of arrays, as kerchunk does: fsspec, Zarr and xarray read them, and nczchunk
#[derive(Debug, Args)]
pub struct References {
    /// A directory of Zarr or NCZarr, or a netCDF or HDF5 file
    #[arg(value_name = "PATH")]
    storage: PathBuf,
    /// A group or an array there, such as ocean/sst; everything without it
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The JSON file to be written, or - for standard output; or a directory of Parquet files, which ends with .parq
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What PATH is called in the references, a path or a URL; its absolute path without it
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

impl References {
    /// Writes the references.
    pub fn run(&self) -> Result<()> {
        let storage = open_storage::storage(&self.storage)?;
        let url = match &self.url {
            Some(url) => url.clone(),
            None => {
                let path = open_storage::full_path(&self.storage)?;
                // JSON is UTF-8.
                let no_text = "this path is not UTF-8, so no references can lead to it; give another with --url";
                let text = path.to_str().ok_or_else(|| Failure::failed(format_args!("{}: {no_text}", path.display())));
                text?.to_owned()
            }
        };
        output::check_document(&self.output, &[&self.storage])?;
        let name = self.name.as_deref().unwrap_or_default();
        let about = |error: Error| error.in_object(self.storage.display());
        if self.output.as_os_str() == "-" {
            let text = nczchunk::references(&storage, name, &url).map_err(about)?;
            return output::write_text(&self.output, None, &format!("{text}\n"));
        }
        let Some(file) = self.output.file_name().and_then(|name| name.to_str()) else {
            return Err(Failure::failed(format_args!("{}: this is not the name of a file", self.output.display())));
        };
        let parent = self.output.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = Storage::new(Directory::open(parent.unwrap_or(".".as_ref()))?)?;
        Ok(nczchunk::write_references(&storage, name, &url, &directory, file).map_err(about)?)
    }
}
