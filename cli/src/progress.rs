//! How far a long command has come, on the terminal of the error output, if that is one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that counts bytes.
pub fn of_bytes(len: u64) -> ProgressBar {
    bar(len, "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left")
}

/// A bar that counts chunks.
pub fn of_chunks(len: u64) -> ProgressBar {
    bar(len, "{bar:30} {percent:>3} %  {pos} of {len} chunks  {eta} left")
}

fn bar(len: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(8));
    // The templates are right, or the default is shown.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
