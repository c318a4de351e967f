//! The command-line program: shows, checks, dumps and copies the arrays that the library opens.
//!
//! ```text
//!   list.rs info.rs plan/ locate.rs dump/ map.rs copy/ concat.rs references.rs check.rs advise.rs    one command each
//!   generate.rs      a command for those who install the program
//!
//!   open_storage.rs  from the words of the user to an open array
//!   lengths.rs       lengths of chunks and other numbers, as the user writes them
//!   slab.rs          hyperslabs: the text, and what it selects
//!   pieces.rs        a selection in pieces that fit memory
//!   storage.rs       what is stored of an array
//!   element.rs       elements as text and as numbers
//!   cf/              elements as the values that they stand for
//!   time.rs          those that are times
//!   missing.rs       those that stand for no value
//!   attribute.rs     attributes as text
//!   human.rs         numbers for people
//!   json.rs          what commands say, for programs
//!   screen.rs        what the output can show
//!   output.rs        where the output goes
//!   progress.rs      how far a long command has come
//!   failure.rs       what ends the program early
//!   interrupt.rs     the user's wish to end
//! ```

mod advise;
mod attribute;
mod cf;
mod check;
mod concat;
mod copy;
mod dump;
mod element;
mod failure;
mod generate;
mod human;
mod info;
mod interrupt;
mod json;
mod lengths;
mod list;
mod locate;
mod map;
mod missing;
mod open_storage;
mod output;
mod pieces;
mod plan;
mod progress;
mod references;
mod screen;
mod slab;
mod storage;
mod time;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use failure::Result;
use screen::{Screen, When};

const COMMON: &str = "Options of all commands";

const EXIT_CODES: &str = "\
Exit codes: 0 for success, 1 if something failed or check found a broken chunk, 2 for wrong usage.";

/// Shows, checks, dumps and copies chunked n-dimensional arrays: Zarr v2 and v3, NCZarr, netCDF, HDF5 and cfdb
#[derive(Debug, Parser)]
#[command(name = "nczchunk", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, help_heading = COMMON)]
    color: When,
    /// The number of threads that read and write [default: the number of processors]
    #[arg(long, global = true, value_name = "N", value_parser = lengths::threads, help_heading = COMMON)]
    threads: Option<NonZeroUsize>,
    /// Follow links of HDF5 files to other files (external links), which are refused otherwise
    #[arg(long, global = true, help_heading = COMMON)]
    external_links: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Info(info::Info),
    Plan(plan::Plan),
    Locate(locate::Locate),
    Dump(dump::Dump),
    Map(map::Map),
    Copy(copy::Copy),
    Rechunk(copy::Rechunk),
    Concat(concat::Concat),
    References(references::References),
    Check(check::Check),
    Advise(advise::Advise),
    #[command(hide = true)]
    Generate(generate::Generate),
}

/// What all commands have in common.
struct Session {
    screen: Screen,
    threads: usize,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let threads = arguments.threads.or_else(|| std::thread::available_parallelism().ok());
    let session = Session { screen: Screen::new(arguments.color), threads: threads.map_or(1, NonZeroUsize::get) };
    open_storage::allow_external_links(arguments.external_links);
    match &arguments.command {
        Command::List(list) => list.run(&session),
        Command::Info(info) => info.run(&session),
        Command::Plan(plan) => plan.run(&session),
        Command::Locate(locate) => locate.run(),
        Command::Dump(dump) => dump.run(&session),
        Command::Map(map) => map.run(&session),
        Command::Copy(copy) => copy.run(&session),
        Command::Rechunk(rechunk) => rechunk.run(&session),
        Command::Concat(concat) => concat.run(),
        Command::References(references) => references.run(),
        Command::Check(check) => check.run(&session),
        Command::Advise(advise) => advise.run(&session),
        Command::Generate(generate) => generate.run(Arguments::command()),
    }
}
