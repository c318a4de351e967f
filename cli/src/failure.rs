//! What ends the program early: the message and the exit code.

use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use nczchunk::{Error, ErrorKind};

use crate::screen::printable;

/// Why the program ends before its work is done.
#[derive(Debug)]
pub enum Failure {
    /// What is asked for cannot be: exit code 2, as for options that do not exist.
    Usage(String),
    /// It could not be done: exit code 1.
    Failed(String),
    /// It was done, and what was found, which has been reported, is bad: exit code 1.
    Found,
    /// Nobody reads the standard output any more, which is no error.
    ClosedPipe,
    /// The user or the system asked the program to end: exit code 130, as of a shell.
    Interrupted,
}

/// A result with this program's failures.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// What is asked for cannot be.
    pub fn usage(message: impl Display) -> Self {
        Failure::Usage(message.to_string())
    }

    /// The same, about what an option asks for.
    pub fn of_option(self, option: &str) -> Self {
        match self {
            Failure::Usage(message) => Failure::Usage(format!("{option}: {message}")),
            other => other,
        }
    }

    /// It could not be done.
    pub fn failed(message: impl Display) -> Self {
        Failure::Failed(message.to_string())
    }

    /// A failure of the system about a path.
    pub fn about(path: impl Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Failure::failed(format_args!("{path}: {error}"))
    }

    /// Says what went wrong, if there is something to say; the exit code.
    pub fn report(self) -> ExitCode {
        let (message, code) = match self {
            Failure::Usage(message) => (message, 2),
            Failure::Failed(message) => (message, 1),
            Failure::Found => return ExitCode::from(1),
            Failure::ClosedPipe => return ExitCode::SUCCESS,
            Failure::Interrupted => ("interrupted".to_owned(), 130),
        };
        // There is nobody left to tell if this cannot be written.
        let line = format!("nczchunk: {}\n", printable(&message));
        let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
        ExitCode::from(code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::failed(error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Stopped(_) => Failure::Interrupted,
            _ => Failure::Failed(words(&error)),
        }
    }
}

/// What the library says. An error of the system has better words of its own.
pub fn words(error: &Error) -> String {
    let is_of_system = matches!(error.kind(), ErrorKind::System(_) | ErrorKind::Callback(_));
    match error.source().filter(|_| is_of_system) {
        Some(source) if error.about().is_empty() => source.to_string(),
        Some(source) => format!("{}: {source}", error.about()),
        None => error.to_string(),
    }
}
