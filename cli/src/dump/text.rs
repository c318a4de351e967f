//! Elements as ncdump writes them: rows, which are wrapped, with commas between the values.

use std::io::Write;

use nczchunk::ElementType;

use super::Dumped;
use crate::element;
use crate::failure::Result;
use crate::output::Output;
use crate::pieces::Values;
use crate::screen::printable;
use crate::slab;

/// Lines are wrapped before they have more columns.
const COLUMNS: usize = 80;

/// Writes the elements.
pub(super) fn write(dumped: &Dumped<'_>, out: &mut Output) -> Result<()> {
    writeln!(out, " {} =", printable(&dumped.title))?;
    let mut lines = Lines::new(dumped, out);
    if dumped.element == ElementType::Char && !lines.shape.is_empty() {
        write_texts(dumped, &mut lines)?;
    } else {
        let all = dumped.selection.num_elements();
        dumped.each_text(element::push_quoted, |i, text, is_missing| {
            lines.value(i, if is_missing { "_" } else { text }, i + 1 == all)
        })?;
    }
    lines.end()
}

/// Writes rows of characters as texts.
fn write_texts(dumped: &Dumped<'_>, lines: &mut Lines<'_>) -> Result<()> {
    let len = lines.shape.pop().unwrap_or(1);
    let rows = dumped.selection.num_elements() / len.max(1);
    let (mut i, mut row) = (0, Vec::new());
    dumped.each(|_, values| {
        let Values::Bytes { bytes, .. } = values else { return Ok(()) };
        for &byte in bytes {
            row.push(byte);
            if row.len() == len {
                let mut text = String::new();
                element::push_quoted(&mut text, &String::from_utf8_lossy(element::without_padding(&row)));
                lines.value(i, &text, i + 1 == rows)?;
                row.clear();
                i += 1;
            }
        }
        Ok(())
    })
}

/// The lines of the output.
struct Lines<'a> {
    dumped: &'a Dumped<'a>,
    out: &'a mut Output,
    /// The lengths of what is written.
    shape: Vec<usize>,
    line: String,
}

impl<'a> Lines<'a> {
    fn new(dumped: &'a Dumped<'a>, out: &'a mut Output) -> Self {
        Lines { dumped, out, shape: dumped.selection.shape(), line: String::new() }
    }

    /// Adds the i-th value.
    fn value(&mut self, i: usize, text: &str, is_last: bool) -> Result<()> {
        let row = self.shape.last().copied().unwrap_or(1).max(1);
        if i % row == 0 {
            self.heading(i / row)?;
            self.line.push(' ');
        }
        let end = if is_last { " ;" } else { "," };
        if self.line.len() + 1 + text.len() + end.len() > COLUMNS && self.line.len() > 4 {
            self.flush()?;
            self.line.push_str("   ");
        }
        self.line.extend([" ", text, end]);
        if (i + 1) % row == 0 {
            self.flush()?;
        }
        Ok(())
    }

    /// Tells which plane of a selection of more than two dimensions begins with this row.
    fn heading(&mut self, row: usize) -> Result<()> {
        let Some((rows, planes)) = self.shape.split_last().and_then(|(_, others)| others.split_last()) else {
            return Ok(());
        };
        if planes.is_empty() || row % rows != 0 {
            return Ok(());
        }
        let mut rest = row / rows;
        let mut indices: Vec<usize> = planes
            .iter()
            .rev()
            .map(|len| {
                let k = rest % len;
                rest /= len;
                k
            })
            .collect();
        indices.reverse();
        let selection = self.dumped.selection;
        let kept = selection.kept().zip(indices);
        let texts: Vec<String> = kept
            .map(|(d, k)| format!("{} = {}", slab::dimension_name(self.dumped.array, d), selection.index(d, k)))
            .collect();
        writeln!(self.out, "  // {}", printable(&texts.join(", ")))?;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        writeln!(self.out, "{}", self.line)?;
        self.line.clear();
        Ok(())
    }

    /// Ends what is empty.
    fn end(self) -> Result<()> {
        if self.dumped.selection.num_elements() == 0 {
            writeln!(self.out, "  ;")?;
        }
        Ok(())
    }
}
