//! What reads and writes cost: every workload beside memcpy of as many bytes, the ideal and the bare loop over chunks,
//! in one run.
//!
//! `cargo bench --bench transfers` runs them all, `cargo bench --bench transfers -- W9/` those whose names begin so;
//! `-- --test W9/` runs each of these once. What other programs take for the same is measured by `scripts/bench`, which
//! runs this program as one among them:
//!
//!     transfers list           prints the table of workloads as JSON
//!     transfers frames WHERE   writes the compressed arrays below WHERE, as Zarr v3 directories
//!     transfers serve          obeys what it is told on standard input; benches/peers/README.md has the words

mod bare;
mod benches;
mod data;
mod engine;
mod ideal;
mod runner;
mod subject;
mod transpose;
mod workloads;

use std::path::Path;

fn main() -> runner::Outcome<()> {
    // Cargo adds --bench.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => println!("{:#}", runner::list()),
        ["frames", place] => runner::frames(Path::new(place))?,
        ["serve"] => runner::serve()?,
        ["--test", ref names @ ..] => benches::run(&benches::Chosen { names: names.to_vec(), once: true }),
        ref names => benches::run(&benches::Chosen { names: names.to_vec(), once: false }),
    }
    Ok(())
}
