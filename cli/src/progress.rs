//! How far a long command has come, on the terminal of the error output, if that is one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that counts bytes.
pub fn of_bytes(len: u64) -> ProgressBar {
    bar(len, &["{percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left", REST, LEAST])
}

/// A bar that counts chunks.
pub fn of_chunks(len: u64) -> ProgressBar {
    bar(len, &["{percent:>3} %  {pos} of {len} chunks  {eta} left", REST, LEAST])
}

/// What is shown where there is no room for more.
const REST: &str = "{percent:>3} %  {eta} left";
const LEAST: &str = "{percent:>3} %";

/// The most columns of what stands beside the bar, and those of a bar.
const WORDS: [usize; 3] = [58, 22, 5];
const BAR: std::ops::RangeInclusive<usize> = 10..=30;

fn bar(len: u64, words: &[&str; 3]) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(8));
    let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
    // The templates are right, or the default is shown.
    let style = ProgressStyle::with_template(&template(width, words));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// What fits so many columns: the most words beside which there is room for a bar, or the fewest alone.
fn template(width: usize, words: &[&str; 3]) -> String {
    let fitting = WORDS.iter().zip(words).find(|(room, _)| *room + 1 + BAR.start() < width);
    match fitting {
        // The last column stays free, for some terminals begin a new line there.
        Some((room, words)) => format!("{{bar:{}}} {words}", (width - room - 2).min(*BAR.end())),
        None => LEAST.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fits_the_terminal() {
        let words = ["all", REST, LEAST];
        assert_eq!(template(200, &words), "{bar:30} all");
        assert_eq!(template(80, &words), "{bar:20} all");
        assert_eq!(template(60, &words), format!("{{bar:30}} {REST}"));
        assert_eq!(template(20, &words), format!("{{bar:13}} {LEAST}"));
        assert_eq!(template(10, &words), LEAST);
        for width in 0..120 {
            let template = template(width, &words);
            let bar =
                template.strip_prefix("{bar:").map(|rest| rest.split('}').next().unwrap().parse::<usize>().unwrap());
            let room = WORDS[words.iter().position(|words| template.ends_with(words)).unwrap()];
            assert!(bar.is_none_or(|bar| bar + 1 + room < width), "{width} {template}");
        }
    }

    #[test]
    fn words_have_no_more_columns_than_they_are_said_to_have() {
        let longest = "100 %  1023.99 MiB of 1023.99 GiB  1023.99 MiB/s  59m left";
        assert!(longest.len() <= WORDS[0], "{}", longest.len());
        assert!("100 %  100 years left".len() <= WORDS[1] && "100 %".len() <= WORDS[2]);
    }
}
