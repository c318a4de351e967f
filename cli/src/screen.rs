//! What the output can show: colours, and how many columns it has.

use std::fmt::Write;
use std::io::IsTerminal;

use clap::ValueEnum;

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum When {
    /// On terminals, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How many colours there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// None.
    Plain,
    /// The palette of 256.
    Palette,
    /// 24 bits.
    True,
}

/// The standard output.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub depth: Depth,
    /// Columns of the terminal; 80 for anything else.
    pub width: usize,
}

/// What a piece of text is, which its colour tells.
#[derive(Debug, Clone, Copy)]
pub enum Tint {
    Heading,
    Group,
    Kind,
    Good,
    Touched,
    Bad,
}

/// A name or a message without control characters: those of a name in a file would begin lines and change colours.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|character| push_printable(&mut shown, character));
    shown
}

/// Adds a character, or what C writes for it if it is a control character or one that XML lacks.
pub fn push_printable(text: &mut String, character: char) {
    match character {
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        '\r' => text.push_str("\\r"),
        other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
            // Writing to a text does not fail.
            let _ = write!(text, "\\u{:04x}", u32::from(other));
        }
        other => text.push(other),
    }
}

impl Screen {
    /// The standard output as it is.
    pub fn new(when: When) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_plain = variable("NO_COLOR").is_some() || variable("TERM").as_deref() == Some("dumb");
        let has_colours = when == When::Always || (when == When::Auto && is_terminal && !is_plain);
        let is_true = variable("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        let depth = match (has_colours, is_true) {
            (false, _) => Depth::Plain,
            (true, false) => Depth::Palette,
            (true, true) => Depth::True,
        };
        let asked = variable("COLUMNS").and_then(|columns| columns.parse().ok());
        let found = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = asked.or_else(|| if is_terminal { found() } else { None }).unwrap_or(80);
        Screen { depth, width: width.clamp(20, 1000) }
    }

    /// The text in the colour of what it is.
    pub fn paint(&self, tint: Tint, text: &str) -> String {
        if self.depth == Depth::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match tint {
            Tint::Heading => "1",
            Tint::Group => "1;34",
            Tint::Kind => "36",
            Tint::Good => "32",
            Tint::Touched => "33",
            Tint::Bad => "1;31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\n\x1b[31m\u{9b}\0\u{ffff}"), r"a\n\u001b[31m\u009b\u0000\uffff");
        for text in ["", r"C:\new \n", "Länge µ 長さ \"x\""] {
            assert_eq!(printable(text), text);
        }
    }
}
