//! Runs the program on the data of the repository, and on arrays that are made here.

mod advise;
mod check;
mod concat;
mod copy;
#[cfg(unix)]
mod dump;
mod list_info;
#[cfg(unix)]
mod locate;
mod map;
mod plan;
mod rechunk;
mod usage;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use nczchunk::{Array, Description, Element, ElementType, Hyperslab};

/// What a run has printed, and its exit code.
#[derive(Debug)]
struct Ran {
    out: Vec<u8>,
    err: String,
    code: Option<i32>,
}

impl Ran {
    fn of(output: Output) -> Self {
        let Output { status, stdout, stderr } = output;
        Ran { out: stdout, err: String::from_utf8(stderr).unwrap(), code: status.code() }
    }

    /// What was printed, of a run in which all was well.
    #[track_caller]
    fn text(self) -> String {
        assert_eq!((self.code, &*self.err), (Some(0), ""));
        String::from_utf8(self.out).unwrap()
    }

    /// What was said, of a run that failed with this exit code and printed nothing else.
    #[track_caller]
    fn message(self, code: i32) -> String {
        assert_eq!((self.code, &*String::from_utf8_lossy(&self.out)), (Some(code), ""), "{}", self.err);
        self.err
    }
}

/// The program in the repository's directory, without what the environment says about terminals.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nczchunk"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for name in ["COLUMNS", "COLORTERM", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color");
    command
}

fn run(arguments: &[&str]) -> Ran {
    Ran::of(command().args(arguments).output().unwrap())
}

/// [`run`] with what a path is in the place of `@`.
fn run_at(path: &Path, arguments: &[&str]) -> Ran {
    let path = path.to_str().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace('@', path)).collect();
    Ran::of(command().args(arguments).output().unwrap())
}

/// The first command of this name that a page shows with what it prints: its arguments, and that.
fn shown(page: &str, name: &str) -> (Vec<String>, String) {
    let path = format!("{}/../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("$ nczchunk {name} ")).unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let (arguments, printed) = block.split_once('\n').unwrap();
    let arguments = [name].into_iter().chain(arguments.split(' ')).map(str::to_owned).collect();
    (arguments, printed.to_owned())
}

/// A directory that is removed when the test is over.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("nczchunk-cli-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }

    /// The names of what is in it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl std::ops::Deref for Temporary {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A directory with an array `a` that has these values.
fn stored<T: Element>(description: &Description<'_>, values: &[T]) -> Temporary {
    let directory = Temporary::new();
    Array::create(&*directory, "a", description).unwrap().write(&Hyperslab::all(), values).unwrap();
    directory
}

/// A file of netCDF classic with a variable `v` along a dimension `x`, its attributes, which are texts, and its bytes.
fn classic(element: ElementType, attributes: &[(&str, &[u8])], values: &[u8]) -> Vec<u8> {
    let numbers = |numbers: &[usize]| -> Vec<u8> { numbers.iter().flat_map(|n| (*n as u32).to_be_bytes()).collect() };
    let padding = |bytes: &[u8]| vec![0; bytes.len().next_multiple_of(4) - bytes.len()];
    let text = |bytes: &[u8]| [numbers(&[bytes.len()]), bytes.to_vec(), padding(bytes)].concat();
    let mut file = [b"CDF\x01".to_vec(), numbers(&[0, 10, 1]), text(b"x")].concat();
    file.extend(numbers(&[values.len() / element.size(), 0, 0, 11, 1]));
    file.extend([text(b"v"), numbers(&[1, 0, 12, attributes.len()])].concat());
    for (name, value) in attributes {
        file.extend([text(name.as_bytes()), numbers(&[2]), text(value)].concat());
    }
    let number = usize::try_from(element.netcdf_type()).unwrap();
    file.extend(numbers(&[number, values.len() + padding(values).len(), file.len() + 12]));
    [file, values.to_vec(), padding(values)].concat()
}

/// The sea surface temperatures: 12 x 90 x 180.
fn sst() -> Vec<f32> {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.f32")).unwrap();
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// The same of a hyperslab, each dimension of which is (start, stop, step).
fn sst_of(slab: [(usize, usize, usize); 3]) -> Vec<f32> {
    let (all, mut values) = (sst(), Vec::new());
    let [i, j, k] = slab.map(|(start, stop, step)| (start..stop).step_by(step));
    for i in i {
        for j in j.clone() {
            values.extend(k.clone().map(|k| all[(i * 90 + j) * 180 + k]));
        }
    }
    values
}
