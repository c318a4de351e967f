//! `nczchunk generate`, which help does not list: what is installed beside the program, made of what clap knows of it.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate_to};

use crate::failure::{Failure, Result};

/// Writes manual pages and completions for shells into a directory
#[derive(Debug, Args)]
pub struct Generate {
    /// The directory
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl Generate {
    /// Writes them, as `man1/*.1`, `nczchunk.bash`, `_nczchunk` for zsh and `nczchunk.fish`.
    pub fn run(&self, mut program: Command) -> Result<()> {
        let about = || Failure::about(self.directory.display());
        let pages = self.directory.join("man1");
        fs::create_dir_all(&pages).map_err(about())?;
        // A page of the command that prints help would say nothing.
        let shown = program.clone().disable_help_subcommand(true);
        clap_mangen::generate_to(shown, &pages).map_err(about())?;
        let name = program.get_name().to_owned();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            generate_to(shell, &mut program, &name, &self.directory).map_err(about())?;
        }
        Ok(())
    }
}
