//! The examples of docs/command-line.md, which have to print what stands there.

use std::fmt::Write;
use std::process::Command;

use super::Temporary;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command-line.md");

/// The words of a command, some of which are in quotes.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(i, part)| -> Vec<String> {
            if i % 2 == 1 { vec![part.to_owned()] } else { part.split_whitespace().map(str::to_owned).collect() }
        })
        .collect()
}

/// Runs the examples, and puts what they print in the place of what is there.
#[test]
fn examples_print_what_is_shown() {
    let directory = Temporary::new();
    std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"), directory.join("data")).unwrap();
    let text = std::fs::read_to_string(PATH).unwrap();
    let (mut printed, mut is_output, mut number) = (String::new(), false, 0);
    for line in text.lines() {
        if let Some(example) = line.strip_prefix("$ nczchunk ") {
            let mut command: Command = super::command();
            let output = command.current_dir(&*directory).args(words(example)).output().unwrap();
            let both = [output.stdout, output.stderr].concat();
            write!(printed, "{line}\n{}", String::from_utf8(both).unwrap()).unwrap();
            (is_output, number) = (true, number + 1);
            continue;
        }
        is_output &= !line.starts_with("```");
        if !is_output {
            writeln!(printed, "{line}").unwrap();
        }
    }
    if std::env::var_os("NCZCHUNK_UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &printed).unwrap();
    }
    assert!(number > 10, "there are {number} examples");
    assert_eq!(printed, text, "NCZCHUNK_UPDATE_DOCS=1 cargo test -p nczchunk-cli writes what is printed");
}
