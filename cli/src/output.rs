//! Where a program's result goes: the standard output, or a file that is there once it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::screen::printable;

/// The name of what is being made, beside the path that it gets once it is complete.
pub fn partial(path: &Path) -> Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| Failure::failed(format_args!("{}: this path has no file name", path.display())))?;
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    // As the library calls those that it writes: who finds one that is left knows by which process.
    partial.push(format!(".{}.0.partial", std::process::id()));
    Ok(path.with_file_name(partial))
}

/// Says something on the error output that the user has to know about what is written, which is written also if nobody
/// reads that.
pub fn note(about: &str, note: &str) {
    let _ = writeln!(io::stderr(), "nczchunk: note: {}: {}", printable(about), printable(note));
}

/// Refuses to replace what is no document, or one of the files that the new one leads to.
pub fn check_document(path: &Path, sources: &[impl AsRef<Path>]) -> Result<()> {
    let is_file = path.as_os_str() != "-" && path.is_file();
    if !is_file {
        return Ok(());
    }
    let refused = |why: &str| Err(Failure::failed(format_args!("{}: {why}; choose another name", path.display())));
    if sources.iter().any(|source| is_same(path, source.as_ref())) {
        return refused("this is one of the files that it would lead to");
    }
    let mut begin = [0; 512];
    let len = File::open(path).and_then(|mut file| file.read(&mut begin)).map_err(Failure::about(path.display()))?;
    match begin[..len].trim_ascii_start().first() {
        None | Some(b'{') => Ok(()),
        Some(_) => refused("this exists, and is no JSON"),
    }
}

/// Whether two paths lead to the same file or directory.
fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// What a path leads to by links, which may not be there yet.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    while let Ok(target) = fs::read_link(&path) {
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Writes a text about a source to a file, which is replaced once all has been written, or to the standard output if
/// the path is `-`.
pub fn write_text(path: &Path, source: Option<&Path>, text: &str) -> Result<()> {
    let mut out = Output::new(Some(path), source, false)?;
    out.write_all(text.as_bytes())?;
    out.finish()
}

/// The standard output, or a file.
pub enum Output {
    Standard(BufWriter<io::StdoutLock<'static>>),
    /// A file that is there from the beginning, such as a device.
    Open(BufWriter<File>, PathBuf),
    /// A file under another name; it gets its own when all has been written. What is dropped last is the hold, so that
    /// an interrupt does not leave the file.
    Partial {
        file: BufWriter<File>,
        partial: Partial,
        path: PathBuf,
        hold: interrupt::Hold,
    },
}

/// A file or directory that is removed unless it is kept.
pub struct Partial(PathBuf);

impl Partial {
    /// A path of something that is being made.
    pub fn new(path: PathBuf) -> Self {
        Partial(path)
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Says that it stays, at this path.
    pub fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // What has got its own name is not there any more.
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(&self.0);
    }
}

/// Creates a file with the permissions of the one that it will replace, and with no others before.
fn create(path: &Path, permissions: Option<fs::Permissions>) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    let Some(permissions) = permissions else { return options.open(path) };
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    file.set_permissions(permissions)?;
    Ok(file)
}

impl Output {
    /// Opens a file to be written, or the standard output if there is no path. The file is not the source of what is
    /// written. Bytes that are no text are not written to a terminal.
    pub fn new(path: Option<&Path>, source: Option<&Path>, is_binary: bool) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            if is_binary && io::stdout().is_terminal() {
                return Err(Failure::usage("this format is binary; name a file with -o, or redirect the output"));
            }
            return Ok(Output::Standard(BufWriter::with_capacity(1 << 16, io::stdout().lock())));
        };
        let about = || Failure::about(path.display());
        let old = match path.metadata() {
            Ok(old) if !old.is_file() => {
                let file = File::options().write(true).open(path).map_err(about())?;
                return Ok(Output::Open(BufWriter::with_capacity(1 << 16, file), path.to_owned()));
            }
            Ok(old) => Some(old.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(about()(error)),
        };
        if source.is_some_and(|source| is_same(path, source)) {
            return Err(Failure::failed(format_args!("{}: this is what is read; choose another name", path.display())));
        }
        // It may be what is read, too: documents lead to other files.
        if source.is_some() && old.is_some() && nczchunk::open_storage(path).is_ok() {
            let why = "this holds arrays, which may be those that are read; choose another name";
            return Err(Failure::failed(format_args!("{}: {why}", path.display())));
        }
        // A link stays, and what it leads to is replaced.
        let path = resolved(path);
        let hold = interrupt::Hold::new()?;
        let partial = Partial::new(partial(&path)?);
        let file = create(partial.path(), old).map_err(about())?;
        Ok(Output::Partial { file: BufWriter::with_capacity(1 << 16, file), partial, path, hold })
    }

    /// Says that all has been written.
    pub fn finish(self) -> Result<()> {
        match self {
            Output::Standard(mut out) => Ok(out.flush()?),
            Output::Open(mut file, path) => file.flush().map_err(Failure::about(path.display())),
            Output::Partial { hold: _hold, mut file, partial, path } => {
                file.flush().map_err(Failure::about(path.display()))?;
                interrupt::check()?;
                fs::rename(partial.path(), &path).map_err(Failure::about(path.display()))
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Standard(out) => out.write(bytes),
            Output::Open(file, path) | Output::Partial { file, path, .. } => {
                file.write(bytes).map_err(|error| of_file(path, error))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(out) => out.flush(),
            Output::Open(file, path) | Output::Partial { file, path, .. } => {
                file.flush().map_err(|error| of_file(path, error))
            }
        }
    }
}

/// An error about a file, also if it is a pipe that nobody reads any more: that is fine for the standard output alone.
fn of_file(path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => io::Error::other(format!("{}: {error}", path.display())),
        _ => error,
    }
}
